#include "sandbox-launcher/inside_sockets.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

#include "sandbox-launcher/socket_maker.hpp"

namespace warder {
namespace {

constexpr int kUser = 3;
constexpr int kNetwork = 4;
constexpr int kChannel = 5;
// Of one answer, on the busiest machine: beyond it the process is taken for dead.
constexpr timeval kPatience{30, 0};

LaunchFailure failure(const std::string& what) {
  return {"cannot publish ports: " + what + "; nothing was run", 125};
}

// Between fork and exec: only what is safe there.
[[noreturn]] void become_maker(const char* launcher, int user, int network, int channel) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const std::array<int, 3> moved{::fcntl(user, F_DUPFD, 10), ::fcntl(network, F_DUPFD, 10),
                                 ::fcntl(channel, F_DUPFD, 10)};
  ::dup2(moved[0], kUser);
  ::dup2(moved[1], kNetwork);
  ::dup2(moved[2], kChannel);
  ::close_range(kChannel + 1, ~0U, 0);
  char flag[] = "--sockets";
  char first[] = "3";
  char second[] = "4";
  char third[] = "5";
  char* const argv[] = {const_cast<char*>(launcher), flag, first, second, third, nullptr};
  char* const env[] = {nullptr};
  ::execve(launcher, argv, env);
  ::_exit(127);
}

Fd open_namespace(pid_t pid, const char* which) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/" + which;
  return Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

// The word, and the descriptor beside it. Empty word: the process is gone.
struct Answer {
  char word = 0;
  Fd socket;
};

Answer hear(const Fd& channel) {
  Answer answer;
  iovec part{&answer.word, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t n = 0;
  do {
    n = ::recvmsg(channel.get(), &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n != 1) return {};
  const cmsghdr* rights = CMSG_FIRSTHDR(&message);
  if (rights == nullptr || rights->cmsg_type != SCM_RIGHTS) return answer;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  answer.socket = Fd(fd);
  return answer;
}

}  // namespace

std::variant<InsideSockets, LaunchFailure> InsideSockets::start(
    pid_t sandbox, const std::filesystem::path& launcher) {
  const Fd user = open_namespace(sandbox, "user");
  const Fd network = open_namespace(sandbox, "net");
  if (!user || !network)
    return failure("the sandbox's namespaces cannot be opened (" +
                   std::string(std::strerror(errno)) + ")");
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return failure("no socket pair (" + std::string(std::strerror(errno)) + ")");
  Fd ours(pair[0]);
  Fd theirs(pair[1]);
  ::setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  const std::string path = launcher.string();
  const pid_t pid = ::fork();
  if (pid < 0) return failure("no process (" + std::string(std::strerror(errno)) + ")");
  if (pid == 0) become_maker(path.c_str(), user.get(), network.get(), theirs.get());
  theirs.reset();
  InsideSockets made(pid, std::move(ours));
  if (hear(made.channel_).word == kMakerReady) return made;
  return failure(
      "the process that makes sockets in the sandbox's network did not come up; the kernel must "
      "let "
      "warder join the user namespace that it made");
}

InsideSockets::InsideSockets(InsideSockets&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}

InsideSockets::~InsideSockets() {
  channel_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Fd InsideSockets::make(IpFamily family) {
  const char want = family == IpFamily::v4 ? kWantIpv4 : kWantIpv6;
  if (::send(channel_.get(), &want, 1, MSG_NOSIGNAL) != 1) return {};
  Answer answer = hear(channel_);
  return answer.word == want ? std::move(answer.socket) : Fd();
}

}  // namespace warder
