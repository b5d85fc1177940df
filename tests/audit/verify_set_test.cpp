#include "audit/verify_set.hpp"

#include <boost/json/parse.hpp>

#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;
using Catch::Matchers::Contains;

namespace {

using Outcome = Verification::Outcome;

// Four runs, each in a file of its own, as a gateway leaves them.
struct Runs {
  TempDir dir;
  TestClock clock;
  SetOptions options;

  Runs() {
    for (int i = 1; i <= 4; ++i) {
      clock.advance(std::chrono::hours(1));
      LogOptions run{file(i), dir / "audit.key", "run" + std::to_string(i)};
      {
        auto log = Log::open(run, clock);
        for (std::uint64_t n = 0; n < 5; ++n) exchange(*log, n);
      }
      // The order of runs must not hang on the resolution of the file system's clock.
      fs::last_write_time(run.file, fs::file_time_type(std::chrono::hours(24 * i)));
    }
    options.files = {dir / "audit"};
    options.vkey = verifier_key(dir / "audit.key");
    options.vkey_from = "the test";
  }
  fs::path file(int i) const { return dir / ("audit/run" + std::to_string(i) + ".jsonl"); }
};

std::string text_of(const std::vector<FileVerification>& results, ReportForm form) {
  std::ostringstream out;
  report(results, form, out);
  return out.str();
}

}  // namespace

TEST_CASE("BR-131 a directory of runs verifies as a whole, in the order of their making") {
  const Runs runs;
  const auto results = verify_set(runs.options);
  REQUIRE(results.size() == 4);
  CHECK(exit_code(results) == 0);
  for (std::size_t i = 0; i < 4; ++i) CHECK(results[i].file == runs.file(static_cast<int>(i) + 1));
}

TEST_CASE("BR-131 a missing run in the middle is reported, a forgotten oldest one is not") {
  const Runs runs;
  fs::remove(runs.file(1));
  CHECK(exit_code(verify_set(runs.options)) == 0);
  fs::remove(runs.file(3));
  const auto results = verify_set(runs.options);
  CHECK(exit_code(results) == 1);
  REQUIRE(results.size() == 2);
  CHECK(results[0].result.outcome == Outcome::intact);
  CHECK(results[1].result.kind == "gap");
  CHECK_THAT(results[1].result.detail, Contains("run3.jsonl"));
}

TEST_CASE("BR-131 a renamed run is missed under its old name") {
  const Runs runs;
  fs::rename(runs.file(2), runs.dir / "audit/other.jsonl");
  const auto results = verify_set(runs.options);
  CHECK(exit_code(results) == 1);
  CHECK(results[2].result.kind == "gap");
}

TEST_CASE("BR-131 a later run bears witness against one that was rolled back") {
  const Runs runs;
  // Run 2 made anew with the same key, shorter: in itself a perfect log.
  fs::remove(runs.file(2));
  {
    Log::open({runs.file(2), runs.dir / "audit.key", "run2"}, runs.clock)->close();
  }
  SetOptions alone = runs.options;
  alone.files = {runs.file(2)};
  CHECK(exit_code(verify_set(alone)) == 0);
  const auto results = verify_set(runs.options);
  CHECK(exit_code(results) == 1);
  const auto bad = std::find_if(results.begin(), results.end(), [](const auto& entry) {
    return entry.result.outcome == Outcome::broken;
  });
  REQUIRE(bad != results.end());
  CHECK(bad->file == runs.file(2));
  CHECK(bad->result.kind == "truncated");
  CHECK_THAT(bad->result.detail, Contains("later run"));
}

TEST_CASE("among several files an anchor goes to its own log") {
  Runs runs;
  fs::copy_file(runs.file(3), runs.dir / "backup3.jsonl");
  runs.options.anchors = {runs.dir / "backup3.jsonl"};
  auto results = verify_set(runs.options);
  CHECK(exit_code(results) == 0);
  CHECK(results[2].result.anchored);
  CHECK_FALSE(results[1].result.anchored);
  fs::remove(runs.file(3));
  fs::remove(runs.file(4));
  results = verify_set(runs.options);
  CHECK(exit_code(results) == 1);
  CHECK(results.back().result.kind == "deleted");
}

TEST_CASE("nothing to check is not a success") {
  const TempDir dir;
  SetOptions options;
  CHECK(exit_code(verify_set(options)) == 2);
  options.files = {dir.path()};
  CHECK(exit_code(verify_set(options)) == 2);
  options.files = {dir / "missing.jsonl"};
  CHECK(exit_code(verify_set(options)) == 2);
  CHECK(exit_code({}) == 2);
}

TEST_CASE("the report says what was trusted and never that a log is complete") {
  const Runs runs;
  const auto results = verify_set(runs.options);
  const std::string text = text_of(results, ReportForm::text);
  CHECK_THAT(text, Contains("intact: ") && Contains("not anchored") && Contains("the test") &&
                       Contains(runs.options.vkey) && Contains(results[0].result.root));
  CHECK_THAT(text, !Contains("complete"));
  const auto json = boost::json::parse(text_of(results, ReportForm::json)).as_object();
  CHECK(json.at("outcome") == "intact");
  const auto& first = json.at("files").as_array().at(0).as_object();
  CHECK(first.at("records") == 13);
  CHECK(first.at("anchored") == false);
  CHECK(first.at("root").as_string() == results[0].result.root);
}

TEST_CASE("BR-133 the report has no byte that a terminal obeys") {
  const TempDir dir;
  const fs::path file = dir / "evil\x1b[2J\n.jsonl";
  write_file(file,
             "{\"v\":1,\"seq\":0,\"time\":\"\\u001b[31m\",\"mono_ns\":1,\"type\":\"log\","
             "\"origin\":\"\\u001b]0;x\\u0007\",\"prev\":\"\"}\n");
  read_or_make_key(dir / "audit.key");
  SetOptions options{{file}, verifier_key(dir / "audit.key"), "", {}};
  for (const auto form : {ReportForm::text, ReportForm::json}) {
    const std::string text = text_of(verify_set(options), form);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\x07') == std::string::npos);
  }
}
