"""host.warder.internal: a service of the machine that the gateway runs on, where a rule names it with its port."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support.daemon import Daemon, free_port
from support.marks import both_users

NAME = "host.warder.internal"

# What comes back for what is said to a TCP service, or how it was refused.
TALK = """
import json, socket, sys
def talk(host, port, say=b"hello\\n"):
    try:
        sock = socket.create_connection((host, port), 10)
        sock.settimeout(10)
        sock.sendall(say)
        sock.shutdown(socket.SHUT_WR)
        got = b""
        while data := sock.recv(65536):
            got += data
        return got.decode("latin-1")
    except socket.gaierror:
        return "no such name"
    except OSError as error:
        return "refused"
"""


class Echo:
    """Says back what it hears, on the loopback of this machine; keeps count."""

    def __init__(self, family=socket.AF_INET):
        self.heard = []
        self.listener = socket.socket(family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", free_port()))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(conn,), daemon=True).start()

    def _serve(self, conn):
        with conn:
            while data := conn.recv(65536):
                self.heard.append(data)
                conn.sendall(b"echo " + data)

    def close(self):
        self.listener.close()


@pytest.fixture
def service():
    server = Echo()
    yield server
    server.close()


@pytest.fixture
def web():
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = f"{self.path} for {self.headers['Host']}".encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass
    server = ThreadingHTTPServer(("127.0.0.1", free_port()), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def allow(port, action="tcp", host=NAME, **more):
    return {"name": "service", "hosts": [host], "ports": [port], "action": action, **more}


def inside(bench, *ports, host=NAME, rules=None, flags=()):
    bench.config(rules=rules or [{"name": "none", "hosts": ["nothing.test"], "action": "allow"}], grants=[],
                 secrets={})
    calls = ", ".join(f"talk({host!r}, {port})" for port in ports)
    bench.write("talk.py", TALK + f"print(json.dumps([{calls}]))")
    done = bench.run(["/usr/bin/python3", "-B", "talk.py"], args=flags)
    assert done.code == 0, done
    return done.json, done


@both_users
def test_the_flag_opens_one_port_of_this_machine(bench, service):
    other = Echo()
    try:
        said, done = inside(bench, service.port, other.port, flags=("--allow", f"{NAME}:{service.port}"))
    finally:
        other.close()
    assert said == ["echo hello\n", "refused"]
    assert other.heard == []
    receipt = [r for r in done.records if r["type"] == "receipt"][0]
    assert receipt["upstream"] == f"127.0.0.1:{service.port}"
    assert any(r.get("authority") == f"tcp://{NAME}:{service.port}" for r in done.records)


@both_users
def test_attack_without_a_rule_there_is_no_such_name(bench, service):
    said, done = inside(bench, service.port)
    assert said == ["no such name"] and service.heard == []
    assert f"--allow {NAME}:PORT" in done.error


@pytest.mark.parametrize("host", ["*.warder.internal", "**.warder.internal", "**.host.warder.internal",
                                  "**.internal"])
def test_attack_a_wildcard_does_not_open_it(bench, service, host):
    said, _ = inside(bench, service.port, rules=[allow(service.port, host=host)])
    assert said == ["no such name"] and service.heard == []


def test_attack_another_name_of_the_loopback_stays_closed(bench, service):
    rules = [allow(service.port, host="localtest.test"), allow(service.port, host="127.0.0.1"),
             allow(service.port)]
    for number, rule in enumerate(rules):
        rule["name"] = f"service-{number}"
    said, _ = inside(bench, service.port, rules=rules)
    assert said == ["echo hello\n"]
    # A literal address is the sandbox's own loopback; its mapped form is dialled by nobody.
    for host in ("127.0.0.1", "::ffff:127.0.0.1", "localtest.test"):
        said, _ = inside(bench, service.port, host=host, rules=rules)
        assert said[0] in ("refused", "", "no such name"), (host, said)
    assert service.heard == [b"hello\n"]


def test_a_deny_by_wildcard_counts(bench, service):
    rules = [allow(service.port), {"name": "no", "hosts": ["**.internal"], "action": "deny"}]
    said, _ = inside(bench, service.port, rules=rules)
    assert said == ["no such name"] and service.heard == []


def test_plain_http_is_inspected_by_an_allow_rule(bench, web):
    port = web.server_address[1]
    bench.config(rules=[allow(port, action="allow", paths=["/open/**"])], grants=[], secrets={})
    done = bench.run(f"curl -sS http://{NAME}:{port}/open/x; echo; "
                     f"curl -sS -o /dev/null -w '%{{http_code}}' http://{NAME}:{port}/closed")
    assert done.text == f"/open/x for {NAME}:{port}\n403", done


def test_http_passes_through_a_tcp_rule(bench, web):
    port = web.server_address[1]
    bench.config(rules=[allow(port)], grants=[], secrets={})
    done = bench.run(f"curl -sS http://{NAME}:{port}/x")
    assert done.text == f"/x for {NAME}:{port}", done


def test_a_service_that_listens_on_ipv6_alone(bench):
    server = Echo(socket.AF_INET6)
    try:
        said, done = inside(bench, server.port, flags=("--allow", f"{NAME}:{server.port}"))
    finally:
        server.close()
    assert said == ["echo hello\n"], done
    assert [r["upstream"] for r in done.records if r["type"] == "receipt"] == [f"::1:{server.port}"]


def connect_through(port, target):
    sock = socket.create_connection(("127.0.0.1", port), 10)
    sock.settimeout(10)
    sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = sock.recv(65536)
    return sock, head


def test_a_listener_of_a_gateway_leads_there_by_the_same_rule(bench, service):
    with Daemon(bench, [{"type": "connect"}], rules=[allow(service.port)], grants=[],
                secrets={}) as gateway:
        port = gateway.ports["connect-1"]
        sock, head = connect_through(port, f"{NAME}:{service.port}")
        assert b" 200 " in head.split(b"\r\n")[0], head
        sock.sendall(b"through")
        assert sock.recv(100) == b"echo through"
        sock, head = connect_through(port, f"{NAME}:{service.port + 1}")
        assert b" 403 " in head.split(b"\r\n")[0], head


def test_attack_what_warder_listens_on_is_no_service(bench, service):
    """Neither the gateway's own listener, nor that of another gateway, though rules name them."""
    first, second = free_port(), free_port()
    rules = [allow(first), {**allow(second), "name": "second"}, {**allow(service.port), "name": "third"}]
    listeners = [{"type": "connect", "name": "one", "address": f"127.0.0.1:{first}"},
                 {"type": "socks5", "name": "two", "address": f"127.0.0.1:{second}"}]
    with Daemon(bench, listeners, rules=rules, grants=[], secrets={}):
        for target in (first, second):
            sock, head = connect_through(first, f"{NAME}:{target}")
            assert b" 403 " in head.split(b"\r\n")[0] and b"address_not_allowed" in head, head
        calls = f"print(json.dumps([talk({NAME!r}, {first}), talk({NAME!r}, {service.port})]))"
        bench.write("talk.py", TALK + calls)
        flags = [word for port in (first, service.port) for word in ("--allow", f"{NAME}:{port}")]
        done = bench.run(["/usr/bin/python3", "-B", "talk.py"], policy=None, config=None, args=flags, verify=False)
        assert done.code == 0 and done.json == ["refused", "echo hello\n"], done
        assert "address_not_allowed" in done.error, done


