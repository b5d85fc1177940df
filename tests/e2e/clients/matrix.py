"""Clients by ways in by protocols: what each test learns goes into one table."""

import os
import shutil
import signal
import subprocess
import threading
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from provider import Provider
from support import echo
from support.bench import CLEAN, REPO, SECRET, Bench
from support.daemon import TOKEN, Daemon
from support.h2origin import H2Origin
from support.inside.wswire import TEXT, accept_of, frame, read_frame
from support.nets import Net

CLIENTS = Path(os.environ.get("WARDER_CLIENTS", REPO / "build" / "clients"))
TABLE = Path(os.environ.get("WARDER_CLIENTS_TABLE", REPO / "build" / "clients.md"))
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

LISTENERS = {
    "connect": {"type": "connect", "token": {"env": "PROXY_TOKEN"}},
    "connect+tls": {"type": "connect", "token": {"env": "PROXY_TOKEN"}, "tls": {"name": "127.0.0.1"}},
    "socks5": {"type": "socks5", "token": {"env": "PROXY_TOKEN"}},
}
WAYS = ["transparent", *LISTENERS]
OPENAI = "sk-proj-" + "Rea1" * 16
GEMINI = "AIzaSy" + "Rea1Va1" * 4 + "Rea1V"


def needs(*parts):
    """The place of what tests/clients/install has put there, or a skip that says so."""
    path = CLIENTS.joinpath(*parts)
    if not (CLIENTS / parts[0]).exists():
        pytest.skip(f"{parts[0]} clients are not installed: make test-clients")
    return str(path)


# -- the table -------------------------------------------------------------------------------------
@dataclass
class Row:
    client: str
    version: str
    way: str
    protocols: str
    result: str


ROWS = []


def record(client, version, way, protocols, result):
    ROWS.append(Row(client, version, way, protocols, result))


def write_table():
    """One line per client and version and result; the ways in that share it stand together."""
    merged = {}
    for row in ROWS:
        key = (row.client, row.version, row.protocols, row.result)
        merged.setdefault(key, []).append(row.way)
    lines = ["| client | version | way in | protocols at the origin | result |",
             "|---|---|---|---|---|"]
    order = list(dict.fromkeys(row.client for row in ROWS))
    for (client, version, protocols, result), ways in sorted(
            merged.items(), key=lambda item: order.index(item[0][0])):
        lines.append(f"| {client} | {version} | {', '.join(ways)} | {protocols} | {result} |")
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text("\n".join(lines) + "\n")


# -- the origins -------------------------------------------------------------------------------------
class Events:
    """A stream that goes on only when its reader has asked for it, elsewhere: who holds an event
    back until the end never sees the end."""

    def __init__(self):
        self._waiting = {}

    def begin(self, secret):
        number = uuid.uuid4().hex
        self._waiting[number] = threading.Event()
        return number, f"data: {number} {secret}\n\n".encode()

    def end(self, number):
        return b"data: done\n\n" if self._waiting[number].wait(8) else b"data: late\n\n"

    def go_on(self, number):
        self._waiting[number].set()


EVENTS = Events()
EVENT_STREAM = [("Content-Type", "text/event-stream")]


@echo.route("/events")
def h1_events(conn, request):
    number, first = EVENTS.begin(echo.token(request))
    conn.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
              b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(first), first))
    last = EVENTS.end(number)
    conn.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(last), last))


@echo.route("/go-on")
def h1_go_on(conn, request):
    EVENTS.go_on(echo.tail(request))
    echo.reply(conn, request, b"ok")


# A page that is not loaded, and so not shown, before its WebSocket has brought something.
LIVE = b"""<p id="heard">nothing</p><img src="/hold"><script>
const socket = new WebSocket("wss://api.test/socket");
socket.onopen = () => socket.send("hello");
socket.onmessage = (message) => {
  document.getElementById("heard").textContent = "heard " + message.data;
  socket.send("seen");
};
</script>"""
HEARD = threading.Semaphore(0)


@echo.route("/socket")
def h1_socket(conn, request):
    conn.send(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               f"Sec-WebSocket-Accept: {accept_of(request.get('sec-websocket-key'))}\r\n\r\n").encode())
    while (got := read_frame(conn)).opcode == TEXT:
        if got.payload == b"seen":
            HEARD.release()
        else:
            conn.send(frame(TEXT, got.payload))
    return "close"


