#include "audit/format.hpp"

#include "tests/audit/support.hpp"

using namespace warder;
using namespace warder::audit;
using namespace warder::audit::test;

namespace {

const Stamp kStamp{"2026-11-29T12:00:00.000000Z", 5'000'000'000};

std::string line_of(const std::string& body) { return Chain().line(body, kStamp); }

const std::string kBegin =
    R"({"v":1,"seq":0,"time":"2026-11-29T12:00:00.000000Z","mono_ns":5000000000,)";
const std::string kEnd = R"(,"prev":""})";

}  // namespace

TEST_CASE("golden: the line of every record type") {
  SessionStart start{"s1",       "coding-agent",    "ab12", {"git", "clone"},
                     {"github"}, "old.jsonl 3 AAA="};
  start.uid = 1000;
  start.user = "ann";
  start.host = "box";
  start.cwd = "/work";
  start.config_sha256 = "cd34";
  start.profile = "claude";
  start.kernel = "Linux 6.18";
  CHECK(
      line_of(body_of(Record(start))) ==
      kBegin +
          R"("type":"session_start","session":"s1","policy":"coding-agent",)"
          R"("policy_sha256":"ab12","mode":"enforce","command":["git","clone"],"secrets":["github"],)"
          R"("previous":"old.jsonl 3 AAA=","uid":1000,"user":"ann","host":"box","cwd":"/work",)"
          R"("config_sha256":"cd34","profile":"claude","kernel":"Linux 6.18")" +
          kEnd);
  CHECK(line_of(body_of(Record(SessionEnd{"s1", -1, 7, 2, "exit", 3, 5, 4}))) ==
        kBegin +
            R"("type":"session_end","session":"s1","exit_code":-1,"exchanges":7,"refused":2,)"
            R"("ended":"exit","execs":3,"missing_execs":5,"files":4)" +
            kEnd);
  CHECK(line_of(body_of(Record(
            Exec{"s1", 3, 12, 2, "/bin/ls", "/work", {"ls", "a\nb"}, 1, 1, "", "launcher"}))) ==
        kBegin +
            R"("type":"exec","session":"s1","exec":3,"pid":12,"parent":2,"path":"/bin/ls",)"
            R"("cwd":"/work","argv":["ls","a\nb"],"left_out":1,"count":1,"note":"",)"
            R"("told_by":"launcher")" +
            kEnd);
  CHECK(line_of(body_of(Record(Exit{"s1", 3, 12, 137, 9, "runner"}))) ==
        kBegin +
            R"("type":"exit","session":"s1","exec":3,"pid":12,"exit_code":137,"signal":9,)"
            R"("told_by":"runner")" +
            kEnd);
  CHECK(line_of(
            body_of(Record(FilesChanged{"s1", {{"a", "created"}}, 2, 1, "partial", "launcher"}))) ==
        kBegin +
            R"("type":"files","session":"s1","changes":[{"name":"a","change":"created"}],)"
            R"("git_objects":2,"more":1,"note":"partial","told_by":"launcher")" +
            kEnd);
  CHECK(line_of(body_of(Record(
            DnsQuery{"s1", "evil.test", "A", "NXDOMAIN", Reason::name_not_allowed, 1, "no"}))) ==
        kBegin +
            R"("type":"dns","session":"s1","name":"evil.test","qtype":"A",)"
            R"("answer":"NXDOMAIN","reason":"name_not_allowed","rule":"no")" +
            kEnd);
  CHECK(
      line_of(body_of(Record(Dial{"s1", "transparent", "https://api.test", "api", "t.yaml:3"}))) ==
      kBegin +
          R"("type":"dial","session":"s1","ingress":"transparent","authority":"https://api.test",)"
          R"("rule":"api","where":"t.yaml:3")" +
          kEnd);
  CHECK(line_of(body_of(Record(SecretChange{"s1", "github", 2, "rotated"}))) ==
        kBegin +
            R"("type":"secret","session":"s1","secret":"github","version":2,"change":"rotated")" +
            kEnd);
  CHECK(line_of(body_of(Record(PolicyChange{"s1", "agent", "ab12", "replaced", "SIGHUP", ""}))) ==
        kBegin +
            R"("type":"policy","session":"s1","policy":"agent","policy_sha256":"ab12",)"
            R"("change":"replaced","by":"SIGHUP","detail":"")" +
            kEnd);
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
  approval.fields_sha256 = "ab";
  approval.body_sha256 = "cd";
  approval.how = "cli";
  approval.uid = 1000;
  approval.pid = 7;
  approval.user = "ann";
  CHECK(line_of(body_of(Record(approval))) ==
        kBegin +
            R"("type":"approval","session":"s1","id":"3f9c","decision":"allow","scope":"rule",)"
            R"("until":"2026-11-29T12:10:00Z","rule":"r","where":"t.yaml:3","method":"POST",)"
            R"("authority":"https://api.test","path":"/v1","fields_sha256":"ab",)"
            R"("body_sha256":"cd","count":1,"how":"cli","uid":1000,"pid":7,"user":"ann")" +
            kEnd);
  Intent approved = intent(3);
  approved.uses.clear();
  approved.approval_seq = 12;
  CHECK(line_of(body_of(Record(approved))).ends_with(R"("uses":[],"approval_seq":12,"prev":""})"));
  CHECK(line_of(body_of(Record(intent(3)))) ==
        kBegin +
            R"("type":"intent","session":"s1","exchange":3,"ingress":"transparent",)"
            R"("protocol":"http/1.1","method":"GET","authority":"https://api.test",)"
            R"("path":"/v1/items","decision":"allow","reason":"none","rule":"items",)"
            R"("where":"","uses":[{"name":"github","version":1,)"
            R"("place":"header:authorization"}])" +
            kEnd);
  Intent seen = intent(3);
  seen.decision = "observe";
  seen.reason = Reason::path_not_allowed;
  seen.rule.clear();
  CHECK(line_of(body_of(Record(seen))) ==
        kBegin +
            R"("type":"intent","session":"s1","exchange":3,"ingress":"transparent",)"
            R"("protocol":"http/1.1","method":"GET","authority":"https://api.test",)"
            R"("path":"/v1/items","decision":"observe","reason":"path_not_allowed","rule":"",)"
            R"("where":"","uses":[{"name":"github","version":1,)"
            R"("place":"header:authorization"}])" +
            kEnd);
  Receipt answered = receipt(3, 9);
  answered.masked = {{"github", "body", "base64", 2}};
  answered.swapped = {{"github", "body:json:/key", 1}};
  CHECK(line_of(body_of(Record(answered))) ==
        kBegin +
            R"("type":"receipt","session":"s1","exchange":3,"intent_seq":9,)"
            R"("upstream":"127.0.0.1:8443","tls":"TLSv1.3 TLS_AES_256_GCM_SHA384",)"
            R"("leaf_sha256":"","status":200,"bytes_up":0,"bytes_down":42,)"
            R"("masked":[{"name":"github","place":"body","encoding":"base64","count":2}],)"
            R"("swapped":[{"name":"github","place":"body:json:/key","count":1}],)"
            R"("reason":"none","side":"","connect_us":0,"first_byte_us":0,"total_us":1500)" +
            kEnd);
}

TEST_CASE("golden: the log's own lines") {
  CHECK(line_of(body_of(LogHeader{"warder/audit/gw1", "gw1", "k+1+x", ""})) ==
        kBegin +
            R"("type":"log","origin":"warder/audit/gw1","gateway":"gw1",)"
            R"("software":"warder )" WARDER_VERSION R"(","first_seq":0,"tree_size":0,)"
            R"("key":"k+1+x","previous":"")" +
            kEnd);
  CHECK(line_of(body_of(Resume{"gw2", true})) ==
        kBegin + R"("type":"resume","gateway":"gw2","clean":true)" + kEnd);
  CHECK(line_of(body_of(Repair{"a.jsonl.torn-1", 12, "ff00"})) ==
        kBegin + R"("type":"repair","file":"a.jsonl.torn-1","torn_bytes":12,"torn_sha256":"ff00")" +
            kEnd);
  CHECK(line_of(close_body()) == kBegin + R"("type":"close")" + kEnd);
}

TEST_CASE("golden: a chain of three lines with its checkpoint") {
  std::array<std::uint8_t, 32> seed{};
  const SigningKey key(seed);
  Chain chain;
  std::string out;
  chain.add(close_body(), kStamp, out);
  chain.add(close_body(), kStamp, out);
  const std::string root = to_base64(chain.tree().root());
  chain.add_checkpoint(key, "warder/audit/gw1", out);
  const auto lines = lines_of(out);
  REQUIRE(lines.size() == 3);
  CHECK(lines[1] == R"({"v":1,"seq":1,"time":"2026-11-29T12:00:00.000000Z","mono_ns":5000000000,)"
                    R"("type":"close","prev":")" +
                        to_base64(leaf_hash(lines[0])) + R"("})");
  CHECK(root == to_base64(node_hash(leaf_hash(lines[0]), leaf_hash(lines[1]))));
  CHECK(lines[2].starts_with(
      R"({"v":1,"seq":2,"time":"2026-11-29T12:00:00.000000Z","mono_ns":5000000000,)"
      R"("type":"checkpoint","note":"warder/audit/gw1\n2\n)" +
      root + R"(\n\n— warder-audit )"));
  // Ed25519 is deterministic: the same key and lines make the same bytes everywhere.
  CHECK(to_base64(leaf_hash(lines[2])) == "TdAPfM8+NEza941GkN6KR/ClZiyNximWTFkR981ctkk=");
  CHECK(chain.size() == 3);
}

