"""What ran: every execution, how it ended, what it changed, and whose session it was."""

import os
import re
import signal
import subprocess
import time

from support.bench import MINE, PYTHON, mine
from support.daemon import Daemon
from support.marks import both_users


def of(records, kind):
    return [r for r in records if r["type"] == kind]


def execs(done):
    return of(done.records, "exec")


def named(done, name):
    return [r for r in execs(done) if os.path.basename(r["path"]) == name]


def exit_of(done, record):
    found = [r for r in of(done.records, "exit") if r["exec"] == record["exec"]]
    assert len(found) == 1, (record, found)
    assert found[0]["pid"] == record["pid"]
    return found[0]


def sums(done):
    end, = of(done.records, "session_end")
    return end


@both_users
def test_a_pipeline_who_ran_what_and_how_it_ended(bench):
    done = bench.run("echo one | cat | grep -q two; /bin/sh -c 'exit 7'; /bin/sh -c 'kill -9 $$'; "
                     "exit 5")
    assert done.code == 5, done
    start, = of(done.records, "session_start")
    first = execs(done)[0]
    assert first["argv"] == start["command"] and first["cwd"] == str(bench.ws), (first, start)
    assert first["told_by"] == "launcher" and first["exec"] == 1
    cat, = named(done, "cat")
    grep, = named(done, "grep")
    assert grep["argv"] == ["grep", "-q", "two"] and grep["cwd"] == str(bench.ws)
    assert cat["parent"] == first["pid"], (cat, first)
    assert exit_of(done, cat)["exit_code"] == 0
    assert exit_of(done, first)["exit_code"] == 5
    inner = [r for r in named(done, "sh") if r["exec"] != 1]
    ends = {r["argv"][-1]: exit_of(done, r) for r in inner}
    if ends["exit 7"]["exit_code"] != -1:      # Linux 6.15 tells the codes of others' children
        assert ends["exit 7"]["exit_code"] == 7
        assert (ends["kill -9 $$"]["exit_code"], ends["kill -9 $$"]["signal"]) == (137, 9), ends
    end = sums(done)
    assert (end["ended"], end["exit_code"], end["execs"]) == ("exit", 5, len(execs(done))), end


@both_users
def test_the_session_says_whose_it_was(bench):
    done = bench.run("true")
    start, = of(done.records, "session_start")
    assert start["uid"] == (bench.user.uid if bench.user else os.getuid()), start
    assert start["host"] == os.uname().nodename and start["cwd"] == str(bench.ws)
    config = subprocess.run(["sha256sum", bench.ws / "t.yaml"], capture_output=True, text=True)
    assert start["config_sha256"] == config.stdout.split()[0]
    assert start["kernel"] == f"Linux {os.uname().release}" and start["profile"] == ""


def test_a_command_that_a_signal_ended_is_told_from_a_code(bench):
    assert sums(bench.run("kill -TERM $$"))["ended"] == "signal"


def test_a_script_is_named_and_not_its_interpreter(bench):
    bench.write("tool.sh", "#!/bin/sh\nexit 3\n", 0o755)
    done = bench.run("./tool.sh an-argument")
    script, = named(done, "tool.sh")
    assert script["path"] == "./tool.sh" and script["argv"] == ["./tool.sh", "an-argument"]


def test_what_is_not_there_is_counted_and_not_recorded(bench):
    done = bench.run("no-such-tool; env no-such-tool-2; ./missing/tool; exit 0")
    assert "not found" in done.error and "No such file" in done.error, done
    assert not [r for r in execs(done) if "no-such" in r["path"] or "missing" in r["path"]]
    assert sums(done)["missing_execs"] >= 2, sums(done)


def test_what_is_there_and_cannot_be_executed_is_recorded(bench):
    bench.write("plain.txt", "text")
    done = bench.run(f"{PYTHON} -c \"import os\ntry: os.execv('plain.txt', ['plain.txt'])\n"
                     "except PermissionError: print('refused')\"")
    assert "refused" in done.text, done
    assert len(named(done, "plain.txt")) == 1


def test_by_descriptor_through_proc_and_from_a_thread(bench):
    done = bench.python("""
import os, threading
# What /proc/self leads to is another thing for the first process, which must not say that it is missing.
fd = os.dup2(os.open('/bin/true', os.O_RDONLY), 700)
os.symlink('/proc/self/fd', '/tmp/mine')
for how in ('fd', 'proc', 'link', 'cwd'):
    child = os.fork()
    if child == 0:
        if how == 'fd':
            os.execve(fd, ['by-' + how], {})
        os.set_inheritable(fd, True)
        os.chdir('/usr/bin')
        os.execv({'proc': f'/proc/self/fd/{fd}', 'link': f'/tmp/mine/{fd}',
                  'cwd': '/proc/self/cwd/true'}[how], ['by-' + how])
    print(os.waitpid(child, 0)[1])
child = os.fork()
if child == 0:
    threading.Thread(target=lambda: os.execv('/bin/true', ['by-thread', str(os.getpid())])).start()
    threading.Event().wait()
print(os.waitpid(child, 0)[1])
""", creates=("client.py", "wire.py"))
    assert done.text.split() == ["0"] * 5, done
    by = {r["argv"][0]: r for r in execs(done)}
    assert by["by-fd"]["path"].endswith("/true"), by
    assert by["by-proc"]["path"].startswith("/proc/self/fd/"), by
    assert by["by-thread"]["argv"][1] == str(by["by-thread"]["pid"]), by["by-thread"]


