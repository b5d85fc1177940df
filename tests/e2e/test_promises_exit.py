"""Promise 1, attacked: what CMD inherits, and what it can reach through it."""

import os
import shutil
import signal
import subprocess
import time

import pytest

from support.bench import INSIDE, PYTHON
from support.marks import both_users

OPENED = """
import fcntl
def opened():
    found = []
    for fd in range(4096):
        try:
            fcntl.fcntl(fd, fcntl.F_GETFD)
            found.append(fd)
        except OSError:
            pass
    return found
show(fds=opened())
"""


@both_users
def test_cmd_inherits_nothing_but_its_standard_descriptors(bench, echo):
    """Not the launcher's control socket, whose other end is in the gateway; nor what the caller left open."""
    left_open = os.open("/etc", os.O_RDONLY)
    os.set_inheritable(left_open, True)
    done = bench.python(OPENED)
    os.close(left_open)
    assert done.lines[0]["fds"] == [0, 1, 2], done


STEAL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
line = b'{ "child-pid": %s }\\n' % arguments()[0].encode()
def steal():
    stolen = 0
    pidfd = libc.syscall(434, 1, 0)                      # pidfd_open
    for number in range(3, 64):
        fd = libc.syscall(438, pidfd, number, 0)         # pidfd_getfd
        if fd >= 0:
            stolen += 1
            attempt(lambda: os.write(fd, line))
    return stolen
def reopen():
    opened = 0
    for name in os.listdir("/proc/1/fd"):
        if int(name) > 2:
            os.write(os.open("/proc/1/fd/" + name, os.O_WRONLY), line)
            opened += 1
    return opened
show(stolen=steal(), reopened=attempt(reopen), attach=libc.ptrace(16, 1, 0, 0),
     memory=attempt(lambda: os.open("/proc/1/mem", os.O_RDWR)))
time.sleep(5)
"""


@both_users
def test_the_first_process_inside_cannot_be_made_to_lie_to_warder(bench, echo):
    """It has CMD's uid and holds a pipe to the gateway's process, which learns from there what pid to
    signal: a forged one would be any process of the host."""
    become = (lambda: os.setuid(bench.user.uid)) if bench.user else None
    victim = subprocess.Popen(["/bin/sleep", "60"], preexec_fn=become)
    try:
        bench.write("client.py", "from wire import *\n" + STEAL)
        shutil.copy(INSIDE / "wire.py", bench.ws / "wire.py")
        running = bench.start([PYTHON, "-B", str(bench.ws / "client.py"), str(victim.pid)])
        said = running.stdout.readline()
        time.sleep(0.3)
        running.send_signal(signal.SIGTERM)
        running.wait(10)
        time.sleep(0.2)
        assert victim.poll() is None, f"a process outside was signalled: {said}"
        assert b'"stolen": 0' in said and b'"attach": -1' in said, said
        assert b'"memory": "PermissionError"' in said, said
    finally:
        victim.kill()
        victim.wait()
    bench.check_end()


@both_users
def test_a_file_given_as_standard_input_cannot_be_opened_again_for_writing(bench, echo):
    """It belongs to the same user, and lies outside of what the sandbox may write."""
    given = bench.directory / "given"
    given.write_text("as it was")
    log = bench.directory / "log"
    log.write_text("what others wrote\n")
    bench.config()
    bench.own()
    with open(given) as stdin, open(log, "a") as stdout:
        running = bench.start("cat /dev/stdin; cat /proc/self/fd/0; "
                              "(echo overwritten > /proc/self/fd/0); truncate -s 0 /proc/self/fd/0; "
                              "cat /proc/self/fd/1 >&2; (echo more >> /dev/stdout) || echo more",
                              stdin=stdin, stdout=stdout)
        _, err = running.communicate(timeout=15)
    assert given.read_text() == "as it was", err
    assert b"what others wrote" not in err
    assert log.read_text() == "what others wrote\n" + "as it was" * 2 + "more\n", err
    bench.check_end()


@both_users
def test_a_directory_as_a_standard_descriptor_is_refused(bench, echo):
    """Everything beside it could be reached with openat(0, "../…")."""
    bench.config()
    bench.own()
    with_directory = os.open("/home", os.O_RDONLY)
    done = subprocess.run(bench.argv("ls /proc/self/fd/0/../etc; echo started"), cwd=bench.ws,
                          env=bench.environment(), stdin=with_directory, capture_output=True, timeout=20)
    os.close(with_directory)
    assert done.returncode == 2 and b"started" not in done.stdout, done
    assert b"standard input is a directory" in done.stderr, done


@pytest.mark.parametrize("bench", ["user"], indirect=True)
def test_names_moves_and_tools_go_on_as_usual_inside(bench, echo):
    """What keeps CMD to its view must not be noticed by honest programs."""
    done = bench.run("mkdir a b && echo x > a/f && mv a/f b/g && ln b/g a/h && mv b a/c && cat a/c/g && "
                     "cp /usr/bin/true ./t && ./t && rm -r a t && (echo to stderr > /dev/stderr) 2>&1 | cat && "
                     "echo x | cat /dev/stdin && (echo out > /dev/stdout) | cat && ls /proc/self/fd > /dev/null && "
                     "mkfifo p && (cat p & echo through > p; wait) && rm p && exec 3<>/dev/null && "
                     "python3 -c 'import tempfile; tempfile.TemporaryFile().write(bytes(1))' && echo all")
    assert done.text == "x\nto stderr\nx\nout\nthrough\nall\n" and not done.error, done


@both_users
def test_nothing_left_in_the_workspace_runs_as_its_owner(bench, echo):
    """Started as root, what CMD makes is root's on the disk: a set-user-ID file would lend root to every
    user of the host."""
    done = bench.python("""
