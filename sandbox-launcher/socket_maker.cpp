#include "sandbox-launcher/socket_maker.hpp"

#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>

namespace warder {
namespace {

constexpr int kFailedToJoin = 3;
constexpr int kFailedToConfine = 4;

bool join(int user_namespace, int network_namespace) {
  if (::setns(user_namespace, CLONE_NEWUSER) != 0) return false;
  if (::setns(network_namespace, CLONE_NEWNET) != 0) return false;
  ::close(user_namespace);
  ::close(network_namespace);
  return true;
}

bool give_up_capabilities() {
  for (int each = 0; ::prctl(PR_CAPBSET_READ, each, 0, 0, 0) >= 0; ++each) {
    if (::prctl(PR_CAPBSET_DROP, each, 0, 0, 0) != 0) return false;
  }
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  return ::syscall(SYS_capset, &header, none.data()) == 0;
}

// TCP sockets, and the channel that they are handed over on.
bool filter_calls() {
  const std::unique_ptr<void, decltype(&seccomp_release)> filter(
      seccomp_init(SCMP_ACT_KILL_PROCESS), &seccomp_release);
  if (!filter) return false;
  for (const char* name : {"recvmsg", "sendmsg", "close", "exit_group", "rt_sigreturn"}) {
    if (seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, seccomp_syscall_resolve_name(name), 0) != 0)
      return false;
  }
  constexpr std::uint64_t kType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  for (const std::uint64_t family : {AF_INET, AF_INET6}) {
    const std::array<scmp_arg_cmp, 3> conditions{
        {{0, SCMP_CMP_EQ, family, 0}, {1, SCMP_CMP_EQ, kType, 0}, {2, SCMP_CMP_EQ, 0, 0}}};
    if (seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, SCMP_SYS(socket), conditions.size(),
                               conditions.data()) != 0)
      return false;
  }
  return seccomp_load(filter.get()) == 0;
}

bool confine(pid_t parent) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
      !give_up_capabilities())
    return false;
  // The kernel forgot it when the credentials changed.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) return false;
  return filter_calls();
}

bool say(int channel, char word, int socket) {
  iovec part{&word, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  if (socket >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &socket, sizeof socket);
  }
  return ::sendmsg(channel, &message, MSG_NOSIGNAL) == 1;
}

// False: the channel has ended.
bool hear(int channel, char& word) {
  iovec part{&word, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return ::recvmsg(channel, &message, 0) == 1;
}

bool answer(int channel, char word) {
  if (word != kWantIpv4 && word != kWantIpv6) return false;
  const int family = word == kWantIpv4 ? AF_INET : AF_INET6;
  const int socket = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const bool said = say(channel, socket >= 0 ? word : kNoSocket, socket);
  if (socket >= 0) ::close(socket);
  return said;
}

}  // namespace

int make_sockets(int user_namespace, int network_namespace, int channel) {
  const pid_t parent = ::getppid();
  if (!join(user_namespace, network_namespace)) return kFailedToJoin;
  if (!confine(parent)) return kFailedToConfine;
  if (!say(channel, kMakerReady, -1)) ::_exit(0);
  for (char word = 0; hear(channel, word) && answer(channel, word);) {
  }
  ::_exit(0);  // exit() would need more calls than are left
}

}  // namespace warder
