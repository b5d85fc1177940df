// The table of questions: what is one question, what a yes reaches, and what it never does.
#include "proxy/approvals.hpp"

#include <set>

#include "proxy/await_approval.hpp"
#include "proxy/shown.hpp"
#include "tests/support/catch.hpp"

using namespace warder;
using namespace std::chrono_literals;
using State = Approvals::State;

namespace {

const SteadyTime kNow = SteadyTime() + 1h;

Question question(const std::string& binding, const std::string& rule = "r") {
  Question made;
  made.rule = rule;
  made.where = "t:1";
  made.binding = binding;
  return made;
}

struct Table {
  Approvals approvals;
  SystemRandom random;

  Approvals::Ticket ask(const Question& what, SteadyTime now = kNow) {
    const auto ticket = approvals.ask(what, now, random);
    REQUIRE(ticket);
    return *ticket;
  }
  State state(Approvals::Ticket ticket, SteadyTime now = kNow) {
    return approvals.look(ticket, now).state;
  }
  std::string only_id() {
    const auto open = approvals.list(kNow);
    REQUIRE(open.size() == 1);
    return open[0].id;
  }
  std::string id_of(Approvals::Ticket ticket) { return approvals.asked(ticket, kNow)->id; }
  bool settle(const std::string& id, const Answer& answer, SteadyTime now = kNow) {
    if (!approvals.take(id, now)) return false;
    approvals.settle(id, answer, 7, now);
    return true;
  }
};

Answer yes(std::uint64_t count = 1) { return {true, count, std::nullopt}; }
Answer yes_for(std::chrono::seconds time) { return {true, 1, time}; }

Verdict verdict(Decision decision, const std::string& rule) {
  Verdict made;
  made.decision = decision;
  made.rule = rule;
  return made;
}

}  // namespace

TEST_CASE("one yes lets one request pass, and the same one asks anew") {
  Table table;
  const auto first = table.ask(question("a"));
  CHECK(table.state(first) == State::waiting);
  REQUIRE(table.settle(table.only_id(), yes()));
  const Approvals::Standing standing = table.approvals.look(first, kNow);
  CHECK(standing.state == State::allowed);
  CHECK(standing.record == 7);
  CHECK(table.approvals.list(kNow).empty());
  const auto again = table.ask(question("a"));
  CHECK(table.state(again) == State::waiting);
}

TEST_CASE("attack: a yes to one request is no yes to another") {
  Table table;
  const auto meant = table.ask(question("path /a"));
  const auto other = table.ask(question("path /b"));
  REQUIRE(table.id_of(meant) != table.id_of(other));
  REQUIRE(table.settle(table.id_of(meant), yes(1000)));
  CHECK(table.state(meant) == State::allowed);
  CHECK(table.state(other) == State::waiting);
}

TEST_CASE("attack: nothing that a yes is bound to can be moved into its neighbour") {
  CHECK(digest_of({"ab", "c"}) != digest_of({"a", "bc"}));
  CHECK(digest_of({"a", ""}) != digest_of({"a"}));
  CHECK(digest_of({"", "a"}) != digest_of({"a", ""}));
  CHECK(digest_of({"1:a"}) != digest_of({"a"}));
  CHECK(digest_of({"a", "b"}) == digest_of({"a", "b"}));
}

TEST_CASE(
    "requests that are the same are one question with a count, and a yes is for those that were "
    "seen") {
  Table table;
  const auto first = table.ask(question("a"));
  const auto second = table.ask(question("a"));
  const auto asked = table.approvals.list(kNow);
  REQUIRE(asked.size() == 1);
  CHECK(asked[0].count == 2);
  const auto unseen = table.ask(question("a"));
  REQUIRE(table.settle(asked[0].id, yes(asked[0].count)));
  CHECK(table.state(first) == State::allowed);
  CHECK(table.state(second) == State::allowed);
  CHECK(table.state(unseen) == State::waiting);
  REQUIRE(table.settle(table.only_id(), {false, 1, std::nullopt}));
  CHECK(table.state(unseen) == State::denied);
}

