#include "secrets/placeholder.hpp"

#include <algorithm>
#include <set>

#include "secrets/secret_value.hpp"
#include "tests/secrets/seeded_random.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using warder::test::kAlnum;
using warder::test::SeededRandom;

TEST_CASE(
    "BR-060: a placeholder keeps the prefix that its tools look for, its length, and nothing "
    "else") {
  SeededRandom random(60);
  const std::string_view prefixes[] = {"ghp_",          "github_pat_", "sk-ant-api03-",
                                       "sk-ant-oat01-", "sk-proj-",    "xoxb-",
                                       "glpat-",        "npm_",        "hf_",
                                       "AIza",          "sk_live_",    "pypi-AgEIcHlwaS5vcmc",
                                       "SG.",           "gsk_",        "sk-"};
  for (const std::string_view prefix : prefixes) {
    CAPTURE(prefix);
    // Only the letter 'a' behind the prefix: whatever else is kept would show.
    const std::string value = std::string(prefix) + std::string(36, 'a');
    for (int i = 0; i < 20; ++i) {
      const std::string placeholder = make_placeholder(value, random);
      CHECK(placeholder.size() == value.size());
      CHECK(placeholder.starts_with(prefix));
      const std::string body = placeholder.substr(prefix.size());
      CHECK(body.find_first_not_of(kAlnum) == std::string::npos);
      CHECK(std::count(body.begin(), body.end(), 'a') < 8);
      CHECK_FALSE(refuse_value(placeholder));
    }
  }
}

TEST_CASE("nothing is kept of a value without a known prefix") {
  SeededRandom random(61);
  for (const char* value :
       {"hunter2-hunter2-hunter2-hunter2", "GHP_aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "xghp_aaaaaaaaaaaaaaaaaaaaaaaaaaa", "s k-aaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    CAPTURE(value);
    const std::string_view text(value);
    std::set<char> first;
    for (int i = 0; i < 200; ++i) first.insert(make_placeholder(text, random)[0]);
    CHECK(first.size() > 40);
  }
}

TEST_CASE(
    "a placeholder holds 128 random bits however short the value is, and stays in its base64 "
    "phase") {
  SeededRandom random(62);
  for (std::size_t size = kMinSecretBytes; size <= 64; ++size) {
    for (const std::string_view prefix : {"", "ghp_", "AKIA"}) {
      CAPTURE(size, prefix);
      const std::string value = std::string(prefix) + std::string(size - prefix.size(), 'b');
      const std::string placeholder = make_placeholder(value, random);
      CHECK(placeholder.size() >= prefix.size() + 22);
      CHECK(placeholder.size() >= value.size());
      CHECK(placeholder.size() % 3 == value.size() % 3);
      if (size >= prefix.size() + 22) CHECK(placeholder.size() == value.size());
    }
  }
  CHECK(make_placeholder(std::string(kMaxSecretBytes, 'k'), random).size() == kMaxSecretBytes);
}

TEST_CASE("two placeholders of one value differ, also with the system's randomness") {
  SystemRandom random;
  std::set<std::string> made;
  for (int i = 0; i < 500; ++i)
    made.insert(make_placeholder("ghp_abcdefghijklmnopqrstuvwxyz0123456789", random));
  CHECK(made.size() == 500);
}

TEST_CASE("a placeholder and a slice of its value never make up the value") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SeededRandom random(seed);
    const std::string value = (seed % 2 ? "ghp_" : "") + random.text(30, "xyghp_");
    const std::string placeholder = make_placeholder(value, random);
    CAPTURE(seed, value, placeholder);
    for (std::size_t n = 1; n < value.size(); ++n) {
      CHECK_FALSE((placeholder + value.substr(n)).find(value) != std::string::npos);
    }
  }
}
