"""`warder explain` and `warder check`: what they say, and with which exit code."""

import json

import pytest

from support.bench import BEARER

POLICY = """version: 1
secrets:
  tok: {source: {env: REAL_TOKEN}, placeholder: {env: API_TOKEN}}
policies:
  t:
    rules:
      - {name: no-admin, hosts: [api.test], paths: ["/admin/**"], action: deny}
      - {name: issues, hosts: [api.test], methods: [GET, POST], paths: ["/repos/*/issues/**"], max_body: 1KiB, action: allow}
      - {name: read, hosts: [api.test], methods: [GET], action: allow}
      - {name: db, hosts: [db.test], ports: [5432], action: tcp, allow_private: true}
    grants:
      - {secret: tok, hosts: [api.test], at: ["header:x-api-key"], foreign: strip}
    tests:
      - {url: "https://api.test/repos/a/issues", method: POST, expect: allow, rule: issues}
      - {url: "https://api.test/%61dmin/x", expect: deny, rule: no-admin}
    limits: {requests_per_minute: 600}
gateway:
  upstream: {connect_to: {"api.test:443": "127.0.0.1:8443"}}
"""
SECOND = "  u: {rules: [{name: all, hosts: [u.test], action: allow}]}\ngateway:"


@pytest.fixture
def policy(bench):
    bench.write("warder.yaml", POLICY)
    return bench


def explain(bench, *args, code):
    done = bench.warder_command("explain", *args)
    assert done.code == code, done
    return done


def explained(bench, *args, code):
    return json.loads(explain(bench, *args, "--json", code=code).text)


def test_what_is_allowed_names_rule_secret_and_checks(policy):
    text = explain(policy, "-X", "POST", "https://api.test/repos/a/issues", code=0).text
    assert "allow by rule issues (warder.yaml:8)" in text
    assert "tok (warder.yaml:12) in header:x-api-key; once; a credential of the sandbox's own is taken off" in text
    assert "dialled at 127.0.0.1:8443" in text
    assert "at most 1024 bytes" in text and "limit: requests_per_minute 600" in text
    assert "no-admin (warder.yaml:7, deny), but not its path (/admin/**)" in text

    said = explained(policy, "https://api.test/repos/a/issues", code=0)
    assert said["verdict"] == "allow" and said["reason"] == "none"
    assert said["rule"] == {"name": "issues", "where": "warder.yaml:8", "action": "allow"}
    assert [rule["name"] for rule in said["overruled"]] == ["read"]
    assert said["grants"]["secrets"] == [{"secret": "tok", "where": "warder.yaml:12", "foreign": "strip",
                                          "at": ["header:x-api-key"], "max": 1}]


def test_what_is_refused_says_what_was_near_and_what_would_allow_it(policy):
    said = explained(policy, "-X", "DELETE", "https://api.test/repos/a/issues", code=1)
    assert said["verdict"] == "deny" and said["reason"] == "method_not_allowed" and said["rule"] is None
    assert "DELETE" in said["allow_with"]
    assert {rule["name"]: rule["lacks"] for rule in said["near"]} == {
        "issues": ["method"], "read": ["method"], "no-admin": ["path"]}
    assert "grants" not in said

    said = explained(policy, "-X", "POST", "--body-size", "1025", "https://api.test/repos/a/issues", code=1)
    assert said["reason"] == "too_large"
    assert said["near"][0] == {"name": "issues", "where": "warder.yaml:8", "action": "allow", "lacks": ["body"]}

    said = explained(policy, "https://api.test/%61dmin/x", code=1)
    assert said["rule"]["name"] == "no-admin"
    assert [rule["name"] for rule in said["overruled"]] == ["read"]
    assert "a deny wins" in explain(policy, "https://api.test/admin", code=1).text


def test_raw_tcp_and_what_is_malformed(policy):
    said = explained(policy, "tcp://db.test:5432", code=0)
    assert said["verdict"] == "tcp" and said["rule"]["name"] == "db"
    assert explained(policy, "tcp://db.test:22", code=1)["reason"] == "port_not_allowed"
    said = explained(policy, "https://api.test/a/../b", code=1)
    assert said["reason"] == "malformed_request" and "dot segments" in said["detail"]


def test_the_gateway_does_what_was_explained(bench, echo):
    """The reason that a sandbox hears is the one that was told before."""
    for method, path in (("GET", "/headers"), ("DELETE", "/x"), ("PATCH", "/headers")):
        said = explained(bench, "--config", str(bench.config()), "--policy", "t", "-X", method, "https://api.test" + path,
                         code=0 if method == "GET" else 1)
        done = bench.run(f"curl -sS -o /dev/null -D - -X {method} https://api.test{path} {BEARER}")
        status = done.text.split()[1]
        assert (status == "200") == (said["verdict"] == "allow"), (said, done)
        if said["verdict"] == "deny":
            assert f"warder-reason: {said['reason']}" in done.text.lower(), (said, done)


@pytest.mark.parametrize("args,needle", [
    (["api.test"], "has no scheme"),
    (["ftp://api.test/"], "another scheme"),
    (["https://api.test/#x"], "fragment"),
    (["tcp://db.test"], "has no port"),
    (["-X", "get", "https://api.test/"], "upper case"),
    (["-H", "nonsense", "https://api.test/"], "has no colon"),
    (["-H", "Host: b", "https://api.test/"], "leave it out"),
    (["-H", "X-A: a\nb", "https://api.test/"], "control character"),
    (["--body-size", "-1", "https://api.test/"], "body-size"),
    (["--policy", "v", "https://api.test/"], "no policy named"),
    (["--config", "none.yaml", "https://api.test/"], "cannot be read"),
    ([], "URL"),
])
def test_what_cannot_be_asked_is_exit_2(policy, args, needle):
    done = explain(policy, *args, code=2)
    assert needle in done.error and not done.text, done


