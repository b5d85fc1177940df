// The quick search for contradictions finds what asking each pair would.
#include "policy/conflict.hpp"

#include <random>

#include "tests/policy/random_policy.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

std::optional<Contradiction> one_by_one(const std::vector<Rule>& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::vector<Rule> before(rules.begin(), rules.begin() + static_cast<std::ptrdiff_t>(i));
    std::string sentence = contradiction(rules[i], before);
    if (!sentence.empty()) return Contradiction{i, std::move(sentence)};
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("the first contradiction is the one that pair by pair finds") {
  std::mt19937 random(7);
  RandomPolicy source([&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); });
  int found = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<Rule> rules = source.rules(1 + static_cast<std::uint32_t>(random() % 12));
    const auto naive = one_by_one(rules);
    const auto quick = first_contradiction(rules);
    CAPTURE(round, naive ? naive->sentence : "", quick ? quick->sentence : "");
    REQUIRE(quick.has_value() == naive.has_value());
    if (!naive) continue;
    ++found;
    REQUIRE(quick->rule == naive->rule);
    REQUIRE(quick->sentence == naive->sentence);
  }
  CAPTURE(found);
  CHECK(found > 300);
  CHECK(found < 2700);
}
