#include "proxy/dns_channel.hpp"

#define CARES_NO_DEPRECATED  // newer versions deprecate what Debian 12's has instead
#include <ares.h>
#include <netinet/in.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstring>
#include <stdexcept>

namespace warder {
namespace {

constexpr int kTries = 3;  // per server; each round waits twice as long as the one before
constexpr int kRounds = 1 + 2 + 4;
constexpr std::chrono::milliseconds kShortestTry{250};

void library_ready() {
  static const int status = ares_library_init(ARES_LIB_INIT_ALL);
  if (status != ARES_SUCCESS)
    throw std::runtime_error(std::string("c-ares: ") + ares_strerror(status));
}

std::size_t servers_of_the_system() {
  ares_channel channel = nullptr;
  if (ares_init(&channel) != ARES_SUCCESS) return 1;
  ares_addr_port_node* servers = nullptr;
  std::size_t count = 0;
  if (ares_get_servers_ports(channel, &servers) == ARES_SUCCESS) {
    for (const ares_addr_port_node* at = servers; at != nullptr; at = at->next) ++count;
    ares_free_data(servers);
  }
  ares_destroy(channel);
  return std::max<std::size_t>(count, 1);
}

std::string joined(const std::vector<std::string>& servers) {
  std::string all;
  for (const std::string& server : servers) all += (all.empty() ? "" : ",") + server;
  return all;
}

std::optional<IpAddress> address_of(const ares_addrinfo_node& node) {
  IpAddress address;
  if (node.ai_family == AF_INET) {
    std::array<std::uint8_t, 4> v4{};
    std::memcpy(v4.data(), &reinterpret_cast<const sockaddr_in*>(node.ai_addr)->sin_addr,
                v4.size());
    return IpAddress::v4(v4);
  }
  if (node.ai_family != AF_INET6) return std::nullopt;
  std::memcpy(address.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(node.ai_addr)->sin6_addr,
              address.bytes.size());
  return address;
}

NameAnswer answer_of(const ares_addrinfo& found) {
  std::vector<IpAddress> addresses;
  int ttl = static_cast<int>(NameCache::kLongest.count());
  for (const ares_addrinfo_cname* at = found.cnames; at != nullptr; at = at->next)
    ttl = std::min(ttl, at->ttl);
  for (const ares_addrinfo_node* at = found.nodes; at != nullptr; at = at->ai_next) {
    ttl = std::min(ttl, at->ai_ttl);
    const std::optional<IpAddress> address = address_of(*at);
    if (!address || addresses.size() == DnsChannel::kMaxAddresses) continue;
    if (std::find(addresses.begin(), addresses.end(), *address) == addresses.end())
      addresses.push_back(*address);
  }
  if (addresses.empty()) return {ResolveError::no_address};
  return {std::move(addresses), std::chrono::seconds(std::max(ttl, 0))};
}

ResolveError error_of(int status) {
  switch (status) {
    case ARES_ENOTFOUND:
    case ARES_EBADNAME: return ResolveError::no_such_name;
    case ARES_ENODATA: return ResolveError::no_address;
    case ARES_ETIMEOUT: return ResolveError::no_answer;
    default: return ResolveError::refused;
  }
}

}  // namespace

struct DnsChannel::Watch {
  Watch(asio::io_context& loop, int socket) : descriptor(loop, socket) {}
  asio::posix::stream_descriptor descriptor;
  bool open = true;  // until c-ares closes the socket, which is its own
  bool wants_read = false, wants_write = false;
  bool reading = false, writing = false;
};

DnsChannel::DnsChannel(asio::io_context& loop, const std::vector<std::string>& servers)
    : loop_(loop), timer_(loop) {
  library_ready();
  const std::size_t count = servers.empty() ? servers_of_the_system() : servers.size();
  const auto each = kPatience / (kRounds * static_cast<long>(count));
  std::string lookups = "fb";  // /etc/hosts, then DNS
  ares_options options{};
  // Names are whole: no search domain and no alias of the environment is ever put in.
  options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS;
  options.ndots = 0;
  options.ndomains = 0;
  options.lookups = lookups.data();
  options.timeout = static_cast<int>(std::max(each, kShortestTry).count());
  options.tries = kTries;
  options.sock_state_cb = on_state;
  options.sock_state_cb_data = this;
  int mask = ARES_OPT_FLAGS | ARES_OPT_NDOTS | ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS |
             ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NOROTATE | ARES_OPT_SOCK_STATE_CB;
#ifdef ARES_OPT_QUERY_CACHE
  options.qcache_max_ttl = 0;  // the cache is ours
  mask |= ARES_OPT_QUERY_CACHE;
#endif
  int status = ares_init_options(&channel_, &options, mask);
  if (status == ARES_SUCCESS && !servers.empty()) {
    status = ares_set_servers_ports_csv(channel_, joined(servers).c_str());
    if (status != ARES_SUCCESS) ares_destroy(channel_);
  }
  if (status != ARES_SUCCESS)
    throw std::runtime_error(std::string("the resolver: ") + ares_strerror(status));
}

DnsChannel::~DnsChannel() { ares_destroy(channel_); }

void DnsChannel::look_up(const std::string& name, Done done) {
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  auto query = std::make_unique<Done>(std::move(done));
  ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, on_answer, query.release());
  set_timer();
}

