// Every bad configuration has one error: its place, the entry in quotes, and what to write instead.
#include <string>
#include <vector>

#include "config/load.hpp"
#include "tests/support/catch.hpp"

using namespace warder;

namespace {

struct Bad {
  std::string yaml;
  std::string error;
};

void check(const std::vector<Bad>& table) {
  for (const Bad& bad : table) {
    CAPTURE(bad.yaml);
    std::string error = "it loads";
    try {
      (void)parse_config(bad.yaml, "w.yaml");
    } catch (const ConfigError& thrown) {
      error = thrown.what();
    }
    CHECK(error == bad.error);
    // Where a value was pasted in place of a name, nobody gets to read it in a log.
    CHECK(error.find("theValueItself") == std::string::npos);
  }
}

// The entry goes below `rules:`, at 5:9.
std::string with_rule(const std::string& rule) {
  return "version: 1\npolicies:\n  t:\n    rules:\n      - " + rule + "\n";
}
// The entry goes into a rule that is right without it, at 5:42.
std::string in_rule(const std::string& more) {
  return with_rule("{hosts: [a.test], action: allow, " + more + "}");
}
// The entry goes below `secrets:`, at 3:3.
std::string with_secret(const std::string& secret) { return "version: 1\nsecrets:\n  " + secret; }
// The entry goes below `grants:`, at 7:9.
std::string with_grant(const std::string& grant) {
  return with_secret("tok: {source: {env: T}}\npolicies:\n  t:\n    grants:\n      - " + grant +
                     "\n");
}
// The entry goes below `gateway:`, at 3:3.
std::string with_gateway(const std::string& entry) { return "version: 1\ngateway:\n  " + entry; }

}  // namespace

TEST_CASE("bad config: the file as a whole") {
  check({
      {"", R"(w.yaml:1:1: the file is empty, which would allow nothing: begin with "version: 1")"},
      {"# nothing\n",
       R"(w.yaml:1:1: the file is empty, which would allow nothing: begin with "version: 1")"},
      {"---\n",
       R"(w.yaml:1:1: the file is empty, which would allow nothing: begin with "version: 1")"},
      {"version: 1\n---\nversion: 1\n",
       "w.yaml:2:1: a second YAML document begins here: a configuration is one document"},
      {"[]\n",
       R"(w.yaml:1:1: the configuration must be a map that begins with "version: 1", not a list)"},
      {"allow everything\n",
       R"(w.yaml:1:1: the configuration must be a map that begins with "version: 1", not "allow everything")"},
      {"policies: {}\n", R"(w.yaml:1:1: 'version' is missing: begin with "version: 1")"},
      {"version: 2\n", R"(w.yaml:1:10: version "2" is not known: write version: 1)"},
      {"version: \"1\"\n", R"(w.yaml:1:10: version "1" is not known: write version: 1)"},
      {"version:\n", "w.yaml:1:1: 'version' has no value: give it one, or remove the key"},
      {"version: 1\nversion: 1\n",
       R"(w.yaml:2:1: key "version" stands twice in this map (first in line 1): remove one)"},
      {"version: 1\npolices: {}\n",
       "w.yaml:2:1: unknown key 'polices' in the configuration: did you mean 'policies'?"},
      {"version: 1\nzzzzzzz: {}\n",
       "w.yaml:2:1: unknown key 'zzzzzzz' in the configuration: known are version, secrets, "
       "policies, gateway"},
      {"version: 1\ninclude: [x]\n",
       "w.yaml:2:1: unknown key 'include' in the configuration: known are version, secrets, "
       "policies, gateway"},
      {"version: 1\n	policies: {}\n",
       "w.yaml:2:1: not YAML: illegal tab when looking for indentation"},
      {"version: 1\npolicies: {t: {rules: [}}\n", "w.yaml:2:24: not YAML: illegal flow end"},
      {"version: 1\nbase: &b {x: 1}\n",
       R"(w.yaml:2:7: a YAML anchor ("&") stands here, which is not supported: write the text out where it is used)"},
      {"version: 1\npolicies: {t: {rules: [{hosts: [*.a.test], action: allow}]}}\n",
       R"(w.yaml:2:33: a word begins with "*", which is an alias to YAML and not supported: put it in quotes, as in "*.example.com")"},
      {"version: 1\npolicies: {t: {<<: {rules: []}}}\n",
       R"(w.yaml:2:16: the YAML merge key "<<" is not supported: write the keys out)"},
      {"version: !!int 1\n",
       R"(w.yaml:1:10: a YAML tag "tag:yaml.org,2002:int" stands here, which is not supported)"},
      {"version: 1\n? [a]\n: b\n", "w.yaml:2:3: a key must be a word: not a list, a map or null"},
      {"version: 1\n}\n", "w.yaml:2:1: not YAML: illegal flow end"},
  });
}

