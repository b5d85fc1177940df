#include "sandbox-launcher/gitconfig.hpp"

#include "tests/support/catch.hpp"

namespace warder::test {
namespace {

constexpr const char* kSafe = "[safe]\n\tdirectory = *\n";

TEST_CASE("the person is read as git reads it") {
  const auto name_of = [](const std::string& line) {
    return sanitised_gitconfig("[user]\n" + line + "\n");
  };
  const auto named = [](const std::string& quoted) {
    return "[user]\n\tname = " + quoted + "\n" + kSafe;
  };
  CHECK(name_of("name = Ada Lovelace  # a comment") == named("\"Ada Lovelace\""));
  CHECK(name_of("\tNAME=\"Ada ; # Lovelace \"") == named("\"Ada ; # Lovelace \""));
  CHECK(name_of("name = Ada \\\"the first\\\" L") == named("\"Ada \\\"the first\\\" L\""));
  CHECK(name_of("name = a\\\\b") == named("\"a\\\\b\""));
  CHECK(name_of("name = ") == kSafe);
  CHECK(name_of("name") == kSafe);
  CHECK(sanitised_gitconfig("[ User ] name = Ada\r\n") == named("\"Ada\""));
}

TEST_CASE("nothing but the person passes") {
  CHECK(sanitised_gitconfig("") == kSafe);
  CHECK(sanitised_gitconfig("name = Ada\n[user \"x\"]\nname = Ada\n[core]\nname = Ada\n[user") ==
        kSafe);
  CHECK(
      sanitised_gitconfig("[user]\nname = Ada\n[credential]\nhelper = !cat /secret\nemail = x\n") ==
      std::string("[user]\n\tname = \"Ada\"\n") + kSafe);
}

TEST_CASE("a value cannot start a section of its own") {
  const std::string config =
      sanitised_gitconfig("[user]\nname = \"Ada\\n[core]\\nsshCommand = x\x01\x7f\"\n");
  CHECK(config == std::string("[user]\n\tname = \"Ada[core]sshCommand = x\"\n") + kSafe);
}

}  // namespace
}  // namespace warder::test
