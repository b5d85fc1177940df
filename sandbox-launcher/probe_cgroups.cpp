// Which way there is, if any, to bound the memory and the processes of a sandbox: a group is made, and removed.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <sstream>

#include "base/fd.hpp"
#include "sandbox-launcher/probe.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

// "memory" → where its hierarchy is mounted; "" → cgroup2.
std::map<std::string, fs::path> hierarchies() {
  std::map<std::string, fs::path> found;
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device, at, type, options;
    words >> device >> at >> type >> options;
    if (type == "cgroup2") found.emplace("", at);
    if (type != "cgroup") continue;
    std::istringstream names(options);
    for (std::string name; std::getline(names, name, ',');) found.emplace(name, at);
  }
  return found;
}

// This process's own group in each: "4:memory:/user.slice", "0::/…".
std::map<std::string, fs::path> own_groups() {
  const auto mounted = hierarchies();
  std::map<std::string, fs::path> found;
  std::ifstream lines("/proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::istringstream names(line.substr(first + 1, second - first - 1));
    std::string name;
    do {
      name.clear();
      std::getline(names, name, ',');
      const auto at = mounted.find(name);
      if (at != mounted.end()) found[name] = at->second / line.substr(second + 2);
    } while (names.good());
  }
  return found;
}

// Makes a group below `parent` and removes it again: 0, or errno. `wanted` is a file that it must have.
int try_group(const fs::path& parent, const char* wanted) {
  const fs::path group = parent / ("warder-doctor-" + std::to_string(::getpid()));
  if (::mkdir(group.c_str(), 0755) != 0) return errno;
  const bool bounds = ::access((group / wanted).c_str(), W_OK) == 0;
  ::rmdir(group.c_str());
  return bounds ? 0 : ENOENT;
}

bool has_controllers(const fs::path& group) {
  std::ifstream file(group / "cgroup.controllers");
  std::ostringstream text;
  text << ' ' << file.rdbuf() << ' ';
  const std::string all = text.str();
  return all.find(" memory") != std::string::npos && all.find(" pids") != std::string::npos;
}

bool has_user_manager() {
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  const std::string path = "/run/user/" + std::to_string(::getuid()) + "/systemd/private";
  path.copy(at.sun_path, sizeof at.sun_path - 1);
  return socket && ::connect(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
}

std::string try_cgroups() {
  const auto groups = own_groups();
  int error = ENOENT;
  if (const auto v2 = groups.find(""); v2 != groups.end() && has_controllers(v2->second)) {
    error = try_group(v2->second, "cgroup.procs");
    if (error == 0) return "v2, delegated";
  }
  const auto memory = groups.find("memory");
  const auto pids = groups.find("pids");
  if (memory != groups.end() && pids != groups.end()) {
    error = try_group(memory->second, "memory.limit_in_bytes");
    if (error == 0) error = try_group(pids->second, "pids.max");
    if (error == 0) return "v1, writable";
  }
  if (has_user_manager()) return "through the systemd user manager";
  errno = error;
  fail("make a control group with memory and pids", Cause::no_cgroups);
}

}  // namespace

std::vector<NamedTry> cgroup_tries(const ProbePlace&) { return {{"cgroups", try_cgroups}}; }

}  // namespace warder
