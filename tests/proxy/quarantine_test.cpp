// tripwire: quarantine. A sandbox that sends a placeholder where it must not is cut off as a whole.
#include "tests/proxy/support/gateway.hpp"

using namespace warder;
using namespace warder::test;

namespace {

std::string get(const std::string& host, const std::string& fields = "") {
  return "GET / HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
}

Origin::Script streams(std::atomic<bool>& ended) {
  return [&ended](Wire& wire, std::size_t) {
    if (!wire.read_message().whole) return;
    wire.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    while (wire.send("6\r\nevent\n\r\n")) pause(milliseconds(20));
    ended = true;
  };
}

}  // namespace

TEST_CASE("after a tripwire nothing of the sandbox passes any more, and what runs is cut off") {
  TestGateway warder;
  std::atomic<bool> ended{false};
  std::vector<std::string> said;
  Origin api(streams(ended), warder.trusted_tls("api.test"));
  Origin other([](Wire& wire, std::size_t) { wire.read_message(); },
               warder.trusted_tls("other.test"));
  warder.route("api.test", Scheme::https, api);
  warder.route("other.test", Scheme::https, other);
  auto running = warder.tls();
  warder.change_policy([](SessionPolicy& policy) { policy.on_tripwire = OnTripwire::quarantine; });
  warder.session->announce = [&](const std::string& line) { said.push_back(line); };
  running->send(get("api.test", "Authorization: Bearer " + warder.placeholder + "\r\n"));
  while (running->got().find("event") == std::string::npos) REQUIRE(running->read_more());

  auto spy = warder.tls("other.test");
  spy->send(get("other.test", "Authorization: Bearer " + warder.placeholder + "\r\n"));
  CHECK(spy->read_message().has("Warder-Reason: placeholder_wrong_host"));
  const auto begin = std::chrono::steady_clock::now();
  const std::string rest = running->read_to_end();
  CHECK(std::chrono::steady_clock::now() - begin < milliseconds(1000));
  CHECK(rest.find("0\r\n\r\n") == std::string::npos);
  CHECK(spy->read_to_end().empty());

  auto later = warder.tls();
  later->send(get("api.test"));
  const Message answer = later->read_message();
  CHECK(answer.status() == 503);
  CHECK(answer.has("Warder-Reason: quarantined"));
  later->send(get("api.test"));
  CHECK(later->read_message().has("Warder-Reason: quarantined"));
  for (auto* wire : {&running, &spy, &later}) (*wire)->close();
  warder.stop();
  api.stop();
  CHECK(ended);
  CHECK(api.connections() == 1);
  CHECK(other.connections() == 0);
  REQUIRE(said.size() == 1);
  CHECK(said[0].starts_with("quarantine: "));
  const auto receipts = warder.log->receipts();
  REQUIRE(receipts.size() == 1);
  CHECK(receipts[0].reason == Reason::quarantined);
  CHECK(receipts[0].side == "warder");
}

TEST_CASE("a sandbox in quarantine asks no origin what it speaks, and reaches none by raw rules") {
  TestGateway warder;
  Rule raw = allow("db.test");
  raw.name = "raw";
  raw.action = Action::tcp;
  raw.ports = {5432};
  warder.rules.push_back(raw);
  Origin api([](Wire& wire, std::size_t) { wire.read_message(); }, warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, api);
  auto first = warder.tls();
  first->close();
  warder.session->quarantined = true;
  TestGateway::Hello hello;
  hello.alpn = "h2";
  auto client = warder.tls(hello);
  client->close();
  const Authority db{Scheme::tcp, *HostName::parse("db.test"), 5432};
  CHECK(warder.session->authorize_raw(db.host, db.port)->reason == Reason::quarantined);
  CHECK(warder.session->authorize_connection(db).reason == Reason::quarantined);
  warder.stop();
  CHECK(api.connections() == 0);
}

TEST_CASE(
    "a secret that is revoked under way puts no sandbox into quarantine; its placeholder then "
    "does") {
  TestGateway warder;
  std::atomic<bool> ended{false};
  Origin api(streams(ended), warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, api);
  auto running = warder.tls();
  warder.change_policy([](SessionPolicy& policy) { policy.on_tripwire = OnTripwire::quarantine; });
  const std::string request =
      get("api.test", "Authorization: Bearer " + warder.placeholder + "\r\n");
  running->send(request);
  while (running->got().find("event") == std::string::npos) REQUIRE(running->read_more());
  REQUIRE(warder.session->secrets.revoke("github"));
  running->read_to_end();
  CHECK_FALSE(warder.session->quarantined);
  auto later = warder.tls();
  later->send(request);
  CHECK(later->read_message().has("Warder-Reason: secret_revoked"));
  later->close();
  running->close();
  warder.stop();
  CHECK(warder.session->quarantined);
  const auto receipts = warder.log->receipts();
  REQUIRE(receipts.size() == 1);
  CHECK(receipts[0].side == "warder");
}

TEST_CASE("by default a tripwire refuses its own request alone") {
  TestGateway warder;
  Origin api(
      [](Wire& wire, std::size_t) {
        if (wire.read_message().whole) wire.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      },
      warder.trusted_tls("api.test"));
  warder.route("api.test", Scheme::https, api);
  auto client = warder.tls();
  client->send(get("api.test", "X-Other: " + warder.placeholder + "\r\n"));
  CHECK(client->read_message().has("Warder-Reason: placeholder_wrong_place"));
  client->send(get("api.test"));
  CHECK(client->read_message().body == "ok");
  client->close();
  warder.stop();
}