void DnsChannel::on_answer(void* query, int status, int, ares_addrinfo* found) noexcept {
  const std::unique_ptr<Done> done(static_cast<Done*>(query));
  NameAnswer answer{error_of(status)};
  if (status == ARES_SUCCESS && found != nullptr) answer = answer_of(*found);
  if (found != nullptr) ares_freeaddrinfo(found);
  (*done)(std::move(answer));
}

void DnsChannel::on_state(void* self, int socket, int readable, int writable) noexcept {
  static_cast<DnsChannel*>(self)->watch(socket, readable != 0, writable != 0);
}

void DnsChannel::watch(int socket, bool readable, bool writable) {
  auto found = watches_.find(socket);
  if (!readable && !writable) {
    if (found == watches_.end()) return;
    found->second->open = false;
    found->second->descriptor.release();  // ends the waits; c-ares closes it next
    watches_.erase(found);
    return;
  }
  if (found == watches_.end())
    found = watches_.emplace(socket, std::make_shared<Watch>(loop_, socket)).first;
  const std::shared_ptr<Watch> watch = found->second;
  watch->wants_read = readable;
  watch->wants_write = writable;
  wait_to_read(watch);
  wait_to_write(watch);
}

void DnsChannel::wait_to_read(std::shared_ptr<Watch> watch) {
  if (!watch->open || !watch->wants_read || watch->reading) return;
  watch->reading = true;
  watch->descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                               [this, watch](error_code error) {
                                 watch->reading = false;
                                 if (error || !watch->open) return;
                                 process(watch->descriptor.native_handle(), ARES_SOCKET_BAD);
                                 wait_to_read(watch);
                               });
}

void DnsChannel::wait_to_write(std::shared_ptr<Watch> watch) {
  if (!watch->open || !watch->wants_write || watch->writing) return;
  watch->writing = true;
  watch->descriptor.async_wait(asio::posix::stream_descriptor::wait_write,
                               [this, watch](error_code error) {
                                 watch->writing = false;
                                 if (error || !watch->open) return;
                                 process(ARES_SOCKET_BAD, watch->descriptor.native_handle());
                                 wait_to_write(watch);
                               });
}

void DnsChannel::process(int readable, int writable) {
  ares_process_fd(channel_, readable, writable);
  set_timer();
}

void DnsChannel::set_timer() {
  timeval left{};
  if (ares_timeout(channel_, nullptr, &left) == nullptr) {
    timer_.cancel();
    return;
  }
  timer_.expires_after(std::chrono::seconds(left.tv_sec) + std::chrono::microseconds(left.tv_usec));
  timer_.async_wait([this](error_code error) {
    if (!error) process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  });
}

}  // namespace warder
