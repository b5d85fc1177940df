"""Runs warder in a workspace of its own, with a clean environment, and applies the oracles."""

import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import oracles, processes

REPO = Path(__file__).resolve().parents[3]
INSIDE = Path(__file__).resolve().parent / "inside"
SECRET = "sk-live-S3cr3tValue-0123456789"
PYTHON = "/usr/bin/python3"
BEARER = '-H "Authorization: Bearer $API_TOKEN"'    # for curl inside
MINE = 'echo; echo "mine $API_TOKEN"'               # so that the test learns the placeholder

# What warder itself may find in the environment: nothing that the machine's own set-up puts there
# (CURL_CA_BUNDLE, *_proxy and their like).
CLEAN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8",
         "TERM": "xterm"}

CONTRACT_RULES = [
    {"name": "api", "hosts": ["api.test"], "methods": ["GET", "POST", "PUT", "HEAD"],
     "paths": ["/**"], "action": "allow"},
    {"name": "other", "hosts": ["other.test"], "action": "allow"},
]
CONTRACT_GRANTS = [{"secret": "tok", "hosts": ["api.test"],
                    "at": ["header:authorization", "basic"]}]
CONTRACT_SECRETS = {"tok": {"source": {"env": "REAL_TOKEN"}, "placeholder": {"env": "API_TOKEN"}}}


def mine(result) -> str:
    """The placeholder that MINE printed."""
    return result.text.split("mine ")[1].strip()


@dataclass
class Result:
    code: int
    out: bytes
    err: bytes
    seconds: float
    records: list = field(default_factory=list)

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    @property
    def error(self):
        return self.err.decode("utf-8", "replace")

    @property
    def lines(self):
        """The JSON lines that a script inside printed with wire.show."""
        return [json.loads(line) for line in self.text.splitlines() if line.startswith("{")]

    @property
    def json(self):
        return json.loads(self.text)

    def __str__(self):
        return (f"exit {self.code} after {self.seconds:.2f} s\n-- out\n{self.text}\n"
                f"-- err\n{self.error}")


