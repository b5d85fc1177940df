#include "base/reason.hpp"

#include <array>

namespace warder {
namespace {

constexpr std::array<ReasonInfo, 40> kReasons{{
    {"none", 200, "", "nothing went wrong"},
    {"host_not_allowed", 403, "http_request_denied", "no rule allows this host"},
    {"method_not_allowed", 403, "http_request_denied", "no rule allows this method here"},
    {"path_not_allowed", 403, "http_request_denied", "no rule allows this path"},
    {"query_not_allowed", 403, "http_request_denied", "no rule allows these query keys here"},
    {"header_not_allowed", 403, "http_request_denied", "no rule allows these header fields here"},
    {"port_not_allowed", 403, "http_request_denied", "no rule allows this port"},
    {"name_not_allowed", 403, "destination_not_found", "no rule can allow this name"},
    {"address_not_allowed", 403, "destination_ip_prohibited",
     "the name resolves to an address that is not allowed"},
    {"authority_mismatch", 421, "http_request_error",
     "the request names another host than the connection"},
    {"placeholder_wrong_host", 403, "http_request_denied",
     "a placeholder was sent to a host that its grant does not name"},
    {"placeholder_wrong_place", 403, "http_request_denied",
     "a placeholder stands in a place that its grant does not name"},
    {"placeholder_foreign", 403, "http_request_denied",
     "a placeholder of another session was sent"},
    {"foreign_credential", 403, "http_request_denied",
     "a credential that Warder did not issue was sent to a host that has a grant"},
    {"secret_unavailable", 503, "proxy_internal_error",
     "a secret that the request needs cannot be had"},
    {"secret_revoked", 403, "http_request_denied", "the secret that it uses was revoked"},
    {"body_unswappable", 415, "http_request_error",
     "a body that a secret may be swapped into cannot be read or rewritten"},
    {"secret_expired", 401, "http_request_denied", "the token that it uses has expired"},
    {"mint_failed", 503, "proxy_internal_error", "a credential could not be made"},
    {"audit_unavailable", 503, "proxy_internal_error",
     "the audit log cannot take a record, so nothing may leave"},
    {"response_unmaskable", 502, "http_response_content_coding",
     "the response cannot be searched for secrets"},
    {"limit_exceeded", 429, "http_request_denied", "a limit is used up"},
    {"approval_denied", 403, "http_request_denied", "the approval was denied"},
    {"approval_timeout", 403, "http_request_denied", "no approval came in time"},
    {"upstream_resolve_failed", 502, "dns_error", "the name of the origin could not be resolved"},
    {"upstream_connect_failed", 502, "destination_unavailable", "the origin could not be reached"},
    {"upstream_tls_failed", 502, "tls_certificate_error",
     "the origin's TLS certificate or handshake is not acceptable"},
    {"upstream_timeout", 504, "http_response_timeout", "the origin did not answer in time"},
    {"upstream_broken", 502, "http_protocol_error",
     "the origin's response broke off or is malformed"},
    {"client_broken", 400, "http_request_error", "the request broke off"},
    {"client_timeout", 408, "http_request_error", "the request did not arrive in time"},
    {"malformed_request", 400, "http_request_error", "the request is malformed"},
    {"too_large", 413, "http_request_error", "the request is too large"},
    {"head_too_large", 431, "http_request_error", "the request's header fields are too large"},
    {"uri_too_long", 414, "http_request_error", "the request's target is too long"},
    {"not_authenticated", 407, "http_request_denied", "this proxy asks for a token"},
    {"session_ended", 503, "http_request_denied", "the session has ended"},
    {"quarantined", 503, "http_request_denied", "the sandbox is in quarantine"},
    {"policy_changed", 403, "http_request_denied", "the policy has changed"},
    {"internal", 500, "proxy_internal_error", "an error inside Warder"},
}};
static_assert(kReasons.size() == static_cast<std::size_t>(Reason::internal) + 1);

}  // namespace

const ReasonInfo& info(Reason reason) noexcept {
  const auto index = static_cast<std::size_t>(reason);
  return index < kReasons.size() ? kReasons[index] : kReasons.back();
}

}  // namespace warder
