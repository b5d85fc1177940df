#include "proxy/ends_with_secret.hpp"

#include <algorithm>

namespace warder {

void EndsWithSecret::on_sweep(SteadyTime) {
  const LiveSecrets& secrets = exchange_.session.secrets;
  const std::uint64_t revocations = secrets.revocations();
  if (revocations == seen_ || exchange_.ended) return;
  seen_ = revocations;
  const auto now = secrets.now();
  const auto is_revoked = [&](const SecretUse& use) {
    const Credential* credential = now->credential(use.secret);
    return credential == nullptr || (credential->is_revoked && !credential->is_expired);
  };
  const auto& head = exchange_.swap.uses;
  const auto& body = exchange_.body.uses;
  if (std::none_of(head.begin(), head.end(), is_revoked) &&
      std::none_of(body.begin(), body.end(), is_revoked))
    return;
  exchange_.ended = Reason::secret_revoked;
  if (exchange_.origin) exchange_.origin->abort();
}

}  // namespace warder
