// The few rtnetlink requests that a sandbox's network needs (rtnetlink(7)).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/fd.hpp"

namespace warder {

class Netlink {
 public:
  Netlink();  // throws LaunchError

  void set_up(int interface);
  void add_address(int interface, std::span<const std::uint8_t> address, int prefix);
  // `ip route add local default dev …`: every address of the family is this host's.
  void add_local_default(int interface, int family);

 private:
  struct Request;
  void send(Request& request, const std::string& step);
  Fd socket_;
};

}  // namespace warder
