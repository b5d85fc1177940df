#include "config/load.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/fd.hpp"
#include "config/include.hpp"
#include "config/keys.hpp"
#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "policy/conflict.hpp"
#include "policy/quote.hpp"

namespace warder {

const Keys& top_keys() {
  static const Keys kKeys{"the configuration", {"version", "secrets", "policies", "gateway"}};
  return kKeys;
}
const Keys& policy_keys() {
  static const Keys kKeys{
      "a policy",
      {"mode", "include", "rules", "grants", "tripwire", "ask", "limits", "sandbox", "tests"}};
  return kKeys;
}

namespace {

void check_version(const Reader& reader, const YamlNode& root) {
  const YamlNode* version = reader.find(root, "version");
  if (version == nullptr)
    reader.fail(root.place, "'version' is missing: begin with \"version: 1\"");
  if (version->kind != YamlNode::Kind::scalar || version->text != "1" || version->is_quoted) {
    reader.fail(version->place,
                "version " + describe(*version) + " is not known: write version: 1");
  }
}

// A placeholder is swapped, and a certificate shown, only where a rule has its host inspected.
void expect_use(const Reader& reader, YamlPlace place, const std::string& what,
                const std::vector<HostPattern>& hosts, const std::vector<Rule>& rules,
                const std::string& never) {
  for (const HostPattern& host : hosts) {
    const std::string rule = only_raw_rule_for(host, rules);
    if (rule.empty()) continue;
    reader.fail(place, "grant of " + what + " at " + host.str() + ": only rule '" + rule +
                           "' reaches it, which inspects nothing, so no " + never +
                           " there: remove the host from the grant");
  }
}

void read_all_grants(const Reader& reader, const YamlNode& node,
                     const std::vector<SecretConfig>& secrets, PolicyConfig& policy) {
  policy.grants = read_grants(reader, node, secrets);
  policy.certificates = read_certificate_grants(reader, node);
  auto grant = policy.grants.begin();
  auto certificate = policy.certificates.begin();
  policy.captures = read_captures(reader, node);
  auto capture = policy.captures.begin();
  for (const YamlNode& item : node.items) {
    if (is_certificate_grant(reader, item)) {
      expect_use(reader, item.place, "a client certificate", (certificate++)->hosts, policy.rules,
                 "certificate is ever shown");
    } else if (is_capture_grant(reader, item)) {
      const std::string what = "what '" + capture->name + "' captures";
      expect_use(reader, item.place, what, capture->from, policy.rules, "token is ever captured");
      expect_use(reader, item.place, what, (capture++)->hosts, policy.rules,
                 "placeholder is ever swapped");
    } else {
      expect_use(reader, item.place, "'" + grant->secret + "'", grant->hosts, policy.rules,
                 "placeholder is ever swapped");
      ++grant;
    }
  }
}

OnTripwire read_tripwire(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.text(node, "tripwire");
  if (text == "block") return OnTripwire::block;
  if (text == "quarantine") return OnTripwire::quarantine;
  reader.fail(node.place, "'tripwire' is " + in_quotes(text) + ": write block or quarantine");
}

bool read_mode(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.text(node, "mode");
  if (text == "observe") return true;
  if (text == "enforce") return false;
  reader.fail(node.place, "'mode' is " + in_quotes(text) + ": write enforce or observe");
}

// All but its includes, which may be policies further down, and its grants, which look at all its rules.
PolicyConfig read_policy(const Reader& reader, const YamlEntry& entry) {
  PolicyConfig policy;
  policy.name = entry.key;
  policy.where = reader.where(entry.place);
  if (!is_plain_name(policy.name)) {
    reader.fail(entry.place, "policy name " + in_quotes(policy.name) +
                                 " may have letters, digits, '-' and '_' only, up to 64");
  }
  if (entry.value.kind != YamlNode::Kind::map) {
    reader.fail(entry.value.kind == YamlNode::Kind::null ? entry.place : entry.value.place,
                "policy '" + policy.name + "' must be a map with rules and grants, not " +
                    describe(entry.value));
  }
  reader.expect_keys(entry.value, policy_keys());
  if (const YamlNode* rules = reader.find(entry.value, "rules"))
    policy.rules = read_rules(reader, *rules);
  if (const YamlNode* tripwire = reader.find(entry.value, "tripwire"))
    policy.on_tripwire = read_tripwire(reader, *tripwire);
  if (const YamlNode* limits = reader.find(entry.value, "limits"))
    policy.limits = read_limits(reader, *limits);
  if (const YamlNode* sandbox = reader.find(entry.value, "sandbox"))
    policy.bounds = read_bounds(reader, *sandbox);
  if (const YamlNode* ask = reader.find(entry.value, "ask")) policy.ask = read_ask(reader, *ask);
  if (const YamlNode* tests = reader.find(entry.value, "tests"))
    policy.tests = read_policy_tests(reader, *tests);
  if (const YamlNode* mode = reader.find(entry.value, "mode"))
    policy.observes = read_mode(reader, *mode);
  return policy;
}

std::vector<PolicyConfig> read_policies(const Reader& reader, const YamlNode& node,
                                        const std::vector<SecretConfig>& secrets) {
  reader.expect_map(node, "policies");
  std::vector<PolicyConfig> policies;
  for (const YamlEntry& entry : node.entries) policies.push_back(read_policy(reader, entry));
  add_includes(reader, node, policies);
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if (const YamlNode* grants = reader.find(node.entries[i].value, "grants"))
      read_all_grants(reader, *grants, secrets, policies[i]);
  }
  return policies;
}

[[noreturn]] void cannot_read(const std::filesystem::path& file, const std::string& why) {
  throw ConfigError(file.string() + ": cannot be read: " + why);
}

template <class List>
auto by_name(const List& list, std::string_view name) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.name == name; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

const PolicyConfig* Config::policy(std::string_view name) const { return by_name(policies, name); }
const SecretConfig* Config::secret(std::string_view name) const { return by_name(secrets, name); }

std::string config_bytes(const std::filesystem::path& file) {
  // Not blocking: a FIFO in the configuration's place must not hang the start.
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto last_error = [] { return std::generic_category().message(errno); };
  if (!fd) cannot_read(file, last_error());
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) cannot_read(file, last_error());
  if (!S_ISREG(info.st_mode)) cannot_read(file, "it is not a regular file");

  // One byte more than allowed, so that parse_config says what is wrong.
  std::string bytes(YamlLimits{}.bytes + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t n = ::read(fd.get(), bytes.data() + size, bytes.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) cannot_read(file, last_error());
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  bytes.resize(size);
  return bytes;
}

Config load_config(const std::filesystem::path& file) {
  return parse_config(config_bytes(file), file);
}

Config parse_config(std::string bytes, const std::filesystem::path& file) {
  const Reader reader(file);
  const YamlNode root = parse_yaml(bytes, file.string());
  if (root.kind != YamlNode::Kind::map) {
    reader.fail(
        root.place,
        "the configuration must be a map that begins with \"version: 1\", not " + describe(root));
  }
  reader.expect_keys(root, top_keys());
  check_version(reader, root);
  Config config;
  config.file = file;
  config.bytes = std::move(bytes);
  if (const YamlNode* secrets = reader.find(root, "secrets"))
    config.secrets = read_secrets(reader, *secrets);
  if (const YamlNode* policies = reader.find(root, "policies"))
    config.policies = read_policies(reader, *policies, config.secrets);
  if (const YamlNode* gateway = reader.find(root, "gateway"))
    config.gateway = read_gateway(reader, *gateway, config.policies);
  return config;
}

}  // namespace warder
