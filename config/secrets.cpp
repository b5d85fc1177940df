#include <algorithm>

#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "http/chars.hpp"
#include "policy/quote.hpp"

// No sentence here quotes what stands under `source` or in a secret's or placeholder's place: a
// value pasted there by mistake must not be printed.
namespace warder {
namespace {

const Keys& secret_keys() {
  static const Keys kKeys{"a secret", {"source", "placeholder"}};
  return kKeys;
}
const Keys& placeholder_keys() {
  static const Keys kKeys{"a placeholder", {"env"}};
  return kKeys;
}

std::string read_placeholder(const Reader& reader, const YamlNode& node,
                             const std::string& secret) {
  if (node.kind != YamlNode::Kind::map) {
    reader.fail(node.place, "placeholder of secret '" + secret + "' must be {env: NAME}");
  }
  reader.expect_keys(node, placeholder_keys());
  const YamlNode& env = reader.need(node, "env", placeholder_keys());
  const std::string& name = reader.text(env, "env");
  if (!is_env_name(name)) {
    reader.fail(env.place,
                "placeholder of secret '" + secret + "': " + in_quotes(name) +
                    " is not the name of an environment variable: write a name such as API_TOKEN");
  }
  return name;
}

SecretConfig read_secret(const Reader& reader, const YamlEntry& entry) {
  SecretConfig secret;
  secret.name = entry.key;
  secret.where = reader.where(entry.place);
  if (!is_plain_name(secret.name)) {
    reader.fail(entry.place, "secret name " + in_quotes(secret.name) +
                                 " may have letters, digits, '-' and '_' only, up to 64");
  }
  if (entry.value.kind != YamlNode::Kind::map) {
    reader.fail(entry.value.place,
                "secret '" + secret.name +
                    "' must be a map such as {source: {env: NAME}}, never the value itself");
  }
  reader.expect_keys(entry.value, secret_keys());
  const YamlNode* source = reader.find(entry.value, "source");
  if (source == nullptr) {
    reader.fail(entry.place,
                "secret '" + secret.name + "' has no 'source': add source: {env: NAME}");
  }
  secret.source = read_source(reader, *source, "source of secret '" + secret.name + "'");
  secret.placeholder_env = secret.source.env;
  if (const YamlNode* placeholder = reader.find(entry.value, "placeholder")) {
    secret.placeholder_env = read_placeholder(reader, *placeholder, secret.name);
  }
  if (secret.placeholder_env.empty()) {
    reader.fail(entry.place,
                "secret '" + secret.name +
                    "' comes from a file and has no placeholder: add placeholder: {env: NAME}");
  }
  if (is_reserved_env(secret.placeholder_env)) {
    reader.fail(entry.place,
                "secret '" + secret.name + "' would replace the sandbox's own variable " +
                    secret.placeholder_env + ": choose another with placeholder: {env: NAME}");
  }
  return secret;
}

}  // namespace

std::vector<SecretConfig> read_secrets(const Reader& reader, const YamlNode& node) {
  std::vector<SecretConfig> secrets;
  reader.expect_map(node, "secrets");
  if (node.entries.size() > Reader::kMaxList) {
    reader.fail(node.place,
                "'secrets' has more than " + std::to_string(Reader::kMaxList) + " entries");
  }
  for (const YamlEntry& entry : node.entries) {
    SecretConfig secret = read_secret(reader, entry);
    for (const SecretConfig& other : secrets) {
      if (other.placeholder_env != secret.placeholder_env) continue;
      reader.fail(entry.place, "secrets '" + other.name + "' and '" + secret.name +
                                   "' have the same placeholder variable " +
                                   secret.placeholder_env +
                                   ": give one another with placeholder: {env: NAME}");
    }
    secrets.push_back(std::move(secret));
  }
  return secrets;
}

}  // namespace warder