LOOP = """
import os, sys, time
t = time.monotonic()
for i in range(2000):
    child = os.posix_spawn('/bin/true', ['true'] + [str(i)] * int(sys.argv[1]), {})
    os.waitpid(child, 0)
print((time.monotonic() - t) / 2000 * 1e6)
"""


def test_2000_different_ones_are_all_recorded(bench):
    done = bench.python(LOOP, 1, creates=("client.py", "wire.py"), timeout=120)
    outside = subprocess.run([PYTHON, bench.ws / "client.py", "1"], capture_output=True, text=True,
                             env={"PYTHONPATH": str(bench.ws)}, check=True)
    print(f"one execution: {float(done.text):.0f} us inside, {float(outside.stdout):.0f} us outside")
    found = named(done, "true")
    assert sorted(int(r["argv"][1]) for r in found) == list(range(2000))
    assert {exit_of(done, r)["exit_code"] for r in found[:20]} <= {0, -1}
    assert sums(done)["execs"] == len(execs(done))


def test_2000_equal_ones_are_few_records_and_the_right_sum(bench):
    done = bench.python(LOOP, 0, creates=("client.py", "wire.py"), timeout=120)
    found = named(done, "true")
    assert sum(r["count"] for r in found) == 2000, found
    assert any(r["note"] == "repeated" and r["count"] > 1 for r in found), found[-3:]
    assert sums(done)["execs"] == 2001


def test_a_placeholder_in_an_argument_is_named_and_a_credential_is_left_out(bench):
    token = "ghp_" + "a1B2" * 9
    done = bench.run(f'/bin/true "key=$API_TOKEN" {token}; {MINE}')
    record, = named(done, "true")
    assert record["argv"][1] == "key=[secret:tok]", record
    assert mine(done) not in bench.audit.read_text()


def test_attack_arguments_write_no_line_of_their_own(bench):
    forged = '\\n{"v":1,"seq":1,"type":"close"}\\r\\033[2J\\342\\200\\256\\377\\200'
    done = bench.run(f"/bin/true \"$(printf '{forged}')\"")
    record, = named(done, "true")
    assert "\n{" in record["argv"][1] and "\ufffd" in record["argv"][1], record
    raw = bench.audit.read_bytes()
    assert raw.count(b"\n") == len(raw.splitlines()) == len(done.records)
    assert b"\x1b" not in raw and "\u202e".encode() not in raw


def test_long_and_many_arguments_are_cut_visibly(bench):
    done = bench.run("/bin/true $(seq 1 3000); /bin/true $(head -c 100000 /dev/zero | tr '\\0' x); "
                     "true")
    many, long = named(done, "true")
    assert many["left_out"] > 2000, many
    assert re.search(r"…\[\+\d+\]$", long["argv"][1]), long


def test_a_process_that_is_closed_to_others_is_recorded_all_the_same(bench):
    done = bench.python("""
import ctypes, os
child = os.fork()
if child == 0:
    ctypes.CDLL(None).prctl(4, 0)          # PR_SET_DUMPABLE
    os.execv('/bin/true', ['true', 'unseen'])
print(os.waitpid(child, 0)[1])
""", creates=("client.py", "wire.py"))
    assert done.text.strip() == "0", done
    closed = [r for r in execs(done) if r["note"] == "unread"]
    assert len(closed) == 1 and closed[0]["argv"] == [], execs(done)


def test_attack_an_argv_that_nobody_aligned_is_read(bench):
    """Its first pointer lies across two pages: the kernel takes that, and so do we."""
    done = bench.python("""
import ctypes, mmap, os
pages = mmap.mmap(-1, 8192)
base = ctypes.addressof(ctypes.c_char.from_buffer(pages))
texts = [ctypes.create_string_buffer(text) for text in (b'true', b'unaligned')]
argv = b''.join(ctypes.addressof(text).to_bytes(8, 'little') for text in texts) + bytes(8)
ctypes.memmove(base + 4096 - 4, argv, len(argv))
child = os.fork()
if child == 0:
    ctypes.CDLL(None).execve(b'/bin/true', ctypes.c_void_p(base + 4096 - 4), None)
print(os.waitpid(child, 0)[1])
""", creates=("client.py", "wire.py"))
    assert done.text.strip() == "0", done
    assert [(r["argv"], r["note"]) for r in named(done, "true")] == [(["true", "unaligned"], "")]


def test_attack_the_first_process_keeps_its_limits(bench):
    """It has CMD's uid: with no file to open, it could not say who executed what, and how that ended."""
    done = bench.python("""
import os, resource, subprocess
try:
    resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))
    print('taken')
except PermissionError:
    print('refused')
resource.prlimit(os.getpid(), resource.RLIMIT_CORE, (0, 0))
subprocess.run(['/bin/sh', '-c', 'exec /bin/true after'])
""", creates=("client.py", "wire.py"))
    assert done.text.strip() == "refused", done
    after, = named(done, "true")
    assert after["parent"] == execs(done)[0]["pid"] and exit_of(done, after), after


