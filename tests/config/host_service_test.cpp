// host.warder.internal in a file and as a flag.
#include "config/load.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

std::string error_of(const RunFlags& flags) {
  Config config;
  try {
    apply_flags(config, "run", flags);
    return "taken";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the flag makes a tcp rule with the port") {
  Config config;
  RunFlags flags;
  flags.allow = {"host.warder.internal:5432"};
  apply_flags(config, "run", flags);
  const Rule& rule = config.policies.at(0).rules.at(0);
  CHECK(rule.action == Action::tcp);
  CHECK(rule.ports == std::vector<std::uint16_t>{5432});
  CHECK(rule.hosts.at(0).str() == "host.warder.internal");
}

TEST_CASE("the flag without a port, for DNS, or with a secret is an error") {
  RunFlags flags;
  flags.allow = {"host.warder.internal"};
  CHECK(holds(error_of(flags), "host.warder.internal:PORT"));
  flags.allow = {"Host.Warder.Internal.:53"};
  CHECK(holds(error_of(flags), "DNS"));
  flags.allow.clear();
  flags.secrets = {"TOKEN@host.warder.internal"};
  CHECK(holds(error_of(flags), "warder.yaml"));
}

TEST_CASE("a rule of a file without ports is an error with its line") {
  const std::string text =
      "version: 1\npolicies:\n  t:\n    rules:\n"
      "      - {name: db, hosts: [host.warder.internal], action: allow}\n";
  try {
    (void)parse_config(text, "warder.yaml");
    FAIL("taken");
  } catch (const ConfigError& error) {
    CHECK(holds(error.what(), "warder.yaml:5"));
    CHECK(holds(error.what(), "ports: [5432]"));
  }
}
