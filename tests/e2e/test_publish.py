"""--publish: this machine reaches a service in the sandbox, and the sandbox reaches nothing through it."""

import base64
import fcntl
import hashlib
import os
import re
import select
import signal
import socket
import subprocess
import threading
import time
import urllib.request

import pytest

from support import processes
from support.daemon import Daemon, free_port
from support.marks import both_users

PYTHON = "/usr/bin/python3"
PATIENCE = 30

# A service of the sandbox: says what it hears, in capitals, and then how much it heard.
SERVER = """
import socket, sys, threading
family = socket.AF_INET6 if "6" in sys.argv[2:] else socket.AF_INET
listener = socket.create_server(("::1" if family == socket.AF_INET6 else "127.0.0.1", int(sys.argv[1])),
                                family=family, backlog=1000)
print("serving", flush=True)
def serve(conn):
    total = 0
    while data := conn.recv(65536):
        total += len(data)
        conn.sendall(data.upper())
    conn.sendall(b"%d" % total)
    conn.close()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


class Served:
    """A run with published ports; each line that Warder says of them is read first."""

    def __init__(self, bench, cmd, *publish, more=(), serving=True, **options):
        self.bench = bench
        args = [word for port in publish for word in ("--publish", port)]
        self.process = bench.start(cmd, args=[*args, *more], stdin=subprocess.PIPE, bufsize=0, **options)  # select sees all
        self.ports, self.said = [], b""
        while len(self.ports) < len(publish):
            line = self._line(self.process.stderr)
            if found := re.search(rb"http://\S+:(\d+) \xe2\x86\x92 sandbox :\d+", line):
                self.ports.append(int(found[1]))
        if serving:
            assert self._line(self.process.stdout) == b"serving\n", self.said

    def _line(self, stream):
        assert select.select([stream], [], [], PATIENCE)[0], f"nothing was said: {self.said}"
        line = stream.readline()
        self.said += line
        assert line, f"it has ended: {self.said} {self.process.stderr.read()}"
        return line

    def connect(self, number=0, host="127.0.0.1"):
        sock = socket.create_connection((host, self.ports[number]), PATIENCE)
        sock.settimeout(PATIENCE)
        return sock

    def end(self, verify=True, creates=()):
        self.process.terminate()
        self.process.wait(PATIENCE)
        return self.bench.check_end(verify=verify, creates=creates)


def ask(sock, say):
    sock.sendall(say)
    sock.shutdown(socket.SHUT_WR)
    return rest(sock)


def rest(sock):
    got = b""
    while data := sock.recv(65536):
        got += data
    return got


def server(bench, *args):
    bench.write("server.py", SERVER)
    return [PYTHON, "-B", "server.py", *map(str, args)]


@both_users
def test_a_connection_arrives_and_each_half_ends_by_itself(bench):
    served = Served(bench, server(bench, 3000), "0:3000")
    with served.connect() as sock:
        sock.sendall(b"one ")
        assert sock.recv(100) == b"ONE "
        assert ask(sock, b"two") == b"TWO7"
    big = os.urandom(1 << 20).hex().encode()
    with served.connect() as sock:
        sender = threading.Thread(target=lambda: (sock.sendall(big), sock.shutdown(socket.SHUT_WR)))
        sender.start()
        assert rest(sock) == big.upper() + str(len(big)).encode()
        sender.join()
    result = served.end()
    intents = [r for r in result.records if r["type"] == "intent" and r["ingress"] == "publish"]
    receipts = [r for r in result.records if r["type"] == "receipt"]
    assert [r["authority"] for r in intents] == ["tcp://127.0.0.1:3000"] * 2
    assert intents[0]["where"] == "--publish 0:3000"
    assert [(r["bytes_up"], r["bytes_down"]) for r in receipts] == [(7, 8), (len(big), len(big) + 7)]
    assert [r["upstream"] for r in receipts] == ["127.0.0.1:3000"] * 2


def test_a_service_on_ipv6_alone_and_several_ports(bench):
    here = free_port()
    served = Served(bench, server(bench, 3000, "6"), f"{here}:3000", ":3000")
    assert served.ports[0] == here
    for number in (0, 1):
        with served.connect(number) as sock:
            assert ask(sock, b"six") == b"SIX3"
    assert [r["upstream"] for r in served.end().records if r["type"] == "receipt"] == ["[::1]:3000"] * 2


@both_users
def test_a_real_server_of_files(bench):
    bench.write("page.txt", "hello from inside")
    served = Served(bench, [PYTHON, "-m", "http.server", "--bind", "127.0.0.1", "8000"], "0:8000",
                    serving=False)
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            body = urllib.request.urlopen(f"http://127.0.0.1:{served.ports[0]}/page.txt", timeout=10).read()
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    assert body == b"hello from inside"
    served.end()


WEBSOCKET = """
const http = require("http"), crypto = require("crypto");
const server = http.createServer((q, a) => a.end("node says " + q.url));
server.on("upgrade", (q, sock) => {
  const key = crypto.createHash("sha1").update(q.headers["sec-websocket-key"] +
    "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  sock.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n" +
    "Sec-WebSocket-Accept: " + key + "\\r\\n\\r\\n");
  sock.on("data", d => sock.write(Buffer.from([0x81, 2, 104, 105])));
});
server.listen(3000, "127.0.0.1", () => console.log("serving"));
"""


def test_a_websocket_of_node(bench):
    if not os.path.exists("/usr/bin/node"):
        pytest.skip("no /usr/bin/node: tools/install-deps")
    bench.write("server.js", WEBSOCKET)
    served = Served(bench, ["/usr/bin/node", "server.js"], "0:3000")
    assert urllib.request.urlopen(f"http://127.0.0.1:{served.ports[0]}/x", timeout=PATIENCE).read() == b"node says /x"
    with served.connect() as sock:
        key = base64.b64encode(b"0123456789abcdef")
        sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                     b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + b"\r\n\r\n")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += sock.recv(1)
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        assert head.startswith(b"HTTP/1.1 101 ") and accept in head
        sock.sendall(b"\x81\x82\0\0\0\0hi")
        assert sock.recv(100) == b"\x81\x02hi"
    served.end()


def test_a_port_that_is_taken_is_an_error_before_anything_runs(bench):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = bench.run("touch started", args=("--publish", f"{port}:3000"), verify=False)
    assert done.code == 2 and f"cannot listen on 127.0.0.1:{port}" in done.error, done
    assert not (bench.ws / "started").exists()


@pytest.mark.parametrize("text", ["0", "x", "8080:53", "1:2:3", "example.com:80:80"])
def test_what_is_no_port_is_an_error(bench, text):
    done = bench.run("touch started", args=("--publish", text), verify=False)
    assert done.code == 2 and "--publish" in done.error, done
    assert not (bench.ws / "started").exists()


def test_an_address_that_others_reach_is_said(bench):
    done = bench.run("true", args=("--publish", "0.0.0.0:0:3000", "--publish", "127.0.0.1:0:3001"))
    assert done.error.count("other machines can reach it") == 1, done


def test_nobody_listens_inside(bench):
    served = Served(bench, ["/bin/sh", "-c", "echo serving; read x"], "0:3000")
    with served.connect() as sock:
        with pytest.raises(ConnectionError):
            if not sock.recv(1):
                raise ConnectionError("closed")
    receipts = [r for r in served.end().records if r["type"] == "receipt"]
    assert [r["reason"] for r in receipts] == ["upstream_connect_failed"]


def test_the_run_ends_what_is_open(bench):
    served = Served(bench, server(bench, 3000), "0:3000")
    sock = served.connect()
    sock.sendall(b"x")
    assert sock.recv(1) == b"X"
    result = served.end()
    with pytest.raises(OSError):
        if not sock.recv(1):
            raise OSError("closed")
    sock.close()
    assert len([r for r in result.records if r["type"] == "receipt"]) == 1
    with pytest.raises(OSError):
        served.connect()


def test_it_works_behind_another_gateway_which_records_it(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        bench.write("server.py", SERVER)
        served = Served(bench, [PYTHON, "-B", "server.py", "3000"], "0:3000", policy=None, config=None,
                        more=("--gateway", str(gateway.directory / "admin.sock")),
                        env={"REAL_TOKEN": None})
        with served.connect() as sock:
            assert ask(sock, b"far") == b"FAR3"
        served.end(verify=False)
        gateway.records("session_end", 1)
        receipts = gateway.records("receipt", 1)
    assert [(r["bytes_up"], r["bytes_down"]) for r in receipts] == [(3, 4)]


def test_an_answer_before_the_end_of_the_question_arrives(bench):
    bench.write("early.py", "import socket\nlistener = socket.create_server(('127.0.0.1', 3000))\n"
                            "print('serving', flush=True)\nwhile True:\n conn = listener.accept()[0]\n"
                            " conn.recv(1)\n conn.sendall(b'413 too large')\n conn.close()\n")
    served = Served(bench, [PYTHON, "-B", "early.py"], "0:3000")
    for _ in range(5):
        with served.connect() as sock:
            def upload(to=sock):
                try:
                    to.sendall(b"x" * (8 << 20))
                except OSError:
                    pass
            sender = threading.Thread(target=upload)
            sender.start()
            assert sock.recv(100) == b"413 too large"
            sender.join()
    served.end()


# -- attacks ---------------------------------------------------------------------------------------


def test_attack_the_sandbox_reaches_nothing_of_the_host_through_it(bench):
    """It knows the number of the published port, and of a service beside it: it gets neither."""
    outside = socket.create_server(("127.0.0.1", 0))
    outside.settimeout(0.5)
    target, here = outside.getsockname()[1], free_port()
    probe = f"""
