"""Servers that are no part of the tests: the machine's own, or what tests/clients/install unpacked without installing it."""

import glob
import os
import pwd
import socket
import subprocess
import time
from pathlib import Path

import pytest

from .bench import CLEAN, REPO

UNPACKED = Path(os.environ.get("WARDER_CLIENTS", REPO / "build" / "clients")) / "daemons" / "root"
LIBRARIES = ":".join(map(str, (UNPACKED / "usr/lib/x86_64-linux-gnu", UNPACKED / "lib/x86_64-linux-gnu",
                               UNPACKED / "usr/lib/aarch64-linux-gnu", UNPACKED / "lib/aarch64-linux-gnu")))


def find_server(*patterns):
    """(program, the environment to start it with): the first that is there, or a skip that says so."""
    for root, env in (("/", CLEAN), (f"{UNPACKED}/", {**CLEAN, "LD_LIBRARY_PATH": LIBRARIES})):
        for pattern in patterns:
            if found := sorted(filter(os.path.exists, glob.glob(root + pattern))):
                return found[-1], env
    pytest.skip(f"no {os.path.basename(patterns[0])} on this machine: make test-clients unpacks one")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class Sshd:
    """A real sshd as an ordinary user, on a free port, with keys made here."""

    def __init__(self, directory, user, prefix=(), reach=None):
        program, env = find_server("usr/sbin/sshd")
        self.directory, self.user, self.port = directory, user, free_port()
        directory.mkdir()
        for name in ("host", "client"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory / name], check=True)
        (directory / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {directory}/host\nPidFile none\n"
            f"AuthorizedKeysFile {directory}/client.pub\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\n")
        if user:
            for path in (directory, *directory.rglob("*")):
                os.chown(path, user.uid, user.gid, follow_symlinks=False)
        self.log = open(directory / "log", "wb")
        command = [*prefix, *(user.prefix if user else []), program, "-D", "-e", "-f", directory / "sshd_config"]
        self.process = subprocess.Popen([str(word) for word in command], stderr=self.log, env=env)
        self._await(reach or (lambda connect: connect()))

    def _await(self, reach):
        def connect():
            with socket.socket() as client:
                return client.connect_ex(("127.0.0.1", self.port))
        deadline = time.monotonic() + 5
        while reach(connect) != 0:
            assert time.monotonic() < deadline and self.process.poll() is None, self.said()
            time.sleep(0.02)

    @property
    def login(self):
        return self.user.name if self.user else pwd.getpwuid(os.geteuid()).pw_name

    def said(self):
        return (self.directory / "log").read_text()

    def stop(self):
        self.process.terminate()
        self.process.wait(5)
        self.log.close()
