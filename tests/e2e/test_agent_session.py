"""An ordinary agent session works unchanged in `warder run`: version control, package managers, builds, tests, servers,
with a policy that allows local stand-ins only."""

import base64
import hashlib
import io
import json
import os
import shutil
import tarfile
import time
import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from support import echo
from support.bench import CLEAN, PYTHON
from support.git_origin import git_origin, make_repository
from support.marks import both_users
from support.origin import Origin
from support.terminal import Terminal

RULES = [{"name": "stand-ins", "hosts": ["git.test", "npm.test", "pypi.test"], "action": "allow"}]
GRANTS = [{"secret": "tok", "hosts": ["git.test"], "at": ["basic"]}]
WHO = """export GIT_AUTHOR_NAME=agent GIT_AUTHOR_EMAIL=a@a GIT_COMMITTER_NAME=agent GIT_COMMITTER_EMAIL=a@a
"""


def needs(program):
    return shutil.which(program, path=CLEAN["PATH"]) or pytest.skip(f"no {program} on this machine")


def session(bench, script, creates=("project",), **more):
    """Every step must succeed; the last word is the script's own."""
    bench.config(rules=RULES, grants=GRANTS)
    done = bench.run(["/bin/bash", "-euo", "pipefail", "-c", "mkdir -p project; cd project\n" + WHO + script],
                     creates=creates, **{"timeout": 90, **more})
    assert done.code == 0, done
    return done