import socket
for host in ("127.0.0.1", "::1", "198.18.0.1", "10.0.2.2"):
    for port in ({here}, {target}):
        try:
            sock = socket.create_connection((host, port), 5)
            sock.sendall(b"out")
            sock.settimeout(5)
            got = sock.recv(10)
            print(host, port, "answered" if got else "closed")
        except OSError as error:
            print(host, port, "no")
"""
    bench.write("probe.py", probe)
    done = bench.run([PYTHON, "-B", "probe.py"], args=("--publish", f"{here}:3000"))
    assert "answered" not in done.text and done.text.count("\n") == 8, done
    with pytest.raises(TimeoutError):
        outside.accept()
    outside.close()
    assert not [r for r in done.records if r["type"] == "intent" and r["ingress"] == "publish"]


def maker_of(process):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
            parent = int(re.search(r"PPid:\t(\d+)", open(f"/proc/{pid}/status").read())[1])
        except OSError:
            continue
        if b"--sockets" in words and parent == process.pid:
            return int(pid)
    raise AssertionError("there is no process that makes sockets")


@both_users
def test_attack_the_process_that_joins_the_network_can_do_nothing_else(bench):
    served = Served(bench, server(bench, 3000), "0:3000")
    pid = maker_of(served.process)
    status = open(f"/proc/{pid}/status").read()
    for held in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"):
        assert re.search(rf"{held}:\t0+\n", status), status
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status
    # Nothing open but its channel and the standard descriptors.
    assert set(os.listdir(f"/proc/{pid}/fd")) <= {"0", "1", "2", "5"}
    # Outside the sandbox's view of processes.
    assert os.readlink(f"/proc/{pid}/ns/pid") == os.readlink("/proc/self/ns/pid")
    os.kill(served.process.pid, signal.SIGKILL)
    served.process.wait()
    deadline = time.monotonic() + PATIENCE
    while os.path.exists(f"/proc/{pid}") and "\nState:\tZ" not in open(f"/proc/{pid}/status").read():
        assert time.monotonic() < deadline, "it outlives warder"
        time.sleep(0.1)


def test_attack_connections_come_while_a_run_fails(bench):
    """The sandbox dies before CMD begins: what accepts ends before what it records into, and the record has an end."""
    out, full = os.pipe()
    fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
    os.write(full, b"x" * 4096)             # warder waits at its first line, its ports open already
    port = free_port()
    process = bench.start(["true"], args=["--publish", f"{port}:3000"], stderr=full)
    os.close(full)
    over = threading.Event()

    def knock():
        while not over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", port), 1) as sock:
                    sock.settimeout(0.05)
                    sock.sendall(b"x")
                    sock.recv(1)
            except OSError:
                pass

    def launchers():
        return [pid for pid in processes.children(process.pid)
                if b"--control" in open(f"/proc/{pid}/cmdline", "rb").read()]

    deadline = time.monotonic() + PATIENCE
    knocking = [threading.Thread(target=knock) for _ in range(8)]
    for each in knocking:
        each.start()
    try:
        while not any(r["type"] == "receipt" for r in bench.records()):
            assert time.monotonic() < deadline, "nothing is published"
            time.sleep(0.1)
        launcher, = launchers()
        os.kill(launcher, signal.SIGKILL)
        while "\nState:\tZ" not in open(f"/proc/{launcher}/status").read():
            time.sleep(0.05)
        with os.fdopen(out, "rb") as said:
            text = said.read().lstrip(b"x").decode()
        # Its inner half dies a moment later: it may still hear that CMD is to begin, and never come to it.
        assert process.wait(PATIENCE) in (125, 137), text
    finally:
        over.set()
        for each in knocking:
            each.join()
    done = bench.check_end()
    end, = [r for r in done.records if r["type"] == "session_end"]
    assert (end["ended"], end["exit_code"]) == ("gone", 125), end


def test_attack_a_server_that_holds_all_costs_no_more_than_the_bound(bench):
    """300 connections, none of which ends: 256 are served, the others wait and cost nothing; then all is well."""
    served = Served(bench, server(bench, 3000), "0:3000")
    held = []
    for _ in range(300):
        sock = socket.create_connection(("127.0.0.1", served.ports[0]), PATIENCE)
        sock.sendall(b"x")
        held.append(sock)
    deadline = time.monotonic() + 2 * PATIENCE
    answered = set()
    while len(answered) < 256 and time.monotonic() < deadline:
        ready, _, _ = select.select([s for s in held if s not in answered], [], [], 1)
        answered |= set(ready)
    time.sleep(1)
    ready, _, _ = select.select([s for s in held if s not in answered], [], [], 0)
    assert len(answered) == 256 and not ready
    sockets = [fd for fd in os.listdir(f"/proc/{served.process.pid}/fd")
               if os.readlink(f"/proc/{served.process.pid}/fd/{fd}").startswith("socket:")]
    assert len(sockets) < 2 * 256 + 64
    for sock in answered:
        sock.close()
    for sock in set(held) - answered:
        sock.settimeout(2 * PATIENCE)
        assert sock.recv(1) == b"X"
        sock.close()
    served.end()
