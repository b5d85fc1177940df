// From what a sandbox tells of its executions to records: each of its own, equal ones together, and never without end.
#include "cli/run_records.hpp"

#include "tests/support/catch.hpp"

namespace warder::test {
namespace {

// Keeps what it is given. Without room it refuses, as the writer does.
class KeptLog final : public audit::Log {
 public:
  void append(audit::Record record, audit::Durability, unsigned, Done done) override {
    if (room) records.push_back(std::move(record));
    done(room, records.size());
  }
  bool append_receipt(audit::Receipt) override { return false; }
  bool healthy() const override { return room; }
  bool close() override { return true; }
  std::filesystem::path file() const override { return {}; }

  template <class Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const audit::Record& each : records) {
      if (const auto* kind = std::get_if<Kind>(&each)) found.push_back(*kind);
    }
    return found;
  }

  std::vector<audit::Record> records;
  bool room = true;
};

struct World {
  KeptLog log;
  RunRecords records{log, "s1",
                     [](const std::string& text) { return text == "real" ? "[secret:tok]" : text; },
                     RunRecords::Teller::launcher};
  std::uint64_t number = 0;

  bool execute(std::vector<std::string> argv, std::uint32_t pid = 5) {
    ExecBegun begun;
    begun.exec = ++number;
    begun.pid = pid;
    begun.path = "/bin/" + argv.front();
    begun.argv = std::move(argv);
    return records.take(encode(begun));
  }
};

}  // namespace

TEST_CASE("an execution, its end, and the sums") {
  World world;
  CHECK(world.execute({"curl", "real"}));
  CHECK(world.records.take(encode(ExecEnded{1, 5, 7, 0})));
  CHECK(world.records.take(encode(ExecEnded{1, 5, 7, 0})));  // told twice is recorded once
  CHECK(world.records.take(encode(ExecsDone{1, 12, 137, 9})));
  CHECK(world.records.finish());
  const auto execs = world.log.all<audit::Exec>();
  REQUIRE(execs.size() == 1);
  CHECK(execs[0].session == "s1");
  CHECK(execs[0].argv == std::vector<std::string>{"curl", "[secret:tok]"});
  CHECK(execs[0].told_by == "launcher");
  const auto ends = world.log.all<audit::Exit>();
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].exit_code == 7);
  audit::SessionEnd end;
  world.records.sum_up(end);
  CHECK(end.ended == "signal");
  CHECK(end.execs == 1);
  CHECK(end.missing_execs == 12);
}

TEST_CASE("a sandbox that goes without its last word was killed") {
  World world;
  audit::SessionEnd end;
  world.records.sum_up(end);
  CHECK(end.ended == "killed");
}

TEST_CASE("the end of a process is that of what it executed last") {
  World world;
  world.execute({"sh"});
  world.execute({"ls"});
  world.records.take(encode(ExecEnded{1, 5, 0, 0}));
  world.records.take(encode(ExecEnded{2, 5, 0, 0}));
  const auto ends = world.log.all<audit::Exit>();
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].exec == 2);
}

TEST_CASE("equal executions are counted together, with the right sum") {
  World world;
  for (int i = 0; i < 500; ++i) world.execute({"true"});
  world.execute({"true", "other"});
  CHECK(world.records.finish());
  std::uint64_t sum = 0;
  const auto execs = world.log.all<audit::Exec>();
  for (const audit::Exec& each : execs) sum += each.count;
  CHECK(sum == 501);
  // 20 in each second that it took, and one for the rest of it.
  CHECK(execs.size() < 500);
  CHECK(execs.back().note == "repeated");
}

TEST_CASE("attack: executions without end do not fill the disk") {
  World world;
  const std::uint64_t many = RunRecords::kMostRecords + 500;
  for (std::uint64_t i = 0; i < many; ++i) world.execute({"true", std::to_string(i)});
  CHECK(world.records.finish());
  const auto execs = world.log.all<audit::Exec>();
  CHECK(execs.size() == RunRecords::kMostRecords + 1);
  CHECK(execs.back().note == "capped");
  audit::SessionEnd end;
  world.records.sum_up(end);
  CHECK(end.execs == many);
}

TEST_CASE("attack: few executions with long arguments do not fill the disk either") {
  World world;
  const std::string long_one(kMostArgumentBytes, 'x');
  for (int i = 0; i < 12'000; ++i)
    world.execute({"true", std::to_string(i), long_one, long_one, long_one});
  std::size_t bytes = 0;
  for (const audit::Exec& each : world.log.all<audit::Exec>()) {
    for (const std::string& argument : each.argv) bytes += argument.size();
  }
  CHECK(bytes <= RunRecords::kMostBytes);
  CHECK(bytes > RunRecords::kMostBytes * 9 / 10);
}

TEST_CASE("attack: a packet that is none is refused") {
  World world;
  CHECK_FALSE(world.records.take(""));
  CHECK_FALSE(world.records.take(R"({"v":1,"type":"close"})"));
  CHECK(world.log.records.empty());
}

TEST_CASE("what the log had no room for is told when it has, and else the record is not whole") {
  World world;
  world.log.room = false;
  world.execute({"ls"});
  world.execute({"cat"});
  CHECK_FALSE(world.records.finish());
  world.log.room = true;
  CHECK(world.records.finish());
  const auto execs = world.log.all<audit::Exec>();
  REQUIRE(execs.size() == 1);
  CHECK(execs[0].note == "unrecorded");
  CHECK(execs[0].count == 2);
}

TEST_CASE("changed files fill as many records as they need, and none is lost at the seams") {
  World world;
  FileChanges changes;
  for (int i = 0; i < 300; ++i)
    changes.changes.push_back({std::string(200, '\n') + std::to_string(i), "created"});
  changes.git_objects = 3;
  changes.more = 4;
  world.records.changed(changes);
  const auto files = world.log.all<audit::FilesChanged>();
  CHECK(files.size() > 5);
  std::size_t sum = 0;
  std::uint64_t more = 0;
  for (const audit::FilesChanged& each : files) {
    sum += each.changes.size();
    more += each.more;
  }
  CHECK(sum == 300);
  CHECK(more == 4);
  audit::SessionEnd end;
  world.records.sum_up(end);
  CHECK(end.files == 304);
}

}  // namespace warder::test
