"""What one sandbox may take of the machine: each limit is really provoked, as root by control groups, as an ordinary user
by what does without them."""

import os
import subprocess
import time

import pytest

from support.bench import PYTHON
from support.daemon import Daemon
from support.marks import both_users
from support.terminal import Terminal

MB = 1024 * 1024


def limits(done, state=None):
    return {r["name"]: r for r in done.records
            if r["type"] == "limit" and (state is None or r["state"] == state)}


def mechanism(bench, by_group, otherwise):
    """As root this machine's version 1 hierarchies can be written; an ordinary user's cannot."""
    return by_group if bench.user is None and os.geteuid() == 0 else otherwise


def py(bench, name, text, args, **more):
    bench.write(name, text)
    return bench.run([PYTHON, "-B", name], args=args, **more)


def groups_of(is_wanted):
    """Control groups of runs, by the process id of their warder, which their names end in."""
    return [os.path.join(base, d) for base, dirs, _ in os.walk("/sys/fs/cgroup") for d in dirs
            if d.startswith("warder-") and is_wanted(int(d.rpartition("-")[2]))]


def groups_left():
    return groups_of(lambda pid: not os.path.exists(f"/proc/{pid}"))


HOG = f"""
import os, sys, time
for i in range(8):
    if os.fork() == 0:
        block = bytearray(os.urandom(1) * (40 * {MB}))
        time.sleep(30)
        os._exit(0)
time.sleep(20)
print("survived")
"""


@both_users
def test_memory_of_many_processes_together(bench, echo):
    done = py(bench, "hog.py", HOG, ["--memory", "200MiB"], timeout=60)
    how = mechanism(bench, "cgroup v1", "watcher")
    assert done.code == 137 and "survived" not in done.text, done
    assert f"warder: the command was ended: memory 200MiB ({how})" in done.error
    assert limits(done, "held")["memory"]["mechanism"] == how
    assert limits(done, "ended")["memory"]["used"] > 150 * MB
    assert not groups_left()


@both_users
def test_memory_files_count_as_memory(bench, echo):
    """attack: nothing is in any process's own memory, all in memfds and on /dev/shm."""
    done = py(bench, "hide.py", f"""
import os, time
files = []
for i in range(20):
    fd = os.memfd_create("x") if i % 2 else os.open(f"/dev/shm/{{i}}", os.O_CREAT | os.O_WRONLY)
    for _ in range(20): os.write(fd, b"x" * {MB})
    files.append(fd)
    time.sleep(0.1)
print("survived")
""", ["--memory", "150MiB"], timeout=60)
    assert done.code == 137 and "survived" not in done.text, done


@both_users
def test_memory_within_its_bound_is_left_alone(bench, echo):
    done = py(bench, "fine.py", f"""
import os, time
shared = bytearray(os.urandom(1) * (60 * {MB}))
for i in range(6):              # all of them share it
    if os.fork() == 0:
        time.sleep(1); os._exit(0)
time.sleep(1.2)
print("fine")
""", ["--memory", "200MiB"], timeout=60)
    assert done.code == 0 and "fine" in done.text, done


BOMB = """
import os, time
made = refused = 0
for i in range(200):
    try:
        if os.fork() == 0:
            time.sleep(3)
            os._exit(0)
        made += 1
    except OSError:
        refused += 1
print(made, refused)
"""


@both_users
def test_a_fork_bomb_stays_within_pids(bench, echo):
    neighbour = subprocess.Popen(bench.as_user(["sleep", "60"]))
    try:
        done = py(bench, "bomb.py", BOMB, ["--pids", "40"], timeout=60)
        made, refused = map(int, done.text.split())
        assert 30 <= made <= 40 and made + refused == 200, done
        how = mechanism(bench, "cgroup v1", "rlimit")
        assert limits(done, "held")["pids"]["mechanism"] == how
        if how != "rlimit":         # an rlimit counts no refusals
            assert f"a limit was reached: pids 40 ({how}): {refused} " in done.error, done
            assert limits(done, "reached")["pids"]["used"] == refused
        assert neighbour.poll() is None
        subprocess.run(bench.as_user(["true"]), check=True)     # others of that user may start processes
    finally:
        neighbour.kill()
        neighbour.wait()


