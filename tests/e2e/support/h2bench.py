"""What the HTTP/2 tests share: an h2 api.test, and scripts that speak h2 inside the sandbox."""

import shutil
from pathlib import Path

from .bench import INSIDE
from .h2origin import H2Origin, answer
from .origin import Origin
from .talk import Talk


def origin_of(bench, pki, script=answer, host="api.test", **more):
    origin = H2Origin(script, pki.good, **more)
    bench.map(f"{host}:443", origin)
    return origin


def h1_origin_of(bench, pki, script, host="api.test"):
    origin = Origin(script, pki.good)
    bench.map(f"{host}:443", origin)
    return origin


def inside(bench, script, *args, **more):
    """Runs it with wire.py and h2wire.py."""
    shutil.copy(INSIDE / "h2wire.py", bench.ws / "h2wire.py")
    return bench.python("from h2wire import *\n" + script, *args, **more)


def talk(bench, script, *args):
    """The same, in steps: the script stops at its pauses."""
    shutil.copy(INSIDE / "h2wire.py", bench.ws / "h2wire.py")
    return Talk(bench, "from h2wire import *\n" + script, *args)


def peak_of(task):
    """peak(): by how much the gateway's memory has grown at its highest since now."""
    Path(f"/proc/{task.pid}/clear_refs").write_text("5")     # VmHWM begins anew
    before = task.memory()
    return lambda: task.memory("VmHWM") - before
