"""Whatever is killed, and when: nothing is left behind (BR-116). Samples here, every step in full/."""

import os
import signal
import time

import pytest

from support import processes
from support.killing import Killer, evenly, wait_gone
from support.marks import both_users

SAMPLE = 12     # steps of each kind, user and program; each is a run under strace


@both_users
@pytest.mark.parametrize("who", ["warder", "sandbox"])
def test_kill_9_at_any_step_leaves_nothing(bench, who):
    killer = Killer(bench, who)
    codes = [killer.end_at(step) for step in evenly(killer.all_steps(), SAMPLE)]
    assert len([code for code in codes if code != 0]) > SAMPLE / 2, codes
    killer.check_next_run()


@pytest.mark.parametrize("who", ["warder", "sandbox"])
def test_sigterm_at_any_step_leaves_nothing(bench, who):
    killer = Killer(bench, who)
    for step in evenly(killer.all_steps(), SAMPLE // 2):
        killer.end_at(step, signal.SIGTERM)
    killer.check_next_run()


@both_users
def test_bubblewraps_child_that_waits_for_its_word_dies_too(bench):
    """bubblewrap clones its child, which waits on an eventfd, and is killed before it says go on."""
    killer = Killer(bench, "sandbox")
    steps = [step for step in killer.all_steps() if step[0] in ("clone", "write", "close")]
    for call, most in (("clone", 3), ("write", 8), ("close", 3)):
        found = [step for step in steps if step[0] == call]
        for step in dict.fromkeys(evenly(found, most) + found[-4:]):    # bubblewrap's own come late
            killer.end_at(step)
    killer.check_next_run()


TREE = ("setsid sleep 1061 & (setsid sh -c 'trap \"\" HUP TERM INT; sleep 1062 & sleep 1063' &) ; "
        "(trap '' HUP TERM INT; sleep 1064) & echo up; wait")


@both_users
@pytest.mark.parametrize("victim", ["warder", "warder-sandbox", "bwrap", "init"])
def test_br_116_the_whole_tree_dies_with_whoever_is_killed(bench, echo, victim):
    """Within 2 s no process is there, and whoever reads the output is at its end."""
    process = bench.start(TREE)
    assert process.stdout.readline() == b"up\n"
    time.sleep(0.3)
    tree = processes.descendants(process.pid)
    assert len(tree) >= 8, [processes.command(p) for p in tree]
    # warder → warder-sandbox → bwrap → the first process inside → CMD: each has one child.
    chain = [process.pid]
    while len(chain) < 4:
        (child,) = processes.children(chain[-1])
        chain.append(child)
    assert "bwrap" in os.readlink(f"/proc/{chain[2]}/exe")
    killed = chain[["warder", "warder-sandbox", "bwrap", "init"].index(victim)]
    os.kill(killed, signal.SIGKILL)
    started = time.monotonic()
    process.stdout.read()
    assert time.monotonic() - started < 2
    assert not wait_gone(tree | {process.pid} if victim == "warder" else tree)
    assert process.wait(5) != 0
    bench.check_end(verify=victim != "warder")


@both_users
def test_br_116_nothing_survives_an_ordinary_end(bench, echo):
    done = bench.run("setsid sleep 1065 & (setsid sleep 1066 &) ; exit 0")
    assert done.code == 0 and done.seconds < 5, done
    assert not [line for line in map(processes.command, processes.descendants(os.getpid()))
                if "sleep 106" in line]
