"""Where the value lies while a session uses it, and afterwards: in the gateway's memory and nowhere else."""

import base64
import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support import processes
from support.bench import BEARER, INSIDE, SECRET
from support.daemon import Daemon
from support.inside.wswire import TEXT, frame, read_frame
from support.origin import Origin
from support.talk import Talk
from support.websocket import switch

FORMS = {"raw": SECRET.encode(), "base64": base64.b64encode(SECRET.encode()).rstrip(b"=")[:-1],
         "hex": SECRET.encode().hex().encode()}
ALL = """
import shutil, base64
from wswire import *
# Whatever manner of use there is, each of them masked on its way back.
pair = base64.b64encode(f"user:{TOKEN}".encode()).decode()
for headers, path, body in ((AUTH, "/reflect/body", b""), (AUTH, "/reflect/header", b""),
                            (f"Authorization: Basic {pair}\\r\\n", "/reflect/basic", b""),
                            ("", f"/headers?key={TOKEN}", b""), (AUTH, "/reflect/gzip", b""),
                            ("Content-Type: application/json\\r\\n", "/echo",
                             json.dumps({"token": TOKEN}).encode())):
    for _ in range(3):
        reply = fetch(path, headers=headers, method="POST" if body else "GET", body=body)
        assert reply.status == 200, reply.summary()
wire = opened("other.test")
wire.send(mine(TEXT, f"log in {TOKEN}"))
answer = read_frame(wire).payload.decode()
wire.close()
pause(token=TOKEN, answer=answer)
"""


@pytest.fixture
def used(bench, pki, echo):
    """A session that has used the value in every place, is idle, and still runs."""
    def script(conn):
        switch(conn)
        conn.send(frame(TEXT, b"you sent " + read_frame(conn).payload))
    bench.map("other.test:443", Origin(script, pki.good))
    hosts = ["api.test", "other.test"]
    bench.config(rules=[{"name": "all", "hosts": hosts, "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": hosts, "at": [
                     "header:authorization", "basic", "query:key", "body:json:/token", "ws"]}])
    (bench.ws / "wswire.py").write_bytes((INSIDE / "wswire.py").read_bytes())
    talk = Talk(bench, ALL)
    seen = talk.hear()
    assert seen["answer"] == f"you sent log in {seen['token']}", seen
    return talk


def regions(pid):
    """(first address, last, permissions, locked kB, name) of a process's memory."""
    found = []
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            begin, end = (int(n, 16) for n in words[0].split("-"))
            found.append([begin, end, words[1], 0, words[5] if len(words) > 5 else ""])
        elif words[0] == "Locked:":
            found[-1][3] = int(words[1])
    return found


def occurrences(pid):
    """(form, address, is locked, name of the region, surroundings) of the value in it."""
    found, read = [], 0
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for begin, end, permissions, locked, name in regions(pid):
            if "r" not in permissions or end - begin > 256 << 20 or name.startswith("[v"):
                continue
            try:
                memory.seek(begin)
                data = memory.read(end - begin)
            except (OSError, OverflowError):
                continue
            read += len(data)
            for form, text in FORMS.items():
                at = data.find(text)
                while at >= 0:
                    found.append((form, begin + at, bool(locked), name,
                                  data[max(at - 24, 0):at + len(text) + 24]))
                    at = data.find(text, at + 1)
    assert read > 100_000, f"nothing could be read of {pid} {processes.command(pid)}"
    return found


def everything_written(bench):
    for place in (bench.ws, bench.home, bench.state):
        for path in place.rglob("*"):
            if path.is_file():
                yield path, path.read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="reads other processes' memory")
def test_no_other_process_and_no_file_holds_the_value(bench, used):
    tree = processes.descendants(used.pid)
    names = {pid: processes.command(pid) for pid in tree}
    assert len(tree) >= 3 and any("bwrap" in n for n in names.values()), names
    for pid in tree:
        assert not occurrences(pid), (names[pid], occurrences(pid))
        for name in ("environ", "cmdline"):
            text = Path(f"/proc/{pid}/{name}").read_bytes()
            assert not [f for f, t in FORMS.items() if t in text], (name, names[pid])
    files = list(everything_written(bench))
    assert any(path == bench.audit for path, _ in files), files
    for path, data in files:
        assert not [f for f, t in FORMS.items() if t in data], path
    assert FORMS["raw"] not in used.error().encode()
    used.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="reads other processes' memory")