TEST_CASE("bad config: policies") {
  check({
      {"version: 1\npolicies:\n",
       "w.yaml:2:1: 'policies' has no value: give it one, or remove the key"},
      {"version: 1\npolicies: [t]\n",
       "w.yaml:2:11: 'policies' must be a map (key: value), not a list"},
      {"version: 1\npolicies: {a b: {}}\n",
       R"(w.yaml:2:12: policy name "a b" may have letters, digits, '-' and '_' only, up to 64)"},
      {"version: 1\npolicies: {t: [x]}\n",
       "w.yaml:2:15: policy 't' must be a map with rules and grants, not a list"},
      {"version: 1\npolicies: {t: }\n",
       "w.yaml:2:12: policy 't' must be a map with rules and grants, not empty"},
      {"version: 1\npolicies: {t: {rule: []}}\n",
       "w.yaml:2:16: unknown key 'rule' in a policy: did you mean 'rules'?"},
      {"version: 1\npolicies: {t: {limits: {uplod: 1GiB}}}\n",
       "w.yaml:2:25: unknown key 'uplod' in limits: did you mean 'upload'?"},
      {"version: 1\npolicies: {t: {limits: {upload: 1GB}}}\n",
       "w.yaml:2:33: 'upload' is \"1GB\": write a size with its unit, from 1B to 1024GiB, such as "
       "64KiB, "
       "1MiB or 1GiB"},
      {"version: 1\npolicies: {t: {limits: {upload: 1025GiB}}}\n",
       "w.yaml:2:33: 'upload' is \"1025GiB\": write a size with its unit, from 1B to 1024GiB, such "
       "as "
       "64KiB, 1MiB or 1GiB"},
      {"version: 1\npolicies: {t: {limits: {requests: 0}}}\n",
       "w.yaml:2:35: 'requests' is \"0\": write a number from 1 to 1000000000"},
      {"version: 1\npolicies: {t: {limits: {requests: -1}}}\n",
       "w.yaml:2:35: 'requests' is \"-1\": write a number from 1 to 1000000000"},
      {"version: 1\npolicies: {t: {limits: {concurrent: 1KiB}}}\n",
       "w.yaml:2:37: 'concurrent' is \"1KiB\": write a number from 1 to 1000000000"},
      {"version: 1\npolicies: {t: {limits: {lifetime: 60}}}\n",
       "w.yaml:2:35: 'lifetime' is \"60\": write a time with its unit, from 1ms to 720h, such as "
       "90s, 30m "
       "or 8h"},
      {"version: 1\npolicies: {t: {limits: {lifetime: 18446744073709551617s}}}\n",
       "w.yaml:2:35: 'lifetime' is \"18446744073709551617s\": write a time with its unit, from 1ms "
       "to "
       "720h, such as 90s, 30m or 8h"},
      {"version: 1\npolicies: {t: {limits: [requests]}}\n",
       "w.yaml:2:24: 'limits' must be a map (key: value), not a list"},
      {"version: 1\npolicies: {t: {limits: {requests:}}}\n",
       "w.yaml:2:25: 'requests' has no value: give it one, or remove the key"},
      {"version: 1\npolicies: {t: {rules: {}}}\n",
       "w.yaml:2:23: 'rules' must be a list, not a map"},
      {"version: 1\npolicies: {t: {rules: }}\n",
       "w.yaml:2:16: 'rules' has no value: give it one, or remove the key"},
      {"version: 1\npolicies: {t: {rules: [api.test]}}\n",
       R"(w.yaml:2:24: a rule must be a map such as {hosts: [api.example.com], action: allow}, not "api.test")"},
      {"version: 1\npolicies: {t: {grants: x}}\n",
       R"(w.yaml:2:24: 'grants' must be a list, not "x")"},
  });
}

