#include <algorithm>
#include <charconv>

#include "config/keys.hpp"
#include "config/sections.hpp"
#include "policy/quote.hpp"

namespace warder {

const Keys& gateway_keys() {
  static const Keys kKeys{"gateway", {"audit", "upstream", "listeners"}};
  return kKeys;
}
const Keys& audit_keys() {
  static const Keys kKeys{"audit", {"file"}};
  return kKeys;
}
const Keys& upstream_keys() {
  static const Keys kKeys{"upstream",
                          {"ca", "connect_to", "resolvers", "connect_timeout", "response_timeout",
                           "idle_timeout", "pool"}};
  return kKeys;
}
const Keys& pool_keys() {
  static const Keys kKeys{"pool", {"idle", "per_authority", "per_session"}};
  return kKeys;
}

namespace {

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

constexpr std::uint16_t kDnsPort = 53;
// All of them have their turns before a look-up's time is over.
constexpr std::size_t kMaxResolvers = 4;

void read_resolvers(const Reader& reader, const YamlNode& node, UpstreamConfig& upstream) {
  const std::string example =
      "an address, with its port if that is not 53, such as \"10.0.0.53\", "
      "\"10.0.0.53:5353\" or \"[2001:db8::53]:53\"";
  for (const YamlNode& item : reader.list(node, "resolvers")) {
    const std::string& text = reader.text(item, "resolvers");
    const auto refuse = [&](const std::string& why) {
      reader.fail(item.place,
                  "resolvers: " + in_quotes(text) + " is " + why + ": write " + example);
    };
    const Result<HostPort> parsed = parse_host_port(text);
    if (!parsed) {
      const Result<HostName> bare = HostName::parse(text);
      if (bare && bare->is_address()) {  // IPv6 without its brackets
        reader.fail(item.place, "resolvers: " + in_quotes(text) + " needs brackets: write " +
                                    in_quotes(bare->uri_host()));
      }
      refuse("not an address (" + parsed.error().message() + ")");
    }
    if (!parsed->host.is_address()) refuse("a name");
    std::string whole =
        parsed->host.uri_host() + ':' + std::to_string(parsed->port.value_or(kDnsPort));
    auto& resolvers = upstream.resolvers;
    if (std::find(resolvers.begin(), resolvers.end(), whole) != resolvers.end())
      reader.fail(item.place, "resolvers: " + in_quotes(text) + " stands twice: remove one");
    if (resolvers.size() == kMaxResolvers)
      reader.fail(item.place, "resolvers: more than " + std::to_string(kMaxResolvers) +
                                  ": keep those that answer best");
    resolvers.push_back(std::move(whole));
  }
}

// More open files than that no session should have.
constexpr std::size_t kMostConnections = 65'536;

std::size_t count_of(const Reader& reader, const YamlNode& node, std::string_view key,
                     std::size_t least) {
  const std::string& text = reader.text(node, key);
  std::size_t number = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc{} && read == end && number >= least && number <= kMostConnections)
    return number;
  reader.fail(node.place, "'" + std::string(key) + "' is " + in_quotes(text) +
                              ": write a number of connections, from " + std::to_string(least) +
                              " to " + std::to_string(kMostConnections));
}

OriginPoolConfig read_pool(const Reader& reader, const YamlNode& node) {
  reader.expect_map(node, "pool");
  reader.expect_keys(node, pool_keys());
  OriginPoolConfig pool;
  if (const YamlNode* idle = reader.find(node, "idle")) pool.idle = reader.duration(*idle, "idle");
  if (const YamlNode* most = reader.find(node, "per_authority"))
    pool.per_authority = count_of(reader, *most, "per_authority", 1);
  if (const YamlNode* most = reader.find(node, "per_session"))
    pool.per_session = count_of(reader, *most, "per_session", 0);
  return pool;
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
  if (const YamlNode* list = reader.find(node, "resolvers"))
    read_resolvers(reader, *list, upstream);
  const auto time = [&](const char* key, std::chrono::milliseconds& out) {
    if (const YamlNode* value = reader.find(node, key)) out = reader.duration(*value, key);
  };
  time("connect_timeout", upstream.connect_timeout);
  time("response_timeout", upstream.response_timeout);
  time("idle_timeout", upstream.idle_timeout);
  if (const YamlNode* pool = reader.find(node, "pool")) upstream.pool = read_pool(reader, *pool);
  return upstream;
}

}  // namespace

GatewayConfig read_gateway(const Reader& reader, const YamlNode& node,
                           const std::vector<PolicyConfig>& policies) {
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
  if (const YamlNode* listeners = reader.find(node, "listeners"))
    gateway.listeners = read_listeners(reader, *listeners, policies);
  return gateway;
}

}  // namespace warder
