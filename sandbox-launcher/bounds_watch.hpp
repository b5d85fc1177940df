// Chooses what holds each bound of one sandbox, watches those that the kernel does not hold, and says what became of them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bounds.hpp"
#include "sandbox-launcher/control_group.hpp"

namespace warder {

// What the inside sets for itself before CMD runs. None: as it is.
struct InsideBounds {
  std::optional<std::uint64_t> processes;
  std::optional<std::uint64_t> open_files;
  std::optional<std::uint64_t> file_size;
  std::optional<std::uint64_t> data;  // private memory of one process
  std::optional<std::uint64_t> disk;  // of each own file system
  std::optional<std::uint64_t> cpus;  // it may run on so many, and cannot change that

  // "1024,-,…", for an argument.
  std::string str() const;
  // nullopt: it is not one.
  static std::optional<InsideBounds> parse(std::string_view text);
  friend bool operator==(const InsideBounds&, const InsideBounds&) = default;
};

class BoundsWatch {
 public:
  BoundsWatch() = default;
  // Or the sentence that says which bound cannot be kept here, and what to do. `name`: of the run.
  static std::variant<BoundsWatch, std::string> make(const Bounds& bounds, const std::string& name);

  const InsideBounds& inside() const { return inside_; }
  std::optional<std::uint64_t> output() const { return bounds_.find(Bound::output); }
  // False: errno says why.
  bool enter(pid_t first) const { return groups_.enter(first); }

  // CMD begins: its time runs.
  void begin();
  // When look() is next worth while; never: time_point::max().
  std::chrono::steady_clock::time_point next() const { return next_; }
  // `init`: the first process inside. The bound that has been passed, for which everything must end.
  std::optional<Bound> look(pid_t init);
  // It ends for this one.
  void ended_by(Bound bound, std::uint64_t used);
  std::optional<Bound> ended() const { return ended_; }
  // After the end: counts what was refused, and removes the control groups.
  void finish();
  const std::vector<HeldBound>& held() const { return held_; }

 private:
  std::string choose(Bound bound, std::uint64_t value);
  HeldBound* find(Bound bound);
  void hold(Bound bound, std::string mechanism);

  Bounds bounds_;
  ControlGroup groups_;
  InsideBounds inside_;
  std::vector<HeldBound> held_;
  std::optional<Bound> ended_;
  bool watches_memory_ = false;
  std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace warder
