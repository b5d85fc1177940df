"""What the HTTP/2 tests share: an h2 api.test, and scripts that speak h2 inside the sandbox."""

import shutil
import time
from pathlib import Path

from .bench import INSIDE
from .echo import echo_origin
from .h2origin import H2Origin, answer
from .origin import Origin
from .talk import Talk


def origin_of(bench, pki, script=answer, host="api.test", **more):
    origin = H2Origin(script, pki.good, **more)
    bench.map(f"{host}:443", origin)
    return origin


def event_origin(bench, pki, version):
    """/stream of api.test and other.test is events without end, in the version that curl is told to speak."""
    def serve(stream):
        stream.read_all()
        if not stream.path.startswith("/stream"):
            return stream.reply(b"ok\n")
        stream.head(200, [("content-type", "text/event-stream")])
        while True:
            stream.send(b"data: event\n\n")
            time.sleep(0.05)

    origin = H2Origin(serve, pki.good) if version == "--http2" else echo_origin(pki.good)
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", origin)
    return origin


def asked(origin):
    """The credentials of what arrived, in either version."""
    return [r.get("authorization") for r in getattr(origin, "streams", None) or origin.requests]


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
