// Looking names up at a scripted server: what is asked, what is kept, how each failure is told.
#include "proxy/resolve.hpp"

#include "tests/proxy/support/dns_script.hpp"
#include "tests/proxy/support/on_worker.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;
using std::chrono::seconds;

namespace {

using Found = Result<std::vector<IpAddress>>;

std::optional<DnsReply> only(int code) {
  DnsReply reply;
  reply.code = code;
  return reply;
}

struct Desk {
  explicit Desk(const std::string& server) : resolver({server}) { worker.start(); }
  ~Desk() { worker.stop(milliseconds(1000)); }

  Task<Found> task(const std::string& name, SteadyDuration limit = seconds(10)) {
    return resolver.resolve(worker, *HostName::parse(name), limit);
  }
  Found look_up(const std::string& name, SteadyDuration limit = seconds(10)) {
    return run_on(worker, task(name, limit));
  }
  std::string text(const std::string& name) {
    const Found found = look_up(name);
    if (!found) return found.error().message();
    std::string all;
    for (const IpAddress& address : *found) all += (all.empty() ? "" : " ") + address.str();
    return all;
  }

  Resolver resolver;
  Worker worker;
};

}  // namespace

TEST_CASE("A and AAAA of exactly the name are asked, once each") {
  DnsScript server(zone_of({a_record("api.test", "93.184.216.34")}));
  Desk desk(server.address());
  CHECK(desk.text("api.test") == "93.184.216.34");
  std::vector<std::uint16_t> types;
  for (const DnsQuestion& question : server.questions()) {
    CHECK(question.name == "api.test");
    types.push_back(question.type);
  }
  std::sort(types.begin(), types.end());
  CHECK(types == std::vector<std::uint16_t>{kTypeA, kTypeAaaa});
}

TEST_CASE("both families come back, each address once") {
  DnsScript server(
      zone_of({a_record("api.test", "93.184.216.34"), a_record("api.test", "93.184.216.34"),
               aaaa_record("api.test", "2606:2800:220:1::1")}));
  Desk desk(server.address());
  const Found found = desk.look_up("api.test");
  REQUIRE(found.has_value());
  CHECK(found->size() == 2);
}

TEST_CASE("an answer is asked for again when its shortest TTL is over, not before") {
  DnsScript server(zone_of({cname_record("www.test", "api.test", 1),
                            {"api.test", kTypeA, 300, std::string("\x5d\xb8\xd8\x22", 4)}}));
  Desk desk(server.address());
  CHECK(desk.text("www.test") == "93.184.216.34");
  const std::size_t asked = server.count();
  CHECK(asked == 2);
  for (int i = 0; i < 5; ++i) CHECK(desk.text("www.test") == "93.184.216.34");
  CHECK(server.count() == asked);
  pause(milliseconds(1050));
  CHECK(desk.text("www.test") == "93.184.216.34");
  CHECK(server.count() == 2 * asked);
}

TEST_CASE("an answer whose TTL is 0 is asked for every time") {
  DnsScript server(zone_of({a_record("api.test", "93.184.216.34", 0)}));
  Desk desk(server.address());
  for (int i = 0; i < 3; ++i) CHECK(desk.text("api.test") == "93.184.216.34");
  CHECK(server.count() == 6);
}

TEST_CASE("what many wait for is asked once") {
  DnsScript server([](const DnsQuestion& question) -> std::optional<DnsReply> {
    pause(milliseconds(100));
    if (question.type != kTypeA) return DnsReply{};
    return DnsReply{0, {a_record("api.test", "93.184.216.34", 0)}};
  });
  Desk desk(server.address());
  std::vector<std::future<Found>> all;
  for (int i = 0; i < 50; ++i) all.push_back(begin_on(desk.worker, desk.task("api.test")));
  for (auto& one : all) CHECK(one.get().has_value());
  CHECK(server.count() == 2);
}

TEST_CASE("one session's look-ups leave places for another's") {
  DnsScript silent([](const DnsQuestion&) { return std::optional<DnsReply>(); });
  Desk desk(silent.address());
  const SessionLife greedy{Life::open};
  const SessionLife other{Life::open};
  const auto begin = [&](const std::string& name, const SessionLife& life) {
    return begin_on(desk.worker, desk.resolver.resolve(desk.worker, *HostName::parse(name),
                                                       milliseconds(1500), &life));
  };
  std::vector<std::future<Found>> all;
  for (std::size_t i = 0; i < Resolver::kMaxOfOne; ++i)
    all.push_back(begin("n" + std::to_string(i) + ".test", greedy));
  auto beyond = begin("beyond.test", greedy);
  REQUIRE(beyond.wait_for(milliseconds(1000)) == std::future_status::ready);
  CHECK(beyond.get().error() == ResolveError::too_many);
  auto of_other = begin("mine.test", other);
  CHECK(of_other.get().error() != ResolveError::too_many);
  for (auto& one : all) CHECK(one.get().error() != ResolveError::too_many);
}

