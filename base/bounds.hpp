// What one sandbox may take of the machine: the keys of a policy's `sandbox` block and the flags of `warder run`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace warder {

enum class Bound : std::uint8_t {
  memory,      // bytes, of all processes together
  cpus,        // in thousandths
  pids,        // processes and threads
  file_size,   // bytes, of any one file
  open_files,  // of any one process
  disk,        // bytes, of what lies in the sandbox's own file systems
  output,      // bytes, of CMD's stdout and stderr together
  time,        // milliseconds
};
inline constexpr std::size_t kBounds = static_cast<std::size_t>(Bound::time) + 1;

// "file_size", as the configuration spells it.
std::string_view to_string(Bound bound) noexcept;
// "--file-size"
std::string flag_of(Bound bound);
// nullopt: there is no such key.
std::optional<Bound> bound_named(std::string_view key) noexcept;

// "2GiB", "1.5", "512", "30m". A value, or the sentence that says what to write.
std::variant<std::uint64_t, std::string> parse_bound(Bound bound, std::string_view text);
// As parse_bound() reads it.
std::string text_of(Bound bound, std::uint64_t value);

// None has a value unless it was given one. Values are never 0.
class Bounds {
 public:
  std::optional<std::uint64_t> find(Bound bound) const { return values_[place(bound)]; }
  void set(Bound bound, std::uint64_t value) { values_[place(bound)] = value; }
  bool empty() const { return *this == Bounds(); }
  // What `first` does not say is said by this.
  void beneath(const Bounds& first);
  friend bool operator==(const Bounds&, const Bounds&) = default;

 private:
  static std::size_t place(Bound bound) { return static_cast<std::size_t>(bound); }
  std::array<std::optional<std::uint64_t>, kBounds> values_{};
};

// What holds a bound in one run, and what became of it.
struct HeldBound {
  Bound bound = Bound::memory;
  std::uint64_t value = 0;
  std::string mechanism;   // "cgroup v1", "watcher", "rlimit"
  std::uint64_t used = 0;  // in the bound's own unit; of pids: forks that were refused
  enum class End : std::uint8_t { held, reached, ended } end = End::held;
};
std::string_view to_string(HeldBound::End end) noexcept;
// "the command was ended: memory 2GiB (cgroup v1)"; empty: nothing is to be said of it.
std::string line_of(const HeldBound& held);

}  // namespace warder
