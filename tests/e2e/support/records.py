"""A log with many kinds of records in it, and lines of the kinds that no short run makes."""

import json

from .bench import BEARER, REPO

GOLDEN = REPO / "tests/audit/golden"
ESCAPES = "\x1b]0;owned\x07\x1b[31mred\u202e"

FRAME = {"v": 1, "seq": 0, "time": "2026-11-29T12:00:00.000000Z", "mono_ns": 5}
# Of types that FORMAT.md knows, or will: what a launcher tells of programs, files and limits.
TOLD = [
    {"type": "exec", "session": "s1", "exec": 1, "pid": 7, "parent": 1, "path": "/usr/bin/git", "cwd": "/ws",
     "argv": ["git", "status"], "left_out": 0, "count": 1, "note": "", "told_by": "launcher"},
    {"type": "exit", "session": "s1", "exec": 1, "pid": 7, "exit_code": 1, "signal": 0, "told_by": "launcher"},
    {"type": "files", "session": "s1", "changes": [{"name": "a|b`c", "change": "created"}], "git_objects": 0, "more": 0,
     "note": "", "told_by": "launcher"},
    {"type": "limit", "session": "s1", "name": "memory", "value": "2GiB", "mechanism": "cgroup v2", "state": "reached",
     "used": 2147483648},
]
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
    lines = [*golden_lines(), *map(line, [*TOLD, UNKNOWN]),
             *(json.dumps(r, ensure_ascii=False, separators=(",", ":")) for r in (refused, raw))]
    path = directory / "every.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def varied_run(bench):
    """Allowed, refused and looked-up hosts, a tripwire, and an argument that a terminal would obey."""
    script = (f"curl -sS -o /dev/null {BEARER} https://api.test/headers; "
              "curl -sS -o /dev/null -X DELETE https://api.test/ok; "
              f"curl -sS -o /dev/null {BEARER} https://other.test/ok; "
              "curl -sS https://evil.test/; exit 3")
    return bench.run(["/bin/sh", "-c", script, ESCAPES])
