"""One sandbox cannot take from another on the same gateway: neither open files nor time."""

import os
import subprocess
import time

import pytest

from support.daemon import Daemon

BOTH = [{"type": "connect", "name": name} for name in ("greedy", "other")]


def get(gateway, name, *more, url="https://api.test/ok"):
    return gateway.curl("-x", f"http://127.0.0.1:{gateway.ports[name]}", "-o", "/dev/null",
                        "-w", "%{http_code}\n%{time_total}\n", *more, url, timeout=60).stdout.split()


def test_a_sandbox_that_holds_all_its_connections_leaves_files_for_another(bench, echo):
    with Daemon(bench, BOTH, prefix=("prlimit", "--nofile=240:240")) as gateway:
        held = [gateway.connect("greedy") for _ in range(300)]
        time.sleep(1)
        files = len(os.listdir(f"/proc/{gateway.process.pid}/fd"))
        assert files < 200, files
        for _ in range(5):
            assert get(gateway, "other")[0] == "200"
        for sock in held:
            sock.close()
        assert get(gateway, "greedy")[0] == "200"


@pytest.fixture
def flood(bench):
    """64 connections of curl that ask as fast as they are answered."""
    running = []

    def begin(gateway):
        name = "greedy"
        running.append(subprocess.Popen(
            ["curl", "-sS", "-Z", "--parallel-max", "64", "--cacert", gateway.ca, "-o", "/dev/null",
             "-x", f"http://127.0.0.1:{gateway.ports[name]}", "-X", "DELETE", "--http1.1",
             "https://api.test/[1-1000000]"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        time.sleep(2)
        assert running[0].poll() is None
    yield begin
    for one in running:
        one.terminate()
        one.wait()


def test_a_flood_from_one_sandbox_leaves_time_for_another(bench, echo, flood):
    def slowest(gateway):
        answers = get(gateway, "other", url="https://api.test/ok?[1-100]")
        assert set(answers[::2]) == {"200"}, answers
        return sorted(map(float, answers[1::2]))[98]
    with Daemon(bench, BOTH) as gateway:
        alone = slowest(gateway)
        flood(gateway)
        before = len(gateway.records("intent"))
        crowded = slowest(gateway)
        asked = len(gateway.records("intent")) - before
        print(f"p99 alone {alone * 1000:.1f} ms, beside {asked} other requests {crowded * 1000:.1f} ms")
        assert asked > 300, "there was no flood"
        assert crowded < max(20 * alone, 1.0), (alone, crowded)