class Bench:
    """One test's place: workspace, home and state directory below `directory`."""

    def __init__(self, directory: Path, pki, build: Path, user=None):
        self.directory, self.build, self.user = directory, build, user
        self.nonce = directory.name
        self.ws, self.home, self.state = (directory / n for n in ("ws", "home", "state"))
        for each in (self.ws, self.home, self.state):
            each.mkdir(parents=True)
        shutil.copy(pki.ca_pem, self.ws / "test-ca.pem")
        self.connect, self.origins = {}, []
        self.real = SECRET
        self.audit = self.ws / "audit" / "audit.jsonl"
        self.running = []

    # -- set-up ------------------------------------------------------------------------------
    @property
    def warder(self):
        return str(self.build / "warder")

    @property
    def sanitized(self):
        """AddressSanitizer keeps what was freed: there the memory in use says nothing."""
        return b"__asan_init" in (self.build / "warder").read_bytes()

    def map(self, authority, origin):
        if not isinstance(origin, str):
            self.origins.append(origin)
            origin = origin.address
        self.connect[authority] = origin
        return self

    def write(self, name, content, mode=None):
        path = self.ws / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if mode is not None:
            path.chmod(mode)
        return path

    def config(self, rules=None, grants=None, secrets=None, gateway=None, name="t.yaml",
               limits=None):
        """The contract's configuration, with parts of it replaced."""
        limited = {"limits": limits} if limits else {}
        text = {"version": 1,
                "secrets": CONTRACT_SECRETS if secrets is None else secrets,
                "policies": {"t": {"rules": CONTRACT_RULES if rules is None else rules,
                                   "grants": CONTRACT_GRANTS if grants is None else grants,
                                   **limited}},
                "gateway": gateway or self.gateway()}
        return self.write(name, "".join(f"{k}: {json.dumps(v)}\n" for k, v in text.items()))

    def gateway(self, **more):
        return {"audit": {"file": "audit/audit.jsonl"},
                "upstream": {"ca": ["test-ca.pem"], "connect_to": self.connect}, **more}

    def environment(self, env=None):
        base = {**CLEAN, "HOME": str(self.home), "XDG_STATE_HOME": str(self.state),
                "USER": self.user.name if self.user else "root", "REAL_TOKEN": self.real}
        base.update(env or {})
        return {k: v for k, v in base.items() if v is not None}

    def own(self):
        """Gives what the test wrote to the user who runs warder."""
        if self.user:
            for base, dirs, files in os.walk(self.directory):
                for path in (base, *(os.path.join(base, n) for n in dirs + files)):
                    os.chown(path, self.user.uid, self.user.gid, follow_symlinks=False)

    def as_user(self, argv):
        return [*self.user.prefix, *argv] if self.user else list(argv)

    # -- running -----------------------------------------------------------------------------
    def argv(self, cmd, policy="t", args=(), config="t.yaml"):
        if isinstance(cmd, str):
            cmd = ["/bin/sh", "-c", cmd]
        named = ["--config", str(self.ws / config)] if config else []
        chosen = ["--policy", policy] if policy else []
        return self.as_user([self.warder, "run", *named, *chosen, *map(str, args), "--", *cmd])

    def run(self, cmd, *, policy="t", args=(), env=None, stdin=b"", timeout=30, config="t.yaml",
            creates=(), verify=True):
        """Runs to the end and applies the oracles. `creates`: what CMD leaves in the workspace."""
        if config == "t.yaml" and not (self.ws / config).exists():
            self.config()
        self.own()
        return self._finish(self.argv(cmd, policy, args, config), env, stdin, timeout, creates,
                            verify)

    def warder_command(self, *args, env=None, timeout=30, stdin=b"", creates=()):
        """`warder ARGS` in the workspace, with the oracles."""
        self.own()
        argv = self.as_user([self.warder, *map(str, args)])
        return self._finish(argv, env, stdin, timeout, creates, verify=False)

    def python(self, script, *args, creates=(), **more):
        """Runs a script inside the sandbox with the system's python; it can import `wire`."""
        self.write("client.py", "from wire import *\n" + script)
        shutil.copy(INSIDE / "wire.py", self.ws / "wire.py")
        argv = [PYTHON, "-B", str(self.ws / "client.py"), *map(str, args)]
        return self.run(argv, creates=creates, **more)

    def _finish(self, argv, env, stdin, timeout, creates, verify):
        before = oracles.tree(self.ws)
        known = processes.children(os.getpid())
        start = time.monotonic()
        process = subprocess.Popen(argv, cwd=self.ws, env=self.environment(env),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f"no end after {timeout} s: {argv}\n-- out\n{out[-3000:]!r}\n"
                                 f"-- err\n{err[-3000:]!r}") from None
        result = Result(process.returncode, out, err, time.monotonic() - start)
        result.records = self.records()
        self.check(result, before, known, creates, verify)
        return result

    def start(self, cmd, *, policy="t", args=(), env=None, config="t.yaml", **popen):
        """Starts and returns the Popen; the test ends it and calls `check_end`."""
        if config == "t.yaml" and not (self.ws / config).exists():
            self.config()
        self.own()
        self.before, self.known = oracles.tree(self.ws), processes.children(os.getpid())
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE}
        process = subprocess.Popen(self.argv(cmd, policy, args, config), cwd=self.ws,
                                   env=self.environment(env), **{**options, **popen})
        self.running.append(process)
        return process

    def check_end(self, result=None, creates=(), verify=True, seconds=2.0):
        result = result or Result(0, b"", b"", 0)
        result.records = self.records()
        self.check(result, self.before, self.known, creates, verify, seconds)
        return result

    # -- oracles -----------------------------------------------------------------------------
    def records(self):
        if not self.audit.exists():
            return []
        return [json.loads(line) for line in self.audit.read_text().splitlines()
                if line.startswith("{")]

    def verify(self, path=None, *args):
        return subprocess.run(self.as_user([self.warder, "audit", "verify", *args,
                                            str(path or self.audit)]),
                              cwd=self.ws, env=self.environment(), capture_output=True, timeout=20)

    def check(self, result, before, known, creates=(), verify=True, seconds=2.0):
        own = {p.pid for p in self.running}
        oracles.assert_processes_gone(
            lambda: [f"{p} {processes.command(p)}" for p in processes.children(os.getpid()) - known
                     - own] + [line for line in processes.with_nonce(self.nonce)
                               if int(line.split()[0]) not in own], seconds)
        processes.reap_orphans(own)
        left = oracles.new_files(before, self.ws, "audit", creates)
        assert not left, f"files are left in the workspace: {sorted(left)}\n{result}"
        audit = self.audit.read_bytes() if self.audit.exists() else b""
        if self.real and len(self.real) >= 8:
            written = {name: (self.ws / name).read_bytes() for name in creates
                       if (self.ws / name).is_file()}
            oracles.assert_no_leak(self.real.encode("latin-1"), stdout=result.out,
                                   stderr=result.err, audit=audit, **written)
        if verify and audit:
            done = self.verify()
            assert done.returncode == 0, f"the audit does not verify: {done.stdout}{done.stderr}"

    def close(self):
        """Ends the origins, and what a failed test left running."""
        for origin in self.origins:
            origin.stop()
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        errors = [e for origin in self.origins for e in origin.errors]
        assert not errors, f"an origin's own script failed: {errors}"
