// c-ares on one loop: its sockets are waited for by Asio, its time-outs by one timer. Everything here happens on the
// thread that runs the loop.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "proxy/io.hpp"
#include "proxy/name_cache.hpp"

struct ares_channeldata;
struct ares_addrinfo;

namespace warder {

class DnsChannel {
 public:
  static constexpr std::size_t kMaxAddresses = 64;  // of one name; what follows is not looked at
  // The last repetition to the last server has had its time after this.
  static constexpr std::chrono::milliseconds kPatience{9'000};
  using Done = std::function<void(NameAnswer)>;

  // `servers`: "address:port" each; none: what /etc/resolv.conf says now. No other server is ever asked. Throws
  // std::runtime_error.
  DnsChannel(asio::io_context& loop, const std::vector<std::string>& servers);
  // What is still asked ends with an error. The loop must not run any more.
  ~DnsChannel();
  DnsChannel(const DnsChannel&) = delete;

  // /etc/hosts first, then A and AAAA of exactly this name. `done` may run before this returns.
  void look_up(const std::string& name, Done done);

 private:
  struct Watch;
  static void on_state(void* self, int socket, int readable, int writable) noexcept;
  static void on_answer(void* query, int status, int timeouts, ares_addrinfo* found) noexcept;
  void watch(int socket, bool readable, bool writable);
  void wait_to_read(std::shared_ptr<Watch> watch);
  void wait_to_write(std::shared_ptr<Watch> watch);
  void process(int readable, int writable);
  void set_timer();

  asio::io_context& loop_;
  asio::steady_timer timer_;
  std::unordered_map<int, std::shared_ptr<Watch>> watches_;
  ares_channeldata* channel_ = nullptr;
};

}  // namespace warder
