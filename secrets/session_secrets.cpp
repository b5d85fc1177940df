#include "secrets/session_secrets.hpp"

#include <algorithm>
#include <utility>

namespace warder {
namespace {

std::unique_ptr<MaskSet> make_mask_set(const std::vector<Credential>& credentials) {
  std::vector<MaskSet::Entry> entries;
  for (const Credential& credential : credentials) {
    const auto add = [&](const SecretValue& value) {
      // The view leaves reveal(), but not this function, and `credentials` keeps the value alive.
      const auto view = value.reveal([](std::string_view plain) { return plain; });
      entries.push_back({view, credential.placeholder, credential.name});
    };
    if (credential.value) add(*credential.value);
    for (const auto& value : credential.former) add(*value);
  }
  return std::make_unique<MaskSet>(entries);
}

}  // namespace

SessionSecrets::SessionSecrets(std::vector<Credential> credentials, std::vector<Grant> grants)
    : credentials_(std::move(credentials)), grants_(std::move(grants)) {
  std::vector<std::string> placeholders;
  for (const Credential& credential : credentials_) placeholders.push_back(credential.placeholder);
  placeholders_ = std::make_unique<Matcher>(placeholders);
  mask_set_ = make_mask_set(credentials_);
}

SessionSecrets::~SessionSecrets() = default;

const Credential* SessionSecrets::credential(std::string_view secret_name) const {
  const auto found = std::find_if(credentials_.begin(), credentials_.end(),
                                  [&](const Credential& c) { return c.name == secret_name; });
  return found == credentials_.end() ? nullptr : &*found;
}

std::vector<const Grant*> SessionSecrets::grants_for(const HostName& host) const {
  std::vector<const Grant*> matching;
  for (const Grant& grant : grants_) {
    const auto matches = [&](const HostPattern& pattern) { return pattern.matches(host); };
    if (std::any_of(grant.hosts.begin(), grant.hosts.end(), matches)) matching.push_back(&grant);
  }
  return matching;
}

bool SessionSecrets::Foreign::is_own(std::uint32_t pattern) const {
  return std::find(own.begin(), own.end(), pattern) != own.end();
}

void SessionSecrets::set_foreign(std::shared_ptr<const Matcher> placeholders,
                                 std::vector<std::uint32_t> own) const {
  const std::scoped_lock lock(foreign_->mutex);
  foreign_->foreign = {std::move(placeholders), std::move(own)};
}

SessionSecrets::Foreign SessionSecrets::foreign() const {
  const std::scoped_lock lock(foreign_->mutex);
  return foreign_->foreign;
}

}  // namespace warder
