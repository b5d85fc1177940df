#include "sandbox-launcher/launch.hpp"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "sandbox-launcher/channel.hpp"
#include "sandbox-launcher/identity.hpp"
#include "sandbox-launcher/launch_error.hpp"
#include "sandbox-launcher/network.hpp"
#include "sandbox-launcher/overlay.hpp"
#include "sandbox-launcher/plan.hpp"
#include "sandbox-launcher/process_namespace.hpp"
#include "sandbox-launcher/seccomp.hpp"
#include "sandbox-launcher/staging.hpp"
#include "sandbox-launcher/view.hpp"

namespace warder {
namespace {

constexpr const char* kBubblewrap = "/usr/bin/bwrap";
constexpr const char* kInitPath = "/.warder-init";

Fd memory_file(const char* name) {
  Fd file(::memfd_create(name, 0));
  if (!file) throw memory_file_error("make a memory file");
  return file;
}

Fd text_file(const char* name, const std::string& text) {
  Fd file = memory_file(name);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(file.get(), text.data() + done, text.size() - done);
    if (n <= 0) throw launch_error("fill a memory file");
    done += static_cast<std::size_t>(n);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// This executable's own bytes: the sandbox's first process, whatever directory Warder is installed in.
Fd own_executable() {
  const Fd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  struct stat what{};
  if (!self || ::fstat(self.get(), &what) != 0) throw launch_error("open its own executable");
  Fd copy = memory_file("warder-init");
  off_t at = 0;
  while (at < what.st_size) {
    const ssize_t n =
        ::sendfile(copy.get(), self.get(), &at, static_cast<std::size_t>(what.st_size - at));
    if (n <= 0) throw launch_error("copy its own executable");
  }
  ::lseek(copy.get(), 0, SEEK_SET);
  return copy;
}

std::vector<std::string> namespace_arguments(int status) {
  return {"--unshare-user",   "--disable-userns",     "--unshare-pid", "--unshare-ipc",
          "--unshare-uts",    "--hostname",           "sandbox",       "--unshare-cgroup-try",
          "--as-pid-1",       "--die-with-parent",    "--cap-drop",    "ALL",
          "--json-status-fd", std::to_string(status), "--clearenv"};
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  for (std::string& each : more) to.push_back(std::move(each));
}

// "--perms 1777 --tmpfs AT", with its size before it. Places are absolute: none of them looks like an option.
std::vector<std::string> with_sizes(std::vector<std::string> view,
                                    const std::optional<std::uint64_t>& size) {
  if (!size) return view;
  std::vector<std::string> sized;
  for (std::string& word : view) {
    if (word == "--tmpfs") append(sized, {"--size", std::to_string(*size)});
    sized.push_back(std::move(word));
  }
  return sized;
}

// On so many of those processors that this process may use; another run begins with another one.
void pin(std::uint64_t processors) {
  cpu_set_t usable;
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) throw launch_error("see its processors");
  const int first = static_cast<int>(::time(nullptr) % CPU_SETSIZE);
  for (int i = 0; i < CPU_SETSIZE && processors > 0; ++i) {
    const int processor = (first + i) % CPU_SETSIZE;
    if (!CPU_ISSET(processor, &usable)) continue;
    CPU_SET(processor, &chosen);
    --processors;
  }
  if (::sched_setaffinity(0, sizeof chosen, &chosen) != 0) throw launch_error("choose processors");
}

std::string joined_by_nul(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& each : arguments) text.append(each).push_back('\0');
  return text;
}

// In a job of the person's shell that is not CMD's alone, Ctrl-C and the terminal are for the whole job's group.
Group group_of(const LaunchPlan& plan) {
  const Fd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  return plan.foreground == Foreground::no && terminal ? Group::shared : Group::own;
}

struct Prepared {
  std::vector<std::string> arguments;
  std::vector<Fd> keep;
};

// Everything that can fail is made before CMD is said to be ready.
Prepared prepare(const LaunchPlan& plan, const Identity& identity, int status) {
  Prepared prepared;
  const auto source_of = [&](const std::filesystem::path& path) {
    const auto staged = identity.staged.find(path);
    return staged == identity.staged.end() ? path.string() : staged->second;
  };
  const bool as_root = plan.spec.as_root == AsRoot::yes;
  View view = make_view(plan, source_of, as_root ? 0 : identity.uid, as_root ? 0 : identity.gid);
  append(prepared.arguments, namespace_arguments(status));
  // Of the workload's own user namespace, which owns no network and is one id wide: outside it is who it always was.
  if (as_root) append(prepared.arguments, {"--uid", "0", "--gid", "0"});
  append(prepared.arguments, with_sizes(std::move(view.arguments), plan.inside.disk));
  prepared.keep = std::move(view.data);
  prepared.keep.push_back(own_executable());
  append(prepared.arguments, {"--perms", "0555", "--ro-bind-data",
                              std::to_string(prepared.keep.back().get()), kInitPath});
  const bool pinned = plan.inside.cpus.has_value();
  prepared.keep.push_back(seccomp_program(pinned ? Pinned::yes : Pinned::no, group_of(plan)));
  append(prepared.arguments, {"--seccomp", std::to_string(prepared.keep.back().get())});
  for (const auto& [name, value] : plan.spec.env) {
    append(prepared.arguments, {"--setenv", name, name == "PATH" ? view.path : value});
  }
  append(prepared.arguments, {"--remount-ro", "/", "--chdir", plan.spec.workspace.string()});
  return prepared;
}

[[noreturn]] void execute_bubblewrap(const LaunchPlan& plan, Prepared prepared, int control,
                                     int status, int reports) {
  // Its other end is in the gateway's process: nothing inside may hold it.
  ::fcntl(control, F_SETFD, FD_CLOEXEC);
  // bubblewrap closes its own before CMD starts; the first process inside needs one for Ctrl-Z.
  const Fd status_of_init(::dup(status));
  const Fd arguments = text_file("bubblewrap-arguments", joined_by_nul(prepared.arguments));
  std::vector<std::string> words{kBubblewrap,
                                 "--args",
                                 std::to_string(arguments.get()),
                                 "--",
                                 kInitPath,
                                 "--init",
                                 plan.foreground == Foreground::yes ? "foreground" : "background",
                                 std::to_string(status_of_init.get()),
                                 std::to_string(reports),
                                 plan.inside.str()};
  append(words, plan.spec.argv);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // memfds and the status pipe must survive the exec; everything else is close-on-exec.
  for (const Fd& fd : prepared.keep) ::fcntl(fd.get(), F_SETFD, 0);
  char* const empty[] = {nullptr};
  ::execve(kBubblewrap, argv.data(), empty);
  throw launch_error("execute /usr/bin/bwrap", Cause::no_bubblewrap);
}

void tell(int control, const LaunchError& error) {
  (void)send_message(control,
                     std::string("failed ") + std::to_string(error.exit_code) + " " + error.what());
}

// The answer "go on" to an execve() that waits.
bool can_watch_executions() {
  utsname kernel{};
  int major = 0;
  int minor = 0;
  if (::uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2)
    return false;
  const std::uint32_t notify = SECCOMP_RET_USER_NOTIF;
  return (major > 5 || (major == 5 && minor >= 5)) &&
         ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &notify) == 0;
}

