#include "sandbox-launcher/netlink.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sandbox-launcher/diagnosis.hpp"

namespace warder {

// One message: header, fixed part, attributes.
struct Netlink::Request {
  alignas(nlmsghdr) std::array<char, 256> bytes{};
  nlmsghdr& header() { return *reinterpret_cast<nlmsghdr*>(bytes.data()); }

  template <class Fixed>
  Request(int type, int flags, const Fixed& fixed) {
    header().nlmsg_len = NLMSG_LENGTH(sizeof fixed);
    header().nlmsg_type = static_cast<std::uint16_t>(type);
    header().nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
    std::memcpy(NLMSG_DATA(&header()), &fixed, sizeof fixed);
  }
  void add(int type, const void* data, std::size_t size) {
    auto* attribute = reinterpret_cast<rtattr*>(bytes.data() + NLMSG_ALIGN(header().nlmsg_len));
    attribute->rta_type = static_cast<std::uint16_t>(type);
    attribute->rta_len = static_cast<std::uint16_t>(RTA_LENGTH(size));
    std::memcpy(RTA_DATA(attribute), data, size);
    header().nlmsg_len =
        static_cast<std::uint32_t>(NLMSG_ALIGN(header().nlmsg_len) + RTA_ALIGN(attribute->rta_len));
  }
};

Netlink::Netlink() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {
  if (!socket_) throw launch_error("open a netlink socket");
}

void Netlink::send(Request& request, const std::string& step) {
  if (::send(socket_.get(), request.bytes.data(), request.header().nlmsg_len, 0) < 0)
    throw refusal(Step::network, step);
  alignas(nlmsghdr) std::array<char, 4096> reply{};
  const ssize_t n = ::recv(socket_.get(), reply.data(), reply.size(), 0);
  if (n < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) throw launch_error(step);
  const auto* header = reinterpret_cast<const nlmsghdr*>(reply.data());
  const auto* answer = static_cast<const nlmsgerr*>(NLMSG_DATA(header));
  if (header->nlmsg_type != NLMSG_ERROR || answer->error != 0) {
    errno = header->nlmsg_type == NLMSG_ERROR ? -answer->error : EPROTO;
    throw refusal(Step::network, step);
  }
}

void Netlink::set_up(int interface) {
  ifinfomsg link{};
  link.ifi_family = AF_UNSPEC;
  link.ifi_index = interface;
  link.ifi_flags = IFF_UP;
  link.ifi_change = IFF_UP;
  Request request(RTM_NEWLINK, 0, link);
  send(request, "bring the loopback interface up");
}

void Netlink::add_address(int interface, std::span<const std::uint8_t> address, int prefix) {
  ifaddrmsg fixed{};
  fixed.ifa_family = address.size() == 4 ? AF_INET : AF_INET6;
  fixed.ifa_prefixlen = static_cast<std::uint8_t>(prefix);
  fixed.ifa_index = static_cast<std::uint32_t>(interface);
  Request request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, fixed);
  request.add(IFA_LOCAL, address.data(), address.size());
  request.add(IFA_ADDRESS, address.data(), address.size());
  send(request, "give the sandbox its address (RTM_NEWADDR)");
}

void Netlink::add_local_default(int interface, int family) {
  rtmsg route{};
  route.rtm_family = static_cast<std::uint8_t>(family);
  route.rtm_table = RT_TABLE_LOCAL;
  route.rtm_protocol = RTPROT_BOOT;
  route.rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
  route.rtm_type = RTN_LOCAL;
  Request request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route);
  request.add(RTA_OIF, &interface, sizeof interface);
  send(request, "make every address local (RTM_NEWROUTE)");
}

}  // namespace warder
