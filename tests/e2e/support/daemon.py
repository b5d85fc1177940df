"""Runs `warder gateway` beside a bench, and speaks to its listeners from outside any sandbox."""

import os
import random
import signal
import socket
import subprocess
import time

TOKEN = "proxy-token-0123456789"


_given = set()


def free_port():
    """Below the range that the kernel gives to clients, and never the same twice."""
    while True:
        port = random.randrange(12000, 30000)
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port


class Daemon:
    """`listeners`: as in the configuration, without address: each gets a free port."""

    def __init__(self, bench, listeners, args=(), config=None, prefix=(), **more):
        self.bench = bench
        self.ports = {}
        ready = []
        for number, one in enumerate(listeners, 1):
            name = one.get("name", f"{one['type']}-{number}")
            self.ports[name] = free_port()
            ready.append({"policy": "t", "name": name, "token": "none",
                          "address": f"127.0.0.1:{self.ports[name]}", **one})
        named = {"listeners": ready} if ready else {}
        self.named = named
        self.config = config or bench.config(gateway=bench.gateway(**named), **more)
        self.directory = bench.directory / "run"
        self.args, self.prefix = args, prefix

    def __enter__(self):
        argv = [*self.prefix, self.bench.warder, "gateway", "--config", str(self.config),
                "--directory", str(self.directory), *map(str, self.args)]
        self.bench.own()
        self.process = subprocess.Popen(
            self.bench.as_user(argv), cwd=self.bench.ws, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=self.bench.environment({"PROXY_TOKEN": TOKEN}))
        self.bench.running.append(self.process)
        self.ready = self.process.stdout.readline().decode()
        if not self.ready.startswith("ready "):
            raise AssertionError(f"no readiness: {self.ready!r} {self.process.stderr.read()!r}")
        return self

    def __exit__(self, *failed):
        if self.process.poll() is None:
            code, _ = self.stop()
            if not any(failed):
                assert code == 0

    def stop(self, how=signal.SIGTERM, seconds=20):
        self.process.send_signal(how)
        code = self.process.wait(seconds)
        return code, self.process.stderr.read().decode()

    def reconfigure(self, **more):
        """Another configuration in the file's place, with the same gateway in it."""
        return self.bench.config(gateway=self.bench.gateway(**self.named), **more)

    def reload(self, timeout=10):
        argv = [self.bench.warder, "reload", "--gateway", str(self.directory / "admin.sock")]
        return subprocess.run(self.bench.as_user(argv), env=self.bench.environment(),
                              capture_output=True, text=True, timeout=timeout)

    @property
    def ca(self):
        return str(self.directory / "ca.pem")

    def variables(self, name) -> dict:
        lines = (self.directory / f"{name}.env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def placeholder(self, name):
        return self.variables(name)["API_TOKEN"]

    def curl(self, *args, timeout=20, env=None):
        base = {"PATH": os.environ["PATH"], "HOME": str(self.bench.home)}
        return subprocess.run(["curl", "-sS", "--cacert", self.ca, *map(str, args)],
                              env={**base, **(env or {})}, capture_output=True, text=True,
                              timeout=timeout)

    def connect(self, name):
        sock = socket.create_connection(("127.0.0.1", self.ports[name]), 5)
        sock.settimeout(5)
        return sock

    def ask(self, name, data: bytes, seconds=5.0) -> bytes:
        """Sends raw bytes and reads until the proxy closes."""
        with self.connect(name) as sock:
            sock.settimeout(seconds)
            sock.sendall(data)
            got = b""
            try:
                while piece := sock.recv(65536):
                    got += piece
            except (TimeoutError, ConnectionResetError):
                pass
            return got

    def records(self, kind=None, wait=0):
        """Those of `kind`; waits until there are `wait` of them."""
        end = time.monotonic() + 3
        while True:
            found = [r for r in self.bench.records() if kind in (None, r["type"])]
            if len(found) >= wait or time.monotonic() > end:
                return found
            time.sleep(0.02)