def h2_script(stream):
    body = stream.read_all()
    secret = (stream.get("authorization") or "").rpartition(" ")[2]
    path = urlsplit(stream.path).path
    if path == "/whoami":
        stream.reply(f"you are {secret}\n".encode())
    elif path == "/digest":
        stream.reply(echo.hashlib.sha256(body).hexdigest().encode())
    elif path == "/events":
        stream.head(200, [("content-type", "text/event-stream")])
        number, first = EVENTS.begin(secret)
        stream.send(first)
        stream.send(EVENTS.end(number), end=True)
    elif path.startswith("/go-on/"):
        EVENTS.go_on(path.rpartition("/")[2])
        stream.reply(b"ok")
    elif path == "/live":
        stream.reply(LIVE, headers=[("content-type", "text/html")])
    elif path == "/hold":
        HEARD.acquire(timeout=8)
        stream.reply(b"", status=404)
    else:
        stream.reply(b"" if stream.method == "HEAD" else b"ok\n" * 100)


class Servers:
    """servers.py: gRPC and WebSocket by their usual libraries."""

    def __init__(self, pair, prefix):
        self.seen = []
        argv = [*prefix, needs("python", "bin/python"), "-B", needs("servers", "servers.py"), pair.cert,
                pair.key]
        self.process = subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, text=True,
                                        env={"PATH": PATH})
        self.grpc, self.ws = self.process.stdout.readline().split()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.seen.append(tuple(line.rstrip("\n").split(" ", 1)))

    def close(self):
        self.process.terminate()
        self.process.wait(10)


# -- where it all happens --------------------------------------------------------------------------------
@dataclass
class Ran:
    """A client's run: for each check "ok", or what went wrong."""
    checks: dict
    version: str
    text: str
    sees: dict = field(default_factory=dict)     # check -> what the client says it spoke


def parsed(text) -> Ran:
    ran = Ran({}, "", text)
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "version":
            ran.version = rest
        elif name in ("get", "post", "stream", "ws", "unary", "bidi"):
            ok, _, detail = rest.partition(" ")
            ran.checks[name] = "ok" if ok == "ok" else rest
            if ok == "ok" and detail.strip():
                ran.sees[name] = detail.strip()
    return ran