TEST_CASE("attack: who joins while the answer is being recorded does not pass with it") {
  Table table;
  const auto first = table.ask(question("a"));
  const auto taken = table.approvals.take(table.only_id(), kNow);
  REQUIRE(taken);
  const auto late = table.ask(question("a"));
  CHECK_FALSE(table.approvals.take(taken->id, kNow));  // nobody else answers meanwhile
  CHECK(table.approvals.list(kNow).empty());
  CHECK(table.state(first) == State::waiting);  // nothing passes before the record
  table.approvals.settle(taken->id, yes(taken->count), 7, kNow);
  CHECK(table.state(first) == State::allowed);
  CHECK(table.state(late) == State::waiting);
}

TEST_CASE("an answer that cannot be recorded does not count") {
  Table table;
  const auto ticket = table.ask(question("a"));
  const std::string id = table.only_id();
  REQUIRE(table.approvals.take(id, kNow));
  table.approvals.give_back(id);
  CHECK(table.state(ticket) == State::waiting);
  CHECK(table.settle(id, yes()));
}

TEST_CASE("too many open questions are refused at once, and other sandboxes have their own") {
  Table table;
  table.approvals.limit({60s, 2});
  const auto first = table.ask(question("a"));
  (void)table.ask(question("b"));
  CHECK_FALSE(table.approvals.ask(question("c"), kNow, table.random));
  CHECK(table.approvals.ask(question("b"), kNow, table.random));  // no new question
  table.approvals.withdraw(first);
  CHECK(table.approvals.ask(question("c"), kNow, table.random));
  Table other;
  CHECK(other.approvals.ask(question("c"), kNow, other.random));
}

TEST_CASE("places are bounded, whatever waits on them") {
  Table table;
  table.approvals.limit({60s, 2});
  for (int i = 0; i < 8; ++i) REQUIRE(table.approvals.take_place());
  CHECK_FALSE(table.approvals.take_place());
  table.approvals.leave_place();
  CHECK(table.approvals.take_place());
}

TEST_CASE("a question that nobody answers ends in time, and one ticket has it recorded") {
  Table table;
  const auto first = table.ask(question("a"));
  const auto second = table.ask(question("a"), kNow + 30s);
  const SteadyTime over = kNow + 60s;
  CHECK(table.state(first, over - 1ms) == State::waiting);
  CHECK(table.state(second, over) == State::overdue);
  CHECK(table.state(first, over) == State::waiting);
  CHECK_FALSE(table.approvals.take(table.id_of(first), over));  // too late for a yes
  table.approvals.time_out(second);
  CHECK(table.state(first, over) == State::timed_out);
  CHECK(table.state(second, over) == State::timed_out);
}

TEST_CASE("attack: a yes that comes too late finds no question, and a new one must be asked") {
  Table table;
  (void)table.ask(question("a"));
  const std::string id = table.only_id();
  CHECK_FALSE(table.settle(id, yes(), kNow + 60s));
  const auto later = table.ask(question("a"), kNow + 60s);
  CHECK(table.id_of(later) != id);
}

TEST_CASE("whose client went is no question any more") {
  Table table;
  const auto first = table.ask(question("a"));
  const auto second = table.ask(question("a"));
  table.approvals.withdraw(first);
  const std::string id = table.only_id();
  table.approvals.withdraw(second);
  CHECK(table.approvals.list(kNow).empty());
  CHECK_FALSE(table.settle(id, yes()));
}

TEST_CASE("a yes to the rule is for what the rule decides, until its time is over") {
  Table table;
  const auto meant = table.ask(question("a"));
  const auto same_rule = table.ask(question("b"));
  const auto other_rule = table.ask(question("c", "other"));
  REQUIRE(table.settle(table.id_of(meant), yes_for(600s)));
  CHECK(table.state(meant) == State::allowed);
  CHECK(table.state(same_rule) == State::allowed);
  CHECK(table.state(other_rule) == State::waiting);
  CHECK(table.approvals.standing_yes("r", "t:1", kNow + 599s) == 7);
  CHECK_FALSE(table.approvals.standing_yes("r", "t:2", kNow));
  CHECK_FALSE(table.approvals.standing_yes("other", "t:1", kNow));
  CHECK_FALSE(table.approvals.standing_yes("r", "t:1", kNow + 600s));
  CHECK_FALSE(table.approvals.standing_yes("r", "t:1", kNow));  // and it does not come back
}

