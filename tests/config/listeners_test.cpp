// gateway.listeners: what is read, and what is refused with a correction.
#include "config/load.hpp"
#include "tests/support/catch.hpp"

namespace warder {
namespace {

Config with_listeners(const std::string& listeners) {
  return parse_config(
      "version: 1\npolicies:\n  p: {rules: [{hosts: [a.test], action: allow}]}\ngateway:\n"
      "  listeners: " +
          listeners + "\n",
      "/etc/warder/w.yaml");
}

// Are these listeners refused with a sentence that has `words`?
bool says(const std::string& listeners, const std::string& words) {
  try {
    (void)with_listeners(listeners);
  } catch (const ConfigError& error) {
    INFO(error.what());
    return std::string(error.what()).find(words) != std::string::npos;
  }
  return false;
}

TEST_CASE("A listener has a kind, an address, a policy and a token") {
  const Config config = with_listeners(
      "[{type: connect, address: \"127.0.0.1:3128\", policy: p, token: none}, "
      "{name: s, type: socks5, address: \"[::1]:1080\", policy: p, token: {file: t}, "
      "tls: {name: gw.test}}]");
  REQUIRE(config.gateway.listeners.size() == 2);
  const ListenerConfig& first = config.gateway.listeners[0];
  CHECK(first.name == "connect-1");
  CHECK(first.kind == ListenerConfig::Kind::connect);
  CHECK(first.port == 3128);
  CHECK_FALSE(first.token);
  CHECK_FALSE(first.tls);
  const ListenerConfig& second = config.gateway.listeners[1];
  CHECK(second.name == "s");
  CHECK(second.host.str() == "::1");
  REQUIRE(second.token);
  CHECK(second.token->file == "/etc/warder/t");
  REQUIRE(second.tls);
  CHECK(second.tls->name->str() == "gw.test");
}

TEST_CASE("What a listener must not be is refused with the correction") {
  const std::string good = "type: connect, address: \"127.0.0.1:1\", policy: p";
  CHECK(says("[{" + good + "}]", "token"));
  CHECK(says("[{" + good + ", token: s3cret}]", "never the value itself"));
  CHECK_FALSE(says("[{" + good + ", token: s3cret}]", "s3cret"));
  CHECK(says("[{type: connect, address: \"0.0.0.0:1\", policy: p, token: none}]",
             "others can reach"));
  CHECK(says("[{type: connect, address: \"h.test:1\", policy: p, token: none}]",
             "not an address and port"));
  CHECK(says("[{type: connect, address: \"127.1:1\", policy: p, token: none}]",
             "not an address and port"));
  CHECK(says("[{" + good + ", token: none}, {" + good + ", token: none}]", "the same address"));
  CHECK(says("[{" + good + ", token: none, tls: {name: a.test, key: k}}]", "tls"));
  CHECK(says("[{" + good + ", token: none, name: \"a b\"}]", "listener name"));
  CHECK(says("[]", "listeners"));
  CHECK(says("[{type: http, address: \"127.0.0.1:1\", policy: p, token: none}]",
             "unknown listener type"));
}

}  // namespace
}  // namespace warder