class World:
    """Origins, and one gateway with a listener per way in, in a network that has no way out.

    No name that a client is told is a loopback name, and none resolves: who does not heed the proxy
    gets nowhere."""

    def __init__(self, base, pki, build):
        self.base, self.pki, self.build = base, pki, build
        self.net = Net() if os.geteuid() == 0 else None
        self.prefix = self.net.prefix if self.net else []
        inside = self.net.run if self.net else (lambda function: function())
        self.pair = pki.leaf("clients", ["api.test", "ws.test", "grpc.test"])
        self.api = inside(lambda: H2Origin(h2_script, self.pair))
        self.servers = Servers(self.pair, self.prefix)
        agents = ["api.openai.com", "generativelanguage.googleapis.com"]
        self.provider = inside(lambda: Provider(pki.leaf("provider", agents)))
        self.connect = {**{f"{host}:443": self.provider.address for host in agents},
                        "api.test:443": self.api.address, "ws.test:443": f"127.0.0.1:{self.servers.ws}",
                        "grpc.test:443": f"127.0.0.1:{self.servers.grpc}"}
        secrets = {name: {"source": {"env": source}, "placeholder": {"env": variable}}
                   for name, source, variable in (("tok", "REAL_TOKEN", "API_TOKEN"),
                                                  ("openai", "REAL_OPENAI", "OPENAI_API_KEY"),
                                                  ("gemini", "REAL_GEMINI", "GEMINI_API_KEY"))}
        hosts = ["api.test", "ws.test", "grpc.test"]
        self.config = {"rules": [{"name": "all", "hosts": [*hosts, *agents], "action": "allow"}],
                       "secrets": secrets,
                       "grants": [{"secret": "tok", "hosts": hosts, "at": ["header:authorization"]},
                                  {"secret": "openai", "hosts": agents[:1]},
                                  {"secret": "gemini", "hosts": agents[1:]}]}
        self.bench = self.place("matrix")
        entries = [{**entry, "name": name.replace("+", "-")} for name, entry in LISTENERS.items()]
        entries.append({"type": "connect", "name": "open"})       # for what cannot give a token
        self.daemon = Daemon(self.bench, entries, **self.config).__enter__()

    def place(self, name) -> Bench:
        bench = Bench(self.base / f"{name}-{uuid.uuid4().hex[:6]}", self.pki, self.build)
        if self.net:
            self.net.host(bench)
        bench.connect.update(self.connect)
        environment = bench.environment
        bench.environment = lambda env=None: environment(
            {"REAL_OPENAI": OPENAI, "REAL_GEMINI": GEMINI, **(env or {})})
        return bench

    def variables(self, way):
        given = self.daemon.variables(way.replace("+", "-"))
        return {name: value.replace(":TOKEN@", f":{TOKEN}@") for name, value in given.items()}

    def run(self, argv, way, seconds=90):
        """The client's output, from inside a sandbox or with what the listener's .env file says."""
        argv = list(map(str, argv))
        if way == "transparent":
            bench = self.place("inside")
            bench.config(**self.config)
            done = bench.run(argv, args=["--ro", CLIENTS], timeout=seconds)
            return done.text + done.error
        home = self.home()
        done = subprocess.run([*self.prefix, *argv], cwd=home, capture_output=True, timeout=seconds,
                              env={**CLEAN, "HOME": str(home), **self.variables(way)},
                              encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL)
        return done.stdout + done.stderr

    def home(self):
        made = self.bench.directory / f"home-{uuid.uuid4().hex[:6]}"
        made.mkdir()
        return made

    @contextmanager
    def forwarded(self, authority):
        """How to run what has no proxy option: the name is a loopback address for it, and socat takes
        its bytes through the CONNECT listener."""
        if not self.net or not shutil.which("socat"):
            pytest.skip("needs root, for a network and /etc/hosts of its own, and socat")
        host, _, port = authority.partition(":")
        hosts = self.bench.directory / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {host}\n")
        line = (f"PROXY:127.0.0.1:{authority},proxyport={self.daemon.ports['connect']},"
                f"proxyauth=warder:{TOKEN}")
        process = subprocess.Popen([*self.prefix, "socat", f"TCP-LISTEN:{port},fork,reuseaddr", line],
                                   start_new_session=True)
        try:
            time.sleep(0.3)
            yield ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts]
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(5)

    def mark(self):
        return (len(self.api.requests), len(self.api.streams), len(self.servers.seen))

    def since(self, mark):
        """What the origins saw since: {(protocol, credential)} by check."""
        time.sleep(0.05)
        seen = {}
        for request in self.api.requests[mark[0]:]:
            seen.setdefault(request.target.split("/")[1], set()).add(
                ("HTTP/1.1", request.get("authorization")))
        for stream in self.api.streams[mark[1]:]:
            seen.setdefault(stream.path.split("/")[1], set()).add(
                ("HTTP/2", stream.get("authorization")))
        for kind, value in self.servers.seen[mark[2]:]:
            seen.setdefault(kind, set()).add(({"grpc": "gRPC", "ws": "WebSocket"}[kind], value))
        names = {"whoami": "get", "digest": "post", "events": "stream", "grpc": "unary", "ws": "ws"}
        return {names[k]: v for k, v in seen.items() if k in names}

    def close(self):
        try:
            self.daemon.__exit__()
        finally:
            self.servers.close()
            self.api.stop()
            self.provider.stop()
            if self.net:
                self.net.close()


def check(world, client, way, argv, checks, version="", why_not=None):
    """Runs one client one way and writes its row. `why_not`: it cannot, and this is why."""
    mark = world.mark()
    ran = parsed(world.run(argv, way))
    seen = world.since(mark)
    failed = {name: ran.checks.get(name, "nothing") for name in checks
              if ran.checks.get(name) != "ok"}
    protocols = []
    for name in checks:
        if name in seen:
            spoken, credentials = {p for p, _ in seen[name]}, {c for _, c in seen[name]}
            protocols += spoken
            assert credentials == {f"Bearer {SECRET}"}, (name, credentials, ran.text)
        else:
            assert name in failed or name == "bidi", f"{name} never reached the origin\n{ran.text}"
    assert SECRET not in ran.text
    fine = [name for name in checks if name not in failed]
    result = f"ok: {', '.join(fine)}" if fine else ""
    if failed:
        result += f"{'; ' if fine else ''}**no** {', '.join(failed)}: {why_not or failed}"
    record(client, ran.version or version, way, ", ".join(sorted(set(protocols))) or "none", result)
    if why_not:
        assert failed, f"it works, though the table says: {why_not}"
    else:
        assert not failed, ran.text
