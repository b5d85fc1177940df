"""Another configuration while sandboxes run: whole or not at all, for the next request at once, and what runs is asked about
again."""

import json
import signal
import subprocess
import threading
import time

import pytest

from support.bench import BEARER, CONTRACT_RULES, CONTRACT_SECRETS, SECRET
from support.daemon import Daemon
from support.h2bench import event_origin
from support.marks import both_users
from support.origin import Origin
from support.websocket import Websockets, echo as ws_echo

API, OTHER = CONTRACT_RULES
DB = {"name": "db", "hosts": ["db.test"], "ports": [5432], "action": "tcp"}
ONLY_OTHER = [OTHER]


@pytest.fixture
def gateway(bench, echo):
    with Daemon(bench, [{"type": "connect"}], rules=[API, OTHER, DB]) as daemon:
        yield daemon


def ask(gateway, url, *args):
    return gateway.curl("-x", f"http://127.0.0.1:{gateway.ports['connect-1']}", "-o", "/dev/null",
                        "-w", "%{http_code} %{http_connect}", *args, url).stdout


def tunnel(gateway, target):
    """A CONNECT tunnel, as far as the proxy's answer."""
    sock = gateway.connect("connect-1")
    sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += sock.recv(1)
    assert head.startswith(b"HTTP/1.1 200"), head
    return sock


def until_ended(sock, seconds):
    """Seconds until the other side ended it, however it did."""
    begin = time.monotonic()
    sock.settimeout(seconds)
    try:
        while sock.recv(65536):
            pass
    except ConnectionError:
        pass
    return time.monotonic() - begin


@both_users
def test_the_next_request_goes_by_the_new_policy(bench, gateway):
    assert ask(gateway, "https://api.test/ok") == "200 200"
    gateway.reconfigure(rules=ONLY_OTHER)
    done = gateway.reload()
    assert done.returncode == 0 and "for 1 sandbox from now on" in done.stderr, done
    assert ask(gateway, "https://api.test/ok").endswith(" 403")
    assert ask(gateway, "https://other.test/ok") == "200 200"
    gateway.reconfigure(rules=[API, OTHER])
    gateway.process.send_signal(signal.SIGHUP)
    first, second = gateway.records("policy", 2)
    deadline = time.monotonic() + 10              # recorded first, then done
    while ask(gateway, "https://api.test/ok") != "200 200":
        assert time.monotonic() < deadline
    assert first["change"] == second["change"] == "replaced" and first["policy"] == "t"
    assert first["policy_sha256"] != second["policy_sha256"] and first["session"] == second["session"]
    assert first["by"].startswith("uid ") and second["by"] == "SIGHUP"
    refused = [r for r in gateway.records("intent") if r["decision"] == "deny"]
    assert {r["reason"] for r in refused} == {"host_not_allowed"}


@pytest.mark.parametrize("wrong, why", [
    ("version: 1\npolicies: {t: {rulez: []}}\n", "did you mean 'rules'"),
    ("version: 1\npolicies: [", "t.yaml:"), ("", "the file is empty"),
    ("version: 1\npolicies: {t: {rules: []}}\n", "'gateway' has changed, which takes a restart")])
def test_what_is_invalid_changes_nothing_and_is_reported(bench, gateway, wrong, why):
    bench.write("t.yaml", wrong)
    done = gateway.reload()
    assert done.returncode == 2 and "nothing has changed" in done.stderr and why in done.stderr, done
    assert ask(gateway, "https://api.test/ok") == "200 200"
    record, = gateway.records("policy", 1)
    assert record["change"] == "refused" and why in record["detail"] and record["session"] == ""
    gateway.process.send_signal(signal.SIGHUP)
    gateway.records("policy", 2)
    assert ask(gateway, "https://api.test/ok") == "200 200"
    _, error = gateway.stop()
    assert error.count("nothing has changed") == 1, error        # the signal's; the call was told itself


def test_a_secret_that_cannot_be_read_refuses_all_of_it(bench, gateway):
    secrets = {**CONTRACT_SECRETS, "more": {"source": {"file": "/nonexistent/token"},
                                            "placeholder": {"env": "MORE"}}}
    gateway.reconfigure(rules=ONLY_OTHER, secrets=secrets,
                        grants=[{"secret": "more", "hosts": ["other.test"]}])
    done = gateway.reload()
    assert done.returncode == 2 and "/nonexistent/token" in done.stderr, done
    assert ask(gateway, "https://api.test/ok") == "200 200"


