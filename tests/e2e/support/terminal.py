"""A program on a pseudo-terminal of its own, with expect-like waiting."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time


class Terminal:
    def __init__(self, argv, cwd, env, rows=24, cols=80):
        self.master, slave = pty.openpty()
        self.resize(rows, cols)
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.seen = b""

        def controlling():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=slave, stdout=slave,
                                        stderr=slave, start_new_session=True,
                                        preexec_fn=controlling)

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def send(self, data):
        os.write(self.master, data if isinstance(data, bytes) else data.encode())

    def expect(self, pattern, seconds=8.0):
        """Waits until what was not yet expected matches; forgets up to the match's end."""
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern.encode(), self.seen)):
            left = deadline - time.monotonic()
            assert left > 0, f"{pattern!r} did not come; seen: {self.seen[-2000:]!r}"
            if not self._read(min(left, 0.2)) and self.process.poll() is not None:
                self._read(0.2)
                assert re.search(pattern.encode(), self.seen), \
                    (f"ended with {self.process.returncode} before {pattern!r}; "
                     f"seen: {self.seen[-2000:]!r}")
        self.seen = self.seen[found.end():] if found else self.seen
        return found

    def _read(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            self.seen += os.read(self.master, 65536)
        except OSError:
            return False
        return True

    def wait(self, seconds=8.0):
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"does not end; seen: {self.seen[-2000:]!r}"
            self._read(0.05)
        while self._read(0.05):
            pass
        return self.process.returncode

    def modes(self):
        return termios.tcgetattr(self.slave)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.master, self.slave):
            os.close(fd)
