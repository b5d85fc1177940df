// What a path pattern matches, what it refuses to be, and that no path makes it slow.
#include "policy/path_pattern.hpp"

#include <chrono>
#include <random>
#include <regex>

#include "policy/path_forms.hpp"
#include "tests/policy/rules.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace warder::test;

namespace {
std::string fault(std::string_view text) {
  const auto parsed = PathPattern::parse(text);
  const auto* sentence = std::get_if<std::string>(&parsed);
  return sentence == nullptr ? "taken" : *sentence;
}
}  // namespace

TEST_CASE("paths as sent") {
  struct Row {
    const char* pattern;
    std::vector<const char*> yes;
    std::vector<const char*> no;
  };
  const Row table[] = {
      {"/**", {"/", "/a", "/a/b", "/a%2Fb", "*"}, {}},
      {"/", {"/"}, {"/a", "//", ""}},
      {"/a", {"/a"}, {"/a/", "/A", "/ab", "/%61", "/", "//a"}},
      {"/a/**", {"/a", "/a/", "/a/b", "/a/b/c", "/a/%2F"}, {"/ab", "/b", "/", "/A/b"}},
      {"/a/*", {"/a/b", "/a/", "/a/b%20c"}, {"/a", "/a/b/c", "/a/b%2Fc", "/a/b%2fc", "/a/b/"}},
      {"/repos/*/*/keys/**",
       {"/repos/a/b/keys", "/repos/a/b/keys/1/2"},
       {"/repos/a/keys", "/repos/a/b/c/keys", "/repos/a/b/keysx"}},
      {"/*.json", {"/x.json", "/.json"}, {"/x.jso", "/a/x.json", "/x.jsonx"}},
      {"/a*b*c", {"/abc", "/axbxc", "/abbcc"}, {"/ab", "/acb", "/a/bc"}},
      {"/**/x", {"//x", "/a/x", "/a/b/x", "/x/x"}, {"/x", "/a/y"}},
      {"/a**z", {"/az", "/a/b/z", "/a%2Fz"}, {"/a", "/za"}},
      {"/@acme%2Fpkg", {"/@acme%2Fpkg", "/@acme%2fpkg"}, {"/@acme/pkg", "/%40acme%2Fpkg"}},
      {"/@acme%2fp*", {"/@acme%2Fpkg", "/@acme%2fp"}, {"/@acme%2Fp%2Fq"}},
      {"/%2A", {"/%2A", "/%2a"}, {"/x", "/*"}},
  };
  for (const Row& row : table) {
    const PathPattern pattern = path_pattern(row.pattern);
    for (const char* path : row.yes) {
      CAPTURE(row.pattern, path);
      CHECK(pattern.matches(path));
      CHECK(pattern.matches_any_form(path));
    }
    for (const char* path : row.no) {
      CAPTURE(row.pattern, path);
      CHECK_FALSE(pattern.matches(path));
    }
  }
}

TEST_CASE("a deny reads the path in every form") {
  const auto denies = [](const char* pattern, const char* path) {
    return path_pattern(pattern).matches_any_form(path);
  };
  CHECK(denies("/a/*", "/a/b%2Fc"));    // one segment to a router that decodes late
  CHECK(denies("/a/b/*", "/a/b%2Fc"));  // two to one that decodes early
  CHECK(denies("/a%20b", "/a%20%62"));
  CHECK(denies("/x/**", "/%78"));
  CHECK(denies("/x", "/x/"));
  CHECK(denies("/x", "/y/../x"));
  CHECK(denies("/%2A", "/%2a"));
  CHECK_FALSE(denies("/%2A", "/x"));
  CHECK_FALSE(denies("/x", "/xy"));
  CHECK_FALSE(denies("/x", "/y/x"));
  CHECK_FALSE(denies("/x/y", "/x"));
}

