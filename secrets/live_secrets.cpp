#include "secrets/live_secrets.hpp"

#include <algorithm>
#include <utility>

namespace warder {
namespace {

// The value becomes one of the former ones, each of which is there once; the oldest go.
void retire(Credential& credential) {
  if (!credential.value) return;
  credential.former.push_back(std::move(credential.value));
  credential.value = nullptr;
  if (credential.former.size() > LiveSecrets::kMostFormer)
    credential.former.erase(credential.former.begin());
}

void replace_value(Credential& credential, std::shared_ptr<const SecretValue> value) {
  retire(credential);
  if (value) {
    std::erase_if(credential.former, [&](const auto& old) { return same_value(*old, *value); });
  }
  credential.value = std::move(value);
}

}  // namespace

std::shared_ptr<const SessionSecrets> LiveSecrets::now() const {
  const std::scoped_lock lock(mutex_);
  return now_;
}

bool LiveSecrets::rotate(std::string_view secret, std::shared_ptr<const SecretValue> value) {
  return change(secret, [&](Credential& credential) {
    replace_value(credential, std::move(value));
    ++credential.version;
  });
}

bool LiveSecrets::set(std::string_view secret, std::shared_ptr<const SecretValue> value,
                      unsigned version) {
  return change(secret, [&](Credential& credential) {
    replace_value(credential, std::move(value));
    credential.version = version;
  });
}

bool LiveSecrets::revoke(std::string_view secret) {
  const bool done = change(secret, [](Credential& credential) {
    retire(credential);
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
