// Placeholders on their way out, values on their way back, over real connections.
#include "base/encoding.hpp"
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

std::string get(const std::string& fields, const std::string& path = "/",
                const std::string& host_field = "api.test") {
  return "GET " + path + " HTTP/1.1\r\nHost: " + host_field + "\r\n" + fields + "\r\n";
}

std::string bearer(const std::string& token) { return "Authorization: Bearer " + token + "\r\n"; }

// A gateway before one TLS origin for api.test.
struct Bench {
  explicit Bench(Origin::Script script, const std::string& secret = kSecret)
      : origin(std::move(script), warder.trusted_tls("api.test")) {
    warder.secret = secret;
    warder.route("api.test", Scheme::https, origin);
    client = warder.tls();
  }
  Message ask(const std::string& request, Wire::Body body = Wire::Body::as_framed) {
    client->send(request);
    return client->read_message(body);
  }
  // What the origin got in all; ends the gateway.
  std::string at_origin() {
    client->close();
    warder.stop();
    CHECK(client->got().find(warder.secret) == std::string::npos);
    return origin.received_in_all();
  }
  const std::string& ph() const { return warder.placeholder; }

  TestGateway warder;
  Origin origin;
  std::unique_ptr<Wire> client;
};

// Puts the request's Authorization into the answer, in one write or byte by byte.
Origin::Script reflects(milliseconds between = milliseconds(-1)) {
  return [between](Wire& wire, std::size_t) {
    for (;;) {
      const Message request = wire.read_message();
      if (!request.whole) return;
      const std::string token = field(request.head, "Authorization").value_or("none");
      const std::string answer = "HTTP/1.1 200 OK\r\nX-Echo: " + token +
                                 "\r\nContent-Length: " + std::to_string(token.size() + 4) +
                                 "\r\n\r\n<<" + token + ">>";
      if (between.count() < 0)
        wire.send(answer);
      else
        wire.send_bytewise(answer, between);
    }
  };
}

}  // namespace

TEST_CASE("a placeholder goes out as the value and the value comes back as the placeholder") {
  for (const auto between : {milliseconds(-1), milliseconds(0)}) {
    Bench bench(reflects(between));
    const Message answer = bench.ask(get(bearer(bench.ph())));
    CHECK(answer.body == "<<Bearer " + bench.ph() + ">>");
    CHECK(field(answer.head, "X-Echo") == "Bearer " + bench.ph());
    CHECK(bench.at_origin().find("Authorization: Bearer " + kSecret + "\r\n") != std::string::npos);
    const auto receipts = bench.warder.log->receipts();
    REQUIRE(receipts.size() == 1);
    REQUIRE(receipts[0].masked.size() == 2);
    CHECK(receipts[0].masked[0].place == "header:x-echo");
    CHECK(receipts[0].masked[1].name == "github");
    CHECK(bench.warder.log->intents()[0].uses.at(0).place == "header:authorization");
    CHECK(bench.warder.log->durabilities()[0] == audit::Durability::durable);
  }
}

TEST_CASE("a value is masked however the origin's writes cut it") {
  std::atomic<std::size_t> cut{0};
  Bench bench([&](Wire& wire, std::size_t) {
    while (wire.read_message().whole) {
      const std::string body = "a" + kSecret + "b";
      const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
      const auto chunk = [](const std::string& piece) {
        std::array<char, 16> size{};
        std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
        return size.data() + piece + "\r\n";
      };
      wire.send(head + chunk(body.substr(0, cut)));
      pause(milliseconds(2));
      wire.send(chunk(body.substr(cut)) + "0\r\nX-Token: " + kSecret + "\r\n\r\n");
    }
  });
  for (cut = 1; cut <= kSecret.size() + 1; ++cut) {
    INFO("after " << cut);
    const Message answer = bench.ask(get(""));
    CHECK(answer.body == "a" + bench.ph() + "b");
    CHECK(answer.trailers == "X-Token: " + bench.ph() + "\r\n");
  }
  bench.at_origin();
}

TEST_CASE("what cannot become a value leaves at once") {
  std::atomic<bool> seen{false};
  Bench bench([&](Wire& wire, std::size_t) {
    wire.read_message();
    wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
    within(milliseconds(5000), [&] { return seen.load(); });
    wire.send("0\r\n\r\n");
  });
  bench.client->send(get(""));
  CHECK(bench.client->read_message(Wire::Body::none).status() == 200);
  CHECK(bench.client->read_exactly(14) == "9\r\ndata: 1\n\n\r\n");
  seen = true;
  CHECK(bench.client->read_exactly(5) == "0\r\n\r\n");
}

TEST_CASE("a value shorter than its placeholder changes the framing, not the body") {
  Bench bench(reflects(), "abcdefgh");
  REQUIRE(bench.ph().size() > 8);
  const Message answer = bench.ask(get(bearer(bench.ph())));
  CHECK(answer.chunked);
  CHECK_FALSE(field(answer.head, "Content-Length"));
  CHECK(answer.body == "<<Bearer " + bench.ph() + ">>");
  CHECK(bench.at_origin().find("Bearer abcdefgh\r\n") != std::string::npos);
}

