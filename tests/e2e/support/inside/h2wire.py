"""HTTP/2 clients for scripts inside the sandbox: H2Wire speaks it well, RawH2 sends any frame."""

import socket
import ssl
import time

import h2.exceptions
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (ConnectionTerminated, DataReceived, InformationalResponseReceived,
                       ResponseReceived, StreamEnded, StreamReset, TrailersReceived)
from hpack import Decoder, Encoder
from hyperframe.frame import (ContinuationFrame, DataFrame, Frame, GoAwayFrame,  # noqa: F401
                              HeadersFrame, PriorityFrame, RstStreamFrame, SettingsFrame,
                              WindowUpdateFrame)

from wire import TOKEN

BEARER = [("authorization", f"Bearer {TOKEN}")]
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def text(fields):
    return [[n.decode("latin-1"), v.decode("latin-1")] for n, v in fields]


def connect(host, sni=None, address=None, timeout=8.0):
    sock = socket.create_connection((address or host, 443), timeout=timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2"])
    tls = context.wrap_socket(sock, server_hostname=sni or host)
    assert tls.selected_alpn_protocol() == "h2", tls.selected_alpn_protocol()
    return tls


def fields(path="/", headers=(), method="GET", authority="api.test"):
    return [(":method", method), (":scheme", "https"), (":authority", authority), (":path", path),
            *headers]


class Stream:
    def __init__(self):
        self.interim, self.status, self.headers, self.trailers = [], 0, [], []
        self.body, self.arrivals = bytearray(), []
        self.ended, self.reset = False, None

    @property
    def done(self):
        return self.ended or self.reset is not None

    def get(self, name):
        return next((v for n, v in self.headers if n == name), None)

    def summary(self):
        return {"status": self.status, "headers": self.headers, "interim": self.interim,
                "trailers": self.trailers, "body": self.body.decode("latin-1"),
                "clean": self.ended and self.reset is None, "reset": self.reset,
                "reason": self.get("warder-reason")}


class H2Wire:
    def __init__(self, host="api.test", settings=None, ack=True, **how):
        self.host, self.ack = host, ack
        self.tls = connect(host, **how)
        # What we send may be wrong on purpose; what we get is checked.
        self.h2 = H2Connection(H2Configuration(
            client_side=True, header_encoding=None, validate_outbound_headers=False,
            normalize_outbound_headers=False))
        self.h2.initiate_connection()
        if settings:
            self.h2.update_settings(settings)
        self.streams, self.goaway, self.closed = {}, None, False
        self.flush()

    def flush(self):
        data = self.h2.data_to_send()
        if data:
            self.tls.sendall(data)

    # -- sending -----------------------------------------------------------------------------
    def request(self, path="/", headers=(), method="GET", authority=None, end=True, all=None):
        number = self.h2.get_next_available_stream_id()
        self.streams[number] = Stream()
        self.h2.send_headers(number, all or fields(path, headers, method, authority or self.host),
                             end)
        self.flush()
        return number

    def frame(self, number, data, end=False):
        """One DATA frame."""
        self.until(lambda: self.h2.local_flow_control_window(number) >= len(data))
        self.h2.send_data(number, data, end)
        self.flush()

    def data(self, number, data, end=False):
        """As the windows allow; stops when the stream is over. How many bytes went."""
        at = 0
        while at < len(data) and not self.streams[number].done:
            self.pump(0)
            if self.streams[number].done:
                break
            room = min(self.h2.local_flow_control_window(number), 16384, len(data) - at)
            if room <= 0:
                if not self.pump(8):
                    break
                continue
            self.h2.send_data(number, data[at:at + room], end and at + room == len(data))
            self.flush()
            at += room
        return at

    def end(self, number, trailers=()):
        if trailers:
            self.h2.send_headers(number, list(trailers), end_stream=True)
        else:
            self.h2.end_stream(number)
        self.flush()

    def reset(self, number, code=8):
        self.h2.reset_stream(number, code)
        self.flush()

    # -- receiving ---------------------------------------------------------------------------
    def pump(self, seconds=8.0):
        """Takes what comes within that time. False: nothing came, or all is over."""
        if self.closed:
            return False
        self.tls.settimeout(seconds if seconds else 0.0)
        try:
            data = self.tls.recv(65536)
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        except OSError:
            data = b""
        finally:
            self.tls.settimeout(8.0)
        if not data:
            self.closed = True
            return False
        now = time.monotonic()
        for event in self.h2.receive_data(data):
            self.on(event, now)
        try:
            self.flush()
        except OSError:
            self.closed = True
        return True

    def on(self, event, now):
        stream = self.streams.get(getattr(event, "stream_id", None))
        if isinstance(event, ConnectionTerminated):
            self.goaway = int(event.error_code)
        elif isinstance(event, InformationalResponseReceived):
            stream.interim.append(text(event.headers))
        elif isinstance(event, ResponseReceived):
            found = text(event.headers)
            stream.status = int(found[0][1])
            stream.headers = found[1:]
        elif isinstance(event, DataReceived):
            stream.body += event.data
            stream.arrivals.append((now, len(event.data)))
            if self.ack:
                try:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                except h2.exceptions.ProtocolError:
                    pass
        elif isinstance(event, TrailersReceived):
            stream.trailers = text(event.headers)
        elif isinstance(event, StreamEnded):
            stream.ended = True
        elif isinstance(event, StreamReset) and event.remote_reset:
            stream.reset = int(event.error_code)

    def until(self, condition, seconds=8.0):
        deadline = time.monotonic() + seconds
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0 or (not self.pump(left) and self.closed):
                return bool(condition())
        return True

    def finish(self, *numbers, seconds=8.0):
        """The summaries of these streams once they are over."""
        numbers = numbers or list(self.streams)
        self.until(lambda: all(self.streams[n].done for n in numbers), seconds)
        found = [self.streams[n].summary() for n in numbers]
        return found[0] if len(found) == 1 else found

    def fetch(self, *args, body=None, trailers=(), **more):
        """One request and its answer."""
        number = self.request(*args, end=body is None and not trailers, **more)
        if body is not None:
            self.data(number, body, end=not trailers)
        if trailers:
            self.end(number, trailers)
        return self.finish(number)

    def close(self):
        self.tls.close()


class RawH2:
    """Frames as given; what comes is parsed and kept in `frames`."""

    def __init__(self, host="api.test", **how):
        self.tls = connect(host, **how)
        self.encoder, self.frames, self.buffer = Encoder(), [], b""
        self.closed = False
        self.send(PREFACE, SettingsFrame(0))

    def send(self, *parts):
        """False: the peer no longer takes it."""
        data = b"".join(p if isinstance(p, bytes) else p.serialize() for p in parts)
        try:
            self.tls.sendall(data)
        except OSError:
            return False
        return True

    def block(self, headers):
        return self.encoder.encode(headers)

    def head(self, number, headers, flags=("END_HEADERS", "END_STREAM")):
        return HeadersFrame(number, self.block(headers), flags=list(flags))

    def read(self, seconds=3.0, stop=lambda frame: False):
        """Frames until `stop`, the end, or silence for that long."""
        self.tls.settimeout(seconds)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            while len(self.buffer) >= 9:
                frame, length = Frame.parse_frame_header(memoryview(self.buffer[:9]))
                if len(self.buffer) < 9 + length:
                    break
                frame.parse_body(memoryview(self.buffer[9:9 + length]))
                self.buffer = self.buffer[9 + length:]
                self.frames.append(frame)
                if stop(frame):
                    return frame
            try:
                data = self.tls.recv(65536)
            except OSError as error:
                self.closed = not isinstance(error, TimeoutError)
                return None
            if not data:
                self.closed = True
                return None
            self.buffer += data
        return None

    def verdict(self, number=1, seconds=3.0):
        """What the peer made of it: a goaway, a reset, a head with a status, or a close."""
        frame = self.read(seconds, lambda f: isinstance(f, GoAwayFrame) or (
            f.stream_id == number and isinstance(f, (RstStreamFrame, HeadersFrame))))
        if isinstance(frame, GoAwayFrame):
            return {"goaway": frame.error_code}
        if isinstance(frame, RstStreamFrame):
            return {"reset": frame.error_code}
        if frame is not None:
            return {"status": dict(Decoder().decode(frame.data))[":status"]}
        return {"closed": self.closed}