TEST_CASE("a truncated answer is fetched over TCP") {
  DnsScript server([](const DnsQuestion& question) -> std::optional<DnsReply> {
    if (!question.tcp) return DnsReply{0, {}, true};
    DnsReply reply;
    for (int i = 1; question.type == kTypeA && i <= 200; ++i)
      reply.records.push_back(a_record("api.test", "93.184.216." + std::to_string(i)));
    return reply;
  });
  Desk desk(server.address());
  const Found found = desk.look_up("api.test");
  REQUIRE(found.has_value());
  CHECK(found->size() == DnsChannel::kMaxAddresses);
  const auto questions = server.questions();
  CHECK(std::count_if(questions.begin(), questions.end(),
                      [](const DnsQuestion& question) { return question.tcp; }) == 2);
}

TEST_CASE("a name that does not exist and one without an address are told apart, and kept 2 s") {
  DnsScript server([](const DnsQuestion& question) -> std::optional<DnsReply> {
    return only(question.name == "gone.test" ? 3 : 0);
  });
  Desk desk(server.address());
  for (int i = 0; i < 3; ++i) {
    CHECK(desk.text("gone.test") == "the name does not exist");
    CHECK(desk.text("bare.test") == "the name has no address");
  }
  CHECK(server.count() == 4);
}

TEST_CASE("a resolver that fails or refuses is said to, within the time of a few repetitions") {
  for (const int code : {2, 5}) {
    DnsScript server([code](const DnsQuestion&) { return only(code); });
    Desk desk(server.address());
    const auto began = std::chrono::steady_clock::now();
    CHECK(desk.text("api.test") == "the resolver refused or failed");
    CHECK(std::chrono::steady_clock::now() - began < seconds(2));
  }
}

TEST_CASE("BR-077 a dead resolver is said to be dead in time, and nobody else is asked") {
  SECTION("silent") {
    DnsScript server([](const DnsQuestion&) { return std::optional<DnsReply>(); });
    Desk desk(server.address());
    const auto began = std::chrono::steady_clock::now();
    const Found found = desk.look_up("api.test", milliseconds(700));
    REQUIRE(found.has_error());
    CHECK(found.error() == ResolveError::no_answer);
    CHECK(std::chrono::steady_clock::now() - began < milliseconds(1500));
  }
  SECTION("closed") {
    const std::uint16_t port = listen_on_loopback().port;  // and closed again
    Desk desk("127.0.0.1:" + std::to_string(port));
    // c-ares tells a refusal by ICMP from silence only when it is the last thing that happens.
    const std::string why = desk.text("api.test");
    CHECK((why == "the resolver refused or failed" || why == "no answer from the resolver"));
  }
}

TEST_CASE("the second resolver answers for a first one that is dead or fails") {
  DnsScript good(zone_of({a_record("api.test", "93.184.216.34")}));
  const bool silent = GENERATE(true, false);
  DnsScript bad([silent](const DnsQuestion&) { return silent ? std::nullopt : only(2); });
  Worker worker;
  Resolver resolver({bad.address(), good.address()});
  worker.start();
  const auto began = std::chrono::steady_clock::now();
  const Found found =
      run_on(worker, resolver.resolve(worker, *HostName::parse("api.test"), seconds(10)));
  CHECK(found.has_value());
  CHECK(std::chrono::steady_clock::now() - began < seconds(2));
  worker.stop(milliseconds(1000));
}

TEST_CASE("an address is never looked up, and /etc/hosts comes first") {
  DnsScript server(zone_of({a_record("localhost", "93.184.216.34")}));
  Desk desk(server.address());
  CHECK(desk.text("192.0.2.7") == "192.0.2.7");
  CHECK(desk.text("2001:db8::7") == "2001:db8::7");
  CHECK(desk.text("localhost").find("127.0.0.1") != std::string::npos);
  CHECK(server.count() == 0);
}

TEST_CASE("a session's end ends its look-ups, and nobody else's") {
  DnsScript silent([](const DnsQuestion&) { return std::optional<DnsReply>(); });
  Desk desk(silent.address());
  SessionLife life{Life::open};
  auto ended = begin_on(
      desk.worker,
      desk.resolver.resolve(desk.worker, *HostName::parse("api.test"), seconds(10), &life));
  auto other = begin_on(desk.worker, desk.task("api.test", seconds(3)));
  life = Life::draining;
  CHECK(ended.wait_for(milliseconds(600)) == std::future_status::timeout);
  life = Life::ended;
  REQUIRE(ended.wait_for(milliseconds(800)) == std::future_status::ready);
  CHECK(ended.get().error() == IoError::closed);
  CHECK(other.wait_for(milliseconds(600)) == std::future_status::timeout);
}

TEST_CASE("a worker that stops ends its look-ups, and a resolver goes while one is under way") {
  DnsScript server([](const DnsQuestion&) { return std::optional<DnsReply>(); });
  auto desk = std::make_unique<Desk>(server.address());
  auto found = begin_on(desk->worker, desk->task("api.test"));
  while (server.count() == 0) pause(milliseconds(5));
  const auto began = std::chrono::steady_clock::now();
  desk.reset();
  REQUIRE(found.wait_for(seconds(0)) == std::future_status::ready);
  const Found outcome = found.get();
  CHECK(outcome.error() == IoError::closed);
  CHECK(std::chrono::steady_clock::now() - began < milliseconds(500));
}
