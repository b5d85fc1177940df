#include "secrets/template.hpp"

#include <regex>

#include "secrets/placeholder.hpp"
#include "tests/secrets/seeded_random.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using warder::test::SeededRandom;

namespace {

std::string made(const std::string& form, const std::string& value, std::uint64_t seed = 1) {
  SeededRandom random(seed);
  const Template parsed(form);
  return parsed.fill(parsed.counts_for(value, Template::Match::exact), random);
}

std::string problem(const std::string& form) {
  try {
    const Template parsed(form);
  } catch (const TemplateError& error) {
    return std::to_string(error.at) + ": " + error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("what a template makes is what the same text means as a regular expression") {
  SeededRandom random(1);
  // Written so that both readings agree: a dot in a class or behind a backslash.
  for (const std::string form :
       {"acme_[a-z0-9]{24}", "[A-Za-z0-9]{30,40}", R"(k\.\d{10}-\w{3,30}~x)", "[a-c\\d_.-]{50}",
        "a{3}b{0,2}[xyz]{80,90}", "[-a-f]{40}", "[a-f-]{40}", R"([\w~]{20}[\-]{2}\d{20})",
        "x[0-9]{0,100}y[a-z]{0,100}z"}) {
    CAPTURE(form);
    const std::regex same(form);
    const Template parsed(form);
    for (std::size_t size = 8; size < 160; ++size) {
      const std::string text = made(form, std::string(size, '!'), random.next());
      CAPTURE(size, text);
      CHECK(std::regex_match(text, same));
      CHECK(parsed.match(text, Template::Match::exact));
      CHECK(text.find_first_not_of(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") ==
            std::string::npos);
    }
  }
}

TEST_CASE(
    "a template takes the value's length, else the next by a multiple of 3, else the nearest") {
  const std::string form = "acme_[a-z0-9]{24,64}";  // 25 × 5.17 bits > 128
  for (std::size_t size = 30; size <= 69; ++size) {
    CHECK(made(form, std::string(size, '!')).size() == size);
  }
  CHECK(made(form, std::string(29, '!')).size() == 32);  // 24 × 5.17 < 128
  CHECK(made(form, std::string(8, '!')).size() == 32);
  CHECK(made(form, std::string(9, '!')).size() == 30);
  CHECK(made(form, std::string(10, '!')).size() == 31);
  CHECK(made(form, std::string(200, '!')).size() == 69);
  CHECK(made("acme_[a-z0-9]{28}", std::string(50, '!')).size() == 33);
}

TEST_CASE("a value of the template's form lends it the lengths of its parts") {
  const std::string form = "[a-z]{2,20}_[0-9]{2,20}_[a-z]{20,40}";
  const std::string text = made(form, "abcdefg_123_abcdefghijklmnopqrstuvwxyz");
  CHECK(std::regex_match(text, std::regex("[a-z]{7}_[0-9]{3}_[a-z]{26}")));
  // One item's characters are another's too: any way to divide them will do, but all must be used.
  const Template twice("[ab]{1,50}[abc]{1,100}c[a-c]{40}");
  const std::string value = "abab" + std::string(40, 'c') + "c" + std::string(40, 'a');
  const auto counts = twice.match(value, Template::Match::exact);
  REQUIRE(counts);
  CHECK((*counts)[0] + (*counts)[1] + (*counts)[2] + (*counts)[3] == value.size());
  CHECK_FALSE(twice.match("cabab" + value, Template::Match::exact));
  CHECK_FALSE(twice.match("ab", Template::Match::exact));
}

TEST_CASE("matching stays linear where ranges overlap") {
  std::string form;
  for (int i = 0; i < 40; ++i) form += "[a-z]{0,100}";
  const Template many(form);
  CHECK(many.match(std::string(4000, 'a'), Template::Match::exact));
  CHECK_FALSE(many.match(std::string(3999, 'a') + "!", Template::Match::exact));
}

TEST_CASE("a template that cannot be read says where, and quotes nothing") {
  const std::string plain = "only letters, digits and - . _ ~ can stand in a placeholder";
  CHECK(problem("") == "1: it is empty");
  CHECK(problem("abc def") == "4: " + plain);
  CHECK(problem("abc/def") == "4: " + plain);
  CHECK(problem("a\"") == "2: " + plain);
  CHECK(problem("a\x01") == "2: " + plain);
  CHECK(problem("a\xc3\xa4") == "2: " + plain);
  CHECK(problem("ab]") == "3: " + plain);
  CHECK(problem("ab}") == "3: " + plain);
  CHECK(problem("[a/]{40}") == "3: " + plain);
  CHECK(problem("[[:alpha:]]{40}") == "2: " + plain);
  CHECK(problem("ab[a-z") == "3: the class has no end: a ']' is missing");
  CHECK(problem("ab[") == "3: the class has no end: a ']' is missing");
  CHECK(problem("[]") == "1: the class is empty");
  CHECK(problem("[^a]") == "2: a class cannot be negated: list its characters");
  CHECK(problem("[z-a]") == "2: the range is the wrong way round");
  CHECK(problem("[xA-z]") ==
        "3: a range goes from a digit, lower-case or upper-case letter to another of its kind");
  CHECK(problem("[0-9-z]") == "none");
  CHECK(problem("[a-.]").starts_with("2: a range goes"));
  CHECK(problem("x*") == "2: a repetition without a bound: write a count such as {24} or {8,24}");
  CHECK(problem("x+").starts_with("2: a repetition without a bound"));
  CHECK(problem("x?").starts_with("2: a repetition without a bound"));
  CHECK(problem("(a|b)") == "1: groups and alternatives are not there: write one form");
  CHECK(problem("^a$") == "1: a template is always the whole placeholder: leave anchors out");
  CHECK(problem("{3}") == "1: a count stands behind a character or a class");
  CHECK(problem("a{3}{4}") == "5: a second count");
  for (const char* form :
       {"a{", "a{}", "a{x}", "a{3", "a{3;4}", "a{,4}", "a{-1}", "a{ 3}", "a{3,x}", "a{3,4"}) {
    CAPTURE(form);
    CHECK(problem(form) == "2: a count is written {n} or {n,m}");
  }
  CHECK(problem("a{3,}") == "5: the count has no upper bound: write {n,m}");
  CHECK(problem("a{4,3}") == "2: the count is the wrong way round");
  CHECK(problem("a{0}") == "2: the count is 0");
  CHECK(problem("a{4097}") == "2: a count is at most 4096");
  CHECK(problem("a{99999999999999999999999999}") == "2: a count is at most 4096");
  CHECK(problem("[a-z]{4096}b") == "1: what it makes can be longer than 4096 characters");
  CHECK(problem(std::string(513, 'a')) == "513: it is longer than 512 characters");
  CHECK(problem("a\\") == "2: nothing follows the backslash");
  CHECK(problem("a\\s") == "2: no such escape: known are \\d, \\w and a sign such as \\.");
  CHECK(problem("[\\n]").starts_with("2: no such escape"));
  CHECK(problem("\\/") == "2: " + plain);
}

TEST_CASE("a template holds 128 random bits, or 64 where it says that it is weak") {
  const auto refused = [](const char* form, bool weak) {
    return refuse_template(Template(form), weak).value_or("none");
  };
  CHECK(refused("[0-9a-f]{32}", false) == "none");
  CHECK(refused("[0-9a-f]{31}", false) ==
        "it can hold 124 random bits: give it 128, or write weak: true where its tools take no "
        "longer one");
  CHECK(refused("[0-9a-f]{31}", true) == "none");
  CHECK(refused("[0-9a-f]{16}", true) == "none");
  CHECK(refused("[0-9a-f]{15}", true) ==
        "it can hold 60 random bits, which can be guessed: give it 64 at the least, or 128");
  CHECK(
      refused("acme_literal_token_without_a_class", true).starts_with("it can hold 0 random bits"));
  CHECK(refused("a{4000}", true).starts_with("it can hold 0 random bits"));
  CHECK(refused("[aaaa]{4000}", true).starts_with("it can hold 0 random bits"));
  CHECK(refused("[0-9]{8,39}", false) == "none");  // by its longest
}