def test_no_gateway_to_reload(bench):
    done = subprocess.run([bench.warder, "reload", "--gateway", "/nonexistent.sock"],
                          capture_output=True, text=True)
    assert done.returncode == 2 and "start one with" in done.stderr, done


def test_watch_takes_the_file_when_it_changes(bench, echo):
    with Daemon(bench, [{"type": "connect"}], args=["--watch"]) as gateway:
        assert ask(gateway, "https://api.test/ok") == "200 200"
        draft = gateway.reconfigure(rules=ONLY_OTHER)
        record, = gateway.records("policy", 1)
        assert record["by"] == "file" and record["change"] == "replaced"
        assert ask(gateway, "https://api.test/ok").endswith(" 403")
        draft.write_text("nothing: [")
        assert [r["change"] for r in gateway.records("policy", 2)] == ["replaced", "refused"]
        assert ask(gateway, "https://other.test/ok") == "200 200"


# -- what runs -------------------------------------------------------------------------------------
def ended_as(gateway, reason):
    end = time.monotonic() + 5
    while time.monotonic() < end:
        found = [r for r in gateway.records("receipt") if r["reason"] == reason]
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(gateway.records("receipt"))


class Slow:
    """A download that takes for ever."""

    def __init__(self, gateway, url, *args):
        argv = ["curl", "-sS", "-N", *args, "--cacert", gateway.ca, "-x",
                f"http://127.0.0.1:{gateway.ports['connect-1']}", url]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdout.read(5), self.process.stderr.read()

    def seconds_to_end(self):
        begin = time.monotonic()
        self.process.communicate(timeout=10)
        return time.monotonic() - begin


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_streams_that_are_no_longer_allowed_end_and_the_others_go_on(bench, pki, version):
    event_origin(bench, pki, version)
    with Daemon(bench, [{"type": "connect"}], rules=[API, OTHER]) as gateway:
        streams_end(gateway, version)


def streams_end(gateway, version):
    gone = Slow(gateway, "https://api.test/stream?n=1000&gap=0.05", version)
    kept = Slow(gateway, "https://other.test/stream?n=1000&gap=0.05", version)
    gateway.reconfigure(rules=ONLY_OTHER)
    assert gateway.reload().returncode == 0
    assert gone.seconds_to_end() < 1.0 and gone.process.returncode != 0
    found, = ended_as(gateway, "policy_changed")
    assert found["side"] == "warder"
    began = {r["exchange"]: r["protocol"] for r in gateway.records("intent")}
    assert began[found["exchange"]] == ("h2" if version == "--http2" else "http/1.1"), began
    assert kept.process.poll() is None
    assert kept.process.stdout.read(5)
    kept.process.kill()
    kept.process.wait()


def test_tunnels_of_raw_bytes_end(bench, gateway):
    bench.map("db.test:5432", Origin(lambda conn: (conn.send(b"hello"), conn.fill())))
    gateway.stop()
    with Daemon(bench, [{"type": "connect"}], rules=[API, OTHER, DB]) as daemon:
        sock = tunnel(daemon, "db.test:5432")
        assert sock.recv(5) == b"hello"
        daemon.reconfigure(rules=[API, OTHER, {**DB, "name": "same", "allow_private": True}])
        assert daemon.reload().returncode == 0
        with pytest.raises(TimeoutError):
            until_ended(sock, 1.0)
        daemon.reconfigure(rules=[API, OTHER])
        assert daemon.reload().returncode == 0
        assert until_ended(sock, 3.0) < 1.0
        found, = ended_as(daemon, "policy_changed")
        assert found["bytes_down"] == 5


def test_websockets_end(bench, pki):
    bench.map("api.test:443", Websockets(ws_echo, pki.good))
    with Daemon(bench, [], rules=[API, OTHER]) as gateway:
        script = """
import asyncio, sys, time, websockets
async def main():
    async with websockets.connect("wss://api.test/chat") as ws:
        await ws.send("a")
        print(await ws.recv(), flush=True)
        begin = time.monotonic()
        try:
            await ws.recv()
        except websockets.ConnectionClosed as end:
            print("ended", time.monotonic() - begin, flush=True)
asyncio.run(main())
"""
        path = bench.write("client.py", script)
        args = ("--gateway", str(gateway.directory / "admin.sock"))
        running = bench.start(f"/usr/bin/python3 {path}", policy=None, config=None, args=args)
        assert running.stdout.readline() == b"a\n", running.stderr.read()
        gateway.reconfigure(rules=ONLY_OTHER)
        assert gateway.reload().returncode == 0
        begin = time.monotonic()
        out, err = running.communicate(timeout=10)
        assert time.monotonic() - begin < 2.0 and b"ended" in out, (out, err)
        ended_as(gateway, "policy_changed")


