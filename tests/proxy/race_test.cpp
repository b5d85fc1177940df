// Connecting to one of several addresses, with real sockets on 127.0.0.0/8 and ::1.
#include "proxy/race.hpp"

#include "tests/proxy/support/on_worker.hpp"
#include "tests/proxy/support/wire.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;
using std::chrono::seconds;

namespace {

VettedEndpoint at(const std::string& text, std::uint16_t port) {
  IpAddress address;
  std::array<std::uint8_t, 4> v4{};
  if (::inet_pton(AF_INET, text.c_str(), v4.data()) == 1)
    address = IpAddress::v4(v4);
  else
    ::inet_pton(AF_INET6, text.c_str(), address.bytes.data());
  return VettedEndpoint::from_operator(address, port);
}

std::string order_of(const std::vector<std::string>& texts) {
  std::vector<VettedEndpoint> found;
  for (const std::string& text : texts) found.push_back(at(text, 443));
  std::string all;
  for (const VettedEndpoint& endpoint : in_dialling_order(found))
    all += (all.empty() ? "" : " ") + endpoint.endpoint().address().to_string();
  return all;
}

// A listener that takes nobody: its queue is full, further connects get no answer.
struct BlackHole {
  BlackHole() : listening(listen_on_loopback()) {
    ::listen(listening.socket.get(), 0);
    for (int i = 0; i < 3; ++i) {
      Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const sockaddr_in to = loopback(listening.port);
      (void)::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to);
      fillers.push_back(std::move(socket));
    }
    pause(milliseconds(20));
  }
  VettedEndpoint endpoint() const { return at("127.0.0.1", listening.port); }
  Listening listening;
  std::vector<Fd> fillers;
};

std::uint16_t closed_port() { return listen_on_loopback().port; }

struct Track {
  Track() { worker.start(); }
  ~Track() { worker.stop(milliseconds(1000)); }
  Dialled run(std::vector<VettedEndpoint> endpoints, SteadyDuration limit = seconds(5)) {
    const auto began = std::chrono::steady_clock::now();
    Dialled dialled = run_on(worker, connect_first(worker, std::move(endpoints), limit));
    took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
    return dialled;
  }
  // Where it got to, or why it did not; the stream is closed on its worker.
  std::string said(std::vector<VettedEndpoint> endpoints, SteadyDuration limit = seconds(5)) {
    Dialled dialled = run(std::move(endpoints), limit);
    if (auto* failure = std::get_if<DialFailure>(&dialled)) {
      reason = failure->reason;
      return failure->detail;
    }
    std::string peer;
    auto look = [&dialled, &peer]() -> Task<int> {
      auto& stream = std::get<std::unique_ptr<Stream>>(dialled);
      const auto endpoint = stream->socket().remote_endpoint();
      peer = endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
      stream.reset();
      co_return 0;
    };
    run_on(worker, look());
    return peer;
  }
  Worker worker;
  milliseconds took{0};
  std::optional<Reason> reason;
};

std::string text_of(const Listening& listening) {
  return "127.0.0.1:" + std::to_string(listening.port);
}

std::size_t connections_waiting(const Listening& listening) {
  std::size_t count = 0;
  for (pollfd waiting{listening.socket.get(), POLLIN, 0}; ::poll(&waiting, 1, 50) > 0; ++count)
    Fd(::accept(listening.socket.get(), nullptr, nullptr));
  return count;
}

}  // namespace

TEST_CASE("the families take turns, the first one's first, each in its own order") {
  CHECK(order_of({}).empty());
  CHECK(order_of({"192.0.2.1"}) == "192.0.2.1");
  CHECK(order_of({"2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2"}) ==
        "2001:db8::1 192.0.2.1 2001:db8::2 192.0.2.2");
  CHECK(order_of({"192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"}) ==
        "192.0.2.1 2001:db8::1 192.0.2.2 192.0.2.3");
  CHECK(order_of({"192.0.2.2", "192.0.2.1"}) == "192.0.2.2 192.0.2.1");
  const std::vector<VettedEndpoint> many(20, at("192.0.2.1", 443));
  CHECK(in_dialling_order(many).size() == kMaxAttempts);
}

TEST_CASE("BR-108 after a refusal the next address is tried at once") {
  const Listening good = listen_on_loopback();
  Track track;
  CHECK(track.said({at("127.0.0.1", closed_port()), at("127.0.0.2", closed_port()),
                    at("127.0.0.1", good.port)}) == text_of(good));
  CHECK(track.took < kAttemptDelay);
}

