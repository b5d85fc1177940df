"""`warder demo` does what it shows, says so when it does not, and leaves nothing behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import oracles, processes
from support.marks import both_users
from support.terminal import Terminal

STEPS = ["environment", "echo", "whoami", "stream", "error", "path", "address", "lookup", "audit"]
ESCAPE = "\x1b"


@pytest.fixture
def place(bench):
    """A bench whose temporary directory is its own: what a demo leaves there is seen."""
    bench.tmp = bench.directory / "tmp"
    bench.tmp.mkdir()
    bench.real = None            # the demo makes its own secret
    return bench


def demo(place, *args, env=None, **more):
    done = place.warder_command("demo", *args, env={"TMPDIR": str(place.tmp), **(env or {})}, **more)
    assert not list(place.tmp.iterdir()), "the demo's directory is left"
    return done


def steps_of(done):
    return {step["name"]: step for step in done.json["steps"]}


@both_users
def test_every_step_holds(place):
    done = demo(place, "--json")
    assert done.code == 0 and done.error == "", done
    assert done.json["ok"] is True
    assert [step["name"] for step in done.json["steps"]] == STEPS
    for step in done.json["steps"]:
        assert step["ok"] is True and step["checks"], step
        assert all(check["held"] for check in step["checks"]), step


def test_the_two_sides_of_a_step(place):
    """The sandbox has the placeholder, the origin the token; the document has the token nowhere."""
    done = demo(place, "--json")
    steps = steps_of(done)
    placeholder = re.search(r"^GITHUB_TOKEN=(ghp_\w{36})$",
                            steps["environment"]["sandbox"]["output"], re.M)[1]
    shown = re.search(r"Bearer (ghp_\w{3})…", steps["echo"]["origin"])[1]
    for name in ("echo", "whoami", "stream", "error"):
        assert placeholder in steps[name]["sandbox"]["output"], steps[name]
        assert placeholder not in steps[name]["origin"]
        assert shown + "…" in steps[name]["origin"]
    tokens = set(re.findall(r"ghp_\w{4,}", done.text))
    assert tokens == {placeholder}, "only the placeholder is ever printed in full"
    assert steps["stream"]["sandbox"]["output"] == \
        f"data: good morning\n\ndata: you hold {placeholder}\n\ndata: goodbye\n\n"
    assert "Warder-Reason: path_not_allowed" in steps["path"]["sandbox"]["output"]


def test_refusals_and_record(place):
    done = demo(place, "--json")
    refused = {entry["reason"]: entry for entry in done.json["refused"]}
    assert "/admin/keys" in refused["path_not_allowed"]["what"]
    assert "93.184.216.34" in refused["host_not_allowed"]["what"]
    assert refused["name_not_allowed"]["allow_with"] == "--allow paste.example"
    audit = done.json["audit"]
    assert audit["outcome"] == "intact"
    path = Path(audit["file"])
    assert path.parent == place.state / "warder" / "audit"
    assert place.verify(path).returncode == 0
    text = path.read_text()
    uses = [r for r in map(json.loads, text.splitlines()) if r["type"] == "intent" and r.get("uses")]
    assert len(uses) == 4 and "ghp_" not in text


@both_users
def test_two_demos_at_once(place):
    place.own()
    argv = place.as_user([place.warder, "demo", "--json"])
    env = place.environment({"TMPDIR": str(place.tmp)})
    both = [subprocess.Popen(argv, cwd=place.ws, env=env, stdout=subprocess.PIPE) for _ in range(2)]
    for each in both:
        out, _ = each.communicate(timeout=60)
        assert each.returncode == 0 and json.loads(out)["ok"]
    assert not list(place.tmp.iterdir())


# -- the page --------------------------------------------------------------------------------------
def test_piped_page_has_no_escape_sequences(place):
    done = demo(place)
    assert done.code == 0, done
    assert ESCAPE not in done.text and "✗" not in done.text
    # The path of the record is never broken: it is there to be copied.
    assert max(len(line) for line in done.text.splitlines() if ".jsonl" not in line) <= 100
    assert "┬" in done.text, "side by side"
    assert "--allow paste.example" in done.text and ".jsonl" in done.text
    assert done.text.count("warder run --") == 2


@pytest.fixture
def on_terminal(place):
    opened = []

    def start(env=None, **size):
        place.own()
        place.before, place.known = oracles.tree(place.ws), processes.children(os.getpid())
        term = Terminal(place.as_user([place.warder, "demo"]), place.ws,
                        place.environment({"TMPDIR": str(place.tmp), **(env or {})}), **size)
        place.running.append(term.process)
        opened.append(term)
        return term
    yield start
    for term in opened:
        term.close()


def page_of(term):
    code = term.wait(30)
    return code, term.seen.decode().replace("\r\n", "\n")


@both_users
def test_page_on_a_terminal(place, on_terminal):
    code, page = page_of(on_terminal(rows=50, cols=110))
    assert code == 0, page
    assert ESCAPE + "[32m✓" in page
    plain = re.sub(r"\x1b\[[0-9;]*m", "", page)
    assert ESCAPE not in plain
    boxes = [line for line in plain.splitlines() if line.startswith(("┌", "│", "└"))]
    assert {len(line) for line in boxes} == {110} and any("┬" in line for line in boxes)
    place.check_end()
    assert not list(place.tmp.iterdir())


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_page_without_colours(on_terminal, env):
    code, page = page_of(on_terminal(env, rows=50, cols=100))
    assert code == 0 and ESCAPE not in page


@pytest.mark.parametrize("cols", [89, 60, 30])
def test_page_on_a_narrow_terminal(on_terminal, cols):
    code, page = page_of(on_terminal({"NO_COLOR": "1"}, rows=50, cols=cols))
    assert code == 0 and "┬" not in page and "├" in page
    # The long names that no line break helps (a path, a command to type) may be wider.
    boxes = [line for line in page.splitlines() if line.startswith(("┌", "│", "├", "└"))]
    assert {len(line) for line in boxes} == {max(cols, 44)}


# -- when it does not hold, or cannot run ----------------------------------------------------------
@both_users
def test_a_demo_that_does_not_hold_says_so(place):
    """A curl on PATH that asks nobody: no step that needs it may claim to have held."""
    tools = place.home / "bin"
    tools.mkdir()
    fake = tools / "curl"
    fake.write_text("#!/bin/sh\nprintf 'HTTP/1.1 200 OK\\r\\n\\r\\nyou hold %s\\n' \"$GITHUB_TOKEN\"\n")
    fake.chmod(0o755)
    path = f"{tools}:{place.environment()['PATH']}"
    done = demo(place, "--json", env={"PATH": path})
    assert done.code == 1 and done.json["ok"] is False, done
    held = {name for name, step in steps_of(done).items() if step["ok"]}
    assert held == {"environment", "lookup"}, done
    page = demo(place, env={"PATH": path})
    assert page.code == 1 and "✗" in page.text


def test_a_page_that_nobody_could_read_is_no_success(place):
    place.own()
    with open("/dev/full", "w") as full:
        done = subprocess.run([place.warder, "demo"], cwd=place.ws, stdout=full,
                              env=place.environment({"TMPDIR": str(place.tmp)}), timeout=60)
    assert done.returncode == 1
    assert not list(place.tmp.iterdir())


def test_without_curl(place):
    done = demo(place, env={"PATH": str(place.home)})
    assert done.code == 125 and done.text == ""
    assert "curl" in done.error and "nothing was run" in done.error, done


@both_users
def test_without_user_namespaces(place):
    # A copy: the checkout may lie where an ordinary user reads nothing, such as /root.
    wrapper = shutil.copy(Path(__file__).parent / "support" / "without_userns.py", place.directory)
    place.own()
    done = subprocess.run(place.as_user([sys.executable, wrapper, "seccomp", "0", "0", place.warder,
                                         "demo"]),
                          cwd=place.ws, env=place.environment({"TMPDIR": str(place.tmp)}),
                          capture_output=True, timeout=60)
    assert done.returncode == 125 and done.stdout == b"", done
    assert b"namespace" in done.stderr and b"nothing was run" in done.stderr, done
    assert not list(place.tmp.iterdir())


def test_without_a_temporary_directory(place):
    shutil.rmtree(place.tmp)
    done = place.warder_command("demo", env={"TMPDIR": str(place.tmp)})
    assert done.code == 125 and done.text == "" and str(place.tmp) in done.error, done


# -- interrupted -----------------------------------------------------------------------------------
def wait_for_step(place, name, seconds=20):
    deadline = time.monotonic() + seconds
    while not list(place.tmp.glob(f"warder-demo-*/workspace/{name}.out")):
        assert time.monotonic() < deadline, f"the demo did not come to {name}"
        time.sleep(0.005)


@both_users
@pytest.mark.parametrize("step", ["environment", "stream"])
def test_ctrl_c_leaves_nothing(place, on_terminal, step):
    term = on_terminal()
    wait_for_step(place, step)
    term.send(b"\x03")
    assert term.wait() == 130
    place.check_end()
    assert not list(place.tmp.iterdir())


@both_users
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_leave_nothing(place, on_terminal, number):
    term = on_terminal()
    wait_for_step(place, "stream")
    term.process.send_signal(number)
    assert term.wait() == 128 + number
    place.check_end()
    assert not list(place.tmp.iterdir())