# -- stand-ins -------------------------------------------------------------------------------------
class Packages:
    """npm's registry and Python's simple index, as far as an installation asks."""

    def __init__(self, pki):
        self.pages = {}
        self._npm("part", {"index.js": "module.exports = 'part'"})
        self._npm("@scope/thing", {"index.js": "console.log('thing with ' + require('part'))",
                                   "cli.js": "#!/usr/bin/env node\nrequire('./index.js')"},
                  dependencies={"part": "^1.0.0"}, bin={"thing": "cli.js"})
        self._wheel("part")
        self._wheel("thing", "Requires-Dist: part>=1\n", "from part import name\nprint('thing with', name)\n")
        self.origin = Origin(self._serve, pki.leaf("packages", ["npm.test", "pypi.test"]), "packages")
        self.origin.patience = 120      # of a connection that a package manager keeps

    def _npm(self, name, files, **more):
        about = {"name": name, "version": "1.0.0", "main": "index.js", **more}
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:gz") as tar:
            for path, text in {"package.json": json.dumps(about), **files}.items():
                entry = tarfile.TarInfo("package/" + path)
                entry.size, entry.mode = len(text), 0o755
                tar.addfile(entry, io.BytesIO(text.encode()))
        data = made.getvalue()
        path = f"/{name}/-/{name.split('/')[-1]}-1.0.0.tgz"
        about["dist"] = {"tarball": "https://npm.test" + path, "integrity": "sha512-" + base64.b64encode(
            hashlib.sha512(data).digest()).decode()}
        self.pages["npm.test", path] = ("application/octet-stream", data)
        self.pages["npm.test", "/" + name] = ("application/json", json.dumps(
            {"name": name, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": about}}).encode())

    def _wheel(self, name, needs="", text="name = 'part'\n"):
        made, info = io.BytesIO(), f"{name}-1.0.dist-info"
        with zipfile.ZipFile(made, "w") as wheel:
            wheel.writestr(f"{name}.py", text)
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        data, file = made.getvalue(), f"{name}-1.0-py3-none-any.whl"
        digest = hashlib.sha256(data).hexdigest()
        self.pages["pypi.test", f"/files/{file}"] = ("application/octet-stream", data)
        self.pages["pypi.test", f"/simple/{name}/"] = (
            "text/html", f'<a href="/files/{file}#sha256={digest}">{file}</a>'.encode())

    def _serve(self, conn):
        while True:
            request = conn.read_request()
            found = self.pages.get((request.get("host"), unquote(urlsplit(request.target).path)))
            if found:
                echo.reply(conn, request, found[1], headers=[("Content-Type", found[0])])
            else:
                echo.reply(conn, request, b"{}", "404 Not Found")


@pytest.fixture
def packages(bench, pki):
    made = Packages(pki)
    bench.map("npm.test:443", made.origin).map("pypi.test:443", made.origin)
    return made


# -- version control -------------------------------------------------------------------------------
@both_users
def test_git_from_init_to_rebase_and_stash(bench):
    done = session(bench, """
git init -q -b main . && echo one >file && git add file && git commit -qm one
git switch -qc topic && echo topic >other && git add . && git commit -qm topic
git switch -q main && echo two >>file && git commit -qam two
git switch -q topic && git rebase -q main && git log --format=%s | tr '\\n' ' '
echo dirty >>file && git stash -q && git diff --quiet && git stash pop -q && ! git diff --quiet && git checkout -q file
git switch -q main && git merge -q --ff-only topic && git tag -a v1 -m v1 && git worktree add -q ../project/tree v1
git -C tree rev-parse HEAD >/dev/null && git worktree remove tree && git gc -q && git fsck 2>&1 | grep -v dangling || true
test -z "$(git status --porcelain)" && git describe
""")
    assert done.text.split() == ["topic", "two", "one", "v1"], done
    assert (bench.ws / "project" / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"


@both_users
def test_git_clone_fetch_and_push_over_https(bench, pki):
    root = bench.directory / "git"
    make_repository(root)
    origin = git_origin(pki.good, root, bench.real)
    origin.patience = 120
    bench.map("git.test:443", origin)
    done = session(bench, """
git clone -q "https://x:$API_TOKEN@git.test/r.git" copy && cd copy && cat README
git switch -qc work && echo more >>README && git commit -qam more && git push -q origin work 2>&1
git clone -q --depth 1 -b work "https://x:$API_TOKEN@git.test/r.git" ../again && tail -1 ../again/README
git fetch -q && git status -sb | head -1
""")
    assert done.text.splitlines() == ["hello from the origin", "more", "## work"], done


# -- packages and builds ---------------------------------------------------------------------------
def test_npm_installs_a_package_and_its_dependency(bench, packages):
    needs("npm")
    done = session(bench, """
echo '{"name":"mine","version":"1.0.0","scripts":{"test":"node -e \\"require(\\\\\\"@scope/thing\\\\\\")\\""}}' >package.json
npm config set registry https://npm.test/ && npm install --no-fund --no-audit @scope/thing >log 2>&1 || { cat log; exit 1; }
ls node_modules | tr '\\n' ' '; npm test --silent
rm -r node_modules && npm ci --no-fund --no-audit >log 2>&1 && npx --no-install thing
""")
    assert done.text == "@scope part thing with part\nthing with part\n", done


@both_users
def test_npm_installs_a_program_for_the_sandbox_without_sudo(bench, packages):
    """Where the private home is; nothing of it is left outside."""
    needs("npm")
    done = session(bench, """
npm config set registry https://npm.test/; npm config set prefix "$HOME/.local"
npm install -g --no-fund --no-audit @scope/thing >log 2>&1 || { cat log; exit 1; }
PATH="$HOME/.local/bin:$PATH"; cd /tmp && thing && command -v thing
""")
    said, where = done.text.splitlines()
    assert said == "thing with part" and where.endswith("/.local/bin/thing"), done
    assert list(bench.home.iterdir()) == [], "the caller's own home"


PIP = "export PIP_INDEX_URL=https://pypi.test/simple/ PIP_DISABLE_PIP_VERSION_CHECK=1\n"


def test_pip_installs_into_a_virtual_environment(bench, packages):
    done = session(bench, PIP + f"""
{PYTHON} -m venv .venv && . .venv/bin/activate && pip install -q thing && python -c 'import thing'
pip list --format=freeze | grep -E '^(part|thing)' | tr '\\n' ' '; pip uninstall -qy thing && ! python -c 'import thing' 2>&- && echo gone
""")
    assert done.text == "thing with part\npart==1.0 thing==1.0 gone\n", done


@both_users
def test_pip_installs_for_the_user_without_sudo(bench, packages):
    done = session(bench, PIP + f"""
{PYTHON} -m pip install -q --user --break-system-packages thing && cd /tmp && {PYTHON} -c 'import thing'
""")
    assert done.text == "thing with part\n", done
    assert list(bench.home.iterdir()) == [], "the caller's own home"


def cargo():
    """(its directory, what the sandbox must be shown for it)"""
    if found := shutil.which("cargo", path=CLEAN["PATH"]):
        return Path(found).parent, []
    for chain in sorted(Path("/root/.rustup/toolchains").glob("*")) if os.geteuid() == 0 else []:
        if (chain / "bin" / "cargo").exists():
            return chain.resolve() / "bin", ["--ro", chain.resolve()]
    pytest.skip("no cargo on this machine")


def test_cargo_builds_and_tests_without_dependencies(bench):
    directory, shown = cargo()
    done = session(bench, f"""
export PATH={directory}:$PATH USER=agent
cargo init -q --name hello . && echo '#[test] fn adds() {{ assert_eq!(1 + 1, 2); }}' >>src/main.rs
cargo build -q && ./target/debug/hello && cargo test -q 2>&1 | grep -o '1 passed'
""", args=shown, timeout=120)
    assert done.text == "Hello, world!\n1 passed\n", done


def test_a_c_program_is_compiled_and_debugged(bench):
    needs("cc")
    needs("make")
    done = session(bench, """
printf '#include <stdio.h>\\nint main(void) { puts("compiled"); return 0; }\\n' >main.c
printf 'all: main\\n\\t./main\\n' >Makefile && make -s -j2
if command -v gdb >/dev/null; then gdb -batch -ex run -ex quit ./main 2>&1 | grep -o 'exited normally'; else echo exited normally; fi
""")
    assert done.text == "compiled\nexited normally\n", done


@both_users
def test_pytest_runs(bench):
    done = session(bench, f"""
cat >test_it.py <<'END'
import socket, subprocess, tempfile, threading
def test_files(tmp_path):
    (tmp_path / "x").write_text("x")
def test_processes():
    assert subprocess.check_output(["echo", "x"]) == b"x\\n"
def test_sockets():
    server = socket.create_server(("localhost", 0))
    with socket.create_connection(server.getsockname()) as client:
        assert server.accept()[0].getpeername() == client.getsockname()
def test_fails():
    assert False, "as it should"
END
{PYTHON} -m pytest -q 2>&1 | tail -1 || true
""")
    assert "1 failed, 3 passed" in done.text, done


# -- servers and children --------------------------------------------------------------------------
@both_users
def test_a_dev_server_on_localhost_and_curl_to_it(bench):
    """By every name of the loopback, on a port of its own and on those that are captured elsewhere."""
    done = session(bench, f"""
echo hello >index.html
for at in '127.0.0.1 3000' '0.0.0.0 8080' ':: 5173' '127.0.0.1 80' '127.0.0.1 443'; do
  set -- $at; {PYTHON} -m http.server $2 --bind $1 >/dev/null 2>&1 &
done
get() {{ curl -sS --retry 20 --retry-connrefused --retry-delay 1 -m 5 "$1" || echo "no $1"; }}
get http://127.0.0.1:3000/; get http://localhost:3000/; get http://localhost:8080/; get http://127.0.0.2:8080/
get http://[::1]:5173/; get http://localhost:5173/; get http://localhost/; get http://127.0.0.1:443/
[ -z "$(curl -sS -m 5 http://localhost:3999/ 2>&-)" ] && echo refused
""")
    assert done.text == "hello\n" * 8 + "refused\n", done
    assert [r for r in done.records if r["type"] == "intent"] == [], "what is local is no exchange"


@both_users
def test_a_background_child_lives_as_long_as_the_session(bench):
    start = time.monotonic()
    done = session(bench, """
nohup sh -c 'while :; do date +%N >>beat; sleep 0.1; done' >/dev/null 2>&1 &
setsid sh -c 'echo $$ >pid; exec sleep 1000' &
( (sleep 0.5; echo late >late) & )
sleep 1.5; cat late; [ "$(wc -l <beat)" -ge 5 ] && kill -0 "$(cat pid)" && echo alive; jobs -p | wc -l
""")
    assert done.text.split() == ["late", "alive", "2"], done
    assert time.monotonic() - start < 60, "the end of the session waits for no child"
    size = (bench.ws / "project" / "beat").stat().st_size
    time.sleep(0.5)
    assert (bench.ws / "project" / "beat").stat().st_size == size, "it goes on after the session"


@both_users
def test_python_multiprocessing(bench):
    """Locks, pools and shared memory need /dev/shm."""
    done = session(bench, f"""
cat >work.py <<'END'
import multiprocessing as m
from multiprocessing import shared_memory
from concurrent.futures import ProcessPoolExecutor
def square(n): return n * n
def add(lock, total, data):
    for _ in range(100):
        with lock: total.value += 1
    shared = shared_memory.SharedMemory(data)
    shared.buf[0] = 7
    shared.close()
if __name__ == "__main__":
    lock, total, data = m.Lock(), m.Value("i", 0), shared_memory.SharedMemory(create=True, size=1 << 20)
    many = [m.Process(target=add, args=(lock, total, data.name)) for _ in range(4)]
    [p.start() for p in many]; [p.join() for p in many]
    print(total.value, data.buf[0], sum(ProcessPoolExecutor(2).map(square, range(10))))
    with m.Manager() as manager: print(manager.list([1, 2]))
    data.close(); data.unlink()
END
{PYTHON} work.py 2>&1
""")
    assert done.text == "400 7 285\n[1, 2]\n", done


# -- surroundings ----------------------------------------------------------------------------------
@both_users
@pytest.mark.parametrize("env,zone", [({"TZ": "Asia/Tokyo"}, "+0900"), ({"TZ": "XYZ+3:30"}, "-0330"), ({}, None)])
def test_locale_and_time_zone_are_the_callers(bench, env, zone):
    done = session(bench, f"""
date +%z; locale charmap; {PYTHON} -c 'print("sch\\u00f6n \\u2713")'; printf 'ä\\n' | wc -m; echo "$LANG|${{LC_TIME:-}}"
date -d @86400 +%B; touch "na\\u00efve café" 'ключ' && ls | wc -l; [ "$(date +%s)" -gt 1700000000 ] && echo now
""", env={"LANG": "C.UTF-8", "LC_TIME": "C", **env})
    outside = time.strftime("%z")
    assert done.text.splitlines() == [zone or outside, "UTF-8", "schön ✓", "2", "C.UTF-8|C", "January", "2", "now"], done


def test_a_shell_on_a_terminal_does_an_agents_round(bench):
    """As a person starts it: line editing, completion of a pipeline, a pager, an editor's alternate screen."""
    bench.config(rules=RULES, grants=GRANTS)
    bench.own()
    term = Terminal(bench.argv(["/bin/bash", "--norc", "-i"]), bench.ws, bench.environment({"PS1": "$ "}))
    bench.running.append(term.process)
    try:
        term.expect(r"\$ ", 20)
        term.send("stty -a | grep -o 'icanon' && test -t 0 -a -t 1 -a -t 2 && echo all$((3))\n")
        term.expect("all3", 20)
        term.send("echo wrogn\x01\x0b")                 # Ctrl-A, Ctrl-K: the line is edited away
        term.send("sleep 500 & jobs | grep -c Running; kill %1; wait; echo ended$((1))\n")
        term.expect("ended1", 20)
        term.send(f"{PYTHON} -c 'import os; print(os.getpgrp() == os.tcgetpgrp(0), os.ttyname(0))'\n")
        term.expect("True /dev/", 20)
        term.send("seq 200 | less -E -X | tail -1\n")
        term.expect(r"200\r", 20)
        term.send("exit 3\n")
        assert term.wait(20) == 3
    finally:
        term.close()


def test_headless_chromium_shows_a_page_of_the_dev_server(bench):
    chromium = needs("chromium")
    done = session(bench, f"""
echo '<p id=x></p><script>x.textContent = "run " + (40 + 2)</script>' >index.html
{PYTHON} -m http.server 3000 >/dev/null 2>&1 &
curl -sS --retry 20 --retry-connrefused --retry-delay 1 -o /dev/null http://localhost:3000/
timeout 60 {chromium} --headless --no-sandbox --disable-gpu --user-data-dir=/tmp/profile --dump-dom http://localhost:3000/ 2>log || {{ tail -5 log; exit 1; }}
""")
    assert '<p id="x">run 42</p>' in done.text, done
