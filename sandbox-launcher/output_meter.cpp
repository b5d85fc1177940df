#include "sandbox-launcher/output_meter.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace warder {
namespace {

bool write_all(int to, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(to, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

void tell(const Fd& wake) {
  const std::uint64_t one = 1;
  (void)!::write(wake.get(), &one, sizeof one);
}

}  // namespace

bool OutputMeter::open(std::uint64_t most) {
  shared_ = std::make_shared<Shared>();
  shared_->most = most;
  shared_->wake = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  for (const std::size_t i : {0U, 1U}) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    ours_[i] = Fd(ends[0]);
    theirs_[i] = Fd(ends[1]);
  }
  return static_cast<bool>(shared_->wake);
}

void OutputMeter::relay(const std::shared_ptr<Shared>& shared, Fd from, int to) {
  // A reader that has gone is CMD's to hear of, not ours to die of.
  sigset_t broken;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &broken, nullptr);
  std::array<char, 64 * 1024> piece{};
  for (;;) {
    const ssize_t n = ::read(from.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    const auto size = static_cast<std::uint64_t>(n);
    const std::uint64_t before = shared->bytes.fetch_add(size);
    const std::uint64_t left = before < shared->most ? shared->most - before : 0;
    if (!write_all(to, piece.data(), static_cast<std::size_t>(std::min(left, size)))) break;
    if (size > left) {
      shared->over = true;
      tell(shared->wake);
    }
  }
  from.reset();
  --shared->running;
  tell(shared->wake);
}

void OutputMeter::start() {
  if (!shared_) return;
  shared_->running = 2;
  for (const int i : {0, 1}) {
    theirs_[i].reset();
    threads_.emplace_back([shared = shared_, from = std::move(ours_[i]), to = i + 1]() mutable {
      relay(shared, std::move(from), to);
    });
  }
}

void OutputMeter::take_wake() const {
  std::uint64_t count = 0;
  if (shared_) (void)!::read(shared_->wake.get(), &count, sizeof count);
}

// A thread whose reader takes nothing cannot be waited for.
OutputMeter::~OutputMeter() {
  for (std::thread& each : threads_) {
    if (is_drained())
      each.join();
    else
      each.detach();
  }
}

}  // namespace warder
