// Records read for what they say, and whether those are the ones that were verified.
#include "audit/reader.hpp"

#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;

namespace {

std::vector<std::string> written(const TempDir& dir) {
  TestClock clock;
  auto log = Log::open(options_in(dir), clock);
  for (std::uint64_t i = 1; i <= 3; ++i) exchange(*log, i);
  REQUIRE(log->close());
  return lines_of(read_file(dir / "a.jsonl"));
}

ReadCounts read(const fs::path& file, const Verification* verified = nullptr) {
  return read_records(file, [](const ReadRecord&) {}, verified);
}

}  // namespace

TEST_CASE("every line is read, with its leaf hash") {
  const TempDir dir;
  const auto lines = written(dir);
  std::size_t i = 0;
  const ReadCounts counts = read_records(dir / "a.jsonl", [&](const ReadRecord& record) {
    REQUIRE(i < lines.size());
    CHECK(record.bytes == lines[i]);
    CHECK(record.leaf == leaf_hash(lines[i]));
    CHECK(record.line.seq == i++);
  });
  CHECK(counts.records == lines.size());
  CHECK(counts.not_records == 0);
  CHECK_THROWS(read(dir / "absent"));
}

TEST_CASE("attack: a file that is exchanged after it was verified is noticed") {
  const TempDir dir;
  auto lines = written(dir);
  const Verification verified = verify_with_key(dir / "a.jsonl", dir / "audit.key");
  REQUIRE(verified.outcome == Verification::Outcome::intact);
  CHECK(read(dir / "a.jsonl", &verified).as_verified);
  // What a gateway appends meanwhile is no exchange.
  write_file(dir / "more.jsonl", joined(lines) + lines.back() + "\n");
  CHECK(read(dir / "more.jsonl", &verified).as_verified);
  const std::size_t at = lines[1].find("/v1/items");
  REQUIRE(at != std::string::npos);
  lines[1].replace(at, 9, "/v1/other");
  write_file(dir / "a.jsonl", joined(lines));
  CHECK_FALSE(read(dir / "a.jsonl", &verified).as_verified);
  lines.resize(3);
  write_file(dir / "a.jsonl", joined(lines));
  CHECK_FALSE(read(dir / "a.jsonl", &verified).as_verified);
}

TEST_CASE("attack: a line with a raw byte that a terminal obeys is no record") {
  const TempDir dir;
  const auto lines = written(dir);
  REQUIRE(read_line(lines[1]));
  for (const char* raw : {"\x1b", "\x7f", "\xc2\x9b", "\xe2\x80\xae", "\xff"}) {
    std::string bad = lines[1];
    bad.insert(bad.find("s1"), raw);
    CAPTURE(raw);
    CHECK_FALSE(read_line(bad));
  }
  write_file(dir / "b.jsonl", lines[0] + "\n\r\n{}\n" + std::string(9000, ' ') + "\n" + lines[1]);
  const ReadCounts counts = read(dir / "b.jsonl");
  CHECK(counts.records == 1);  // the last one is torn
  CHECK(counts.not_records == 3);
}
