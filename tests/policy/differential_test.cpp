// The compiled policy and the naive one say the same, word by word.
#include <random>

#include "tests/policy/naive_policy.hpp"
#include "tests/policy/random_policy.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"

using namespace warder;
using namespace warder::test;

namespace {

constexpr int kDecisions = warder::test::kSanitized ? 100'000 : 2'000'000;

std::string shown(const RandomPolicy::Request& request) {
  std::string out = request.method + ' ' + std::string(to_string(request.authority.scheme)) +
                    "://" + request.authority.host_port() + request.path + '?' + request.query;
  for (const HeaderField& field : request.fields) out += ' ' + field.name + ": " + field.value;
  return out;
}

struct Tally {
  int allowed = 0;
  int denied = 0;   // by a rule
  int refused = 0;  // because none allows it
  void add(const Verdict& verdict) {
    ++(verdict.decision != Decision::deny ? allowed : verdict.rule.empty() ? refused : denied);
  }
};

}  // namespace

TEST_CASE("a compiled policy decides as its rules one by one would") {
  std::mt19937 random(20'260'101);
  RandomPolicy source([&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); });
  Tally tally;
  std::set<Reason> reasons;
  int decisions = 0;
  for (int round = 0; decisions < kDecisions; ++round) {
    const std::uint32_t many = round % 40 == 0 ? 300 : round % 4 == 0 ? 40 : 8;
    const std::vector<Rule> rules = source.rules(1 + static_cast<std::uint32_t>(random() % many));
    const Policy policy("p", rules);
    const NaivePolicy naive(rules);
    for (int i = 0; i < 500; ++i) {
      const RandomPolicy::Request request = source.request();
      const Authority& to = request.authority;
      const Verdict verdict = policy.authorize(request.facts());
      const bool same =
          verdict == naive.authorize(request.facts()) &&
          policy.authorize_connection(to) == naive.authorize_connection(to) &&
          policy.authorize_raw(to.host, to.port) == naive.authorize_raw(to.host, to.port) &&
          policy.authorize_name(to.host) == naive.authorize_name(to.host);
      decisions += 4;
      tally.add(verdict);
      reasons.insert(verdict.reason);
      if (same) continue;
      CAPTURE(round, i, shown(request), verdict.rule, naive.authorize(request.facts()).rule,
              to_string(verdict.reason), to_string(naive.authorize(request.facts()).reason));
      REQUIRE(same);
    }
  }
  CAPTURE(tally.allowed, tally.denied, tally.refused);
  // Else it would compare nothing with nothing.
  for (const int count : {tally.allowed, tally.denied, tally.refused})
    CHECK(count > decisions / 4 / 20);
  for (const Reason reason :
       {Reason::none, Reason::host_not_allowed, Reason::port_not_allowed,
        Reason::method_not_allowed, Reason::path_not_allowed, Reason::query_not_allowed,
        Reason::header_not_allowed, Reason::too_large})
    CHECK(reasons.contains(reason));
}
