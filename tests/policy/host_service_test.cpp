// The reserved name of the gateway's own machine: which rules open it, and which never do.
#include "policy/host_service.hpp"

#include "policy/policy.hpp"
#include "policy/suggest.hpp"
#include "tests/policy/rules.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

const HostName kHost = HostName::parse(kHostServiceName).value();
const std::string kName(kHostServiceName);

bool opens(const Policy& asked, std::uint16_t port) {
  const bool raw = asked.authorize_connection({Scheme::tcp, kHost, port}).allows();
  const bool clear = asked.authorize_connection({Scheme::http, kHost, port}).allows();
  const bool request = asked.authorize({{Scheme::http, kHost, port}, "GET", "/"}).allows();
  CHECK(clear == request);
  return raw || clear;
}

}  // namespace

TEST_CASE("a rule with its exact name and a port opens that port") {
  const Policy raw = policy({{"db", Action::tcp, {kName}, {5432}}});
  CHECK(opens(raw, 5432));
  CHECK_FALSE(opens(raw, 5433));
  CHECK_FALSE(opens(raw, 80));
  CHECK(raw.authorize_name(kHost).allows());
  CHECK(raw.authorize_raw(kHost, 5432)->allows());

  const Policy inspected = policy({{"web", Action::allow, {"HOST.Warder.Internal."}, {8080}}});
  CHECK(opens(inspected, 8080));
  CHECK_FALSE(opens(inspected, 443));
}

TEST_CASE("attack: a wildcard, or a rule without ports, does not open it") {
  for (const std::string host :
       {"*.warder.internal", "**.warder.internal", "**.internal", "**.host.warder.internal"}) {
    CAPTURE(host);
    const Policy raw = policy({{"all", Action::tcp, {host}, {5432}}});
    CHECK_FALSE(opens(raw, 5432));
    CHECK_FALSE(raw.authorize_name(kHost).allows());
    CHECK_FALSE(opens(policy({{"all", Action::allow, {host}, {80, 443, 8080}}}), 8080));
    CHECK_FALSE(host_pattern(host).matches(kHost));
  }
  CHECK(host_pattern("*.warder.internal").matches(HostName::parse("x.warder.internal").value()));
  const Policy portless = policy({{"web", Action::allow, {kName}}});
  CHECK_FALSE(opens(portless, 80));
  CHECK_FALSE(portless.authorize_name(kHost).allows());
}

TEST_CASE("a wildcard beside the exact name neither opens more nor shuts it") {
  const Policy both = policy(
      {{"all", Action::allow, {"**.internal"}, {8080}}, {"db", Action::tcp, {kName}, {5432}}});
  CHECK(opens(both, 5432));
  CHECK_FALSE(opens(both, 8080));
}

TEST_CASE("a deny means it by a wildcard too") {
  for (const std::string host : {"**.internal", "*.warder.internal", "**.host.warder.internal"}) {
    CAPTURE(host);
    const Policy shut =
        policy({{"db", Action::tcp, {kName}, {5432}}, {"no", Action::deny, {host}}});
    CHECK_FALSE(opens(shut, 5432));
    CHECK_FALSE(shut.authorize_name(kHost).allows());
  }
  const Policy below = policy(
      {{"db", Action::tcp, {kName}, {5432}}, {"no", Action::deny, {"*.host.warder.internal"}}});
  CHECK(opens(below, 5432));
}

TEST_CASE("what would open it is said with a port") {
  CHECK(suggest_host({Scheme::tcp, kHost, 5432}) == "--allow host.warder.internal:5432");
  CHECK(suggest_host({Scheme::https, kHost, 443}) == "--allow host.warder.internal:PORT");
  CHECK(suggest_host({Scheme::http, kHost, 8080}) == "--allow host.warder.internal:8080");
}

TEST_CASE("a rule that names it without ports is at fault") {
  CHECK(host_service_fault(rule({"web", Action::allow, {kName}})).find("ports: [5432]") !=
        std::string::npos);
  CHECK(host_service_fault(rule({"web", Action::allow, {kName}, {80}})).empty());
  CHECK(host_service_fault(rule({"no", Action::deny, {kName}})).empty());
  CHECK(host_service_fault(rule({"web", Action::allow, {"api.test"}})).empty());
}
