// Everything that can be done to a log file, and what the verifier calls it.
#include "audit/verify.hpp"

#include <sys/stat.h>

#include <regex>
#include <set>

#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;
using Catch::Matchers::Contains;

namespace {

using Outcome = Verification::Outcome;
using Lines = std::vector<std::string>;

// A closed log with a checkpoint in its middle:
// 0 log, 1 session_start, 2 intent, 3 receipt, 4 intent, 5 receipt, 6 checkpoint, 7 dns, 8 intent,
// 9 receipt, 10 session_end, 11 close, 12 checkpoint
constexpr std::uint64_t kMiddle = 6;
constexpr std::uint64_t kLines = 13;

struct Sample {
  TempDir dir;
  TestClock clock;
  Lines lines;

  explicit Sample(const std::string& gateway = "gw1", const std::string& path = "/v1/items")
      : dir(quick_directory()) {
    LogOptions options = options_in(dir);
    options.gateway = gateway;
    do {
      fs::remove(options.file);
      record(options, path);
      lines = lines_of(read_file(options.file));
      REQUIRE(lines.size() == kLines);
    } while (ParsedLine::parse(lines[kMiddle])->type != "checkpoint");
  }

  // The writer may look at the clock just before the receipt comes; then its checkpoint is early.
  void record(const LogOptions& options, const std::string& path) {
    auto log = Log::open(options, clock);
    append(*log, SessionStart{"s1", "p", "ab", {"git"}, {"github"}, ""});
    for (std::uint64_t i = 1; i <= 2; ++i) {
      const Answer answer = append(*log, intent(i, path), Durability::accepted, 1);
      if (i == 2) clock.advance(std::chrono::milliseconds(1500));
      log->append_receipt(receipt(i, answer.seq));
    }
    const auto size = [&] { return lines_of(read_file(options.file)).size(); };
    REQUIRE(eventually([&] { return size() == kMiddle + 1; }));
    append(*log, DnsQuery{"s1", "evil.test", "A", "NXDOMAIN", Reason::name_not_allowed});
    exchange(*log, 3);
    append(*log, SessionEnd{"s1", 0, 3, 1});
    REQUIRE(log->close());
  }

  Verification check(const Lines& changed, std::vector<fs::path> anchors = {}) const {
    return check_text(joined(changed), std::move(anchors));
  }
  Verification check_text(const std::string& text, std::vector<fs::path> anchors = {}) const {
    write_file(dir / "copy.jsonl", text);
    return verify_with_key(dir / "copy.jsonl", dir / "audit.key", std::move(anchors));
  }
  fs::path anchor_of(std::uint64_t line) const {
    const fs::path file = dir / ("anchor" + std::to_string(line));
    write_file(file, ParsedLine::parse(lines[line])->text("note"));
    return file;
  }
};

// Makes numbers and links consistent again, as an attacker without the key can.
Lines relinked(const Lines& lines) {
  static const std::regex kSeq(R"("seq":\d+)");
  static const std::regex kPrev(R"("prev":"[^"]*"\}$)");
  Chain chain;
  Lines out;
  for (const std::string& line : lines) {
    std::string text = std::regex_replace(line, kSeq, "\"seq\":" + std::to_string(chain.size()),
                                          std::regex_constants::format_first_only);
    const std::string prev = chain.last() ? to_base64(*chain.last()) : "";
    text = std::regex_replace(text, kPrev, "\"prev\":\"" + prev + "\"}");
    chain.follow(text, {});
    out.push_back(text);
  }
  return out;
}

std::string at(const Verification& result) {
  return result.kind + "@" + std::to_string(result.bad_sequence);
}

}  // namespace