TEST_CASE("path patterns that could never match say the correction") {
  const std::pair<std::string, std::string> table[] = {
      {"", R"("" is no path: write "/**" for every path)"},
      {"*", R"("*" does not begin with a slash: write "/**")"},
      {"repos/*", R"("repos/*" does not begin with a slash: write "/repos/*")"},
      {"https://api.test/v1",
       R"("https://api.test/v1" has a scheme and a host, which belong in hosts: write "/v1")"},
      {"/a?b=1",
       R"("/a?b=1" has a query or fragment, which paths are matched without: write "/a")"},
      {"/a b", R"("/a b" has characters that a path holds only percent-encoded: write "/a%20b")"},
      {"/ü", "\"/ü\" has characters that a path holds only percent-encoded: write \"/%C3%BC\""},
      {"/users/{id}/keys",
       R"("/users/{id}/keys" has braces, which mean nothing here: write "/users/*/keys")"},
      {"/a/***",
       R"("/a/***" has three stars in a row: "*" is within a segment, "**" across segments)"},
      {"/%41dmin", R"("/%41dmin" escapes characters that need none: write "/Admin")"},
      {"/a/../b",
       R"("/a/../b" has a dot segment, a backslash, %00 or a broken escape: such requests are refused before any rule is asked, so write the path without it)"},
  };
  for (const auto& [text, sentence] : table) CHECK(fault(text) == sentence);
  for (const char* text : {"/a/%2e%2e/b", "/a\\b", "/a%5Cb", "/a%00", "/a%", "/a%4", "/a%zz",
                           "/a#b", "/a\tb", "/./a", "/a*%", "/}", "/{"}) {
    CAPTURE(text);
    CHECK(fault(text) != "taken");
  }
  CHECK(fault("/" + std::string(2000, 'a')) != "taken");
  CHECK(fault("/" + std::string(1023, '*')) != "taken");
  CHECK(fault("/" + std::string(1023, 'a')) == "taken");
}

TEST_CASE("a matcher of all states agrees with a regular expression") {
  std::mt19937 random(20261129);
  const auto pick = [&](const std::vector<std::string>& from) {
    return from[random() % from.size()];
  };
  const auto text = [&](const std::vector<std::string>& from) {
    std::string out = "/";
    for (auto n = random() % 7; n > 0; --n) out += pick(from);
    return out;
  };
  int matched = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string pattern = text({"a", "b", "/", "*", "**", "ab"});
    if (fault(pattern) != "taken") continue;
    std::string regex;
    std::string_view rest = pattern;
    const bool trailing = pattern.ends_with("/**");
    if (trailing) rest.remove_suffix(3);
    while (!rest.empty()) {
      const bool across = rest.starts_with("**");
      regex += across ? ".*" : rest[0] == '*' ? "[^/]*" : std::string(1, rest[0]);
      rest.remove_prefix(across ? 2 : 1);
    }
    if (trailing) regex += "(/.*)?";
    const std::regex expected(regex);
    const PathPattern compiled = path_pattern(pattern);
    for (int k = 0; k < 8; ++k) {
      const std::string path = text({"a", "b", "/", "ab", "ba"});
      CAPTURE(pattern, path, regex);
      const bool matches = compiled.matches(path);
      matched += matches ? 1 : 0;
      REQUIRE(matches == std::regex_match(path, expected));
    }
  }
  CHECK(matched > 500);
}

TEST_CASE("no path makes the matcher slow") {
  std::string pattern = "/";
  while (pattern.size() < 1000) pattern += "**a*a";
  const PathPattern hostile = path_pattern(pattern + "b");
  const std::string path = "/" + std::string(8190, 'a');
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(hostile.matches(path));
  CHECK_FALSE(hostile.matches_any_form(path));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("the forms of a path") {
  CHECK(decode_escapes("/%41%2f%zz%4", EscapedSlash::slash) == "/A/%zz%4");
  CHECK(decode_escapes("/a%2Fb", EscapedSlash::letter) ==
        "/a\x01"
        "b");
  CHECK(decode_escapes("/%2541", EscapedSlash::slash) == "/%41");
  CHECK(with_upper_escapes("/%2f%c3/ff%f") == "/%2F%C3/ff%f");
  CHECK(collapse_slashes("//a///b/") == "/a/b/");
  CHECK(cut_parameters("/a;x=1/b;y") == "/a/b");
  CHECK(resolve_dots("/a/./b/../c") == "/a/c");
  CHECK(resolve_dots("/../../a") == "/a");
  CHECK(resolve_dots("/a/..") == "/");
  CHECK(resolve_dots("") == "/");
}
