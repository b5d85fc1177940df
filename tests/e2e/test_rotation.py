"""Secrets that change while sandboxes run: by file, by helper, by the store; and sources that fail meanwhile."""

import json
import os
import shutil
import subprocess
import tempfile
import time

import pytest

from support.bench import BEARER, CLEAN, SECRET
from support.daemon import TOKEN, Daemon
from support.marks import both_users
from support.origin import Origin

NEXT = "sk-live-Rotated-value-9876543210"
LAST = "sk-live-Third-value-of-all-55555"
NO_VARIABLE = {"REAL_TOKEN": None}

# Asks until the test says stop; a line for each answer.
LOOP = (f"while [ ! -e STOP ]; do curl -sS -m 5 -o /dev/null -w '%{{http_code}}\\n' "
        f"https://api.test/headers {BEARER}; sleep 0.05; done")


def secrets(source):
    return {"tok": {"source": source, "placeholder": {"env": "API_TOKEN"}}}


def replace(path, text):
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text)
    draft.rename(path)


class Keys:
    """A directory for secret files and helpers, beside the workspace."""

    def __init__(self, bench):
        self.bench, self.path = bench, bench.directory / "keys"
        self.path.mkdir()
        self.file = self.path / "tok"

    def script(self, name, text):
        path = self.path / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return str(path)


@pytest.fixture
def keys(bench):
    return Keys(bench)


class Loop:
    """A run whose sandbox sends requests without end."""

    def __init__(self, bench, echo, cmd=None, args=()):
        self.bench, self.echo = bench, echo
        self.stop = bench.ws / "stop"
        cmd = cmd or LOOP.replace("STOP", str(self.stop))
        self.process = bench.start(cmd, env=NO_VARIABLE, args=args)

    def sent(self):
        return [r.get("authorization") for r in self.echo.requests]

    def until_sent(self, value, seconds=3.0):
        """Seconds until the origin saw it."""
        begin = time.monotonic()
        while f"Bearer {value}" not in self.sent():
            took = time.monotonic() - begin
            if took > seconds or self.process.poll() is not None:
                self.stop.touch()
                out, err = self.process.communicate(timeout=15)
                raise AssertionError(f"not sent within {seconds} s: {out!r} {err!r}")
            time.sleep(0.01)
        return time.monotonic() - begin

    def until_recorded(self, change, seconds=3.0):
        begin = time.monotonic()
        while change not in self.changes():
            assert time.monotonic() - begin < seconds, (change, self.changes())
            time.sleep(0.02)
        return time.monotonic() - begin

    def changes(self):
        return [r["change"] for r in self.bench.records() if r["type"] == "secret"]

    def end(self):
        self.stop.touch()
        out, err = self.process.communicate(timeout=15)
        self.bench.running.remove(self.process)
        self.bench.check_end(creates=("stop",))
        for value in (SECRET, NEXT, LAST):
            assert value.encode() not in out + err, "the value came back"
        return out.decode(), err.decode()


@both_users
def test_a_new_file_is_the_next_version_and_no_request_fails(bench, echo, keys):
    keys.file.write_text(SECRET + "\n")
    bench.config(secrets=secrets({"file": str(keys.file)}))
    loop = Loop(bench, echo)
    loop.until_sent(SECRET, 10)
    replace(keys.file, NEXT + "\n")
    assert loop.until_sent(NEXT) < 1.5
    keys.file.write_text(LAST + "\n")             # in place
    assert loop.until_sent(LAST) < 1.5
    out, err = loop.end()
    assert set(out.split()) == {"200"}, (out, err)
    order = [value for value, before in zip(loop.sent(), [None, *loop.sent()]) if value != before]
    assert order == [f"Bearer {v}" for v in (SECRET, NEXT, LAST)]
    records = bench.records()
    versions = [r["uses"][0]["version"] for r in records if r["type"] == "intent"]
    assert versions == sorted(versions) and set(versions) == {1, 2, 3}
    changes = [(r["secret"], r["version"], r["change"]) for r in records if r["type"] == "secret"]
    assert changes == [("tok", 2, "rotated"), ("tok", 3, "rotated")]


