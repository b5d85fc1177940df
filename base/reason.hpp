// Why an exchange was refused or ended badly: the one vocabulary for error bodies, Warder-Reason,
// Proxy-Status, audit records, metrics and docs.
#pragma once

#include <cstdint>
#include <string_view>

namespace warder {

enum class Reason : std::uint8_t {
  none,  // nothing went wrong
  host_not_allowed,
  method_not_allowed,
  path_not_allowed,
  query_not_allowed,   // a key of the query
  header_not_allowed,  // a field that is not there, or has a value that it must not have
  port_not_allowed,
  name_not_allowed,     // a DNS name
  address_not_allowed,  // what a name resolved to
  authority_mismatch,
  placeholder_wrong_host,
  placeholder_wrong_place,
  placeholder_foreign,
  foreign_credential,
  secret_unavailable,
  secret_revoked,
  body_unswappable,
  secret_expired,
  mint_failed,
  audit_unavailable,
  response_unmaskable,
  limit_exceeded,
  approval_denied,
  approval_timeout,
  upstream_resolve_failed,
  upstream_connect_failed,
  upstream_tls_failed,
  upstream_timeout,
  upstream_broken,
  client_broken,
  client_timeout,
  malformed_request,
  too_large,          // a body: 413
  head_too_large,     // fields: 431
  uri_too_long,       // the target: 414
  not_authenticated,  // to a proxy: no token, or not the one
  session_ended,
  quarantined,
  policy_changed,
  internal,
};

struct ReasonInfo {
  std::string_view word;         // "host_not_allowed"
  int status;                    // what Warder answers with when no response has begun
  std::string_view proxy_error;  // RFC 9209 section 2.3 error type
  std::string_view phrase;       // one sentence for a person
};

// Total: every enumerator has an entry. The default answer is a refusal (internal, 500).
const ReasonInfo& info(Reason reason) noexcept;
inline std::string_view to_string(Reason reason) noexcept { return info(reason).word; }

}  // namespace warder