TEST_CASE("Basic credentials are swapped inside and masked in their encoding") {
  Bench bench(reflects());
  const std::string sent = base64_encode("x-access-token:" + bench.ph());
  const std::string real = base64_encode("x-access-token:" + kSecret);
  const Message answer = bench.ask(get("Authorization: Basic " + sent + "\r\n"));
  CHECK(answer.body == "<<Basic " + sent + ">>");
  CHECK(bench.client->got().find(real) == std::string::npos);
  CHECK(bench.at_origin().find("Authorization: Basic " + real + "\r\n") != std::string::npos);
}

TEST_CASE("a placeholder where no grant allows it is refused, and nothing is dialled") {
  struct Case {
    std::string what;
    std::function<std::string(const std::string&)> request;
    Reason reason;
  };
  const std::vector<Case> cases = {
      {"query", [](const auto& ph) { return get("", "/?t=" + ph); },
       Reason::placeholder_wrong_place},
      {"cookie", [](const auto& ph) { return get("Cookie: a=" + ph + "\r\n"); },
       Reason::placeholder_wrong_place},
      {"two fields", [](const auto& ph) { return get(bearer(ph) + "X-Api-Key: " + ph + "\r\n"); },
       Reason::placeholder_wrong_place},
      {"OPTIONS",
       [](const auto& ph) {
         return "OPTIONS / HTTP/1.1\r\nHost: api.test\r\n" + bearer(ph) + "\r\n";
       },
       Reason::placeholder_wrong_place},
      {"a credential of its own", [](const auto&) { return get(bearer("ghp_attackers-own")); },
       Reason::foreign_credential},
      {"Basic of its own", [](const auto&) { return get("Authorization: Basic YTpi\r\n"); },
       Reason::foreign_credential},
  };
  Bench bench(answers(ok("x")));
  for (const Case& c : cases) {
    INFO(c.what);
    const Message answer = bench.ask(c.request(bench.ph()));
    CHECK(answer.status() == 403);
    CHECK(field(answer.head, "Warder-Reason") == std::string(to_string(c.reason)));
  }
  CHECK(bench.at_origin().empty());
  CHECK(bench.origin.connections() == 0);
  CHECK(bench.warder.log->receipts().empty());
  for (const auto& intent : bench.warder.log->intents())
    CHECK(intent.path.find(bench.ph()) == std::string::npos);
}

TEST_CASE("a placeholder at a host without its grant, or in clear text, is refused") {
  TestGateway warder;
  Origin other(answers(ok("x")), warder.trusted_tls("other.test"));
  Origin clear(answers(ok("x")));
  warder.route("other.test", Scheme::https, other);
  warder.route("api.test", Scheme::http, clear);
  auto client = warder.tls("other.test");
  client->send(get(bearer(warder.placeholder), "/", "other.test"));
  CHECK(client->read_message().has("Warder-Reason: placeholder_wrong_host"));
  auto plain = warder.plain();
  plain->send(get(bearer(warder.placeholder)));
  CHECK(plain->read_message().has("Warder-Reason: placeholder_wrong_place"));
  CHECK(other.connections() + clear.connections() == 0);
}

TEST_CASE("another session's placeholder is refused, in a head and in a body") {
  Bench bench(answers(ok("x")));
  const std::string foreign = "ghp_ANOTHERsessions0placeholder012345678";
  bench.warder.session->secrets.now()->set_foreign(
      std::make_shared<const Matcher>(std::vector<std::string>{foreign}));
  CHECK(bench.ask(get("X-Any: " + foreign + "\r\n")).has("Warder-Reason: placeholder_foreign"));
  CHECK(bench.ask("POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 40\r\n\r\n" + foreign)
            .has("Warder-Reason: placeholder_foreign"));
  CHECK(bench.at_origin().find(foreign) == std::string::npos);
}

TEST_CASE("a placeholder in a body trips, however it is cut, and never leaves whole") {
  for (const std::size_t cut : {1UL, 5UL, 20UL, 39UL, 40UL}) {
    for (const bool chunked : {true, false}) {
      INFO("cut at " << cut << ", chunked " << chunked);
      std::atomic<bool> whole{false};
      Bench bench([&](Wire& wire, std::size_t) { whole = wire.read_message().whole; });
      REQUIRE(bench.ph().size() == 40);
      const auto framed = [&](const std::string& piece) {
        std::array<char, 16> size{};
        std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
        return chunked && !piece.empty() ? size.data() + piece + "\r\n" : piece;
      };
      bench.client->send(
          "POST / HTTP/1.1\r\nHost: api.test\r\n" +
          std::string(chunked ? "Transfer-Encoding: chunked" : "Content-Length: 48") + "\r\n\r\n" +
          framed("key=" + bench.ph().substr(0, cut)));
      pause(milliseconds(30));
      bench.client->send(framed(bench.ph().substr(cut) + "rest") + (chunked ? "0\r\n\r\n" : ""));
      const Message answer = bench.client->read_message();
      CHECK(answer.status() == 403);
      CHECK(answer.has("Warder-Reason: placeholder_wrong_place"));
      const std::string got = bench.at_origin();
      CHECK(got.find(bench.ph()) == std::string::npos);
      CHECK_FALSE(whole);
      const audit::Receipt receipt = bench.warder.log->receipts().at(0);
      CHECK(receipt.reason == Reason::placeholder_wrong_place);
      // What came before may have left, and is counted; of a piece with the whole of it nothing leaves.
      CHECK(receipt.bytes_up == (cut < 40 ? 4 : 0));
      CHECK((got.find("key=") != std::string::npos) == (cut < 40));
    }
  }
}