def test_values_of_before_stay_masked(bench, pki, keys):
    """An origin that remembers what it was sent once says it again after the rotation."""
    def script(conn):
        while True:
            conn.read_request()
            text = f"was {SECRET} is {NEXT}.".encode()
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
    bench.map("api.test:443", Origin(script, pki.good))
    keys.file.write_text(SECRET)
    bench.config(secrets=secrets({"file": str(keys.file)}))
    ready = bench.ws / "ready"
    running = bench.start(f"while [ ! -e {ready} ]; do sleep 0.05; done; "
                          f"curl -sS https://api.test/x {BEARER}; echo; echo $API_TOKEN",
                          env=NO_VARIABLE)
    time.sleep(0.5)
    replace(keys.file, NEXT)
    end = time.monotonic() + 5
    while not any(r["type"] == "secret" for r in bench.records()) and time.monotonic() < end:
        time.sleep(0.05)
    ready.touch()
    out, err = running.communicate(timeout=15)
    bench.running.remove(running)
    answer, placeholder = out.decode().splitlines()
    assert answer == f"was {placeholder} is {placeholder}.", (out, err)
    bench.check_end(creates=("ready",))


def test_a_file_that_is_empty_or_half_or_unreadable_changes_nothing(bench, echo, keys):
    keys.file.write_text(SECRET)
    bench.config(secrets=secrets({"file": str(keys.file)}))
    loop = Loop(bench, echo)
    loop.until_sent(SECRET, 10)
    for broken in ("", "short", "two\nlines-of-it"):
        keys.file.write_text(broken)
        time.sleep(0.8)
    keys.file.unlink()
    keys.file.mkdir()
    time.sleep(0.8)
    keys.file.rmdir()
    replace(keys.file, NEXT)
    loop.until_sent(NEXT)
    out, err = loop.end()
    assert set(out.split()) == {"200"}, (out, err)
    assert set(loop.sent()) == {f"Bearer {SECRET}", f"Bearer {NEXT}"}
    assert err.count("the value that was known stays in use") == 1, err
    assert loop.changes() == ["rotated"]


def test_a_link_switched_as_kubernetes_does_it(bench, echo, keys):
    for name, value in (("..one", SECRET), ("..two", NEXT)):
        (keys.path / name).mkdir()
        (keys.path / name / "tok").write_text(value)
    (keys.path / "..data").symlink_to("..one")
    keys.file.symlink_to("..data/tok")
    bench.config(secrets=secrets({"file": str(keys.file)}))
    loop = Loop(bench, echo)
    loop.until_sent(SECRET, 10)
    (keys.path / "..tmp").symlink_to("..two")
    (keys.path / "..tmp").rename(keys.path / "..data")
    assert loop.until_sent(NEXT) < 1.5
    out, _ = loop.end()
    assert set(out.split()) == {"200"}


def test_a_file_that_stays_away_revokes_and_one_that_comes_back_does_not(bench, echo, keys):
    keys.file.write_text(SECRET)
    bench.config(secrets=secrets({"file": str(keys.file)}))
    loop = Loop(bench, echo)
    loop.until_sent(SECRET, 10)
    keys.file.unlink()
    time.sleep(2)
    keys.file.write_text(SECRET)
    time.sleep(5.5)
    assert loop.changes() == []
    keys.file.unlink()
    took = loop.until_recorded("revoked", 8)
    assert took > 4.5
    time.sleep(0.3)
    out, err = loop.end()
    codes = out.split()
    assert codes[0] == "200" and codes[-1] == "403", (out, err)
    reasons = {r["reason"] for r in bench.records() if r["type"] == "intent"}
    assert reasons == {"none", "secret_revoked"}
    assert bench.run("true", env=NO_VARIABLE, creates=("stop",)).code == 2      # nothing starts without


