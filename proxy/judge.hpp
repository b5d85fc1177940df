// Who is meant and may it be: from a request head and what is known of its connection to one authority and one
// verdict. Pure: no socket, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "http/authority.hpp"
#include "http/message.hpp"
#include "http/target.hpp"
#include "policy/policy.hpp"
#include "secrets/session_secrets.hpp"

namespace warder {

// What is known of a connection before its requests.
struct Arrival {
  bool forwards =
      false;  // a proxy's connection: each request names its own authority, in absolute form; the rest is void
  Scheme scheme = Scheme::https;
  std::uint16_t port = 443;
  std::optional<HostName>
      bound;  // the connection stands for this name (SNI, or its synthetic address)
  std::optional<HostName> literal;  // the address it was dialled by, when nothing names it
  std::optional<Verdict>
      refused;  // decided before the first request: every request gets this answer
};

struct Judgement {
  std::optional<Authority> authority;  // nullopt: none could be made out
  Target target;
  Verdict verdict;     // refuses by default
  std::string detail;  // one sentence more than the reason's phrase; may be empty
};

Judgement judge(const RequestHead& head, const Framing& framing, const Arrival& arrival,
                const Policy& policy);

// nullopt: it is known only at its end.
std::optional<std::uint64_t> body_bytes_of(const Framing& framing);

// The authority that a connection stands for by itself, before any request: bound name, else literal.
std::optional<Authority> authority_of(const Arrival& arrival);

// A target as it may be recorded and shown: placeholders of this session as [secret:NAME], query values as "…".
std::string audited_path(const Target& target, const SessionSecrets& secrets);
// The same with query values, for the eyes of somebody who is asked.
std::string shown_path(const Target& target, const SessionSecrets& secrets);
// Text of the sandbox's own with its placeholders as [secret:NAME].
std::string without_placeholders(const std::string& text, const SessionSecrets& secrets);

}  // namespace warder
