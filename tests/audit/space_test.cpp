// BR-127: a log that cannot be written refuses, says so, and comes back whole.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <cstring>
#include <random>

#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;

namespace {

using Outcome = Verification::Outcome;

const SystemClock kClock;

// Intents are let in until one is refused; gives those that were.
std::vector<Answer> fill(Log& log, std::uint64_t& number) {
  std::vector<Answer> let_in;
  while (let_in.size() < 5000) {
    const Answer answer = append(log, intent(number), Durability::accepted, 1);
    if (!answer.ok) return let_in;
    let_in.push_back(answer);
    ++number;
  }
  FAIL("never refused");
  return let_in;
}

Verification verify_in(const TempDir& dir) {
  return verify_with_key(dir / "a.jsonl", dir / "audit.key");
}

}  // namespace

TEST_CASE(
    "BR-127 no space: exchanges are refused, receipts of those let in are written, it heals") {
  const TempDir dir;
  const auto faults = std::make_shared<Faults>();
  auto log = open_faulty(options_in(dir), faults, kClock);
  faults->allocate_up_to = kAllocationStep + 100 * 1024;
  faults->write_up_to = kAllocationStep + 100 * 1024;
  std::uint64_t number = 0;
  const auto let_in = fill(*log, number);
  CHECK(let_in.size() > 100);
  CHECK_FALSE(log->healthy());
  CHECK_FALSE(append(*log, intent(number)).ok);
  CHECK_FALSE(append(*log, SessionEnd{"s1", 0, 0, 0}).ok);
  for (std::size_t i = 0; i < let_in.size(); ++i) {
    if (!log->append_receipt(receipt(i, let_in[i].seq))) FAIL("receipt " << i << " had no room");
  }
  faults->allocate_up_to = UINT64_MAX;
  faults->write_up_to = UINT64_MAX;
  CHECK(eventually([&] { return log->healthy(); }));
  CHECK(exchange(*log, number));
  CHECK(log->close());
  const Verification result = verify_in(dir);
  CHECK(result.detail == "");
  CHECK(result.outcome == Outcome::intact);
  CHECK(result.open_intents == 0);
}

TEST_CASE("BR-127 no space until the end: what was let in still closes whole") {
  const TempDir dir;
  const auto faults = std::make_shared<Faults>();
  auto log = open_faulty(options_in(dir), faults, kClock);
  faults->allocate_up_to = faults->write_up_to = kAllocationStep;
  std::uint64_t number = 0;
  const auto let_in = fill(*log, number);
  for (std::size_t i = 0; i < let_in.size(); ++i) log->append_receipt(receipt(i, let_in[i].seq));
  CHECK(log->close());
  CHECK(verify_in(dir).outcome == Outcome::intact);
  CHECK(verify_in(dir).open_intents == 0);
  CHECK(fs::file_size(dir / "a.jsonl") <= kAllocationStep);
}

TEST_CASE("BR-127 a write that finds no room leaves no half line, and receipts wait for space") {
  const TempDir dir;
  const auto faults = std::make_shared<Faults>();
  auto log = open_faulty(options_in(dir), faults, kClock);
  const Answer first = append(*log, intent(1), Durability::durable, 1);
  faults->write_up_to = fs::file_size(dir / "a.jsonl") + 100;
  CHECK(log->append_receipt(receipt(1, first.seq)));
  CHECK(eventually([&] { return !log->healthy(); }));
  CHECK_FALSE(append(*log, intent(2)).ok);
  CHECK(read_file(dir / "a.jsonl").ends_with("\n"));
  CHECK(lines_of(read_file(dir / "a.jsonl")).size() == 2);
  faults->write_up_to = UINT64_MAX;
  CHECK(eventually([&] { return log->healthy(); }));
  CHECK(exchange(*log, 3));
  CHECK(log->close());
  const Verification result = verify_in(dir);
  CHECK(result.detail == "");
  CHECK(result.outcome == Outcome::intact);
  CHECK(result.open_intents == 0);  // the first receipt was kept
}

TEST_CASE("BR-127 a receipt that can never be written makes close say so") {
  const TempDir dir;
  const auto faults = std::make_shared<Faults>();
  auto log = open_faulty(options_in(dir), faults, kClock);
  const Answer first = append(*log, intent(1), Durability::durable, 1);
  faults->write_up_to = fs::file_size(dir / "a.jsonl");
  CHECK(log->append_receipt(receipt(1, first.seq)));
  CHECK_FALSE(log->close());
  CHECK(verify_in(dir).kind == "truncated");
}

TEST_CASE("BR-127 after a write error nothing is let in any more, whatever the disk says later") {
  const TempDir dir;
  const auto faults = std::make_shared<Faults>();
  auto log = open_faulty(options_in(dir), faults, kClock);
  const Answer first = append(*log, intent(1), Durability::accepted, 1);
  CHECK(first.ok);
  faults->write_errno = EIO;
  CHECK_FALSE(append(*log, intent(2), Durability::accepted).ok);
  faults->write_errno = 0;
  CHECK_FALSE(log->healthy());
  CHECK_FALSE(append(*log, intent(3)).ok);
  CHECK_FALSE(log->append_receipt(receipt(1, first.seq)));
  CHECK_FALSE(log->close());
  log.reset();
  // The next run takes it up again.
  log = Log::open(options_in(dir), kClock);
  CHECK(exchange(*log, 4));
  CHECK(log->close());
  CHECK(verify_in(dir).outcome == Outcome::intact);
  CHECK(verify_in(dir).crashes == 1);
}

