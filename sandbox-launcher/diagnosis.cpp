#include "sandbox-launcher/diagnosis.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace warder {
namespace {

namespace fs = std::filesystem;

std::optional<long> number_in(const fs::path& file) {
  std::ifstream in(file);
  long value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_filtered(const std::string& status) {
  const std::size_t at = status.find("\nSeccomp:");
  return at != std::string::npos && status.compare(at, 11, "\nSeccomp:\t2") == 0;
}

// Only mounts below the process's root are listed: a chroot has none at "/".
bool has_mount_at_root(const fs::path& mountinfo) {
  std::ifstream lines(mountinfo);
  if (!lines) return true;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 5; ++i) words >> word;
    if (word == "/") return true;
  }
  return false;
}

std::string container_of(const fs::path& root) {
  if (is_there(root / "var/run/secrets/kubernetes.io")) return "kubernetes";
  if (is_there(root / ".dockerenv")) return "docker";
  if (is_there(root / "run/.containerenv")) return "podman";
  const std::string cgroup = text_of(root / "proc/1/cgroup");
  for (const char* word : {"docker", "kubepods", "libpod", "lxc"}) {
    if (cgroup.find(word) != std::string::npos) return "container";
  }
  return is_there(root / "run/systemd/container") ? "container" : "";
}

Cause of_lost_capabilities(const HostFacts& facts) {
  return facts.apparmor_restricts.value_or(0) != 0 ? Cause::apparmor : Cause::security_module;
}

Cause of_refused_user_namespace(const HostFacts& facts) {
  if (facts.userns_clone.value_or(1) == 0) return Cause::userns_switched_off;
  if (facts.changed_root) return Cause::changed_root;
  if (facts.filtered) return facts.container.empty() ? Cause::seccomp : Cause::container_seccomp;
  return of_lost_capabilities(facts);
}

}  // namespace

HostFacts read_host_facts(const fs::path& root) {
  const fs::path sysctl = root / "proc/sys";
  HostFacts facts;
  facts.userns_clone = number_in(sysctl / "kernel/unprivileged_userns_clone");
  facts.apparmor_restricts = number_in(sysctl / "kernel/apparmor_restrict_unprivileged_userns");
  facts.most_netns = number_in(sysctl / "user/max_net_namespaces");
  facts.memfd_noexec = number_in(sysctl / "vm/memfd_noexec");
  facts.filtered = is_filtered(text_of(root / "proc/self/status"));
  facts.changed_root = !has_mount_at_root(root / "proc/self/mountinfo");
  const std::string release = text_of(sysctl / "kernel/osrelease");
  facts.wsl = release.find("icrosoft") != std::string::npos;
  facts.container = container_of(root);
  return facts;
}

Cause cause_of(Step step, int error, const HostFacts& facts) {
  if (error == ENOSPC && step != Step::network) {
    return facts.most_netns.value_or(1) == 0 ? Cause::netns_limit : Cause::userns_limit;
  }
  if (error == EPERM || error == EACCES) {
    return step == Step::user_namespace ? of_refused_user_namespace(facts)
                                        : of_lost_capabilities(facts);
  }
  if (error == EROFS) return Cause::masked_proc;  // all that a launch writes lies in /proc
  const bool unknown_to_kernel = error == EINVAL || error == ENOSYS;
  if (unknown_to_kernel && (step == Step::user_namespace || step == Step::network_namespace))
    return Cause::no_userns;
  return Cause::unknown;
}

LaunchError refusal(Step step, const std::string& what) {
  const int error = errno;
  const Cause cause = cause_of(step, error, read_host_facts());
  errno = error;
  return launch_error(what, cause);
}

int error_in(const std::string& text) {
  constexpr std::array kUsual{EPERM,  EACCES, ENOSPC,     ENOENT, EINVAL, ENOSYS,         EROFS,
                              ENODEV, ENOMEM, EOPNOTSUPP, EBUSY,  EUSERS, EPROTONOSUPPORT};
  for (const int error : kUsual) {
    if (text.find(std::strerror(error)) != std::string::npos) return error;
  }
  return 0;
}

}  // namespace warder
