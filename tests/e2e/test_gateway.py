"""`warder gateway`: ready, serving, refusing, draining."""

import signal
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest

from support.bench import SECRET
from support.daemon import TOKEN, Daemon, free_port
from support.marks import both_users
from support.origin import Origin


@both_users
def test_it_serves_until_sigterm_and_leaves_a_whole_record(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        assert f"connect-1=connect://127.0.0.1:{gateway.ports['connect-1']}" in gateway.ready
        proxy = f"http://127.0.0.1:{gateway.ports['connect-1']}"
        held = gateway.placeholder("connect-1")
        done = gateway.curl("-x", proxy, "-H", f"Authorization: Bearer {held}",
                            "https://api.test/headers")
        assert done.returncode == 0, done
        assert held in done.stdout and SECRET not in done.stdout
        assert echo.requests[-1].get("authorization") == f"Bearer {SECRET}"
        assert gateway.stop()[0] == 0
    kinds = [r["type"] for r in bench.records()]
    assert kinds.count("session_start") == kinds.count("session_end") == 1
    assert kinds.count("intent") == kinds.count("receipt") == 1
    assert bench.verify().returncode == 0
    assert SECRET not in bench.audit.read_text()


def test_what_clients_need_lies_in_its_directory_and_goes_with_it(bench, echo):
    with Daemon(bench, [{"type": "connect", "token": {"env": "PROXY_TOKEN"}},
                        {"type": "socks5"}]) as gateway:
        variables = gateway.variables("connect-1")
        assert variables["HTTPS_PROXY"] == f"http://warder:TOKEN@127.0.0.1:{gateway.ports['connect-1']}"
        assert variables["SSL_CERT_FILE"] == str(gateway.directory / "bundle.pem")
        assert gateway.variables("socks5-2")["ALL_PROXY"].startswith("socks5h://127.0.0.1:")
        assert gateway.placeholder("connect-1") != gateway.placeholder("socks5-2")
        for file in gateway.directory.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
            if file.is_socket():
                continue
            text = file.read_bytes().decode("latin-1")
            assert TOKEN not in text and SECRET not in text and "PRIVATE" not in text
        assert stat.S_IMODE(gateway.directory.stat().st_mode) == 0o700
        gateway.stop()
    assert list(gateway.directory.iterdir()) == []


def test_variables_of_a_listener_are_all_that_curl_needs(bench, echo):
    with Daemon(bench, [{"type": "connect", "token": {"env": "PROXY_TOKEN"}}]) as gateway:
        env = {k: v.replace("TOKEN@", f"{TOKEN}@") for k, v in
               gateway.variables("connect-1").items()}
        done = subprocess.run(["curl", "-sS", "https://api.test/ok"], capture_output=True,
                              env={"PATH": "/usr/bin:/bin", **env}, timeout=20)
        assert done.returncode == 0, done


def test_secret_and_token_are_gone_from_its_environment(bench, echo):
    with Daemon(bench, [{"type": "connect", "token": {"env": "PROXY_TOKEN"}}]) as gateway:
        environ = Path(f"/proc/{gateway.process.pid}/environ").read_bytes()
        assert SECRET.encode() not in environ and TOKEN.encode() not in environ


def test_placeholder_of_another_listener_is_foreign(bench, echo):
    with Daemon(bench, [{"type": "connect"}, {"type": "connect"}]) as gateway:
        other = gateway.placeholder("connect-2")
        done = gateway.curl("-x", f"http://127.0.0.1:{gateway.ports['connect-1']}", "-i",
                            "-H", f"Authorization: Bearer {other}", "https://api.test/headers")
        assert "Warder-Reason: placeholder_foreign" in done.stdout, done
    assert not echo.requests


def test_sigterm_lets_a_running_exchange_end_and_takes_no_new_one(bench, pki):
    begun, go_on = threading.Event(), threading.Event()

    def slow(conn):
        conn.read_request()
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
        begun.set()
        go_on.wait(10)
        conn.send(b"world")

    origin = Origin(slow, pki.good)
    bench.map("api.test:443", origin)
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        proxy = f"http://127.0.0.1:{gateway.ports['connect-1']}"
        client = subprocess.Popen(["curl", "-sS", "--cacert", gateway.ca, "-x", proxy,
                                   "https://api.test/"], stdout=subprocess.PIPE)
        assert begun.wait(5)
        gateway.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 5
        while time.monotonic() < end:       # the listener closes within a sweep
            try:
                gateway.connect("connect-1").close()
                time.sleep(0.05)
            except OSError:
                break
        else:
            raise AssertionError("it still accepts connections")
        assert gateway.process.poll() is None
        go_on.set()
        assert client.communicate(timeout=10)[0] == b"helloworld"
        assert gateway.process.wait(10) == 0
    assert [r["reason"] for r in bench.records() if r["type"] == "receipt"] == ["none"]


def test_idle_connections_do_not_hold_up_the_end(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        with gateway.connect("connect-1") as idle:
            time.sleep(0.3)                 # accepted by now: what the kernel still queues is reset
            started = time.monotonic()
            assert gateway.stop()[0] == 0
            assert time.monotonic() - started < 3
            assert idle.recv(1) == b""


def test_a_second_sigterm_ends_it_at_once(bench, pki):
    begun = threading.Event()

    def stuck(conn):
        conn.read_request()
        begun.set()
        time.sleep(6)

    bench.map("api.test:443", Origin(stuck, pki.good))
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        proxy = f"http://127.0.0.1:{gateway.ports['connect-1']}"
        client = subprocess.Popen(["curl", "-s", "--cacert", gateway.ca, "-x", proxy,
                                   "https://api.test/"], stdout=subprocess.PIPE)
        assert begun.wait(5)
        gateway.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        started = time.monotonic()
        assert gateway.stop()[0] == 0
        assert time.monotonic() - started < 3
        assert client.wait(5) != 0
    assert [r["type"] for r in bench.records()].count("receipt") == 1


def test_kill_9_leaves_a_record_that_verifies_as_far_as_it_goes(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        proxy = f"http://127.0.0.1:{gateway.ports['connect-1']}"
        assert gateway.curl("-x", proxy, "https://api.test/ok").returncode == 0
        gateway.process.kill()
        gateway.process.wait()
        assert gateway.curl("-x", proxy, "https://api.test/ok").returncode != 0
    with Daemon(bench, [], config=gateway.config) as again:   # the same chain goes on
        again.ports = gateway.ports
        assert again.curl("-x", proxy, "https://api.test/ok").returncode == 0
    assert bench.verify().returncode == 0


def test_a_second_gateway_on_the_same_log_exits_2(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        with pytest.raises(AssertionError, match="no readiness"):
            Daemon(bench, [{"type": "connect"}]).__enter__()
        assert bench.running[-1].wait(5) == 2
        assert gateway.process.poll() is None


@pytest.mark.parametrize("listener, words", [
    ({"type": "conect"}, ["conect", "did you mean 'connect'"]),
    ({"type": "connect", "address": "localhost:3128"}, ["address", "127.0.0.1:3128"]),
    ({"type": "connect", "address": "127.0.0.1"}, ["address", "127.0.0.1:3128"]),
    ({"type": "connect", "policy": "nope"}, ["unknown policy"]),
    ({"type": "connect", "address": "0.0.0.0:3128"}, ["token", "others can reach"]),
    ({"type": "connect", "tokn": "none"}, ["tokn", "token"]),
    ({"type": "connect", "tls": {"certificate": "c.pem"}}, ["tls", "certificate"]),
    ({"type": "connect", "token": {"env": "NOT_SET"}}, ["NOT_SET", "listener connect-1"]),
])
def test_bad_listeners_are_refused_with_a_correction(bench, echo, listener, words):
    entry = {"address": f"127.0.0.1:{free_port()}", "policy": "t", "token": "none", **listener}
    bench.config(gateway=bench.gateway(listeners=[entry]))
    done = bench.warder_command("gateway", "--config", "t.yaml")
    assert done.code == 2, done
    for word in words:
        assert word in done.error, done


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_directory_that_others_can_enter_is_refused_and_left_as_it_is(bench, echo, mode):
    shared = bench.directory / "shared"
    shared.mkdir()
    shared.chmod(mode)
    bench.config()
    done = bench.warder_command("gateway", "--config", "t.yaml", "--directory", str(shared))
    assert done.code == 2 and "others can enter it" in done.error, done
    assert stat.S_IMODE(shared.stat().st_mode) == mode and list(shared.iterdir()) == []


def test_two_gateways_do_not_share_a_directory(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        ca = Path(gateway.ca).read_text()
        second = bench.config(name="u.yaml", gateway={"upstream": {}})
        done = bench.warder_command("gateway", "--config", str(second), "--directory",
                                    str(gateway.directory))
        assert done.code == 2 and "another gateway uses it" in done.error, done
        assert Path(gateway.ca).read_text() == ca


def test_a_certificate_without_its_key_is_told_at_the_start(bench, echo, pki):
    bench.write("proxy.pem", open(pki.good.cert, "rb").read())
    bench.write("proxy.key", "no key")
    bench.config(gateway=bench.gateway(listeners=[
        {"type": "connect", "address": f"127.0.0.1:{free_port()}", "policy": "t", "token": "none",
         "tls": {"certificate": "proxy.pem", "key": "proxy.key"}}]))
    done = bench.warder_command("gateway", "--config", "t.yaml")
    assert done.code == 2 and "proxy.key is the key" in done.error, done


def test_a_taken_port_is_told(bench, echo):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        bench.config(gateway=bench.gateway(listeners=[
            {"type": "connect", "address": f"127.0.0.1:{port}", "policy": "t", "token": "none"}]))
        done = bench.warder_command("gateway", "--config", "t.yaml")
    assert done.code == 2 and str(port) in done.error and "in use" in done.error, done
