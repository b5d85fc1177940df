#include "proxy/origins.hpp"

namespace warder {

Origins::Origins(Worker& worker, Gateway& gateway, std::shared_ptr<Session> session)
    : worker_(worker), gateway_(gateway), session_(std::move(session)) {}

const std::shared_ptr<OriginPool>& Origins::pool() {
  if (!pool_) pool_ = SessionOrigins::pool_on(worker_, gateway_, session_);
  return pool_;
}

Task<OriginPool::Acquired> Origins::acquire(OriginKey key, HttpVersion newest, OriginWait& wait) {
  if (auto failed = std::exchange(failed_, std::nullopt); failed && failed->key == key) {
    if (auto kept = pool()->take_kept(key, newest)) co_return std::move(kept);
    co_return std::move(failed->failure);
  }
  co_return co_await OriginPool::acquire(pool(), std::move(key), newest, wait);
}

Task<HttpVersion> Origins::probe(OriginKey key, OriginPool::Permit permit) {
  OriginWait wait(worker_.loop());
  auto probed = co_await OriginPool::probe(pool(), key, std::move(permit), wait);
  if (auto* failure = std::get_if<DialFailure>(&probed)) {
    failed_ = Failed{std::move(key), std::move(*failure)};
    co_return HttpVersion::http11;
  }
  co_return std::get<HttpVersion>(probed);
}

}  // namespace warder