def test_several_policies_ask_for_one(policy):
    policy.write("warder.yaml", POLICY.replace("gateway:", SECOND))
    assert "--policy" in explain(policy, "https://u.test/", code=2).error
    assert explained(policy, "--policy", "u", "https://u.test/", code=0)["rule"]["name"] == "all"


def check(bench, *args, code):
    done = bench.warder_command("check", *args)
    assert done.code == code, done
    return done


def test_a_good_file_is_well(policy):
    done = check(policy, "--strict", code=0)
    assert done.text == "warder.yaml: 1 policy, 4 rules, 2 tests (0 failed): 0 warnings\n"


def test_warnings_are_an_error_with_strict_alone(policy):
    policy.write("warder.yaml", POLICY.replace("    grants:", "      - {name: late, hosts: [api.test], methods: [GET], "
                                               "paths: [/x], action: allow}\n    grants:"))
    text = check(policy, code=0).text
    assert "warder.yaml:11: warning: rule 'late' never decides: rule 'read' (warder.yaml:9)" in text
    said = json.loads(check(policy, "--strict", "--json", code=1).text)
    assert said["ok"] is False and said["warnings"] == 1 and said["failed"] == 0
    assert [(one["kind"], one["where"], one["level"]) for one in said["findings"]] == [
        ("shadowed_rule", "warder.yaml:11", "warning")]


def test_every_warning_has_its_line(bench):
    bench.write("warder.yaml", """version: 1
secrets:
  tok: {source: {env: REAL_TOKEN}, placeholder: {env: API_TOKEN}}
  idle: {source: {env: IDLE_TOKEN}, placeholder: {env: IDLE}}
policies:
  t:
    rules:
      - {name: wide, hosts: [api.test], action: allow}
      - {name: late, hosts: [api.test], paths: ["/x/**"], action: allow}
      - {name: suffix, hosts: ["*.co.uk"], action: allow}
      - {name: cdn, hosts: [d111.cloudfront.net], action: allow}
    grants:
      - {secret: tok, hosts: [api.test, nowhere.test]}
      - {secret: tok, hosts: [d111.cloudfront.net]}
""")
    found = json.loads(check(bench, "--json", code=0).text)["findings"]
    assert {(one["kind"], one["where"]) for one in found} == {
        ("unused_secret", "warder.yaml:4"), ("shadowed_rule", "warder.yaml:9"), ("public_suffix", "warder.yaml:10"),
        ("unreachable_grant", "warder.yaml:13"), ("shared_host", "warder.yaml:14")}, found
    assert {one["level"] for one in found} == {"warning"}
    check(bench, "--strict", code=1)


REFUSED = {"api.test/admin/x": (["no-admin", "deny"], ["issues", "read", "db"]), "evil.test/": (["--allow"], ["no-admin", "issues", "read"]),
           "api.test/x -X DELETE": (["DELETE"], ["no-admin", "db"])}


@pytest.mark.parametrize("asked", REFUSED)
def test_a_refusal_says_the_change_to_people_and_to_agents_and_no_other_rule(bench, echo, asked):
    """Over clear text, so that a host that is not allowed can be told so too."""
    says, never = REFUSED[asked]
    bench.write("t.yaml", POLICY.replace(POLICY[POLICY.index("gateway:"):], f"gateway: {json.dumps(bench.gateway())}\n"))
    what = f"--resolve evil.test:80:203.0.113.9 http://{asked}"
    done = bench.run(f"curl -sS -i {what}; echo; echo ----; curl -sS -H 'Accept: application/json' {what}")
    text, as_json = done.text.split("----\n")
    error = json.loads(as_json)["error"]
    assert f"Warder-Reason: {error['reason']}" in text, done
    for word in says:
        assert word in text and word in as_json, (word, done)
    for word in never:
        assert word not in text and word not in as_json, (word, done)
    assert not echo.requests


def test_a_failing_test_is_an_error(policy):
    policy.write("warder.yaml", POLICY.replace("method: POST, expect: allow", "method: DELETE, expect: allow"))
    text = check(policy, code=1).text
    assert "warder.yaml:14: error: test of DELETE" in text and "method_not_allowed" in text
    assert "2 tests (1 failed)" in text


def test_policies_one_by_one_and_what_does_not_load(policy):
    wide = SECOND.replace("u.test", '"*.co.uk"')
    policy.write("warder.yaml", POLICY.replace("gateway:", wide))
    assert "public_suffix" in check(policy, code=0).text
    check(policy, "--policy", "t", "--strict", code=0)
    assert "no policy named" in check(policy, "--policy", "v", code=2).error
    policy.write("warder.yaml", POLICY.replace("expect: deny", "expect: denied"))
    done = check(policy, code=2)
    assert "warder.yaml:15:" in done.error and "'deny'" in done.error, done


def test_what_init_writes_is_well(bench):
    done = bench.warder_command("init", creates=["warder.yaml"])
    assert done.code == 0, done
    check(bench, "--strict", code=0)