TEST_CASE("BR-108 beside an address that is silent the next one is tried a little later") {
  const BlackHole hole;
  const Listening good = listen_on_loopback();
  Track track;
  CHECK(track.said({hole.endpoint(), at("127.0.0.1", good.port)}) == text_of(good));
  CHECK(track.took >= kAttemptDelay);
  CHECK(track.took < 3 * kAttemptDelay);
  // And a refusal meanwhile does not wait for the silent one.
  CHECK(track.said({hole.endpoint(), at("127.0.0.1", closed_port()), at("127.0.0.1", good.port)}) ==
        text_of(good));
  CHECK(track.took < 3 * kAttemptDelay);
}

TEST_CASE("BR-108 an address that cannot be dialled at all costs no time") {
  const Listening good = listen_on_loopback();
  Track track;
  // connect() itself says no, as it does on every machine for this one.
  CHECK(track.said({at("255.255.255.255", 9), at("127.0.0.1", good.port)}) == text_of(good));
  CHECK(track.took < kAttemptDelay);
}

TEST_CASE("the first address is the only one dialled when it answers") {
  const Listening good = listen_on_loopback();
  const Listening other = listen_on_loopback();
  Track track;
  CHECK(track.said({at("127.0.0.1", good.port), at("127.0.0.1", other.port)}) == text_of(good));
  CHECK(connections_waiting(good) == 1);
  CHECK(connections_waiting(other) == 0);
}

TEST_CASE("when every address fails, each is named with its outcome") {
  const BlackHole hole;
  const std::uint16_t closed = closed_port();
  Track track;
  const std::string refused = "127.0.0.1:" + std::to_string(closed) + ": Connection refused";
  const std::string silent = hole.endpoint().str() + ": no answer in time";
  CHECK(track.said({at("127.0.0.1", closed), at("127.0.0.2", closed)}) ==
        refused + "; 127.0.0.2:" + std::to_string(closed) + ": Connection refused");
  CHECK(track.reason == Reason::upstream_connect_failed);
  CHECK(track.said({hole.endpoint(), at("127.0.0.1", closed)}, milliseconds(400)) ==
        silent + "; " + refused);
  CHECK(track.reason == Reason::upstream_timeout);
  CHECK(track.took >= milliseconds(400));
  CHECK(track.took < milliseconds(700));
}

TEST_CASE("one address alone connects, is refused, or is silent") {
  const BlackHole hole;
  const Listening good = listen_on_loopback();
  Track track;
  CHECK(track.said({at("127.0.0.1", good.port)}) == text_of(good));
  const std::uint16_t closed = closed_port();
  CHECK(track.said({at("127.0.0.1", closed)}) ==
        "127.0.0.1:" + std::to_string(closed) + ": Connection refused");
  CHECK(track.said({hole.endpoint()}, milliseconds(300)) ==
        hole.endpoint().str() + ": no answer in time");
  CHECK(track.reason == Reason::upstream_timeout);
}

TEST_CASE("a worker that stops ends a race, and its sockets with it") {
  const BlackHole hole;
  std::future<Dialled> outcome;
  const auto began = std::chrono::steady_clock::now();
  {
    Track track;
    std::vector<VettedEndpoint> endpoints{hole.endpoint(), hole.endpoint(), hole.endpoint()};
    outcome = begin_on(track.worker, connect_first(track.worker, std::move(endpoints), seconds(9)));
    pause(milliseconds(350));
  }
  CHECK(std::chrono::steady_clock::now() - began < milliseconds(900));
  REQUIRE(outcome.wait_for(seconds(0)) == std::future_status::ready);
  CHECK(std::holds_alternative<DialFailure>(outcome.get()));
}

TEST_CASE("a loop that is destroyed in the middle of a race leaves nothing behind") {
  const BlackHole hole;
  auto worker = std::make_unique<Worker>();
  worker->start();
  std::vector<VettedEndpoint> endpoints{hole.endpoint(), hole.endpoint()};
  auto outcome = begin_on(*worker, connect_first(*worker, std::move(endpoints), seconds(9)));
  pause(milliseconds(300));
  worker.reset();  // without grace: its frames die with the loop
  CHECK_THROWS(outcome.get());
}
