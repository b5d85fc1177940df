// Values that rotate and secrets that are revoked while requests use them.
#include "http/ws_frames.hpp"
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

constexpr const char* kNext = "ghp_NEXTabcdefghijklmnopqrstuvwxyz01234x";

std::string get(const std::string& token, const std::string& path = "/") {
  return "GET " + path + " HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer " + token +
         "\r\n\r\n";
}

Origin::Script says_all_it_heard() {
  return [](Wire& wire, std::size_t) {
    std::string heard;
    for (;;) {
      const Message request = wire.read_message();
      if (!request.whole) return;
      heard += field(request.head, "Authorization").value_or("none") + "\n";
      wire.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(heard.size()) + "\r\n\r\n" +
                heard);
    }
  };
}

std::shared_ptr<const SecretValue> value(const std::string& text) {
  return std::make_shared<const SecretValue>(text);
}

milliseconds since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin);
}

}  // namespace

TEST_CASE("the next request after a rotation carries the new value; the old one stays masked") {
  TestGateway warder;
  Origin origin(says_all_it_heard(), warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  const std::string line = "Bearer " + warder.placeholder + "\n";
  client->send(get(warder.placeholder));
  CHECK(client->read_message().body == line);
  REQUIRE(warder.session->secrets.rotate("github", value(kNext)));
  client->send(get(warder.placeholder));
  CHECK(client->read_message().body == line + line);
  CHECK(client->got().find(kNext) == std::string::npos);
  CHECK(client->got().find(warder.secret) == std::string::npos);
  client->close();
  warder.stop();
  const std::string heard = origin.received_in_all();
  CHECK(heard.find(warder.secret) < heard.find(kNext));
  CHECK(heard.find(kNext) != std::string::npos);
  const auto intents = warder.log->intents();
  REQUIRE(intents.size() == 2);
  CHECK(intents[0].uses[0].version == 1);
  CHECK(intents[1].uses[0].version == 2);
}

TEST_CASE("a response that began before a rotation masks the new value too") {
  TestGateway warder;
  std::atomic<bool> rotated{false};
  Origin origin(
      [&](Wire& wire, std::size_t) {
        wire.read_message();
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nbegin\n\r\n");
        while (!rotated) pause(milliseconds(5));
        const std::string both = "<" + warder.secret + "|" + kNext + ">";
        std::stringstream size;
        size << std::hex << both.size();
        wire.send(size.str() + "\r\n" + both + "\r\n0\r\n\r\n");
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  client->send(get(warder.placeholder));
  while (client->got().find("begin") == std::string::npos) REQUIRE(client->read_more());
  REQUIRE(warder.session->secrets.rotate("github", value(kNext)));
  rotated = true;
  const Message answer = client->read_message();
  CHECK(answer.body == "begin\n<" + warder.placeholder + "|" + warder.placeholder + ">");
  client->close();
  warder.stop();
}

TEST_CASE("revoking a secret ends the response that its value was sent for") {
  TestGateway warder;
  std::atomic<bool> streaming{false};
  Origin origin(
      [&](Wire& wire, std::size_t) {
        wire.read_message();
        wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while (wire.send("5\r\nevent\r\n")) {
          streaming = true;
          pause(milliseconds(20));
        }
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  client->send(get(warder.placeholder));
  while (client->got().find("event") == std::string::npos) REQUIRE(client->read_more());
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(warder.session->secrets.revoke("github"));
  const std::string rest = client->read_to_end();
  CHECK(since(begin) < milliseconds(1000));
  CHECK(rest.find("0\r\n\r\n") == std::string::npos);
  CHECK(client->ending() != Ending::clean);
  auto again = warder.tls();
  again->send(get(warder.placeholder));
  CHECK(again->read_message().has("Warder-Reason: secret_revoked"));
  again->close();
  client->close();
  warder.stop();
  const auto receipts = warder.log->receipts();
  REQUIRE(receipts.size() == 1);
  CHECK(receipts[0].reason == Reason::secret_revoked);
  CHECK(origin.connections() == 1);
}

TEST_CASE("a value that was revoked while its request's body was awaited is not sent") {
  TestGateway warder;
  warder.places = {{Place::Kind::body_json, "/token"}};
  Origin origin(says_all_it_heard(), warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  const std::string body = R"({"token":")" + warder.placeholder + R"("})";
  client->send(
      "POST / HTTP/1.1\r\nHost: api.test\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body.substr(0, body.size() - 1));
  pause(milliseconds(200));  // the value has been put in
  REQUIRE(warder.session->secrets.revoke("github"));
  client->send("}");
  CHECK(client->read_message().has("Warder-Reason: secret_revoked"));
  client->close();
  warder.stop();
  CHECK(origin.received_in_all().find(warder.secret) == std::string::npos);
}

TEST_CASE("revoking a secret leaves the exchanges alone that do not use it") {
  TestGateway warder;
  std::atomic<bool> go_on{false};
  Origin origin(
      [&](Wire& wire, std::size_t) {
        wire.read_message();
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst");
        while (!go_on) pause(milliseconds(5));
        wire.send("later");
      },
      warder.trusted_tls("other.test"));
  warder.route("other.test", Scheme::https, origin);
  auto client = warder.tls("other.test");
  client->send("GET / HTTP/1.1\r\nHost: other.test\r\n\r\n");
  while (client->got().find("first") == std::string::npos) REQUIRE(client->read_more());
  REQUIRE(warder.session->secrets.revoke("github"));
  pause(milliseconds(600));
  go_on = true;
  CHECK(client->read_message().body == "firstlater");
  client->close();
  warder.stop();
}

TEST_CASE("a connection that a revoked value was used on is closed, idle as it is") {
  TestGateway warder;
  std::atomic<bool> closed{false};
  Origin origin(
      [&](Wire& wire, std::size_t) {
        wire.read_message();
        wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        wire.read_to_end();
        closed = true;
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  client->send(get(warder.placeholder));
  CHECK(client->read_message().body == "ok");
  pause(milliseconds(400));
  CHECK_FALSE(closed);
  REQUIRE(warder.session->secrets.revoke("github"));
  const auto begin = std::chrono::steady_clock::now();
  while (!closed && since(begin) < milliseconds(3000)) pause(milliseconds(5));
  CHECK(since(begin) < milliseconds(1000));
  client->close();
  warder.stop();
}

TEST_CASE("revoking a secret ends the WebSocket that it opened, with a Close that says so") {
  TestGateway warder;
  std::atomic<bool> closed{false};
  Origin origin(
      [&](Wire& wire, std::size_t) {
        wire.read_message(Wire::Body::none);
        wire.send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
        wire.read_to_end();
        closed = true;
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, origin);
  auto client = warder.tls();
  client->send("GET /ws HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer " + warder.placeholder +
               "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
  REQUIRE(client->read_message(Wire::Body::none).status() == 101);
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(warder.session->secrets.revoke("github"));
  const std::string last = client->read_to_end();
  CHECK(since(begin) < milliseconds(1500));
  CHECK(last == std::string("\x88\x10\x03\xf0", 4) + "secret_revoked");
  client->close();
  while (!closed && since(begin) < milliseconds(3000)) pause(milliseconds(5));
  CHECK(closed);
  warder.stop();
  const auto receipts = warder.log->receipts();
  REQUIRE(receipts.size() == 1);
  CHECK(receipts[0].reason == Reason::secret_revoked);
}
