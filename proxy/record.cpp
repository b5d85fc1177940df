#include "proxy/record.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>
#include <mutex>

namespace warder {
namespace {

// What the log's thread and the coroutine share. The coroutine's frame belongs to its loop alone; the log's thread
// posts there only while somebody waits, for a loop that was stopped meanwhile may be gone.
struct Answer {
  std::mutex mutex;
  asio::steady_timer* waiting = nullptr;  // changed under the mutex
  bool came = false;                      // on the loop's thread only, as what follows
  std::optional<std::uint64_t> sequence;

  void take(bool ok, std::uint64_t given) {
    if (waiting == nullptr) return;
    came = true;
    if (ok) sequence = given;
    waiting->cancel();
  }
};

struct Waiting {
  Waiting(std::shared_ptr<Answer> on, asio::steady_timer& timer) : answer(std::move(on)) {
    answer->waiting = &timer;
  }
  Waiting(const Waiting&) = delete;
  ~Waiting() {
    const std::scoped_lock lock(answer->mutex);
    answer->waiting = nullptr;
  }
  std::shared_ptr<Answer> answer;
};

}  // namespace

Task<std::optional<std::uint64_t>> record(audit::Log& log, audit::Record what,
                                          audit::Durability durability, unsigned reserve) {
  auto executor = co_await asio::this_coro::executor;
  asio::steady_timer arrived(executor, SteadyTime::max());
  auto answer = std::make_shared<Answer>();
  const Waiting waiting(answer, arrived);
  auto done = [answer, executor](bool ok, std::uint64_t sequence) {
    const std::scoped_lock lock(answer->mutex);
    if (answer->waiting == nullptr) return;
    asio::post(executor, [answer, ok, sequence] { answer->take(ok, sequence); });
  };
  log.append(std::move(what), durability, reserve, std::move(done));
  while (!answer->came) (void)co_await arrived.async_wait(as_result);
  co_return answer->sequence;
}

}  // namespace warder
