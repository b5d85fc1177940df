#include "proxy/resolve.hpp"

#include <arpa/inet.h>
#include <netdb.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <cstring>
#include <optional>

namespace warder {
namespace {

std::vector<IpAddress> look_up(const char* name, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  std::vector<IpAddress> addresses;
  if (::getaddrinfo(name, nullptr, &hints, &found) != 0) return addresses;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    IpAddress address;
    if (at->ai_family == AF_INET) {
      std::array<std::uint8_t, 4> v4{};
      std::memcpy(v4.data(), &reinterpret_cast<sockaddr_in*>(at->ai_addr)->sin_addr, v4.size());
      address = IpAddress::v4(v4);
    } else if (at->ai_family == AF_INET6) {
      const auto& v6 = reinterpret_cast<sockaddr_in6*>(at->ai_addr)->sin6_addr;
      std::memcpy(address.bytes.data(), &v6, address.bytes.size());
    } else {
      continue;
    }
    addresses.push_back(address);
  }
  ::freeaddrinfo(found);
  return addresses;
}

}  // namespace

// One look-up. `deliver` runs on the resolver's thread, under the mutex; whoever stops waiting empties it.
struct Resolver::Job {
  std::string name;
  std::mutex mutex;
  std::function<void(std::vector<IpAddress>)> deliver;
};

struct Resolver::Shared {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<std::shared_ptr<Job>> queue;
  bool closing = false;
};

void Resolver::work(std::shared_ptr<Shared> shared) {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(shared->mutex);
      shared->arrived.wait(lock, [&] { return shared->closing || !shared->queue.empty(); });
      if (shared->closing) return;
      job = std::move(shared->queue.front());
      shared->queue.pop_front();
    }
    auto addresses = look_up(job->name.c_str(), AI_ADDRCONFIG);
    const std::scoped_lock lock(job->mutex);
    if (job->deliver) job->deliver(std::move(addresses));
  }
}

Resolver::Resolver() : shared_(std::make_shared<Shared>()) {
  for (std::size_t i = 0; i < kThreads; ++i) std::thread(work, shared_).detach();
}

Resolver::~Resolver() {
  const std::scoped_lock lock(shared_->mutex);
  shared_->closing = true;
  shared_->arrived.notify_all();
}

Task<Result<std::vector<IpAddress>>> Resolver::resolve(HostName host, SteadyDuration limit) {
  if (host.is_address()) co_return look_up(host.str().c_str(), AI_NUMERICHOST);
  auto executor = co_await asio::this_coro::executor;
  // Lives in this frame; the thread reaches them only through `deliver`, which the guard below takes back.
  asio::steady_timer done(executor, limit);
  auto job = std::make_shared<Job>();
  job->name = host.str();
  auto mailbox = std::make_shared<std::optional<std::vector<IpAddress>>>();
  auto alive = std::make_shared<asio::steady_timer*>(&done);
  job->deliver = [executor, mailbox, alive](std::vector<IpAddress> addresses) {
    asio::post(executor, [mailbox, alive, found = std::move(addresses)]() mutable {
      if (*alive == nullptr) return;
      *mailbox = std::move(found);
      (*alive)->cancel();
    });
  };
  struct Guard {
    std::shared_ptr<Job> job;
    std::shared_ptr<asio::steady_timer*> alive;
    ~Guard() {
      *alive = nullptr;
      const std::scoped_lock lock(job->mutex);
      job->deliver = nullptr;
    }
  };
  const Guard guard{job, alive};
  {
    const std::scoped_lock lock(shared_->mutex);
    if (shared_->queue.size() >= kMaxQueued) co_return error_code(asio::error::no_buffer_space);
    shared_->queue.push_back(job);
  }
  shared_->arrived.notify_one();
  (void)co_await done.async_wait(as_result);
  if (!*mailbox) co_return IoError::timed_out;
  co_return std::move(**mailbox);
}

}  // namespace warder
