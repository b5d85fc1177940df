#include <algorithm>

#include "config/keys.hpp"
#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "http/chars.hpp"
#include "policy/quote.hpp"
#include "secrets/shape.hpp"

// No sentence here quotes what stands under `source` or in a secret's or placeholder's place: a
// value pasted there by mistake must not be printed.
namespace warder {

const Keys& secret_keys() {
  static const Keys kKeys{"a secret", {"source", "placeholder"}};
  return kKeys;
}
const Keys& placeholder_keys() {
  static const Keys kKeys{"a placeholder", {"env", "shape", "format"}};
  return kKeys;
}
const Keys& shape_keys() {
  static const Keys kKeys{"a shape", {"template", "weak"}};
  return kKeys;
}

namespace {

Template read_template(const Reader& reader, const YamlNode& node, const std::string& what) {
  try {
    return Template(reader.text(node, "template"));
  } catch (const TemplateError& error) {
    reader.fail(node.place,
                what + ": template, character " + std::to_string(error.at) + ": " + error.what());
  }
}

void read_shape(const Reader& reader, const YamlNode& node, const std::string& what,
                PlaceholderSpec& spec) {
  if (node.kind == YamlNode::Kind::scalar) {
    const std::vector<std::string>& known = shape_names();
    spec.shape = node.text;
    if (std::find(known.begin(), known.end(), node.text) != known.end()) return;
    reader.fail(node.place,
                what + ": unknown shape" +
                    did_you_mean(node.text, known, ": docs/masking.md lists those that there are"));
  }
  if (node.kind != YamlNode::Kind::map) {
    reader.fail(node.place,
                what + ": 'shape' must be a name such as github-pat, or {template: \"…\"}");
  }
  reader.expect_keys(node, shape_keys());
  const YamlNode& form = reader.need(node, "template", shape_keys());
  if (const YamlNode* weak = reader.find(node, "weak")) {
    spec.is_weak = reader.yes_or_no(*weak, "weak");
  }
  spec.form = read_template(reader, form, what);
  if (const auto problem = refuse_template(*spec.form, spec.is_weak)) {
    reader.fail(form.place, what + ": template: " + *problem);
  }
}

void read_format(const Reader& reader, const YamlNode& node, const std::string& what,
                 PlaceholderSpec& spec) {
  if (node.kind == YamlNode::Kind::scalar && node.text == "realistic") return;
  if (node.kind != YamlNode::Kind::scalar || node.text != "obvious") {
    reader.fail(node.place, what + ": 'format' must be realistic or obvious");
  }
  spec.format = PlaceholderSpec::Format::obvious;
}

void read_placeholder(const Reader& reader, const YamlNode& node, SecretConfig& secret) {
  const std::string what = "placeholder of secret '" + secret.name + "'";
  if (node.kind != YamlNode::Kind::map) {
    reader.fail(node.place, what + " must be {env: NAME}");
  }
  reader.expect_keys(node, placeholder_keys());
  if (const YamlNode* shape = reader.find(node, "shape")) {
    read_shape(reader, *shape, what, secret.placeholder);
  }
  if (const YamlNode* format = reader.find(node, "format")) {
    read_format(reader, *format, what, secret.placeholder);
  }
  const YamlNode* env = reader.find(node, "env");
  const bool has_default = !secret.source.env.empty() && !node.entries.empty();
  if (env == nullptr && has_default) return;
  if (env == nullptr) env = &reader.need(node, "env", placeholder_keys());
  const std::string& name = reader.text(*env, "env");
  if (!is_env_name(name)) {
    reader.fail(env->place, what + ": " + in_quotes(name) +
                                " is not the name of an environment variable: write a name such "
                                "as API_TOKEN");
  }
  secret.placeholder_env = name;
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
    read_placeholder(reader, *placeholder, secret);
  }
  if (secret.placeholder_env.empty()) {
    reader.fail(
        entry.place,
        "secret '" + secret.name +
            "' comes from no variable and has no placeholder: add placeholder: {env: NAME}");
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
