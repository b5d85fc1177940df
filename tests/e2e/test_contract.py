"""The contract: the origin sees the value, the sandbox the placeholder; the rest is refused."""

import base64
import json

import pytest

from support.bench import BEARER, CONTRACT_GRANTS, CONTRACT_RULES, MINE, SECRET, mine
from support.marks import both_users



def refusal(result, status, reason):
    """A `curl -i` answer that Warder gave itself: checks status and fields, returns the body."""
    head, _, body = result.text.replace("\r\n", "\n").partition("\n\n")
    lines = head.split("\n")
    fields = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
    assert lines[0].split()[1] == str(status), result
    assert fields["warder-reason"] == reason, result
    assert "error=" in fields["proxy-status"], result
    return body


def explained(result, status, reason):
    """The same for a program: {"error": {reason, rule, allow_with, ...}}."""
    error = json.loads(refusal(result, status, reason))["error"]
    assert error["reason"] == reason and error["status"] == status
    return error


def curl(url, *more, json_body=True):
    accept = '-H "Accept: application/json"' if json_body else ""
    return f"curl -sS -i {accept} {' '.join(more)} {url}"


@both_users
def test_origin_sees_the_value_and_curl_prints_the_placeholder(bench, echo):
    done = bench.run(f"curl -sS https://api.test/headers {BEARER}; {MINE}")
    assert done.code == 0, done
    placeholder = mine(done)
    assert [r.get("authorization") for r in echo.requests] == [f"Bearer {SECRET}"]
    seen = dict(json.loads(done.text.split("\n")[0])["headers"])
    assert seen["Authorization"] == f"Bearer {placeholder}"
    assert seen["Host"] == "api.test"
    assert len(placeholder) == len(SECRET) and placeholder != SECRET


def test_scheme_word_and_other_headers_are_kept(bench, echo):
    done = bench.run('curl -sS https://api.test/headers -H "authorization: token $API_TOKEN" '
                     '-H "X-One: a" -H "x-ONE: b" -H "X-Empty;"')
    assert done.code == 0, done
    sent = echo.requests[0].headers
    assert ("authorization", f"token {SECRET}") in sent
    assert [v for n, v in sent if n.lower() == "x-one"] == ["a", "b"]
    assert ("X-Empty", "") in sent


def test_placeholders_differ_between_runs(bench, echo):
    first = bench.run('echo "$API_TOKEN"').text
    assert first != bench.run('echo "$API_TOKEN"').text


@both_users
def test_basic_is_swapped(bench, echo):
    done = bench.run('curl -sS -u "someone:$API_TOKEN" https://api.test/whoami')
    assert done.code == 0, done
    sent = echo.requests[0].get("authorization")
    assert base64.b64decode(sent.split()[1]).decode() == f"someone:{SECRET}"


@pytest.mark.parametrize("pair", ["x-access-token:$API_TOKEN", "$API_TOKEN:",
                                  "$API_TOKEN:$API_TOKEN"])
def test_br050_placeholder_anywhere_in_basic(bench, echo, pair):
    """BR-050: user part, password part, both; the scheme's case and spaces as sent."""
    done = bench.run(f'coded=$(printf %s "{pair}" | base64 -w0); '
                     'for scheme in "Basic" "basic" "Basic "; do '
                     'curl -sS https://api.test/headers -H "Authorization: $scheme $coded"; done')
    assert done.code == 0, done
    wanted = pair.replace("$API_TOKEN", SECRET)
    sent = [r.get("authorization").split() for r in echo.requests]
    assert [base64.b64decode(s[1], validate=True).decode() for s in sent] == [wanted] * 3, done
    assert [s[0] for s in sent] == ["Basic", "basic", "Basic"]


def test_wrong_host_is_a_tripwire(bench, echo):
    done = bench.run(curl("https://other.test/headers", BEARER))
    body = explained(done, 403, "placeholder_wrong_host")
    assert "other.test" in json.dumps(body) and body["allow_with"], body
    assert echo.requests == []


@pytest.mark.parametrize("place", [
    '-H "X-Custom: $API_TOKEN" https://api.test/headers',
    '-H "Cookie: a=$API_TOKEN" https://api.test/headers',
    '"https://api.test/headers?token=$API_TOKEN"',
    '"https://api.test/$API_TOKEN/x"',
    '-u "a:b" -H "X-B64: Basic $(printf %s "a:$API_TOKEN" | base64 -w0)" https://api.test/headers',
])
def test_wrong_place_is_a_tripwire(bench, echo, place):
    done = bench.run(f"curl -sS -i {place}")
    status = done.text.split()[1]
    assert status == "403", done
    assert "placeholder_wrong_place" in done.text or "foreign_credential" in done.text, done
    assert echo.requests == []


def test_placeholder_in_a_body_never_leaves(bench, echo):
    done = bench.run(f'curl -sS -i https://api.test/echo -d "key=$API_TOKEN&x=1"; {MINE}')
    assert " 200 " not in done.text.split("\n")[0], done
    assert mine(done).encode() not in echo.received


