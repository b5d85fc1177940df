// Observe mode: what passes though no rule allows it, and what never does.
#include "proxy/observe.hpp"

#include "proxy/judge.hpp"
#include "tests/policy/rules.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

const Policy& rules() {
  static const Policy kPolicy =
      policy({{"no-admin", Action::deny, {"api.test"}, {}, {}, {"/admin/**"}},
              {"no-bad", Action::deny, {"**.bad.test"}},
              {"api", Action::allow, {"api.test"}, {}, {"GET"}, {"/v1/**"}, true},
              {"db", Action::tcp, {"db.test"}, {5432}},
              {"pinned", Action::tunnel, {"pin.test"}, {443}},
              {"careful", Action::ask, {"ask.test"}}});
  return kPolicy;
}

Verdict asked(const std::string& origin, const std::string& method, const std::string& path) {
  Judgement judged;
  judged.authority = authority(origin);
  judged.target.path = path;
  if (path == "*") judged.target.form = Target::Form::asterisk;
  judged.verdict = rules().authorize({*judged.authority, method, path});
  observe(judged, method, rules());
  return judged.verdict;
}

Verdict connected(Scheme scheme, const char* host, std::uint16_t port) {
  return observed_connection(rules(), {scheme, HostName::parse(host).value(), port});
}

}  // namespace

TEST_CASE(
    "observe: what no rule allows passes, with the reason why it would not, and no private "
    "address") {
  const Verdict host = asked("https://other.test", "GET", "/");
  CHECK(host.allows());
  CHECK(is_observed(host));
  CHECK(host.reason == Reason::host_not_allowed);
  CHECK_FALSE(host.allow_private);
  CHECK(host.handling == Handling::inspect);
  CHECK(asked("https://api.test", "DELETE", "/v1/x").reason == Reason::method_not_allowed);
  CHECK(is_observed(asked("https://api.test", "GET", "/v2")));
  CHECK(is_observed(asked("https://api.test:8443", "GET", "/v1/x")));
  CHECK_FALSE(asked("https://api.test", "GET", "/v2").allow_private);
  CHECK(is_observed(connected(Scheme::https, "other.test", 443)));
  CHECK(is_observed(connected(Scheme::http, "93.184.216.34", 8080)));
  CHECK(is_observed(observed_name(rules(), HostName::parse("other.test").value())));
}

TEST_CASE("observe: what a rule decides stays as it is") {
  const Verdict allowed = asked("https://api.test", "GET", "/v1/x");
  CHECK(allowed.rule == "api");
  CHECK_FALSE(is_observed(allowed));
  CHECK(asked("https://ask.test", "GET", "/").decision == Decision::ask);
  CHECK_FALSE(is_observed(connected(Scheme::https, "api.test", 443)));
}

TEST_CASE("observe: attack: denies, raw ports and what no rule could allow do not pass") {
  for (const char* path : {"/admin", "/admin/x", "/%61dmin/x", "//admin/x", "/admin;a=b/x"}) {
    CAPTURE(path);
    CHECK_FALSE(asked("https://api.test", "GET", path).allows());
  }
  CHECK_FALSE(asked("https://x.bad.test", "GET", "/").allows());
  CHECK_FALSE(connected(Scheme::https, "bad.test", 443).allows());
  CHECK_FALSE(connected(Scheme::http, "x.bad.test", 8080).allows());
  CHECK_FALSE(observed_name(rules(), HostName::parse("x.bad.test").value()).allows());
  for (const char* method : {"TRACE", "trace", "CONNECT", "Connect"})
    CHECK_FALSE(asked("https://other.test", method, "/").allows());
  CHECK_FALSE(asked("https://other.test", "OPTIONS", "*").allows());
  CHECK_FALSE(connected(Scheme::tcp, "other.test", 22).allows());
  CHECK_FALSE(connected(Scheme::https, "db.test", 5432).allows());
  CHECK_FALSE(connected(Scheme::https, "pin.test", 443).allows());
  CHECK_FALSE(connected(Scheme::https, "other.test", 80).allows());
  CHECK_FALSE(connected(Scheme::http, "other.test", 443).allows());
}

TEST_CASE("observe: attack: a refusal for any other reason is none for want of a rule") {
  for (const Reason reason :
       {Reason::malformed_request, Reason::authority_mismatch, Reason::quarantined,
        Reason::session_ended, Reason::address_not_allowed, Reason::internal}) {
    Judgement judged;
    judged.authority = authority("https://other.test");
    judged.target.path = "/";
    judged.verdict.reason = reason;
    observe(judged, "GET", rules());
    CHECK_FALSE(judged.verdict.allows());
  }
  Judgement nobody;
  nobody.target.path = "/";
  observe(nobody, "GET", rules());
  CHECK_FALSE(nobody.verdict.allows());
}