TEST_CASE("an untouched log is intact, and its tail is called not anchored") {
  const Sample sample;
  const Verification result = sample.check(sample.lines);
  CHECK(result.outcome == Outcome::intact);
  CHECK(result.kind == "");
  CHECK(result.records == kLines);
  CHECK(result.checkpoints == 2);
  CHECK(result.covered == kLines - 1);
  CHECK_FALSE(result.anchored);
  CHECK(result.open_intents == 0);
  CHECK(sample.check(sample.lines, {sample.anchor_of(12)}).anchored);
  CHECK_FALSE(sample.check(sample.lines, {sample.anchor_of(kMiddle)}).anchored);
}

TEST_CASE("every single changed byte is found, at its record") {
  const Sample sample;
  const std::string text = joined(sample.lines);
  const std::set<std::string> kinds{"edited", "badrecord", "badsig"};
  std::uint64_t line = 0;
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char bit : {'\x01', '\x80', '\x20'}) {
      if (bit != 1 && i % 7 != 0) continue;
      std::string bad = text;
      bad[i] = static_cast<char>(bad[i] ^ bit);
      const Verification result = sample.check_text(bad);
      CAPTURE(i, line, at(result), result.detail, bad[i]);
      if (result.outcome != Outcome::broken) FAIL("not found");
      const bool last_newline = i + 1 == text.size();
      if (last_newline ? result.kind != "truncated" : !kinds.contains(result.kind)) FAIL("kind");
      if (result.bad_sequence != line || result.bad_offset != begin) FAIL("place");
    }
    if (text[i] == '\n') {
      ++line;
      begin = i + 1;
    }
  }
}

TEST_CASE("a value changed in place is an edit of that record") {
  const Sample sample;
  for (const std::uint64_t i : {0, 1, 2, 4, 5, 8, 10, 11}) {
    Lines lines = sample.lines;
    lines[i] = std::regex_replace(lines[i], std::regex("T12:"), "T13:");
    CAPTURE(i);
    CHECK(at(sample.check(lines)) == "edited@" + std::to_string(i));
  }
  for (const std::uint64_t i : {kMiddle, kLines - 1}) {
    Lines lines = sample.lines;
    lines[i] = std::regex_replace(lines[i], std::regex("T12:"), "T13:");
    CHECK(at(sample.check(lines)) == "edited@" + std::to_string(i));
    lines = sample.lines;
    lines[i] = std::regex_replace(lines[i], std::regex("audit/gw1"), "audit/gw2");
    CHECK(at(sample.check(lines)) == "badsig@" + std::to_string(i));
    lines = sample.lines;
    lines[i] += " ";
    CHECK(at(sample.check(lines)) == "edited@" + std::to_string(i));
  }
}

TEST_CASE("an edit that was linked anew is given away by the checkpoint's signature") {
  const Sample sample;
  for (const std::uint64_t i : {1, 2, 5, 7, 8, 10, 11}) {
    Lines lines = sample.lines;
    lines[i] = std::regex_replace(lines[i], std::regex("T12:"), "T13:");
    CAPTURE(i);
    CHECK(at(sample.check(relinked(lines))) == (i < kMiddle ? "edited@0" : "edited@6"));
  }
}

TEST_CASE("a deleted record is missed, wherever it was") {
  const Sample sample;
  for (std::uint64_t i = 0; i < kLines; ++i) {
    Lines lines = sample.lines;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i));
    CAPTURE(i);
    const Verification result = sample.check(lines);
    CHECK(at(result) == (i == kLines - 1 ? "truncated@12" : "deleted@" + std::to_string(i)));
    if (i > 0 && i < kLines - 1) {
      CHECK(sample.check(relinked(lines)).outcome == Outcome::broken);
    }
  }
  Lines lines = sample.lines;
  lines.erase(lines.begin() + 2, lines.begin() + 4);
  CHECK(at(sample.check(lines)) == "deleted@2");
  CHECK(at(sample.check(relinked(lines))) == "deleted@0");
}

TEST_CASE("a record that stands twice is found") {
  const Sample sample;
  for (std::uint64_t i = 0; i < kLines; ++i) {
    Lines lines = sample.lines;
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    CAPTURE(i);
    CHECK(at(sample.check(lines)) == "forked@" + std::to_string(i + 1));
    lines = sample.lines;
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    if (i > 0) CHECK(sample.check(relinked(lines)).outcome == Outcome::broken);
  }
}

