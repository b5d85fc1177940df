#include "sandbox-launcher/control_group.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/fd.hpp"

namespace warder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "warder-";
// bubblewrap and the first process inside, beside CMD's own.
constexpr std::uint64_t kOwnProcesses = 2;
constexpr std::uint64_t kPeriod = 100'000;  // µs
constexpr int kTries = 200;  // of 5 ms: a group is busy until its last process is reaped

std::string read_file(const fs::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t n = 0; file && (n = ::read(file.get(), piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(n));
  return text;
}

bool write_file(const fs::path& path, const std::string& text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool has_word(std::string_view list, std::string_view word, char separator) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(separator), list.size());
    std::string_view each = list.substr(0, end);
    while (!each.empty() && each.back() == '\n') each.remove_suffix(1);
    if (each == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// The number that stands behind `key` and a blank, at the beginning of a line.
std::uint64_t number_of(const std::string& text, std::string_view key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') continue;
    std::uint64_t value = 0;
    std::from_chars(line.data() + key.size() + 1, line.data() + line.size(), value);
    return value;
  }
  return 0;
}

// "/a/b" of a line "4:memory:/a/b" of /proc/self/cgroup; version 2 is "0::/a/b".
std::optional<std::string> own_path(const std::string& cgroup, std::string_view controller) {
  std::istringstream lines(cgroup);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view names = std::string_view(line).substr(first + 1, second - first - 1);
    const bool wanted = controller.empty() ? names.empty() : has_word(names, controller, ',');
    if (wanted) return line.substr(second + 1);
  }
  return std::nullopt;
}

struct Mounted {
  std::string root;
  std::string at;
};

// "… 30 29 0:26 ROOT AT options - cgroup cgroup rw,memory"
std::optional<Mounted> hierarchy(const std::string& mountinfo, std::string_view controller) {
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skip, type, source, options;
    Mounted mounted;
    if (!(words >> skip >> skip >> skip >> mounted.root >> mounted.at)) continue;
    while (words >> skip && skip != "-") {
    }
    if (!(words >> type >> source >> options)) continue;
    if (controller.empty() ? type == "cgroup2"
                           : type == "cgroup" && has_word(options, controller, ','))
      return mounted;
  }
  return std::nullopt;
}

std::optional<GroupPlace> place_in(int version, std::string_view controller,
                                   const std::string& cgroup, const std::string& mountinfo) {
  const auto mounted = hierarchy(mountinfo, controller);
  const auto path = own_path(cgroup, controller);
  if (!mounted || !path) return std::nullopt;
  // Of a container: what is mounted begins at its own group.
  std::string below = *path;
  if (mounted->root != "/" && below.starts_with(mounted->root))
    below.erase(0, mounted->root.size());
  if (below.starts_with("/..")) return std::nullopt;  // of another container
  const fs::path top = mounted->at;
  const std::size_t name = below.find_first_not_of('/');
  if (name == std::string::npos) return GroupPlace{version, top, top};
  return GroupPlace{version, (top / below.substr(name)).lexically_normal(), top};
}

const char* controller_of(Bound bound) {
  return bound == Bound::memory ? "memory" : bound == Bound::cpus ? "cpu" : "pids";
}

bool may_write(const fs::path& directory) {
  return ::access(directory.c_str(), W_OK | X_OK) == 0 &&
         ::access((directory / "cgroup.procs").c_str(), W_OK) == 0;
}

// Whose controller is passed on to its children. A group with processes of its own cannot do that ("no internal
// processes"): so it is the group above ours, or ours where nobody is in it but us, who step aside.
std::optional<fs::path> parent_in_version_2(const GroupPlace& place, std::string_view controller) {
  const auto passes_on = [&](const fs::path& group) {
    return may_write(group) &&
           has_word(read_file(group / "cgroup.subtree_control"), controller, ' ');
  };
  if (place.own != place.top && passes_on(place.own.parent_path())) return place.own.parent_path();
  if (passes_on(place.own)) return place.own;
  const std::string self = std::to_string(::getpid());
  const bool could = may_write(place.own) &&
                     has_word(read_file(place.own / "cgroup.controllers"), controller, ' ') &&
                     read_file(place.own / "cgroup.procs") == self + "\n";
  if (!could) return std::nullopt;
  const fs::path aside = place.own / (std::string(kPrefix) + "self-" + self);
  (void)::mkdir(aside.c_str(), 0755);
  if (!write_file(aside / "cgroup.procs", self)) return std::nullopt;
  if (!write_file(place.own / "cgroup.subtree_control", "+" + std::string(controller)))
    return std::nullopt;
  return place.own;
}

std::optional<fs::path> parent_of(const GroupPlace& place, std::string_view controller) {
  if (place.version == 2) return parent_in_version_2(place, controller);
  return may_write(place.own) ? std::optional(place.own) : std::nullopt;
}

