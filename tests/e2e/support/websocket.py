"""WebSocket origins, raw and by Python's websockets, and scripts inside that speak it."""

import asyncio
import shutil
import ssl
import threading

import websockets

from .bench import INSIDE
from .inside.wswire import CLOSE, accept_of, frame, read_frame
from .raw import raw_origin
from .talk import Talk


def switch(conn, behind=b"", headers=""):
    """Takes the handshake and answers it; `behind` leaves in the same segment."""
    request = conn.read_request()
    conn.send(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               f"Sec-WebSocket-Accept: {accept_of(request.get('sec-websocket-key'))}\r\n"
               f"{headers}\r\n").encode() + behind)
    return request


def ws_origin(bench, pki, script, **kind):
    """A raw api.test whose script begins behind the handshake; what came before is for switch()."""
    def serve(conn):
        switch(conn)
        script(conn)
    return raw_origin(bench, pki, serve, **kind)


def inside(bench, script, *args, **more):
    shutil.copy(INSIDE / "wswire.py", bench.ws / "wswire.py")
    return bench.python("from wswire import *\n" + script, *args, **more)


def talk(bench, script, *args):
    """The same, in steps: the script stops at its pauses."""
    shutil.copy(INSIDE / "wswire.py", bench.ws / "wswire.py")
    return Talk(bench, "from wswire import *\n" + script, *args)


def receipts(done):
    """Of the exchanges that were WebSockets, as they began."""
    return sorted((r for r in done.records if r.get("status") == 101), key=lambda r: r["exchange"])


def receipt(done):
    found = receipts(done)
    assert len(found) == 1, done.records
    return found[0]


def is_fine(one):
    return one.get("reason") in (None, "", "none")


def echo_frames(conn):
    """Sends each frame back, unmasked, as it is; answers a Close and ends."""
    while True:
        got = read_frame(conn)
        conn.send(frame(got.opcode, got.payload, got.fin))
        if got.opcode == CLOSE:
            conn.close_cleanly()
            return


class Websockets:
    """An origin by the websockets package, with all that it does by default."""

    def __init__(self, handler, pair=None, **options):
        self.handler, self.options, self.handshakes = handler, options, []
        self.context = None
        if pair:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(pair.cert, pair.key)
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self.ready.wait(5), "the websockets server did not start"

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self._listen())
        self.ready.set()
        self.loop.run_forever()

    async def _listen(self):
        async def note(path, headers):
            self.handshakes.append((path, list(headers.raw_items())))
        self.server = await websockets.serve(self.handler, "127.0.0.1", 0, ssl=self.context,
                                             process_request=note, max_size=1 << 24,
                                             **self.options)
        self.address = "127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]

    received, errors = b"", ()      # what the oracles ask an origin for

    def stop(self):
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(5)


async def echo(connection):
    async for message in connection:
        if message == "close me":
            await connection.close(4000, "as you wish")
            return
        await connection.send(message)
