// The packets of the sandbox's first process: what is read is what was written, and nothing else is read.
#include "sandbox-launcher/exec_report.hpp"

#include "tests/support/catch.hpp"

namespace warder::test {
namespace {

ExecBegun some_exec() {
  ExecBegun begun;
  begun.exec = 7;
  begun.pid = 12;
  begun.parent = 3;
  begun.path = "/usr/bin/git";
  begun.cwd = "/work";
  begun.argv = {"git", "", std::string("a\n\xff\0b", 5)};
  begun.left_out = 2;
  return begun;
}

}  // namespace

TEST_CASE("what is executed comes out as it went in") {
  const auto read = decode_exec_report(encode(some_exec()));
  REQUIRE(read);
  const auto& begun = std::get<ExecBegun>(*read);
  CHECK(begun.exec == 7);
  CHECK(begun.pid == 12);
  CHECK(begun.parent == 3);
  CHECK(begun.path == "/usr/bin/git");
  CHECK(begun.cwd == "/work");
  CHECK(begun.argv == some_exec().argv);
  CHECK(begun.left_out == 2);
  CHECK_FALSE(begun.unread);
  const auto end = decode_exec_report(encode(ExecEnded{7, 12, 137, 9}));
  REQUIRE(end);
  CHECK(std::get<ExecEnded>(*end).exit_code == 137);
  CHECK(std::get<ExecEnded>(*end).signal == 9);
  const auto done = decode_exec_report(encode(ExecsDone{5, 1'000, -1, 0}));
  REQUIRE(done);
  CHECK(std::get<ExecsDone>(*done).missing == 1'000);
  CHECK(std::get<ExecsDone>(*done).exit_code == -1);
}

TEST_CASE("attack: a packet that is cut, longer, or of another kind is none") {
  for (const ExecReport& report :
       {ExecReport(some_exec()), ExecReport(ExecEnded{7, 12, 0, 0}), ExecReport(ExecsDone())}) {
    const std::string good = encode(report);
    for (std::size_t size = 0; size < good.size(); ++size) {
      CAPTURE(size);
      CHECK_FALSE(decode_exec_report(good.substr(0, size)));
    }
    CHECK_FALSE(decode_exec_report(good + '\0'));
    for (const int kind : {0, 4, 255}) {
      std::string other = good;
      other[0] = static_cast<char>(kind);
      CHECK_FALSE(decode_exec_report(other));
    }
  }
}

TEST_CASE("attack: a packet that promises more than there may be is none") {
  ExecBegun begun = some_exec();
  begun.argv.assign(kMostArguments + 1, "");
  CHECK_FALSE(decode_exec_report(encode(begun)));
  begun.argv.assign(1, std::string(kMostArgumentBytes + 1, 'x'));
  CHECK_FALSE(decode_exec_report(encode(begun)));
  begun.argv.assign(5, std::string(kMostArgumentBytes, 'x'));
  CHECK_FALSE(decode_exec_report(encode(begun)));
  begun.argv.clear();
  begun.path.assign(kMostPathBytes + 1, 'x');
  CHECK_FALSE(decode_exec_report(encode(begun)));
  begun.path.clear();
  CHECK_FALSE(decode_exec_report(encode(begun) + std::string(kMostPacketBytes, 'x')));
  // The largest that there may be is one.
  begun.path.assign(kMostPathBytes, 'x');
  begun.cwd = begun.path;
  begun.argv.assign(4, std::string(kMostArgumentBytes, 'x'));
  begun.argv.resize(kMostArguments);
  CHECK(encode(begun).size() <= kMostPacketBytes);
  CHECK(decode_exec_report(encode(begun)));
}

}  // namespace warder::test
