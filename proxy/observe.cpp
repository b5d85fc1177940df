#include "proxy/observe.hpp"

#include <algorithm>

#include "http/message.hpp"
#include "policy/host_service.hpp"
#include "proxy/judge.hpp"

namespace warder {
namespace {

// Refused by no rule of its own, but for want of one.
bool wants_a_rule(const Verdict& verdict) {
  if (verdict.decision != Decision::deny || !verdict.rule.empty()) return false;
  switch (verdict.reason) {
    case Reason::host_not_allowed:
    case Reason::method_not_allowed:
    case Reason::path_not_allowed:
    case Reason::port_not_allowed:
    case Reason::name_not_allowed: return true;
    default: return false;
  }
}

// Could an `allow` rule for it stand in this policy at all?
bool could_be_allowed(const Policy& policy, const Authority& authority) {
  if (authority.scheme == Scheme::tcp || authority.port == kDnsPort) return false;
  if (is_host_service(authority.host))
    return false;  // only a rule that was written for it opens it
  if (authority.port == 80 && authority.scheme != Scheme::http) return false;
  if (authority.port == 443 && authority.scheme != Scheme::https) return false;
  return !policy.authorize_raw(authority.host, authority.port);
}

Verdict let_pass(const Verdict& refused) {
  Verdict verdict;
  verdict.decision = Decision::allow;
  verdict.reason = refused.reason;
  return verdict;
}

}  // namespace

Verdict observed_request(Verdict verdict, const Policy& policy, const Authority& authority) {
  const bool passes = wants_a_rule(verdict) && could_be_allowed(policy, authority);
  return passes ? let_pass(verdict) : verdict;
}

Verdict observed_connection(const Policy& policy, const Authority& authority) {
  return observed_request(policy.authorize_connection(authority), policy, authority);
}

Verdict observed_name(const Policy& policy, const HostName& name) {
  Verdict verdict = policy.authorize_name(name);
  return wants_a_rule(verdict) && !is_host_service(name) ? let_pass(verdict) : verdict;
}

void observe(Judgement& judged, std::string_view method, const Policy& policy) {
  const bool is_listable =
      judged.target.form == Target::Form::origin || judged.target.form == Target::Form::absolute;
  const bool is_never_allowed = same_name(method, "TRACE") || same_name(method, "CONNECT");
  if (!wants_a_rule(judged.verdict) || !judged.authority || !is_listable || is_never_allowed)
    return;
  if (could_be_allowed(policy, *judged.authority)) judged.verdict = let_pass(judged.verdict);
}

}  // namespace warder