def test_foreign_credential_is_refused_where_a_grant_is(bench, echo):
    done = bench.run(curl("https://api.test/headers", '-H "Authorization: Bearer my-own-key"'))
    body = explained(done, 403, "foreign_credential")
    assert body["allow_with"]
    done = bench.run(curl("https://other.test/ok", '-H "Authorization: Bearer my-own-key"'))
    assert " 200 " in done.text.split("\n")[0], done
    assert [r.target for r in echo.requests] == ["/ok"]


def test_refusals_name_reason_rule_and_the_smallest_change(bench, echo):
    bench.config(rules=[
        {"name": "no-admin", "hosts": ["api.test"], "paths": ["/admin/**"], "action": "deny"},
        {"name": "api", "hosts": ["api.test"], "methods": ["GET"],
         "paths": ["/pub/**", "/admin/**"], "action": "allow"}])
    denied = bench.run(curl("https://api.test/admin/x"))
    body = explained(denied, 403, "path_not_allowed")
    assert "no-admin" in json.dumps(body["rule"]), body
    path = explained(bench.run(curl("https://api.test/other")), 403, "path_not_allowed")
    assert "/other" in path["allow_with"], path
    method = explained(bench.run(curl("https://api.test/pub/x", "-X DELETE")), 403,
                       "method_not_allowed")
    assert "DELETE" in method["allow_with"], method
    assert echo.requests == []


def test_the_body_is_text_for_a_person(bench, echo):
    done = bench.run(curl("https://api.test/ok", "-X DELETE", json_body=False))
    body = refusal(done, 403, "method_not_allowed")
    assert "method_not_allowed" in body and "DELETE" in body and not body.startswith("{"), body


def test_refused_host_with_sni_gets_a_readable_403(bench, echo):
    """Also by address: nothing is resolved or dialled."""
    done = bench.run(curl("https://evil.test/x", "--resolve evil.test:443:203.0.113.7"))
    body = explained(done, 403, "host_not_allowed")
    assert "evil.test" in body["allow_with"], body
    assert echo.requests == []


def test_port_not_allowed(bench, echo):
    done = bench.run(curl("https://api.test:8443/ok"))
    refusal(done, 403, "port_not_allowed")


def test_keep_alive_serves_many_requests_on_one_connection(bench, echo):
    urls = " ".join(f"https://api.test/sized/{n}" for n in (10, 20, 30, 40, 50))
    done = bench.run(f"curl -sS -w '%{{num_connects}},' -o /dev/null {BEARER} " +
                     " -o /dev/null ".join(urls.split()))
    assert done.code == 0 and done.text == "1,0,0,0,0,", done
    assert [r.get("authorization") for r in echo.requests] == [f"Bearer {SECRET}"] * 5


def test_host_that_differs_from_the_tls_name_is_421(bench, echo):
    done = bench.run(curl("https://api.test/ok", '-H "Host: other.test"'))
    refusal(done, 421, "authority_mismatch")
    assert echo.requests == []


def test_sni_that_differs_from_the_looked_up_name_is_421(bench, echo):
    """The synthetic address has a name; TLS asks for another one."""
    done = bench.python("""
for sni in ("api.test", "evil.test"):
    wire = Wire("other.test", sni=sni)
    wire.send(f"GET /ok HTTP/1.1\\r\\nHost: {sni}\\r\\n\\r\\n")
    show(**wire.reply().summary())
""")
    got = [(r["status"], r["reason"]) for r in done.lines]
    assert got == [(421, "authority_mismatch")] * 2, done
    assert echo.requests == []


def test_an_address_without_a_name_is_refused(bench, echo):
    done = bench.python("""
show(tls=attempt(lambda: Wire("203.0.113.7", sni="")).__class__.__name__,
     error=str(attempt(lambda: Wire("203.0.113.7", sni=""))))
show(clear=attempt(lambda: fetch("/", host="203.0.113.7", tls=False, port=80).summary()))
show(meta=attempt(lambda: fetch("/latest/meta-data", host="169.254.169.254", tls=False,
                                port=80).summary()))
""")
    tls, clear, meta = done.lines
    assert "SSL" in tls["error"] or "Connection" in tls["error"], done
    for answer in (clear["clear"], meta["meta"]):
        assert isinstance(answer, str) or answer["status"] == 403, done
    assert echo.accepted == 0 and echo.clear.accepted == 0


def test_a_given_address_is_not_the_one_dialled(bench, echo):
    """A real address with an allowed SNI: our own resolution of the name is dialled."""
    done = bench.run(f"curl -sS {BEARER} --resolve api.test:443:203.0.113.9 "
                     "https://api.test/whoami")
    assert done.code == 0 and done.text.startswith("you are "), done
    assert len(echo.requests) == 1


