#include "proxy/resolve.hpp"

#include <arpa/inet.h>

#include <algorithm>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

namespace warder {
namespace {

IpAddress literal(const HostName& host) {
  IpAddress address;
  if (host.kind() == HostName::Kind::ipv4) {
    std::array<std::uint8_t, 4> v4{};
    ::inet_pton(AF_INET, host.str().c_str(), v4.data());
    return IpAddress::v4(v4);
  }
  ::inet_pton(AF_INET6, host.str().c_str(), address.bytes.data());
  return address;
}

}  // namespace

// Between the resolver's thread and one that waits on a worker's; whoever stops waiting takes himself out of it.
struct Resolver::Mailbox {
  std::mutex mutex;
  Waiting* reader = nullptr;  // written on the worker's thread, under the mutex

  static void deliver(const std::shared_ptr<Mailbox>& mailbox, const NameAnswer& answer);
};

// Lives in the waiting coroutine's frame.
class Resolver::Waiting final : public Swept {
 public:
  Waiting(Worker& worker, SteadyDuration limit)
      : worker_(worker), bell_(worker.loop(), limit), place_(worker.enlist(*this)) {
    mailbox_->reader = this;
  }
  ~Waiting() override {
    {
      const std::scoped_lock lock(mailbox_->mutex);
      mailbox_->reader = nullptr;
    }
    worker_.delist(place_);
  }

  const std::shared_ptr<Mailbox>& mailbox() const { return mailbox_; }
  asio::io_context& loop() { return worker_.loop(); }
  void take(const NameAnswer& answer) {
    answer_ = answer.addresses;
    bell_.cancel();
  }
  void close() override {
    answer_ = Result<std::vector<IpAddress>>(IoError::closed);
    bell_.cancel();
  }
  void on_sweep(SteadyTime) override {}

  Task<Result<std::vector<IpAddress>>> answer() {
    if (!answer_) (void)co_await bell_.async_wait(as_result);
    if (!answer_) co_return ResolveError::no_answer;
    co_return std::move(*answer_);
  }

 private:
  Worker& worker_;
  asio::steady_timer bell_;
  std::optional<Result<std::vector<IpAddress>>> answer_;
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
  Worker::Place place_;  // last: a worker that is stopping closes this at once
};

void Resolver::Mailbox::deliver(const std::shared_ptr<Mailbox>& mailbox, const NameAnswer& answer) {
  const std::scoped_lock lock(mailbox->mutex);
  if (mailbox->reader == nullptr) return;
  asio::post(mailbox->reader->loop(), [mailbox, answer] {
    if (mailbox->reader != nullptr) mailbox->reader->take(answer);
  });
}

Resolver::Resolver(const std::vector<std::string>& servers)
    : work_(asio::make_work_guard(loop_)), channel_(loop_, servers) {}

Resolver::~Resolver() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
}

Task<Result<std::vector<IpAddress>>> Resolver::resolve(Worker& worker, HostName host,
                                                       SteadyDuration limit,
                                                       const SessionLife* life) {
  if (host.is_address()) {
    std::vector<IpAddress> itself{literal(host)};
    co_return std::move(itself);
  }
  auto known = cache_.find(host.str(), std::chrono::steady_clock::now());
  if (known) co_return std::move(known->addresses);
  Waiting waiting(worker, limit);
  const EndsWithSession end(worker, life, waiting);
  ask(host.str(), life, waiting.mailbox());
  co_return co_await waiting.answer();
}

void Resolver::ask(const std::string& name, const void* owner, std::shared_ptr<Mailbox> mailbox) {
  std::call_once(started_, [this] { thread_ = std::thread([this] { loop_.run(); }); });
  asio::post(loop_,
             [this, name, owner, mailbox = std::move(mailbox)] { begin(name, owner, mailbox); });
}

bool Resolver::may_begin(const void* owner) const {
  const auto of_one = std::count_if(flights_.begin(), flights_.end(), [&](const auto& flight) {
    return flight.second.owner == owner;
  });
  if (owner == nullptr) return flights_.size() < kMaxLookUps;
  return flights_.size() < kMaxLookUps && of_one < static_cast<std::ptrdiff_t>(kMaxOfOne);
}

void Resolver::begin(const std::string& name, const void* owner, std::shared_ptr<Mailbox> mailbox) {
  const auto under_way = flights_.find(name);
  if (under_way != flights_.end()) {
    under_way->second.waiting.push_back(std::move(mailbox));
    return;
  }
  // It may have landed since the worker looked.
  const auto known = cache_.find(name, std::chrono::steady_clock::now());
  if (known) return Mailbox::deliver(mailbox, *known);
  if (!may_begin(owner)) {
    const NameAnswer too_many{ResolveError::too_many};
    return Mailbox::deliver(mailbox, too_many);
  }
  Flight& flight = flights_[name];
  flight.owner = owner;
  flight.waiting.push_back(std::move(mailbox));
  channel_.look_up(name, [this, name](NameAnswer answer) { land(name, std::move(answer)); });
}

void Resolver::land(const std::string& name, NameAnswer answer) {
  cache_.store(name, answer, std::chrono::steady_clock::now());
  const auto flight = flights_.extract(name);
  for (const auto& mailbox : flight.mapped().waiting) Mailbox::deliver(mailbox, answer);
}

}  // namespace warder
