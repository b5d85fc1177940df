"""Ends a run at one chosen system call, by strace's tampering, and says what it left behind."""

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from . import oracles, processes

# What strace counts and stops at. Reading and memory change nothing outside; all else might.
CALLS = ("?clone,?clone3,?fork,?vfork,?unshare,?setns,?execve,?mount,?umount2,?pivot_root,?open_tree,"
         "?move_mount,?mount_setattr,?mkdir,?mkdirat,?rmdir,?unlink,?unlinkat,?symlink,?rename,?chmod,"
         "?fchmod,?openat,?open,?creat,?write,?writev,?pwrite64,?sendfile,?memfd_create,?close,?pipe2,"
         "?socket,?socketpair,?bind,?listen,?sendmsg,?sendto,?recvmsg,?recvfrom,?connect,?setsockopt,"
         "?dup,?dup2,?fcntl,?prctl,?capset,?setresuid,?setresgid,?setgroups,?setsid,?setrlimit,"
         "?prlimit64,?seccomp,?eventfd2,?signalfd4,?wait4,?waitid,?poll,?ppoll,?kill,?fsync,"
         "?fdatasync,?flock,?chdir,?exit_group")
HOST_MOUNTS = "/proc/self/mountinfo"


def steps(log: Path) -> list:
    """(call, its number within its process) in the order in which they were reached."""
    seen, found, counts = set(), [], Counter()
    for line in log.read_text("utf-8", "replace").splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)       # "12345 openat(…"; not "<... resumed>"
        if not match:
            continue
        counts[match.groups()] += 1
        step = (match[2], counts[match.groups()])
        if step not in seen:
            seen.add(step)
            found.append(step)
    return found


def evenly(items: list, most: int) -> list:
    if len(items) <= most:
        return items
    return [items[i * len(items) // most] for i in range(most)]


def host_state(directory: Path, user) -> dict:
    """What a run must not change: by its names, since other work goes on on this machine."""
    def ours(entry):
        if str(directory).startswith(entry.path):
            return False
        try:
            return (user and entry.stat(follow_symlinks=False).st_uid == user.uid) or \
                re.match(r"\.?warder-(?!e2e|test-)", entry.name)
        except OSError:
            return False
    def warders(top):
        return {os.path.join(base, name) for base, names, _ in os.walk(top) for name in names
                if name.startswith("warder-")}
    places = [Path(p) for p in ("/tmp", "/var/tmp", "/dev/shm", "/run")]
    return {"mounts": {line.split()[4] for line in open(HOST_MOUNTS)
                       if "warder" in line and "warder-e2e" not in line},
            "cgroups": {c for c in warders("/sys/fs/cgroup") if directory.name in c},
            "files": {e.path for p in places if p.is_dir() for e in os.scandir(p) if ours(e)}}


class Killer:
    """Runs of `warder run` in a bench, each ended at a step of `who`: "warder" or "sandbox"."""

    def __init__(self, bench, who: str):
        self.bench, self.who = bench, who
        bench.config(rules=[], grants=[], secrets={}, gateway={"audit": {"file": "audit/audit.jsonl"}})
        if who == "sandbox":
            self._wrap()
        bench.own()
        self.tree = oracles.tree(bench.ws)
        self.known = processes.children(os.getpid())
        self.host = host_state(bench.directory, bench.user)
        self.log = bench.directory / "strace.log"

    def _wrap(self):
        """Another directory of executables, whose warder-sandbox starts the real one under strace.
        -D: the traced process stays warder's own child, and the tracer is nobody's parent."""
        real, wrapped = self.bench.build, self.bench.directory / "wrapped"
        wrapped.mkdir()
        shutil.copy2(real / "warder", wrapped / "warder")
        (wrapped / "warder-sandbox").write_text(
            "#!/bin/sh\n"
            f"exec strace -D -f -qq $(cat {self.bench.directory}/tamper) {real}/warder-sandbox "
            '"$@"\n')
        (wrapped / "warder-sandbox").chmod(0o755)
        self.bench.build = wrapped

    def start(self, tamper: list, cmd=("/bin/true",)) -> subprocess.Popen:
        bench = self.bench
        argv = bench.argv(list(cmd))
        if self.who == "warder":
            at = argv.index(bench.warder)
            argv[at:at] = ["strace", "-f", "-qq", *tamper]
        else:
            (bench.directory / "tamper").write_text(" ".join(tamper))
        return subprocess.Popen(argv, cwd=bench.ws, env=bench.environment(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def all_steps(self) -> list:
        """Of a run that nothing happens to."""
        process = self.start(["-o", str(self.log), "-e", f"trace={CALLS}"])
        out = process.communicate(timeout=60)[0]
        assert process.returncode == 0, out
        self.check("untouched")
        found = steps(self.log)
        assert len(found) > 100, found
        return found

    def end_at(self, step, number=signal.SIGKILL) -> int:
        call, count = step
        name = signal.Signals(number).name
        tamper = ["-o", "/dev/null", "-e", f"trace={call}",
                  "-e", f"inject={call}:signal={name}:when={count}"]
        process = self.start(tamper)
        try:
            # Its end is the end of everything that holds its output, and of everything traced.
            out = process.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:
            alive = processes.descendants(os.getpid()) - self.known
            left = [f"{p} {processes.command(p)}" for p in alive]
            for each in alive:
                os.kill(each, signal.SIGKILL)
            process.communicate(timeout=10)
            raise AssertionError(f"{name} at {step}: no end; there are {left}") from None
        self.check(f"{name} at {step}: {process.returncode} {out[-500:]!r}")
        return process.returncode

    def check(self, what: str):
        """Nothing is there that was not: processes within 2 s, everything else at once."""
        nonce = self.bench.nonce
        oracles.assert_processes_gone(
            lambda: [f"{what}: {p} {processes.command(p)}"
                     for p in processes.children(os.getpid()) - self.known] +
            [f"{what}: {line}" for line in processes.with_nonce(nonce)])
        processes.reap_orphans()
        left = oracles.new_files(self.tree, self.bench.ws, "audit")
        assert not left, f"{what}: files in the workspace: {left}"
        now = host_state(self.bench.directory, self.bench.user)
        for kind, before in self.host.items():
            assert now[kind] <= before, f"{what}: {kind} are left: {now[kind] - before}"

    def check_next_run(self):
        """The next run works, and cleans up what a killed one could not."""
        for left in self.bench.state.glob("warder/run/runs/*"):     # younger ones might only begin
            os.utime(left, (time.time() - 120,) * 2)
        if self.who == "sandbox":
            (self.bench.directory / "tamper").write_text("-o /dev/null -e trace=none")
        done = self.bench.run(["/bin/echo", "well"])
        assert done.text == "well\n" and done.code == 0, done
        state = self.bench.state / "warder"
        left = {name for name in oracles.tree(state) if not re.fullmatch(
            r"audit\.key(\.pub)?|audit|audit/.*|run|run/runs|homes|watched", name)}
        assert not left, f"left in the state directory: {left}"
        self.check("the next run")


def wait_gone(pids, seconds=2.0) -> list:
    """What of `pids` is alive after that time."""
    deadline = time.monotonic() + seconds
    while True:
        alive = [p for p in pids if processes.is_alive(p)]
        if not alive or time.monotonic() > deadline:
            return [f"{p} {processes.command(p)}" for p in alive]
        time.sleep(0.02)