@pytest.mark.parametrize("flag, says", [
    (("--allow", NAME), f"{NAME}:PORT"), (("--allow", f"{NAME}:53"), "DNS"),
    (("--secret", f"REAL_TOKEN@{NAME}"), "warder.yaml")])
def test_a_flag_that_names_no_port_is_an_error(bench, flag, says):
    done = bench.run("true", args=flag, verify=False)
    assert done.code == 2 and says in done.error, done


def test_a_rule_without_ports_is_an_error_with_its_line(bench):
    bench.config(rules=[{"hosts": [NAME], "action": "allow"}], grants=[], secrets={})
    done = bench.run("true", verify=False)
    assert done.code == 2 and "t.yaml:" in done.error and "ports: [5432]" in done.error, done


def test_learning_does_not_open_it(bench, web, echo):
    port = web.server_address[1]
    bench.config(rules=[{"name": "none", "hosts": ["nothing.test"], "action": "allow"}], grants=[], secrets={})
    done = bench.warder_command("learn", "--config", bench.ws / "t.yaml", "--", "/bin/sh", "-c",
                                f"curl -sS http://{NAME}:{port}/ || true", creates=("audit",))
    assert "for host" not in done.text + done.error, done


def test_attack_a_port_that_another_run_publishes_is_no_service(bench):
    """Two sandboxes of one machine do not reach each other by what they publish."""
    port = free_port()
    bench.write("serve.py", "import socket\nlistener = socket.create_server(('127.0.0.1', 3000))\n"
                            "print('serving', flush=True)\nlistener.accept()[0].sendall(b'mine')\n")
    first = bench.start(["/usr/bin/python3", "-B", "serve.py"], policy=None, config=None,
                        args=("--publish", f"{port}:3000"))
    assert first.stdout.readline() == b"serving\n"
    bench.write("talk.py", TALK + f"print(json.dumps([talk({NAME!r}, {port})]))")
    flags = ("--allow", f"{NAME}:{port}")
    done = bench.run(["/usr/bin/python3", "-B", "talk.py"], policy=None, config=None, args=flags, verify=False)
    assert done.json == ["refused"] and "address_not_allowed" in done.error, done
    with socket.create_connection(("127.0.0.1", port), 10) as sock:     # and this machine does
        assert sock.recv(10) == b"mine"
    assert first.wait(30) == 0
