"""An HTTP/2 origin over hyper-h2: each connection has a thread, and each stream one for its script.

`script(stream)` runs for each request as soon as its head is there. What negotiated something else
than h2 is served by `h1(conn)`.
"""

import json
import select
import socket
import ssl
import threading
import time
import traceback
from collections import deque

import h2.exceptions
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (ConnectionTerminated, DataReceived, RequestReceived, StreamEnded,
                       StreamReset, TrailersReceived)
from hpack import NeverIndexedHeaderTuple
from hyperframe.frame import GoAwayFrame

from . import echo
from .origin import Closed, Origin

_REFUSED = (h2.exceptions.ProtocolError, h2.exceptions.StreamClosedError)


class Gone(Closed):
    """The stream was reset, or its connection is over."""


def _text(fields):
    return [(bytes(n).decode("latin-1"), bytes(v).decode("latin-1")) for n, v in fields]


class Stream:
    """One request as a script sees it."""

    def __init__(self, conn, number, fields):
        self.conn, self.id = conn, number
        self.headers = _text(fields)      # pseudo fields too, in order
        self.never_indexed = {bytes(f[0]).decode() for f in fields
                              if isinstance(f, NeverIndexedHeaderTuple)}
        self.trailers = []
        self.arrived = bytearray()        # of the body, whether or not the script has read it
        self.frames = []                  # (moment, size) of each DATA frame
        self.ended = False                # the request is complete
        self.was_reset = None             # the peer's code
        self.gone_at = None               # when it was reset, or the connection ended
        self.opened = time.monotonic()
        self._unread = deque()

    def all(self, name):
        return [v for n, v in self.headers if n == name]

    def get(self, name, default=None):
        return (self.all(name) or [default])[0]

    @property
    def method(self):
        return self.get(":method")

    @property
    def path(self):
        return self.get(":path")

    @property
    def plain(self):
        """The fields without the pseudo ones."""
        return [(n, v) for n, v in self.headers if not n.startswith(":")]

    # -- receiving ---------------------------------------------------------------------------
    def read(self, seconds=20.0):
        """The next DATA frame's bytes, and room for as many; b"" at the end."""
        with self.conn.change:
            self._await(lambda: self._unread or self.ended, seconds)
            if not self._unread:
                return b""
            data, size = self._unread.popleft()
            if size:
                self.conn.do(self.conn.h2.acknowledge_received_data, size, self.id)
        return data

    def read_all(self):
        while self.read():
            pass
        return bytes(self.arrived)

    def wait_gone(self, seconds=5.0):
        """How long the peer took to reset the stream or end its connection, or None."""
        start = time.monotonic()
        with self.conn.change:
            self.conn.change.wait_for(lambda: self.gone_at, seconds)
        return self.gone_at - start if self.gone_at else None

    def _await(self, condition, seconds):
        done = self.conn.change.wait_for(lambda: condition() or self.gone_at, seconds)
        if not done:
            raise TimeoutError(f"stream {self.id} {self.path}: the peer does nothing")
        if self.gone_at and not condition():
            raise Gone(f"stream {self.id} was reset: {self.was_reset}")

    # -- sending -----------------------------------------------------------------------------
    def head(self, status=200, headers=(), end=False):
        """A final head, or with a status below 200 an interim one."""
        fields = [(":status", str(status)), *((n, v) for n, v in headers)]
        self._do(self.conn.h2.send_headers, self.id, fields, end)

    def frame(self, data, end=False):
        """Exactly one DATA frame."""
        with self.conn.change:
            self._await(lambda: self._room() >= len(data), 20.0)
            self._do(self.conn.h2.send_data, self.id, data, end)

    def send(self, data, end=False):
        data, at = memoryview(bytes(data)), 0
        while at < len(data):
            with self.conn.change:
                self._await(lambda: self._room() > 0, 20.0)
                piece = bytes(data[at:at + min(self._room(), 16384)])
                at += len(piece)
                self._do(self.conn.h2.send_data, self.id, piece, end and at == len(data))
        if end and not data:
            self.frame(b"", end=True)

    def finish(self, trailers=()):
        if trailers:
            self._do(self.conn.h2.send_headers, self.id, list(trailers), True)
        else:
            self._do(self.conn.h2.end_stream, self.id)

    def reply(self, body=b"", status=200, headers=(), length=True):
        sized = [("content-length", str(len(body)))] if length else []
        self.head(status, [*headers, *sized], end=not body)
        if body:
            self.send(body, end=True)

    def reset(self, code=2):
        self._do(self.conn.h2.reset_stream, self.id, code)

    def _room(self):
        try:
            return self.conn.h2.local_flow_control_window(self.id)
        except _REFUSED:
            return 0

    def _do(self, call, *args):
        with self.conn.change:
            if self.gone_at:
                raise Gone(f"stream {self.id} was reset: {self.was_reset}")
            self.conn.do(call, *args)

    def __repr__(self):
        return (f"<{self.id} {self.method} {self.path} {len(self.arrived)} bytes"
                f"{' ended' if self.ended else ''}{' gone' if self.gone_at else ''}>")


