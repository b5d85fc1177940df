// From audit records to a policy file: what counts, what does not, and that no record can break out of its comment.
#include "cli/learned_policy.hpp"

#include "audit/format.hpp"
#include "cli/learn_diff.hpp"
#include "config/load.hpp"
#include "policy/policy.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

const audit::Stamp kStamp{"2026-11-30T12:00:00.000000Z", 5};

audit::Intent intent(const std::string& origin, const std::string& method,
                     const std::string& path) {
  audit::Intent out;
  out.session = "s1";
  out.ingress = "transparent";
  out.protocol = "http/1.1";
  out.authority = origin;
  out.method = method;
  out.path = path;
  out.decision = "allow";
  return out;
}

audit::Intent refused(const std::string& origin, const std::string& path, Reason reason,
                      const std::string& rule = "") {
  audit::Intent out = intent(origin, "GET", path);
  out.decision = "deny";
  out.reason = reason;
  out.rule = rule;
  return out;
}

audit::DnsQuery look_up(const std::string& name, const std::string& rule = "") {
  return {"s1", name, "A", "NXDOMAIN", Reason::name_not_allowed, 1, rule};
}

audit::Receipt receipt(std::uint64_t exchange, Reason reason) {
  audit::Receipt out;
  out.session = "s1";
  out.exchange = exchange;
  out.reason = reason;
  return out;
}

