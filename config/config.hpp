// The whole configuration, as read and checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/bounds.hpp"
#include "config/policy_tests.hpp"
#include "http/authority.hpp"
#include "policy/ask.hpp"
#include "policy/limits.hpp"
#include "policy/rule.hpp"
#include "secrets/capture.hpp"
#include "secrets/grant.hpp"
#include "secrets/helper_reply.hpp"
#include "secrets/placeholder.hpp"

namespace warder {

// Where a value comes from: docs/secrets.md.
struct SourceConfig {
  enum class Kind : std::uint8_t { env, file, exec, store };
  struct Exec {
    std::vector<std::string> argv;  // [0]: a whole path, or a name that is looked for in PATH
    HelperFormat format = HelperFormat::plain;
    std::string host;  // whose credential a format asks for; empty for plain
    std::chrono::milliseconds timeout{5'000};
    // How long an answer is good; none: for ever.
    std::optional<std::chrono::milliseconds> cache{std::chrono::minutes(5)};
    std::vector<std::string> env;  // names of variables that it gets besides the usual few
    friend bool operator==(const Exec&, const Exec&) = default;
  };
  Kind kind = Kind::env;
  std::string env;
  std::filesystem::path file;  // of kind store: empty for the usual place
  std::string store{};         // the entry's name
  Exec exec{};
  friend bool operator==(const SourceConfig&, const SourceConfig&) = default;
};

struct SecretConfig {
  std::string name;
  SourceConfig source;
  std::string
      placeholder_env;  // the variable that holds the placeholder; env source: default its own name
  PlaceholderSpec placeholder;
  std::string where;
};

// A certificate that the gateway itself shows to origins which ask for one. PEM files.
struct CertificateGrant {
  std::filesystem::path certificate;  // with its chain
  std::filesystem::path key;
  std::vector<HostPattern> hosts;
  std::string where;
};

struct PolicyConfig {
  std::string name;
  std::vector<Rule> rules;
  std::vector<Grant> grants;
  std::string where;
  std::vector<CertificateGrant> certificates;
  std::vector<Capture> captures;
  OnTripwire on_tripwire = OnTripwire::block;
  Limits limits{};
  Bounds bounds{};  // `sandbox`
  AskLimits ask;
  std::vector<PolicyTest> tests{};
  bool observes = false;  // `mode: observe`: what no rule allows passes all the same
};

// The connections to origins that one session keeps open for its next requests.
struct OriginPoolConfig {
  std::chrono::milliseconds idle{60'000};  // how long one is kept that carries nothing
  std::size_t per_authority = 128;         // open at a time to one authority, busy or not
  std::size_t per_session = 256;           // that carry nothing, to all authorities
  friend bool operator==(const OriginPoolConfig&, const OriginPoolConfig&) = default;
};

struct UpstreamConfig {
  std::vector<std::filesystem::path> ca;  // PEM files trusted besides the system store
  std::map<std::string, std::string>
      connect_to;                      // "host:port" → "address:port", outside the address check
  std::vector<std::string> resolvers;  // "address:port"; empty: those of /etc/resolv.conf
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds response_timeout{300'000};  // head of the response
  std::chrono::milliseconds idle_timeout{300'000};      // between two bytes
  OriginPoolConfig pool;
  friend bool operator==(const UpstreamConfig&, const UpstreamConfig&) = default;
};

// A way in that `warder gateway` opens for clients that were told of it.
struct ListenerConfig {
  enum class Kind : std::uint8_t { connect, socks5 };
  // How the proxy itself proves who it is, when it is spoken to over TLS.
  struct Tls {
    std::optional<HostName> name;  // a leaf of Warder's own authority; else the two files
    std::filesystem::path certificate;
    std::filesystem::path key;
    friend bool operator==(const Tls&, const Tls&) = default;
  };
  std::string name;  // as given, else "connect-1" (its place, from 1)
  Kind kind = Kind::connect;
  HostName host;  // an address
  std::uint16_t port = 0;
  std::string policy;
  std::optional<SourceConfig> token;  // none: whoever reaches the address is the sandbox
  std::optional<Tls> tls;
  std::string where;
  friend bool operator==(const ListenerConfig&, const ListenerConfig&) = default;
};

struct GatewayConfig {
  std::filesystem::path audit_file;  // empty: one of the run's own in the state directory
  std::string audit_place;           // file:line:column of audit.file
  UpstreamConfig upstream;
  std::vector<ListenerConfig> listeners;
  friend bool operator==(const GatewayConfig&, const GatewayConfig&) = default;
};

struct Config {
  std::filesystem::path file;  // empty: from flags alone
  std::string bytes;  // as read; its SHA-256 is the policy digest and what `warder trust` pins
  std::vector<SecretConfig> secrets;
  std::vector<PolicyConfig> policies;
  GatewayConfig gateway;

  const PolicyConfig* policy(std::string_view name) const;
  const SecretConfig* secret(std::string_view name) const;
};

// One sentence: "file:line:column: unknown key 'hostz' in a rule: did you mean 'hosts'?"
struct ConfigError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace warder