@both_users
def test_the_store_rotates_and_revokes_what_runs(bench, echo):
    def command(*args, value=b""):
        done = subprocess.run(bench.as_user([bench.warder, "secret", *args]), input=value,
                              env=bench.environment(NO_VARIABLE), capture_output=True)
        assert done.returncode == 0, done
    bench.own()
    command("set", "tok", value=SECRET.encode())
    command("set", "unrelated", value=LAST.encode())
    bench.config(secrets=secrets({"store": "tok"}))
    loop = Loop(bench, echo)
    loop.until_sent(SECRET, 10)
    command("rm", "unrelated")
    command("rotate", "tok", value=NEXT.encode())
    assert loop.until_sent(NEXT) < 1.5
    store = bench.state / "warder" / "secrets"
    whole = store.read_bytes()
    store.write_bytes(whole[:-3])                 # damaged: what is known stays
    time.sleep(0.8)
    assert loop.changes() == ["rotated"]
    store.write_bytes(whole)
    time.sleep(0.5)
    count = len(echo.requests)
    command("rm", "tok")
    assert loop.until_recorded("revoked") < 1.5
    time.sleep(0.3)
    out, err = loop.end()
    codes = out.split()
    assert set(codes) == {"200", "403"} and codes.index("403") > codes.count("200") - 1, (out, err)
    assert len(echo.requests) < count + 30
    refused = [r for r in bench.records() if r["type"] == "intent" and r["decision"] == "deny"]
    assert {r["reason"] for r in refused} == {"secret_revoked"}
    assert "damaged or was changed" in err, err


@pytest.mark.skipif(not os.path.exists("/usr/lib/git-core/git-credential-store"), reason="needs git")
def test_git_credential_store_as_it_is(bench, echo, keys):
    store = keys.path / "git-credentials"
    store.write_text(f"https://somebody:{SECRET}@api.test\n")
    bench.config(secrets=secrets({
        "exec": ["/usr/lib/git-core/git-credential-store", "--file", str(store)],
        "format": "git-credential", "host": "api.test", "cache": "1s"}))
    loop = Loop(bench, echo)
    loop.until_sent(SECRET, 10)
    replace(store, f"https://somebody:{NEXT}@api.test\n")
    assert loop.until_sent(NEXT) < 2.5
    out, _ = loop.end()
    assert set(out.split()) == {"200"}


def test_a_docker_credential_helper_as_it_is(bench, echo, keys):
    helper = keys.script("docker-credential-pass", f'''
[ "$1" = get ] || exit 1
read -r server
[ "$server" = ghcr.io ] || {{ echo "credentials not found in native keychain"; exit 1; }}
printf '{{"ServerURL":"ghcr.io","Username":"u","Secret":"%s"}}\\n' "$(cat {keys.file})"''')
    keys.file.write_text(SECRET)
    source = {"exec": [helper], "format": "docker-credential", "host": "ghcr.io", "cache": "once"}
    bench.config(secrets=secrets(source))
    done = bench.run(f"curl -sS https://api.test/headers {BEARER}", env=NO_VARIABLE)
    assert done.code == 0 and echo.requests[-1].get("authorization") == f"Bearer {SECRET}", done
    bench.config(secrets=secrets({**source, "host": "docker.io"}))
    done = bench.run("true", env=NO_VARIABLE)
    assert done.code == 2 and "docker-credential-pass ended with exit code 1" in done.error, done


