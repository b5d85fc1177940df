"""A script inside that stops at its pauses, so that the test can measure the gateway in between."""

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path

from .bench import INSIDE, PYTHON, Result

# One SSL context for all connections: loading the bundle takes longer than a handshake.
_PREAMBLE = """from wire import *
_context = ssl.create_default_context()
ssl.create_default_context = lambda: _context

def pause(**values):
    show(**values)
    sys.stdin.readline()

"""


class Talk:
    def __init__(self, bench, script, *args):
        bench.write("client.py", _PREAMBLE + script)
        shutil.copy(INSIDE / "wire.py", bench.ws / "wire.py")
        self.bench, self.out, self._rest = bench, b"", b""
        self._err = open(bench.directory / "stderr", "w+b")
        self._start = time.monotonic()
        self.process = bench.start([PYTHON, "-B", str(bench.ws / "client.py"), *map(str, args)],
                                   stdin=subprocess.PIPE, stderr=self._err)
        self.pid = self.process.pid

    # -- the conversation ----------------------------------------------------------------------
    def hear(self, seconds=60.0):
        """The next line that the script showed."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self.process.stdout], [], [], max(left, 0))
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            assert data, f"{'it ended' if ready else 'nothing came'}: {self.error()[-3000:]}"
            self.out += data
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def go(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def end(self, seconds=30.0):
        """Lets the script run to its end, and applies the oracles."""
        self.go()
        out, _ = self.process.communicate(timeout=seconds)
        done = Result(self.process.returncode, self.out + out, self.error().encode(),
                      time.monotonic() - self._start)
        self._err.close()
        assert done.code == 0, done
        return self.bench.check_end(done)

    def error(self):
        self._err.seek(0)
        return self._err.read().decode("utf-8", "replace")

    # -- what the gateway holds ----------------------------------------------------------------
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def descriptors_settled(self, most, seconds=15.0):
        """How many there are once at most `most` are left, or when the time is over."""
        deadline = time.monotonic() + seconds
        while (now := self.descriptors()) > most and time.monotonic() < deadline:
            time.sleep(0.1)
        return now

    def memory(self, field="VmRSS"):
        """Bytes; VmHWM is the most that it ever was."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.split(f"{field}:")[1].split()[0]) * 1024

    def sanitized(self):
        return self.bench.sanitized
