#include "cli/secret_store.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <system_error>

#include "cli/guard.hpp"
#include "secrets/placeholder.hpp"

namespace warder {
namespace {

// The value stands in /proc/PID/environ for as long as the process lives, unless its bytes go.
void scrub(const SourceConfig& source) {
  if (source.kind != SourceConfig::Kind::env) return;
  char* value = std::getenv(source.env.c_str());
  if (value == nullptr) return;
  wipe(value, std::strlen(value));
  ::unsetenv(source.env.c_str());
}

std::string token_name(const ListenerConfig& listener) {
  return "token of listener " + listener.name;
}

Reading read_now(SecretSource& source, const std::stop_token& stop) {
  try {
    return source.read(stop);
  } catch (const std::exception& error) {
    return Reading::failed(error.what());
  }
}

}  // namespace

std::string SecretStore::Held::make(Random& random) const {
  try {
    return life.last_value()->reveal(
        [&](std::string_view plain) { return make_placeholder(plain, placeholder, random); });
  } catch (const PlaceholderError& error) {
    throw ConfigError(what + ": " + error.what());
  }
}

std::vector<Grant> grants_of(const PolicyConfig& policy) {
  std::vector<Grant> grants = policy.grants;
  for (const Capture& capture : policy.captures) grants.push_back(capture.standing_grant());
  return grants;
}

SecretStore::Read SecretStore::read(const std::string& name, const std::string& what,
                                    const SourceConfig& config, SourceMaker& maker) {
  std::unique_ptr<SecretSource> source;
  try {
    source = maker.make(config, name);
  } catch (const ConfigError& error) {
    throw ConfigError(what + ": " + error.what());
  }
  Reading first = source->read({});
  if (!first.said.empty()) say(what + ": " + first.said);
  if (first.state != Reading::State::value) throw ConfigError(what + ": " + first.problem);
  SecretLife life(first, std::chrono::steady_clock::now());
  return {Held{what, config, {}, {}, std::move(source), std::move(life)}, std::move(first)};
}

SecretStore::Read SecretStore::read(const SecretConfig& secret, SourceMaker& maker) {
  Read fresh = read(secret.name, secret.where + ": secret " + secret.name, secret.source, maker);
  fresh.held.placeholder_env = secret.placeholder_env;
  fresh.held.placeholder = secret.placeholder;
  SystemRandom random;
  (void)fresh.held.make(random);  // that one can be made
  return fresh;
}

void SecretStore::add(const std::string& name, Held held) {
  SystemRandom random;
  everything_->add({name, held.life.version(), held.life.value(), held.make(random)});
  held_.emplace(name, std::move(held));
}

SecretStore::SecretStore(const Config& config, const std::vector<const PolicyConfig*>& policies,
                         Listeners listeners)
    : everything_(std::make_unique<LiveSecrets>(std::make_shared<const SessionSecrets>(
          std::vector<Credential>(), std::vector<Grant>()))) {
  adopt(prepare(config, policies));
  SourceMaker maker;
  for (const ListenerConfig& listener : config.gateway.listeners) {
    if (!listener.token || listeners == Listeners::closed) continue;
    const std::string name = token_name(listener);
    Held held = read(name, listener.where + ": " + name, *listener.token, maker).held;
    held.token = std::make_shared<LiveValue>(held.life.value());
    add(name, std::move(held));
  }
  // Read here or not: no source's variable may be found in this process later.
  for (const ListenerConfig& listener : config.gateway.listeners) {
    if (listener.token) scrub(*listener.token);
  }
}

std::vector<LiveSecrets::Value> SecretStore::values_for(const SessionSecrets& secrets) const {
  std::vector<LiveSecrets::Value> values;
  for (const Credential& credential : secrets.credentials()) {
    const auto now = credential.is_minted ? std::nullopt : now_of(credential.name);
    if (now && !now->is_revoked) values.push_back({credential.name, now->value, now->version});
  }
  return values;
}

// A variable is read once and its bytes overwritten, so there is nothing to read again.
void SecretStore::refuse_wiped(const SecretConfig& secret) const {
  if (secret.source.kind != SourceConfig::Kind::env || !wiped_.contains(secret.source.env)) return;
  throw ConfigError(secret.where + ": secret " + secret.name + ": the variable " +
                    secret.source.env +
                    " was read and overwritten when the gateway started: start it anew");
}

struct SecretStore::Next {
  std::map<std::string, ClientCertificates, std::less<>> certificates;
  std::map<std::string, Read> fresh;
  std::vector<SecretConfig> secrets;
};

// The map itself is changed by adopt() alone, on the thread that prepares.
std::shared_ptr<SecretStore::Next> SecretStore::prepare(
    const Config& config, const std::vector<const PolicyConfig*>& policies) {
  auto next = std::make_shared<Next>();
  next->secrets = config.secrets;
  std::set<std::string> granted;
  for (const PolicyConfig* policy : policies) {
    for (const Grant& grant : policy->grants) granted.insert(grant.secret);
    next->certificates[policy->name] = ClientCertificates(policy->certificates);
  }
  SourceMaker maker;
  for (const SecretConfig& secret : config.secrets) {
    if (!granted.contains(secret.name)) continue;
    const auto found = held_.find(secret.name);
    if (found != held_.end() && found->second.config == secret.source) {
      check_shape(found->second, secret);
      continue;
    }
    refuse_wiped(secret);
    next->fresh.emplace(secret.name, read(secret, maker));
  }
  for (const SecretConfig& secret : config.secrets) {
    scrub(secret.source);
    if (secret.source.kind == SourceConfig::Kind::env) wiped_.insert(secret.source.env);
  }
  return next;
}

void SecretStore::adopt(const std::shared_ptr<Next>& next) {
  const std::scoped_lock look(looking_);
  std::erase_if(retired_, [](const Retired& each) {
    return each.reading.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  });
  const std::scoped_lock lock(mutex_);
  certificates_ = std::move(next->certificates);
  for (const SecretConfig& secret : next->secrets) {
    const auto held = held_.find(secret.name);
    if (held == held_.end()) continue;
    held->second.placeholder_env = secret.placeholder_env;
    held->second.placeholder = secret.placeholder;
  }
  for (auto& [name, secret] : next->fresh) {
    const auto found = held_.find(name);
    if (found == held_.end())
      add(name, std::move(secret.held));
    else
      replace_source(name, found->second, std::move(secret));
  }
}

// Can a placeholder be made as the configuration has it now? Throws ConfigError.
void SecretStore::check_shape(const Held& held, const SecretConfig& secret) const {
  SystemRandom random;
  const std::scoped_lock lock(mutex_);
  try {
    held.life.last_value()->reveal([&](std::string_view plain) {
      return make_placeholder(plain, secret.placeholder, random);
    });
  } catch (const PlaceholderError& error) {
    throw ConfigError(secret.where + ": secret " + secret.name + ": " + error.what());
  }
}

// The next version, behind the placeholders that sessions have.
void SecretStore::replace_source(const std::string& name, Held& held, Read next) {
  // Nobody waits for the one that goes.
  if (held.reading.valid()) retired_.push_back({std::move(held.source), std::move(held.reading)});
  held.reading = {};
  held.what = std::move(next.held.what);
  held.config = std::move(next.held.config);
  held.source = std::move(next.held.source);
  held.life.take(next.first, std::chrono::steady_clock::now());
  // At once, so that whoever starts now is looked through for it.
  everything_->set(name, held.life.value(), held.life.version());
}

PreparedSecrets SecretStore::for_session(const PolicyConfig& policy, Random& random) const {
  std::set<std::string> granted;
  for (const Grant& grant : policy.grants) granted.insert(grant.secret);
  PreparedSecrets prepared;
  std::vector<Credential> credentials;
  const auto held_back = hold_back();
  const std::scoped_lock lock(mutex_);
  for (const std::string& name : granted) {
    const auto found = held_.find(name);
    if (found == held_.end())
      throw ConfigError("secret " + name + ": the configuration has just changed: try again");
    const Held& held = found->second;
    const SecretLife& life = held.life;
    if (life.is_revoked())
      throw ConfigError(held.what + " was revoked: its source has no value any more");
    // One that cannot be had for now will be had later, behind the placeholder that is made for it today.
    std::string placeholder = held.make(random);
    prepared.placeholder_env[held.placeholder_env] = placeholder;
    credentials.push_back({name, life.version(), life.value(), std::move(placeholder)});
    if (!life.value()) credentials.back().former.push_back(life.last_value());
  }
  prepared.secrets = std::make_unique<SessionSecrets>(std::move(credentials), grants_of(policy));
  const auto certificates = certificates_.find(policy.name);
  if (certificates == certificates_.end())
    throw ConfigError("policy " + policy.name + ": the configuration has just changed: try again");
  prepared.certificates = certificates->second;
  return prepared;
}

ClientCertificates SecretStore::certificates(std::string_view policy) const {
  const std::scoped_lock lock(mutex_);
  const auto found = certificates_.find(policy);
  return found == certificates_.end() ? ClientCertificates() : found->second;
}

std::shared_ptr<const LiveValue> SecretStore::token_of(const ListenerConfig& listener) const {
  const std::scoped_lock lock(mutex_);
  const auto found = held_.find(token_name(listener));
  return found == held_.end() ? nullptr : found->second.token;
}

std::optional<Reading> SecretStore::next_reading(Held& held, bool is_due,
                                                 const std::stop_token& stop) {
  if (held.reading.valid()) {
    if (held.reading.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return std::nullopt;
    return held.reading.get();
  }
  if (!is_due && !held.source->looks_changed()) return std::nullopt;
  if (!held.source->is_slow()) return read_now(*held.source, stop);
  try {
    SecretSource* source = held.source.get();
    held.reading =
        std::async(std::launch::async, [source, stop] { return read_now(*source, stop); });
  } catch (const std::system_error&) {
    // No thread to be had: it stays due, and the next look tries again.
  }
  return std::nullopt;
}

std::vector<std::string> SecretStore::look(SourceTime now, const std::stop_token& stop) {
  const std::scoped_lock looking(looking_);
  std::vector<std::string> lines;
  const auto tell = [&](const Held& held, const std::string& line) {
    if (!line.empty()) lines.push_back(held.what + ": " + line);
  };
  for (auto& [name, held] : held_) {
    // Whoever looks alone changes it: reading needs no lock.
    const auto reading = next_reading(held, held.life.is_due(now), stop);
    if (stop.stop_requested()) break;
    if (reading) {
      tell(held, reading->said);
      const std::scoped_lock lock(mutex_);
      tell(held, held.life.take(*reading, now).warning);
    }
    const std::scoped_lock lock(mutex_);
    tell(held, held.life.pass(now).warning);
  }
  return lines;
}

std::optional<SecretStore::Now> SecretStore::now_of(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  const auto found = held_.find(name);
  if (found == held_.end()) return std::nullopt;
  const Held& held = found->second;
  return Now{held.life.value(), held.life.version(), held.life.is_revoked(), held.token};
}

SecretEvent SecretStore::event_of(const Credential& before, const Now& now) {
  if (now.is_revoked) return SecretEvent::revoked;
  if (!now.value) return SecretEvent::unavailable;
  return before.value ? SecretEvent::rotated : SecretEvent::restored;
}

std::vector<SecretStore::Change> SecretStore::update(LiveSecrets& session) const {
  const auto held_back = hold_back();
  std::vector<Change> changes;
  const auto before = session.now();
  for (const Credential& credential : before->credentials()) {
    const auto now = now_of(credential.name);
    if (!now || credential.is_revoked) continue;
    if (!now->is_revoked && now->value == credential.value) continue;
    const bool done = now->is_revoked ? session.revoke(credential.name)
                                      : session.set(credential.name, now->value, now->version);
    if (done) changes.push_back({credential.name, event_of(credential, *now), now->version});
  }
  return changes;
}

// Nothing is revoked here for good: what comes back is for the next sessions, and is looked for in what they are given.
std::vector<SecretStore::Change> SecretStore::update_own() const {
  std::vector<Change> changes;
  const auto before = everything_->now();
  for (const Credential& credential : before->credentials()) {
    const auto now = now_of(credential.name);
    if (!now || now->value == credential.value) continue;
    everything_->set(credential.name, now->value, now->version);
    if (!now->token) continue;
    now->token->set(now->value);
    changes.push_back({credential.name, event_of(credential, *now), now->version});
  }
  return changes;
}

}  // namespace warder
