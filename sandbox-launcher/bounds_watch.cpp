#include "sandbox-launcher/bounds_watch.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "sandbox-launcher/tree_usage.hpp"

namespace warder {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMemoryLook{50};  // what grows for so long is not seen
constexpr std::chrono::milliseconds kLook{200};
constexpr std::uint64_t kOwnProcesses = 1;  // the first one inside

// Processes are counted per user namespace since Linux 5.14, before that per user.
bool counts_by_namespace() {
  utsname kernel{};
  int major = 0, minor = 0;
  if (::uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2)
    return false;
  return major > 5 || (major == 5 && minor >= 14);
}

constexpr const char* kGroupRemedy =
    ": it needs a control group of its own, and none can be made here. Start warder as root, or "
    "below a group that is yours (systemd-run --user --scope -p Delegate=yes warder run …)";

using Field = std::optional<std::uint64_t> InsideBounds::*;
constexpr std::array<Field, 6> kFields{&InsideBounds::processes, &InsideBounds::open_files,
                                       &InsideBounds::file_size, &InsideBounds::data,
                                       &InsideBounds::disk,      &InsideBounds::cpus};

}  // namespace

std::string InsideBounds::str() const {
  std::string text;
  for (const Field field : kFields) {
    if (!text.empty()) text += ',';
    text += this->*field ? std::to_string(*(this->*field)) : "-";
  }
  return text;
}

std::optional<InsideBounds> InsideBounds::parse(std::string_view text) {
  InsideBounds bounds;
  for (const Field field : kFields) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word == "-") continue;
    std::uint64_t value = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc{} || rest != word.data() + word.size())
      return std::nullopt;
    bounds.*field = value;
  }
  return text.empty() ? std::optional(bounds) : std::nullopt;
}

void BoundsWatch::hold(Bound bound, std::string mechanism) {
  held_.push_back({bound, *bounds_.find(bound), std::move(mechanism)});
}

// Empty: it is held. Else why it cannot be.
std::string BoundsWatch::choose(Bound bound, std::uint64_t value) {
  const std::string group = groups_.holds(bound);
  switch (bound) {
    case Bound::memory:
      if (group.empty() && !knows_children())
        return std::string(kGroupRemedy) + ", nor can processes be watched (CONFIG_PROC_CHILDREN)";
      watches_memory_ = group.empty();
      if (watches_memory_) inside_.data = value;
      hold(bound, watches_memory_ ? "watcher" : group);
      return "";
    case Bound::cpus:
      if (group.empty() && value % 1'000 != 0)
        return std::string(kGroupRemedy) + "; or give a whole number of processors";
      if (group.empty()) inside_.cpus = value / 1'000;
      hold(bound, group.empty() ? "affinity" : group);
      return "";
    case Bound::pids:
      if (group.empty() && !counts_by_namespace())
        return std::string(kGroupRemedy) + "; or use Linux 5.14";
      // The group counts what it refuses; an rlimit that came first would hide that.
      if (group.empty()) inside_.processes = value + kOwnProcesses;
      hold(bound, group.empty() ? "rlimit" : group);
      return "";
    case Bound::file_size:
      inside_.file_size = value;
      hold(bound, "rlimit");
      return "";
    case Bound::open_files:
      inside_.open_files = value;
      hold(bound, "rlimit");
      return "";
    case Bound::disk:
      inside_.disk = value;
      hold(bound, "tmpfs");
      return "";
    case Bound::output:
      if (::isatty(STDOUT_FILENO) != 0 || ::isatty(STDERR_FILENO) != 0)
        return ": output to a terminal is not counted, since a program is to have the terminal "
               "itself. Send it to a file or a pipe, or leave the bound out";
      hold(bound, "pipe");
      return "";
    case Bound::time: hold(bound, "clock"); return "";
  }
  return "";
}

std::variant<BoundsWatch, std::string> BoundsWatch::make(const Bounds& bounds,
                                                         const std::string& name) {
  BoundsWatch watch;
  watch.bounds_ = bounds;
  watch.groups_ = ControlGroup::make(bounds, name);
  for (std::size_t i = 0; i < kBounds; ++i) {
    const auto bound = static_cast<Bound>(i);
    const auto value = bounds.find(bound);
    if (!value) continue;
    if (const std::string why = watch.choose(bound, *value); !why.empty()) {
      return "the sandbox cannot be kept within " + std::string(to_string(bound)) + " " +
             text_of(bound, *value) + why;
    }
  }
  return watch;
}

void BoundsWatch::begin() {
  begun_ = Clock::now();
  if (!bounds_.empty()) next_ = begun_;
}

std::optional<Bound> BoundsWatch::look(pid_t init) {
  const auto now = Clock::now();
  if (ended_ || now < next_) return std::nullopt;
  next_ = Clock::time_point::max();
  if (const auto time = bounds_.find(Bound::time)) {
    const auto end = begun_ + std::chrono::milliseconds(*time);
    if (now >= end) return ended_by(Bound::time, *time), ended_;
    next_ = end;
  }
  const auto again = [&](std::chrono::milliseconds in) { next_ = std::min(next_, now + in); };
  const auto disk = bounds_.find(Bound::disk);
  const auto memory = bounds_.find(Bound::memory);
  if (!disk && !memory) return std::nullopt;
  again(watches_memory_ ? kMemoryLook : kLook);
  if (init <= 0) return std::nullopt;
  const auto seen = disk || watches_memory_ ? own_files_of(init) : 0;
  // What cannot be seen is not kept.
  if (!seen) return ended_by(disk ? Bound::disk : Bound::memory, 0), ended_;
  const std::uint64_t files = *seen;
  if (disk && files > *disk) ended_by(Bound::disk, files);
  if (memory && !watches_memory_ && groups_.memory_kills() > 0)
    ended_by(Bound::memory, groups_.memory_used());
  if (memory && watches_memory_ && !ended_) {
    const std::uint64_t spare = *memory > files ? *memory - files : 0;
    const std::uint64_t used = files + memory_of(tree_of(init), spare);
    HeldBound* held = find(Bound::memory);
    held->used = std::max(held->used, used);
    if (used > *memory) ended_by(Bound::memory, used);
  }
  return ended_;
}

HeldBound* BoundsWatch::find(Bound bound) {
  const auto found = std::find_if(held_.begin(), held_.end(),
                                  [&](const HeldBound& held) { return held.bound == bound; });
  return found == held_.end() ? nullptr : &*found;
}

void BoundsWatch::ended_by(Bound bound, std::uint64_t used) {
  HeldBound* held = find(bound);
  if (held == nullptr || ended_) return;
  ended_ = bound;
  next_ = Clock::time_point::max();
  held->end = HeldBound::End::ended;
  held->used = used;
}

void BoundsWatch::finish() {
  // It may have been killed between two looks.
  if (groups_.memory_kills() > 0) ended_by(Bound::memory, groups_.memory_used());
  if (HeldBound* pids = find(Bound::pids); pids != nullptr) {
    pids->used = groups_.refused_forks();
    if (pids->used > 0) pids->end = HeldBound::End::reached;
  }
  if (HeldBound* memory = find(Bound::memory); memory != nullptr && memory->used == 0)
    memory->used = groups_.memory_used();
  groups_.remove();
}

}  // namespace warder
