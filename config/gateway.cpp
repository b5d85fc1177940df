#include "config/sections.hpp"
#include "policy/quote.hpp"

namespace warder {
namespace {

const Keys& gateway_keys() {
  static const Keys kKeys{"gateway", {"audit", "upstream"}};
  return kKeys;
}
const Keys& audit_keys() {
  static const Keys kKeys{"audit", {"file"}};
  return kKeys;
}
const Keys& upstream_keys() {
  static const Keys kKeys{
      "upstream", {"ca", "connect_to", "connect_timeout", "response_timeout", "idle_timeout"}};
  return kKeys;
}

HostPort whole_host_port(const Reader& reader, const std::string& text, YamlPlace place,
                         const std::string& example) {
  Result<HostPort> parsed = parse_host_port(text);
  if (parsed && parsed->port) return std::move(*parsed);
  const std::string why = parsed ? "it has no port" : parsed.error().message();
  reader.fail(place, "connect_to: " + in_quotes(text) + " is not a host and port (" + why +
                         "): write " + example);
}

void read_connect_to(const Reader& reader, const YamlNode& node, UpstreamConfig& upstream) {
  reader.expect_map(node, "connect_to");
  for (const YamlEntry& entry : node.entries) {
    const HostPort from =
        whole_host_port(reader, entry.key, entry.place, "a pair such as \"api.example.com:443\"");
    const std::string& text = reader.text(entry.value, "connect_to");
    const HostPort to = whole_host_port(reader, text, entry.value.place,
                                        "an address and port such as \"127.0.0.1:8443\"");
    if (!to.host.is_address()) {
      reader.fail(entry.value.place,
                  "connect_to: " + in_quotes(text) +
                      " is a name: write an address and port such as \"127.0.0.1:8443\"");
    }
    const auto joined = [](const HostPort& pair) {
      return pair.host.uri_host() + ':' + std::to_string(*pair.port);
    };
    if (!upstream.connect_to.emplace(joined(from), joined(to)).second) {
      reader.fail(entry.place, "connect_to: " + in_quotes(entry.key) + " stands twice: remove one");
    }
  }
}

UpstreamConfig read_upstream(const Reader& reader, const YamlNode& node) {
  reader.expect_map(node, "upstream");
  reader.expect_keys(node, upstream_keys());
  UpstreamConfig upstream;
  if (const YamlNode* ca = reader.find(node, "ca")) {
    for (const YamlNode& item : reader.list(*ca, "ca"))
      upstream.ca.push_back(reader.path(item, "ca"));
  }
  if (const YamlNode* map = reader.find(node, "connect_to"))
    read_connect_to(reader, *map, upstream);
  const auto time = [&](const char* key, std::chrono::milliseconds& out) {
    if (const YamlNode* value = reader.find(node, key)) out = reader.duration(*value, key);
  };
  time("connect_timeout", upstream.connect_timeout);
  time("response_timeout", upstream.response_timeout);
  time("idle_timeout", upstream.idle_timeout);
  return upstream;
}

}  // namespace

GatewayConfig read_gateway(const Reader& reader, const YamlNode& node) {
  reader.expect_map(node, "gateway");
  reader.expect_keys(node, gateway_keys());
  GatewayConfig gateway;
  if (const YamlNode* audit = reader.find(node, "audit")) {
    reader.expect_map(*audit, "audit");
    reader.expect_keys(*audit, audit_keys());
    const YamlNode& file = reader.need(*audit, "file", audit_keys());
    gateway.audit_file = reader.path(file, "file");
    if (!gateway.audit_file.has_filename()) {
      reader.fail(file.place,
                  "'file' is " + in_quotes(file.text) + ": name a file, such as audit/audit.jsonl");
    }
    gateway.audit_place = reader.exact(file.place);
  }
  if (const YamlNode* upstream = reader.find(node, "upstream")) {
    gateway.upstream = read_upstream(reader, *upstream);
  }
  return gateway;
}

}  // namespace warder
