// What a decision costs, by the number of rules: test_policy "[.bench]".
#include <algorithm>
#include <ctime>
#include <functional>
#include <iomanip>
#include <iostream>

#include "tests/policy/rules.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {

struct Shape {
  const char* what;
  std::function<RuleText(int)> rule;
  std::function<Authority(int)> host;
  std::function<std::string(int)> path;
  bool allowed;
};

std::string number(int n) { return std::to_string(n); }

const std::vector<Shape>& shapes() {
  const auto api = [](int) { return authority("https://api.test"); };
  static const std::vector<Shape> kShapes{
      {"distinct hosts",
       [](int n) {
         return RuleText{"r" + number(n), Action::allow, {"h" + number(n) + ".example.test"}};
       },
       [](int n) { return authority("https://h" + number(n) + ".example.test"); },
       [](int) { return "/v1/users/12"; }, true},
      {"distinct hosts, method and path",
       [](int n) {
         return RuleText{
             "r" + number(n), Action::allow,           {"h" + number(n) + ".example.test"}, {},
             {"GET"},         {"/repos/*/*/issues/**"}};
       },
       [](int n) { return authority("https://h" + number(n) + ".example.test"); },
       [](int) { return "/repos/acme/widget/issues/12/comments"; }, true},
      {"wildcard hosts",
       [](int n) {
         return RuleText{"r" + number(n), Action::allow, {"*.z" + number(n) + ".example.test"}};
       },
       [](int n) { return authority("https://a.b.z" + number(n) + ".example.test"); },
       [](int) { return "/v1/users/12"; }, true},
      {"one host, distinct paths",
       [](int n) {
         return RuleText{"r" + number(n), Action::allow,
                         {"api.test"},    {},
                         {"GET"},         {"/repos/acme/w" + number(n) + "/**"}};
       },
       api, [](int n) { return "/repos/acme/w" + number(n) + "/issues/12"; }, true},
      {"one host, a star before distinct paths",
       [](int n) {
         return RuleText{"r" + number(n), Action::allow,
                         {"api.test"},    {},
                         {"GET"},         {"/repos/*/w" + number(n) + "/**"}};
       },
       api, [](int n) { return "/repos/acme/w" + number(n) + "/issues/12"; }, true},
      {"ranges of addresses",
       [](int n) {
         return RuleText{"r" + number(n),
                         Action::allow,
                         {"10." + number(n / 256 % 256) + '.' + number(n % 256) + ".0/24"}};
       },
       [](int n) {
         return authority("https://10." + number(n / 256 % 256) + '.' + number(n % 256) + ".7");
       },
       [](int) { return "/"; }, true},
      {"denies of hosts, and one that allows",
       [](int n) {
         if (n == 0) return RuleText{"all", Action::allow, {"**.example.test"}};
         return RuleText{"r" + number(n), Action::deny, {"h" + number(n) + ".example.test"}};
       },
       [](int n) { return authority("https://good" + number(n) + ".example.test"); },
       [](int) { return "/v1/users/12"; }, true},
      {"denies of paths, and one that allows",
       [](int n) {
         if (n == 0) return RuleText{"all", Action::allow, {"api.test"}};
         return RuleText{
             "r" + number(n), Action::deny, {"api.test"}, {}, {}, {"/admin/w" + number(n) + "/**"}};
       },
       api, [](int n) { return "/user/w" + number(n) + "/issues/12"; }, true},
      {"the same, a path with escapes",
       [](int n) {
         if (n == 0) return RuleText{"all", Action::allow, {"api.test"}};
         return RuleText{
             "r" + number(n), Action::deny, {"api.test"}, {}, {}, {"/admin/w" + number(n) + "/**"}};
       },
       api, [](int n) { return "/user/w%41" + number(n) + "/issues%2F12"; }, true},
      {"refused: a path of a known host",
       [](int n) {
         return RuleText{"r" + number(n), Action::allow,
                         {"api.test"},    {},
                         {"GET"},         {"/repos/acme/w" + number(n) + "/**"}};
       },
       api, [](int n) { return "/other/w" + number(n); }, false},
      {"refused: an unknown host",
       [](int n) {
         return RuleText{"r" + number(n), Action::allow, {"h" + number(n) + ".example.test"}};
       },
       [](int n) { return authority("https://x" + number(n) + ".example.test"); },
       [](int) { return "/v1/users/12"; }, false},
  };
  return kShapes;
}

// Of the processor, because others may have it in between.
double now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// `different` questions in turn, spread over all the rules: with few, what they need is in the
// processor's caches, with many it is not.
double nanoseconds(const Shape& shape, int rules, int different) {
  std::vector<RuleText> texts;
  for (int n = 0; n < rules; ++n) texts.push_back(shape.rule(n));
  const Policy compiled = policy(texts);
  std::vector<Authority> hosts;
  std::vector<std::string> paths;
  for (int i = 0; i < different; ++i) {
    const int n = static_cast<int>(static_cast<long>(i) * 7919 % rules);
    hosts.push_back(shape.host(n));
    paths.push_back(shape.path(n));
  }
  double best = 1e9;
  for (int round = 0; round < 9; ++round) {
    const int repeats = 10'000 / different;
    bool as_expected = true;
    const double begin = now_ns();
    for (int repeat = 0; repeat < repeats; ++repeat) {
      for (std::size_t i = 0; i < hosts.size(); ++i)
        as_expected &= compiled.authorize({hosts[i], "GET", paths[i]}).allows() == shape.allowed;
    }
    best = std::min(best, (now_ns() - begin) / (repeats * different));
    CHECK(as_expected);
  }
  return best;
}

}  // namespace

TEST_CASE("how long a decision takes", "[.bench]") {
  for (const int different : {10, 1000}) {
    std::cout << std::fixed << std::setprecision(0) << std::setw(4) << different << std::setw(38)
              << " questions in turn; ns, rules:";
    for (const int rules : {10, 100, 1000, 10'000}) std::cout << std::setw(8) << rules;
    std::cout << '\n';
    for (const Shape& shape : shapes()) {
      std::cout << std::setw(42) << shape.what;
      for (const int rules : {10, 100, 1000, 10'000})
        std::cout << std::setw(8) << nanoseconds(shape, rules, different) << std::flush;
      std::cout << '\n';
    }
  }
}
