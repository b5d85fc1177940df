"""Working trees for the tests: repositories, a canary that planted programs would make, what was held back."""

import hashlib
import os
import subprocess


def host_git(bench, *args, cwd=None):
    """git as the user has it outside, with nothing of the machine's own configuration."""
    env = {**bench.environment(), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1",
           "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
           "GIT_AUTHOR_NAME": "me", "GIT_AUTHOR_EMAIL": "me@test", "GIT_COMMITTER_NAME": "me",
           "GIT_COMMITTER_EMAIL": "me@test", "PAGER": "cat"}
    return subprocess.run(bench.as_user(["git", *args]), cwd=cwd or bench.ws, env=env,
                          capture_output=True, timeout=30)


def repository(bench, at="."):
    """A repository with one commit of all that is there, but for the audit file."""
    directory = bench.ws / at
    directory.mkdir(parents=True, exist_ok=True)
    bench.config()
    (directory / "file").write_text("one\n")
    (directory / ".gitignore").write_text("audit/\n")
    bench.own()
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        done = host_git(bench, *command, cwd=directory)
        assert done.returncode == 0, done
    return directory


class Canary:
    """A script that leaves a file outside of the workspace when somebody runs it there."""

    def __init__(self, bench):
        self.bench = bench
        self.directory = bench.directory / "canary"
        self.directory.mkdir()
        self.directory.chmod(0o777)
        self.script = f"#!/bin/sh\ntouch {self.directory}/$$\nexit 0\n"

    def sang(self):
        return sorted(os.listdir(self.directory))

    def assert_silent(self, cwd=None):
        """After what a person does next outside."""
        for command in (["status"], ["diff"], ["log", "-1"], ["checkout", "-q", "-b", "after"],
                        ["checkout", "-q", "-"], ["branch", "-D", "after"], ["st"]):
            host_git(self.bench, *command, cwd=cwd)
        assert self.sang() == [], "something that was planted ran outside"


def state_of(directory):
    """As `find -printf '%p %y %s %l' | sha256sum`, without the audit file and what git itself keeps."""
    lines = []
    for base, dirs, files in os.walk(directory):
        dirs[:] = [d for d in dirs if d not in ("audit", "objects")]
        for name in sorted(dirs + files):
            path = os.path.join(base, name)
            info = os.lstat(path)
            link = os.readlink(path) if os.path.islink(path) else ""
            size = info.st_size if os.path.isfile(path) else 0
            lines.append(f"{path} {info.st_mode:o} {size} {link}")
    return hashlib.sha256("\n".join(sorted(lines)).encode("utf-8", "surrogateescape")).hexdigest()


def held(bench):
    """What lies in the state's held directory, relative to the run's own."""
    top = bench.state / "warder/held"
    return sorted(str(p.relative_to(top).relative_to(p.relative_to(top).parts[0]))
                  for p in top.rglob("*") if not p.is_dir() or p.is_symlink()) if top.exists() else []
