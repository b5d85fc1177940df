"""git: its own HTTP tests with a proxy and without, and a push of 200 MB."""

import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager

import pytest

from matrix import PATH, needs, record
from support.bench import REPO, SECRET
from support.daemon import Daemon, free_port
from support.git_origin import git_origin, make_repository

SCRIPT = REPO / "tests" / "clients" / "git_http_tests.sh"
PORTS = [5540, 5541, 5542, 5550, 5551, 5581]      # each test's web server listens on its own number


def git_version():
    return subprocess.run(["git", "--version"], capture_output=True, text=True).stdout.split()[2]


APACHE = """
ServerRoot /usr/lib/apache2
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule proxy_module modules/mod_proxy.so
LoadModule proxy_http_module modules/mod_proxy_http.so
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
User {user}
Group {user}
PidFile {place}/pid
ErrorLog {place}/error.log
ProxyRequests On
"""


@contextmanager
def plain_proxy(world, place, user):
    """Apache as a forward proxy: some of the cases cannot pass through any."""
    place.mkdir()
    port = free_port()
    (place / "conf").write_text(APACHE.format(place=place, port=port, user=user.name))
    process = subprocess.Popen([*world.prefix, "apache2", "-d", "/", "-X", "-f", place / "conf"],
                               start_new_session=True)
    try:
        time.sleep(1)
        assert process.poll() is None, (place / "error.log").read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def test_gits_own_http_tests(world, base, ordinary_user):
    """What fails directly, or through a proxy that changes nothing, may fail through Warder; nothing else.

    (The cases that look at the request line in git's own trace, where a proxy gets the absolute form, and
    the one that gives curl an address for a name, which a proxy looks up itself. The listener asks for no
    token: git sends it only when asked, and one case counts its requests.)"""
    place = needs("git")
    shutil.which("apache2", path=PATH) or pytest.skip("no apache2")
    bench = world.place("git-tests")
    for port in PORTS:
        bench.connect[f"127.0.0.1:{port}"] = f"127.0.0.1:{port}"
    rules = [{"name": "git", "hosts": ["127.0.0.1"], "ports": PORTS, "action": "allow"}]
    failures, lines = {}, {}
    with Daemon(bench, [{"type": "connect"}], rules=rules, grants=[]) as daemon, \
            plain_proxy(world, base / "plain", ordinary_user) as plain:
        proxies = {"direct": None, "plain": plain,
                   "warder": f"http://127.0.0.1:{daemon.ports['connect-1']}"}
        for kind, proxy in proxies.items():
            out = base / f"git-{kind}"
            out.touch()
            os.chown(out, ordinary_user.uid, ordinary_user.gid)
            env = {"http_proxy": proxy, "https_proxy": proxy} if proxy else {}
            done = subprocess.run([*world.prefix, *ordinary_user.prefix, SCRIPT, "run", place, out],
                                  env={"PATH": PATH, "LANG": "C.UTF-8", **env}, capture_output=True,
                                  text=True, timeout=900, cwd="/")
            assert done.returncode == 0, done
            failures[kind], lines[kind] = set(out.read_text().splitlines()), done.stdout
        through = [r for r in daemon.records("intent", 1) if r["authority"].startswith("http://127.0.0.1")]
    passed = sum(int(n) for n in re.findall(r": (\d+) ok", lines["warder"]))
    only = failures["warder"] - failures["direct"] - failures["plain"]
    both = {kind: len(failures["warder"] & failures[kind]) for kind in ("direct", "plain")}
    result = (f"{passed} cases pass; {len(failures['warder'])} fail, of them {both['direct']} without a "
              f"proxy too and {both['plain']} through Apache's forward proxy too")
    record("git's own HTTP tests", git_version(), "connect", "HTTP/1.1",
           result + (f"; **only through Warder**: {sorted(only)}" if only else ""))
    assert passed > 100 and len(through) > 100, lines
    assert not only, (sorted(only), lines)


def test_push_of_200_mb(world):
    bench = world.place("git-push")
    root = bench.directory / "git"
    make_repository(root)
    origin = world.net.run(lambda: git_origin(world.pki.good, root, SECRET)) if world.net else \
        git_origin(world.pki.good, root, SECRET)
    origin.patience = 200       # its connection is idle while git makes the commit
    bench.map("git.test:443", origin)
    bench.config(rules=[{"name": "git", "hosts": ["git.test"], "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": ["git.test"], "at": ["basic"]}])
    done = bench.run("""set -e
        git clone -q "https://x-access-token:$API_TOKEN@git.test/r.git" clone
        cd clone
        head -c 200000000 /dev/urandom > new
        git add new
        git -c user.name=t -c user.email=t@t commit -q -m second
        git push -q origin main
        git rev-parse HEAD:new
        cd .. && rm -rf clone""", timeout=240)
    assert done.code == 0, done
    pushed = subprocess.run(["git", "-c", "safe.directory=*", "-C", root / "r.git", "rev-parse", "main:new"],
                            capture_output=True, text=True).stdout
    record("git clone, push of 200 MB", git_version(), "transparent", "HTTP/1.1",
           "ok" if pushed and pushed in done.text else "**no**")
    bench.close()
    assert pushed and pushed in done.text, done
