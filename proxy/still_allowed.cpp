#include "proxy/still_allowed.hpp"

#include <algorithm>

#include "proxy/await_approval.hpp"

namespace warder {
namespace {

RequestFacts facts_of(const Exchange& exchange) {
  const std::string_view target = exchange.target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::string_view query = target.substr(std::min(mark + 1, target.size()));
  const HeaderList& fields = exchange.sent_fields ? *exchange.sent_fields : exchange.head.fields;
  return {*exchange.authority, exchange.head.method, target.substr(0, mark), query, &fields,
          exchange.sent_bytes};
}

bool names(const Grant& grant, const SecretUse& use) {
  return std::any_of(grant.at.begin(), grant.at.end(), [&](const Place& place) {
    return place.str() == use.place || (use.place == "basic" && place.name == "authorization");
  });
}

bool is_granted(const SessionSecrets& secrets, const Authority& authority, const SecretUse& use) {
  const auto grants = secrets.grants_for(authority.host);
  return std::any_of(grants.begin(), grants.end(), [&](const Grant* grant) {
    return grant->secret == use.secret && grant->serves(authority.scheme) && names(*grant, use);
  });
}

}  // namespace

bool StillAllowed::is_policy_kept() {
  const LivePolicy& policy = exchange_.session.policy;
  const std::uint64_t changes = policy.changes();
  if (std::exchange(policy_seen_, changes) == changes) return true;
  const auto now = policy.now();
  const RequestFacts facts = facts_of(exchange_);
  Verdict verdict = now->policy.authorize(facts);
  if (now->observes)
    verdict = observed_request(std::move(verdict), now->policy, *exchange_.authority);
  const bool is_approved = verdict.decision == Decision::ask && exchange_.approval != 0 &&
                           turn_of(exchange_.asked_by, verdict) == Turn::same;
  if (!verdict.allows() && !is_approved) return false;
  if (exchange_.private_addresses == PrivateAddresses::allowed && !verdict.allow_private)
    return false;
  // What its answer mints must not be seen any more.
  const HostName& host = exchange_.authority->host;
  const bool is_captured = find_capture(now->captures, host, facts.path) != nullptr;
  if (is_captured && exchange_.capture == nullptr) return false;
  return !exchange_.identity || now->certificates.find(host) != nullptr;
}

std::optional<Reason> StillAllowed::withdrawn_secret() {
  const LiveSecrets& secrets = exchange_.session.secrets;
  const std::uint64_t revocations = secrets.revocations();
  if (std::exchange(secrets_seen_, revocations) == revocations) return std::nullopt;
  const auto now = secrets.now();
  for (const auto* uses : {&exchange_.swap.uses, &exchange_.body.uses}) {
    for (const SecretUse& use : *uses) {
      const Credential* credential = now->credential(use.secret);
      if (credential != nullptr && credential->is_expired) continue;  // what uses it may go on
      if (credential == nullptr || credential->is_revoked) return Reason::secret_revoked;
      if (!is_granted(*now, *exchange_.authority, use)) return Reason::policy_changed;
    }
  }
  return std::nullopt;
}

void StillAllowed::on_sweep(SteadyTime) {
  if (exchange_.ended) return;
  std::optional<Reason> why;
  if (!is_policy_kept()) why = Reason::policy_changed;
  if (!why) why = withdrawn_secret();
  if (!why) return;
  exchange_.ended = why;
  if (exchange_.origin) exchange_.origin->abort();
}

bool is_still_allowed(const Session& session, const Authority& authority, const Verdict& verdict) {
  const Verdict now = session.policy.now()->policy.authorize_connection(authority);
  return now.allows() && now.handling == verdict.handling &&
         (now.allow_private || !verdict.allow_private);
}

void renew_refusal(Connection& connection) {
  const std::uint64_t changes = connection.session->policy.changes();
  if (std::exchange(connection.policy_seen, changes) == changes) return;
  Arrival& arrival = connection.arrival;
  const auto authority = authority_of(arrival);
  if (!arrival.refused || !authority) return;
  const Reason why = arrival.refused->reason;
  if (why != Reason::host_not_allowed && why != Reason::port_not_allowed) return;
  Verdict now = connection.session->authorize_connection(*authority);
  if (now.allows())
    arrival.refused.reset();
  else
    arrival.refused = std::move(now);
}

}  // namespace warder
