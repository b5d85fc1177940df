#include "proxy/worker.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

namespace warder {

Worker::Worker() : work_(asio::make_work_guard(loop_)) {}

Worker::~Worker() { stop(std::chrono::milliseconds(0)); }

void Worker::start() {
  auto forever = sweep();
  asio::co_spawn(loop_, std::move(forever), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  thread_ = std::thread([this] { loop_.run(); });
}

void Worker::stop(std::chrono::milliseconds grace) {
  if (!thread_.joinable()) return;
  asio::post(loop_, [this, grace] {
    stopping_ = true;
    stop_by_ = std::chrono::steady_clock::now() + grace;
    for (auto it = swept_.begin(); it != swept_.end();) (*it++)->close();
    if (active_ == 0 || grace.count() == 0) loop_.stop();
  });
  thread_.join();
}

Worker::Place Worker::enlist(Swept& swept) {
  auto place = swept_.insert(swept_.end(), &swept);
  // Born after stop(): it must not outlive the sweep that closed the others.
  if (stopping_) swept.close();
  return place;
}

void Worker::spawn(Task<> task) {
  ++active_;
  asio::co_spawn(loop_, std::move(task), [this](std::exception_ptr thrown) {
    --active_;
    if (thrown) std::rethrow_exception(thrown);
    if (stopping_ && active_ == 0) loop_.stop();
  });
}

Task<> Worker::sweep() {
  asio::steady_timer timer(loop_);
  for (;;) {
    timer.expires_after(kSweepEvery);
    auto [error] = co_await timer.async_wait(as_result);
    if (error) co_return;
    look(std::chrono::steady_clock::now());
  }
}

void Worker::look(SteadyTime now) {
  if (stopping_ && now >= stop_by_) loop_.stop();
  for (auto it = swept_.begin(); it != swept_.end();) (*it++)->on_sweep(now);
}

void Worker::sweep_soon() {
  asio::post(loop_, [this] { look(std::chrono::steady_clock::now()); });
}

}  // namespace warder