def test_processes_that_are_killed_while_they_wait_hold_nothing_up(bench):
    done = bench.python("""
import os, random, signal, time
for i in range(300):
    child = os.fork()
    if child == 0:
        os.execv('/bin/sleep', ['sleep', '30'])
    time.sleep(random.random() / 3000)
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
print('whole', os.system('exit 4') >> 8)
""", creates=("client.py", "wire.py"), timeout=60)
    assert done.text.strip() == "whole 4", done


def test_kill_9_leaves_what_had_begun(bench):
    process = bench.start("/bin/sleep 77 & echo up; wait")
    assert process.stdout.readline() == b"up\n"
    deadline = time.monotonic() + 20
    while not any(r["type"] == "exec" and r["path"] == "/bin/sleep" for r in bench.records()):
        assert time.monotonic() < deadline, bench.records()
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    bench.check_end(verify=False)
    assert any(r.get("path") == "/bin/sleep" for r in bench.records())


def test_files_created_changed_removed_and_mode(bench):
    for name in ("kept", "changed", "removed", "mode"):
        bench.write(name, "before")
    bench.config()
    done = bench.run("echo after > changed; rm removed; chmod 700 mode; mkdir d; echo x > d/new; "
                     "echo y > \"$(printf 'odd\\nname')\"",
                     creates=("d", "d/new", "odd\nname"))
    record, = of(done.records, "files")
    assert {c["name"]: c["change"] for c in record["changes"]} == {
        "changed": "changed", "removed": "removed", "mode": "mode", "d": "created",
        "d/new": "created", "odd\nname": "created"}, record
    assert (record["more"], record["note"], record["told_by"]) == (0, "", "launcher")
    assert sums(done)["files"] == 6


ATTACK = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
print('own', sorted(os.listdir('/proc/self/fd')))
try:
    print('init', os.listdir('/proc/1/fd'))
except PermissionError:
    print('init closed')
pidfd = os.pidfd_open(1)
for fd in range(64):
    if libc.syscall(438, pidfd, fd, 0) >= 0:      # pidfd_getfd
        print('STOLEN', fd)
if libc.ptrace(16, 1, 0, 0) == 0:                 # PTRACE_ATTACH
    print('TRACED')
for number in (19, 9, 15):                        # SIGSTOP, SIGKILL, SIGTERM
    try:
        os.kill(1, number)
    except PermissionError:
        pass
print('then', os.system('exit 6') >> 8)
"""


def test_attack_the_first_process_keeps_what_it_holds(bench):
    bench.write("attack.py", ATTACK)
    # SIGTERM goes on to CMD, which ignores it here.
    done = bench.run(f"trap '' TERM; {PYTHON} -B attack.py", creates=("attack.py",))
    assert "STOLEN" not in done.text and "TRACED" not in done.text, done
    assert "init closed" in done.text and "then 6" in done.text, done
    # Standard streams, and the directory that is being listed.
    assert re.search(r"own \['0', '1', '2', '3'\]", done.text), done
    assert named(done, "sh"), done.records


def test_ptrace_inside_still_works(bench):
    done = bench.python("""
import ctypes, os
libc = ctypes.CDLL(None)
child = os.fork()
if child == 0:
    libc.ptrace(0, 0, 0, 0)                       # PTRACE_TRACEME
    os.execv('/bin/sh', ['sh', '-c', 'exit 9'])
pid, status = os.waitpid(child, 0)
print(os.WIFSTOPPED(status), os.WSTOPSIG(status))
libc.ptrace(7, child, 0, 0)                       # PTRACE_CONT
print(os.waitpid(child, 0)[1] >> 8)
""", creates=("client.py", "wire.py"))
    assert done.text.split() == ["True", "5", "9"], done


def test_a_run_behind_a_gateway_tells_the_gateway(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        done = bench.run('/bin/true "key=$API_TOKEN"; touch made; exit 4', policy=None, config=None,
                         args=("--gateway", str(gateway.directory / "admin.sock")), verify=False,
                         env={"REAL_TOKEN": None}, creates=("made",))
        assert done.code == 4, done
        end = gateway.records("session_end", 1)[-1]
        assert (end["ended"], end["exit_code"], end["files"]) == ("exit", 4, 1), end
        ran = [r for r in bench.records() if r.get("path") == "/bin/true"]
        assert [(r["argv"][1], r["told_by"]) for r in ran] == [("key=[secret:tok]", "runner")], ran
        files = gateway.records("files", 1)[-1]
        assert (files["changes"], files["told_by"]) == (
            [{"name": "made", "change": "created"}], "runner")
        start = [r for r in bench.records() if r["type"] == "session_start"][-1]
        assert start["uid"] == os.getuid() and start["cwd"] == str(bench.ws)
    assert bench.verify().returncode == 0