TEST_CASE("BR-127 a failed sync is not tried again as if nothing had happened") {
  const TempDir dir;
  const auto faults = std::make_shared<Faults>();
  auto log = open_faulty(options_in(dir), faults, kClock);
  faults->sync_errno = EIO;
  CHECK_FALSE(append(*log, intent(1), Durability::durable).ok);
  faults->sync_errno = 0;
  const unsigned syncs = faults->syncs;
  CHECK_FALSE(append(*log, intent(2), Durability::durable).ok);
  CHECK_FALSE(append(*log, intent(3), Durability::accepted).ok);
  CHECK_FALSE(log->close());
  CHECK(faults->syncs == syncs);
}

TEST_CASE("short writes make the same file") {
  const TempDir dir;
  const auto faults = std::make_shared<Faults>();
  faults->most_per_write = 7;
  auto log = open_faulty(options_in(dir), faults, kClock);
  for (std::uint64_t i = 0; i < 20; ++i) CHECK(exchange(*log, i));
  CHECK(log->close());
  CHECK(verify_in(dir).outcome == Outcome::intact);
}

TEST_CASE("BR-128 power cuts: what was answered as durable is there afterwards") {
  std::minstd_rand random(7);
  for (int round = 0; round < 25; ++round) {
    const TempDir dir;
    const auto faults = std::make_shared<Faults>();
    auto log = open_faulty(options_in(dir), faults, kClock);
    std::mutex mutex;
    std::vector<std::uint64_t> durable;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const auto wanted = random() % 4 == 0 ? Durability::durable : Durability::accepted;
      log->append(intent(i), wanted, 0, [&, wanted](bool ok, std::uint64_t seq) {
        const std::lock_guard lock(mutex);
        if (ok && wanted == Durability::durable) durable.push_back(seq);
      });
      if (random() % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (random() % 150 == 0) faults->dead = true;
    }
    faults->dead = true;
    log->close();
    log.reset();
    // Of what was not synced any part may have reached the disk.
    const std::uint64_t written = fs::file_size(dir / "a.jsonl");
    const std::uint64_t synced = faults->synced;
    fs::resize_file(dir / "a.jsonl", synced + random() % (written - synced + 1));
    log = Log::open(options_in(dir), kClock);
    CHECK(exchange(*log, 1000));
    CHECK(log->close());
    const Verification result = verify_in(dir);
    CHECK(result.outcome == Outcome::intact);
    const auto lines = lines_of(read_file(dir / "a.jsonl"));
    for (const std::uint64_t seq : durable) {
      const auto line = ParsedLine::parse(lines.at(seq));
      if (!line || line->type != "intent") FAIL("durable record " << seq << " is gone");
    }
  }
}

TEST_CASE("BR-127 a real full disk: a tmpfs of 64 KiB") {
  const TempDir dir;
  // A mount namespace of this thread and those that it starts.
  std::string skipped;
  std::uint64_t origin_saw = 0;
  bool refused = false, healed = false, closed = false;
  Verification result;
  std::thread([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", dir.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
      skipped = std::strerror(errno);
      return;
    }
    auto log = Log::open(options_in(dir), kClock);
    {
      std::ofstream filler(dir / "filler");
      filler << std::string(24 * 1024, 'x');
    }
    while (append(*log, intent(origin_saw), Durability::durable, 1).ok && origin_saw < 500) {
      ++origin_saw;
    }
    refused = !log->healthy();
    fs::remove(dir / "filler");
    healed = eventually([&] { return log->healthy(); }) && exchange(*log, origin_saw);
    closed = log->close();
    result = verify_in(dir);
  }).join();
  if (!skipped.empty()) {
    WARN("not tried, no mount namespace here: " << skipped);
    return;
  }
  CHECK(origin_saw > 1);
  CHECK(origin_saw < 100);
  CHECK(refused);
  CHECK(healed);
  CHECK(closed);
  CHECK(result.outcome == Outcome::intact);
  CHECK(result.open_intents == origin_saw);
}

TEST_CASE("BR-127 ulimit -f is an error like a full disk, not the end of the process") {
  const TempDir dir;
  auto log = Log::open(options_in(dir), kClock);
  CHECK(exchange(*log, 1));
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = fs::file_size(dir / "a.jsonl") + 5000;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  std::uint64_t number = 2;
  std::uint64_t let_in = 0;
  while (append(*log, intent(number++), Durability::durable).ok && let_in < 100) ++let_in;
  const bool healthy = log->healthy();
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_FALSE(healthy);
  CHECK(let_in < 20);
  CHECK(eventually([&] { return log->healthy(); }));
  CHECK(exchange(*log, number));
  CHECK(log->close());
  CHECK(verify_in(dir).outcome == Outcome::intact);
}

TEST_CASE("BR-131 a file that somebody else cuts, extends or deletes is not written on") {
  const int what = GENERATE(0, 1, 2);
  const TempDir dir;
  auto log = Log::open(options_in(dir), kClock);
  CHECK(exchange(*log, 1));
  if (what == 0) fs::resize_file(dir / "a.jsonl", 0);  // logrotate's copytruncate
  if (what == 1) std::ofstream(dir / "a.jsonl", std::ios::app) << "{}\n";
  if (what == 2) fs::remove(dir / "a.jsonl");
  CHECK_FALSE(append(*log, intent(2)).ok);
  CHECK_FALSE(log->healthy());
  CHECK_FALSE(log->close());
}