TEST_CASE("records that changed places are found") {
  const Sample sample;
  for (std::uint64_t i = 0; i + 1 < kLines; ++i) {
    for (std::uint64_t j = i + 1; j < kLines; ++j) {
      Lines lines = sample.lines;
      std::swap(lines[i], lines[j]);
      CAPTURE(i, j);
      CHECK(at(sample.check(lines)) == "reordered@" + std::to_string(i));
      if (j < kMiddle && i > 0) {
        CHECK(sample.check(relinked(lines)).outcome == Outcome::broken);
      }
    }
  }
}

TEST_CASE("a cut tail: at a line's border no closing checkpoint is left, elsewhere a half line") {
  const Sample sample;
  const std::string text = joined(sample.lines);
  std::uint64_t whole = 0;
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const Verification result = sample.check_text(text.substr(0, cut));
    CAPTURE(cut, at(result));
    if (at(result) != "truncated@" + std::to_string(whole)) FAIL("kind or place");
    if (result.outcome != Outcome::broken || result.anchored) FAIL("outcome");
    if (cut > 0 && text[cut - 1] == '\n') {
      CHECK_THAT(result.detail, Contains("no closing checkpoint"));
    }
    if (text[cut] == '\n') ++whole;
  }
}

TEST_CASE("an anchor makes a cut visible that the file itself cannot show") {
  // The second run's records are cut off: what is left is the whole, closed log of the first run.
  const Sample sample;
  const LogOptions options = options_in(sample.dir);
  {
    CHECK(exchange(*Log::open(options, sample.clock), 4));
  }
  const std::string both = read_file(options.file);
  const Lines lines = lines_of(both);
  write_file(sample.dir / "anchor", ParsedLine::parse(lines.back())->text("note"));
  CHECK(sample.check_text(both, {sample.dir / "anchor"}).anchored);
  const Verification blind = sample.check(sample.lines);
  CHECK(blind.outcome == Outcome::intact);
  CHECK_FALSE(blind.anchored);
  const Verification result = sample.check(sample.lines, {sample.dir / "anchor"});
  CHECK(at(result) == "truncated@13");
  CHECK_THAT(result.detail, Contains("17 records, 13 are left"));
  // A copy of the file serves as an anchor as well.
  write_file(sample.dir / "backup.jsonl", both);
  CHECK(at(sample.check(sample.lines, {sample.dir / "backup.jsonl"})) == "truncated@13");
  CHECK(sample.check_text(both, {sample.dir / "backup.jsonl"}).anchored);
}

TEST_CASE("an anchor shows a history that was rolled back and written anew with the right key") {
  // Two gateways from one snapshot: the same key and name, other records.
  const Sample one("gw1", "/one");
  TempDir other;
  TestClock clock;
  fs::copy_file(one.dir / "audit.key", other / "audit.key");
  fs::permissions(other / "audit.key", fs::perms::owner_read | fs::perms::owner_write);
  {
    auto log = Log::open(options_in(other), clock);
    for (std::uint64_t i = 0; i < 10; ++i) exchange(*log, i);
  }
  const std::string forged = read_file(other / "a.jsonl");
  CHECK(one.check_text(forged).outcome == Outcome::intact);
  CHECK(at(one.check_text(forged, {one.anchor_of(kMiddle)})) == "forked@5");
}

TEST_CASE("anchors that are not ours are refused") {
  const Sample sample;
  const Sample stranger("gw2");
  CHECK(sample.check(sample.lines, {stranger.anchor_of(12)}).outcome == Outcome::unreadable);
  CHECK(sample.check(sample.lines, {sample.dir / "missing"}).outcome == Outcome::unreadable);
  write_file(sample.dir / "empty", "");
  CHECK(sample.check(sample.lines, {sample.dir / "empty"}).outcome == Outcome::unreadable);
  // Of another log of this gateway.
  LogOptions options = options_in(sample.dir, "b.jsonl");
  options.gateway = "gw9";
  Log::open(options, sample.clock)->close();
  const Verification result = sample.check(sample.lines, {sample.dir / "b.jsonl"});
  CHECK(at(result) == "forked@0");
  CHECK_THAT(result.detail, Contains("gw9"));
}

