#include "sandbox-launcher/network.hpp"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <net/if.h>
#include <netinet/in.h>
#include <nftables/libnftables.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include "sandbox-launcher/diagnosis.hpp"
#include "sandbox-launcher/netlink.hpp"

namespace warder {
namespace {

// Above the kernel's ephemeral range (32768-60999), where the sandbox's own sockets get theirs.
constexpr std::uint16_t kFirstPort = 61053;
constexpr std::uint16_t kLastPort = 61153;
constexpr int kBacklog = 4096;

void write_file(const char* path, const std::string& text, Step step, const std::string& what) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw refusal(step, what);
  }
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Address loopback(int family, std::uint16_t port) {
  Address address;
  if (family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.size = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    v6.sin6_addr = in6addr_loopback;
    address.size = sizeof v6;
  }
  return address;
}

Address anywhere(int family, std::uint16_t port) {
  Address address = loopback(family, port);
  if (family == AF_INET)
    reinterpret_cast<sockaddr_in&>(address.storage).sin_addr.s_addr = INADDR_ANY;
  else
    reinterpret_cast<sockaddr_in6&>(address.storage).sin6_addr = in6addr_any;
  return address;
}

// Never SO_REUSEPORT: a process inside could bind beside us and take connections.
Fd bound(int family, int type, const Address& at) {
  Fd socket(::socket(family, type | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  const int on = 1;
  if (family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    // An answer comes from the address that was asked, which no interface has.
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof on);
  }
  const auto* address = reinterpret_cast<const sockaddr*>(&at.storage);
  if (::bind(socket.get(), address, at.size) != 0) return {};
  if (type == SOCK_STREAM && ::listen(socket.get(), kBacklog) != 0) return {};
  return socket;
}

bool has_ipv6() { return static_cast<bool>(bound(AF_INET6, SOCK_DGRAM, loopback(AF_INET6, 0))); }

LaunchError nft_refusal(const std::string& said) {
  const int error = error_in(said);
  const HostFacts facts = read_host_facts();
  const bool refused = error == EPERM || error == EACCES;
  const Cause missing = facts.wsl ? Cause::no_nf_tables_wsl : Cause::no_nf_tables;
  const Cause cause = refused ? cause_of(Step::network, error, facts) : missing;
  const std::string failure = "cannot redirect the sandbox's connections (nf_tables): " + said;
  LaunchError out(failure + ". " + hint(cause));
  out.failure = failure;
  out.error = error;
  out.cause = cause;
  return out;
}

void run_nft(std::uint16_t port) {
  // libnftables ends the whole process where the kernel does not have it.
  if (!Fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER)))
    throw nft_refusal(std::strerror(errno));
  const std::unique_ptr<nft_ctx, decltype(&nft_ctx_free)> nft(nft_ctx_new(NFT_CTX_DEFAULT),
                                                              nft_ctx_free);
  if (!nft) throw LaunchError("cannot start libnftables");
  nft_ctx_buffer_output(nft.get());
  nft_ctx_buffer_error(nft.get());
  const std::string rules =
      "table inet warder {\n"
      " chain output {\n"
      "  type nat hook output priority -100; policy accept;\n"
      "  ip daddr 127.0.0.0/8 return\n"
      "  ip6 daddr ::1 return\n"
      "  meta l4proto tcp redirect to :" +
      std::to_string(port) +
      "\n"
      " }\n"
      "}\n";
  if (nft_run_cmd_from_buffer(nft.get(), rules.c_str()) == 0) return;
  const char* said = nft_ctx_get_error_buffer(nft.get());
  std::string first(said != nullptr ? said : "");
  first = first.substr(0, first.find('\n'));
  throw nft_refusal(first);
}

void ask_for_packet_info(const Fd& socket, int family) {
  const int on = 1;
  const int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
  const int option = family == AF_INET ? IP_PKTINFO : IPV6_RECVPKTINFO;
  if (::setsockopt(socket.get(), level, option, &on, sizeof on) != 0)
    throw launch_error("ask for packet addresses");
}

void listen_for_names(int family, Fd& datagrams, Fd& streams) {
  datagrams = bound(family, SOCK_DGRAM, anywhere(family, 53));
  if (!datagrams) throw launch_error("bind the sandbox's resolver (UDP 53)");
  ask_for_packet_info(datagrams, family);
  streams = bound(family, SOCK_STREAM, loopback(family, 53));
  if (!streams) throw launch_error("bind the sandbox's resolver (TCP 53)");
}

}  // namespace

void enter_namespaces(int others, uid_t uid, gid_t gid) {
  if (::unshare(CLONE_NEWUSER | others) != 0)
    throw refusal(Step::user_namespace, (others & CLONE_NEWNET) == 0
                                            ? "make a user namespace"
                                            : "make a user namespace and a network namespace");
  write_file("/proc/self/setgroups", "deny", Step::user_map,
             "fix the groups of the user namespace (/proc/self/setgroups)");
  const auto map = [](unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1"; };
  write_file("/proc/self/uid_map", map(uid), Step::user_map,
             "map the user into its user namespace (/proc/self/uid_map)");
  write_file("/proc/self/gid_map", map(gid), Step::user_map,
             "map the group into its user namespace (/proc/self/gid_map)");
}

void enter_network_namespace(uid_t uid, gid_t gid) { enter_namespaces(CLONE_NEWNET, uid, gid); }

SandboxListeners make_network() {
  Netlink netlink;
  const int lo = static_cast<int>(::if_nametoindex("lo"));
  netlink.set_up(lo);
  // A non-loopback address, else getaddrinfo with AI_ADDRCONFIG finds no family worth asking for.
  static constexpr std::array<std::uint8_t, 4> kOwn{198, 18, 0, 1};
  netlink.add_address(lo, kOwn, 32);
  netlink.add_local_default(lo, AF_INET);
  const bool ipv6 = has_ipv6();
  if (ipv6) netlink.add_local_default(lo, AF_INET6);

  SandboxListeners listeners;
  for (std::uint16_t port = kFirstPort; port <= kLastPort && !listeners.tcp4; ++port) {
    listeners.tcp4 = bound(AF_INET, SOCK_STREAM, loopback(AF_INET, port));
    listeners.port = port;
  }
  if (!listeners.tcp4) throw launch_error("bind the gateway's listener in the sandbox");
  listen_for_names(AF_INET, listeners.dns_udp4, listeners.dns_tcp4);
  if (ipv6) {
    listeners.tcp6 = bound(AF_INET6, SOCK_STREAM, loopback(AF_INET6, listeners.port));
    if (!listeners.tcp6) throw launch_error("bind the gateway's IPv6 listener in the sandbox");
    listen_for_names(AF_INET6, listeners.dns_udp6, listeners.dns_tcp6);
  }
  run_nft(listeners.port);
  // The sandbox's own services may use 80 and 443 on its loopback, as in a container; 53 stays ours.
  write_file("/proc/sys/net/ipv4/ip_unprivileged_port_start", "80", Step::network,
             "open the sandbox's own low ports");
  return listeners;
}

}  // namespace warder
