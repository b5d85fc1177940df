// One line of every record type beside the file that says what it looks like; audit/schema.json is checked against the
// same files. WARDER_WRITE_GOLDEN=1 writes them anew.
#include <cstdlib>
#include <map>

#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;

namespace {

std::map<std::string, std::string> bodies() {
  Approval approval;
  approval.session = "s1";
  approval.id = "3f9c";
  approval.decision = "allow";
  approval.scope = "rule";
  approval.until = "2026-11-29T12:10:00Z";
  approval.rule = "r";
  approval.where = "t.yaml:3";
  approval.method = "POST";
  approval.authority = "https://api.test";
  approval.path = "/v1";
  approval.fields_sha256 = std::string(64, 'a');
  approval.body_sha256 = std::string(64, 'b');
  approval.how = "cli";
  approval.uid = 1000;
  approval.pid = 7;
  approval.user = "ann";
  Intent approved = intent(3);
  approved.approval_seq = 12;
  Receipt full = receipt(3, 14);
  full.masked = {{"github", "body", "base64", 2}};
  full.swapped = {{"github", "body:json:/key", 1}};
  SessionStart start;
  start.session = "s1";
  start.policy = "coding-agent";
  start.policy_sha256 = std::string(64, 'c');
  start.command = {"git", "clone"};
  start.secrets = {"github"};
  start.uid = 1000;
  start.user = "ann";
  start.host = "h";
  start.cwd = "/ws";
  start.config_sha256 = std::string(64, 'f');
  start.profile = "codex";
  start.kernel = "6.1";
  start.previous = "old.jsonl 3 47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
  SessionEnd end;
  end.session = "s1";
  end.exit_code = 137;
  end.exchanges = 7;
  end.refused = 2;
  end.ended = "signal";
  end.execs = 4;
  end.missing_execs = 1;
  end.files = 1;
  const Exec exec{"s1", 1, 7, 1, "/usr/bin/git", "/ws", {"git", "status"}, 0, 1, "", "launcher"};
  const FilesChanged files{"s1", {{"a|b`c", "created"}}, 3, 0, "partial", "runner"};
  const BoundState bound{"s1", "memory", "2GiB", "cgroup v2", "reached", 2147483648};
  return {
      {"session_start", body_of(Record(start))},
      {"session_end", body_of(Record(end))},
      {"exec", body_of(Record(exec))},
      {"exit", body_of(Record(Exit{"s1", 1, 7, 137, 9, "launcher"}))},
      {"files", body_of(Record(files))},
      {"limit", body_of(Record(bound))},
      {"dns", body_of(Record(DnsQuery{"s1", "evil.test", "A", "NXDOMAIN", Reason::name_not_allowed,
                                      1, "no"}))},
      {"dial", body_of(Record(Dial{"s1", "transparent", "https://api.test", "api", "t.yaml:3"}))},
      {"secret", body_of(Record(SecretChange{"s1", "github", 2, "rotated"}))},
      {"policy", body_of(Record(
                     PolicyChange{"s1", "agent", std::string(64, 'd'), "replaced", "SIGHUP", ""}))},
      {"approval", body_of(Record(approval))},
      {"intent", body_of(Record(intent(3)))},
      {"intent.approved", body_of(Record(approved))},
      {"receipt", body_of(Record(full))},
      {"log", body_of(LogHeader{"warder/audit/gw1", "gw1", "warder-audit+00000000+AQ==", ""})},
      {"resume", body_of(Resume{"gw1", false})},
      {"repair", body_of(Repair{"a.jsonl.torn-1", 17, std::string(64, 'e')})},
      {"close", close_body()},
      {"checkpoint", checkpoint_body("warder/audit/gw1\n2\nroot\n\n— warder-audit sig\n")},
  };
}

}  // namespace

TEST_CASE("golden: every record type is written as its file says") {
  const fs::path directory = fs::path(WARDER_SOURCE_DIR) / "tests/audit/golden";
  const Stamp stamp{"2026-11-29T12:00:00.000000Z", 5'000'000'000};
  for (const auto& [name, body] : bodies()) {
    const std::string line = Chain().line(body, stamp) + "\n";
    const fs::path file = directory / (name + ".json");
    if (std::getenv("WARDER_WRITE_GOLDEN") != nullptr) write_file(file, line);
    CAPTURE(name);
    CHECK(line == read_file(file));
  }
}