import shutil
def mode(made, name):
    return [attempt(made), oct(os.stat(name).st_mode & 0o7777) if os.path.exists(name) else None]
shutil.copy("/usr/bin/id", "x")
fd = os.open("x", os.O_RDONLY)
show(chmod=mode(lambda: os.chmod("x", 0o4755), "x"), fchmod=mode(lambda: os.fchmod(fd, 0o2755), "x"),
     made=mode(lambda: os.open("y", os.O_CREAT | os.O_WRONLY, 0o4755), "y"),
     node=mode(lambda: os.mknod("z", 0o104755), "z"), honest=mode(lambda: os.chmod("x", 0o755), "x"))
""", creates=["x", "y", "z"])
    for name in ("x", "y", "z"):
        path = bench.ws / name
        assert not path.exists() or path.stat().st_mode & 0o6000 == 0, (name, done)
    assert done.lines[0]["honest"] == [None, "0o755"], done


def test_a_fork_storm_ends_at_the_sandboxs_own_limit(bench, echo):
    done = bench.python("""
import resource
show(limit=resource.getrlimit(resource.RLIMIT_NPROC), raised=attempt(
    lambda: resource.setrlimit(resource.RLIMIT_NPROC, (100_000, 100_000))))
resource.setrlimit(resource.RLIMIT_NPROC, (50, 50))      # the same wall, nearer: counted for this sandbox alone
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            time.sleep(3)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
show(made=made)
""")
    limit, storm = done.lines
    assert limit["limit"][1] <= 8192 and limit["raised"] == "ValueError", limit
    assert 30 <= storm["made"] < 50, storm


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors(bench, echo, closed):
    """The next file to be opened would get their numbers: messages would be printed into the audit log."""
    bench.config()
    bench.own()
    command = bench.argv("getent hosts evil.test; getent hosts more.evil.test; ls -l /proc/self/fd > seen; true")
    done = subprocess.run(["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command], cwd=bench.ws,
                          env=bench.environment(), capture_output=True, timeout=20, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done
    assert bench.verify().returncode == 0
    assert len([r for r in bench.records() if r["type"] == "dns"]) >= 2, bench.records()
    assert "socket" not in (bench.ws / "seen").read_text() and "jsonl" not in (bench.ws / "seen").read_text()


def test_whoever_reads_the_messages_may_go_away(bench, echo):
    """A broken stderr is no reason to die of SIGPIPE without the last records."""
    bench.config()
    reads, writes = os.pipe()
    os.close(reads)
    running = bench.start("getent hosts evil.test; curl -sS https://api.test/ok", stderr=writes)
    os.close(writes)
    out, _ = running.communicate(timeout=15)
    assert running.returncode == 0 and out == b"ok", (running.returncode, out)
    bench.check_end()
    assert bench.records()[-1]["type"] == "checkpoint", bench.records()[-1]
