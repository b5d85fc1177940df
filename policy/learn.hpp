// From what a sandbox did to the smallest rules that would have allowed it, with the evidence. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/policy.hpp"

namespace warder {

// One thing that was seen, as often as it was.
struct Observation {
  enum class Kind : std::uint8_t {
    request,
    connection,  // to a host and port that HTTP was meant for, and no request came of it
    name,        // a look-up: the authority's port means nothing
    raw,         // neither HTTP nor TLS, or passed on as `tcp`
    tunnel,
  };
  Kind kind = Kind::request;
  Authority authority;
  std::string method;  // of a request
  std::string path;    // of a request: as a record has it, without the query
  std::uint64_t count = 1;
  std::uint64_t refused = 0;  // of them
  std::string first = {};     // when it was first seen
};

struct LearnedRule {
  Rule rule;
  std::vector<std::string> evidence;  // lines for a person; not escaped
};

struct Learned {
  std::vector<LearnedRule> rules;  // in the order that counts: those kept first
  std::vector<std::string> notes;  // what was not learned, and why; not escaped
};

inline constexpr std::size_t kMaxLearnedRules = 500;

// Rules of `in_force` that allowed something are kept as they are, and its deny rules; the rest is
// made anew. `denied` is what a deny rule refused: it is noted, and no wildcard is made that would
// allow it. Deterministic. What the rules do not allow in the end is among the notes.
Learned learn(const std::vector<Observation>& seen, const std::vector<Observation>& denied,
              const Policy& in_force);

}  // namespace warder
