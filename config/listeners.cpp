#include <algorithm>

#include "config/keys.hpp"
#include "config/sections.hpp"
#include "config/spelling.hpp"
#include "policy/quote.hpp"

namespace warder {

const Keys& listener_keys() {
  static const Keys kKeys{"a listener", {"name", "type", "address", "policy", "token", "tls"}};
  return kKeys;
}
const Keys& tls_keys() {
  static const Keys kKeys{"tls", {"name", "certificate", "key"}};
  return kKeys;
}

namespace {

ListenerConfig::Kind kind_of(const Reader& reader, const YamlNode& node) {
  const std::string& type = reader.text(node, "type");
  if (type == "connect") return ListenerConfig::Kind::connect;
  if (type == "socks5") return ListenerConfig::Kind::socks5;
  reader.fail(node.place, "unknown listener type " + in_quotes(type) +
                              did_you_mean(type, {"connect", "socks5"}, ": use connect or socks5"));
}

HostPort address_of(const Reader& reader, const YamlNode& node) {
  const std::string& text = reader.text(node, "address");
  auto parsed = parse_host_port(text);
  if (!parsed || !parsed->port || !parsed->host.is_address()) {
    reader.fail(node.place,
                "address: " + in_quotes(text) +
                    " is not an address and port: write one such as \"127.0.0.1:3128\"");
  }
  return std::move(*parsed);
}

bool is_loopback(const HostName& host) {
  return host.str() == "::1" || host.str().starts_with("127.");
}

std::string policy_of(const Reader& reader, const YamlNode& node,
                      const std::vector<PolicyConfig>& policies) {
  const std::string& name = reader.text(node, "policy");
  std::vector<std::string> known;
  for (const PolicyConfig& policy : policies) known.push_back(policy.name);
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    reader.fail(node.place, "unknown policy " + in_quotes(name) + " in a listener" +
                                did_you_mean(name, known, ": name it under 'policies' first"));
  }
  return name;
}

ListenerConfig::Tls tls_of(const Reader& reader, const YamlNode& node) {
  reader.expect_map(node, "tls");
  reader.expect_keys(node, tls_keys());
  ListenerConfig::Tls tls;
  const YamlNode* name = reader.find(node, "name");
  const YamlNode* certificate = reader.find(node, "certificate");
  const YamlNode* key = reader.find(node, "key");
  const bool by_files = certificate != nullptr && key != nullptr;
  if ((name != nullptr) == by_files || (certificate != nullptr) != (key != nullptr)) {
    reader.fail(node.place,
                "tls: write {name: HOST} for a leaf of Warder's own authority, or "
                "{certificate: FILE, key: FILE}");
  }
  if (by_files) {
    tls.certificate = reader.path(*certificate, "certificate");
    tls.key = reader.path(*key, "key");
    return tls;
  }
  const std::string& text = reader.text(*name, "name");
  auto host = HostName::parse(text);
  if (!host) reader.fail(name->place, "tls: " + in_quotes(text) + " is not a host name or address");
  tls.name = std::move(*host);
  return tls;
}

// "none" must be said, and then nobody but this host may reach the address: whoever does is the sandbox.
std::optional<SourceConfig> token_of(const Reader& reader, const YamlNode& node,
                                     const HostName& host, const std::string& listener) {
  if (node.kind != YamlNode::Kind::scalar || node.text != "none")
    return read_source(reader, node, "token of listener '" + listener + "'");
  if (!is_loopback(host)) {
    reader.fail(node.place, "listener '" + listener + "' has no token, and others can reach " +
                                host.str() + ": give it one, or listen on 127.0.0.1 or [::1]");
  }
  return std::nullopt;
}

ListenerConfig read_listener(const Reader& reader, const YamlNode& node, std::size_t place,
                             const std::vector<PolicyConfig>& policies) {
  if (node.kind != YamlNode::Kind::map) {
    reader.fail(node.place,
                "a listener must be a map such as {type: connect, address: \"127.0.0.1:3128\", "
                "policy: NAME, token: {env: NAME}}, not " +
                    describe(node));
  }
  reader.expect_keys(node, listener_keys());
  const auto need = [&](const char* key) -> const YamlNode& {
    return reader.need(node, key, listener_keys());
  };
  const ListenerConfig::Kind kind = kind_of(reader, need("type"));
  HostPort address = address_of(reader, need("address"));
  ListenerConfig listener{
      (kind == ListenerConfig::Kind::connect ? "connect-" : "socks5-") + std::to_string(place),
      kind,
      std::move(address.host),
      *address.port,
      policy_of(reader, need("policy"), policies),
      std::nullopt,
      std::nullopt,
      reader.where(node.place)};
  if (const YamlNode* name = reader.find(node, "name")) {
    listener.name = reader.text(*name, "name");
    if (!is_plain_name(listener.name)) {
      reader.fail(name->place, "listener name " + in_quotes(listener.name) +
                                   " may have letters, digits, '-' and '_' only, up to 64");
    }
  }
  listener.token = token_of(reader, need("token"), listener.host, listener.name);
  if (const YamlNode* tls = reader.find(node, "tls")) listener.tls = tls_of(reader, *tls);
  return listener;
}

}  // namespace

std::vector<ListenerConfig> read_listeners(const Reader& reader, const YamlNode& node,
                                           const std::vector<PolicyConfig>& policies) {
  std::vector<ListenerConfig> listeners;
  for (const YamlNode& item : reader.list(node, "listeners")) {
    ListenerConfig listener = read_listener(reader, item, listeners.size() + 1, policies);
    for (const ListenerConfig& other : listeners) {
      if (other.name == listener.name) {
        reader.fail(item.place, "listener '" + other.name + "' stands twice (first at " +
                                    other.where + "): give one another name");
      }
      if (other.host == listener.host && other.port == listener.port) {
        reader.fail(item.place, "listeners '" + other.name + "' and '" + listener.name +
                                    "' have the same address: give one another port");
      }
    }
    listeners.push_back(std::move(listener));
  }
  return listeners;
}

}  // namespace warder