@both_users
def test_pids_of_two_sandboxes_are_counted_apart(bench, echo):
    bench.write("bomb.py", BOMB)
    bench.config()
    text = (bench.ws / "t.yaml").read_text()
    bench.write("u.yaml", text.replace("audit/audit.jsonl", "audit/other.jsonl"))
    both = [bench.start([PYTHON, "-B", "bomb.py"], args=["--pids", "40"], config=config)
            for config in ("t.yaml", "u.yaml")]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert out and 30 <= int(out.split()[0]) <= 40, err
    bench.check_end()


@both_users
def test_cpus(bench, echo):
    spin = ["sh", "-c", "i=0; while [ $i -lt 4 ]; do (timeout 3 sh -c 'while :; do :; done') & "
            "i=$((i+1)); done; wait; cat /proc/self/stat > /dev/null; times"]
    if mechanism(bench, True, False):
        done = bench.run(spin, args=["--cpus", "0.5"], timeout=60)
        seconds = [word for word in done.text.split()[-2:]]
        used = sum(int(w.split("m")[0]) * 60 + float(w.split("m")[1].rstrip("s")) for w in seconds)
        assert used < 3, done       # of 3 s with 4 spinning: 1.5 s
        assert limits(done)["cpus"]["mechanism"] == "cgroup v1"
    else:
        done = bench.run("true", args=["--cpus", "0.5"], verify=False)
        assert done.code == 2 and "whole number" in done.error and "nothing was run" in done.error
        done = bench.run([PYTHON, "-c", """if True:
            import os
            print(len(os.sched_getaffinity(0)))
            try: os.sched_setaffinity(0, range(os.cpu_count())); print("widened")
            except PermissionError: print("refused")"""], args=["--cpus", "1"])
        assert done.text.split() == ["1", "refused"], done
        assert limits(done)["cpus"]["mechanism"] == "affinity"


@both_users
def test_file_size(bench, echo):
    done = bench.run("head -c 3000000 /dev/zero > /tmp/x; echo $?; stat -c %s /tmp/x",
                     args=["--file-size", "2MiB"])
    assert done.text.split() == ["153", str(2 * MB)], done      # SIGXFSZ
    done = bench.run("dd if=/dev/zero of=/tmp/x bs=1M count=2048 2>&1 | tail -1; stat -c %s /tmp/x",
                     args=["--file-size", "100MiB"])
    assert done.text.split()[-1] == str(100 * MB), done


@both_users
def test_open_files_and_core(bench, echo):
    done = bench.run("ulimit -n; ulimit -Hn; ulimit -c; ulimit -Hc", args=["--open-files", "64"])
    assert done.text.split() == ["64", "64", "0", "0"], done
    assert bench.run("ulimit -Hc").text.strip() == "0", "no core files without any limit either"


@both_users
def test_disk_is_one_bound_for_all_own_file_systems(bench, echo):
    done = bench.run("head -c 60M /dev/zero > /tmp/a; echo $?; df -B1 --output=size /tmp | tail -1",
                     args=["--disk", "50MiB"])
    assert done.text.split()[0] == "1" and int(done.text.split()[1]) == 50 * MB, done
    done = bench.run("for d in /tmp /var/tmp /dev/shm /home/sandbox; do head -c 20M /dev/zero > $d/a; "
                     "done; sleep 20; echo survived", args=["--disk", "50MiB"], timeout=60)
    assert done.code == 137 and "survived" not in done.text, done
    assert "warder: the command was ended: disk 50MiB (tmpfs)" in done.error


@both_users
def test_output(bench, echo):
    done = bench.run("seq 1000000; sleep 20; echo survived >&2", args=["--output", "1MiB"], timeout=60)
    assert done.code == 137 and len(done.out) == MB and b"survived" not in done.err, done.code
    assert done.text.startswith("1\n2\n3\n")
    assert "warder: the command was ended: output 1MiB (pipe)" in done.error
    done = bench.run("seq 100000; seq 100000 >&2; exit 3", args=["--output", "10MiB"], timeout=60)
    assert done.code == 3 and done.text.count("\n") == 100000, "what is within its bound comes whole"


