// Requests and answers on their way through: framing, keep-alive, interim answers.
#include "tests/proxy/support/gateway.hpp"
#include "tests/support/splits.hpp"

using namespace warder;
using namespace warder::test;

namespace {

const std::string kGet = "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n";

std::string get(const std::string& path, const std::string& more = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: api.test\r\n" + more + "\r\n";
}

std::string post(const std::string& fields, const std::string& body) {
  return "POST /up HTTP/1.1\r\nHost: api.test\r\n" + fields + "\r\n" + body;
}

// Answers each request with what came: its body and its trailers.
void echo(Wire& wire, std::size_t) {
  for (;;) {
    const Message request = wire.read_message();
    if (!request.whole || !wire.send(ok(request.body + "|" + request.trailers))) return;
  }
}

}  // namespace

TEST_CASE("a request and its answer pass over a clear connection") {
  Origin origin(answers(ok("hello")));
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send("GET /a?b=c HTTP/1.1\r\nHost: api.test\r\nX-Odd: A,  b\r\n\r\n");
  const Message answer = client->read_message();
  CHECK(answer.first_line() == "HTTP/1.1 200 OK");
  CHECK(answer.body == "hello");
  client->close();
  warder.stop();
  CHECK(origin.received() ==
        std::vector<std::string>{"GET /a?b=c HTTP/1.1\r\nHost: api.test\r\nX-Odd: A,  "
                                 "b\r\nAccept-Encoding: identity\r\n\r\n"});
  REQUIRE(warder.log->receipts().size() == 1);
  CHECK(warder.log->receipts()[0].bytes_down == 5);
  CHECK(warder.log->intents()[0].path == "/a?b=…");
}

