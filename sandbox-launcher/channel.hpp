// The control socket between `warder` and `warder-sandbox`: length-prefixed messages, file descriptors beside them.
#pragma once

#include <string>
#include <vector>

#include "base/fd.hpp"

namespace warder {

struct Message {
  std::string text;
  std::vector<Fd> fds;
};

inline constexpr std::size_t kMaxMessage =
    64 << 20;  // a plan holds a trust bundle, an argv and an environment
inline constexpr std::size_t kMaxFds = 16;

// False: the peer is gone.
bool send_message(int socket, const std::string& text, const std::vector<int>& fds = {});
// False: the peer is gone or broke the protocol.
bool receive_message(int socket, Message& into);

}  // namespace warder