def test_the_gateway_itself_holds_it_in_locked_memory_and_few_other_places(bench, used):
    """docs/masking.md names the others: the search machines, buffers of responses, of TLS and HTTP/2."""
    if bench.sanitized:
        pytest.skip("AddressSanitizer keeps what was freed")
    time.sleep(0.5)
    found = occurrences(used.pid)
    locked = [f for f in found if f[2]]
    for form, address, is_locked, name, around in found:
        print(form, hex(address), "locked" if is_locked else "open", name or "anonymous", around)
    print(f"{len(locked)} locked, {len(found) - len(locked)} not")
    assert locked, "the stored value is not in locked memory"
    assert len(found) - len(locked) <= 24, found
    assert FORMS["raw"] not in Path(f"/proc/{used.pid}/environ").read_bytes()
    used.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="reads other processes' memory")
def test_behind_a_gateway_the_launcher_does_not_hold_it_either(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        running = bench.start(f"curl -sS {BEARER} https://api.test/reflect/body; echo; echo used; read go",
                              policy=None, config=None, args=("--gateway", gateway.directory / "admin.sock"),
                              env={"REAL_TOKEN": None}, stdin=subprocess.PIPE)
        seen = b""
        while b"used" not in seen:
            piece = running.stdout.read1(4096)
            assert piece, running.stderr.read()
            seen += piece
        assert echo.requests[0].get("authorization") == f"Bearer {SECRET}"
        tree = [running.pid, *processes.descendants(running.pid)]
        assert len(tree) >= 3 and gateway.process.pid not in tree, tree
        for pid in tree:
            assert not occurrences(pid), (processes.command(pid), occurrences(pid))
        assert occurrences(gateway.process.pid), "not even the gateway holds it: this test proves nothing"
        running.communicate(b"go\n", timeout=20)


@pytest.mark.parametrize("bench", ["user"], indirect=True)
def test_the_gateway_is_not_dumpable_and_writes_no_core(bench, echo):
    """Of a process that is not dumpable /proc belongs to root, whoever runs it: its own user cannot read it or trace it."""
    if bench.user is None:
        pytest.skip("needs an ordinary user that is not the one who looks")
    running = bench.start("echo up; sleep 20")
    running.stdout.readline()
    of_the_user = [pid for pid in (running.pid, *processes.descendants(running.pid))
                   if f"\nUid:\t{bench.user.uid}\t" in Path(f"/proc/{pid}/status").read_text()
                   and Path(os.readlink(f"/proc/{pid}/exe")).name == "warder"]
    assert of_the_user
    for pid in of_the_user:
        assert os.stat(f"/proc/{pid}/mem").st_uid == 0, processes.command(pid)
        assert "Max core file size        0                    0 " in Path(f"/proc/{pid}/limits").read_text()
        spy = subprocess.run(bench.as_user(["/bin/sh", "-c", f"head -c 1 /proc/{pid}/mem; cat /proc/{pid}/environ"]),
                             capture_output=True)
        assert spy.returncode != 0 and not spy.stdout and b"Permission denied" in spy.stderr, spy
    running.kill()
    running.communicate(timeout=20)


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV])
def test_a_gateway_that_dies_leaves_no_core(bench, echo, number):
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    if pattern.startswith(("|", "/")):
        pytest.skip(f"cores of this machine go elsewhere: {pattern}")
    # First of all: does this machine write cores here at all?
    def unlimited():
        most = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (most, most))

    def cores():
        return [p for p in bench.ws.iterdir() if p.name.startswith(pattern.split(".")[0].split("%")[0])]
    control = bench.directory / "control"
    control.mkdir()
    subprocess.run(["/bin/sh", "-c", "kill -ABRT $$"], cwd=control, preexec_fn=unlimited)
    if not list(control.iterdir()):
        pytest.skip("this machine writes no core of a shell either")
    running = bench.start("echo up; sleep 20", preexec_fn=unlimited)
    running.stdout.readline()
    running.send_signal(number)
    running.communicate(timeout=10)
    assert running.returncode != 0
    for core in cores():
        data = core.read_bytes()
        assert not [f for f, t in FORMS.items() if t in data], core
    assert not cores(), cores()
    bench.check_end(verify=False)     # a log that was killed has no closing checkpoint
