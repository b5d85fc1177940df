"""Fixtures of the end-to-end tests: they start real processes, see docs in support/."""

import itertools
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from support import processes
from support.bench import REPO, Bench
from support.certs import Pki
from support.echo import echo_origin

_counter = itertools.count(1)


@dataclass(frozen=True)
class User:
    name: str
    uid: int
    gid: int

    @property
    def prefix(self):
        return ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--init-groups",
                "--inh-caps=-all"]


@pytest.fixture(scope="session", autouse=True)
def subreaper():
    processes.become_subreaper()


@pytest.fixture(scope="session")
def base():
    """Everything of this session; searchable by any user, as a home of an ordinary user is."""
    directory = Path(tempfile.mkdtemp(prefix="warder-e2e-"))
    directory.chmod(0o755)
    yield directory
    if not os.environ.get("WARDER_E2E_KEEP"):
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def pki(base):
    return Pki(base / "pki")


@pytest.fixture(scope="session")
def build(base):
    """Where the two executables are; copied when an ordinary user could not reach them."""
    chosen = Path(os.environ.get("WARDER_BUILD", REPO / "build")).resolve()
    for name in ("warder", "warder-sandbox"):
        assert (chosen / name).exists(), f"{chosen / name} is not built: make build"
    if all(p.stat().st_mode & 0o001 for p in (chosen, *chosen.parents)):
        return chosen
    copy = base / "bin"
    copy.mkdir()
    for name in ("warder", "warder-sandbox"):
        shutil.copy2(chosen / name, copy / name)
    return copy


@pytest.fixture(scope="session")
def ordinary_user():
    if os.geteuid() != 0:
        pytest.skip("already an ordinary user: the plain variant of this test is this one")
    name = f"we2e{os.getpid()}"
    for left in pwd.getpwall():         # of a session that was killed
        pid = re.fullmatch(r"we2e(\d+)", left.pw_name)
        if pid and not os.path.exists(f"/proc/{pid[1]}"):
            subprocess.run(["userdel", left.pw_name], capture_output=True)
    subprocess.run(["useradd", "--no-create-home", "--user-group", "--shell", "/bin/sh", name],
                   check=True, capture_output=True)
    entry = pwd.getpwnam(name)
    yield User(name, entry.pw_uid, entry.pw_gid)
    subprocess.run(["userdel", name], capture_output=True)


@pytest.fixture
def bench(request, base, pki, build):
    """A workspace; `@both_users` runs the test as the current user and as an ordinary one."""
    user = None
    if getattr(request, "param", "self") == "user":
        user = request.getfixturevalue("ordinary_user")
    word = re.sub(r"\W+", "-", request.node.originalname)[:40].strip("-")
    place = Bench(base / f"{next(_counter)}-{word}-{os.getpid()}", pki, build, user)
    yield place
    place.close()


@pytest.fixture
def echo(pki, bench):
    """The echo origin as api.test and other.test, with TLS on 443 and clear text on 80."""
    origin = echo_origin(pki.good)
    clear = echo_origin(name="clear")
    origin.clear = clear
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", origin).map(f"{host}:80", clear)
    return origin
