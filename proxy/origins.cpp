#include "proxy/origins.hpp"

#include <algorithm>

#include "proxy/h2_origin.hpp"

namespace warder {
namespace {

constexpr std::chrono::milliseconds kSettingsWait{500};

}  // namespace

Origins::Origins(Worker& worker, Gateway& gateway)
    : worker_(worker), gateway_(gateway), dialled_(worker.loop(), SteadyTime::max()) {}

Origins::~Origins() {
  for (const auto& connection : h2_) connection->peer->end();
}

std::unique_ptr<OriginLeg> Origins::leg_on(std::unique_ptr<H1Connection> connection) {
  auto give_back = [this](std::unique_ptr<H1Connection> back) {
    if (idle_.size() < kMaxIdle) idle_.push_back(std::move(back));
  };
  return std::make_unique<H1Origin>(std::move(connection), gateway_.upstream.idle_timeout,
                                    std::move(give_back));
}

void Origins::prime(Upstream opened, HttpVersion offered) {
  if (offered == HttpVersion::http2) gateway_.versions.learn(opened.authority, opened.version);
  if (opened.version != HttpVersion::http2) {
    speaks_h1_ = true;
    idle_.push_back(std::make_unique<H1Connection>(std::move(opened), gateway_.limits.head));
    return;
  }
  opened.stream->limit_writes(gateway_.upstream.idle_timeout);
  std::erase_if(h2_, [](const auto& connection) { return !connection->peer->is_open(); });
  h2_.push_back(std::make_shared<H2Connection>(worker_, std::move(opened), gateway_.limits.head));
  H2Connection::run(h2_.back(), worker_, gateway_.limits.keep_alive);
}

void Origins::prime(DialFailure failure, PrivateAddresses allowed) {
  failed_.emplace(std::move(failure), allowed);
}

std::unique_ptr<OriginLeg> Origins::take_kept(const Authority& authority, PrivateAddresses allowed,
                                              HttpVersion newest) {
  const auto fits = [&](const Upstream& upstream) {
    return upstream.authority == authority && upstream.private_addresses == allowed;
  };
  for (const auto& connection : h2_) {
    if (newest == HttpVersion::http2 && connection->peer->takes_stream(connection->promised) &&
        fits(connection->upstream)) {
      return std::make_unique<H2Origin>(connection, gateway_.upstream.idle_timeout);
    }
  }
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    if (fits(connection->upstream) && !connection->is_stale()) return leg_on(std::move(connection));
  }
  return nullptr;
}

// The connection that was just primed.
std::unique_ptr<OriginLeg> Origins::take_new(HttpVersion newest) {
  if (newest == HttpVersion::http2 && !speaks_h1_) {
    return std::make_unique<H2Origin>(h2_.back(), gateway_.upstream.idle_timeout);
  }
  auto connection = std::move(idle_.back());
  idle_.pop_back();
  return leg_on(std::move(connection));
}

Task<std::variant<std::unique_ptr<OriginLeg>, DialFailure>> Origins::acquire(
    Authority authority, PrivateAddresses allowed, HttpVersion newest) {
  // Many streams may ask at once: one dials, and if the origin speaks HTTP/2 that connection is for the others too.
  const bool may_share = newest == HttpVersion::http2;
  for (;;) {
    // How many streams a connection takes is known with its SETTINGS, not before.
    if (may_share && !h2_.empty()) {
      const std::shared_ptr<H2Connection> newest_one = h2_.back();
      co_await newest_one->peer->wait_until_heard(kSettingsWait);
    }
    if (auto kept = take_kept(authority, allowed, newest)) co_return std::move(kept);
    if (!may_share || speaks_h1_ || !dialling_) break;
    (void)co_await dialled_.async_wait(as_result);
  }
  if (const auto failed = std::exchange(failed_, std::nullopt);
      failed && failed->second == allowed) {
    co_return failed->first;
  }
  const bool shares = may_share && !speaks_h1_;
  if (shares) dialling_ = true;
  auto opened = co_await open_upstream(worker_, gateway_, std::move(authority), allowed, newest);
  if (auto* failure = std::get_if<DialFailure>(&opened)) {
    if (shares) end_dial();
    co_return std::move(*failure);
  }
  prime(std::move(std::get<Upstream>(opened)), newest);
  auto leg = take_new(newest);
  if (shares) end_dial();
  co_return std::move(leg);
}

void Origins::end_dial() {
  dialling_ = false;
  dialled_.cancel();
}

}  // namespace warder
