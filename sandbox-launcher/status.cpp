#include "sandbox-launcher/status.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "sandbox-launcher/init.hpp"
#include "sandbox-launcher/process_namespace.hpp"

namespace warder {
namespace {

pid_t writer_of(msghdr& message) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_CREDENTIALS) continue;
    ucred writer{};
    std::memcpy(&writer, CMSG_DATA(at), sizeof writer);
    return writer.pid;
  }
  return -1;
}

}  // namespace

bool Status::open(Fd& theirs) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return false;
  socket_ = Fd(pair[0]);
  theirs = Fd(pair[1]);
  const int on = 1;
  return ::setsockopt(socket_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
         ::shutdown(socket_.get(), SHUT_WR) == 0 &&
         ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK) == 0;
}

void Status::take() {
  while (socket_) {
    std::array<char, 4096> piece{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    iovec into{piece.data(), piece.size()};
    msghdr message{};
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t n = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    if (n == 0) socket_.reset();  // at its end it would be ready for ever
    if (n <= 0) return;
    // The kernel never puts two writers' words into one piece: who ends a line wrote it.
    said_.append(piece.data(), static_cast<std::size_t>(n));
    const pid_t writer = writer_of(message);
    if (first_ < 0 && said_.find(kFirstLine) != std::string::npos) first_ = writer;
    if (init_ < 0 && said_.find(kInitLine) != std::string::npos) init_ = writer;
  }
}

bool Status::take_stopped() {
  // However often: it is one stop to us.
  bool has_stopped = false;
  for (std::size_t at = 0; (at = said_.find(kStoppedLine)) != std::string::npos;) {
    said_.erase(at, std::strlen(kStoppedLine));
    has_stopped = true;
  }
  return has_stopped;
}

int Status::exit_code(int otherwise) const {
  // { "exit-code": 7 }. bubblewrap says it once.
  const std::size_t at = said_.find("\"exit-code\"");
  const std::size_t colon = at == std::string::npos ? at : said_.find(':', at);
  return colon == std::string::npos ? otherwise : std::atoi(said_.c_str() + colon + 1);
}

}  // namespace warder
