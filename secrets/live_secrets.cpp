#include "secrets/live_secrets.hpp"

#include <algorithm>
#include <utility>

namespace warder {

std::shared_ptr<const SessionSecrets> LiveSecrets::now() const {
  const std::scoped_lock lock(mutex_);
  return now_;
}

bool LiveSecrets::rotate(std::string_view secret, std::shared_ptr<const SecretValue> value) {
  return change(secret, [&](Credential& credential) {
    if (credential.value) credential.former.push_back(std::move(credential.value));
    credential.value = std::move(value);
    ++credential.version;
  });
}

bool LiveSecrets::revoke(std::string_view secret) {
  const bool done = change(secret, [](Credential& credential) {
    if (credential.value) credential.former.push_back(std::move(credential.value));
    credential.value = nullptr;
    credential.is_revoked = true;
  });
  if (done) ++revocations_;
  return done;
}

void LiveSecrets::add(Credential credential, std::vector<Grant> grants) {
  {
    const std::scoped_lock lock(changing_);
    const auto before = now();
    std::vector<Credential> credentials = before->credentials();
    credentials.push_back(std::move(credential));
    std::vector<Grant> all = before->grants();
    std::move(grants.begin(), grants.end(), std::back_inserter(all));
    replace(std::move(credentials), std::move(all));
  }
  if (changed_) changed_();
}

bool LiveSecrets::change(std::string_view secret, const std::function<void(Credential&)>& how) {
  {
    const std::scoped_lock lock(changing_);
    const auto before = now();
    std::vector<Credential> credentials = before->credentials();
    const auto found = std::find_if(
        credentials.begin(), credentials.end(),
        [&](const Credential& each) { return each.name == secret && !each.is_revoked; });
    if (found == credentials.end()) return false;
    how(*found);
    replace(std::move(credentials), before->grants());
  }
  if (changed_) changed_();
  return true;
}

// The machines are built before the snapshot is swapped: nobody waits for them.
void LiveSecrets::replace(std::vector<Credential> credentials, std::vector<Grant> grants) {
  auto next = std::make_shared<const SessionSecrets>(std::move(credentials), std::move(grants));
  next->set_foreign_of(*now());
  const std::scoped_lock lock(mutex_);
  now_ = std::move(next);
}

}  // namespace warder