def test_a_connection_that_was_refused_is_allowed_by_what_allows_it(bench, gateway):
    """The same connection, clear text: its host was refused when it came."""
    gateway.reconfigure(rules=[OTHER])
    assert gateway.reload().returncode == 0
    target = "http://api.test/ok"
    with gateway.connect("connect-1") as sock:
        def request():
            sock.sendall(f"GET {target} HTTP/1.1\r\nHost: api.test\r\n\r\n".encode())
            return sock.recv(65536).split(b"\r\n")[0].split()[1]
        assert request() == b"403"
        gateway.reconfigure(rules=[API, OTHER])
        assert gateway.reload().returncode == 0
        assert request() != b"403"                # no origin listens at port 80: that is for another reason


# -- secrets ---------------------------------------------------------------------------------------
def bearer(gateway):
    return ("-H", f"Authorization: Bearer {gateway.placeholder('connect-1')}")


def test_a_grant_that_is_taken_away_leaves_a_tripwire(bench, echo, gateway):
    with_token = bearer(gateway)
    assert ask(gateway, "https://api.test/headers", *with_token) == "200 200"
    assert echo.requests[-1].get("authorization") == f"Bearer {SECRET}"
    gateway.reconfigure(rules=[API, OTHER], grants=[{"secret": "tok", "hosts": ["other.test"]}])
    assert gateway.reload().returncode == 0
    count = len(echo.requests)
    assert ask(gateway, "https://api.test/headers", *with_token) == "403 200"
    assert len(echo.requests) == count
    assert gateway.records("intent")[-1]["reason"] == "placeholder_wrong_host"
    # Where it is granted now, it is swapped, behind the same placeholder.
    ask(gateway, "https://other.test/headers", *with_token)
    assert gateway.records("intent")[-1]["uses"][0]["name"] == "tok"


def test_what_used_a_grant_that_is_taken_away_ends(bench, gateway):
    argv = ["curl", "-sS", "-N", "--cacert", gateway.ca, *bearer(gateway), "-x",
            f"http://127.0.0.1:{gateway.ports['connect-1']}", "https://api.test/stream?n=1000&gap=0.05"]
    running = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout.read(5)
    gateway.reconfigure(rules=[API, OTHER], grants=[])
    assert gateway.reload().returncode == 0
    begin = time.monotonic()
    out, _ = running.communicate(timeout=10)
    assert time.monotonic() - begin < 1.0 and running.returncode != 0
    assert SECRET.encode() not in out
    ended_as(gateway, "policy_changed")


def test_a_new_secret_is_for_the_sandboxes_that_come(bench, echo, gateway):
    token = bench.directory / "keys" / "more"     # a directory of its own, which is covered inside
    token.parent.mkdir()
    token.write_text("another-value-of-a-secret")
    secrets = {**CONTRACT_SECRETS, "more": {"source": {"file": str(token)}, "placeholder": {"env": "MORE"}}}
    grants = [{"secret": "tok", "hosts": ["api.test"]}, {"secret": "more", "hosts": ["api.test"],
                                                         "at": ["header:x-api-key"]}]
    gateway.reconfigure(rules=[API, OTHER], secrets=secrets, grants=grants)
    assert gateway.reload().returncode == 0
    assert ask(gateway, "https://api.test/headers", *bearer(gateway)) == "200 200"
    args = ("--gateway", str(gateway.directory / "admin.sock"))
    done = bench.run('curl -sS https://api.test/headers -H "X-Api-Key: $MORE"; echo; echo "mine $MORE"',
                     policy=None, config=None, args=args, verify=False)
    assert done.code == 0 and "another-value" not in done.text, done
    assert echo.requests[-1].get("x-api-key") == "another-value-of-a-secret"


