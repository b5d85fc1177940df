"""A Docker daemon of this session's own, without a network; Warder's doctor in a container of it."""

import io
import json
import os
import shutil
import subprocess
import tarfile
import time
from pathlib import Path


def why_not():
    """Why no daemon can be started here; None where it can."""
    if os.geteuid() != 0:
        return "no Docker daemon: needs root"
    for name in ("dockerd", "docker", "containerd", "runc"):
        if not shutil.which(name):
            return f"no Docker daemon: there is no {name} (apt-get install docker.io)"
    return None


def _image():
    """The directories of a system whose /usr is the host's, bound when it runs."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in ("bin", "sbin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            tar.addfile(link)
        for name, mode in (("usr", 0o755), ("tmp", 0o1777), ("etc", 0o755), ("etc/ssl", 0o755),
                           ("mnt", 0o755), ("run", 0o755), ("work", 0o1777), ("home", 0o1777)):
            directory = tarfile.TarInfo(name)
            directory.type, directory.mode = tarfile.DIRTYPE, mode
            tar.addfile(directory)
    return buffer.getvalue()


class Docker:
    def __init__(self, directory: Path):
        self.directory = directory
        directory.mkdir()
        self.socket = f"unix://{directory}/sock"
        self.log = open(directory / "log", "wb")
        self.daemon = subprocess.Popen(
            ["unshare", "-m", "-n", "--propagation", "private", "dockerd", "--data-root",
             directory / "data", "--exec-root", directory / "exec", "--pidfile", directory / "pid",
             "--iptables=false", "--ip6tables=false", "--bridge=none", "-H", self.socket],
            stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + 60
        while self._docker("version").returncode != 0:
            said = (directory / "log").read_text()[-2000:]
            assert self.daemon.poll() is None and time.monotonic() < deadline, said
            time.sleep(0.1)
        done = self._docker("import", "-", "system:1", input=_image())
        assert done.returncode == 0, done

    def _docker(self, *argv, **more):
        return subprocess.run(["docker", "-H", self.socket, *map(str, argv)], capture_output=True,
                              timeout=120, **more)

    def doctor(self, place, *options, user=1000):
        """What `warder doctor` says as `user` of a container with Docker's defaults and `options`."""
        mounts = ["-v", "/usr:/usr:ro", "-v", "/etc/ssl:/etc/ssl:ro", "-v", f"{place.build}:/mnt:ro"]
        done = self._docker("run", "--rm", "--network", "none", "--user", user, "-w", "/work", "-e",
                            "HOME=/home", *mounts, *options, "system:1", "/mnt/warder", "doctor",
                            "--json")
        assert done.stdout.startswith(b"{"), done
        report = json.loads(done.stdout)
        return {**report, "exit": done.returncode,
                "by": {check["name"]: check for check in report["checks"]}}

    def close(self):
        self.daemon.terminate()
        self.daemon.wait(30)
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
