#include "sandbox-launcher/channel.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace warder {
namespace {

bool send_all(int socket, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::send(socket, data, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool receive_all(int socket, char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::recv(socket, data, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

using Control = std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))>;

void take_fds(msghdr& header, std::vector<Fd>& fds) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
}

}  // namespace

bool send_message(int socket, const std::string& text, const std::vector<int>& fds) {
  if (text.size() > kMaxMessage || fds.size() > kMaxFds) return false;
  // The length goes with the descriptors, so that they cannot be told apart from their message.
  const auto size = static_cast<std::uint32_t>(text.size());
  std::uint32_t length = size;
  iovec part{&length, sizeof length};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) Control control{};
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
  }
  if (::sendmsg(socket, &header, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof length)) return false;
  return send_all(socket, text.data(), text.size());
}

bool receive_message(int socket, Message& into) {
  std::uint32_t length = 0;
  iovec part{&length, sizeof length};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) Control control{};
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t n = 0;
  do {
    n = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  } while (n < 0 && errno == EINTR);
  if (n >= 0) take_fds(header, into.fds);  // ours to close, whatever came with them
  if (n != static_cast<ssize_t>(sizeof length) || length > kMaxMessage) return false;
  into.text.resize(length);
  return receive_all(socket, into.text.data(), into.text.size());
}

}  // namespace warder