# -- attack ----------------------------------------------------------------------------------------
def test_attack_no_request_ever_meets_parts_of_two_configurations(bench, echo, gateway):
    """A allows api.test without a grant there, B grants at api.test and allows only other.test: a mix would send the value."""
    first = {"rules": [API, OTHER], "grants": [{"secret": "tok", "hosts": ["other.test"]}]}
    second = {"rules": [OTHER], "grants": [{"secret": "tok", "hosts": ["api.test"]}]}
    with_token = bearer(gateway)
    gateway.reconfigure(**first)
    assert gateway.reload().returncode == 0
    stop = threading.Event()
    codes = []

    def hammer():
        while not stop.is_set():
            codes.append(ask(gateway, "https://api.test/headers", *with_token))

    threads = [threading.Thread(target=hammer) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(40):
        gateway.reconfigure(**(second, first)[turn % 2])
        assert gateway.reload().returncode == 0
    stop.set()
    for thread in threads:
        thread.join()
    assert len(codes) > 20 and not any(code.startswith("200") for code in codes), codes
    assert not any(SECRET in json.dumps(r.headers) for r in echo.requests)


def test_attack_never_a_moment_without_a_policy(bench, gateway):
    """Both allow /ok and deny /no: whatever the moment, so it is."""
    no = {"name": "no", "hosts": ["api.test"], "paths": ["/no"], "action": "deny"}
    stop = threading.Event()
    seen = {"/ok": set(), "/no": set()}

    def hammer(path):
        while not stop.is_set():
            seen[path].add(ask(gateway, f"https://api.test{path}"))

    gateway.reconfigure(rules=[no, API, OTHER])
    assert gateway.reload().returncode == 0
    threads = [threading.Thread(target=hammer, args=(path,)) for path in seen]
    for thread in threads:
        thread.start()
    for turn in range(40):
        rules = [no, API, OTHER] if turn % 2 else [{**no, "name": "other-name"}, API]
        gateway.reconfigure(rules=rules)
        assert gateway.reload().returncode == 0
    stop.set()
    for thread in threads:
        thread.join()
    assert seen == {"/ok": {"200 200"}, "/no": {"403 200"}}


def test_attack_the_socket_of_a_reload_is_not_in_the_sandbox(bench, gateway):
    args = ("--gateway", str(gateway.directory / "admin.sock"))
    done = bench.run(f"ls {gateway.directory}; echo $?", policy=None, config=None, args=args, verify=False)
    assert "admin.sock" not in done.text, done


# -- a run with a gateway of its own ----------------------------------------------------------------
LOOP = ("while [ ! -e STOP ]; do curl -sS -m 5 -o /dev/null -w '%{http_code}\\n' https://api.test/headers "
        f"{BEARER} 2>/dev/null; sleep 0.05; done")


class Run:
    """Asks without end, a line for each answer."""

    def __init__(self, bench, **how):
        self.bench, self.stop = bench, bench.ws / "stop"
        self.process = bench.start(LOOP.replace("STOP", str(self.stop)), **how)
        self.until("200")

    def until(self, code, seconds=8):
        end = time.monotonic() + seconds
        while (line := self.process.stdout.readline().decode().strip()) != code:
            assert time.monotonic() < end and self.process.poll() is None, (line, self.process)

    def reload(self):
        return subprocess.run(self.bench.as_user([self.bench.warder, "reload"]),
                              env=self.bench.environment(), capture_output=True, text=True)

    def end(self):
        self.stop.touch()
        out, err = self.process.communicate(timeout=15)
        self.bench.running.remove(self.process)
        self.bench.check_end(creates=("stop",))
        return err.decode()


@both_users
def test_a_run_takes_another_configuration_by_command_and_shows_the_difference(bench, echo):
    bench.config(rules=[API, OTHER])
    run = Run(bench)
    bench.config(rules=[{**API, "paths": ["/v9/**"]}, OTHER])
    time.sleep(0.7)                               # not by itself
    run.until("200")
    done = run.reload()
    assert done.returncode == 0 and "for 1 sandbox from now on" in done.stderr, done
    assert '\n  + ' in done.stderr and "/v9/**" in done.stderr and "\n  - " in done.stderr, done
    assert SECRET not in done.stderr
    run.until("403")
    bench.config(rules=[API, OTHER])
    assert run.reload().returncode == 0
    run.until("200")                              # its secret is still there, and swapped
    assert echo.requests[-1].get("authorization") == f"Bearer {SECRET}"
    run.end()
    assert [r["change"] for r in bench.records() if r["type"] == "policy"] == ["replaced"] * 2


def test_what_is_found_in_the_workspace_must_be_trusted_again(bench, echo):
    bench.config(rules=[API, OTHER], name="warder.yaml")
    assert bench.warder_command("trust").code == 0
    run = Run(bench, config=None)
    bench.config(rules=[API, {**OTHER, "name": "more"}], name="warder.yaml")
    done = run.reload()
    assert done.returncode == 2 and "is not trusted" in done.stderr, done
    subprocess.run([bench.warder, "trust"], env=bench.environment(), cwd=bench.ws, check=True,
                   capture_output=True)
    done = run.reload()
    assert done.returncode == 0 and "more" in done.stderr, done
    run.end()


def test_two_runs_and_no_gateway_named(bench, echo):
    done = subprocess.run([bench.warder, "reload"], env=bench.environment(), capture_output=True, text=True)
    assert done.returncode == 2 and "no gateway runs here" in done.stderr, done
    bench.config(rules=[API, OTHER])
    first = Run(bench)
    bench.config(gateway={"upstream": {"ca": ["test-ca.pem"]}}, name="t2.yaml")
    second = bench.start("echo up; sleep 20", config="t2.yaml")
    assert second.stdout.readline() == b"up\n"
    done = first.reload()
    assert done.returncode == 2 and done.stderr.count("--gateway ") == 2, done
    second.terminate()
    second.wait(10)
    first.end()


# -- what a start would not take, nor a sandbox be shown ----------------------------------------------
def test_attack_a_helper_that_the_sandbox_could_change_is_not_taken(bench, echo):
    bench.config(rules=[API, OTHER])
    run = Run(bench)
    helper = bench.write("helper.sh", f"#!/bin/sh\ntouch {bench.directory}/ran\necho {SECRET}\n", 0o755)
    bench.config(rules=[API, OTHER], secrets={"tok": {"source": {"exec": [str(helper)]},
                                                      "placeholder": {"env": "API_TOKEN"}}})
    done = run.reload()
    assert done.returncode == 2 and "lies in the workspace" in done.stderr, done
    assert not (bench.directory / "ran").exists()
    run.until("200")
    helper.unlink()
    run.end()


@pytest.mark.parametrize("behind", ["itself", "a gateway"])
def test_attack_a_secrets_file_that_the_sandbox_sees_is_not_taken(bench, echo, behind):
    keys = bench.ws / "keys"
    keys.mkdir()
    (keys / "tok").write_text("a-value-that-nobody-must-see")
    secrets = {"tok": {"source": {"file": str(keys / "tok")}, "placeholder": {"env": "API_TOKEN"}}}
    if behind == "itself":
        bench.config(rules=[API, OTHER])
        run = Run(bench)
        bench.config(rules=[API, OTHER], secrets=secrets)
        done = run.reload()
        assert done.returncode == 2 and "would have to be kept from a sandbox" in done.stderr, done
        run.end()
        return
    with Daemon(bench, []) as gateway:
        args = ("--gateway", str(gateway.directory / "admin.sock"))
        running = bench.start("echo up; sleep 20", policy=None, config=None, args=args)
        assert running.stdout.readline() == b"up\n"
        gateway.reconfigure(secrets=secrets)
        done = gateway.reload()
        assert done.returncode == 2 and "would have to be kept from a sandbox" in done.stderr, done
        running.terminate()
        running.wait(10)
        bench.running.remove(running)
        assert gateway.reload().returncode == 0           # nobody is there to see it


def test_attack_a_value_never_goes_with_the_grants_of_another_configuration(bench, echo):
    """A: one file, granted at api.test. B: another file, granted at other.test. The first request behind each reload."""
    values = {"a": "value-of-the-first-file-0123", "b": "value-of-the-other-file-4567"}
    keys = bench.directory / "keys"
    keys.mkdir()
    for name, value in values.items():
        (keys / name).write_text(value)
    def config(name, host):
        return {"rules": [API, OTHER], "grants": [{"secret": "tok", "hosts": [host]}],
                "secrets": {"tok": {"source": {"file": str(keys / name)}, "placeholder": {"env": "API_TOKEN"}}}}
    first, second = config("a", "api.test"), config("b", "other.test")
    with Daemon(bench, [{"type": "connect"}], **first) as gateway:
        with_token = bearer(gateway)
        for turn in range(12):
            gateway.reconfigure(**(second, first)[turn % 2])
            assert gateway.reload().returncode == 0
            for host in ("api.test", "other.test"):
                ask(gateway, f"https://{host}/headers", *with_token)
        sent = {(r.get("host"), r.get("authorization")) for r in echo.requests if r.get("authorization")}
        assert sent == {("api.test", f"Bearer {values['a']}"), ("other.test", f"Bearer {values['b']}")}, sent


def test_the_difference_shows_the_order_and_no_argument_of_a_helper(bench, gateway):
    gateway.reconfigure(rules=[OTHER, API, DB])
    done = gateway.reload()
    lines = [line.strip() for line in done.stderr.splitlines()]
    assert any(line.startswith("- ") for line in lines) and any(line.startswith("+ ") for line in lines), done
    secrets = {**CONTRACT_SECRETS, "more": {"source": {"exec": ["/bin/echo", "an-argument-of-a-helper"]},
                                            "placeholder": {"env": "MORE"}}}
    gateway.reconfigure(rules=[API, OTHER], secrets=secrets,
                        grants=[{"secret": "more", "hosts": ["other.test"]}])
    done = gateway.reload()
    assert done.returncode == 0 and "an-argument" not in done.stderr, done


def test_a_run_that_was_killed_is_none_to_choose_from(bench, echo):
    bench.config(rules=[API, OTHER])
    killed = bench.start("echo up; exec sleep 30")
    assert killed.stdout.readline() == b"up\n"
    killed.kill()
    killed.wait()
    bench.running.remove(killed)
    assert len(list((bench.state / "warder/run/runs").glob("*/admin.sock"))) == 1
    done = subprocess.run([bench.warder, "reload"], env=bench.environment(), capture_output=True, text=True)
    assert done.returncode == 2 and "no gateway runs here" in done.stderr, done
    run = Run(bench)
    done = run.reload()
    assert done.returncode == 0, done
    run.end()


def test_attack_what_waits_for_a_yes_is_of_the_policy_that_asked(bench, echo):
    """A yes behind a reload would be to what was planned under the policy before: it is refused, and nothing has left."""
    asked = {"name": "asked", "hosts": ["api.test"], "action": "ask"}
    with Daemon(bench, [{"type": "connect"}], rules=[asked, OTHER]) as gateway:
        def approve(*args):
            return subprocess.run([bench.warder, "approve", *args, "--gateway",
                                   str(gateway.directory / "admin.sock")], env=bench.environment(),
                                  capture_output=True, text=True, timeout=10)
        argv = ["curl", "-sS", "-i", "--cacert", gateway.ca, "-x",
                f"http://127.0.0.1:{gateway.ports['connect-1']}", "https://api.test/ok"]
        waiting = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        end = time.monotonic() + 20
        while not (found := json.loads(approve("--json").stdout)):
            assert time.monotonic() < end
            time.sleep(0.05)
        gateway.reconfigure(rules=[asked, API])           # the same rule asks still
        assert gateway.reload().returncode == 0
        done = approve(found[0]["id"])
        assert done.returncode != 0 and not approve("--json").stdout.strip("[]\n"), done
        out, _ = waiting.communicate(timeout=10)
        assert b"policy_changed" in out and b" 403 " in out, out
        assert not echo.requests


def test_a_slow_helper_of_the_next_configuration_holds_up_no_rotation(bench, echo):
    keys = bench.directory / "keys"
    keys.mkdir()
    file, helper = keys / "tok", keys / "slow"
    file.write_text("value-before-the-rotation-01")
    helper.write_text("#!/bin/sh\nsleep 4\necho a-value-that-came-slowly\n")
    helper.chmod(0o755)
    secrets = {"tok": {"source": {"file": str(file)}, "placeholder": {"env": "API_TOKEN"}}}
    with Daemon(bench, [{"type": "connect"}], secrets=secrets) as gateway:
        more = {**secrets, "more": {"source": {"exec": [str(helper)]}, "placeholder": {"env": "MORE"}}}
        gateway.reconfigure(secrets=more, grants=[{"secret": "tok", "hosts": ["api.test"]},
                                                  {"secret": "more", "hosts": ["other.test"]}])
        begin = time.monotonic()
        gateway.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        file.write_text("value-behind-the-rotation-02")
        while not gateway.records("secret"):
            assert time.monotonic() - begin < 3.0, "the rotation waited for the helper"
        ask(gateway, "https://api.test/headers", *bearer(gateway))
        assert echo.requests[-1].get("authorization") == "Bearer value-behind-the-rotation-02"
        assert time.monotonic() - begin < 3.5 and not gateway.records("policy")
        while not gateway.records("policy"):
            assert time.monotonic() - begin < 15