def test_docker_credential_pass_itself(bench, echo, keys):
    """The helper that Docker ships, over pass and gpg; what it stores for ghcr.io is what the origin gets."""
    for program in ("docker-credential-pass", "pass", "gpg"):
        if not shutil.which(program, path=CLEAN["PATH"]):
            pytest.skip(f"no {program} (golang-docker-credential-helpers, pass, gnupg)")
    # A short path: gpg's agent listens on a socket in it.
    with tempfile.TemporaryDirectory(prefix="gpg") as gpg:
        where = {"GNUPGHOME": gpg, "PASSWORD_STORE_DIR": str(keys.path / "store"), "HOME": str(keys.path)}
        env = {**CLEAN, **where}

        def work(*argv, value=""):
            return subprocess.run(argv, env=env, input=value, text=True, check=True, capture_output=True)
        try:
            work("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "t@t.test", "default", "default")
            work("pass", "init", "t@t.test")
            work("docker-credential-pass", "store",
                 value=json.dumps({"ServerURL": "ghcr.io", "Username": "u", "Secret": SECRET}))
            source = {"exec": [shutil.which("docker-credential-pass", path=CLEAN["PATH"])], "env": list(where),
                      "format": "docker-credential", "host": "ghcr.io", "cache": "once", "timeout": "20s"}
            bench.config(secrets=secrets(source))
            run_env = {**NO_VARIABLE, **{k: v for k, v in where.items() if k != "HOME"}}
            done = bench.run(f"curl -sS https://api.test/headers {BEARER}", env=run_env)
            assert done.code == 0 and echo.requests[-1].get("authorization") == f"Bearer {SECRET}", done
            bench.config(secrets=secrets({**source, "host": "docker.io"}))
            done = bench.run("true", env=run_env)
            assert done.code == 2 and "docker-credential-pass" in done.error, done
        finally:
            subprocess.run(["gpgconf", "--kill", "all"], env=env, capture_output=True)


def test_a_helper_gets_what_the_configuration_names_and_no_more(bench, echo, keys):
    seen = keys.path / "seen"
    helper = keys.script("helper", f"env | sort > {seen}; pwd >> {seen}; echo '{SECRET}'")
    bench.config(secrets=secrets({"exec": [helper, "$HOME", "a b"], "env": ["PASSED"], "cache": "once"}))
    done = bench.run(f"curl -sS https://api.test/headers {BEARER}",
                     env={"PASSED": "yes", "HIDDEN": "no", **NO_VARIABLE})
    assert echo.requests[-1].get("authorization") == f"Bearer {SECRET}", done
    text = seen.read_text()
    assert "PASSED=yes\n" in text and "WARDER_SECRET=tok\n" in text and "HIDDEN" not in text, text
    assert text.endswith("\n/\n"), text


@pytest.mark.parametrize("script, why", [
    ("exit 3", "ended with exit code 3"), ("", "is empty"), ("sleep 60", "did not end in time"),
    (f"yes {SECRET}", "wrote more than a value's 16384 bytes"),
    (f"echo {SECRET} >&2; exit 1", "ended with exit code 1")])
def test_a_helper_that_fails_at_the_start_refuses_to_start(bench, keys, script, why):
    helper = keys.script("helper", script)
    bench.real = None                             # the last one prints it itself
    bench.config(secrets=secrets({"exec": [helper], "timeout": "500ms"}))
    done = bench.run("echo ran", env=NO_VARIABLE)
    assert done.code == 2 and why in done.error and "ran" not in done.text, done
    assert done.seconds < 5


def test_a_helper_that_fails_later_costs_nothing_until_its_answer_is_too_old(bench, echo, keys):
    """Then requests are refused, never sent without; and all is well again by itself."""
    keys.file.write_text(SECRET)
    helper = keys.script("helper", f"cat {keys.file} || {{ echo it is away >&2; exit 1; }}")
    bench.config(secrets=secrets({"exec": [helper], "cache": "3s"}))
    loop = Loop(bench, echo)
    loop.until_sent(SECRET, 10)
    keys.file.unlink()
    loop.until_recorded("unavailable", 6)
    time.sleep(0.3)
    count = len(echo.requests)
    time.sleep(0.5)
    assert len(echo.requests) == count, "a request was sent without its secret"
    keys.file.write_text(NEXT)
    loop.until_sent(NEXT, 6)
    out, err = loop.end()
    codes = out.split()
    assert set(codes) == {"200", "503"} and codes[0] == codes[-1] == "200", (out, err)
    reasons = {r["reason"] for r in bench.records() if r["type"] == "intent"}
    assert reasons == {"none", "secret_unavailable"}
    assert loop.changes() == ["unavailable", "restored"]
    assert set(loop.sent()) == {f"Bearer {SECRET}", f"Bearer {NEXT}"}
    assert "helper says: cat: " in err and "it is away" in err, err


def test_a_helper_that_hangs_holds_up_neither_files_nor_the_end(bench, echo, keys):
    keys.file.write_text(SECRET)
    hangs = keys.script("hangs", f"[ -e {keys.path}/hang ] && exec sleep 60; echo another-value-of-it")
    bench.config(
        secrets={**secrets({"file": str(keys.file)}),
                 "slow": {"source": {"exec": [hangs], "cache": "1s", "timeout": "50s"},
                          "placeholder": {"env": "SLOW"}}},
        grants=[{"secret": "tok", "hosts": ["api.test"]}, {"secret": "slow", "hosts": ["other.test"]}])
    loop = Loop(bench, echo)
    loop.until_sent(SECRET, 10)
    (keys.path / "hang").touch()
    time.sleep(1.5)
    replace(keys.file, NEXT)
    assert loop.until_sent(NEXT) < 1.5
    begin = time.monotonic()
    loop.end()                                    # nor is a process left: the oracles look
    assert time.monotonic() - begin < 3


def test_attack_a_helper_that_the_sandbox_could_change_is_refused(bench, keys):
    inside = bench.write("get-token", f"#!/bin/sh\necho {SECRET}\n", 0o755)
    outside = keys.script("helper", f"echo '{SECRET}'")
    (keys.path / "link").symlink_to(inside)
    bench.real = None
    for argv in ([str(inside)], ["./get-token"], ["/bin/sh", str(inside)], [str(keys.path / "link")]):
        bench.config(secrets=secrets({"exec": argv}))
        done = bench.run("true", env=NO_VARIABLE)
        assert done.code == 2 and "in the workspace" in done.error, done
    # Found by its name in a directory of the workspace.
    bench.config(secrets=secrets({"exec": ["get-token"]}))
    done = bench.run("true", env={"PATH": f"{bench.ws}:/usr/bin:/bin", **NO_VARIABLE})
    assert done.code == 2 and "in the workspace" in done.error, done
    # In a directory that the sandbox may write otherwise it cannot be changed.
    bench.config(secrets=secrets({"exec": [outside]}))
    done = bench.run(f"echo evil > {outside} || echo kept", args=("--rw", str(keys.path)),
                     env=NO_VARIABLE)
    assert "kept" in done.text and "evil" not in open(outside).read(), done


def test_a_gateway_takes_changes_for_all_its_sessions_and_for_those_to_come(bench, echo, keys):
    keys.file.write_text(SECRET)
    bench.real = None
    with Daemon(bench, [{"type": "connect"}], secrets=secrets({"file": str(keys.file)})) as gateway:
        def ask():
            port, placeholder = gateway.ports["connect-1"], gateway.placeholder("connect-1")
            return gateway.curl("-x", f"http://127.0.0.1:{port}", "-o", "/dev/null", "-w", "%{http_code}",
                                "-H", f"Authorization: Bearer {placeholder}",
                                "https://api.test/headers").stdout
        assert ask() == "200" and echo.requests[-1].get("authorization") == f"Bearer {SECRET}"
        replace(keys.file, NEXT)
        gateway.records("secret", 1)
        assert ask() == "200" and echo.requests[-1].get("authorization") == f"Bearer {NEXT}"
        args = ("--gateway", str(gateway.directory / "admin.sock"))
        done = bench.run(f"curl -sS -o /dev/null https://api.test/headers {BEARER}", policy=None,
                         config=None, args=args, verify=False, env=NO_VARIABLE)
        assert done.code == 0 and echo.requests[-1].get("authorization") == f"Bearer {NEXT}", done
        # What a sandbox is given is looked through for the values of now and of before.
        for value in (SECRET, NEXT):
            done = bench.run(["echo", value], policy=None, config=None, args=args, verify=False,
                             env=NO_VARIABLE)
            assert done.code != 0 and "holds the value of secret" in done.error, done
        keys.file.unlink()
        end = time.monotonic() + 9
        while ask() == "200" and time.monotonic() < end:
            time.sleep(0.1)
        assert ask() == "403"
        done = bench.run("true", policy=None, config=None, args=args, verify=False, env=NO_VARIABLE)
        assert done.code != 0 and "was revoked" in done.error, done
        keys.file.write_text(LAST)                # for the next sessions; this one stays without
        time.sleep(1)
        assert ask() == "403"
        done = bench.run(f"curl -sS -o /dev/null https://api.test/headers {BEARER}", policy=None,
                         config=None, args=args, verify=False, env=NO_VARIABLE)
        assert done.code == 0 and echo.requests[-1].get("authorization") == f"Bearer {LAST}", done


def test_a_listeners_token_rotates_too(bench, echo, keys):
    token = keys.path / "token"
    token.write_text(TOKEN)
    with Daemon(bench, [{"type": "connect", "token": {"file": str(token)}}]) as gateway:
        def ask(password):
            return gateway.curl("-x", f"http://x:{password}@127.0.0.1:{gateway.ports['connect-1']}",
                                "-o", "/dev/null", "-w", "%{http_connect}",
                                "https://api.test/headers").stdout
        assert ask(TOKEN) == "200"
        replace(token, "another-token-0123456789")
        found, = gateway.records("secret", 1)
        assert found["session"] == "" and found["change"] == "rotated", found
        assert ask("another-token-0123456789") == "200" and ask(TOKEN) == "407"
        token.unlink()
        assert [r["change"] for r in wait_for(gateway, 2)] == ["rotated", "revoked"]
        assert ask("another-token-0123456789") == "407"
        token.write_text(TOKEN)
        assert [r["change"] for r in wait_for(gateway, 3)][-1] == "restored"
        assert ask(TOKEN) == "200"


def wait_for(gateway, count, seconds=9):
    end = time.monotonic() + seconds
    while len(gateway.records("secret")) < count and time.monotonic() < end:
        time.sleep(0.1)
    return gateway.records("secret")


def test_the_log_names_changes_in_json_that_the_verifier_knows(bench, echo, keys):
    keys.file.write_text(SECRET)
    bench.config(secrets=secrets({"file": str(keys.file)}))
    loop = Loop(bench, echo)
    loop.until_sent(SECRET, 10)
    replace(keys.file, NEXT)
    loop.until_recorded("rotated")
    loop.end()                                    # verifies
    line, = (r for r in bench.records() if r["type"] == "secret")
    assert list(line)[4:] == ["type", "session", "secret", "version", "change", "prev"], json.dumps(line)


@both_users
def test_attack_a_link_switched_while_the_sandbox_runs_shows_it_nothing(bench, echo, keys):
    shown = bench.directory / "shown"
    keys.path, keys.file = shown / "keys", shown / "keys" / "tok"
    keys.path.mkdir(parents=True)
    for name, text in (("..one", SECRET), ("..two", NEXT)):
        (keys.path / name).mkdir()
        (keys.path / name / "tok").write_text(text + "\n")
    (keys.path / "..data").symlink_to("..one")
    keys.file.symlink_to("..data/tok")
    bench.config(secrets=secrets({"file": str(keys.file)}))
    looks = (f"while [ ! -e STOP ]; do cat {keys.file} {keys.path}/..two/tok {keys.path}/*/tok "
             f">> {bench.ws}/seen 2>/dev/null; {LOOP.split('; do ')[1].split('; sleep')[0]}; "
             "sleep 0.05; done")
    loop = Loop(bench, echo, looks.replace("STOP", str(bench.ws / "stop")),
                args=("--ro", str(shown)))
    loop.until_sent(SECRET, 10)
    draft = keys.path / "..draft"
    draft.symlink_to("..two")
    draft.rename(keys.path / "..data")
    loop.until_sent(NEXT)
    time.sleep(0.3)
    loop.stop.touch()
    out, err = loop.process.communicate(timeout=15)
    bench.running.remove(loop.process)
    seen = (bench.ws / "seen").read_text() if (bench.ws / "seen").exists() else ""
    assert SECRET not in seen and NEXT not in seen


def test_attack_a_secret_behind_a_link_that_the_sandbox_could_switch_is_refused(bench, keys):
    keys.file.write_text(SECRET + "\n")
    (bench.ws / "link").symlink_to(keys.file)
    bench.config(secrets=secrets({"file": str(bench.ws / "link")}))
    result = bench.run("true", env=NO_VARIABLE)
    assert result.code == 2 and "link in the workspace" in result.error
