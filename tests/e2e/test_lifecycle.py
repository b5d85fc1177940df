"""Beginning and ending: signals, terminals, crashes, many at once; nothing is ever left behind."""

import hashlib
import os
import signal
import subprocess
import time

import pytest

from support import oracles, processes
from support.bench import BEARER, MINE, SECRET, Result, mine
from support.marks import both_users
from support.terminal import Terminal


@pytest.fixture
def terminal(bench):
    """Opens CMD under warder on a terminal."""
    opened = []

    def start(cmd, **size):
        if not (bench.ws / "t.yaml").exists():
            bench.config()
        bench.own()
        bench.before, bench.known = oracles.tree(bench.ws), processes.children(os.getpid())
        term = Terminal(bench.argv(cmd), bench.ws, bench.environment({"PS1": "$ "}), **size)
        bench.running.append(term.process)
        opened.append(term)
        return term
    yield start
    for term in opened:
        term.close()


# -- signals ---------------------------------------------------------------------------------------
@both_users
def test_ctrl_c_leaves_nothing(bench, echo, terminal):
    term = terminal("echo up; exec sleep 60")   # dash may lose a Ctrl-C while it forks, anywhere
    term.expect("up")
    start = time.monotonic()
    term.send(b"\x03")
    assert term.wait() == 130
    assert time.monotonic() - start < 3
    bench.check_end()


@both_users
@pytest.mark.parametrize("number,code", [(signal.SIGTERM, 143), (signal.SIGHUP, 129),
                                         (signal.SIGINT, 130)])
def test_signals_to_warder_reach_cmd(bench, echo, number, code):
    process = bench.start(f"trap 'echo got it; exit 9' {number.value}; echo up; "
                          "while :; do sleep 0.05; done")
    assert process.stdout.readline() == b"up\n"
    process.send_signal(number)
    assert process.stdout.readline() == b"got it\n"
    assert process.wait(5) == 9
    bench.check_end()
    process = bench.start("echo up; exec sleep 60")
    process.stdout.readline()
    process.send_signal(number)
    assert process.wait(5) == code
    bench.check_end()


def test_sigterm_to_a_cmd_that_ignores_it_ends_all_the_same(bench, echo):
    process = bench.start("trap '' TERM; echo up; while :; do sleep 0.1; done")
    process.stdout.readline()
    process.terminate()
    time.sleep(0.3)
    process.terminate()
    assert process.wait(20) != 0
    bench.check_end()


@both_users
def test_kill_9_of_warder_kills_the_whole_tree(bench, echo):
    """The gateway's death leaves no process, and so no network either."""
    process = bench.start("sleep 61 & setsid sleep 62 & (trap '' HUP TERM INT; sleep 63) & "
                          "echo up; wait")
    process.stdout.readline()
    tree = processes.descendants(process.pid)
    assert len(tree) >= 3, tree
    process.kill()
    process.wait(5)
    deadline = time.monotonic() + 2
    alive = tree
    while alive and time.monotonic() < deadline:
        alive = {p for p in alive if os.path.exists(f"/proc/{p}") and
                 open(f"/proc/{p}/stat").read().rpartition(")")[2].split()[0] != "Z"}
        time.sleep(0.02)
    assert not alive, [processes.command(p) for p in alive]
    bench.check_end(verify=False)
    done = bench.run("echo again")
    assert done.text == "again\n", done
    assert bench.verify().returncode == 0, "a restart after a crash repairs the log"


def test_the_sandbox_helper_dies_and_nothing_hangs(bench, echo):
    """kill -9 of warder's direct child: the run ends at once, and no descendant survives."""
    process = bench.start("echo up; sleep 60")
    process.stdout.readline()
    for child in processes.children(process.pid):
        os.kill(child, signal.SIGKILL)
    assert process.wait(5) != 0
    bench.check_end()


@both_users
def test_background_descendants_die_with_cmd(bench, echo):
    start = time.monotonic()
    done = bench.run("sleep 64 >/dev/null 2>&1 & setsid sleep 65 >/dev/null 2>&1 & "
                     "(setsid sh -c 'sleep 66 >/dev/null 2>&1 &' &) ; echo done")
    assert done.text == "done\n" and done.code == 0, done
    assert time.monotonic() - start < 5


def test_zombies_are_reaped_inside(bench, echo):
    done = bench.run("for i in 1 2 3 4 5; do (setsid sh -c 'sleep 0.05' &) ; done; sleep 0.6; "
                     "grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null | wc -l")
    assert done.text.strip() == "0", done