TEST_CASE("a log signed by another key is not believed, whatever key it names itself") {
  const Sample sample;
  const Sample forged("gw1");
  const Verification result = sample.check(forged.lines);
  CHECK(at(result) == "badsig@6");
  VerifyOptions options;
  options.file = sample.dir / "a.jsonl";
  CHECK(verify(options).outcome == Outcome::unreadable);  // no key, no trust
  options.vkey = "nonsense";
  CHECK(verify(options).outcome == Outcome::unreadable);
}

TEST_CASE("two logs spliced together are a fork") {
  const Sample one("gw1");
  LogOptions options = options_in(one.dir, "two.jsonl");
  options.gateway = "gw2";
  {
    auto log = Log::open(options, one.clock);
    for (std::uint64_t i = 0; i < 6; ++i) exchange(*log, i);
  }
  const Lines two = lines_of(read_file(options.file));
  for (std::size_t cut = 1; cut + 1 < std::min(one.lines.size(), two.size()); ++cut) {
    Lines spliced(one.lines.begin(), one.lines.begin() + static_cast<std::ptrdiff_t>(cut));
    spliced.insert(spliced.end(), two.begin() + static_cast<std::ptrdiff_t>(cut), two.end());
    CAPTURE(cut);
    // With nothing but its header exchanged, a log is the other one with an edited header.
    CHECK(at(one.check(spliced)) == (cut == 1 ? "edited@0" : "forked@" + std::to_string(cut)));
    CHECK(one.check(relinked(spliced)).outcome == Outcome::broken);
  }
}

TEST_CASE("receipts answer intents, once, and of their own exchange") {
  TempDir dir;
  TestClock clock;
  const auto result_of = [&](const auto& write) {
    fs::remove(dir / "a.jsonl");
    {
      auto log = Log::open(options_in(dir), clock);
      write(*log);
    }
    return verify_with_key(dir / "a.jsonl", dir / "audit.key");
  };
  CHECK(at(result_of([](Log& log) { append(log, receipt(1, 0)); })) == "badrecord@1");
  CHECK(at(result_of([](Log& log) {
          append(log, intent(1));
          append(log, receipt(1, 1));
          append(log, receipt(1, 1));
        })) == "badrecord@3");
  CHECK(at(result_of([](Log& log) {
          append(log, intent(1));
          append(log, receipt(2, 1));
        })) == "badrecord@2");
  CHECK(at(result_of([](Log& log) {
          Intent denied = intent(1);
          denied.decision = "deny";
          append(log, denied);
          append(log, receipt(1, 1));
        })) == "badrecord@2");
  const Verification open = result_of([](Log& log) { append(log, intent(1)); });
  CHECK(open.outcome == Outcome::intact);
  CHECK(open.open_intents == 1);
}

TEST_CASE("what cannot be read is unreadable, not broken") {
  const Sample sample;
  VerifyOptions options;
  options.vkey = verifier_key(sample.dir / "audit.key");
  for (const fs::path& file : {sample.dir / "missing", sample.dir.path(), fs::path("/dev/null")}) {
    options.file = file;
    CHECK(verify(options).outcome == Outcome::unreadable);
  }
  const fs::path pipe = sample.dir / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  options.file = pipe;
  CHECK(verify(options).outcome == Outcome::unreadable);
  CHECK(at(sample.check_text(std::string(100'000, 'x') + "\n")) == "badrecord@0");
  CHECK(at(sample.check_text(std::string(100'000, '[') + "\n")) == "badrecord@0");
}
