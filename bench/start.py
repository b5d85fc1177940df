#!/usr/bin/env python3
"""How long a sandbox takes to start: `true` in each, by turns, wall time over that of a bare `true`.

  bench/start.py BUILD_DIR [ROUNDS]

Prints a table and writes BUILD_DIR/bench.json: {"start": {variant: {"p50_ms": …, "p90_ms": …, "over_true_ms": …, "cpu_ms": …}}}.
What is not installed is named."""

import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLEAN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
TRUE = "/usr/bin/true"


def variants(warder, place, socket):
    """What is compared, by name; None: it is not installed."""
    bwrap, unshare, pasta, srt = (shutil.which(n) for n in ("bwrap", "unshare", "pasta", "srt"))
    root = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    return {
        "true": [TRUE],
        "unshare --user --net --pid": unshare and [unshare, "-Urnpf", TRUE],
        "bwrap --unshare-all": bwrap and [bwrap, *root, "--unshare-all", "--die-with-parent", TRUE],
        "warder run, gateway embedded": [warder, "run", "--quiet", "--", TRUE],
        "warder run, gateway running": [warder, "run", "--quiet", "--gateway", socket, "--policy", "t", "--", TRUE],
        "pasta": pasta and [pasta, "--config-net", "--", TRUE],
        "srt (sandbox-runtime)": srt and [srt, TRUE],
    }


def once(argv, place, env):
    """Wall and processor time of one run, in milliseconds; children count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    done = subprocess.run(argv, cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True)
    wall = (time.perf_counter() - begin) * 1000
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{argv[0]}: exit {done.returncode}: {done.stderr.decode()[-500:]}")
    return wall, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def measure(build, rounds):
    warder = str(build / "warder")
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        place = top / "workspace"
        place.mkdir()
        config = top / "warder.yaml"
        config.write_text("version: 1\npolicies: {t: {rules: [{hosts: [a.test], action: allow}]}}\n")
        env = {**CLEAN, "HOME": str(top / "home"), "XDG_STATE_HOME": str(top / "state")}
        os.mkdir(env["HOME"])
        gateway = subprocess.Popen([warder, "gateway", "--config", config, "--directory", top / "run"], env=env,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            if not gateway.stdout.readline().startswith(b"ready"):
                raise SystemExit("warder gateway does not start")
            chosen = variants(warder, place, str(top / "run" / "admin.sock"))
            times = {name: [] for name, argv in chosen.items() if argv}
            for name, argv in chosen.items():
                if not argv:
                    print(f"not installed: {name}", file=sys.stderr)
            for turn in range(rounds + 2):
                for name in times:
                    taken = once(chosen[name], place, env)
                    if turn >= 2:                      # the first ones warm the caches
                        times[name].append(taken)
        finally:
            gateway.send_signal(signal.SIGTERM)
            gateway.wait(30)
    return times


def summary(times):
    bare = statistics.median(wall for wall, _ in times["true"])
    found = {}
    for name, all_of_it in times.items():
        walls = sorted(wall for wall, _ in all_of_it)
        p50 = statistics.median(walls)
        found[name] = {"p50_ms": round(p50, 2), "p90_ms": round(walls[int(len(walls) * 0.9)], 2),
                       "over_true_ms": round(p50 - bare, 2),
                       "cpu_ms": round(statistics.median(cpu for _, cpu in all_of_it), 2)}
    return found


def main():
    build = Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    found = summary(measure(build, rounds))
    print(f"{'start of a sandbox that runs true':34} {'p50':>9} {'p90':>9} {'over true':>10} {'CPU':>9}   (ms, {rounds} rounds)")
    for name, row in found.items():
        print(f"{name:34} {row['p50_ms']:9.1f} {row['p90_ms']:9.1f} {row['over_true_ms']:10.1f} {row['cpu_ms']:9.1f}")
    (build / "bench.json").write_text(json.dumps({"start": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
