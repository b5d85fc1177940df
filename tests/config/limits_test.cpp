// A policy's `limits`, as they are read and written. What is wrong with them stands in bad_config_test.cpp.
#include "config/load.hpp"
#include "config/summary.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

constexpr const char* kAll =
    R"(version: 1
policies:
  p:
    limits: {requests_per_minute: 600, requests: 100000, connections_per_minute: 60, connections: 256, )"
    R"(upload_per_minute: 100MiB, upload: 1GiB, download_per_minute: 1025B, )"
    R"(download: 1024GiB, concurrent: 100, request_body: 64KiB, lifetime: 90m}
    rules:
      - {name: r, hosts: [api.test], action: allow}
)";

Limits limits_of(const std::string& text) {
  const std::string yaml = "version: 1\npolicies: {p: {limits: " + text + "}}\n";
  return parse_config(yaml, "w.yaml").policies.at(0).limits;
}

}  // namespace

TEST_CASE("every limit has its value in its own unit", "[limits]") {
  const Limits limits = parse_config(kAll, "w.yaml").policies.at(0).limits;
  CHECK(limits.find(Limit::requests_per_minute) == 600);
  CHECK(limits.find(Limit::requests) == 100'000);
  CHECK(limits.find(Limit::connections_per_minute) == 60);
  CHECK(limits.find(Limit::connections) == 256);
  CHECK(limits.find(Limit::upload_per_minute) == 100ULL << 20);
  CHECK(limits.find(Limit::upload) == 1ULL << 30);
  CHECK(limits.find(Limit::download_per_minute) == 1'025);
  CHECK(limits.find(Limit::download) == 1ULL << 40);
  CHECK(limits.find(Limit::concurrent) == 100);
  CHECK(limits.find(Limit::request_body) == 65'536);
  CHECK(limits.find(Limit::lifetime) == 5'400'000);
}

TEST_CASE("a limit that is not given is none", "[limits]") {
  CHECK(limits_of("{}").empty());
  const Limits one = limits_of("{requests: 1}");
  CHECK_FALSE(one.empty());
  for (std::size_t i = 0; i < kLimits; ++i) {
    const auto limit = static_cast<Limit>(i);
    CHECK(one.find(limit).has_value() == (limit == Limit::requests));
  }
}

TEST_CASE("limits are written as they are read", "[limits]") {
  const Config config = parse_config(kAll, "w.yaml");
  const std::string yaml = to_yaml(config, "p");
  CHECK(yaml.find("upload_per_minute: 100MiB, upload: 1GiB") != std::string::npos);
  const Config again = parse_config(yaml, "w.yaml");
  CHECK(again.policies.at(0).limits == config.policies.at(0).limits);
  CHECK(to_yaml(again, "p") == yaml);
  CHECK(to_yaml(parse_config("version: 1\npolicies: {p: {limits: {lifetime: 8h}}}\n", "w.yaml"),
                "p") == "version: 1\npolicies:\n  p:\n    limits: {lifetime: 8h}\n");
}

TEST_CASE("the summary for a person names them", "[limits]") {
  CHECK(summary(parse_config(kAll, "w.yaml"))
            .find("  limits of each sandbox: requests_per_minute 600, "
                  "requests 100000, ") != std::string::npos);
  CHECK(
      summary(parse_config("version: 1\npolicies: {p: {rules: []}}\n", "w.yaml")).find("limits") ==
      std::string::npos);
}