TEST_CASE("one connection carries one exchange after another, on both sides, over TLS") {
  TestGateway warder;
  Origin origin(
      [](Wire& wire, std::size_t) {
        for (int i = 0; wire.read_message().whole; ++i)
          wire.send(ok("answer " + std::to_string(i)));
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  for (int i = 0; i < 20; ++i) {
    client->send(kGet);
    CHECK(client->read_message().body == "answer " + std::to_string(i));
  }
  CHECK(origin.connections() == 1);
  client->close();
  warder.stop();
  CHECK(warder.log->receipts().size() == 20);
  CHECK(warder.log->receipts()[0].tls.starts_with("TLSv1.3"));
  CHECK(warder.log->receipts()[0].leaf_sha256.size() == 64);
}

TEST_CASE("pipelined requests are answered in their order") {
  Origin origin([](Wire& wire, std::size_t) {
    for (Message request = wire.read_message(); request.whole; request = wire.read_message()) {
      wire.send(ok(request.first_line()));
    }
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  std::string all;
  for (int i = 0; i < 30; ++i) all += get("/" + std::to_string(i));
  client->send(all);
  for (int i = 0; i < 30; ++i) {
    CHECK(client->read_message().body == "GET /" + std::to_string(i) + " HTTP/1.1");
  }
}

TEST_CASE("a request may come in any pieces") {
  Origin origin(echo);
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send_bytewise(
      post("Transfer-Encoding: chunked\r\n", "5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n"));
  CHECK(client->read_message().body == "hello|A: b\r\n");
  client->send_bytewise(post("Content-Length: 5\r\n", "12345"));
  CHECK(client->read_message().body == "12345|");
}

TEST_CASE("BR-001 a chunked request body arrives, its chunks 50 ms apart") {
  for (const Scheme scheme : {Scheme::http, Scheme::https}) {
    TestGateway warder;
    Origin origin(echo, scheme == Scheme::https ? warder.trusted_tls("api.test") : nullptr);
    warder.route("api.test", scheme, origin);
    auto client = scheme == Scheme::https ? warder.tls() : warder.plain();
    client->send(post("Transfer-Encoding: chunked\r\n", ""));
    for (const char* piece : {"5\r\nhello\r\n", "6\r\n world\r\n", "0\r\n\r\n"}) {
      pause(milliseconds(50));
      client->send(piece);
    }
    CHECK(client->read_message().body == "hello world|");
    client->close();
    warder.stop();
    CHECK(warder.log->intents().size() == 1);
    CHECK(warder.log->receipts().at(0).bytes_up == 11);
  }
}

TEST_CASE("a chunked answer with trailers passes, whatever its chunks") {
  Origin origin([](Wire& wire, std::size_t) {
    while (wire.read_message().whole) {
      wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n");
      wire.send_bytewise("1\r\na\r\n3;ext=1\r\nbcd\r\n");
      wire.send("0\r\nX-Sum: 42\r\n\r\n");
    }
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  for (int i = 0; i < 2; ++i) {
    client->send(kGet);
    const Message answer = client->read_message();
    CHECK(answer.whole);
    CHECK(answer.body == "abcd");
    CHECK(answer.trailers == "X-Sum: 42\r\n");
    CHECK(field(answer.head, "Trailer") == "X-Sum");
  }
  CHECK(origin.connections() == 1);
}

TEST_CASE("BR-015 a large body in chunks of all sizes is the same body") {
  std::string file;
  for (std::uint32_t i = 0; file.size() < 200'000; i = i * 1664525 + 1013904223)
    file += static_cast<char>(i >> 24), ++i;
  Origin origin([&](Wire& wire, std::size_t) {
    while (wire.read_message().whole) {
      wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      const std::array<std::size_t, 4> sizes{1, 7, 8191, 65536};
      std::size_t at = 0;
      for (std::size_t i = 0; at < file.size(); ++i) {
        const std::string piece = file.substr(at, sizes[i % sizes.size()]);
        std::array<char, 32> size{};
        std::snprintf(size.data(), size.size(), "%zX\r\n", piece.size());
        wire.send(size.data() + piece + "\r\n");
        at += piece.size();
      }
      wire.send("0\r\n\r\n");
    }
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kGet);
  CHECK(client->read_message().body == file);
  client->send("GET / HTTP/1.0\r\nHost: api.test\r\n\r\n");
  const Message answer = client->read_message();
  CHECK_FALSE(answer.chunked);
  CHECK(answer.has("Connection: close"));
  CHECK(client->read_to_end() == file);
  CHECK(client->ending() == Ending::clean);
}

TEST_CASE("BR-010 answers without a body leave the connection in step") {
  Origin origin([](Wire& wire, std::size_t) {
    wire.read_message();
    wire.send("HTTP/1.1 200 OK\r\nContent-Length: 123456\r\n\r\n");
    wire.read_message();
    wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    wire.read_message();
    wire.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\nETag: \"a\"\r\n\r\n");
    wire.read_message();
    wire.send("HTTP/1.1 204 No Content\r\n\r\n");
    wire.read_message();
    wire.send(ok("ok"));
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  const auto ask = [&](const std::string& method, Wire::Body body) {
    client->send(method + " / HTTP/1.1\r\nHost: api.test\r\n\r\n");
    return client->read_message(body);
  };
  CHECK(field(ask("HEAD", Wire::Body::none).head, "Content-Length") == "123456");
  CHECK(ask("HEAD", Wire::Body::none).status() == 200);
  CHECK(ask("GET", Wire::Body::none).status() == 304);
  CHECK(ask("GET", Wire::Body::none).status() == 204);
  CHECK(ask("GET", Wire::Body::as_framed).body == "ok");
  CHECK(origin.connections() == 1);
}

TEST_CASE("a body that ends with its connection is chunked to the client, and ends cleanly") {
  TestGateway warder;
  Origin origin(
      [](Wire& wire, std::size_t) {
        wire.read_message();
        wire.send("HTTP/1.1 200 OK\r\n\r\nall of it");
        wire.shut_write();
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  for (int i = 0; i < 2; ++i) {
    client->send(kGet);
    const Message answer = client->read_message();
    CHECK(answer.chunked);
    CHECK(answer.whole);
    CHECK(answer.body == "all of it");
  }
  CHECK(origin.connections() == 2);
}

TEST_CASE("BR-003 Expect: the origin says continue, and the body arrives") {
  Origin origin([](Wire& wire, std::size_t) {
    const Message head = wire.read_message(Wire::Body::none);
    CHECK(head.has("Expect: 100-Continue"));
    wire.send("HTTP/1.1 100 Continue\r\n\r\n");
    const std::string body = wire.read_exactly(1 << 20);
    wire.send(ok(std::to_string(body.size())));
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(post("Expect: 100-Continue\r\nContent-Length: 1048576\r\n", ""));
  CHECK(client->read_message(Wire::Body::none).first_line() == "HTTP/1.1 100 Continue");
  client->send(std::string(1 << 20, 'x'));
  CHECK(client->read_message().body == "1048576");
}

TEST_CASE("BR-003 Expect: the origin refuses at once, and no body is waited for") {
  Origin origin([](Wire& wire, std::size_t) {
    wire.read_message(Wire::Body::none);
    wire.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 2\r\n\r\nno");
    wire.read_to_end();
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  const auto began = std::chrono::steady_clock::now();
  client->send(post("Expect: 100-continue\r\nContent-Length: 1048576\r\n", ""));
  const Message answer = client->read_message();
  CHECK(answer.status() == 417);
  CHECK(answer.body == "no");
  // Whether the body still comes is open, so nothing else may.
  CHECK(answer.has("Connection: close"));
  CHECK(client->read_to_end().empty());
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(2));
  CHECK(origin.received().at(0).ends_with("\r\n\r\n"));
}

TEST_CASE("103 and 102 are passed on before the answer; a client of HTTP/1.0 is spared them") {
  Origin origin([](Wire& wire, std::size_t) {
    while (wire.read_message().whole) {
      wire.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\n");
      pause(milliseconds(20));
      wire.send("HTTP/1.1 102 Processing\r\n\r\n" + ok("x"));
    }
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(kGet);
  CHECK(client->read_message(Wire::Body::none).head ==
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
  CHECK(client->read_message(Wire::Body::none).status() == 102);
  CHECK(client->read_message().body == "x");
  client->send("GET / HTTP/1.0\r\nHost: api.test\r\n\r\n");
  CHECK(client->read_message().body == "x");
}

TEST_CASE("a protocol switch that nobody asked for is refused") {
  Origin origin(
      answers("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"));
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(get("/", "Upgrade: h2c\r\nConnection: upgrade\r\n"));
  CHECK(client->read_message().status() == 502);
  warder.stop();
  CHECK(origin.received_in_all().find("pgrade") == std::string::npos);
}

TEST_CASE("client and origin may talk at once: the answer streams while the request does") {
  Origin origin([](Wire& wire, std::size_t) {
    wire.read_message(Wire::Body::none);
    wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 5; ++i) {
      wire.read_exactly(6);  // "1\r\nx\r\n"
      wire.send("1\r\n!\r\n");
    }
    wire.read_exactly(5);
    wire.send("0\r\n\r\n");
  });
  TestGateway warder;
  warder.route("api.test", Scheme::http, origin);
  auto client = warder.plain();
  client->send(post("Transfer-Encoding: chunked\r\n", ""));
  CHECK(client->read_message(Wire::Body::none).status() == 200);
  for (int i = 0; i < 5; ++i) {
    client->send("1\r\nx\r\n");
    CHECK(client->read_exactly(6) == "1\r\n!\r\n");
  }
  client->send("0\r\n\r\n");
  CHECK(client->read_exactly(5) == "0\r\n\r\n");
}
