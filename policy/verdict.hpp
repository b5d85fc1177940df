// A decision is a value with its reason: the same value goes to the client, the audit record and
// the test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/reason.hpp"

namespace warder {

enum class Decision : std::uint8_t {
  deny,
  allow,
  ask,  // of a request: allowed once somebody says yes, and not before; never of a connection
};

// What becomes of the bytes of an allowed connection.
enum class Handling : std::uint8_t {
  inspect,  // HTTP: TLS is ended here, every request is decided
  tunnel,   // passed on when they begin with a ClientHello for the authority's host
  raw,      // passed on, whatever they are
};

struct Verdict {
  Decision decision = Decision::deny;
  Reason reason = Reason::host_not_allowed;
  std::string rule;        // name of the deciding rule; empty: no rule matched
  std::string where;       // its file:line
  std::string suggestion;  // the smallest change that would allow it, one line; empty when allowed
  bool allow_private = false;
  Handling handling = Handling::inspect;
  // Of a request: a body is cut off behind so many bytes, and the exchange refused (too_large).
  std::optional<std::uint64_t> max_body = std::nullopt;

  bool allows() const { return decision == Decision::allow; }
  bool operator==(const Verdict&) const = default;
};

}  // namespace warder
