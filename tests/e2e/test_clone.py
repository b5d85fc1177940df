"""`warder run --clone`, `warder diff`, `warder apply`: the host's tree stays as it is until somebody
takes the changes, and what is taken stays beneath it."""

import hashlib
import json
import os
import signal
import stat
import subprocess
import time

import pytest

from support import processes
from support.bench import Result
from support.daemon import Daemon
from support.disks import small_disk
from support.marks import both_users


def warder(bench, *args, stdin=b"", timeout=120):
    start = time.monotonic()
    done = subprocess.run(bench.as_user([bench.warder, *map(str, args)]), cwd=bench.ws, input=stdin,
                          env=bench.environment(), capture_output=True, timeout=timeout)
    return Result(done.returncode, done.stdout, done.stderr, time.monotonic() - start)


def clone_run(bench, cmd, *args, code=0):
    """`cmd` in a clone. The files that the test has just made are older than the run."""
    done = warder(bench, "run", "--clone", *args, "--", "/bin/sh", "-c", cmd)
    assert done.code == code, done
    return done


def settle(bench):
    """Gives the files to the user, and waits until what comes has a later time."""
    bench.own()
    time.sleep(0.1)


def changes(bench, *args):
    done = warder(bench, "diff", "--json", *args)
    assert done.code == 0, done
    return {each["path"]: each for each in done.json["changes"]}


def kinds(bench):
    return {path: each["kind"] for path, each in changes(bench).items()}


def clones(bench):
    done = warder(bench, "diff", "--list", "--json")
    assert done.code == 0, done
    return done.json["clones"]


def print_of(directory, times=True):
    """Everything of a tree that somebody could change: names, contents, owners, modes, ctimes."""
    found = {}
    for base, names, files in os.walk(os.fsencode(directory)):
        for name in [b"", *names, *files]:
            path = os.path.join(base, name)
            what = os.lstat(path)
            content = b""
            if stat.S_ISREG(what.st_mode):
                with open(path, "rb") as file:
                    content = hashlib.sha256(file.read()).digest()
            elif stat.S_ISLNK(what.st_mode):
                content = os.readlink(path)
            found[os.path.relpath(path, os.fsencode(directory))] = (
                what.st_mode, what.st_uid, what.st_gid, content,
                *((what.st_ino, what.st_nlink, what.st_mtime_ns, what.st_ctime_ns) if times else ()))
    return found


def tree_of(directory):
    """Names and contents alone."""
    return {name: (stat.S_IFMT(each[0]), each[3]) for name, each in
            print_of(directory, times=False).items()}


@pytest.fixture
def project(bench):
    """A few files of all sorts."""
    for name, text in {"a": "one\ntwo\n", "b": "b\n", "d/x": "x\n", "d/deep/y": "y\n", "e/z": "z\n",
                       "run.sh": "#!/bin/sh\n"}.items():
        bench.write(name, text)
    os.symlink("a", bench.ws / "link")
    settle(bench)
    return bench


