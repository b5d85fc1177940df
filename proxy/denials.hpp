// What was refused in a session, counted by kind: for the end-of-run summary and the rate-limited lines on stderr.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/reason.hpp"
#include "proxy/io.hpp"

namespace warder {

struct Denial {
  Reason reason = Reason::none;
  std::string what;        // "GET https://api.test/admin", "look-up of evil.test"
  std::string suggestion;  // how to allow it; may be empty
  std::uint64_t count = 0;
};

// Thread-safe. Bounded: after kMaxKinds different ones only `others` counts.
class Denials {
 public:
  static constexpr std::size_t kMaxKinds = 200;
  static constexpr std::size_t kMaxWhat = 300;  // bytes kept of what was asked

  // True when a line about it may go to stderr now: the first of its kind, at most kLinesPerSecond.
  bool add(Reason reason, const std::string& what, const std::string& suggestion);
  std::vector<Denial> list() const;  // in order of first appearance
  std::uint64_t total() const;
  std::uint64_t others() const;

 private:
  static constexpr int kLinesPerSecond = 5;
  mutable std::mutex mutex_;
  std::vector<Denial> kinds_;
  std::map<std::pair<Reason, std::string>, std::size_t> index_;
  std::uint64_t total_ = 0;
  std::uint64_t others_ = 0;
  SteadyTime second_{};
  int lines_ = 0;
};

}  // namespace warder
