// The namespaces, the network and bubblewrap, step by step as launch.cpp takes them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netfilter_ipv4.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.hpp"
#include "sandbox-launcher/diagnosis.hpp"
#include "sandbox-launcher/netlink.hpp"
#include "sandbox-launcher/network.hpp"
#include "sandbox-launcher/probe.hpp"
#include "sandbox-launcher/staging.hpp"

namespace warder {
namespace {

constexpr const char* kBubblewrap = "/usr/bin/bwrap";
constexpr int kLongestWait = 5'000;  // milliseconds, for a connection of our own
constexpr std::uint16_t kPort = 443;
// IP6T_SO_ORIGINAL_DST, whose header cannot be included together with <net/if.h>.
constexpr int kOriginalDestination6 = 80;

void enter(const ProbePlace& place) {
  if (place.root) give_up_root(place.workload);
  enter_network_namespace(place.workload.uid, place.workload.gid);
}

std::string try_user_namespace(const ProbePlace& place) {
  if (place.root) give_up_root(place.workload);
  enter_namespaces(0, place.workload.uid, place.workload.gid);
  return {};
}

std::string try_network_namespace(const ProbePlace& place) {
  enter(place);
  return {};
}

std::string try_network_setup(const ProbePlace& place) {
  enter(place);
  Netlink netlink;
  const int lo = static_cast<int>(::if_nametoindex("lo"));
  netlink.set_up(lo);
  static constexpr std::array<std::uint8_t, 4> kAddress{198, 18, 0, 1};
  netlink.add_address(lo, kAddress, 32);
  netlink.add_local_default(lo, AF_INET);
  return {};
}

std::string try_redirect(const ProbePlace& place) {
  enter(place);
  (void)make_network();
  return {};
}

struct Destination {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

Destination destination(int family, const char* address) {
  Destination made;
  if (family == AF_INET) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(made.storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(kPort);
    ::inet_pton(AF_INET, address, &v4.sin_addr);
    made.size = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(made.storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(kPort);
    ::inet_pton(AF_INET6, address, &v6.sin6_addr);
    made.size = sizeof v6;
  }
  return made;
}

std::string spelled(const Destination& at) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const auto* address = reinterpret_cast<const sockaddr*>(&at.storage);
  if (::getnameinfo(address, at.size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "?";
  return std::string(host.data()) + " port " + port.data();
}

// Connects to an address that no interface has, and takes the connection where the gateway would.
std::string expect_arrival(const Fd& listener, int family, const char* address) {
  const Destination there = destination(family, address);
  const Fd client(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* to = reinterpret_cast<const sockaddr*>(&there.storage);
  if (!client || (::connect(client.get(), to, there.size) != 0 && errno != EINPROGRESS))
    throw launch_error("connect to " + spelled(there));
  pollfd ready{listener.get(), POLLIN, 0};
  if (::poll(&ready, 1, kLongestWait) != 1) {
    errno = ETIMEDOUT;
    throw launch_error("take the redirected connection", Cause::no_nf_tables);
  }
  const Fd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  Destination wanted;
  wanted.size = sizeof wanted.storage;
  const bool known = family == AF_INET ? ::getsockopt(server.get(), SOL_IP, SO_ORIGINAL_DST,
                                                      &wanted.storage, &wanted.size) == 0
                                       : ::getsockopt(server.get(), SOL_IPV6, kOriginalDestination6,
                                                      &wanted.storage, &wanted.size) == 0;
  if (!known)
    throw launch_error("ask where a connection goes (SO_ORIGINAL_DST)", Cause::no_nf_tables);
  if (spelled(wanted) != spelled(there))
    throw LaunchError("the connection to " + spelled(there) + " arrived as one to " +
                      spelled(wanted));
  return {};
}

std::string try_captured_connection(const ProbePlace& place) {
  enter(place);
  const SandboxListeners listeners = make_network();
  return expect_arrival(listeners.tcp4, AF_INET, "198.51.100.7");
}

std::string try_ipv6(const ProbePlace& place) {
  enter(place);
  const SandboxListeners listeners = make_network();
  if (!listeners.tcp6) throw Missing("the loopback interface has no IPv6 address", Cause::no_ipv6);
  return expect_arrival(listeners.tcp6, AF_INET6, "2001:db8::7");
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Cause cause_of_bubblewrap(const std::string& said) {
  if (said.find("--disable-userns") != std::string::npos) {
    struct stat what{};
    const bool setuid = ::stat(kBubblewrap, &what) == 0 && (what.st_mode & S_ISUID) != 0;
    return setuid ? Cause::setuid_bubblewrap : Cause::old_bubblewrap;
  }
  const int error = error_in(said);
  const HostFacts facts = read_host_facts();
  if (said.find("mount proc") != std::string::npos) return Cause::masked_proc;
  return cause_of(Step::user_namespace, error, facts);
}

// What bubblewrap, and CMD in it, printed. Throws when the exit code is not 0.
std::string bubblewrap(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw launch_error("make a pipe");
  const Fd hear(ends[0]);
  Fd say(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw launch_error("start a process");
  if (child == 0) {
    std::vector<std::string> words{kBubblewrap};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::dup2(say.get(), STDOUT_FILENO);
    ::dup2(say.get(), STDERR_FILENO);
    char* const empty[] = {nullptr};
    ::execve(kBubblewrap, argv.data(), empty);
    ::_exit(127);
  }
  say.reset();
  std::string text;
  std::array<char, 1024> piece{};
  for (ssize_t n = 0; (n = ::read(hear.get(), piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(n));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  LaunchError error(text.empty() ? "bubblewrap failed without a word" : first_line(text));
  error.error = error_in(text);
  error.cause = cause_of_bubblewrap(text);
  throw error;
}

std::string try_bubblewrap() {
  if (::access(kBubblewrap, X_OK) != 0) fail("find /usr/bin/bwrap", Cause::no_bubblewrap);
  return first_line(bubblewrap({"--version"}));
}

// This executable, which is there whatever the distribution's /bin is.
std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

std::string try_nested_user_namespace(const ProbePlace& place) {
  const std::string self = own_path();
  enter(place);
  (void)bubblewrap({"--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--ro-bind", "/",
                    "/", "--", self, "--version"});
  return {};
}

std::string try_file_view(const ProbePlace& place) {
  const std::string self = own_path();
  enter(place);
  (void)bubblewrap({"--unshare-user",
                    "--disable-userns",
                    "--unshare-pid",
                    "--unshare-ipc",
                    "--unshare-uts",
                    "--unshare-cgroup-try",
                    "--cap-drop",
                    "ALL",
                    "--ro-bind",
                    "/",
                    "/",
                    "--proc",
                    "/proc",
                    "--dev",
                    "/dev",
                    "--tmpfs",
                    "/dev/shm",
                    "--",
                    self,
                    "--version"});
  return {};
}

// Root's own mounts, by which an ordinary user is shown what only root may reach.
std::string try_root_mounts(const ProbePlace& place) {
  const Owner owner{place.workload.uid, place.workload.gid};
  (void)stage({"/usr"}, {}, owner);
  give_up_root(place.workload);
  return "workload user " + std::to_string(place.workload.uid);
}

}  // namespace

std::vector<NamedTry> namespace_tries(const ProbePlace& place) {
  const auto with_place = [&place](std::string (*what)(const ProbePlace&)) {
    return [&place, what] { return what(place); };
  };
  std::vector<NamedTry> tries;
  if (place.root) tries.push_back({"root_mounts", with_place(try_root_mounts)});
  tries.push_back({"user_namespace", with_place(try_user_namespace)});
  tries.push_back({"network_namespace", with_place(try_network_namespace)});
  tries.push_back({"network_setup", with_place(try_network_setup)});
  tries.push_back({"redirect", with_place(try_redirect)});
  tries.push_back({"captured_connection", with_place(try_captured_connection)});
  tries.push_back({"bubblewrap", try_bubblewrap});
  tries.push_back({"nested_user_namespace", with_place(try_nested_user_namespace)});
  tries.push_back({"file_view", with_place(try_file_view)});
  tries.push_back({"ipv6", with_place(try_ipv6)});
  return tries;
}

}  // namespace warder
