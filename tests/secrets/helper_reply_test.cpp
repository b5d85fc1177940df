#include "secrets/helper_reply.hpp"

#include "tests/support/catch.hpp"

using namespace warder;

namespace {

std::string answer(HelperFormat format, std::string_view text) {
  const auto found = helper_value(format, text);
  if (const auto* problem = std::get_if<std::string>(&found)) return "problem: " + *problem;
  return std::string(as_view(std::get<WipedBytes>(found)));
}
constexpr auto kGit = HelperFormat::git_credential;
constexpr auto kDocker = HelperFormat::docker_credential;

}  // namespace

TEST_CASE("helpers are asked as git and docker ask them") {
  CHECK(helper_question(kGit, "github.com") == "protocol=https\nhost=github.com\n\n");
  CHECK(helper_question(kDocker, "https://index.docker.io/v1/") == "https://index.docker.io/v1/\n");
  CHECK(helper_question(HelperFormat::plain, "").empty());
}

TEST_CASE("a plain helper prints the value and at most one line break") {
  CHECK(answer(HelperFormat::plain, "abcdefgh\n") == "abcdefgh");
  CHECK(answer(HelperFormat::plain, "abcdefgh\r\n") == "abcdefgh");
  CHECK(answer(HelperFormat::plain, "abcdefgh\n\n") == "abcdefgh\n");
  CHECK(answer(HelperFormat::plain, "").empty());
}

TEST_CASE("git's helpers answer with lines") {
  CHECK(answer(kGit, "protocol=https\nhost=h\nusername=u\npassword=s3cret=x\n\n") == "s3cret=x");
  CHECK(answer(kGit, "username=u\r\npassword=s3cret\r\n") == "s3cret");
  CHECK(answer(kGit, "password=s3cret") == "s3cret");
  CHECK(answer(kGit, "password=a\npassword=b\n") == "b");
  CHECK(answer(kGit, "password=a\n\npassword=b\n") == "a");
  CHECK(answer(kGit, "password=\n").empty());
  for (const char* none : {"", "\n", "username=u\n", "xpassword=a\n", "Password=a\n", "quit=1\n"}) {
    CHECK(answer(kGit, none) == "problem: knows no password for this host");
  }
}

TEST_CASE("docker's helpers answer with JSON") {
  CHECK(answer(kDocker, R"({"ServerURL":"s","Username":"u","Secret":"s3cret"})") == "s3cret");
  CHECK(answer(kDocker, "{\"Secret\":\"a\\\"b\\u00e9\"}\n") == "a\"b\u00e9");
  for (const char* bad : {"credentials not found in native keychain\n", "{", "", "{}{}", "nul"}) {
    CHECK(answer(kDocker, bad) == "problem: did not answer with JSON");
  }
  for (const char* other : {"{}", "[]", "null", R"({"Secret":1})", R"({"secret":"a"})"}) {
    CHECK(answer(kDocker, other) == "problem: answered without a \"Secret\"");
  }
}

TEST_CASE("an answer that grows without end is refused, whatever its form") {
  const std::string much(65 * 1024, 'x');
  for (const auto format : {HelperFormat::plain, kGit, kDocker})
    CHECK(answer(format, much).starts_with("problem: "));
  std::string deep;
  for (int i = 0; i < 30'000; ++i) deep += "[";
  CHECK(answer(kDocker, deep).starts_with("problem: "));
  std::string wide = "[";
  for (int i = 0; i < 30'000; ++i) wide += "1,";
  CHECK(answer(kDocker, wide + "1]").starts_with("problem: "));
}
