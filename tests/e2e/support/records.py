"""Logs with many kinds of records in them, and a file with all kinds that verifies as nothing."""

import json
import subprocess
import time

from .bench import BEARER, CONTRACT_RULES, REPO
from .daemon import TOKEN, Daemon

GOLDEN = REPO / "tests/audit/golden"
ESCAPES = "\x1b]0;owned\x07\x1b[31mred\u202e"

FRAME = {"v": 1, "seq": 0, "time": "2026-11-29T12:00:00.000000Z", "mono_ns": 5}
UNKNOWN = {"type": "of_the_future", "session": "s1", "deep": {"a": [1, "x"]}}


def line(record):
    return json.dumps({**FRAME, **record, "prev": ""}, ensure_ascii=False, separators=(",", ":"))


def golden_lines():
    return [path.read_text().rstrip("\n") for path in sorted(GOLDEN.glob("*.json"))]


def every_type(directory):
    """A file that verifies as nothing, with a line of every type."""
    refused = json.loads((GOLDEN / "intent.json").read_text())
    refused.update(decision="deny", reason="not_authenticated", method="", uses=[], authority="tcp://api.test:443")
    raw = {**refused, "reason": "port_not_allowed", "protocol": "tcp"}
    lines = [*golden_lines(), line(UNKNOWN),
             *(json.dumps(r, ensure_ascii=False, separators=(",", ":")) for r in (refused, raw))]
    path = directory / "every.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def varied_run(bench):
    """Allowed, refused and looked-up hosts, a tripwire, and an argument that a terminal would obey."""
    script = (f"curl -sS -o /dev/null {BEARER} https://api.test/headers; "
              "curl -sS -o /dev/null -X DELETE https://api.test/ok; "
              f"curl -sS -o /dev/null {BEARER} https://other.test/ok; "
              "curl -sS https://evil.test/; echo > made; exit 3")
    return bench.run(["/bin/sh", "-c", script, ESCAPES], creates=["made"])


def gateway_run(bench):
    """A gateway with a stranger, an answered question, another policy and raw bytes where HTTP is expected."""
    asked = {"name": "asked", "hosts": ["api.test"], "paths": ["/ok"], "methods": ["GET"], "action": "ask"}
    listeners = [{"type": "connect", "name": "open"},
                 {"type": "connect", "name": "closed", "token": {"env": "PROXY_TOKEN"}}]
    with Daemon(bench, listeners, rules=[asked, *CONTRACT_RULES[1:]]) as gateway:
        gateway.ask("closed", b"CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
        gateway.ask("open", b"CONNECT api.test:5432 HTTP/1.1\r\nHost: api.test:5432\r\n\r\n")
        proxy = f"http://127.0.0.1:{gateway.ports['open']}"
        waiting = subprocess.Popen(["curl", "-sS", "-o", "/dev/null", "--cacert", gateway.ca, "-x", proxy,
                                    "https://api.test/ok"], stderr=subprocess.PIPE)
        sock = str(gateway.directory / "admin.sock")

        def approve(*args):
            return subprocess.run([bench.warder, "approve", "--gateway", sock, *args], env=bench.environment(),
                                  capture_output=True, timeout=20)
        deadline = time.monotonic() + 20
        while not (questions := json.loads(approve("--json").stdout or "[]")):
            assert time.monotonic() < deadline, "no question came"
            time.sleep(0.1)
        assert approve(questions[0]["id"]).returncode == 0
        assert waiting.wait(20) == 0, waiting.stderr.read()
        waiting.stderr.close()
        gateway.reconfigure(rules=CONTRACT_RULES)
        assert gateway.reload().returncode == 0
        assert TOKEN not in bench.audit.read_text()
        assert gateway.stop()[0] == 0
    return bench.audit