@both_users
def test_plain_http_passes_by_rule(bench, echo):
    done = bench.run("curl -sS http://api.test/headers")
    assert done.code == 0, done
    assert [r.target for r in echo.clear.requests] == ["/headers"] and echo.requests == []


def test_plain_http_with_a_placeholder_is_refused(bench, echo):
    done = bench.run(curl("http://api.test/headers", BEARER))
    refusal(done, 403, "placeholder_wrong_place")
    assert echo.clear.requests == []


@both_users
def test_no_value_anywhere_inside(bench, echo):
    places = "/ /tmp /home /etc \"$PWD\""
    done = bench.run("env; echo END; cat /proc/1/environ; "
                     "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; "
                     f"find {places} -xdev -type f -size -64k -readable ! -path '/usr/*' "
                     "! -path '/proc/*' ! -path '/sys/*' -exec cat {} + 2>/dev/null; true")
    assert "REAL_TOKEN=" not in done.text, done
    assert "API_TOKEN=" in done.text
    assert "_PROXY" not in done.text.split("END")[0].upper(), done


def test_foreign_variables_do_not_get_in_and_env_flag_lets_one_in(bench, echo):
    extra = {"LEAKY_THING": "hello", "WANTED": "yes", "https_proxy": "http://127.0.0.1:1"}
    done = bench.run("env", env=extra, args=["--env", "WANTED"])
    assert "LEAKY_THING" not in done.text and "https_proxy" not in done.text, done
    assert "WANTED=yes" in done.text.splitlines(), done


def test_a_variable_that_holds_the_value_refuses_to_start(bench, echo):
    done = bench.run("touch started", env={"COPY": f"prefix {SECRET}"}, args=["--env", "COPY"])
    assert done.code == 2 and "COPY" in done.error, done
    assert not (bench.ws / "started").exists()
    done = bench.run(["/bin/echo", f"--token={SECRET}"])
    assert done.code == 2 and done.out == b"", done


def test_allow_and_secret_flags(bench, echo):
    """Without rules in a file: the flags become rule, secret and grant."""
    bench.write("gw.yaml", "version: 1\ngateway: " + json.dumps(bench.gateway()) + "\n")
    flags = ["--allow", "other.test", "--secret", "REAL_TOKEN@api.test"]
    bearer = '-H "Authorization: Bearer $REAL_TOKEN"'
    done = bench.run(f"curl -sS https://api.test/headers {bearer}; curl -sS https://other.test/ok; "
                     f"curl -sS -o /dev/null -w ' %{{http_code}}' https://other.test/x {bearer}",
                     policy=None, config="gw.yaml", args=flags)
    assert done.code == 0, done
    assert [r.get("authorization") for r in echo.requests] == [f"Bearer {SECRET}", None], done
    assert done.text.endswith("ok 403"), done


def test_print_config_is_yaml_that_loads_again(bench, echo):
    flags = ["--allow", "other.test:8443", "--secret", "REAL_TOKEN@api.test,git.test"]
    first = bench.run("touch ran", policy=None, config=None, args=[*flags, "--print-config"])
    assert first.code == 0 and "api.test" in first.text and "8443" in first.text, first
    assert SECRET not in first.text and not (bench.ws / "ran").exists()
    bench.write("again.yaml", first.out)
    second = bench.run("true", policy=None, config="again.yaml", args=["--print-config"])
    assert second.code == 0, second
    assert second.text.split("policies")[1] == first.text.split("policies")[1]


def test_without_rules_there_is_no_network_and_a_hint(bench, echo):
    done = bench.run("curl -sS https://api.test/ok; echo code $?; echo ran", policy=None,
                     config=None)
    assert "ran" in done.text and "code 0" not in done.text, done
    assert "--allow" in done.error and "api.test" in done.error, done
    assert echo.accepted == 0


def test_summary_names_what_was_refused_and_quiet_silences_it(bench, echo):
    cmd = "curl -s https://nowhere.test/; curl -s -o /dev/null -X DELETE https://api.test/ok; true"
    loud = bench.run(cmd)
    assert "nowhere.test" in loud.error and "DELETE" in loud.error, loud
    quiet = bench.run(cmd, args=["--quiet"])
    assert "nowhere.test" not in quiet.error, quiet


def test_grants_never_create_reachability(bench, echo):
    bench.config(rules=[CONTRACT_RULES[1]], grants=CONTRACT_GRANTS)
    done = bench.run(curl("https://api.test/ok", BEARER, "--resolve api.test:443:203.0.113.7"))
    refusal(done, 403, "host_not_allowed")
    assert echo.requests == []


@pytest.mark.parametrize("bench", ["user"], indirect=True)
def test_a_runtime_directory_that_is_not_there_is_done_without(bench, echo):
    """As `su USER` leaves it: XDG_RUNTIME_DIR names what is not there and cannot be made."""
    done = bench.run("echo ran", env={"XDG_RUNTIME_DIR": "/run/user/987654"})
    assert done.code == 0 and done.text == "ran\n", done