def test_output_to_a_terminal_is_refused(bench, echo):
    bench.config()
    bench.own()
    term = Terminal(bench.argv("echo ran", args=["--output", "1MiB"]), bench.ws, bench.environment())
    bench.running.append(term.process)
    try:
        term.expect("output to a terminal is not counted")
        assert term.wait() == 2
    finally:
        term.close()


@both_users
def test_time(bench, echo):
    start = time.monotonic()
    done = bench.run("sleep 60", args=["--time", "1s"], timeout=40)
    assert done.code == 124 and time.monotonic() - start < 20, done
    assert "warder: the command was ended: time 1s (clock)" in done.error
    assert limits(done, "ended")["time"]["used"] == 1000
    done = bench.run("trap '' TERM; echo up; while :; do sleep 0.1; done", args=["--time", "1s"],
                     timeout=40)
    assert done.code == 124 and done.seconds > 5, "SIGTERM, then SIGKILL after the grace"


@both_users
def test_br_116_with_a_time_limit(bench, echo):
    done = bench.run("setsid sleep 1067 & (setsid sleep 1068 &); sleep 1069", args=["--time", "1s"],
                     timeout=40)
    assert done.code == 124, done


@both_users
def test_attack_out_of_the_group_and_over_the_limits(bench, echo):
    done = bench.run("test -e /sys/fs/cgroup; echo $?; grep -c cgroup /proc/mounts; "
                     "find / -name cgroup.procs 2>/dev/null | wc -l",
                     args=["--pids", "100", "--memory", "500MiB"])
    assert done.text.split() == ["1", "0", "0"], done
    done = bench.run([PYTHON, "-c", """if True:
        import resource
        for what in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE):
            soft, hard = resource.getrlimit(what)
            try: resource.setrlimit(what, (hard + 1, hard + 1)); print("raised")
            except (ValueError, OSError): print("kept")"""], args=["--pids", "100", "--open-files", "64"])
    assert done.text.split() == ["kept"] * 3, done


@both_users
def test_the_policy_says_it_and_a_flag_wins(bench, echo):
    path = bench.config()
    text = path.read_text().replace('"rules":', '"sandbox": {"open_files": 64, "time": "1s"}, "rules":', 1)
    path.write_text(text)
    done = bench.run("ulimit -n", args=["--time", "30s"])
    assert done.text.strip() == "64" and done.code == 0, done
    assert limits(done)["time"]["value"] == "30s"
    done = bench.warder_command("run", "--config", path, "--open-files", "99", "--print-config")
    assert "sandbox: {open_files: 99, time: 1s}" in done.text, done


@pytest.mark.parametrize("flag,value,part", [
    ("--memory", "2GB", "write a size with its unit"), ("--cpus", "0", "write a number of processors"),
    ("--cpus", "1,5", "decimals"), ("--pids", "-1", "write a number"), ("--time", "5", "write a time"),
    ("--disk", "1KiB", "1MiB")])
def test_what_is_no_limit_is_refused(bench, echo, flag, value, part):
    done = bench.run("touch ran", args=[f"{flag}={value}"], verify=False)
    assert done.code == 2 and part in done.error, done


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a control group")
def test_groups_of_a_killed_run_are_removed_by_the_next(bench, echo):
    process = bench.start("echo up; sleep 60", args=["--pids", "50", "--memory", "100MiB"])
    process.stdout.readline()
    assert len(groups_of(lambda pid: pid == process.pid)) == 2
    process.kill()
    process.wait(5)
    bench.check_end(verify=False)
    assert bench.run("true", args=["--pids", "50", "--memory", "100MiB"]).code == 0
    assert not groups_of(lambda pid: pid == process.pid)


def test_behind_a_gateway(bench, echo):
    """The gateway's policy says it, a flag wins, and the gateway records it."""
    path = bench.config()
    path.write_text(path.read_text().replace(
        '"rules":', '"sandbox": {"open_files": 64, "time": "20s"}, "rules":', 1))
    with Daemon(bench, [], config=path) as gateway:
        done = bench.run("ulimit -n; sleep 60", policy=None, config=None, verify=False, timeout=40,
                         args=["--gateway", gateway.directory / "admin.sock", "--time", "1s"])
        assert done.code == 124 and done.text.strip() == "64", done
        ended = [r for r in gateway.records("limit", 3) if r["state"] == "ended"]
    assert [(r["name"], r["value"]) for r in ended] == [("time", "1s")]
