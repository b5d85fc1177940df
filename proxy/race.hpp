// Happy eyeballs (RFC 8305): the addresses of one name are tried a little after one another, and the first that
// connects is taken. A dead address costs a quarter of a second, an unreachable one nothing.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/reason.hpp"
#include "proxy/life.hpp"
#include "proxy/stream.hpp"
#include "proxy/vetted_endpoint.hpp"

namespace warder {

inline constexpr std::chrono::milliseconds kAttemptDelay{250};
inline constexpr std::size_t kMaxAttempts = 8;  // addresses of one name that are tried

struct DialFailure {
  Reason reason;
  std::string detail;        // one sentence, for the record and the answer
  bool wants_h2 = false;     // it speaks HTTP/2 alone, and was not offered it
  bool was_refused = false;  // by every address: there is a host, and nobody listens
};
using Dialled = std::variant<std::unique_ptr<Stream>, DialFailure>;

// The families by turns, the one that the list begins with first; each family in the order of the list. At most
// kMaxAttempts.
std::vector<VettedEndpoint> in_dialling_order(const std::vector<VettedEndpoint>& found);

// `limit` is for all of them together. Nothing but the connection that is handed out stays open. A single address has
// no timer of its own: it ends with the worker's sweep.
Task<Dialled> connect_first(Worker& worker, std::vector<VettedEndpoint> endpoints,
                            SteadyDuration limit, const SessionLife* life = nullptr);

}  // namespace warder
