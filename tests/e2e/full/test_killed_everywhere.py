"""`kill -9` and SIGTERM at every step of a run, not at a sample of them."""

import signal

import pytest

from support.killing import Killer
from support.marks import both_users


@both_users
@pytest.mark.parametrize("who", ["warder", "sandbox"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_every_step(bench, who, number):
    killer = Killer(bench, who)
    for step in killer.all_steps():
        killer.end_at(step, number)
    killer.check_next_run()