TEST_CASE("a placeholder in a trailer trips") {
  std::atomic<bool> whole{false};
  Bench bench([&](Wire& wire, std::size_t) { whole = wire.read_message().whole; });
  const Message answer = bench.ask(
      "POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: "
      "chunked\r\n\r\n1\r\na\r\n0\r\nX-T: " +
      bench.ph() + "\r\n\r\n");
  CHECK(answer.has("Warder-Reason: placeholder_wrong_place"));
  CHECK(bench.at_origin().find(bench.ph()) == std::string::npos);
  CHECK_FALSE(whole);
}

TEST_CASE("a tripwire after the answer has begun breaks the answer off") {
  Bench bench([](Wire& wire, std::size_t) {
    wire.read_message(Wire::Body::none);
    wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nh!\r\n");
    wire.read_to_end();
  });
  bench.client->send(
      "POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  CHECK(bench.client->read_message(Wire::Body::none).status() == 200);
  CHECK(bench.client->read_exactly(7) == "2\r\nh!\r\n");
  bench.client->send("28\r\n" + bench.ph() + "\r\n");
  CHECK(bench.client->read_to_end().find("0\r\n\r\n") == std::string::npos);
  CHECK(bench.client->ending() == Ending::reset);
  bench.at_origin();
  CHECK(bench.warder.log->receipts().at(0).reason == Reason::placeholder_wrong_place);
}

TEST_CASE("what cannot be searched does not pass where a secret may be known") {
  Bench bench([](Wire& wire, std::size_t) {
    for (;;) {
      const Message request = wire.read_message();
      if (!request.whole) return;
      CHECK(field(request.head, "Accept-Encoding") ==
            (field(request.head, "X-Asks") ? "gzip" : "identity"));
      CHECK_FALSE(field(request.head, "Range"));
      if (request.has("/gzip"))
        wire.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nGZIP");
      else if (request.has("/dcz"))
        wire.send("HTTP/1.1 200 OK\r\nContent-Encoding: dcz\r\nContent-Length: 4\r\n\r\nWHAT");
      else if (request.has("/part"))
        wire.send("HTTP/1.1 206 Partial Content\r\nContent-Length: 4\r\n\r\nPART");
      else
        wire.send(ok("plain"));
    }
  });
  const std::string range =
      "Range: bytes=3-\r\nIf-Range: \"x\"\r\nAccept-Encoding: gzip, dcz\r\nX-Asks: 1\r\n";
  // Also before the secret went there in this session: the host may know it from another day.
  CHECK(bench.ask(get("", "/gzip")).has("Warder-Reason: response_unmaskable"));
  CHECK(bench.ask(get(bearer(bench.ph()) + range, "/gzip"))
            .has("Warder-Reason: response_unmaskable"));
  CHECK(bench.ask(get(bearer(bench.ph()) + range, "/part"))
            .has("Warder-Reason: response_unmaskable"));
  // And afterwards not, also without the secret.
  CHECK(bench.ask(get("", "/gzip")).has("Warder-Reason: response_unmaskable"));
  CHECK(bench.ask(get("", "/dcz")).has("Warder-Reason: response_unmaskable"));
  CHECK(bench.ask(get("")).body == "plain");
  bench.at_origin();
}

TEST_CASE("BR-003 the swapped secret goes out with Expect, before any body") {
  Bench bench([](Wire& wire, std::size_t) {
    const Message head = wire.read_message(Wire::Body::none);
    CHECK(head.has("Authorization: Bearer " + kSecret));
    wire.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno");
    wire.read_to_end();
  });
  const Message answer = bench.ask("PUT /o HTTP/1.1\r\nHost: api.test\r\n" + bearer(bench.ph()) +
                                   "Expect: 100-Continue\r\nContent-Length: 1048576\r\n\r\n");
  CHECK(answer.status() == 401);
  CHECK(answer.body == "no");
  CHECK(bench.client->read_to_end().empty());
  bench.at_origin();
}

TEST_CASE("after a resend the secret is still the secret") {
  Bench bench([](Wire& wire, std::size_t connection) {
    if (wire.read_message().whole) wire.send(ok("x"));
    if (connection == 0) wire.read_message();  // and closes without an answer
  });
  CHECK(bench.ask(get(bearer(bench.ph()))).body == "x");
  CHECK(bench.ask(get(bearer(bench.ph()), "/2")).body == "x");
  CHECK(bench.origin.connections() == 2);
  CHECK(bench.at_origin().find(bench.ph()) == std::string::npos);
}