void check_requirements() {
  if (!can_watch_executions()) {
    throw LaunchError(
        "cannot watch what is executed: this needs Linux 5.5 or newer with seccomp "
        "(CONFIG_SECCOMP_FILTER)");
  }
  if (::access(kBubblewrap, X_OK) != 0)
    throw launch_error("find /usr/bin/bwrap", Cause::no_bubblewrap);
}

void launch_or_throw(int control, int status, int reports) {
  Message first;
  if (!receive_message(control, first)) throw LaunchError("warder closed the control socket");
  const LaunchPlan plan = plan_from_json(first.text);
  check_requirements();

  const std::vector<std::filesystem::path> sources = bind_sources(plan);
  check_clone(plan);
  Identity identity = take_identity(plan, sources);
  die_with_parent();
  enter_network_namespace(identity.uid, identity.gid);
  if (!plan.spec.clone.empty() && identity.staged.empty()) {
    // An ordinary user may mount only now, in a user namespace; as root it is done.
    identity.staged = stage(sources, {}, {});
    mount_clone(plan, identity.staged);
  }
  die_with_parent();
  enter_process_namespace(control, status, reports);
  const SandboxListeners listeners = make_network();
  Prepared prepared = prepare(plan, identity, status);
  if (plan.inside.cpus) pin(*plan.inside.cpus);

  std::vector<int> fds{listeners.tcp4.get(), listeners.dns_udp4.get(), listeners.dns_tcp4.get()};
  if (listeners.tcp6) {
    for (const Fd* fd : {&listeners.tcp6, &listeners.dns_udp6, &listeners.dns_tcp6})
      fds.push_back(fd->get());
  }
  if (!send_message(
          control,
          "ready " + std::to_string(kLaunchProtocol) + " " + std::to_string(listeners.port), fds))
    throw LaunchError("warder is gone");
  Message go;
  if (!receive_message(control, go) || go.text != "go") throw LaunchError("warder is gone");

  // bubblewrap must outlive a Ctrl-C that CMD handles; the first process inside sets CMD's own back to the default.
  for (const int number : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  execute_bubblewrap(plan, std::move(prepared), control, status, reports);
}

}  // namespace

int launch(int control, int status, int reports) {
  die_with_parent();
  ::umask(022);
  try {
    launch_or_throw(control, status, reports);
  } catch (const LaunchError& error) {
    tell(control, error);
    return error.exit_code;
  } catch (const std::exception& error) {
    tell(control, LaunchError(error.what()));
  }
  return 125;
}

}  // namespace warder