TEST_CASE(
    "with another policy no question stays open, and an answer on its way counts for nothing") {
  Table table;
  const auto ticket = table.ask(question("a"));
  const std::string id = table.only_id();
  REQUIRE(table.approvals.take(id, kNow));  // somebody is answering it
  table.approvals.forget_rules();
  table.approvals.settle(id, yes_for(std::chrono::hours(1)), 7, kNow);
  CHECK_FALSE(table.approvals.standing_yes("r", "t:1", kNow));
  CHECK(table.approvals.look(ticket, kNow).state == State::outdated);
  CHECK(table.approvals.list(kNow).empty());
}

TEST_CASE("a yes to the rule is for a day at most, and is forgotten with its policy") {
  Table table;
  (void)table.ask(question("a"));
  REQUIRE(table.settle(table.only_id(), yes_for(std::chrono::hours(1000))));
  CHECK(table.approvals.standing_yes("r", "t:1", kNow + 24h - 1s));
  table.approvals.forget_rules();
  CHECK_FALSE(table.approvals.standing_yes("r", "t:1", kNow));
  (void)table.ask(question("a"));
  REQUIRE(table.settle(table.only_id(), yes_for(std::chrono::hours(1000))));
  CHECK_FALSE(table.approvals.standing_yes("r", "t:1", kNow + 24h));
}

TEST_CASE("a no that is being recorded is not overtaken by a yes to the rule") {
  Table table;
  const auto refused = table.ask(question("a"));
  const auto allowed = table.ask(question("b"));
  const std::string id = table.id_of(refused);
  REQUIRE(table.approvals.take(id, kNow));
  REQUIRE(table.settle(table.id_of(allowed), yes_for(60s)));
  CHECK(table.state(refused) == State::waiting);
  table.approvals.settle(id, {false, 1, std::nullopt}, 8, kNow);
  CHECK(table.state(refused) == State::denied);
}

TEST_CASE("ids cannot be guessed: 128 random bits, and no two are the same") {
  Table table;
  table.approvals.limit({60s, 256});
  for (int i = 0; i < 256; ++i) (void)table.ask(question(std::to_string(i)));
  std::set<std::string> ids;
  for (const auto& asked : table.approvals.list(kNow)) {
    CHECK(asked.id.size() == 32);
    ids.insert(asked.id);
  }
  CHECK(ids.size() == 256);
}

TEST_CASE("a person is called once for a question, and not more often than each second") {
  Table table;
  const auto first = table.ask(question("a"));
  const auto second = table.ask(question("b"));
  CHECK(table.approvals.due_notice(first, kNow) == table.id_of(first));
  CHECK_FALSE(table.approvals.due_notice(first, kNow + 5s));
  CHECK_FALSE(table.approvals.due_notice(second, kNow + 900ms));
  CHECK(table.approvals.due_notice(second, kNow + 1s) == table.id_of(second));
}

TEST_CASE("what the policy says by now comes before any answer") {
  const Verdict asked = verdict(Decision::ask, "r");
  CHECK(turn_of(asked, asked) == Turn::same);
  CHECK(turn_of(asked, verdict(Decision::deny, "d")) == Turn::denied);
  CHECK(turn_of(asked, verdict(Decision::allow, "r")) == Turn::free);
  CHECK(turn_of(asked, verdict(Decision::ask, "other")) == Turn::changed);
  Verdict moved = asked;
  moved.where = "t:9";
  CHECK(turn_of(asked, moved) == Turn::changed);
}

TEST_CASE("attack: what is shown obeys no terminal and hides nothing") {
  CHECK(shown_ascii("/a\x1b[2Jb\r\n\x9b"
                    "c\\d\x7f",
                    100) == R"(/a\x1b[2Jb\x0d\x0a\x9bc\\d\x7f)");
  CHECK(shown_ascii("\u202egro.live", 100) == R"(\xe2\x80\xaegro.live)");
  CHECK(shown_ascii(std::string(50, 'a'), 10) == "aaaaaaaaaa…[+40]");
  CHECK(shown_text("{\"a\": \"\x1b]0;x\x07\u202e\u2066\"}\nüñ\\", 200) ==
        R"({"a": "\u001b]0;x\u0007\u202e\u2066"}\nüñ\\)");
  CHECK(shown_text(std::string(100, 'a'), 60).ends_with("…[+72]"));
}
