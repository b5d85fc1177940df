#include "audit/log.hpp"

#include <sys/stat.h>

#include <map>
#include <set>

#include "audit/history.hpp"
#include "base/encoding.hpp"
#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;
using Catch::Matchers::Contains;

namespace {

using Outcome = Verification::Outcome;

const SystemClock kClock;

Verification verify_in(const TempDir& dir, const std::string& name = "a.jsonl") {
  return verify_with_key(dir / name, dir / "audit.key");
}

std::vector<std::string> types_in(const fs::path& file) {
  std::vector<std::string> types;
  for (const std::string& line : lines_of(read_file(file))) {
    const auto parsed = ParsedLine::parse(line);
    types.push_back(parsed ? parsed->type : "?");
  }
  return types;
}

}  // namespace

TEST_CASE("a run leaves a private file that verifies and ends with its closing checkpoint") {
  const TempDir dir;
  const TestClock clock;
  LogOptions options{dir / "state/audit/a.jsonl", dir / "state/audit.key", "gw1"};
  auto log = Log::open(options, clock);
  CHECK(log->healthy());
  CHECK(log->file() == options.file);
  CHECK(append(*log, SessionStart{"s1", "p", "", {"true"}, {}, ""}).seq == 1);
  CHECK(append(*log, intent(1), Durability::durable, 1).seq == 2);
  CHECK(log->append_receipt(receipt(1, 2)));
  CHECK(log->close());
  CHECK(log->close());
  CHECK(types_in(options.file) == std::vector<std::string>{"log", "session_start", "intent",
                                                           "receipt", "close", "checkpoint"});
  struct stat info{};
  REQUIRE(::stat(options.file.c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0600);
  CHECK(info.st_blocks * 512 < 64 * 1024);  // what was allocated ahead is given back
  REQUIRE(::stat((dir / "state/audit").c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0700);

  const Verification result = verify_with_key(options.file, options.key_file);
  CHECK(result.outcome == Outcome::intact);
  CHECK(result.records == 6);
  CHECK(result.checkpoints == 1);
  CHECK(result.covered == 5);
  CHECK(result.closed);
  CHECK_FALSE(result.anchored);
  CHECK(result.open_intents == 0);
  CHECK(result.origin == "warder/audit/gw1");
}

TEST_CASE("after close everything is refused, and said once") {
  const TempDir dir;
  auto log = Log::open(options_in(dir), kClock);
  const Answer before = append(*log, intent(1), Durability::accepted, 1);
  CHECK(log->close());
  CHECK_FALSE(log->append_receipt(receipt(1, before.seq)));
  CHECK_FALSE(append(*log, intent(2)).ok);
  CHECK(verify_in(dir).outcome == Outcome::intact);
  CHECK(verify_in(dir).open_intents == 1);
}

TEST_CASE("a receipt without a reservation is refused, and so is a second one") {
  const TempDir dir;
  auto log = Log::open(options_in(dir), kClock);
  CHECK_FALSE(log->append_receipt(receipt(1, 1)));
  const Answer answer = append(*log, intent(1), Durability::accepted, 1);
  CHECK(log->append_receipt(receipt(1, answer.seq)));
  CHECK_FALSE(log->append_receipt(receipt(1, answer.seq)));
  CHECK(log->close());
  CHECK(verify_in(dir).outcome == Outcome::intact);
}

TEST_CASE("an answer may append again: callbacks run without a lock") {
  const TempDir dir;
  auto log = Log::open(options_in(dir), kClock);
  std::promise<bool> second;
  std::atomic<bool> closed{true};
  log->append(intent(1), Durability::accepted, 1, [&](bool, std::uint64_t seq) {
    log->append_receipt(receipt(1, seq));
    closed = log->close();  // from the writer's thread it cannot wait, and must not hang
    log->append(intent(2), Durability::durable, 0,
                [&](bool ok, std::uint64_t) { second.set_value(ok); });
  });
  CHECK_FALSE(second.get_future().get());  // close() came first
  CHECK_FALSE(closed);
  CHECK(log->close());
}

TEST_CASE("a durable answer comes after a sync, an accepted one after the write") {
  const TempDir dir;
  const TestClock clock;
  const auto faults = std::make_shared<Faults>();
  auto log = open_faulty(options_in(dir), faults, clock);
  const unsigned before = faults->syncs;
  const Answer accepted = append(*log, intent(1), Durability::accepted);
  CHECK(faults->syncs == before);
  CHECK(lines_of(read_file(dir / "a.jsonl")).size() == accepted.seq + 1);
  append(*log, intent(2), Durability::durable);
  CHECK(faults->syncs == before + 1);
  CHECK(faults->synced == fs::file_size(dir / "a.jsonl"));
}

TEST_CASE("a checkpoint is signed every second in which something was recorded") {
  const TempDir dir;
  TestClock clock;
  auto log = Log::open(options_in(dir), clock);
  const auto checkpoints = [&] {
    const auto types = types_in(dir / "a.jsonl");
    return std::count(types.begin(), types.end(), "checkpoint");
  };
  append(*log, intent(1));
  CHECK(checkpoints() == 0);
  clock.advance(std::chrono::milliseconds(1100));
  CHECK(eventually([&] { return checkpoints() == 1; }));
  clock.advance(std::chrono::milliseconds(5000));
  append(*log, intent(2));
  CHECK(eventually([&] { return checkpoints() == 2; }));
  clock.advance(std::chrono::milliseconds(5000));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(checkpoints() == 2);  // nothing new, nothing to sign
  CHECK(log->close());
  CHECK(verify_in(dir).checkpoints == 3);
}

TEST_CASE("BR-128 eight threads: numbers without gaps, every answer once, verify intact") {
  const TempDir dir;
  constexpr int kThreads = 8;
  constexpr std::uint64_t kEach = 2000;
  std::vector<std::vector<int>> answers(kThreads, std::vector<int>(kEach, 0));
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> exchange_of;
  std::atomic<std::uint64_t> bad{0};
  auto log = Log::open(options_in(dir), kClock);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kEach; ++i) {
        const std::uint64_t number = static_cast<std::uint64_t>(t) * kEach + i;
        const auto durability = i % 7 == 0 ? Durability::durable : Durability::accepted;
        log->append(intent(number), durability, 1, [&, t, i, number](bool ok, std::uint64_t seq) {
          ++answers[static_cast<std::size_t>(t)][i];
          if (!ok || !log->append_receipt(receipt(number, seq))) ++bad;
          const std::lock_guard lock(mutex);
          exchange_of[seq] = number;
        });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::uint64_t> seen;
  CHECK(eventually([&] {
    const std::lock_guard lock(mutex);
    return exchange_of.size() == kThreads * kEach;
  }));
  CHECK(log->close());
  CHECK(bad == 0);
  for (const auto& thread : answers) {
    CHECK(std::all_of(thread.begin(), thread.end(), [](int times) { return times == 1; }));
  }
  // The number that was answered is the number in the file.
  std::uint64_t place = 0;
  std::uint64_t wrong = 0;
  for (const std::string& line : lines_of(read_file(dir / "a.jsonl"))) {
    const auto parsed = ParsedLine::parse(line);
    REQUIRE(parsed);
    if (parsed->seq != place++) ++wrong;
    if (parsed->type == "intent" && exchange_of[parsed->seq] != parsed->number("exchange")) ++wrong;
  }
  CHECK(wrong == 0);
  const Verification result = verify_in(dir);
  CHECK(result.outcome == Outcome::intact);
  CHECK(result.open_intents == 0);
  CHECK(result.checkpoints >= 2 * kThreads * kEach / kCheckpointEvery);
}

TEST_CASE("a full queue refuses instead of growing") {
  const TempDir dir;
  auto log = Log::open(options_in(dir), kClock);
  std::promise<void> hold;
  auto held = hold.get_future().share();
  log->append(intent(0), Durability::accepted, 0, [held](bool, std::uint64_t) { held.wait(); });
  std::atomic<std::size_t> taken{0};
  std::atomic<std::size_t> refused{0};
  constexpr std::size_t kMany = kMaxQueued * 2 + 100;
  for (std::size_t i = 0; i < kMany; ++i) {
    log->append(DnsQuery{"s1", "x.test", "A", "NXDOMAIN", Reason::name_not_allowed},
                Durability::accepted, 0, [&](bool ok, std::uint64_t) { ++(ok ? taken : refused); });
  }
  hold.set_value();
  CHECK(log->close());
  CHECK(taken + refused == kMany);
  CHECK(taken <= 2 * kMaxQueued);
  CHECK(refused >= 100);
  const Verification result = verify_in(dir);
  CHECK(result.outcome == Outcome::intact);
}

TEST_CASE("BR-128 a second gateway on the file is told who holds it") {
  const TempDir dir;
  auto log = Log::open(options_in(dir), kClock);
  CHECK_THROWS_WITH(Log::open(options_in(dir), kClock),
                    Contains("pid " + std::to_string(::getpid())));
  CHECK(append(*log, intent(1)).ok);
  CHECK(verify_in(dir).running);
  CHECK(verify_in(dir).outcome == Outcome::intact);
  CHECK_FALSE(verify_in(dir).anchored);
  CHECK(log->close());
  log.reset();
  CHECK_FALSE(verify_in(dir).running);
  CHECK_NOTHROW(Log::open(options_in(dir), kClock));
}

TEST_CASE("BR-128 twenty restarts continue one chain") {
  const TempDir dir;
  for (std::uint64_t i = 0; i < 20; ++i) {
    LogOptions options = options_in(dir);
    options.gateway = "gw" + std::to_string(i);
    auto log = Log::open(options, kClock);
    CHECK(exchange(*log, i));
    CHECK(log->close());
  }
  const Verification result = verify_in(dir);
  CHECK(result.outcome == Outcome::intact);
  CHECK(result.records == 20 * 5);
  CHECK(result.checkpoints == 20);
  CHECK(result.crashes == 0);
  CHECK(result.origin == "warder/audit/gw0");
}

TEST_CASE("BR-128 a torn tail is put aside, named in a repair record, and the chain goes on") {
  const TempDir dir;
  const std::string torn = GENERATE(std::string("{\"v\":1,\"seq\":9"), std::string("\0\0\0\0", 4),
                                    std::string("garbage\nmore\xff\n"), std::string("half\n{"));
  {
    CHECK(exchange(*Log::open(options_in(dir), kClock), 1));
  }
  const std::string whole = read_file(dir / "a.jsonl");
  write_file(dir / "a.jsonl", whole + torn);
  {
    auto log = Log::open(options_in(dir), kClock);
    CHECK(exchange(*log, 2));
  }
  CHECK(read_file(dir / "a.jsonl.torn-1") == torn);
  const std::string now = read_file(dir / "a.jsonl");
  CHECK(now.starts_with(whole));
  const auto repair = ParsedLine::parse(lines_of(now)[6]);
  REQUIRE(repair);
  CHECK(repair->type == "repair");
  CHECK(repair->text("file") == "a.jsonl.torn-1");
  CHECK(repair->number("torn_bytes") == torn.size());
  CHECK(repair->text("torn_sha256").size() == 64);
  CHECK(verify_in(dir).outcome == Outcome::intact);
  CHECK(verify_in(dir).crashes == 1);

  write_file(dir / "a.jsonl", now + torn);
  Log::open(options_in(dir), kClock)->close();
  CHECK(read_file(dir / "a.jsonl.torn-2") == torn);
  CHECK(verify_in(dir).outcome == Outcome::intact);
}

TEST_CASE("BR-128 every cut of the file is taken up again") {
  const TempDir dir(quick_directory());
  {
    CHECK(exchange(*Log::open(options_in(dir), kClock), 1));
  }
  const std::string whole = read_file(dir / "a.jsonl");
  for (std::size_t cut = 0; cut < whole.size(); cut += cut < 400 ? 3 : 13) {
    CAPTURE(cut);
    write_file(dir / "a.jsonl", whole.substr(0, cut));
    {
      auto log = Log::open(options_in(dir), kClock);
      if (!exchange(*log, 2) || !log->close()) FAIL("not usable after the cut");
    }
    const Verification result = verify_in(dir);
    if (result.outcome != Outcome::intact) FAIL(result.kind << ": " << result.detail);
    for (int n = 1; n < 3; ++n) fs::remove(dir / ("a.jsonl.torn-" + std::to_string(n)));
  }
}

TEST_CASE("a file that is broken in its middle, or is not ours, is left alone") {
  const TempDir dir;
  {
    CHECK(exchange(*Log::open(options_in(dir), kClock), 1));
  }
  const std::string whole = read_file(dir / "a.jsonl");
  auto lines = lines_of(whole);
  const auto refuses = [&](const std::string& text, const std::string& why) {
    write_file(dir / "a.jsonl", text);
    CHECK_THROWS_WITH(Log::open(options_in(dir), kClock), Contains(why));
    CHECK(read_file(dir / "a.jsonl") == text);
  };
  auto bad = lines;
  bad[1][40] ^= 1;
  refuses(joined(bad), "broken at record");
  bad = lines;
  bad[1] = "garbage";
  refuses(joined(bad), "broken at record 1");
  bad = lines;
  std::swap(bad[1], bad[2]);
  refuses(joined(bad), "broken at record 1");
  bad = lines;
  bad.insert(bad.begin(), bad.front());
  refuses(joined(bad), "broken at record 1");
  bad = lines;
  bad.erase(bad.begin());
  refuses(joined(bad), "broken at record 0");
  refuses("my shopping list", "not an audit log");
  refuses("my shopping list\n", "not an audit log");
  refuses("{}\n", "not an audit log");

  // Another key: going on would make a log that no one key can check.
  write_file(dir / "a.jsonl", whole);
  fs::remove(dir / "audit.key");
  CHECK_THROWS_WITH(Log::open(options_in(dir), kClock),
                    Contains("not signed by this gateway's key"));
}

TEST_CASE("BR-127 what is not a regular file of ours is refused at once") {
  const TempDir dir;
  LogOptions options = options_in(dir);
  for (const char* device : {"/dev/full", "/dev/null"}) {
    options.file = device;
    CHECK_THROWS_WITH(Log::open(options, kClock), Contains("not a regular file"));
  }
  options.file = dir / "pipe";
  REQUIRE(::mkfifo(options.file.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(Log::open(options, kClock), Contains("not a regular file"));
  options.file = dir.path();
  CHECK_THROWS_AS(Log::open(options, kClock), std::runtime_error);
  options.file = dir / "link";
  fs::create_symlink(dir / "elsewhere", options.file);
  CHECK_THROWS_WITH(Log::open(options, kClock), Contains("symbolic link"));
  CHECK_FALSE(fs::exists(dir / "elsewhere"));
  options.file = dir / "open.jsonl";
  write_file(options.file, "");
  ::chmod(options.file.c_str(), 0666);
  CHECK_THROWS_WITH(Log::open(options, kClock), Contains("others may write"));
  options.file = "/proc/nowhere/a.jsonl";
  CHECK_THROWS_WITH(Log::open(options, kClock), Contains("/proc/nowhere"));
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a\nb"), std::string(65, 'x')}) {
    options = options_in(dir);
    options.gateway = bad;
    CHECK_THROWS_WITH(Log::open(options, kClock), Contains("gateway's id"));
  }
}

TEST_CASE("BR-131 a new file names the last checkpoint of the newest other run") {
  const TempDir dir;
  CHECK(last_checkpoint_of(dir.path()).empty());
  CHECK(last_checkpoint_of(dir / "missing").empty());
  {
    CHECK(exchange(*Log::open(options_in(dir, "1.jsonl"), kClock), 1));
  }
  write_file(dir / "notes.jsonl", "{}\n");
  const Verification first = verify_in(dir, "1.jsonl");
  CHECK(last_checkpoint_of(dir.path()) ==
        "1.jsonl " + std::to_string(first.covered) + " " + first.root);
  {
    CHECK(exchange(*Log::open(options_in(dir, "2.jsonl"), kClock), 1));
  }
  CHECK(verify_in(dir, "2.jsonl").previous == "1.jsonl 4 " + first.root);
  const auto parsed = PreviousRun::parse(verify_in(dir, "2.jsonl").previous);
  REQUIRE(parsed);
  CHECK(parsed->file == "1.jsonl");
  CHECK(parsed->size == 4);
}

TEST_CASE("BR-133 a hostile request is one line of valid JSON") {
  const TempDir dir;
  {
    auto log = Log::open(options_in(dir), kClock);
    for (const std::string& path :
         {std::string("/a\n{\"seq\":1}"), std::string("/\x80\xff\xfe"), std::string(65536, 'p'),
          std::string("/\x1b[2J"), std::string("/\xe2\x80\xa8"), std::string("/\0nul", 5)}) {
      Intent hostile = intent(1, path);
      hostile.decision = "deny";
      hostile.method = "GE\tT";
      hostile.authority = "https://q\"b\\s.test";
      CHECK(append(*log, hostile).ok);
    }
    CHECK(log->close());
  }
  const std::string text = read_file(dir / "a.jsonl");
  CHECK(lines_of(text).size() == 1 + 6 + 2);
  CHECK(std::none_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }));
  CHECK(verify_in(dir).outcome == Outcome::intact);
}

TEST_CASE("benchmark: records per second", "[.bench]") {
  const TempDir dir;
  for (const auto durability : {Durability::accepted, Durability::durable}) {
    for (const std::size_t at_once : {1U, 64U, 4096U}) {
      auto log = Log::open(options_in(dir, std::to_string(at_once) + ".jsonl"), kClock);
      std::atomic<std::size_t> open{0};
      std::size_t count = 0;
      const auto begin = std::chrono::steady_clock::now();
      while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(1)) {
        while (open >= at_once) std::this_thread::yield();
        ++open;
        ++count;
        log->append(intent(count), durability, 0, [&](bool, std::uint64_t) { --open; });
      }
      log->close();
      WARN((durability == Durability::durable ? "durable " : "accepted ")
           << at_once << " at once: " << count << "/s");
    }
  }
}
