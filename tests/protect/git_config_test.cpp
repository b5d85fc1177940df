// What of a git configuration runs programs, and what of it is a credential.
#include "protect/git_config.hpp"

#include "tests/support/catch.hpp"

namespace warder {
namespace {

std::vector<std::string> names_that_run(std::string_view text) {
  std::vector<std::string> names;
  for (const GitConfigEntry& entry : read_git_config(text)) {
    if (runs_code(entry)) names.push_back(entry.name());
  }
  return names;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TEST_CASE("a git configuration is read as git reads it") {
  const auto entries = read_git_config(
      "\xef\xbb\xbf; comment\n[Core] bare = false # not this\n\tName = \" a \\\"b\\\" \" c  \n"
      "[remote \"My.Origin\"]\n url = one\\\ntwo\r\n[old.style]\nflag\n= broken\n[x]y=1");
  REQUIRE(entries.size() == 5);
  CHECK(entries[0].name() == "core.bare");
  CHECK(entries[0].value == "false");
  CHECK(entries[1].value == " a \"b\"  c");
  CHECK(entries[2].name() == "remote.My.Origin.url");
  CHECK(entries[2].value == "onetwo");
  CHECK(entries[3].name() == "old.style.flag");
  CHECK(entries[4].name() == "x.y");
  CHECK(entries[4].value == "1");
}

TEST_CASE("attack: every way in which a configuration names a program is known") {
  const auto run = [](std::string_view text) { return names_that_run(text).size(); };
  for (const char* each : {"[core]\nfsmonitor = ./x",
                           "[CORE] FsMonitor=./x",
                           "[core]\nhooksPath=.h",
                           "[core]\nsshCommand=x",
                           "[core]\npager=x",
                           "[core]\neditor=x",
                           "[core]\nworktree=/home/me",
                           "[alias]\nst = !x",
                           "[gc]\nrecentObjectsHook=x",
                           "[alias \"a\"]\ncommand = !x",
                           "[filter \"a\"]\nclean=x",
                           "[filter.a]\nsmudge=x",
                           "[diff \"a\"]\ntextconv=x",
                           "[diff]\nexternal=x",
                           "[diff \"a\"]\ncommand=x",
                           "[include]\npath=../x",
                           "[includeIf \"gitdir:/\"]\npath=x",
                           "[credential]\nhelper=!x",
                           "[credential \"https://h\"]\nhelper=x",
                           "[gpg]\nprogram=x",
                           "[gpg \"ssh\"]\nprogram=x",
                           "[merge \"a\"]\ndriver=x",
                           "[pager]\nlog=x",
                           "[remote \"o\"]\nurl = ext::sh -c x",
                           "[url \"ext::sh -c x\"]\ninsteadOf=https://h",
                           "[remote \"o\"]\nuploadpack=x",
                           "[submodule \"m\"]\nupdate=!x",
                           "[sequence]\neditor=x",
                           "[hook \"a\"]\ncommand=x",
                           "[core]\n\n fsmonitor = \\\n ./x",
                           "[core]\n\tfsmonitor = \"./x\" ; harmless"}) {
    INFO(each);
    CHECK(run(each) == 1);
  }
  for (const char* each :
       {"[core]\nfsmonitor = true", "[core]\nfsmonitor", "[core]\nbare=false", "[user]\nname=x",
        "[remote \"o\"]\nurl=https://h/x", "[branch \"m\"]\nremote=o", "# [core]\n# pager=x",
        "[submodule \"m\"]\nupdate=rebase", "[core]\nautocrlf=input # pager = x"}) {
    INFO(each);
    CHECK(run(each) == 0);
  }
}

TEST_CASE("what runs code is taken out, but for what was there before") {
  const std::string text =
      "[core]\n\tbare = false\n\tpager = a\\\n b\n\teditor = vi\n[user]\nname=x\n";
  const auto entries = read_git_config(text);
  const auto harmless = without_code(text, {fingerprint(entries.at(2))});
  REQUIRE(harmless);
  CHECK(names_that_run(*harmless) == std::vector<std::string>{"core.editor"});
  CHECK(holds(*harmless, "bare = false"));
  CHECK(holds(*harmless, "name=x"));
  CHECK_FALSE(without_code("[user]\nname=x\n", {}));
  // Another value under an allowed name is another entry.
  CHECK(without_code("[core]\neditor = evil\n", {fingerprint(entries.at(2))}));
}

TEST_CASE("credentials in a git configuration are replaced, and nothing else") {
  const auto hidden = without_credentials(
      "[remote \"origin\"]\n\turl = https://me:hunter2hunter2@git.example/x.git\n"
      "[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic eDp5\n"
      "[url \"https://u:tiptop@h/\"]\n\tinsteadOf = https://h/\n[github]\n\ttoken = abcdefgh\n");
  REQUIRE(hidden);
  for (const char* value : {"hunter2", "eDp5", "tiptop", "abcdefgh"})
    CHECK_FALSE(holds(*hidden, value));
  CHECK(holds(*hidden, "https://me:hidden-by-warder@git.example/x.git"));
  CHECK(holds(*hidden, "AUTHORIZATION: hidden-by-warder"));
  CHECK(read_git_config(*hidden).size() == 4);
  CHECK_FALSE(without_credentials("[remote \"o\"]\n\turl = git@github.com:a/b.git\n"));
  CHECK_FALSE(without_credentials("[remote \"o\"]\n\turl = https://me@github.com/a/b.git\n"));
  CHECK_FALSE(without_credentials("[remote \"o\"]\n\turl = https://h/a@b:c\n"));
}

}  // namespace
}  // namespace warder
