#include "secrets/live_secrets.hpp"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "secrets/placeholder.hpp"

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

void revoke_now(Credential& credential) {
  retire(credential);
  credential.is_revoked = true;
}

void replace_value(Credential& credential, std::shared_ptr<const SecretValue> value) {
  retire(credential);
  if (value) {
    std::erase_if(credential.former, [&](const auto& old) { return same_value(*old, *value); });
  }
  credential.value = std::move(value);
}

bool holds(const Credential& credential, std::string_view value) {
  return credential.value && credential.value->reveal([&](std::string_view held) {
    return held.size() == value.size() &&
           sodium_memcmp(held.data(), value.data(), value.size()) == 0;
  });
}

void drop_oldest_minted(std::vector<Credential>& credentials, std::vector<Grant>& grants) {
  const auto minted = [](const Credential& each) { return each.is_minted; };
  const auto over = [](const Credential& each) { return each.is_minted && each.is_revoked; };
  while (std::count_if(credentials.begin(), credentials.end(), minted) >
         static_cast<std::ptrdiff_t>(LiveSecrets::kMostMinted)) {
    auto oldest = std::find_if(credentials.begin(), credentials.end(), over);
    if (oldest == credentials.end())
      oldest = std::find_if(credentials.begin(), credentials.end(), minted);
    std::erase_if(grants, [&](const Grant& grant) { return grant.secret == oldest->name; });
    credentials.erase(oldest);
  }
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
  const bool done = change(secret, [](Credential& credential) { revoke_now(credential); });
  if (done) ++revocations_;
  return done;
}

std::vector<std::string> LiveSecrets::mint(const std::vector<Minted>& minted, Random& random) {
  std::vector<std::string> placeholders;
  {
    const std::scoped_lock lock(changing_);
    const auto before = now();
    std::vector<Credential> credentials = before->credentials();
    std::vector<Grant> grants = before->grants();
    for (const Minted& each : minted)
      placeholders.push_back(mint_one(each, random, credentials, grants));
    drop_oldest_minted(credentials, grants);
    SteadyTime next = SteadyTime::max();
    for (const Credential& credential : credentials) {
      if (credential.expires && !credential.is_expired) next = std::min(next, *credential.expires);
    }
    next_expiry_ = next;
    replace(std::move(credentials), std::move(grants));
  }
  if (changed_) changed_();
  return placeholders;
}

std::string LiveSecrets::mint_one(const Minted& minted, Random& random,
                                  std::vector<Credential>& credentials,
                                  std::vector<Grant>& grants) {
  std::size_t alike = 0;
  for (Credential& credential : credentials) {
    if (credential.name == minted.name || credential.name.starts_with(minted.name + '.')) ++alike;
    if (!holds(credential, minted.value)) continue;
    if (credential.is_minted) credential.expires = minted.expires;
    return credential.placeholder;
  }
  Credential made;
  made.name = minted.name;
  if (alike != 0) made.name += '.' + std::to_string(++minted_);
  made.value = std::make_shared<const SecretValue>(minted.value);
  made.placeholder = make_placeholder(minted.value, random);
  made.is_minted = true;
  made.expires = minted.expires;
  for (Grant grant : minted.grants) {
    grant.secret = made.name;
    grants.push_back(std::move(grant));
  }
  credentials.push_back(std::move(made));
  return credentials.back().placeholder;
}

void LiveSecrets::expire(SteadyTime time) {
  if (time < next_expiry_.load()) return;
  {
    const std::scoped_lock lock(changing_);
    const auto before = now();
    std::vector<Credential> credentials = before->credentials();
    SteadyTime next = SteadyTime::max();
    for (Credential& credential : credentials) {
      if (!credential.expires || credential.is_revoked) continue;
      if (*credential.expires > time) {
        next = std::min(next, *credential.expires);
        continue;
      }
      revoke_now(credential);
      credential.is_expired = true;
    }
    next_expiry_ = next;
    replace(std::move(credentials), before->grants());
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
  ++changes_;
}

}  // namespace warder