bool set_bound(const fs::path& group, int version, Bound bound, std::uint64_t value) {
  const std::string number = std::to_string(value);
  if (bound == Bound::pids)
    return write_file(group / "pids.max", std::to_string(value + kOwnProcesses));
  if (bound == Bound::cpus) {
    const std::string quota =
        std::to_string(std::max<std::uint64_t>(value * kPeriod / 1'000, 1'000));
    return version == 2 ? write_file(group / "cpu.max", quota + " " + std::to_string(kPeriod))
                        : write_file(group / "cpu.cfs_period_us", std::to_string(kPeriod)) &&
                              write_file(group / "cpu.cfs_quota_us", quota);
  }
  const auto optional = [&](const char* name, const std::string& text) {
    return ::access((group / name).c_str(), F_OK) != 0 || write_file(group / name, text);
  };
  if (version == 2)
    return write_file(group / "memory.max", number) && optional("memory.swap.max", "0") &&
           optional("memory.oom.group", "1");
  return write_file(group / "memory.limit_in_bytes", number) &&
         optional("memory.memsw.limit_in_bytes", number);
}

// warder-NAME-PID: whose warder is gone. One that is alive may not have entered its group yet.
void remove_abandoned(const fs::path& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    const std::size_t dash = name.rfind('-');
    if (!name.starts_with(kPrefix) || dash == std::string::npos) continue;
    pid_t pid = 0;
    const char* end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + dash + 1, end, pid);
    if (error != std::errc{} || rest != end || pid <= 0) continue;
    if (::kill(pid, 0) != 0 && errno == ESRCH) (void)::rmdir(entry.path().c_str());
  }
}

}  // namespace

std::optional<GroupPlace> group_place(std::string_view controller, const std::string& cgroup,
                                      const std::string& mountinfo) {
  if (auto place = place_in(1, controller, cgroup, mountinfo)) return place;
  return place_in(2, "", cgroup, mountinfo);
}

void ControlGroup::try_one(Bound bound, std::uint64_t value, const std::string& name) {
  const auto place = group_place(controller_of(bound), read_file("/proc/self/cgroup"),
                                 read_file("/proc/self/mountinfo"));
  if (!place) return;
  const auto parent = parent_of(*place, controller_of(bound));
  if (!parent) return;
  remove_abandoned(*parent);
  const fs::path group = *parent / (std::string(kPrefix) + name + "-" + std::to_string(::getpid()));
  // Of version 2 one group is made for all of them.
  const bool made = ::mkdir(group.c_str(), 0755) == 0;
  if (!made && errno != EEXIST) return;
  if (set_bound(group, place->version, bound, value))
    groups_.push_back({bound, place->version, group});
  else if (made)
    (void)::rmdir(group.c_str());
}

ControlGroup ControlGroup::make(const Bounds& bounds, const std::string& name) {
  ControlGroup group;
  for (const Bound bound : {Bound::memory, Bound::cpus, Bound::pids}) {
    if (const auto value = bounds.find(bound)) group.try_one(bound, *value, name);
  }
  return group;
}

ControlGroup::ControlGroup(ControlGroup&& other) noexcept
    : groups_(std::exchange(other.groups_, {})) {}

ControlGroup& ControlGroup::operator=(ControlGroup&& other) noexcept {
  std::swap(groups_, other.groups_);
  return *this;
}

ControlGroup::~ControlGroup() { remove(); }

const ControlGroup::Group* ControlGroup::find(Bound bound) const {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const Group& group) { return group.bound == bound; });
  return found == groups_.end() ? nullptr : &*found;
}

std::string ControlGroup::holds(Bound bound) const {
  const Group* group = find(bound);
  return group == nullptr ? "" : "cgroup v" + std::to_string(group->version);
}

bool ControlGroup::enter(pid_t process) const {
  return std::all_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    return write_file(group.directory / "cgroup.procs", std::to_string(process));
  });
}

std::uint64_t ControlGroup::memory_kills() const {
  const Group* group = find(Bound::memory);
  if (group == nullptr) return 0;
  const char* name = group->version == 2 ? "memory.events" : "memory.oom_control";
  return number_of(read_file(group->directory / name), "oom_kill");
}

std::uint64_t ControlGroup::refused_forks() const {
  const Group* group = find(Bound::pids);
  return group == nullptr ? 0 : number_of(read_file(group->directory / "pids.events"), "max");
}

std::uint64_t ControlGroup::memory_used() const {
  const Group* group = find(Bound::memory);
  if (group == nullptr) return 0;
  const char* name = group->version == 2 ? "memory.peak" : "memory.max_usage_in_bytes";
  return number_of("used " + read_file(group->directory / name), "used");
}

void ControlGroup::remove() {
  for (const Group& group : std::exchange(groups_, {})) {
    for (int i = 0; i < kTries && ::rmdir(group.directory.c_str()) != 0 && errno == EBUSY; ++i)
      ::usleep(5'000);
  }
}

}  // namespace warder
