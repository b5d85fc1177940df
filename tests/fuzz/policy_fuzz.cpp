// Invariant: a compiled policy decides as its rules one by one would, whatever the rules, the request
// and the bytes in its path, query and fields.
#include <cstdint>
#include <cstdlib>

#include "http/target.hpp"
#include "policy/conflict.hpp"
#include "tests/policy/naive_policy.hpp"
#include "tests/policy/random_policy.hpp"

namespace {

using namespace warder;
using namespace warder::test;

// Numbers out of the input; zeros behind its end.
class Draws {
 public:
  Draws(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}
  std::uint32_t below(std::uint32_t n) { return next() % n; }
  std::string text(std::size_t most) {
    std::string out;
    for (std::size_t n = next() % (most + 1); n > 0; --n) out += static_cast<char>(next());
    return out;
  }

 private:
  std::uint8_t next() {
    if (bytes_.empty()) return 0;
    const std::uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  std::span<const std::uint8_t> bytes_;
};

void expect(bool held) {
  if (!held) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Draws draws(data, size);
  RandomPolicy source([&](std::uint32_t n) { return draws.below(n); });
  RandomPolicy::Request request = source.request();
  if (draws.below(2) == 1) request.path += draws.text(30);
  if (draws.below(2) == 1) request.query += draws.text(30);
  if (draws.below(2) == 1) request.fields.add("x-mode", draws.text(20));
  const std::vector<Rule> rules = source.rules(1 + draws.below(20));
  const Policy policy("p", rules);
  const NaivePolicy naive(rules);
  const Authority& to = request.authority;
  expect(policy.authorize(request.facts()) == naive.authorize(request.facts()));
  expect(policy.authorize_connection(to) == naive.authorize_connection(to));
  expect(policy.authorize_raw(to.host, to.port) == naive.authorize_raw(to.host, to.port));
  expect(policy.authorize_name(to.host) == naive.authorize_name(to.host));
  (void)first_contradiction(rules);
  return 0;
}
