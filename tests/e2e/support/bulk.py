"""An origin for bodies too large to hold: made, sent, taken and digested on the fly."""

import hashlib
import random
import threading
import zlib

from .echo import reply
from .origin import Closed, Origin

BLOCK = 1 << 20
_BASE = random.Random(7).randbytes(BLOCK)


def blocks(size, mark=b""):
    """`size` bytes in which a loss shows; `mark` stands once in 16 blocks, each time elsewhere."""
    for number in range((size + BLOCK - 1) // BLOCK):
        block = number.to_bytes(8, "big") + _BASE[8:]
        if mark and number % 16 == 0:
            at = 8 + number * 7919 % (BLOCK - 8 - len(mark))
            block = block[:at] + mark + block[at + len(mark):]
        yield block[:size - number * BLOCK]


def digest(pieces):
    state = hashlib.sha256()
    for piece in pieces:
        state.update(piece)
    return state.hexdigest()


class BulkOrigin(Origin):
    """GET /length/SIZE, /chunked/SIZE and /gzip/SIZE; PUT of any framing answers the digest.

    `sent` and `taken` count the bytes of bodies, as they are on the wire; `broken` is set when a peer went away.
    """

    def __init__(self, pair, mark=b""):
        self.mark, self.sent, self.taken = mark, 0, 0
        self.broken = threading.Event()
        super().__init__(self._exchanges, pair, "bulk")

    def _exchanges(self, conn):
        while True:
            request = conn.read_head()
            conn.requests.append(request)
            del conn.received[:]
            kind, _, size = request.target.strip("/").partition("/")
            try:
                if request.method == "PUT":
                    self._take(conn, request)
                elif kind == "ok":
                    reply(conn, request, b"ok")
                else:
                    self._give(conn, kind, int(size))
            except (Closed, TimeoutError):
                self.broken.set()
                raise Closed("in the middle of a body") from None

    def _give(self, conn, kind, size):
        chunked = kind != "length"
        framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
        coding = "Content-Encoding: gzip\r\n" if kind == "gzip" else ""
        conn.sock.settimeout(600)     # a slow reader is what a test wants
        conn.send(f"HTTP/1.1 200 OK\r\n{coding}{framing}\r\n\r\n".encode())
        for piece in self._pieces(size, zlib.compressobj(1, wbits=31) if coding else None):
            conn.send(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            self.sent += len(piece)
        if chunked:
            conn.send(b"0\r\n\r\n")

    def _pieces(self, size, coder):
        for block in blocks(size, self.mark):
            for at in range(0, len(block), 65536):
                piece = block[at:at + 65536]
                if piece := coder.compress(piece) if coder else piece:
                    yield piece
        if coder:
            yield coder.flush()

    def _take(self, conn, request):
        self._state = hashlib.sha256()
        if "chunked" in (request.get("transfer-encoding") or ""):
            while size := int(conn.take_until(b"\r\n").split(b";")[0], 16):
                self._digest(conn, size)
                conn.take(2)
            conn.take_until(b"\r\n")
        else:
            self._digest(conn, int(request.get("content-length")))
        reply(conn, request, self._state.hexdigest().encode())

    def _digest(self, conn, size):
        while size:
            if not conn._buffer:
                conn.fill()
            piece = conn.take(min(size, len(conn._buffer)))
            del conn.received[:]
            self._state.update(piece)
            self.taken += len(piece)
            size -= len(piece)
