// The questions that requests of one session wait for, and what was said to them. Time and randomness come in, records
// are made outside: a question is taken by the one who answers it, recorded, and only then settled.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "policy/ask.hpp"
#include "proxy/io.hpp"

namespace warder {

// What a request asks. A yes goes by `binding` alone; the rest is for eyes and records.
struct Question {
  struct Field {
    std::string name;
    std::string value;  // placeholders as [secret:NAME], credentials left out
  };
  std::string rule;
  std::string where;
  std::string method;
  std::string authority;
  std::string path;  // as recorded
  std::string url;   // with its query
  std::vector<Field> fields;
  std::vector<std::string> secrets;  // "github in header:authorization"
  std::optional<std::string> body;   // nullopt: it was not read
  std::uint64_t body_bytes = 0;
  std::string fields_sha256;
  std::string body_sha256;  // empty: it was not read, and is not bound
  std::string binding;      // binding_of(), at once for all that a yes is bound to
};

// SHA-256 over the parts, each behind its length: no two lists of parts are the same bytes.
std::string digest_of(const std::vector<std::string_view>& parts);

// What was said. A yes without a time is for as many of the requests that wait as were shown; one with a time is for
// every request that the rule decides, until then.
struct Answer {
  bool yes = false;
  std::uint64_t count = 1;
  std::optional<std::chrono::seconds> rule_for;
};

// Thread-safe.
class Approvals {
 public:
  static constexpr std::chrono::seconds kLongestRule = std::chrono::hours(24);
  static constexpr std::size_t kHeldPerQuestion =
      4;  // on average: requests that wait, with what they hold
  static constexpr std::chrono::seconds kNoticeEvery{1};

  void limit(const AskLimits& limits);  // of the questions to come

  // A request that will wait takes a place before its body is read. False: there is none.
  bool take_place();
  void leave_place();

  // A ticket for the open question with this binding, or for a new one. nullopt: too many are open.
  using Ticket = std::uint64_t;
  std::optional<Ticket> ask(const Question& question, SteadyTime now, Random& random);
  // The id of its question, once, if somebody should be told of it now: rarely enough for a person.
  std::optional<std::string> due_notice(Ticket ticket, SteadyTime now);

  enum class State : std::uint8_t {
    waiting,
    overdue,  // nobody answered, and this ticket is the one to record it; then time_out()
    allowed,
    denied,
    timed_out,
    outdated,  // the policy has changed: what was asked counts no more
  };
  struct Standing {
    State state = State::waiting;
    std::uint64_t record = 0;  // allowed: the sequence of the approval's record
  };
  Standing look(Ticket ticket, SteadyTime now);
  // What waits on an overdue ticket's question, for its record.
  struct Asked {
    std::string id;
    Question question;
    std::uint64_t count = 0;
    SteadyDuration age{};
    SteadyDuration left{};
  };
  std::optional<Asked> asked(Ticket ticket, SteadyTime now);
  void time_out(Ticket ticket);
  // The request waits no longer. A question that nobody waits for is gone.
  void withdraw(Ticket ticket);

  // A yes to the rule that still counts: the sequence of its record.
  std::optional<std::uint64_t> standing_yes(const std::string& rule, const std::string& where,
                                            SteadyTime now);
  // Rules may have other meanings from now on: no answer from before counts, nor one to what was asked before.
  void forget_rules();

  std::vector<Asked> list(SteadyTime now);
  // For who answers: nobody else can until settle() or give_back(). nullopt: it is not open, or taken.
  std::optional<Asked> take(const std::string& id, SteadyTime now);
  void settle(const std::string& id, const Answer& answer, std::uint64_t record, SteadyTime now);
  void give_back(const std::string& id);

 private:
  struct Open {
    Question question;
    SteadyTime since;
    SteadyTime expires;
    std::deque<Ticket> waiting;  // in their order
    bool taken = false;
    bool noticed = false;
  };
  struct Yes {
    SteadyTime until;
    std::uint64_t record;
  };
  struct Waiting {
    std::string id;
    Standing standing;
  };
  using OpenPlace = std::map<std::string, Open>::iterator;

  static Asked asked_of(const std::string& id, const Open& open, SteadyTime now);
  OpenPlace place_of(const std::string& id, bool taken);
  void tell(Open& open, std::size_t count, const Standing& standing);

  std::mutex mutex_;
  AskLimits limits_;
  std::size_t places_ = 0;
  Ticket next_ = 1;
  std::optional<SteadyTime> noticed_;
  std::map<std::string, Open> open_;  // by id
  std::map<Ticket, Waiting> waiting_;
  std::map<std::pair<std::string, std::string>, Yes> rules_;
};

}  // namespace warder