class H2Conn:
    """Drives one connection. Scripts work under `change`; only run() touches the socket."""

    def __init__(self, origin, conn):
        self.origin, self.conn, self.tls = origin, conn, conn.sock
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self.change = threading.Condition(threading.RLock())
        self.streams = {}
        self.table = set()            # all that the peer ever made us keep in the HPACK table
        self.most = 0                 # concurrent streams
        self.goodbye = None           # the code of the peer's GOAWAY
        self.over = False
        self._out, self._closing, self._throttle = bytearray(), None, None
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._waker.setblocking(False)

    def do(self, call, *args):
        with self.change:
            call(*args)
        self._poke()

    def raw(self, data):
        """Bytes that hyper-h2 would not send."""
        with self.change:
            self._out += self.h2.data_to_send() + data
        self._poke()

    def goaway(self, last, code=0):
        """Unlike hyper-h2's own, which lets no stream go on."""
        frame = GoAwayFrame(0, last_stream_id=last, error_code=code)
        self.raw(frame.serialize())

    def close(self, how="fin"):
        """After what is to be sent: `fin` without close_notify, `notify`, or `rst`."""
        self._closing = how
        self._poke()

    def _poke(self):
        try:
            self._waker.send(b"x")
        except OSError:
            pass

    # -- the connection's thread ---------------------------------------------------------------
    def run(self):
        self.tls.setblocking(False)
        with self.change:
            self.h2.initiate_connection()
            if self.origin.settings:
                self.h2.update_settings(self.origin.settings)
        try:
            while self._turn():
                pass
        except (ConnectionError, ssl.SSLError) as error:
            self.conn.ended = self.conn.ended or f"reset: {error}"
        finally:
            with self.change:
                self.over = True
                for stream in self.streams.values():
                    stream.gone_at = stream.gone_at or time.monotonic()
                self.change.notify_all()
            if self._closing == "notify":
                self.conn.close_cleanly()
            elif self._closing == "rst":
                self.conn.reset()

    def _turn(self):
        with self.change:
            self._out += self.h2.data_to_send()
            if self._closing and not self._out:
                return False
        if not self.tls.pending():
            ready, _, _ = select.select([self.tls, self._wake],
                                        [self.tls] if self._out else [], [], 30.0)
            if self._wake in ready:
                self._wake.recv(4096)
        try:
            data = self.tls.recv(65536)
            if not data:
                self.conn.ended = "eof"
                return False
            self._take(data)
        except ssl.SSLWantReadError:
            pass
        with self.change:
            if self._out:
                try:
                    del self._out[:self.tls.send(bytes(self._out[:262144]))]
                except ssl.SSLWantWriteError:
                    pass
        return True

    def _take(self, data):
        if self.origin.keep:
            self.conn.received += data
        with self.change:
            try:
                events = self.h2.receive_data(data)
            except h2.exceptions.ProtocolError as error:
                self.origin.violations.append(f"{type(error).__name__}: {error}")
                self._closing = "fin"
                events = []
            self.table |= {bytes(v) for _, v in self.h2.decoder.header_table.dynamic_entries}
            for event in events:
                self._on(event)
            self.change.notify_all()

    def _on(self, event):
        stream = self.streams.get(getattr(event, "stream_id", None))
        if isinstance(event, RequestReceived):
            stream = self.streams[event.stream_id] = Stream(self, event.stream_id, event.headers)
            self.most = max(self.most, self.h2.open_inbound_streams)
            with self.origin._lock:
                self.origin.streams.append(stream)
            threading.Thread(target=self.origin.serve, args=(stream,), daemon=True).start()
        elif isinstance(event, DataReceived) and stream:
            stream.arrived += event.data
            stream.frames.append((time.monotonic(), len(event.data)))
            stream._unread.append((event.data, event.flow_controlled_length))
        elif isinstance(event, TrailersReceived) and stream:
            stream.trailers = _text(event.headers)
        elif isinstance(event, StreamEnded) and stream:
            stream.ended = True
        elif isinstance(event, StreamReset) and stream:
            stream.was_reset, stream.gone_at = event.error_code, time.monotonic()
        elif isinstance(event, ConnectionTerminated):
            self.goodbye = event.error_code


class H2Origin(Origin):
    """`alpn`: what it offers, None for no ALPN at all. `settings` are applied once acknowledged."""

    def __init__(self, script, pair, alpn=("h2", "http/1.1"), settings=None, h1=echo.serve,
                 keep=True, name="h2"):
        self.on_stream, self.h1, self.settings, self.keep = script, h1, settings or {}, keep
        self.streams, self.h2_connections, self.violations = [], [], []
        super().__init__(self._connection, pair, name)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair.cert, pair.key)
        if alpn:
            context.set_alpn_protocols(list(alpn))
        self._context = context

    def _connection(self, conn):
        if conn.sock.selected_alpn_protocol() != "h2":
            self.h1(conn)
            return
        connection = H2Conn(self, conn)
        with self._lock:
            self.h2_connections.append(connection)
        connection.run()

    def serve(self, stream):
        try:
            self.on_stream(stream)
        except Gone:
            pass
        except Exception as error:
            if isinstance(error, _REFUSED) and (stream.gone_at or stream.conn.goodbye is not None):
                return          # the peer was quicker than the script
            self.errors.append(traceback.format_exc())

    def named(self, path):
        """The streams with this path."""
        with self._lock:
            return [s for s in self.streams if s.path == path]

    @property
    def bytes_seen(self):
        """Every field and body byte that reached it over h2."""
        with self._lock:
            return b"\n".join(
                "\n".join(v for pair in (*s.headers, *s.trailers) for v in pair).encode("latin-1") +
                b"\n" + bytes(s.arrived) for s in self.streams)


def answer(stream):
    """Reads the request and tells what it was."""
    stream.read_all()
    seen = {"headers": stream.headers, "body": stream.arrived.decode("latin-1"),
            "trailers": stream.trailers}
    stream.reply(b"" if stream.method == "HEAD" else json.dumps(seen).encode())
