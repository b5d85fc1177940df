// Audit records as what a policy is learned from, and what of a policy they used. Checks nothing: audit/verify.hpp does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "audit/format.hpp"
#include "policy/learn.hpp"

namespace warder {

struct RecordFilter {
  std::string session;  // empty: every one
  std::string policy;   // of its session's start; empty: any
};

struct Gathered {
  std::vector<Observation> seen;
  std::vector<Observation> denied;                          // by a deny rule
  std::map<std::string, std::set<HostName>> hosts_of_rule;  // what each rule let through
  std::set<std::pair<std::string, HostName>> uses;          // secrets that were swapped, and where
  std::set<std::string> sessions;
  std::set<std::string> policies;  // of all sessions, also of those filtered out
  std::uint64_t records = 0;       // that count, after the filter
  std::uint64_t not_records = 0;   // lines
  std::uint64_t uncounted = 0;     // look-ups and strangers of which only the number was recorded
  std::uint64_t tripwires =
      0;  // exchanges that are no evidence: tripwires, credentials of the sandbox's own
  std::uint64_t left_out = 0;  // beyond kMaxObservations
};

// An exchange counts once its receipt has said how it ended, or the records end.
class Gatherer {
 public:
  static constexpr std::size_t kMaxObservations = 10'000;  // different ones
  static constexpr std::size_t kMaxOpen = 65'536;          // exchanges without a receipt yet

  explicit Gatherer(RecordFilter filter) : filter_(std::move(filter)) {}
  void feed(std::string_view line);
  Gathered take();

 private:
  using Key = std::tuple<Observation::Kind, Authority, std::string, std::string>;
  struct Open {
    Observation what;
    std::string rule;
    std::vector<std::string> uses;  // in the head
  };

  void feed(const audit::ParsedLine& line);
  void intent(const audit::ParsedLine& line);
  void receipt(const audit::ParsedLine& line);
  void look_up(const audit::ParsedLine& line);
  void dial(const audit::ParsedLine& line);
  void let_through(Open open);
  void add(Observation what);
  void add_denied(Observation what);

  RecordFilter filter_;
  Gathered out_;
  std::map<std::string, std::string> policy_of_;  // session → policy
  std::unordered_map<std::string, Open> open_;    // by session and exchange
  std::map<Key, std::size_t> seen_;
  std::map<Key, std::size_t> denied_;
};

// In the order given. Throws ConfigError for a file that cannot be read.
Gathered gather(const std::vector<std::filesystem::path>& files, const RecordFilter& filter);

}  // namespace warder