struct Records {
  explicit Records(RecordFilter filter = {}) : gatherer(std::move(filter)) {}
  Records& add(audit::Record record) {
    if (auto* one = std::get_if<audit::Intent>(&record)) one->exchange = ++exchanges;
    gatherer.feed(audit::Chain().line(audit::body_of(record), kStamp));
    return *this;
  }
  std::string yaml(const Config& config = {}, const std::string& name = "t") {
    return learned_yaml(config, name, gatherer.take());
  }
  Gatherer gatherer;
  std::uint64_t exchanges = 0;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("learned: what was allowed, observed and refused for want of a rule; loads") {
  audit::Intent observed = intent("https://b.test", "POST", "/x?q=…");
  observed.decision = "observe";
  observed.reason = Reason::host_not_allowed;
  audit::Intent raw = intent("tcp://db.test:5432", "", "");
  raw.protocol = "tcp";
  raw.decision = "deny";
  raw.reason = Reason::port_not_allowed;
  const std::string yaml =
      Records()
          .add(audit::SessionStart{"s1", "t", "", {}, {}, ""})
          .add(intent("https://a.test", "GET", "/v1"))
          .add(std::move(observed))
          .add(refused("https://a.test", "/v2", Reason::path_not_allowed))
          .add(std::move(raw))
          .add(look_up("c.test"))
          .add(audit::DnsQuery{"s1", "localhost", "A", "127.0.0.1", Reason::none, 1, ""})
          .yaml();
  CAPTURE(yaml);
  const Config config = parse_config(yaml, "w.yaml");
  REQUIRE(config.policies.size() == 1);
  CHECK(config.policies[0].name == "t");
  CHECK(has(yaml, "hosts: [a.test], methods: [GET], paths: [\"/v1\", \"/v2\"], action: allow}"));
  CHECK(has(yaml, "hosts: [b.test], methods: [POST], paths: [\"/x\"], action: allow}"));
  CHECK(has(yaml, "hosts: [c.test], methods: [GET, HEAD], paths: [\"/\"], action: allow}"));
  CHECK(has(yaml, "hosts: [db.test], ports: [5432], action: tcp}"));
  CHECK_FALSE(has(yaml, "localhost"));
  CHECK(has(yaml, "not verified"));
  CHECK(has(yaml, "# seen 2 times, refused once, first 2026-11-30T12:00:00.000000Z"));
}

TEST_CASE("learned: attack: tripwires, foreign credentials and explicit denies teach nothing") {
  Records records;
  for (const Reason reason :
       {Reason::placeholder_wrong_host, Reason::placeholder_wrong_place,
        Reason::placeholder_foreign, Reason::foreign_credential, Reason::quarantined,
        Reason::malformed_request, Reason::authority_mismatch, Reason::secret_revoked})
    records.add(refused("https://evil.test", "/drop", reason));
  // Let through, and a tripwire sprang in the body; or the name stands for a private address.
  records.add(intent("https://evil.test", "POST", "/body"));
  records.add(receipt(records.exchanges, Reason::placeholder_wrong_place));
  records.add(intent("https://inside.test", "GET", "/"));
  records.add(receipt(records.exchanges, Reason::address_not_allowed));
  records.add(refused("https://api.test", "/admin", Reason::path_not_allowed, "no-admin"));
  records.add(look_up("bad.test", "no-bad"));
  const std::string yaml = records.yaml();
  CAPTURE(yaml);
  CHECK(parse_config(yaml, "w.yaml").policies.at(0).rules.empty());
  CHECK_FALSE(has(yaml, "evil.test"));
  CHECK(has(yaml, "# refused by a deny rule, once: GET https://api.test/admin"));
  CHECK(has(yaml, "# refused by a deny rule, once: look-up of bad.test"));
}

TEST_CASE(
    "learned: attack: what stands in a record cannot break out of its comment or its quotes") {
  const std::vector<std::string> hostile{"/a\n    rules: [{hosts: [evil.test], action: allow}]\n#",
                                         "/a\r- {hosts: [evil.test], action: allow}",
                                         "/a\xC2\x85- {name: x}",
                                         "/a\xE2\x80\xA8- {hosts: [evil.test], action: allow}",
                                         "/a\"], action: allow}\n      - {hosts: [evil.test]",
                                         "/\x1b[2J\x07/\x7f/\x9b",
                                         "/a\xE2\x80\xAE/b",
                                         "/a#b: c",
                                         "/a'b\\c",
                                         "/[secret:\n]",
                                         std::string("/a\0b", 4),
                                         "/" + std::string(5'000, '"')};
  Records records;
  for (const std::string& path : hostile) {
    records.add(refused("https://api.test", path, Reason::path_not_allowed));
    records.add(refused("https://api.test", path, Reason::path_not_allowed, path));
    records.add(intent("https://api.test", "G" + path, "/"));
    records.add(intent("https://" + path, "GET", "/"));
    records.add(look_up(path));
  }
  const std::string yaml = records.yaml();
  CAPTURE(yaml);
  for (const std::string& line : lines_of(yaml)) {
    CAPTURE(line);
    const std::string text = line.substr(std::min(line.find_first_not_of(' '), line.size()));
    const bool is_ours = text.starts_with("# ") || text.starts_with("- {name: learned-api.test") ||
                         text == "version: 1" || text == "policies:" || text == "t:" ||
                         text == "rules:";
    CHECK(is_ours);
    for (const char c : line) CHECK((c >= ' ' && c <= '~'));
  }
  const Config config = parse_config(yaml, "w.yaml");
  const Policy policy("t", config.policies.at(0).rules);
  CHECK_FALSE(policy.authorize_name(HostName::parse("evil.test").value()).allows());
}

TEST_CASE(
    "learned: only the session or policy that was asked for; lines that are no records are "
    "counted") {
  const auto feed = [](RecordFilter filter) {
    Records records(std::move(filter));
    records.add(audit::SessionStart{"s1", "one", "", {}, {}, ""});
    records.add(intent("https://a.test", "GET", "/"));
    audit::SessionStart other{"s2", "two", "", {}, {}, ""};
    records.add(std::move(other));
    audit::Intent second = intent("https://b.test", "GET", "/");
    second.session = "s2";
    records.add(std::move(second));
    records.gatherer.feed("not json");
    return records.yaml();
  };
  const std::string all = feed({});
  CHECK((has(all, "[a.test]") && has(all, "[b.test]")));
  CHECK(has(all, "# Lines that are no records: 1"));
  const std::string first = feed({"s1", ""});
  CHECK((has(first, "[a.test]") && !has(first, "b.test")));
  const std::string second = feed({"", "two"});
  CHECK((has(second, "[b.test]") && !has(second, "a.test")));
}

TEST_CASE(
    "learned: the rest of a configuration is kept, and a grant that could not load is left out") {
  const Config config = parse_config(
      "version: 1\n"
      "secrets: {tok: {source: {env: T}}}\n"
      "policies:\n"
      "  t:\n"
      "    mode: observe\n"
      "    rules: [{name: api, hosts: [api.test], action: allow},\n"
      "            {name: gone, hosts: [db.test], action: allow}]\n"
      "    grants: [{secret: tok, hosts: [api.test, db.test]}]\n"
      "gateway: {audit: {file: audit/a.jsonl}}\n",
      "/w/w.yaml");
  audit::Intent raw = intent("tcp://db.test:5432", "", "");
  raw.protocol = "tcp";
  raw.decision = "deny";
  raw.reason = Reason::port_not_allowed;
  const std::string yaml =
      Records().add(intent("https://api.test", "GET", "/")).add(std::move(raw)).yaml(config);
  CAPTURE(yaml);
  const Config again = parse_config(yaml, "/w/x.yaml");
  CHECK_FALSE(again.policies.at(0).observes);
  CHECK(again.policies[0].rules.at(0).name == "api");
  CHECK(has(yaml, "{secret: tok, hosts: [api.test]}"));
  CHECK(has(yaml, "/w/audit/a.jsonl"));
}

TEST_CASE("diff: what is granted and not used, by rule, host and grant; deny rules are none") {
  const Config config = parse_config(
      "version: 1\n"
      "secrets: {tok: {source: {env: T}}, key: {source: {env: K}}}\n"
      "policies:\n"
      "  t:\n"
      "    rules: [{name: no, hosts: [x.test], action: deny},\n"
      "            {name: api, hosts: [api.test, two.test], action: allow},\n"
      "            {name: other, hosts: [other.test], action: allow}]\n"
      "    grants: [{secret: tok, hosts: [api.test, two.test]}, {secret: key, hosts: [api.test],\n"
      "              at: [\"body:json:/k\"]}]\n",
      "w.yaml");
  audit::Intent used = intent("https://api.test", "GET", "/");
  used.rule = "api";
  used.uses = {{"tok", 1, "header:authorization"}, {"key", 1, "body:json:/k"}};
  Records records;
  records.add(used).add(receipt(1, Reason::none));
  const Gathered gathered = records.gatherer.take();
  const Unused unused = unused_of(config.policies[0], gathered);
  CHECK(text_of(unused) ==
        "granted, and not used:\n"
        "  two.test of rule 'api' (w.yaml:6)\n"
        "  rule 'other' (w.yaml:7): other.test\n"
        "  grant of 'tok' (w.yaml:8): two.test\n"
        "  grant of 'key' (w.yaml:8): api.test\n");
  CHECK(has(json_of(unused, config.policies[0], gathered),
            R"({"rule":"other","where":"w.yaml:7","unused":"rule","hosts":["other.test"]})"));
}