# -- pipes and terminals ---------------------------------------------------------------------------
@both_users
def test_ten_megabytes_through_stdin_and_stdout(bench, echo):
    data = hashlib.sha256(b"seed").digest() * (10 * 1024 * 1024 // 32)
    done = bench.run(["cat"], stdin=data)
    assert done.out == data and done.code == 0
    done = bench.run("sha256sum; echo on stderr >&2", stdin=data)
    assert hashlib.sha256(data).hexdigest() in done.text and "on stderr" in done.error


def test_stdin_eof_and_a_closed_reader(bench, echo):
    assert bench.run("cat; echo end", stdin=b"").text == "end\n"
    bench.config()
    bench.own()
    line = " ".join(f"'{a}'" for a in bench.argv(["yes"]))
    done = subprocess.run(["sh", "-c", f"{line} | head -1"], cwd=bench.ws, env=bench.environment(),
                          capture_output=True, timeout=10)
    assert done.stdout == b"y\n", done


@both_users
def test_br115_interactive_shell(bench, echo, terminal):
    """BR-115: job control, Ctrl-C for the foreground job only, Ctrl-Z and fg, size, modes."""
    term = terminal(["/bin/bash", "--norc", "-i"], rows=33, cols=101)
    term.expect(r"\$ ")
    assert b"job control" not in term.seen
    term.send("tty >/dev/null && echo is$((1))tty\n")
    term.expect("is1tty")
    term.send("stty size\n")
    term.expect("33 101")
    term.resize(40, 120)
    term.send("sleep 0.2; stty size\n")
    term.expect("40 120")
    term.send("sleep 100\n")
    time.sleep(0.4)
    term.send(b"\x03")
    term.send("echo code=$?\n")
    term.expect("code=130")
    term.send("sleep 101\n")
    time.sleep(0.4)
    term.send(b"\x1a")
    term.expect("Stopped")
    term.send("jobs; fg\n")
    term.expect("sleep 101")
    time.sleep(0.3)
    term.send(b"\x03")
    term.send("echo back$((2))\n")
    term.expect("back2")
    term.send("exit 5\n")
    assert term.wait() == 5
    assert term.modes()[:4] == term.before[:4]
    bench.check_end()


def test_br115_no_complaint_of_a_shell_without_input(bench, echo, terminal):
    term = terminal(["/bin/sh", "-i", "-c", "exec </dev/null; printf works"])
    term.expect("works")
    assert term.wait() == 0
    bench.check_end()


def test_ctrl_z_stops_the_run_and_fg_continues_it(bench, echo):
    """warder itself as a job of the user's shell."""
    bench.config()
    bench.own()
    bench.before, bench.known = oracles.tree(bench.ws), processes.children(os.getpid())
    shell = Terminal(["/bin/bash", "--norc", "-i"], bench.ws, bench.environment({"PS1": "$ "}))
    bench.running.append(shell.process)
    try:
        shell.expect(r"\$ ")
        shell.send(" ".join(f"'{a}'" for a in bench.argv("echo up; sleep 2; echo finished")) + "\n")
        shell.expect("up\r")
        time.sleep(0.4)             # a stop in the middle of dash's vfork hangs dash, anywhere
        shell.send(b"\x1a")
        shell.expect("Stopped")
        shell.send("echo pro$((1))mpt\n")
        shell.expect("pro1mpt")
        shell.send("fg\n")
        shell.expect("finished\r", 10)
        shell.send("exit\n")
        shell.wait()
    finally:
        shell.close()
    bench.check_end()


SIGNAL_THE_GROUP = """
import os, signal
signal.signal(signal.SIGUSR2, lambda *_: print('mine', flush=True))
for what in (lambda: os.kill(0, signal.SIGUSR2), lambda: os.setpriority(os.PRIO_PGRP, 0, 19)):
    try:
        what()
        print('done', flush=True)
    except PermissionError:
        print('refused', flush=True)
"""


@both_users
def test_attack_a_signal_to_the_own_group_stays_inside(bench, echo):
    """Without a terminal the group is CMD's own: who started warder, in the same script, hears nothing."""
    bench.write("group.py", SIGNAL_THE_GROUP)
    bench.config()
    bench.own()
    line = " ".join(f"'{a}'" for a in bench.argv(["/usr/bin/python3", "-B", "group.py"]))
    done = subprocess.run(["setsid", "-w", "sh", "-c", f"{line}; echo \"after $? $(nice)\""], cwd=bench.ws,
                          env=bench.environment(), capture_output=True, timeout=30)
    assert done.stdout == b"mine\ndone\ndone\nafter 0 0\n", done


@both_users
def test_attack_a_pipeline_at_a_terminal_is_not_signalled(bench, echo):
    """There the group is the whole job's, for Ctrl-C: from inside it cannot be named."""
    bench.write("group.py", SIGNAL_THE_GROUP)
    bench.config()
    bench.own()
    bench.before, bench.known = oracles.tree(bench.ws), processes.children(os.getpid())
    shell = Terminal(["/bin/bash", "--norc", "-i"], bench.ws, bench.environment({"PS1": "$ "}))
    bench.running.append(shell.process)
    try:
        shell.expect(r"\$ ")
        line = " ".join(f"'{a}'" for a in bench.argv(["/usr/bin/python3", "-B", "group.py"]))
        shell.send(f"{line} | (cat; echo read$((1)) $(nice))\n")
        shell.expect("refused\r\nrefused\r\nread1 0\r", 20)
        shell.send("exit\n")
        shell.wait()
    finally:
        shell.close()
    bench.check_end()


def test_attack_what_a_stopped_command_left_running_stops_too(bench, echo):
    """While the job is stopped nobody looks at its limits: it cannot go on in a session of its own."""
    bench.write("stops.py", """
import ctypes, os, signal, time
print('up', flush=True)
parent, libc = os.getpid(), ctypes.CDLL(None)
info = (ctypes.c_int * 32)(signal.SIGCONT, 0, -1, 0, 0, 0, 1)      # SI_QUEUE, of process 0
pidfd = libc.syscall(434, 1, 0)
for how in range(4):
    if os.fork() == 0:
        os.setsid()
        while os.getppid() == parent:
            if how == 1:
                os.kill(1, signal.SIGCONT)
            elif how == 2:
                libc.syscall(129, 1, signal.SIGCONT, info)
            elif how == 3:
                libc.syscall(424, pidfd, signal.SIGCONT, info, 0)
            else:
                print('tick', flush=True)
                time.sleep(0.1)
        os._exit(0)
time.sleep(1)
os.kill(parent, signal.SIGSTOP)
print('finished', flush=True)
""")
    bench.config()
    bench.own()
    bench.before, bench.known = oracles.tree(bench.ws), processes.children(os.getpid())
    shell = Terminal(["/bin/bash", "--norc", "-i"], bench.ws, bench.environment({"PS1": "$ "}))
    bench.running.append(shell.process)
    try:
        shell.expect(r"\$ ")
        line = " ".join(f"'{a}'" for a in bench.argv(["/usr/bin/python3", "-B", "stops.py"]))
        shell.send(line + "\n")
        shell.expect("Stopped", 20)
        time.sleep(1)
        shell.send("echo pro$((1))mpt\n")
        shell.expect("pro1mpt\r")
        time.sleep(3)
        shell.send("echo pro$((2))mpt\n")
        between = shell.expect(r"([\s\S]*)pro2mpt\r")[1]
        assert b"tick" not in between and b"finished" not in between, between
        shell.send("fg\n")
        shell.expect("finished\r", 20)
        shell.send("exit\n")
        shell.wait()
    finally:
        shell.close()
    bench.check_end()


def test_the_sandbox_cannot_type_into_the_users_terminal(bench, echo, terminal):
    """TIOCSTI would put a command into the shell that the user returns to."""
    bench.write("client.py", "import fcntl, termios, sys\n"
                "try:\n    fcntl.ioctl(0, termios.TIOCSTI, b'x'); print('typed')\n"
                "except OSError as error:\n    print('refused', error.errno)\n")
    term = terminal(["/usr/bin/python3", "-B", "client.py"])
    assert b"refused" in term.expect("(typed|refused)")[0]
    term.wait()
    bench.check_end()


# -- many ------------------------------------------------------------------------------------------
@both_users
def test_two_runs_at_once_do_not_meet(bench, echo):
    """Each has its own names, placeholders and localhost; both use the same workspace."""
    bench.config(gateway={"upstream": bench.gateway()["upstream"]})
    ask = f"curl -sS {BEARER} https://api.test/whoami"
    cmd = f"{ask}; sleep 0.5; {ask}; {MINE}"
    first, second = bench.start(cmd), bench.start(cmd)
    outputs = [p.communicate(timeout=20)[0].decode() for p in (first, second)]
    tokens = []
    for text in outputs:
        token = text.split("mine ")[1].strip()
        assert text.count(f"you are {token}\n") == 2, text
        tokens.append(token)
    assert tokens[0] != tokens[1]
    assert [r.get("authorization") for r in echo.requests] == [f"Bearer {SECRET}"] * 4
    bench.check_end(Result(0, "".join(outputs).encode(), b"", 0))


def test_a_placeholder_of_another_run_is_refused(bench, echo):
    token = bench.run('echo "$API_TOKEN"').text.strip()
    done = bench.run(f'curl -sS -i -H "Authorization: Bearer {token}" https://api.test/ok')
    assert " 403 " in done.text.split("\n")[0], done
    assert echo.requests == []


def test_two_hundred_requests_one_after_the_other(bench, echo):
    done = bench.python("""
start = time.monotonic()
wire = Wire()
for i in range(150):
    wire.send(f"GET /sized/{i} HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
    reply = wire.reply()
    assert reply.status == 200 and len(reply.body) == i, reply.summary()
for i in range(50):
    assert fetch("/whoami", headers=AUTH).body.decode() == f"you are {TOKEN}\\n"
show(seconds=time.monotonic() - start)
""")
    assert done.code == 0 and done.lines[0]["seconds"] < 30, done
    assert len(echo.requests) == 200
    numbers = [r["seq"] for r in done.records if "seq" in r]
    assert numbers == list(range(len(numbers))), "the audit has gaps"
    assert len([r for r in done.records if r.get("decision") == "allow"]) == 200


def test_forty_connections_at_once(bench, echo):
    done = bench.python("""
import threading
got = []
def one(i):
    got.append(attempt(lambda: len(fetch(f"/chunked/{100000 + i}", headers=AUTH).body) - i))
threads = [threading.Thread(target=one, args=(i,)) for i in range(40)]
[t.start() for t in threads]
[t.join() for t in threads]
show(got=got)
""", timeout=60)
    assert done.lines == [{"got": [100000] * 40}], done
