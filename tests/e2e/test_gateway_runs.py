"""`warder run --gateway`: many sandboxes, one gateway, each its own session; and the admin socket."""

import http.client
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest

from support import processes
from support.bench import SECRET
from support.daemon import TOKEN, Daemon, free_port
from support.disks import small_disk
from support.marks import both_users
from support.origin import Origin


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("gateway", timeout=10)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(self.path)


def ask(gateway, path, method="GET"):
    connection = Unix(gateway.directory / "admin.sock")
    connection.request(method, path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def run_args(gateway, *more):
    return ("--gateway", str(gateway.directory / "admin.sock"), *more)


def run(bench, gateway, cmd, *more, **options):
    return bench.run(cmd, policy=None, config=None, args=run_args(gateway, *more), verify=False,
                     **{"env": {"REAL_TOKEN": None}, **options})


@pytest.fixture
def gateway(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as running:
        yield running


@both_users
def test_a_run_behind_a_gateway_is_like_any_other(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        done = run(bench, gateway, 'curl -sS https://api.test/headers -H "Authorization: Bearer '
                                   '$API_TOKEN"; echo; echo "mine $API_TOKEN"; exit 7')
        assert done.code == 7, done
        held = done.text.split("mine ")[1].strip()
        assert echo.requests[-1].get("authorization") == f"Bearer {SECRET}"
        assert held in done.text and SECRET not in done.text
        start = gateway.records("session_start", 2)[-1]
        end = gateway.records("session_end", 1)[-1]
        assert start["command"][0] == "/bin/sh" and start["session"].endswith("/run/1")
        assert (end["session"], end["exit_code"], end["exchanges"]) == (start["session"], 7, 1)
    assert bench.verify().returncode == 0


def test_two_runs_are_two_sessions(bench, gateway, echo):
    first = run(bench, gateway, 'echo "$API_TOKEN"')
    second = run(bench, gateway, 'echo "$API_TOKEN"')
    assert first.code == second.code == 0, (first, second)
    assert first.text != second.text
    sessions = [r["session"] for r in gateway.records("session_start", 3)]
    assert len(set(sessions)) == 3


def test_a_placeholder_of_one_run_is_foreign_in_another(bench, gateway, echo):
    # The first run stands still until the second has tried its placeholder.
    first = bench.start('echo "$API_TOKEN"; cat', policy=None, config=None,
                        args=run_args(gateway), env={"REAL_TOKEN": None}, stdin=subprocess.PIPE)
    stolen = first.stdout.readline().decode().strip()
    done = bench.run(f'curl -sS -i https://api.test/ -H "Authorization: Bearer {stolen}"',
                     policy=None, config=None, args=run_args(gateway), verify=False,
                     env={"REAL_TOKEN": None})
    assert "placeholder_foreign" in done.text, done
    assert not echo.requests
    first.stdin.close()
    assert first.wait(10) == 0


def test_the_summary_and_the_lines_about_look_ups_come_from_the_gateway(bench, gateway, echo):
    done = run(bench, gateway, "curl -sS https://evil.test/; curl -sS https://api.test/ok -X DELETE")
    assert "refused look-up of evil.test" in done.error, done
    assert "method_not_allowed" in done.error and "to allow it" in done.error, done


def test_own_rules_beside_a_gateway_are_refused(bench, gateway):
    for more in (("--allow", "evil.test"), ("--secret", "X@evil.test"), ("--config", "t.yaml")):
        done = run(bench, gateway, "touch started", *more)
        assert done.code == 2 and "gateway's own configuration counts" in done.error, done
    done = run(bench, gateway, "touch started", "--policy", "nope")
    assert done.code == 2 and "no policy named 'nope'" in done.error, done
    assert not (bench.ws / "started").exists()


def test_a_value_in_the_arguments_or_the_environment_is_refused(bench, gateway):
    done = run(bench, gateway, f"echo {SECRET}")
    assert done.code == 2 and "an argument of the command holds the value" in done.error, done
    done = run(bench, gateway, "true", "--env", "SPY", env={"SPY": SECRET})
    assert done.code == 2 and "SPY holds the value of secret tok" in done.error, done


def test_without_a_gateway_nothing_runs(bench, echo):
    bench.config()
    done = bench.run("touch started", policy=None, config=None, verify=False,
                     args=("--gateway", str(bench.directory / "none.sock")))
    assert done.code == 2 and "warder gateway" in done.error, done
    assert not (bench.ws / "started").exists()


def test_the_admin_socket_is_out_of_the_sandboxes_reach(bench, echo):
    """Also when it lies in the workspace; so are the files beside it."""
    daemon = Daemon(bench, [{"type": "connect"}])
    daemon.directory = bench.ws / "run"
    with daemon as gateway:
        done = run(bench, gateway, "ls -A run; echo; test -S run/admin.sock && echo there",
                   creates=("run/admin.sock", "run/ca.pem", "run/bundle.pem", "run/java.p12", "run/connect-1.env"))
        assert "admin" not in done.text and "there" not in done.text, done


def test_a_sandbox_whose_gateway_dies_has_no_network(bench, gateway, echo):
    process = bench.start("curl -sS https://api.test/ok; echo ready; read go; "
                          "curl -sS -m 5 https://api.test/ok; echo code $?; "
                          "curl -sS -m 5 http://198.18.0.2/; echo code $?",
                          policy=None, config=None, args=run_args(gateway),
                          env={"REAL_TOKEN": None}, stdin=subprocess.PIPE)
    assert process.stdout.readline().strip().endswith(b"ready")
    before = len(echo.requests)
    gateway.process.kill()
    gateway.process.wait()
    out, err = process.communicate(b"go\n", timeout=20)
    assert out.count(b"code ") == 2 and b"code 0" not in out, out
    assert b"the gateway has gone" in err and process.returncode == 125
    assert len(echo.requests) == before


def test_a_killed_run_ends_its_session(bench, gateway, echo):
    process = bench.start("echo ready; sleep 60", policy=None, config=None, args=run_args(gateway),
                          env={"REAL_TOKEN": None})
    assert process.stdout.readline() == b"ready\n"
    process.kill()
    process.wait()
    end = gateway.records("session_end", 1)[-1]
    assert end["exit_code"] == 137
    bench.check_end(verify=False)
    assert ask(gateway, "/readyz")[0] == 200


def test_sigterm_with_a_run_inside_ends_and_leaves_a_whole_record(bench, gateway, echo):
    process = bench.start("echo ready; sleep 30", policy=None, config=None, args=run_args(gateway),
                          env={"REAL_TOKEN": None})
    assert process.stdout.readline() == b"ready\n"
    assert gateway.stop()[0] == 0
    process.send_signal(signal.SIGTERM)
    process.wait(15)
    kinds = [r["type"] for r in bench.records()]
    assert kinds.count("session_start") == kinds.count("session_end") == 2
    assert bench.verify().returncode == 0


# -- the admin socket --------------------------------------------------------------------------
def test_livez_readyz_and_metrics(bench, gateway, echo):
    assert ask(gateway, "/livez") == (200, "ok\n")
    assert ask(gateway, "/readyz") == (200, "ok\n")
    assert ask(gateway, "/nope")[0] == 404
    assert ask(gateway, "/livez", "POST")[0] == 405
    proxy = f"http://127.0.0.1:{gateway.ports['connect-1']}"
    held = gateway.placeholder("connect-1")
    gateway.curl("-x", proxy, "-H", f"Authorization: Bearer {held}", "https://api.test/headers")
    gateway.curl("-x", proxy, "https://evil.test/")
    status, text = ask(gateway, "/metrics")
    assert status == 200
    assert ('warder_exchanges_total{decision="allow",ingress="connect",protocol="http/1.1"} 1'
            in text), text
    assert 'warder_refused_total{reason="host_not_allowed"} 1' in text
    assert "warder_secret_uses_total 1" in text and "warder_masked_total 1" in text
    assert "warder_sessions 1" in text and "warder_audit_healthy 1" in text
    assert "evil" not in text and SECRET not in text


def test_head_on_the_admin_socket_is_get_without_its_body(gateway):
    for path in ("/livez", "/readyz", "/metrics", "/nope"):
        heads = {}
        for method in ("GET", "HEAD"):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.settimeout(5)
                sock.connect(str(gateway.directory / "admin.sock"))
                sock.sendall(f"{method} {path} HTTP/1.1\r\nHost: gateway\r\n\r\n".encode())
                got = b""
                while piece := sock.recv(65536):
                    got += piece
            heads[method], _, body = got.partition(b"\r\n\r\n")
            assert bool(body) == (method == "GET"), got
        assert heads["HEAD"] == heads["GET"] and b"Content-Length: 0" not in heads["GET"], heads


def test_a_disk_that_is_full_refuses_all_until_it_is_not(bench, echo):
    """The gateway stays: 503 to every request, none of them at the origin, not ready; then it goes on by itself."""
    with small_disk(bench.ws / "audit") as filler, Daemon(bench, [{"type": "connect"}]) as gateway:
        context = ssl.create_default_context(cafile=gateway.ca)
        held = gateway.placeholder("connect-1")

        def statuses(asked):
            """Of requests on one connection, each as the client sees it."""
            with gateway.connect("connect-1") as sock:
                sock.sendall(b"CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
                assert sock.recv(4096).startswith(b"HTTP/1.1 200")
                with context.wrap_socket(sock, server_hostname="api.test") as tls:
                    client = http.client.HTTPConnection("api.test")
                    client.sock = tls
                    for _ in range(asked):
                        client.request("GET", "/ok", headers={"Authorization": f"Bearer {held}"})
                        answer = client.getresponse()
                        answer.read()
                        yield answer.status, answer.getheader("Warder-Reason")
                        if answer.status != 200:
                            return

        good = 0
        for _ in range(5):      # what was kept for receipts may serve for another intent
            for status, reason in statuses(2000):
                good += status == 200
            assert (status, reason) == (503, "audit_unavailable") and good > 10, (status, reason, good)
            assert len(echo.requests) == good
            ready = ask(gateway, "/readyz")
            if ready[0] != 200:
                break
        assert ready == (503, "audit_unavailable\n")
        assert ask(gateway, "/livez") == (200, "ok\n")
        filler.unlink()
        end = time.monotonic() + 5
        while ask(gateway, "/readyz")[0] != 200:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert list(statuses(3)) == [(200, None)] * 3 and len(echo.requests) == good + 3
        assert gateway.stop()[0] == 0
        assert bench.verify().returncode == 0


def test_the_admin_socket_takes_no_stranger_and_no_garbage(bench, gateway, ordinary_user):
    path = gateway.directory / "admin.sock"
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    os.chmod(gateway.directory, 0o755)
    os.chmod(path, 0o666)       # even then the peer's credentials count
    asked = subprocess.run(
        [*ordinary_user.prefix, "curl", "-sS", "-m", "5", "--unix-socket", str(path),
         "http://gateway/livez"], capture_output=True, text=True)
    assert asked.returncode != 0 and "ok" not in asked.stdout, asked
    for garbage in (b"\x00" * 64, b"GET /livez\r\n\r\n", b"GET / HTTP/1.1\r\nA" + b"a" * 400000):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(5)
            sock.connect(str(path))
            try:
                sock.sendall(garbage)
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(65536):
                    pass
            except OSError:
                pass
    assert ask(gateway, "/livez")[0] == 200


@pytest.mark.parametrize("body", ["", "{}", "[1]", '{"policy": 1}',
                                  json.dumps({"policy": "t", "command": ["x"], "env": {},
                                              "workspace": "relative"})])
def test_a_malformed_run_request_is_refused(gateway, body):
    connection = Unix(gateway.directory / "admin.sock")
    connection.request("POST", "/v1/runs", body=body,
                       headers={"Connection": "Upgrade", "Upgrade": "warder-run"})
    assert connection.getresponse().status == 400
    assert ask(gateway, "/livez")[0] == 200


def test_what_a_run_client_says_wrong_ends_only_its_own_run(bench, gateway):
    """A peer that speaks garbage on the channel, or hands over what is no socket."""
    request = json.dumps({"policy": "t", "command": ["x"], "env": {}, "workspace": "/tmp"})
    for garbage in (b"\xff\xff\xff\xff", b"\x02\x00\x00\x00{}", b"\x05\x00\x00\x00hello"):
        connection = Unix(gateway.directory / "admin.sock")
        connection.request("POST", "/v1/runs", body=request,
                           headers={"Connection": "Upgrade", "Upgrade": "warder-run"})
        sock = connection.sock
        assert sock.recv(12) == b"HTTP/1.1 101"
        sock.sendall(garbage)
        sock.shutdown(socket.SHUT_WR)
        sock.close()
    time.sleep(0.2)
    assert ask(gateway, "/livez")[0] == 200
    assert "warder_sessions 1" in ask(gateway, "/metrics")[1]
    assert processes.command(gateway.process.pid)


def test_a_value_of_another_policy_or_a_token_is_refused_too(bench, echo):
    """The gateway holds it, whatever this run's own policy grants."""
    bench.config(gateway=bench.gateway(listeners=[
        {"type": "connect", "address": f"127.0.0.1:{free_port()}", "policy": "t",
         "token": {"env": "PROXY_TOKEN"}}]), name="two.yaml")
    text = (bench.ws / "two.yaml").read_text().replace(
        'policies: {', 'policies: {"bare": {"rules": [{"hosts": ["other.test"], "action": "allow"}]}, ')
    (bench.ws / "two.yaml").write_text(text)
    with Daemon(bench, [], config=bench.ws / "two.yaml") as gateway:
        for value, word in ((SECRET, "secret tok"), (TOKEN, "token of listener")):
            done = run(bench, gateway, f"echo {value}", "--policy", "bare")
            assert done.code == 2 and "holds the value of" in done.error, done
            assert word in done.error, done
        assert run(bench, gateway, "exit 3", "--policy", "bare").code == 3


def test_nothing_of_a_session_comes_after_its_end(bench, pki):
    """CMD ends while a request of its own waits for the origin's handshake, and look-ups were only counted."""
    cut = threading.Event()

    def silent(conn):
        try:
            while conn.sock.recv(4096):
                pass
        except OSError:
            pass
        cut.set()

    origin = Origin(silent)                 # clear text: what it hears is a ClientHello, and it says nothing
    bench.map("api.test:443", origin)
    flood = ("import socket, struct\n"
             "q = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
             "q.connect(('127.0.0.1', 53)); q.settimeout(2)\n"
             "for i in range(400):\n"
             "    n = b'n%d' % i\n"
             "    q.send(struct.pack('>HHHHHH', i, 256, 1, 0, 0, 0) + bytes([len(n)]) + n +\n"
             "           b'\\x04test\\0\\0\\1\\0\\1')\n"
             "    q.recv(600)\n")
    bench.write("flood.py", flood)
    with Daemon(bench, []) as gateway:
        done = run(bench, gateway, "curl -sS https://api.test/ & /usr/bin/python3 flood.py; sleep 0.5")
        assert done.code == 0 and done.seconds < 6, done
        assert cut.wait(2), "the origin's connection outlived the session"
        time.sleep(1)
    kinds = [(r["type"], r.get("name", "")) for r in bench.records()
             if r.get("session", "").endswith("/run/1")]
    assert kinds[-1][0] == "session_end", kinds[-4:]
    names = [name for kind, name in kinds if kind == "dns" and name.startswith("n")]
    counted = [int(name.strip("(").split()[0]) for kind, name in kinds
               if kind == "dns" and "more" in name]
    assert len(names) + sum(counted) == 400


def test_many_runs_share_one_table_of_placeholders(bench, echo):
    """Memory grows with the number of sessions, not with its square."""
    secrets = {f"s{i}": {"source": {"env": "REAL_TOKEN"}, "placeholder": {"env": f"P{i}"}}
               for i in range(10)}
    grants = [{"secret": f"s{i}", "hosts": ["api.test"]} for i in range(10)]
    request = json.dumps({"policy": "t", "command": ["x"], "env": {}, "workspace": "/tmp"})
    with Daemon(bench, [], secrets=secrets, grants=grants) as gateway:
        def begin():
            connection = Unix(gateway.directory / "admin.sock")
            connection.request("POST", "/v1/runs", body=request,
                               headers={"Connection": "Upgrade", "Upgrade": "warder-run"})
            sock = connection.sock
            assert sock.recv(12) == b"HTTP/1.1 101"
            tcp = socket.create_server(("127.0.0.1", 0))
            text = json.dumps({"port": tcp.getsockname()[1], "names": ["tcp4"]}).encode()
            socket.send_fds(sock, [struct.pack("<I", len(text))], [tcp.fileno()])
            sock.sendall(text)
            return sock

        def memory():
            text = open(f"/proc/{gateway.process.pid}/status").read()
            return int(text.split("VmRSS:")[1].split()[0]) >> 10
        begun = [begin() for _ in range(25)]
        assert ask(gateway, "/livez")[0] == 200
        some = memory()
        begun += [begin() for _ in range(75)]
        end = time.monotonic() + 20
        while "warder_sessions 100" not in ask(gateway, "/metrics")[1]:
            assert time.monotonic() < end
            time.sleep(0.1)
        assert memory() - some < 300, (some, memory())
        for sock in begun:
            sock.close()
        started = time.monotonic()
        assert gateway.stop()[0] == 0
        assert time.monotonic() - started < 15


def test_attack_a_gateway_that_hangs_holds_no_run_for_ever(bench, gateway, echo):
    """What a run tells it goes nowhere and its last word does not come: the sandbox ends, and then the run."""
    process = bench.start("while :; do /bin/true; done", policy=None, config=None, args=run_args(gateway),
                          env={"REAL_TOKEN": None})
    deadline = time.monotonic() + 20
    while not any(r["type"] == "exec" for r in bench.records()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.kill(gateway.process.pid, signal.SIGSTOP)
    try:
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=60)
        assert process.returncode == 125 and b"did not record the end" in error, (process.returncode, error)
    finally:
        os.kill(gateway.process.pid, signal.SIGCONT)
    assert gateway.stop()[0] == 0