TEST_CASE("BR-133 no record outgrows what is set aside for it") {
  const std::string huge = "\x01" + std::string(70'000, '"') + "\xff\u2028";
  const std::vector<std::string> many(200, huge);
  constexpr std::uint64_t kMost = UINT64_MAX;
  SessionStart start{huge, huge, huge, many, many, huge, huge};
  start.uid = INT64_MIN;
  start.user = start.host = start.cwd = start.config_sha256 = start.profile = start.kernel = huge;
  const Exec ran{huge, kMost,      UINT32_MAX, UINT32_MAX, huge, huge,
                 many, UINT32_MAX, kMost,      huge,       huge};
  const FilesChanged changed{huge, std::vector<FileChanged>(500, {huge, huge}), kMost, kMost, huge,
                             huge};
  Intent wanted{huge, kMost, huge,
                huge, huge,  huge,
                huge, huge,  Reason::upstream_resolve_failed,
                huge, huge,  std::vector<SecretUsed>(500, {huge, UINT32_MAX, huge}),
                kMost};
  const Approval said{huge, huge, huge, huge,  huge, huge,      huge,      huge, huge,
                      huge, huge, huge, kMost, huge, INT64_MIN, INT64_MIN, huge};
  Receipt answered{huge,
                   kMost,
                   kMost,
                   huge,
                   huge,
                   huge,
                   INT32_MIN,
                   kMost,
                   kMost,
                   std::vector<SecretMasked>(500, {huge, huge, huge, kMost}),
                   std::vector<SecretSwapped>(500, {huge, huge, kMost}),
                   Reason::upstream_resolve_failed,
                   huge,
                   std::chrono::microseconds::min(),
                   std::chrono::microseconds::min(),
                   std::chrono::microseconds::min()};
  Chain chain;
  std::string ignored;
  chain.add(close_body(), kStamp, ignored);
  const Stamp late{"2026-11-29T12:00:00.000000Z", kMost};
  const auto size = [&](const std::string& body) { return chain.line(body, late).size() + 20; };
  CHECK(size(body_of(Record(start))) < kMaxRecordBytes);
  CHECK(size(body_of(Record(SessionEnd{huge, INT32_MIN, kMost, kMost, huge, kMost, kMost,
                                       kMost}))) < kMaxRecordBytes);
  CHECK(size(body_of(Record(ran))) < kMaxRecordBytes);
  CHECK(size(body_of(Record(Exit{huge, kMost, UINT32_MAX, INT32_MIN, UINT32_MAX, huge}))) <
        kMaxRecordBytes);
  CHECK(size(body_of(Record(changed))) < kMaxRecordBytes);
  CHECK(size(body_of(Record(DnsQuery{huge, huge, huge, huge, Reason::none, 1, huge}))) <
        kMaxRecordBytes);
  CHECK(size(body_of(Record(Dial{huge, huge, huge, huge, huge}))) < kMaxRecordBytes);
  CHECK(size(body_of(Record(wanted))) < kMaxRecordBytes);
  CHECK(size(body_of(Record(said))) < kMaxRecordBytes);
  CHECK(size(body_of(Record(answered))) < kMaxReceiptBytes);
  CHECK(size(body_of(LogHeader{huge, huge, huge, huge})) < kMaxRecordBytes);
  CHECK(size(body_of(Repair{huge, kMost, huge})) < kMaxRecordBytes);
  for (const std::string& body :
       {body_of(Record(start)), body_of(Record(wanted)), body_of(Record(answered)),
        body_of(Record(ran)), body_of(Record(changed))}) {
    CHECK(ParsedLine::parse(chain.line(body, late)));
  }
}

TEST_CASE("a line that is not one of ours is not read as one") {
  const std::string good = line_of(close_body());
  REQUIRE(ParsedLine::parse(good));
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("[1]"), std::string("null"), good + "x",
        good.substr(1), std::string(5000, '['), std::string(R"({"v":2,"seq":0})"),
        std::string(R"({"v":1,"seq":-1,"time":"t","mono_ns":1,"type":"close","prev":""})"),
        std::string(R"({"v":1,"seq":0.5,"time":"t","mono_ns":1,"type":"close","prev":""})"),
        std::string(R"({"v":1,"seq":0,"time":"t","mono_ns":1,"type":"close","prev":"AA=="})")}) {
    CAPTURE(bad);
    CHECK_FALSE(ParsedLine::parse(bad));
  }
}
