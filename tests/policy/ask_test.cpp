#include "policy/ask.hpp"

#include "policy/policy.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

Rule rule(const std::string& host, Action action, std::vector<std::uint16_t> ports = {}) {
  Rule made;
  made.name = host + "-" + std::string(to_string(action));
  made.hosts = {std::get<HostPattern>(HostPattern::parse(host))};
  made.ports = std::move(ports);
  made.action = action;
  return made;
}

Authority authority(const std::string& host, std::uint16_t port = 443) {
  return {Scheme::https, *HostName::parse(host), port};
}

}  // namespace

TEST_CASE("what only an ask rule reaches is not dialled before somebody was asked") {
  const std::vector<Rule> rules{
      rule("asked.test", Action::ask),  rule("both.test", Action::ask),
      rule("both.test", Action::allow), rule("*.wild.test", Action::ask),
      rule("port.test", Action::ask),   rule("port.test", Action::allow, {8443}),
      rule("asked.test", Action::deny)};
  CHECK_FALSE(may_dial_unasked(rules, authority("asked.test")));
  CHECK(may_dial_unasked(rules, authority("both.test")));
  CHECK_FALSE(may_dial_unasked(rules, authority("x.wild.test")));
  CHECK_FALSE(may_dial_unasked(rules, authority("port.test")));
  CHECK(may_dial_unasked(rules, authority("port.test", 8443)));
  CHECK(may_dial_unasked({rule("a.test", Action::allow)}, authority("a.test")));
}

TEST_CASE("a deny stands before an ask, wherever it is written") {
  const Policy policy("p", {rule("a.test", Action::ask), rule("a.test", Action::deny)});
  CHECK(policy.authorize({authority("a.test"), "GET", "/"}).decision == Decision::deny);
  CHECK_FALSE(policy.authorize_connection(authority("a.test")).allows());
}
