// The answer that Warder gives itself: status, Warder-Reason, Proxy-Status (RFC 9209), and a body that a person
// or an agent can act on. Pure. Never holds what the origin or the system said in so many words.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/reason.hpp"
#include "http/message.hpp"

namespace warder {

struct Refusal {
  Reason reason = Reason::internal;
  std::string detail;      // one sentence more; may be empty
  std::string rule;        // the deciding rule's name; may be empty
  std::string suggestion;  // the smallest change that would allow it; may be empty
  std::string where{};     // the rule's file:line: for the record, never for the sandbox
  std::string limit{};     // of the policy, that stands in the way: the summary counts by it
  std::optional<std::chrono::seconds> retry_after{};  // time alone will change the answer
};

struct RefusalMessage {
  ResponseHead head;
  std::string body;  // empty for HEAD, whose head says its length all the same
};
// JSON when the request's Accept prefers it, else plain text.
RefusalMessage refusal_message(const Refusal& refusal, const RequestHead& request);

enum class Persist : bool { close, keep_alive };
// The same as bytes of HTTP/1.1.
std::string write_refusal(const Refusal& refusal, const RequestHead& request, Persist persist);

}  // namespace warder
