// What audit records tell of sessions, for somebody who was not there.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "audit/format.hpp"
#include "audit/verify_set.hpp"

namespace warder {

struct SessionStory {
  std::string started, ended;  // times; empty: not among the records
  std::string policy, policy_sha256, mode;
  std::string user, uid, host, cwd;  // empty where the record does not say
  std::vector<std::string> command;
  std::vector<std::string> secrets;
  std::int64_t exit_code = 0;
  std::string how;  // of the end
  std::uint64_t exchanges = 0;
  std::uint64_t refused = 0;
};
struct HostStory {
  std::uint64_t allowed = 0, observed = 0, refused = 0, failed = 0;
  std::uint64_t bytes_up = 0, bytes_down = 0;
};
// A record that is told by itself.
struct Event {
  std::string file;  // its name
  std::uint64_t seq = 0;
  std::string time, session;
  std::vector<std::string> words;  // one for each column of its list
};
struct EventList {
  static constexpr std::size_t kMost = 1000;
  std::vector<Event> events;
  std::uint64_t more = 0;  // that are not told by themselves
  void add(Event event);
};

// Rows of a table by what they count. What a sandbox can make many of stays within bounds: beyond them `other` counts.
template <class Key, class Value>
struct Rows : std::map<Key, Value> {
  static constexpr std::size_t kMost = 5000;
  Value& of(const Key& key, const Key& other) {
    return (*this)[this->size() < kMost || this->contains(key) ? key : other];
  }
};
inline constexpr const char* kOthers = "(others)";

struct AuditReport {
  using SecretUse = std::tuple<std::string, std::string, std::string>;  // name@version, host, place
  std::vector<audit::FileVerification> verification;
  int verdict = 2;  // audit::exit_code of it, or 1 where the files changed meanwhile
  std::vector<std::string> changed;  // files that changed between the verification and the reading
  std::string scope;                 // in words
  std::uint64_t records = 0;         // in the scope
  std::uint64_t not_records = 0;
  std::map<std::string, SessionStory> sessions;
  Rows<std::string, HostStory> hosts;
  Rows<SecretUse, std::uint64_t> secrets;
  Rows<std::tuple<std::string, std::string>, std::uint64_t> masked;    // name, place
  Rows<std::tuple<std::string, std::string>, std::uint64_t> refusals;  // reason, where to
  EventList tripwires;                        // reason, method, where to, rule
  EventList approvals;                        // decision, scope, method, where to, who, how
  EventList changes;                          // of policies and secrets: what, change, by, detail
  Rows<std::string, std::uint64_t> programs;  // path
  Rows<std::tuple<std::string, std::string>, std::uint64_t> files;  // change, name
  EventList limits;                                                 // name, value, state, used
  Rows<std::string, std::uint64_t> other_types;  // that this version does not tell of
};

// Feeds on records in their order; a new file begins with `next_file`.
class ReportMaker {
 public:
  explicit ReportMaker(AuditReport& report) : report_(report) {}
  void next_file(std::string name);
  // Of the scope or not: an intent outside it may have a receipt inside.
  void feed(const audit::ParsedLine& line, bool counts);

 private:
  struct Open {
    std::string authority;
    std::string method;
    std::vector<std::tuple<std::string, std::string>> uses;
  };
  void take(const audit::ParsedLine& line);
  void start(const audit::ParsedLine& line);
  void end(const audit::ParsedLine& line);
  void intent(const audit::ParsedLine& line);
  void receipt(const audit::ParsedLine& line);
  void look_up(const audit::ParsedLine& line);
  void exec(const audit::ParsedLine& line);
  void tripwire(const audit::ParsedLine& line, const Open& open);
  Event event(const audit::ParsedLine& line, std::vector<std::string> words) const;

  AuditReport& report_;
  std::string file_;
  std::map<std::uint64_t, Open> open_;  // intents, by seq
};

// Markdown in which nothing of the records is markup.
void print_markdown(const AuditReport& report, std::ostream& out);
void print_json(const AuditReport& report, std::ostream& out);

}  // namespace warder
