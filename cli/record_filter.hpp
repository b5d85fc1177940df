// Which audit records a question is about.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "audit/format.hpp"

namespace warder {

// "" matches everything.
struct RecordCriteria {
  std::string session;
  std::string host;  // or "*.example.com": those below it
  std::string secret;
  std::string decision;
  std::string type;
  std::string since;  // as moment_of makes it
  std::string until;
  std::string reason;
};

// "2026-11-29", "2026-11-29T12:00", "2026-11-29T12:00:00Z" (UTC), or "90s", "15m", "2h", "7d": so long ago. Throws
// std::runtime_error for anything else. The result compares with the times of records as text.
std::string moment_of(const std::string& text, std::chrono::system_clock::time_point now);

// Of one file, its records in order: a receipt has the host and decision of its intent.
class RecordMatcher {
 public:
  explicit RecordMatcher(RecordCriteria criteria) : wanted_(std::move(criteria)) {}
  bool matches(const audit::ParsedLine& line);
  void next_file() { open_.clear(); }

 private:
  struct Intent {
    std::string host;
    std::string decision;
    bool has_secret = false;
  };
  static constexpr std::size_t kMostOpen = 65'536;

  Intent intent_of(const audit::ParsedLine& line);
  bool names_secret(const audit::ParsedLine& line) const;
  bool is_in_time(std::string_view time) const;

  RecordCriteria wanted_;
  std::map<std::uint64_t, Intent> open_;  // by seq
};

}  // namespace warder
