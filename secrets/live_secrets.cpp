#include "secrets/live_secrets.hpp"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "secrets/placeholder.hpp"

namespace warder {
namespace {

// The value becomes one of the former ones, each of which is there once.
void retire(Credential& credential) {
  if (!credential.value) return;
  credential.former.push_back(std::move(credential.value));
  credential.value = nullptr;
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
  if (credential.former.size() > LiveSecrets::kMostFormer) revoke_now(credential);
}

bool is_same(const SecretValue& held, std::string_view value) {
  return held.reveal([&](std::string_view plain) {
    return plain.size() == value.size() &&
           sodium_memcmp(plain.data(), value.data(), value.size()) == 0;
  });
}

bool holds(const Credential& credential, std::string_view value) {
  return credential.value && is_same(*credential.value, value);
}

// One that was minted, and is over: its origin gives it out again.
bool held_once(const Credential& credential, std::string_view value) {
  return credential.is_minted && credential.is_expired && !credential.value &&
         credential.former.size() == 1 && is_same(*credential.former.front(), value);
}

bool is_usable(const Credential& each) { return each.is_minted && !each.is_revoked; }

// A placeholder beyond kMostMinted is over, the oldest first. What it stood for stays masked: an origin still knows it.
void retire_oldest_minted(std::vector<Credential>& credentials, std::vector<Grant>& grants) {
  while (std::count_if(credentials.begin(), credentials.end(), is_usable) >
         static_cast<std::ptrdiff_t>(LiveSecrets::kMostMinted)) {
    Credential& oldest = *std::find_if(credentials.begin(), credentials.end(), is_usable);
    revoke_now(oldest);
    oldest.is_expired = true;
    std::erase_if(grants, [&](const Grant& grant) { return grant.secret == oldest.name; });
  }
}

// Of "acme.access_token" or "acme.access_token.2", what capture acme gives such a token; empty: there is none.
std::vector<Grant> minted_grants(const std::string& name, const std::vector<Capture>& captures) {
  const std::size_t dot = name.find('.');
  const std::size_t end = std::min(name.find('.', dot + 1), name.size());
  for (const Capture& capture : captures) {
    if (capture.name != name.substr(0, dot)) continue;
    auto grants = capture.grants_of(name.substr(dot + 1, end - dot - 1));
    for (Grant& grant : grants) grant.secret = name;
    return grants;
  }
  return {};
}

std::size_t bytes_of(const Credential& credential) {
  std::size_t bytes = 0;
  const auto add = [&](std::string_view plain) { bytes += plain.size(); };
  if (credential.value) credential.value->reveal(add);
  for (const auto& value : credential.former) value->reveal(add);
  return bytes;
}

bool is_room(const std::vector<Credential>& credentials) {
  std::size_t count = 0;
  std::size_t bytes = 0;
  for (const Credential& each : credentials) {
    if (!each.is_minted) continue;
    ++count;
    bytes += bytes_of(each);
  }
  return count <= LiveSecrets::kMostMintedKept && bytes <= LiveSecrets::kMostMintedBytes;
}

// Only what its origin no longer takes is ever forgotten. False: that is not enough.
bool make_room(std::vector<Credential>& credentials, std::vector<Grant>& grants) {
  while (!is_room(credentials)) {
    const auto past = std::find_if(credentials.begin(), credentials.end(),
                                   [](const Credential& each) { return each.is_past; });
    if (past == credentials.end()) return false;
    std::erase_if(grants, [&](const Grant& grant) { return grant.secret == past->name; });
    credentials.erase(past);
  }
  return true;
}

}  // namespace

std::shared_ptr<const SessionSecrets> LiveSecrets::now() const {
  const std::scoped_lock lock(mutex_);
  return now_;
}

std::shared_ptr<const SessionSecrets> LiveSecrets::now(
    const std::function<void()>& together) const {
  const std::scoped_lock lock(mutex_);
  together();
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
  return change(secret, [](Credential& credential) { revoke_now(credential); });
}

void LiveSecrets::regrant(std::vector<Grant> grants, const std::vector<Capture>& captures,
                          const std::vector<Value>& values, const std::function<void()>& together) {
  {
    const std::scoped_lock lock(changing_);
    const auto before = now();
    std::vector<Credential> credentials = before->credentials();
    std::erase_if(grants, [&](const Grant& grant) {
      return !grant.secret.empty() && before->credential(grant.secret) == nullptr;
    });
    for (const Value& now : values) {
      for (Credential& credential : credentials) {
        if (credential.name != now.secret || credential.is_revoked) continue;
        if (credential.value == now.value) continue;
        replace_value(credential, now.value);
        credential.version = now.version;
      }
    }
    for (Credential& credential : credentials) {
      if (!is_usable(credential)) continue;
      const auto kept = minted_grants(credential.name, captures);
      if (kept.empty()) revoke_now(credential);
      grants.insert(grants.end(), kept.begin(), kept.end());
    }
    replace(std::move(credentials), std::move(grants), together);
    ++revocations_;
  }
  if (changed_) changed_();
}

bool LiveSecrets::add(Credential credential) {
  const std::scoped_lock lock(changing_);
  const auto before = now();
  if (before->credential(credential.name) != nullptr) return false;
  std::vector<Credential> credentials = before->credentials();
  credentials.push_back(std::move(credential));
  replace(std::move(credentials), before->grants());
  return true;
}

std::vector<std::string> LiveSecrets::mint(const std::vector<Minted>& minted, Random& random,
                                           const std::function<bool()>& may) {
  std::vector<std::string> placeholders;
  {
    const std::scoped_lock lock(changing_);
    if (may && !may()) return {};
    const auto before = now();
    std::vector<Credential> credentials = before->credentials();
    std::vector<Grant> grants = before->grants();
    for (const Minted& each : minted)
      placeholders.push_back(mint_one(each, random, credentials, grants));
    retire_oldest_minted(credentials, grants);
    if (!make_room(credentials, grants)) return {};
    SteadyTime next = SteadyTime::max();
    for (const Credential& credential : credentials) {
      if (credential.expires && !credential.is_past) next = std::min(next, *credential.expires);
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
  const auto grant = [&](const std::string& name) {
    for (Grant each : minted.grants) {
      each.secret = name;
      grants.push_back(std::move(each));
    }
  };
  std::size_t alike = 0;
  for (Credential& credential : credentials) {
    if (credential.name == minted.name || credential.name.starts_with(minted.name + '.')) ++alike;
    if (!holds(credential, minted.value)) continue;
    if (credential.is_minted) credential.expires = minted.expires;
    return credential.placeholder;
  }
  const auto again =
      std::find_if(credentials.begin(), credentials.end(),
                   [&](const Credential& each) { return held_once(each, minted.value); });
  if (again != credentials.end()) {
    again->value = std::move(again->former.front());
    again->former.clear();
    again->is_revoked = again->is_expired = again->is_past = false;
    again->expires = minted.expires;
    std::erase_if(grants, [&](const Grant& each) { return each.secret == again->name; });
    grant(again->name);
    std::rotate(again, again + 1, credentials.end());  // the youngest
    return credentials.back().placeholder;
  }
  Credential made;
  made.name = minted.name;
  if (alike != 0) made.name += '.' + std::to_string(++minted_);
  made.value = std::make_shared<const SecretValue>(minted.value);
  made.placeholder = make_placeholder(minted.value, random);
  made.is_minted = true;
  made.expires = minted.expires;
  grant(made.name);
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
      if (!credential.expires || credential.is_past) continue;
      if (*credential.expires > time) {
        next = std::min(next, *credential.expires);
        continue;
      }
      credential.is_expired |= !credential.is_revoked;
      credential.is_past = true;
      revoke_now(credential);
    }
    next_expiry_ = next;
    replace(std::move(credentials), before->grants());
  }
  if (changed_) changed_();
}

bool LiveSecrets::change(std::string_view secret, const std::function<void(Credential&)>& how) {
  bool is_over = false;
  {
    const std::scoped_lock lock(changing_);
    const auto before = now();
    std::vector<Credential> credentials = before->credentials();
    const auto found = std::find_if(
        credentials.begin(), credentials.end(),
        [&](const Credential& each) { return each.name == secret && !each.is_revoked; });
    if (found == credentials.end()) return false;
    how(*found);
    is_over = found->is_revoked;
    replace(std::move(credentials), before->grants());
  }
  if (is_over) ++revocations_;
  if (changed_) changed_();
  return true;
}

// The machines are built before the snapshot is swapped: nobody waits for them.
void LiveSecrets::replace(std::vector<Credential> credentials, std::vector<Grant> grants,
                          const std::function<void()>& together) {
  auto next = std::make_shared<const SessionSecrets>(std::move(credentials), std::move(grants));
  next->set_foreign_of(*now());
  const std::scoped_lock lock(mutex_);
  now_ = std::move(next);
  ++changes_;
  if (together) together();
}

}  // namespace warder
