"""What is wrong in the input is said with its place and its remedy, and nothing is started."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.bench import BEARER, PYTHON, SECRET
from support.marks import both_users

GOOD = """version: 1
secrets:
  tok: {source: {env: REAL_TOKEN}, placeholder: {env: API_TOKEN}}
policies:
  t:
    rules:
      - {name: api, hosts: [api.test], action: allow}
    grants:
      - {secret: tok, hosts: [api.test], at: [header:authorization, basic]}
gateway:
  audit: {file: audit/audit.jsonl}
"""


def refused(bench, text, *needles, line=None, policy="t"):
    """Exit 2, file:line:column, every needle in stderr, and CMD did not run."""
    bench.write("bad.yaml", text)
    done = bench.run("touch started", config="bad.yaml", policy=policy, verify=False)
    assert done.code == 2, done
    assert not (bench.ws / "started").exists() and not bench.audit.exists()
    place = re.search(r"bad\.yaml:(\d+):(\d+)", done.error)
    assert place, done
    if line:
        assert int(place[1]) == line, done
    for needle in needles:
        assert needle in done.error, (needle, done)
    return done


@pytest.mark.parametrize("old,new,line,needles", [
    ("hosts: [api.test], action", "hostz: [api.test], action", 7, ["hostz", "hosts"]),
    ("version: 1", "version: 1\ngatewai: {}", 2, ["gatewai", "gateway"]),
    ("action: allow", "action: alow", 7, ["alow", "allow"]),
    ("hosts: [api.test], action", "hosts: api.test, action", 7, ["hosts"]),
    ("action: allow", "action: allow, ports: [https]", 7, ["https"]),
    ("action: allow", "action: allow, ports: [70000]", 7, ["70000"]),
    ("version: 1", "version: 2", 1, ["2"]),
    ("secret: tok, hosts", "secret: token, hosts", 9, ["token", "tok"]),
    ("header:authorization, basic", "header:cookie", 9, ["cookie"]),
    ("header:authorization, basic", "heder:authorization", 9, ["heder"]),
    ("hosts: [api.test], action", "hosts: ['*'], action", 7, ["*"]),
    ("hosts: [api.test], action", "hosts: ['https://api.test/x'], action", 7, ["api.test"]),
    ("hosts: [api.test], action", "hosts: ['a*.test'], action", 7, ["a*.test"]),
    ("hosts: [api.test], action", "hosts: [], action", 7, ["hosts"]),
    ("action: allow", "action: allow, action: deny", 7, ["action"]),
    ("action: allow", "action: tcp", 7, ["ports"]),
    ("action: allow", "action: tunnel, ports: [443], methods: [GET]", 7, ["methods"]),
    ("action: allow", "action: tcp, ports: [53]", 7, ["DNS"]),
    ("action: allow", "action: tcp, ports: [5432]", 9, ["grant", "no placeholder"]),
    ("action: allow", "action: ask, methods: [TRACE]", 7, ["TRACE"]),
    ("{env: REAL_TOKEN}", "{env: REAL_TOKEN, file: x}", 3, ["source"]),
    ("{env: REAL_TOKEN}", "{}", 3, ["source"]),
    ("audit/audit.jsonl", "audit.jsonl", 11, ["audit"]),
    ("  t:\n", "  t:\n    rulez: []\n", 6, ["rulez", "rules"]),
])
def test_config_errors(bench, old, new, line, needles):
    assert old in GOOD
    refused(bench, GOOD.replace(old, new, 1), *needles, line=line)


def test_yaml_that_does_not_parse(bench):
    refused(bench, GOOD + "  upstream: {ca: [x\n")
    refused(bench, "version: 1\n\tpolicies: {}\n")
    refused(bench, "- a\n- b\n")


def test_unknown_policy_names_those_there_are(bench):
    bench.write("ok.yaml", GOOD)
    done = bench.run("touch started", config="ok.yaml", policy="u", verify=False)
    assert done.code == 2 and re.search(r"no policy (named )?.?u\b", done.error), done
    assert re.search(r"(policies|there (is|are)|one of|has) .*\bt\b", done.error), done
    assert not (bench.ws / "started").exists()


@pytest.mark.parametrize("args,needle", [
    (["run", "--no-such-flag", "--", "true"], "no-such-flag"),
    (["run", "--config", "absent.yaml", "--", "true"], "absent.yaml"),
    (["run", "--allow", "https://api.test/", "--", "true"], "api.test"),
    (["run", "--allow", "*", "--", "true"], "*"),
    (["run", "--secret", "REAL_TOKEN", "--", "true"], "--secret"),   # may be a value: not echoed
    (["run", "--secret", "NOT_SET_AT_ALL@api.test", "--", "true"], "NOT_SET_AT_ALL"),
    (["run"], "CMD"),
    (["frobnicate"], "frobnicate"),
])
def test_command_line_errors(bench, args, needle):
    done = bench.warder_command(*args)
    assert done.code == 2 and needle in done.error, done


def test_secret_that_is_missing_or_short(bench):
    bench.write("ok.yaml", GOOD)
    done = bench.run("touch started", config="ok.yaml", env={"REAL_TOKEN": None}, verify=False)
    assert done.code == 2 and "REAL_TOKEN" in done.error and "tok" in done.error, done
    bench.real = "abc1234"
    done = bench.run("touch started", config="ok.yaml", verify=False)
    assert done.code == 2 and "tok" in done.error and "abc1234" not in done.error, done
    assert not (bench.ws / "started").exists()


@pytest.mark.parametrize("value", ["abcdefgh\nX-Injected: 1", "abcdefgh\r\nX-Injected: 1",
                                   "abcdefgh\x01", "abcdefgh\n\n"])
def test_br009_control_characters_in_env(bench, value):
    bench.write("ok.yaml", GOOD)
    bench.real = value
    done = bench.run("touch started", config="ok.yaml", verify=False)
    assert done.code == 2 and "tok" in done.error, done
    assert "abcdefgh" not in done.error and not (bench.ws / "started").exists()


def from_file(path):
    return {"tok": {"source": {"file": str(path)}, "placeholder": {"env": "API_TOKEN"}}}


def file_secret(bench, echo, content):
    """The value in a file outside the workspace."""
    path = bench.directory / "secrets" / "tok"
    path.parent.mkdir()
    path.write_bytes(content)
    path.chmod(0o600)
    bench.config(secrets=from_file(path))
    bench.real = "abcdefgh-file-value"
    return bench.run(f"touch started; curl -sS -o /dev/null {BEARER} https://api.test/ok",
                     env={"REAL_TOKEN": None}, creates=["started"], verify=False)


@both_users
def test_br009_one_trailing_newline_of_a_file_is_stripped(bench, echo):
    done = file_secret(bench, echo, b"abcdefgh-file-value\n")
    assert done.code == 0, done
    assert echo.requests[0].get("authorization") == "Bearer abcdefgh-file-value"
    assert b"\r\n\r\n" == echo.requests[0].raw_head[-4:]


@pytest.mark.parametrize("content", [
    b"abcdefgh-file-value\r\nX-Injected: 1", b"abcdefgh-file-value\0def",
    b"abcdefgh-file-value\n\n", b"abcdefgh-file-value\nX: 1\n", b"", b"\n", b"short\n"])
def test_br009_bad_bytes_in_a_file(bench, echo, content):
    done = file_secret(bench, echo, content)
    assert done.code == 2 and "tok" in done.error and b"abcdefgh" not in done.err, done
    assert not (bench.ws / "started").exists() and echo.accepted == 0


def test_a_file_secret_in_the_workspace_is_not_seen_inside(bench, echo):
    bench.write("keys/tok", "workspace-file-secret\n", 0o600)
    bench.config(secrets=from_file("keys/tok"))
    bench.real = "workspace-file-secret"
    done = bench.run("ls -A keys; cat keys/tok; mv keys k2; echo x > keys/y; echo end",
                     env={"REAL_TOKEN": None})
    assert done.text == "end\n", done


# -- CMD -------------------------------------------------------------------------------------------
@both_users
def test_exit_codes_pass_through(bench, echo):
    for cmd, code in {"exit 0": 0, "exit 7": 7, "exit 255": 255, "kill -TERM $$": 143,
                      "kill -KILL $$": 137, "kill -SEGV $$": 139}.items():
        done = bench.run(cmd)
        assert done.code == code, (cmd, done)


def test_cmd_not_found_and_not_executable(bench, echo):
    done = bench.run(["no-such-command-xyz"])
    assert done.code == 127 and "no-such-command-xyz" in done.error, done
    assert bench.run(["./absent"]).code == 127
    bench.write("plain", "#!/bin/sh\necho hi\n", 0o644)
    done = bench.run(["./plain"])
    assert done.code == 126 and "plain" in done.error, done
    assert bench.run([str(bench.ws)]).code == 126


def test_argv_is_never_expanded(bench, echo):
    words = ["$HOME", "*", "a  b", "", "`id`", "--", "-c", "~", "é\n"]
    done = bench.run([PYTHON, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", *words])
    assert json.loads(done.text) == words, done


# -- trust -----------------------------------------------------------------------------------------
@both_users
def test_a_found_warder_yaml_is_used_only_after_trust(bench, echo):
    bench.config(name="warder.yaml")
    cmd = "curl -sS https://api.test/ok"
    done = bench.run(cmd, config=None, policy=None, verify=False)
    assert done.code == 2 and "trust" in done.error and "--config" in done.error, done
    assert echo.accepted == 0
    assert bench.warder_command("trust").code == 0
    done = bench.run(cmd, config=None, policy=None)
    assert done.code == 0 and done.text == "ok", done
    with open(bench.ws / "warder.yaml", "a") as file:
        file.write("# a change by somebody\n")
    assert bench.run(cmd, config=None, policy=None, verify=False).code == 2


def test_the_sandbox_cannot_trust_for_the_user(bench, echo):
    """Trust is kept outside the workspace; a change that CMD makes to the file is not trusted."""
    bench.config(name="warder.yaml")
    assert bench.warder_command("trust").code == 0
    done = bench.run("echo '# mine' >> warder.yaml; curl -sS https://api.test/ok", config=None,
                     policy=None)
    assert done.text == "ok", done
    changed = (bench.ws / "warder.yaml").read_text().endswith("# mine\n")
    again = bench.run("true", config=None, policy=None, verify=False).code
    assert again == (2 if changed else 0)


def test_init_writes_a_file_that_loads(bench):
    done = bench.warder_command("init", creates=["warder.yaml"])
    assert done.code == 0 and (bench.ws / "warder.yaml").exists(), done
    assert "#" in (bench.ws / "warder.yaml").read_text()
    before = (bench.ws / "warder.yaml").read_bytes()
    again = bench.warder_command("init")
    assert again.code == 2 and (bench.ws / "warder.yaml").read_bytes() == before, again
    assert bench.warder_command("trust").code == 0
    bench.real = ""
    done = bench.run("echo fine", config=None, policy=None, env={"REAL_TOKEN": None}, verify=False)
    assert done.text == "fine\n" or (done.code == 2 and "not set" in done.error), done


# -- workspaces ------------------------------------------------------------------------------------
@pytest.mark.parametrize("where", ["/", "/tmp", "HOME"])
def test_wide_workspaces_are_refused(bench, where):
    directory = str(bench.home) if where == "HOME" else where
    done = subprocess.run([bench.warder, "run", "--", "touch", "/started-by-e2e"], cwd=directory,
                          env=bench.environment(), capture_output=True, timeout=10)
    assert done.returncode == 2 and b"--rw" in done.stderr, done
    assert not Path("/started-by-e2e").exists()


# -- BR-110 ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["seccomp", "sysctl"])
def test_br110_user_namespaces_forbidden(bench, request, how):
    """Says which feature is missing and how to get it, and that nothing ran; no fallback."""
    if os.geteuid() == 0:
        user = request.getfixturevalue("ordinary_user")
        bench.user = user
        ids = (user.uid, user.gid)
    elif how == "sysctl":
        pytest.skip("needs root to map all ids into a user namespace")
    else:
        ids = (os.getuid(), os.getgid())
    bench.config()
    bench.own()
    wrapper = str(Path(__file__).parent / "support" / "without_userns.py")
    probe = subprocess.run([sys.executable, wrapper, how, *map(str, ids), "unshare", "-U", "true"],
                           capture_output=True)
    assert probe.returncode != 0, "the wrapper does not deny user namespaces"
    argv = [bench.warder, "run", "--config", str(bench.ws / "t.yaml"), "--", "touch", "started"]
    done = subprocess.run([sys.executable, wrapper, how, *map(str, ids), *argv], cwd=bench.ws,
                          env=bench.environment(), capture_output=True, timeout=20)
    error = done.stderr.decode()
    assert done.returncode in (2, 125), (done.returncode, error)
    assert "user namespace" in error, error
    assert re.search(r"sysctl|max_user_namespaces|AppArmor|seccomp", error), error
    assert re.search(r"nothing (was )?(run|ran|started)", error, re.I), error
    assert not (bench.ws / "started").exists()
    assert SECRET not in error


def test_version_and_help(bench):
    assert re.search(r"\d+\.\d+\.\d+", bench.warder_command("--version").text)
    text = bench.warder_command("run", "--help").text
    for flag in ("--config", "--policy", "--allow", "--secret", "--env", "--print-config",
                 "--quiet"):
        assert flag in text, flag


def test_a_command_shows_its_own_examples(bench):
    general = "warder demo        "
    assert general in bench.warder_command("--help").text
    for words in (["reload"], ["init"], ["trust"], ["demo"], ["doctor"], ["audit"], ["audit", "verify"], ["preset"],
                  ["preset", "list"], ["run"], ["approve"], ["gateway"]):
        done = bench.warder_command(*words, "--help")
        assert done.code == 0 and "Usage: " in done.text and general not in done.text, done
