// The sandbox's network, made for real in a child process: as whoever runs the tests, root or not.
#include "sandbox-launcher/network.hpp"

#include <arpa/inet.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "sandbox-launcher/channel.hpp"
#include "sandbox-launcher/plan.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

// Runs `inside` in a fresh sandbox network; its exit code is the number of the first step that failed, 0 for none.
int in_network(const std::function<int(SandboxListeners&)>& inside) {
  const uid_t uid = ::getuid();
  const gid_t gid = ::getgid();
  const pid_t child = ::fork();
  if (child == 0) {
    int code = 99;
    try {
      enter_network_namespace(uid, gid);
      SandboxListeners listeners = make_network();
      code = inside(listeners);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

struct Peer {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Peer peer(const char* text, std::uint16_t port) {
  Peer made;
  auto& v4 = reinterpret_cast<sockaddr_in&>(made.address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(made.address);
  if (::inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    made.size = sizeof v4;
  } else {
    ::inet_pton(AF_INET6, text, &v6.sin6_addr);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    made.size = sizeof v6;
  }
  return made;
}

Fd dial(const char* text, std::uint16_t port, int type = SOCK_STREAM) {
  const Peer to = peer(text, port);
  Fd socket(::socket(to.address.ss_family, type, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to.address), to.size) != 0)
    return {};
  return socket;
}

bool comes_to(const Fd& listener) {
  pollfd waiting{listener.get(), POLLIN, 0};
  return ::poll(&waiting, 1, 1000) == 1;
}

}  // namespace

TEST_CASE("every TCP connection comes to the listener with its destination") {
  CHECK(in_network([](SandboxListeners& listeners) {
          for (const auto& [text, port] : {std::pair{"93.184.216.34", 80},
                                           {"10.1.2.3", 5432},
                                           {"198.18.0.9", 443},
                                           {"169.254.169.254", 80},
                                           {"8.8.8.8", 53},
                                           {"198.18.0.1", 9}}) {
            const Fd socket = dial(text, static_cast<std::uint16_t>(port));
            if (!socket) return 1;
            if (!comes_to(listeners.tcp4)) return 2;
            const Fd accepted(::accept(listeners.tcp4.get(), nullptr, nullptr));
            sockaddr_in meant{};
            socklen_t size = sizeof meant;
            if (::getsockopt(accepted.get(), SOL_IP, SO_ORIGINAL_DST, &meant, &size) != 0) return 3;
            const Peer expected = peer(text, static_cast<std::uint16_t>(port));
            const auto& v4 = reinterpret_cast<const sockaddr_in&>(expected.address);
            if (meant.sin_addr.s_addr != v4.sin_addr.s_addr || meant.sin_port != v4.sin_port)
              return 4;
          }
          return 0;
        }) == 0);
}

TEST_CASE("IPv6 comes to the listener as well") {
  CHECK(in_network([](SandboxListeners& listeners) {
          if (!listeners.tcp6) return 0;  // a kernel without IPv6 has no IPv6 to leave by
          const Fd socket = dial("2606:2800:220:1::1", 443);
          if (!socket) return 1;
          if (!comes_to(listeners.tcp6)) return 2;
          const Fd accepted(::accept(listeners.tcp6.get(), nullptr, nullptr));
          sockaddr_in6 meant{};
          socklen_t size = sizeof meant;
          if (::getsockopt(accepted.get(), SOL_IPV6, IP6T_SO_ORIGINAL_DST, &meant, &size) != 0)
            return 3;
          const Peer expected = peer("2606:2800:220:1::1", 443);
          const auto& v6 = reinterpret_cast<const sockaddr_in6&>(expected.address);
          return std::memcmp(&meant.sin6_addr, &v6.sin6_addr, 16) == 0 &&
                         meant.sin6_port == v6.sin6_port
                     ? 0
                     : 4;
        }) == 0);
}

TEST_CASE("BR-107 QUIC is refused at once, so that clients fall back") {
  CHECK(in_network([](SandboxListeners&) {
          const Fd socket = dial("93.184.216.34", 443, SOCK_DGRAM);
          if (!socket) return 1;
          if (::send(socket.get(), "x", 1, 0) != 1) return errno == ECONNREFUSED ? 0 : 2;
          pollfd waiting{socket.get(), POLLIN, 0};
          if (::poll(&waiting, 1, 1000) != 1) return 3;
          char byte = 0;
          return ::recv(socket.get(), &byte, 1, 0) < 0 && errno == ECONNREFUSED ? 0 : 4;
        }) == 0);
}

TEST_CASE("DNS sent to any server reaches our socket") {
  CHECK(in_network([](SandboxListeners& listeners) {
          for (const char* server : {"127.0.0.1", "8.8.8.8"}) {
            const Fd socket = dial(server, 53, SOCK_DGRAM);
            if (!socket || ::send(socket.get(), "?", 1, 0) != 1) return 1;
            if (!comes_to(listeners.dns_udp4)) return 2;
            char byte = 0;
            ::recv(listeners.dns_udp4.get(), &byte, 1, 0);
          }
          return dial("127.0.0.1", 53) && comes_to(listeners.dns_tcp4) ? 0 : 3;
        }) == 0);
}

TEST_CASE("BR-123 the sandbox's own loopback services are its own, also on 80 and 443") {
  CHECK(
      in_network([](SandboxListeners& listeners) {
        for (const auto& [text, port] :
             {std::pair{"127.0.0.1", 80}, {"127.0.0.1", 443}, {"127.0.0.2", 3000}, {"::1", 8080}}) {
          const Peer own = peer(text, static_cast<std::uint16_t>(port));
          const Fd server(::socket(own.address.ss_family, SOCK_STREAM, 0));
          if (::bind(server.get(), reinterpret_cast<const sockaddr*>(&own.address), own.size) != 0)
            return 1;
          if (::listen(server.get(), 1) != 0) return 2;
          const Fd socket = dial(text, static_cast<std::uint16_t>(port));
          if (!socket || !comes_to(server)) return 3;
        }
        pollfd waiting{listeners.tcp4.get(), POLLIN, 0};
        return ::poll(&waiting, 1, 0) == 0 ? 0 : 4;
      }) == 0);
}

TEST_CASE("nobody inside can bind beside the gateway's listeners") {
  CHECK(in_network([](SandboxListeners& listeners) {
          for (const auto& [text, port] : {std::pair{"127.0.0.1", static_cast<int>(listeners.port)},
                                           {"0.0.0.0", static_cast<int>(listeners.port)},
                                           {"127.0.0.1", 53}}) {
            const Peer own = peer(text, static_cast<std::uint16_t>(port));
            const Fd thief(::socket(AF_INET, SOCK_STREAM, 0));
            const int on = 1;
            ::setsockopt(thief.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
            ::setsockopt(thief.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
            if (::bind(thief.get(), reinterpret_cast<const sockaddr*>(&own.address), own.size) == 0)
              return 1;
          }
          return 0;
        }) == 0);
}

TEST_CASE("a message keeps its descriptors, and a broken one is refused") {
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  Fd ours(pair[0]);
  const Fd theirs(pair[1]);
  const std::string text(100'000, 'x');
  const pid_t child = ::fork();
  if (child == 0) ::_exit(send_message(ours.get(), text, {0, 1}) ? 0 : 1);
  Message message;
  CHECK(receive_message(theirs.get(), message));
  CHECK(message.text == text);
  CHECK(message.fds.size() == 2);
  ::waitpid(child, nullptr, 0);
  const std::uint32_t huge = 0xffffffff;
  REQUIRE(::send(ours.get(), &huge, sizeof huge, 0) == sizeof huge);
  CHECK_FALSE(receive_message(theirs.get(), message));
  ours.reset();
  CHECK_FALSE(receive_message(theirs.get(), message));
}

TEST_CASE("a plan survives its way to the launcher") {
  LaunchPlan plan;
  plan.spec.argv = {"sh", "-c", "echo \"\xc3\xa4\" \\ \n"};
  plan.spec.env = {{"A", "1"}, {"EMPTY", ""}};
  plan.spec.workspace = "/work/with space";
  plan.spec.covered = {"/a", "/b"};
  plan.caller_path = "/usr/bin";
  const LaunchPlan read = plan_from_json(to_json(plan));
  CHECK(read.spec.argv == plan.spec.argv);
  CHECK(read.spec.env == plan.spec.env);
  CHECK(read.spec.workspace == plan.spec.workspace);
  CHECK(read.spec.covered == plan.spec.covered);
  CHECK(read.caller_path == plan.caller_path);
  CHECK_THROWS(plan_from_json("{\"version\":2}"));
  CHECK_THROWS(plan_from_json("{}"));
}