@both_users
def test_the_host_tree_is_untouched_before_during_and_after(project):
    bench = project
    before = print_of(bench.ws)
    process = subprocess.Popen(
        bench.as_user([bench.warder, "run", "--clone", "--", "/bin/sh", "-c",
                       "echo more >> a; rm b; mv d moved; chmod +x run.sh; ln -sf b link; touch e/z;"
                       "mkdir new; echo n > new/n; rm -r e; cat a; ls; read wait; echo end"]),
        cwd=bench.ws, env=bench.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    seen = b""
    while b"test-ca.pem" not in seen:
        piece = process.stdout.readline()
        assert piece, process.stderr.read()
        seen += piece
    assert b"two\nmore\n" in seen and b"moved\n" in seen and b"\nb\n" not in seen, seen
    assert print_of(bench.ws) == before
    out, err = process.communicate(b"\n", 60)
    assert b"end" in out and process.returncode == 0, err
    assert print_of(bench.ws) == before
    assert kinds(bench) == {
        "a": "modified", "b": "deleted", "d": "deleted", "d/x": "deleted", "d/deep": "deleted",
        "d/deep/y": "deleted", "moved": "added", "moved/x": "added", "moved/deep": "added",
        "moved/deep/y": "added", "run.sh": "mode", "link": "modified", "new": "added",
        "new/n": "added", "e": "deleted", "e/z": "deleted"}
    assert b"changed: warder diff, then warder apply or warder discard" in err, err
    assert print_of(bench.ws) == before


@both_users
def test_apply_makes_the_tree_what_it_was_inside(project):
    bench = project
    owner = (bench.ws.stat().st_uid, bench.ws.stat().st_gid)
    clone_run(bench, "echo more >> a; rm b; mv d moved; chmod 750 run.sh; ln -sf b link; rm -r e;"
                     "ln -s moved e; mkdir -m 700 new; echo n > new/n; chmod 400 new/n; echo v > new/m;"
                     "ln new/m new/hard; echo gone > t; mkdir closed; echo c > closed/c;"
                     "chmod 000 closed/c; chmod 500 closed")
    done = warder(bench, "apply")
    assert done.code == 0, done
    names = {os.fsdecode(n) for n in tree_of(bench.ws)}
    assert names == {".", "a", "test-ca.pem", "moved", "moved/x", "moved/deep", "moved/deep/y",
                     "run.sh", "link", "e", "new", "new/n", "new/m", "new/hard", "t", "closed",
                     "closed/c"}
    assert (bench.ws / "a").read_text() == "one\ntwo\nmore\n"
    assert os.readlink(bench.ws / "e") == "moved" and os.readlink(bench.ws / "link") == "b"
    assert stat.S_IMODE((bench.ws / "run.sh").stat().st_mode) == 0o750
    assert stat.S_IMODE((bench.ws / "new/n").stat().st_mode) == 0o400
    assert (bench.ws / "new/hard").read_text() == "v\n"
    assert stat.S_IMODE((bench.ws / "closed/c").stat().st_mode) == 0
    assert stat.S_IMODE((bench.ws / "closed").stat().st_mode) == 0o500
    owners = {each[1:3] for each in print_of(bench.ws).values()}
    assert owners == {owner}, owners
    assert clones(bench) == [] and not list((bench.state / "warder/clones").iterdir())


@both_users
def test_nothing_changed_is_nothing_kept(project):
    bench = project
    done = clone_run(bench, "cat a > /dev/null; touch a; echo x > /tmp/x; chmod 644 b")
    assert "changed" not in done.error, done
    assert not list((bench.state / "warder/clones").iterdir())
    assert warder(bench, "diff").code == 2


@both_users
def test_a_repository_works(bench):
    def git(*args, **more):
        return subprocess.run(bench.as_user(["git", "-c", "user.name=t", "-c", "user.email=t@t.test",
                                             *args]), cwd=bench.ws, check=True, capture_output=True,
                              env=bench.environment(), text=True, **more).stdout

    settle(bench)
    git("init", "-q", "-b", "main")
    bench.write("f", "one\n")
    bench.own()
    git("add", "-A")
    git("commit", "-qm", "first")
    git("checkout", "-qb", "side")
    bench.write("g", "side\n")
    bench.own()
    git("add", "-A")
    git("commit", "-qm", "side")
    git("checkout", "-q", "main")
    settle(bench)
    before = print_of(bench.ws)
    clone_run(bench, "export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t.test GIT_COMMITTER_NAME=t "
                     "GIT_COMMITTER_EMAIL=t@t.test; set -e; echo two >> f; git commit -qam second; "
                     "git checkout -q side; git rebase -q main; git checkout -q main; "
                     "git merge -q side; git gc -q; git status --porcelain; git fsck")
    assert print_of(bench.ws) == before
    text = warder(bench, "diff").text
    assert "== git's own files" in text and "+two\n" in text, text
    done = warder(bench, "apply")
    assert done.code == 0 and clones(bench) == [], done
    git("fsck", "--strict")
    assert git("log", "--format=%s").split() == ["side", "second", "first"]
    assert git("status", "--porcelain") == ""


@both_users
def test_names_of_any_bytes(bench):
    settle(bench)
    clone_run(bench, r"""printf x > "$(printf 'new\nline')"; printf x > "$(printf 'bad\377')";"""
                     r"""printf x > "$(printf 'esc\033[31m')"; mkdir ' '; printf '\033]0;t\007' > ' /x'""")
    for arguments in ((), ("--stat",), ("--name-only",), ("--json",)):
        done = warder(bench, "diff", *arguments)
        assert not set(done.out) & (set(range(32)) - {9, 10}), done.out
        assert done.out.decode("utf-8"), "not UTF-8"
    assert "new\\nline" in warder(bench, "diff").text
    assert warder(bench, "apply").code == 0
    names = set(os.listdir(os.fsencode(bench.ws)))
    assert names == {b"new\nline", b"bad\xff", b"esc\x1b[31m", b" ", b"test-ca.pem"}


def test_ten_thousand_files(bench):
    (bench.ws / "old").mkdir()
    for i in range(500):
        (bench.ws / "old" / str(i)).write_text("o")
    settle(bench)
    clone_run(bench, "rm -r old; mkdir new; cd new; i=0; while [ $i -lt 10000 ]; do echo $i > $i; "
                     "i=$((i+1)); done")
    stat_text = warder(bench, "diff", "--stat").text
    assert "10500 files changed" in stat_text
    done = warder(bench, "apply")
    assert done.code == 0 and "applied 10500 files" in done.error, done
    assert not (bench.ws / "old").exists()
    assert {p.name: p.read_text() for p in (bench.ws / "new").iterdir()} == {
        str(i): f"{i}\n" for i in range(10000)}


@both_users
def test_a_killed_launcher_leaves_a_clone(project):
    bench = project
    before = print_of(bench.ws)
    known = processes.children(os.getpid())
    process = subprocess.Popen(
        bench.as_user([bench.warder, "run", "--clone", "--", "/bin/sh", "-c",
                       "echo more >> a; echo ready; sleep 60"]),
        cwd=bench.ws, env=bench.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    busy = warder(bench, "diff")
    assert busy.code == 2 and "in use" in busy.error, busy
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 30
    while processes.children(os.getpid()) - known and time.monotonic() < deadline:
        processes.reap_orphans(set())
        time.sleep(0.1)
    assert kinds(bench) == {"a": "modified"}
    listed, = clones(bench)
    assert listed["program"] == "/bin/sh" and not listed["in_use"]
    assert print_of(bench.ws) == before
    assert warder(bench, "discard", listed["id"][:-2]).code == 0
    assert clones(bench) == []


@both_users
def test_a_killed_apply_can_be_repeated(bench):
    (bench.ws / "turn").mkdir()
    for i in range(300):
        (bench.ws / f"f{i}").write_text("old")
        (bench.ws / "turn" / str(i)).write_text("t")
    settle(bench)
    clone_run(bench, "i=0; while [ $i -lt 300 ]; do echo new > f$i; i=$((i+1)); done; rm -r turn;"
                     "echo file > turn; mkdir -p more/deep; for i in 1 2 3; do echo $i > more/deep/$i;"
                     "done")
    argv = bench.as_user([bench.warder, "apply"])
    killed = 0
    for delay in (0.02, 0.05, 0.1, 0.2, 0.01, 0.15):
        process = subprocess.Popen(argv, cwd=bench.ws, env=bench.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(delay)
        process.kill()
        _, err = process.communicate()
        killed += process.returncode == -signal.SIGKILL
        assert process.returncode in (-signal.SIGKILL, 0, 2), err
    assert killed
    done = warder(bench, "apply")
    assert done.code == 0 or "no clone" in done.error, done
    assert {(bench.ws / f"f{i}").read_text() for i in range(300)} == {"new\n"}
    assert (bench.ws / "turn").read_text() == "file\n"
    assert sorted(p.name for p in (bench.ws / "more/deep").iterdir()) == ["1", "2", "3"]
    assert not [p for p in bench.ws.rglob(".warder-apply-*")]
    assert clones(bench) == []


@both_users
def test_what_runs_later_is_shown_first_and_kept_back(bench):
    bench.write("package.json", json.dumps({"name": "p", "scripts": {"test": "t"}}))
    bench.write("lib/package.json", json.dumps({"name": "l", "version": "1"}))
    bench.write(".git/config", "[core]\n\thooksPath = tools/hooks\n")
    settle(bench)
    done = clone_run(  # hooks that are there are read-only in a clone too
        bench, "mkdir .git/hooks; echo 'echo owned' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout;"
               "mkdir -p .github/workflows .vscode tools/hooks; echo w > .github/workflows/ci.yml;"
               "echo c > .github/CODEOWNERS; echo t > .vscode/tasks.json; echo h > tools/hooks/pre-push;"
               """echo '{"name":"p","scripts":{"postinstall":"x"}}' > package.json;"""
               """echo '{"name":"l","version":"2"}' > lib/package.json; echo work > work.txt""")
    assert "10 files changed" not in done.error and "for your eyes (" in done.error, done
    found = changes(bench)
    later = {path for path, each in found.items() if each["runs_later"]}
    assert later == {".git/hooks", ".git/hooks/post-checkout", ".github/workflows", ".github/workflows/ci.yml",
                     ".vscode", ".vscode/tasks.json", "package.json", "tools/hooks",
                     "tools/hooks/pre-push"}, found
    text = warder(bench, "diff").text
    assert text.index("post-checkout") < text.index("== files") < text.index("work.txt"), text
    dry = warder(bench, "apply", "--dry-run")
    assert dry.code == 0 and not (bench.ws / "work.txt").exists(), dry
    done = warder(bench, "apply")
    assert done.code == 0 and ".git/hooks/post-checkout  (git hook)" in done.error, done
    assert (bench.ws / "work.txt").exists() and (bench.ws / ".github/CODEOWNERS").exists()
    assert json.loads((bench.ws / "lib/package.json").read_text())["version"] == "2"
    assert "postinstall" not in (bench.ws / "package.json").read_text()
    for path in (".git/hooks/post-checkout", ".github/workflows", ".vscode", "tools/hooks"):
        assert not (bench.ws / path).exists(), path
    # What was applied is no change any more; what was kept back is there still.
    assert set(changes(bench)) == later
    assert warder(bench, "apply", "--include", ".github/workflows/ci.yml").code == 0
    assert (bench.ws / ".github/workflows/ci.yml").read_text() == "w\n"
    assert warder(bench, "apply", "--include", "no/such").code == 2
    assert warder(bench, "apply", "--all").code == 0
    assert (bench.ws / ".git/hooks/post-checkout").exists() and clones(bench) == []


@both_users
@pytest.mark.parametrize("how", ["changed", "appeared", "gone", "replaced"])
def test_what_was_changed_outside_since_is_refused(project, how):
    bench = project
    clone_run(bench, "echo inside > a; echo inside > n; echo inside > other; echo w > d/x")
    time.sleep(0.1)
    path = {"changed": "a", "appeared": "n", "gone": "a", "replaced": "a"}[how]
    if how == "gone":
        (bench.ws / path).unlink()
    elif how == "replaced":
        (bench.ws / "fresh").write_text("outside\n")
        os.utime(bench.ws / "fresh", (1, 1))
        (bench.ws / "fresh").rename(bench.ws / path)
    else:
        (bench.ws / path).write_text("outside\n")
    if bench.user and how != "gone":
        os.chown(bench.ws / path, bench.user.uid, bench.user.gid)
    before = print_of(bench.ws)
    done = warder(bench, "apply")
    assert done.code == 1 and f"\n  {path}\n" in done.error, done
    assert print_of(bench.ws) == before, "a refused apply wrote something"
    assert "changed outside since" in warder(bench, "diff", "--stat").text
    assert warder(bench, "apply", "--force", path).code == 0
    assert (bench.ws / path).read_text() == "inside\n"
    assert (bench.ws / "other").read_text() == "inside\n"


# -- attacks --------------------------------------------------------------------------------------

@both_users
def test_attack_links_in_the_clone_lead_nowhere(project):
    """A link out of the tree is taken as a link; nothing is written through one, old or new."""
    bench = project
    outside = bench.directory / "outside"
    outside.mkdir()
    (outside / "victim").write_text("safe\n")
    bench.own()
    before = print_of(outside)
    clone_run(bench, f"rm -r d; ln -s {outside} d; ln -s {outside}/victim out; "
                     f"ln -s ../outside e2; rm a; ln -s ../outside/victim a; echo x > e/z")
    assert warder(bench, "diff").text.count("(leads out of the workspace)") == 4
    done = warder(bench, "apply")
    assert done.code == 0, done
    assert os.readlink(bench.ws / "d") == str(outside)
    assert print_of(outside) == before


@both_users
@pytest.mark.parametrize("forced", [False, True])
def test_attack_a_link_planted_on_the_host_since(project, forced):
    bench = project
    outside = bench.directory / "outside"
    outside.mkdir()
    (outside / "x").write_text("safe\n")
    (outside / "deep").mkdir()
    clone_run(bench, "echo inside > d/x; echo inside > d/new; rm d/deep/y; echo q > d/deep/q")
    (bench.ws / "d").rename(bench.ws / "was-d")
    os.symlink(outside, bench.ws / "d")
    bench_owned = bench.user
    if bench_owned:
        for path in (outside, outside / "x", outside / "deep"):
            os.chown(path, bench_owned.uid, bench_owned.gid)
    before = print_of(outside)
    done = warder(bench, "apply", *(["--force", "d"] if forced else []))
    assert print_of(outside) == before, done
    if forced:
        assert done.code == 0 and not (bench.ws / "d").is_symlink(), done
        assert (bench.ws / "d/x").read_text() == "inside\n"
    else:
        assert done.code == 1 and (bench.ws / "d").is_symlink(), done


@both_users
def test_attack_set_id_devices_sockets_and_fifos(project):
    """What the filter inside refuses is planted by hand: it must not be what stops them."""
    bench = project
    clone_run(bench, "cp /bin/true tool; mkfifo pipe; rm a; mkfifo a; chmod 2755 d || true; "
                     "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"s\")'")
    upper = next((bench.state / "warder/clones").iterdir()) / "upper"
    (upper / "tool").chmod(0o6755)
    if os.geteuid() == 0:
        os.mknod(upper / "disk", stat.S_IFBLK | 0o666, os.makedev(7, 0))
    found = changes(bench)
    special = {path for path, each in found.items() if each["kind"] == "special"}
    assert special == {"pipe", "a", "s"} | ({"disk"} if os.geteuid() == 0 else set()), found
    assert found["tool"]["set_id"]
    done = warder(bench, "apply", "--all")
    assert done.code == 0 and "never applied" in done.error, done
    assert stat.S_IMODE((bench.ws / "tool").stat().st_mode) == 0o755
    assert (bench.ws / "a").read_text() == "one\ntwo\n"
    for path in ("pipe", "s", "disk"):
        assert not os.path.lexists(bench.ws / path)
    assert clones(bench) == []


@both_users
def test_attack_a_clone_that_cannot_be_walked(project):
    """Closed to its owner, deeper than a path can name, or with marks of the overlay's own."""
    bench = project
    script = """
import os
os.makedirs("closed/inner"); open("closed/inner/f", "w").write("f"); os.chmod("closed/inner", 0)
os.chmod("closed", 0)
for name in ("user.overlay.opaque", "user.overlay.whiteout", "user.overlay.warder-mode"):
    try: os.setxattr("d", name, b"y")
    except OSError: pass
try: os.mknod("b2", 0o20666, 0)
except OSError: pass
for i in range(1500):
    os.mkdir("dddddddd"); os.chdir("dddddddd")
open("bottom", "w").write("x")
"""
    clone_run(bench, f"python3 - <<'E'\n{script}E\n")
    done = warder(bench, "diff")
    assert done.code == 0, done
    found = changes(bench)
    assert "d/x" not in found and found["closed/inner"]["new_mode"] == "0000", found.keys()
    assert "special" in {each["kind"] for each in found.values()}
    assert warder(bench, "discard").code == 0
    assert not list((bench.state / "warder/clones").iterdir())


@both_users
def test_attack_the_clone_and_the_state_cannot_be_reached_from_inside(project):
    bench = project
    clone_run(bench, "echo x > kept")
    done = warder(bench, "run", "--clone", "--rw", bench.state, "--", "/bin/sh", "-c",
                  f"ls -A {bench.state}/warder /run; echo mine > a; ls /mnt; "
                  "find / -name upper -not -path '/proc/*' 2>/dev/null; true")
    assert done.text.split() == ["/run:", f"{bench.state}/warder:"], done
    assert len(clones(bench)) == 2


@both_users
def test_covered_and_frozen_paths_stay_so(bench, echo):
    bench.config()
    bench.write("audit/secret", "evidence")
    settle(bench)
    before = (bench.ws / "t.yaml").read_bytes()
    done = warder(bench, "run", "--clone", "--config", "t.yaml", "--policy", "t", "--", "/bin/sh", "-c",
                  "ls -A audit; echo x >> t.yaml; mv t.yaml u; mv audit b; rm -rf audit; "
                  "echo w > w; curl -sS https://api.test/ok")
    assert done.text == "ok", done
    assert (bench.ws / "t.yaml").read_bytes() == before
    assert set(changes(bench)) == {"w"}
    assert bench.verify().returncode == 0


@both_users
def test_behind_a_gateway(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        settle(bench)
        done = warder(bench, "run", "--clone", "--gateway", gateway.directory / "admin.sock", "--",
                      "/bin/sh", "-c", "curl -sS https://api.test/ok; echo w > w")
        assert done.code == 0 and done.text == "ok", done
        assert not (bench.ws / "w").exists()
        assert "w" in changes(bench)
        assert warder(bench, "apply").code == 0
        assert (bench.ws / "w").read_text() == "w\n"


def test_a_state_directory_in_the_workspace_is_refused(bench):
    settle(bench)
    done = subprocess.run([bench.warder, "run", "--clone", "--", "/bin/true"], cwd=bench.ws,
                          env=bench.environment({"XDG_STATE_HOME": str(bench.ws / "state")}),
                          capture_output=True, timeout=60, text=True)
    assert done.returncode == 2 and "XDG_STATE_HOME" in done.stderr, done
    assert not (bench.ws / "state/warder/clones").exists()


def test_no_overlay_is_no_run(bench):
    """A file system that cannot keep the layers: an error that says so, never the real tree."""
    bench.write("a", "a")
    kept = bench.state / "warder/clones"
    kept.mkdir(parents=True)
    settle(bench)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "ramfs", "-o", "mode=0700", "none",
                                            kept]).returncode:
        pytest.skip("needs root and ramfs, which keeps no attributes")
    try:
        done = warder(bench, "run", "--clone", "--", "/bin/sh", "-c", "echo x > a")
        assert done.code == 125 and "ramfs" in done.error, done
        assert "nothing was run" in done.error
        assert (bench.ws / "a").read_text() == "a"
        assert not list(kept.iterdir())
    finally:
        subprocess.run(["umount", kept], check=True)


def test_a_mount_in_the_workspace_is_refused(bench):
    (bench.ws / "data").mkdir()
    settle(bench)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "none",
                                            bench.ws / "data"]).returncode:
        pytest.skip("needs root")
    try:
        done = warder(bench, "run", "--clone", "--", "/bin/true")
        assert done.code == 2 and str(bench.ws / "data") in done.error, done
        assert warder(bench, "run", "--clone", "--ro", "data", "--", "/bin/true").code == 0
    finally:
        subprocess.run(["umount", bench.ws / "data"], check=True)


def test_an_apply_for_which_there_is_no_room_leaves_nothing_of_its_own(bench, echo):
    with small_disk(bench.directory / "small"):
        place = bench.directory / "small/ws"
        place.mkdir()

        def run(*args):
            return subprocess.run(bench.as_user([bench.warder, *args]), cwd=place, env=bench.environment(),
                                  capture_output=True, timeout=60)

        made = run("run", "--clone", "--", "sh", "-c", "echo x > a; head -c 700000 /dev/zero > b; echo z > c")
        assert made.returncode == 0, made
        failed = run("apply")
        assert failed.returncode == 125 and b"only a part, or nothing, was applied" in failed.stderr, failed
        assert sorted(p.name for p in place.iterdir()) == ["a"]
        (bench.directory / "small/filler").unlink()
        assert run("apply").returncode == 0
        assert sorted(p.name for p in place.iterdir()) == ["a", "b", "c"]