TEST_CASE("bad config: rules") {
  check({
      {with_rule("{hostz: [a.test], action: allow}"),
       "w.yaml:5:10: unknown key 'hostz' in a rule: did you mean 'hosts'?"},
      {with_rule("{host: a.test, action: allow}"),
       "w.yaml:5:10: unknown key 'host' in a rule: did you mean 'hosts'?"},
      {with_rule("{action: allow}"), "w.yaml:5:9: a rule has no 'hosts': add it"},
      {with_rule("{hosts: a.test, action: allow}"),
       R"(w.yaml:5:17: 'hosts' must be a list, not "a.test": write hosts: [a.test])"},
      {with_rule("{hosts: [], action: allow}"),
       "w.yaml:5:17: 'hosts' is an empty list: name at least one, or remove the key"},
      {with_rule("{hosts: , action: allow}"),
       "w.yaml:5:10: 'hosts' has no value: give it one, or remove the key"},
      {with_rule("{hosts: [[a.test]], action: allow}"),
       "w.yaml:5:18: 'hosts' must be text, not a list"},
      {with_rule("{hosts: [a.test]}"), "w.yaml:5:9: a rule has no 'action': add it"},
      {with_rule("{hosts: [a.test], action: permit}"),
       R"(w.yaml:5:35: unknown action "permit": known are allow, deny, ask, tcp, tunnel)"},
      {with_rule("{hosts: [a.test], action: Allow}"),
       R"(w.yaml:5:35: unknown action "Allow": did you mean 'allow'?)"},
      {with_rule("{hosts: [a.test], methods: [TRACE], action: ask}"),
       "w.yaml:5:9: rule 'rule-1' allows method \"TRACE\", which is always refused: remove it"},
      {"version: 1\npolicies: {t: {ask: {timeout: 500ms}}}\n",
       R"(w.yaml:2:31: 'timeout' is "500ms": write a time from 1s to 60m)"},
      {"version: 1\npolicies: {t: {ask: {timeout: 61m}}}\n",
       R"(w.yaml:2:31: 'timeout' is "61m": write a time from 1s to 60m)"},
      {"version: 1\npolicies: {t: {ask: {pending: 257}}}\n",
       R"(w.yaml:2:31: 'pending' is "257": write a number of open questions, from 1 to 256)"},
      {"version: 1\npolicies: {t: {ask: {pending: 0}}}\n",
       R"(w.yaml:2:31: 'pending' is "0": write a number of open questions, from 1 to 256)"},
      {"version: 1\npolicies: {t: {ask: {pendign: 2}}}\n",
       "w.yaml:2:22: unknown key 'pendign' in ask: did you mean 'pending'?"},
      {"version: 1\npolicies: {t: {ask: 5}}\n",
       "w.yaml:2:21: 'ask' must be a map (key: value), not \"5\""},
      {with_rule(R"({hosts: ["*"], action: allow})"),
       R"(w.yaml:5:18: hosts: "*" would mean every host: name the hosts, or write "*.example.com" for all below one)"},
      {with_rule(R"({hosts: ["https://a.test/"], action: allow})"),
       R"(w.yaml:5:18: hosts: "https://a.test/" has a scheme, which a host does not have: write a.test instead)"},
      {with_rule(R"({hosts: ["a.test:443"], action: allow})"),
       R"(w.yaml:5:18: hosts: "a.test:443" has a port, which a host does not have: write a.test and ports: [443] instead)"},
      {with_rule("{hosts: [10.0.0.1/8], action: allow}"),
       R"(w.yaml:5:18: hosts: "10.0.0.1/8" has bits set behind its prefix: write 10.0.0.0/8, or the one address as 10.0.0.1)"},
      {with_rule(R"({hosts: [""], action: allow})"),
       R"(w.yaml:5:18: hosts: "" is no host: write a name such as "api.example.com")"},
      {with_rule("{hosts: [a.test, A.TEST.], action: allow}"),
       R"(w.yaml:5:26: "A.TEST." stands twice in this list: remove one)"},
      {in_rule("port: 443"), "w.yaml:5:42: unknown key 'port' in a rule: did you mean 'ports'?"},
      {in_rule("ports: 443"),
       R"(w.yaml:5:49: 'ports' must be a list, not "443": write ports: [443])"},
      {in_rule(R"(ports: ["443"])"),
       R"(w.yaml:5:50: port "443" is text: write 443 without quotes)"},
      {in_rule("ports: [70000]"),
       R"(w.yaml:5:50: port "70000" is out of range: a port is a number from 1 to 65535)"},
      {in_rule("ports: [0]"),
       R"(w.yaml:5:50: port "0" is out of range: a port is a number from 1 to 65535)"},
      {in_rule("ports: [-1]"), R"(w.yaml:5:50: port "-1" is not a number from 1 to 65535)"},
      {in_rule("ports: [9000-9100]"),
       R"(w.yaml:5:50: port "9000-9100" is a range, which is not there yet: list each port)"},
      {in_rule("ports: [0443]"), R"(w.yaml:5:50: port "0443" has a leading zero: write 443)"},
      {in_rule("ports: [https]"), R"(w.yaml:5:50: port "https" is not a number from 1 to 65535)"},
      {in_rule("ports: [443, 443]"), R"(w.yaml:5:55: "443" stands twice in this list: remove one)"},
      {in_rule("ports: [99999999999999999999]"),
       R"(w.yaml:5:50: port "99999999999999999999" is out of range: a port is a number from 1 to 65535)"},
      {in_rule("ports: [{a: 1}]"), "w.yaml:5:50: 'ports' must hold numbers, not a map"},
      {in_rule("methods: [get]"),
       R"(w.yaml:5:52: method "get" is not in upper case, and methods are case-sensitive: write GET)"},
      {in_rule("methods: GET"),
       R"(w.yaml:5:51: 'methods' must be a list, not "GET": write methods: [GET])"},
      {in_rule(R"(methods: ["*"])"), R"(w.yaml:5:52: method "*": leave 'methods' out to mean any)"},
      {in_rule(R"(methods: ["G T"])"),
       R"(w.yaml:5:52: method "G T" is not a method: write a word such as GET)"},
      {in_rule("methods: [TRACE]"),
       R"(w.yaml:5:9: rule 'rule-1' allows method "TRACE", which is always refused: remove it)"},
      {in_rule("methods: []"),
       "w.yaml:5:51: 'methods' is an empty list: name at least one, or remove the key"},
      {in_rule(R"(paths: ["repos/**"])"),
       R"(w.yaml:5:50: paths: "repos/**" does not begin with a slash: write "/repos/**")"},
      {in_rule(R"(paths: ["/a?b"])"),
       R"(w.yaml:5:50: paths: "/a?b" has a query or fragment, which paths are matched without: write "/a")"},
      {in_rule("paths: /**"),
       R"(w.yaml:5:49: 'paths' must be a list, not "/**": write paths: [/**])"},
      {in_rule("allow_private: yes"),
       R"(w.yaml:5:57: 'allow_private' must be true or false, not "yes")"},
      {with_rule("{hosts: [a.test], action: deny, allow_private: true}"),
       "w.yaml:5:9: rule 'rule-1' is a deny with allow_private, which contradict: remove "
       "allow_private"},
      {in_rule("addresses: [10.0.0.0/8]"),
       "w.yaml:5:42: key 'addresses' in a rule is not there yet: remove it"},
      {in_rule("query: {a: b}"), "w.yaml:5:49: 'query' must be a list, not a map"},
      {in_rule("query: id"), R"(w.yaml:5:49: 'query' must be a list, not "id": write query: [id])"},
      {in_rule(R"(query: ["*"])"),
       R"(w.yaml:5:50: query: "*" would mean any key: leave 'query' out to mean any)"},
      {in_rule(R"(query: ["a=b"])"),
       R"(w.yaml:5:50: query: "a=b" has a character that ends or escapes a key, and keys are written alone: write "a")"},
      {in_rule(R"(query: ["%69d"])"),
       R"(w.yaml:5:50: query: "%69d" has a character that ends or escapes a key, and keys are written alone: write "id")"},
      {in_rule(R"(query: ["a b"])"),
       R"(w.yaml:5:50: query: "a b" has a space or control character in it, or is none: write the key alone)"},
      {in_rule(R"(query: [""])"), R"(w.yaml:5:50: query: "" is no key: write its name)"},
      {in_rule("query: [id, id]"), R"(w.yaml:5:54: "id" stands twice in this list: remove one)"},
      {in_rule("headers: [x-mode]"),
       "w.yaml:5:51: 'headers' must be a map (key: value), not a list"},
      {in_rule("headers: {}"),
       "w.yaml:5:51: 'headers' is an empty map: name at least one, or remove the key"},
      {in_rule("headers: {x-mode: prod}"),
       R"(w.yaml:5:60: 'headers' must be a list, not "prod": write headers: [prod])"},
      {in_rule("headers: {x-mode: []}"),
       "w.yaml:5:60: 'headers' is an empty list: name at least one, or remove the key"},
      {in_rule(R"(headers: {x-mode: [""]})"),
       R"(w.yaml:5:61: headers: "" is no value: write "*" for any)"},
      {in_rule(R"(headers: {x-mode: [" a"]})"),
       R"(w.yaml:5:61: headers: " a" begins or ends with a space, which no value does: write "a")"},
      {in_rule(R"(headers: {x-mode: ["a**"]})"),
       R"(w.yaml:5:61: headers: "a**" has two stars in a row: "*" is any run of characters)"},
      {in_rule("headers: {x-mode: [a], X-Mode: [b]}"),
       R"(w.yaml:5:65: headers: "X-Mode" stands twice in this map (letters may differ): remove one)"},
      {in_rule(R"(headers: {"x mode": [a]})"),
       R"(w.yaml:5:52: headers: "x mode" is no header field: write a name such as x-environment)"},
      {in_rule("headers: {Host: [a.test]}"),
       R"(w.yaml:5:52: headers: "Host" is what the host is decided by: write hosts: [...] instead)"},
      {in_rule("headers: {content-length: [\"1\"]}"),
       R"(w.yaml:5:52: headers: "content-length" is how a length is declared: write max_body: 64KiB instead)"},
      {in_rule("headers: {Authorization: [\"*\"]}"),
       R"(w.yaml:5:52: headers: "Authorization" holds credentials, which rules do not look at: remove it, and say in a grant which secret may be used where)"},
      {in_rule("headers: {X_Api_Key: [\"*\"]}"),
       R"(w.yaml:5:52: headers: "X_Api_Key" holds credentials, which rules do not look at: remove it, and say in a grant which secret may be used where)"},
      {in_rule("headers: {cookie: [\"*\"]}"),
       R"(w.yaml:5:52: headers: "cookie" holds credentials, which rules do not look at: remove it, and say in a grant which secret may be used where)"},
      {in_rule("headers: {transfer-encoding: [\"*\"]}"),
       R"(w.yaml:5:52: headers: "transfer-encoding" belongs to the connection, which ends at the gateway, so its origin never sees it: remove it)"},
      {in_rule("max_body: 64KB"),
       R"(w.yaml:5:52: 'max_body' is "64KB": write bytes, or a size such as 64KiB, 10MiB or 1GiB, up to 1024GiB)"},
      {in_rule("max_body: -1"),
       R"(w.yaml:5:52: 'max_body' is "-1": write bytes, or a size such as 64KiB, 10MiB or 1GiB, up to 1024GiB)"},
      {in_rule("max_body: 18446744073709551615GiB"),
       R"(w.yaml:5:52: 'max_body' is "18446744073709551615GiB": write bytes, or a size such as 64KiB, 10MiB or 1GiB, up to 1024GiB)"},
      {with_rule("{hosts: [a.test], action: deny, max_body: 1}"),
       "w.yaml:5:9: rule 'rule-1' is a deny with max_body, which says how much is allowed: remove "
       "it, and write it in the rule that allows"},
      {with_rule("{hosts: [a.test], ports: [5432], action: tcp, max_body: 1}"),
       "w.yaml:5:9: rule 'rule-1' has action tcp, which inspects nothing, and 'max_body': remove "
       "'max_body', or write action: allow"},
      {with_rule("{hosts: [a.test], ports: [5432], action: tcp, query: [id]}"),
       "w.yaml:5:9: rule 'rule-1' has action tcp, which inspects nothing, and 'query': remove "
       "'query', or write action: allow"},
      {in_rule(R"(name: "a b")"),
       R"(w.yaml:5:48: rule name "a b" may have letters, digits, '.', '-' and '_' only, up to 64)"},
      {in_rule("name: x}\n      - {hosts: [b.test], action: deny, name: x"),
       "w.yaml:6:9: rule 'x' stands twice in this policy (first at w.yaml:5): give one another "
       "name"},
      {in_rule("hosts: [b.test]"),
       R"(w.yaml:5:42: key "hosts" stands twice in this map (first in line 5): remove one)"},
  });
}

TEST_CASE("bad config: rules that inspect nothing") {
  const auto raw = [](const std::string& more) {
    return with_rule("{name: db, hosts: [db.test], " + more + "}");
  };
  const auto beside = [&](const std::string& other) {
    return raw("ports: [5432, 443], action: tcp") + "      - {name: web, " + other + "}\n";
  };
  check({
      {raw("action: tcp"),
       "w.yaml:5:9: rule 'db' has action tcp and no 'ports', which it needs: add them, such as "
       "ports: [5432]"},
      {raw("action: tunnel"),
       "w.yaml:5:9: rule 'db' has action tunnel and no 'ports', which it needs: add them, such as "
       "ports: [443]"},
      {raw("ports: [22], action: tcp, methods: [GET]"),
       "w.yaml:5:9: rule 'db' has action tcp, which inspects nothing, and 'methods': remove "
       "'methods', or write action: allow"},
      {raw(R"(ports: [443], action: tunnel, paths: ["/**"])"),
       "w.yaml:5:9: rule 'db' has action tunnel, which inspects nothing, and 'paths': remove "
       "'paths', or write action: allow"},
      {raw("ports: [22, 53], action: tcp"),
       "w.yaml:5:9: rule 'db' has action tcp on port 53, which can never work: every TCP "
       "connection "
       "of the sandbox to port 53 is answered as DNS by Warder itself: remove 53"},
      {beside("hosts: [\"*.test\"], action: allow"),
       "w.yaml:6:9: rule 'db' (w.yaml:5) passes db.test port 443 uninspected (action tcp), and "
       "rule "
       "'web' (w.yaml:6) allows it as inspected HTTP: take port 443 or the host out of one of them "
       "(a rule without ports has 80 and 443)"},
      {beside("hosts: [db.test], ports: [5432], action: allow"),
       "w.yaml:6:9: rule 'db' (w.yaml:5) passes db.test port 5432 uninspected (action tcp), and "
       "rule 'web' (w.yaml:6) allows it as inspected HTTP: take port 5432 or the host out of one "
       "of "
       "them"},
      {beside("hosts: [db.test], methods: [PUT], action: deny"),
       "w.yaml:6:9: rule 'db' (w.yaml:5) passes db.test port 5432 uninspected (action tcp), and "
       "rule 'web' (w.yaml:6) denies requests there that nobody would see: give rule "
       "'web' (w.yaml:6) ports that leave 5432 out"},
      {with_secret(
           "tok: {source: {env: T}}\npolicies:\n  t:\n    grants:\n      - {secret: tok, "
           "hosts: [a.test, db.test]}\n    rules:\n      - {name: db, hosts: [\"**.test\"], "
           "ports: [22], action: tcp}\n      - {hosts: [a.test], action: allow}\n"),
       "w.yaml:7:9: grant of 'tok' at db.test: only rule 'db' reaches it, which inspects nothing, "
       "so "
       "no placeholder is ever swapped there: remove the host from the grant"},
  });
}

TEST_CASE("bad config: secrets, whose values are never quoted") {
  check({
      {with_secret("tok: ghp_theValueItself\n"),
       "w.yaml:3:8: secret 'tok' must be a map such as {source: {env: NAME}}, never the value "
       "itself"},
      {with_secret("tok: {}\n"),
       "w.yaml:3:3: secret 'tok' has no 'source': add source: {env: NAME}"},
      {with_secret("tok: {source: ghp_theValueItself}\n"),
       "w.yaml:3:17: source of secret 'tok' must be {env: NAME} or {file: PATH}, never the value "
       "itself"},
      {with_secret("tok: {source: {}}\n"),
       "w.yaml:3:17: source of secret 'tok' is empty: write exactly one of {env: NAME}, {file: "
       "PATH}, {exec: [PROGRAM, ARGUMENT…]} and {store: NAME}"},
      {with_secret("tok: {source: {env: A, file: b}}\n"),
       "w.yaml:3:26: source of secret 'tok' has both env and file: write exactly one of {env: "
       "NAME}, {file: PATH}, {exec: [PROGRAM, ARGUMENT…]} and {store: NAME}"},
      {with_secret("tok: {source: {enb: A}}\n"),
       "w.yaml:3:18: source of secret 'tok' has an unknown key: did you mean 'env'?"},
      {with_secret("tok: {source: {ghp_theValueItself: A}}\n"),
       "w.yaml:3:18: source of secret 'tok' has an unknown key: write {env: NAME} or {file: PATH}, "
       "never the value itself"},
      {with_secret("tok: {source: {env: ghp-theValueItself}}\n"),
       "w.yaml:3:23: source of secret 'tok': 'env' is not the name of an environment variable: "
       "write a name such as GITHUB_TOKEN, never the value itself"},
      {with_secret("tok: {source: {env: [ghp_theValueItself]}}\n"),
       "w.yaml:3:23: source of secret 'tok': 'env' is not the name of an environment variable: "
       "write a name such as GITHUB_TOKEN, never the value itself"},
      {with_secret("tok: {source: {vault: x}}\n"),
       "w.yaml:3:18: source of secret 'tok': 'vault' is not there yet: use env, file, exec or "
       "store"},
      {with_secret("tok: {source: {exec: ghp_theValueItself}}\n"),
       "w.yaml:3:24: source of secret 'tok': 'exec' must be a list of the program and its "
       "arguments: no shell reads it"},
      {with_secret("tok: {source: {exec: []}}\n"),
       "w.yaml:3:24: source of secret 'tok': 'exec' must be a list of the program and its "
       "arguments: no shell reads it"},
      {with_secret("tok: {source: {exec: [~/get]}}\n"),
       "w.yaml:3:25: source of secret 'tok': the program must be a whole path (\"~\" is not "
       "expanded)"},
      {with_secret("tok: {source: {exec: [a, [b]]}}\n"),
       "w.yaml:3:28: source of secret 'tok': each part of 'exec' must be text"},
      {with_secret("tok: {source: {exec: [a], file: b}}\n"),
       "w.yaml:3:29: source of secret 'tok' has both exec and file: write exactly one of {env: "
       "NAME}, {file: PATH}, {exec: [PROGRAM, ARGUMENT…]} and {store: NAME}"},
      {with_secret("tok: {source: {exec: [a], format: json}}\n"),
       "w.yaml:3:37: source of secret 'tok': 'format' must be plain, git-credential or "
       "docker-credential"},
      {with_secret("tok: {source: {exec: [a], format: git-credential}}\n"),
       "w.yaml:3:24: source of secret 'tok': the format asks for a host: add host: HOST, as the "
       "helper knows it"},
      {with_secret("tok: {source: {exec: [a], host: h}}\n"),
       "w.yaml:3:35: source of secret 'tok': 'host' goes with a format that asks for one"},
      {with_secret("tok: {source: {exec: [a], timeout: 61s}}\n"),
       "w.yaml:3:38: source of secret 'tok': 'timeout' is longer than 60s"},
      {with_secret("tok: {source: {exec: [a], cache: 5}}\n"),
       R"(w.yaml:3:36: 'cache' is "5": write a time with its unit, from 1ms to 1440m, such as 500ms, 10s or 5m)"},
      {with_secret("tok: {source: {exec: [a], cache: 10ms}}\n"),
       "w.yaml:3:36: source of secret 'tok': 'cache' is shorter than 1s"},
      {with_secret("tok: {source: {exec: [a], env: [A-B]}}\n"),
       "w.yaml:3:35: source of secret 'tok': a part of 'env' is not the name of an environment "
       "variable: write a name such as GITHUB_TOKEN, never the value itself"},
      {with_secret("tok: {source: {store: a b}}\n"),
       "w.yaml:3:25: source of secret 'tok': 'store' is not the name of an entry: warder secret "
       "list shows them"},
      {with_secret("tok: {source: {store: x, cache: once}}\n"),
       "w.yaml:3:28: source of secret 'tok' has both store and cache: remove cache"},
      {with_secret("tok: {source: {timeout: 5s}}\n"),
       "w.yaml:3:17: source of secret 'tok' says not where the value is: write exactly one of "
       "{env: NAME}, {file: PATH}, {exec: [PROGRAM, ARGUMENT…]} and {store: NAME}"},
      {with_secret("tok: {source: {file: secret.txt}}\n"),
       "w.yaml:3:3: secret 'tok' comes from no variable and has no placeholder: add placeholder: "
       "{env: NAME}"},
      {with_secret("tok: {source: {file: ~/secret.txt}, placeholder: {env: A}}\n"),
       R"(w.yaml:3:24: source of secret 'tok': 'file' must be a whole path ("~" is not expanded))"},
      {with_secret("tok: {source: {env: T}, placeholder: A}\n"),
       "w.yaml:3:40: placeholder of secret 'tok' must be {env: NAME}"},
      {with_secret("tok: {source: {env: T}, placeholder: {env: A-B}}\n"),
       R"(w.yaml:3:46: placeholder of secret 'tok': "A-B" is not the name of an environment variable: write a name such as API_TOKEN)"},
      {with_secret("tok: {source: {env: T}, placeholder: {form: x}}\n"),
       "w.yaml:3:41: unknown key 'form' in a placeholder: did you mean 'format'?"},
      {with_secret("a: {source: {env: T}}\n  b: {source: {file: x}, placeholder: {env: T}}\n"),
       "w.yaml:4:3: secrets 'a' and 'b' have the same placeholder variable T: give one another "
       "with placeholder: {env: NAME}"},
      {with_secret("tok: {source: {env: PATH}}\n"),
       "w.yaml:3:3: secret 'tok' would replace the sandbox's own variable PATH: choose another "
       "with placeholder: {env: NAME}"},
      {with_secret("a b: {source: {env: T}}\n"),
       R"(w.yaml:3:3: secret name "a b" may have letters, digits, '-' and '_' only, up to 64)"},
      {with_secret("tok: {sorce: {env: T}}\n"),
       "w.yaml:3:9: unknown key 'sorce' in a secret: did you mean 'source'?"},
  });
}

TEST_CASE("bad config: grants") {
  check({
      {with_grant("{secret: tokk, hosts: [a.test]}"),
       R"(w.yaml:7:18: unknown secret "tokk" in a grant: did you mean 'tok'?)"},
      {with_grant("{secret: other-name, hosts: [a.test]}"),
       R"(w.yaml:7:18: unknown secret "other-name" in a grant: known are tok)"},
      {"version: 1\npolicies: {t: {grants: [{secret: x, hosts: [a.test]}]}}\n",
       R"(w.yaml:2:34: unknown secret "x" in a grant: name it under 'secrets' first)"},
      {with_grant("{hosts: [a.test]}"), "w.yaml:7:9: a grant has no 'secret': add it"},
      {with_grant("{secret: tok}"), "w.yaml:7:9: a grant has no 'hosts': add it"},
      {with_grant("{client_certificate: a.pem, hosts: [a.test]}"),
       R"(w.yaml:7:30: 'client_certificate' must be a map (key: value), not "a.pem")"},
      {with_grant("{client_certificate: {certificate: a.pem}, hosts: [a.test]}"),
       "w.yaml:7:30: client_certificate has no 'key': add it"},
      {with_grant("{client_certificate: {certificate: a.pem, key: a.key}}"),
       "w.yaml:7:9: a grant of a client certificate has no 'hosts': add it"},
      {with_grant(
           "{client_certificate: {certificate: a.pem, key: a.key}, hosts: [a.test], at: [basic]}"),
       "w.yaml:7:81: unknown key 'at' in a grant of a client certificate: known are "
       "client_certificate, hosts"},
      {with_grant(R"({secret: tok, hosts: ["*"]})"),
       R"(w.yaml:7:31: hosts: "*" would mean every host: name the hosts, or write "*.example.com" for all below one)"},
      {with_grant("{secret: tok, hosts: [a.test], at: []}"),
       "w.yaml:7:44: 'at' is an empty list: name at least one, or remove the key"},
      {with_grant("{secret: tok, hosts: [a.test], at: basic}"),
       R"(w.yaml:7:44: 'at' must be a list, not "basic": write at: [basic])"},
      {with_grant("{secret: tok, hosts: [a.test], at: [x-api-key]}"),
       R"(w.yaml:7:45: place "x-api-key" is not one: write header:x-api-key)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["header:"]})"),
       R"(w.yaml:7:45: place "header:" names no header field: write header:NAME, such as header:x-api-key)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["header:Cookie"]})"),
       R"(w.yaml:7:45: place "header:Cookie" is a field that servers send back or log, so a secret must never stand there: use header:authorization or the API's own field)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["header:Proxy-Authorization"]})"),
       R"(w.yaml:7:45: place "header:Proxy-Authorization" is a field between Warder and its peers, which holds no secret of an API: use header:authorization or the API's own field)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["query:"]})"),
       R"(w.yaml:7:45: place "query:" names no key: write query:KEY)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: [query]})"),
       R"(w.yaml:7:45: place "query" is not one: write header:NAME, basic, query:KEY, path, body:json:/FIELD, body:form:KEY, body or ws)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["query:a=b"]})"),
       R"(w.yaml:7:45: place "query:a=b" has more than a key: write it as query:KEY, without '=', '&' and percent escapes)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["body:form:api%20key"]})"),
       R"(w.yaml:7:45: place "body:form:api%20key" has more than a key: write it as body:form:KEY, without '=', '&' and percent escapes)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["path:/x"]})"),
       R"(w.yaml:7:45: place "path:/x" is not one: write header:NAME, basic, query:KEY, path, body:json:/FIELD, body:form:KEY, body or ws)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["body:json:x"]})"),
       R"(w.yaml:7:45: place "body:json:x" is no JSON pointer (RFC 6901): write body:json:/FIELD or body:json:/OUTER/FIELD, '~' as ~0 and '/' as ~1)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["body:json:/a~2"]})"),
       R"(w.yaml:7:45: place "body:json:/a~2" is no JSON pointer (RFC 6901): write body:json:/FIELD or body:json:/OUTER/FIELD, '~' as ~0 and '/' as ~1)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["body:json:/a/*/b"]})"),
       R"(w.yaml:7:45: place "body:json:/a/*/b" names no one field: write its name, or its number in a list)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["body:xml"]})"),
       R"(w.yaml:7:45: place "body:xml" is not one: write header:NAME, basic, query:KEY, path, body:json:/FIELD, body:form:KEY, body or ws)"},
      {with_grant(R"({secret: tok, hosts: [a.test], at: ["query:k", "query:k"]})"),
       R"(w.yaml:7:56: "query:k" stands twice in this list: remove one)"},
      {with_grant("{secret: tok, hosts: [a.test], foreign: allow}"),
       R"(w.yaml:7:49: 'foreign' is "allow": write refuse, strip or pass)"},
      {with_grant("{secret: tok, hosts: [a.test], max: 17}"),
       R"(w.yaml:7:45: 'max' must be a number from 1 to 16, not "17")"},
      {with_grant("{secret: tok, hosts: [a.test], plain_http: maybe}"),
       R"(w.yaml:7:52: 'plain_http' must be true or false, not "maybe")"},
      {with_grant("{secret: tok, hosts: [a.test], at: [basic, basic]}"),
       R"(w.yaml:7:52: "basic" stands twice in this list: remove one)"},
      {with_grant("{secret: tok, hosts: [a.test], place: [basic]}"),
       "w.yaml:7:40: unknown key 'place' in a grant: known are secret, hosts, at, "
       "foreign, plain_http, max, client_certificate, capture"},
      {with_grant("tok"),
       R"(w.yaml:7:9: a grant must be a map such as {secret: NAME, hosts: [api.example.com]}, not "tok")"},
  });
}

TEST_CASE("bad config: the gateway") {
  check({
      {with_gateway("listen: 8080\n"),
       "w.yaml:3:3: key 'listen' in gateway is not there yet: remove it"},
      {with_gateway("audits: {file: x}\n"),
       "w.yaml:3:3: unknown key 'audits' in gateway: did you mean 'audit'?"},
      {with_gateway("audit: x.jsonl\n"),
       R"(w.yaml:3:10: 'audit' must be a map (key: value), not "x.jsonl")"},
      {with_gateway("audit: {}\n"), "w.yaml:3:10: audit has no 'file': add it"},
      {with_gateway("audit: {file: audit/}\n"),
       R"(w.yaml:3:17: 'file' is "audit/": name a file, such as audit/audit.jsonl)"},
      {with_gateway("audit: {file: ~/a.jsonl}\n"),
       R"(w.yaml:3:17: 'file' is "~/a.jsonl": "~" is not expanded, so write the whole path)"},
      {with_gateway("upstream: {ca: x.pem}\n"),
       R"(w.yaml:3:18: 'ca' must be a list, not "x.pem": write ca: [x.pem])"},
      {with_gateway("upstream: {ca: [\"a\\eb\"]}\n"),
       R"(w.yaml:3:19: 'ca' is "a\x1bb": a control character stands in it)"},
      {with_gateway("upstream: {connect_to: [x]}\n"),
       "w.yaml:3:26: 'connect_to' must be a map (key: value), not a list"},
      {with_gateway("upstream: {connect_to: {a.test: \"127.0.0.1:1\"}}\n"),
       R"(w.yaml:3:27: connect_to: "a.test" is not a host and port (it has no port): write a pair such as "api.example.com:443")"},
      {with_gateway("upstream: {connect_to: {\"*.test:443\": \"127.0.0.1:1\"}}\n"),
       R"(w.yaml:3:27: connect_to: "*.test:443" is not a host and port (a character that no host name has): write a pair such as "api.example.com:443")"},
      {with_gateway("upstream: {connect_to: {\"a.test:443\": \"localhost:1\"}}\n"),
       R"(w.yaml:3:41: connect_to: "localhost:1" is a name: write an address and port such as "127.0.0.1:8443")"},
      {with_gateway("upstream: {connect_to: {\"a.test:443\": 127.0.0.1}}\n"),
       R"(w.yaml:3:41: connect_to: "127.0.0.1" is not a host and port (it has no port): write an address and port such as "127.0.0.1:8443")"},
      {with_gateway("upstream: {connect_to: {\"a.test:443\": \"127.0.0.1:70000\"}}\n"),
       R"(w.yaml:3:41: connect_to: "127.0.0.1:70000" is not a host and port (the port is not a number from 1 to 65535): write an address and port such as "127.0.0.1:8443")"},
      {with_gateway("upstream: {connect_to: {\"a.test:443\": \"127.0.0.1:1\", \"A.TEST.:443\": "
                    "\"127.0.0.1:2\"}}\n"),
       R"(w.yaml:3:56: connect_to: "A.TEST.:443" stands twice: remove one)"},
      {with_gateway("upstream: {connect_timeout: 10}\n"),
       R"(w.yaml:3:31: 'connect_timeout' is "10": write a time with its unit, from 1ms to 1440m, such as 500ms, 10s or 5m)"},
      {with_gateway("upstream: {idle_timeout: 0s}\n"),
       R"(w.yaml:3:28: 'idle_timeout' is "0s": write a time with its unit, from 1ms to 1440m, such as 500ms, 10s or 5m)"},
      {with_gateway("upstream: {response_timeout: 99999999999s}\n"),
       R"(w.yaml:3:32: 'response_timeout' is "99999999999s": write a time with its unit, from 1ms to 1440m, such as 500ms, 10s or 5m)"},
      {with_gateway("upstream: {proxy: x}\n"),
       "w.yaml:3:14: unknown key 'proxy' in upstream: known are ca, connect_to, resolvers, "
       "connect_timeout, response_timeout, idle_timeout, pool"},
      {with_gateway("upstream: {pool: 5}\n"),
       "w.yaml:3:20: 'pool' must be a map (key: value), not \"5\""},
      {with_gateway("upstream: {pool: {idle: 60}}\n"),
       R"(w.yaml:3:27: 'idle' is "60": write a time with its unit, from 1ms to 1440m, such as 500ms, 10s or 5m)"},
      {with_gateway("upstream: {pool: {per_authority: 0}}\n"),
       R"(w.yaml:3:36: 'per_authority' is "0": write a number of connections, from 1 to 65536)"},
      {with_gateway("upstream: {pool: {per_authority: 8x}}\n"),
       R"(w.yaml:3:36: 'per_authority' is "8x": write a number of connections, from 1 to 65536)"},
      {with_gateway("upstream: {pool: {per_session: 65537}}\n"),
       R"(w.yaml:3:34: 'per_session' is "65537": write a number of connections, from 0 to 65536)"},
      {with_gateway("upstream: {pool: {per_session: -1}}\n"),
       R"(w.yaml:3:34: 'per_session' is "-1": write a number of connections, from 0 to 65536)"},
      {with_gateway("upstream: {pool: {per_host: 1}}\n"),
       "w.yaml:3:21: unknown key 'per_host' in pool: known are idle, per_authority, per_session"},
      {with_gateway("upstream: {resolvers: []}\n"),
       "w.yaml:3:25: 'resolvers' is an empty list: name at least one, or remove the key"},
      {with_gateway("upstream: {resolvers: [dns.test]}\n"),
       R"(w.yaml:3:26: resolvers: "dns.test" is a name: write an address, with its port if that is not 53, such as "10.0.0.53", "10.0.0.53:5353" or "[2001:db8::53]:53")"},
      {with_gateway("upstream: {resolvers: [\"10.0.0.53\", \"tls://1.1.1.1\"]}\n"),
       R"(w.yaml:3:39: resolvers: "tls://1.1.1.1" is not an address (the port is not a number from 1 to 65535): write an address, with its port if that is not 53, such as "10.0.0.53", "10.0.0.53:5353" or "[2001:db8::53]:53")"},
      {with_gateway("upstream: {resolvers: [\"2001:db8::53\"]}\n"),
       R"(w.yaml:3:26: resolvers: "2001:db8::53" needs brackets: write "[2001:db8::53]")"},
      {with_gateway("upstream: {resolvers: [10.0.0.53, \"10.0.0.53:53\"]}\n"),
       R"(w.yaml:3:37: resolvers: "10.0.0.53:53" stands twice: remove one)"},
      {with_gateway("upstream: {resolvers: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5]}\n"),
       "w.yaml:3:66: resolvers: more than 4: keep those that answer best"},
  });
}
