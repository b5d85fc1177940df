"""SIGTERM to `warder gateway` with something under way: what can end does, and who is cut off is told first."""

import signal
import ssl
import threading
import time

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset

from support.daemon import Daemon
from support.h2bench import origin_of
from support.inside.wswire import ASK, CLOSE, TEXT, close, mine, read_frame
from support.websocket import receipt, ws_origin


def tunnel(gateway, alpn=None):
    sock = gateway.connect("connect-1")
    sock.sendall(b"CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
    assert sock.recv(4096).startswith(b"HTTP/1.1 200")
    context = ssl.create_default_context(cafile=gateway.ca)
    if alpn:
        context.set_alpn_protocols([alpn])
    return context.wrap_socket(sock, server_hostname="api.test")


class Client:
    """As much of an HTTP/2 client as tells its events."""

    def __init__(self, tls):
        self.tls, self.h2, self.events = tls, H2Connection(H2Configuration()), []
        self.h2.initiate_connection()
        self.flush()

    def flush(self):
        self.tls.sendall(self.h2.data_to_send())

    def ask(self, path):
        number = self.h2.get_next_available_stream_id()
        self.h2.send_headers(number, [(":method", "GET"), (":scheme", "https"), (":authority", "api.test"),
                                      (":path", path)], end_stream=True)
        self.flush()
        return number

    def until(self, kind, number=None):
        while True:
            for event in self.events:
                if isinstance(event, kind) and number in (None, getattr(event, "stream_id", None)):
                    return event
            data = self.tls.recv(65536)
            if not data:
                return None
            self.events += self.h2.receive_data(data)
            self.flush()

    def body(self, number):
        return b"".join(e.data for e in self.events if isinstance(e, DataReceived) and e.stream_id == number)


def test_http2_gets_goaway_and_its_streams_finish(bench, pki):
    go_on = threading.Event()

    def slow(stream):
        stream.head(200)
        stream.send(b"hello")
        go_on.wait(10)
        stream.send(b"world", end=True)
    origin_of(bench, pki, slow)
    with Daemon(bench, [{"type": "connect"}]) as gateway, tunnel(gateway, "h2") as tls:
        client = Client(tls)
        number = client.ask("/slow")
        assert client.until(ResponseReceived, number)
        gateway.process.send_signal(signal.SIGTERM)
        goodbye = client.until(ConnectionTerminated)
        assert goodbye and goodbye.error_code == 0, client.events
        assert gateway.process.poll() is None
        go_on.set()
        # hyper-h2 takes GOAWAY for the end of all streams; the frames themselves tell otherwise.
        rest = b""
        while piece := tls.recv(65536):
            rest += piece
        assert gateway.process.wait(10) == 0
    assert b"world" in client.body(number) + rest, (client.events, rest)
    ends = [r for r in bench.records() if r["type"] == "receipt"]
    assert [(r["reason"], r["bytes_down"]) for r in ends] == [("none", 10)], ends


def test_a_stream_that_does_not_finish_is_reset_and_recorded(bench, pki):
    stuck = threading.Event()

    def slow(stream):
        stream.head(200)
        stream.send(b"hello")
        stuck.wait(15)
    origin_of(bench, pki, slow)
    with Daemon(bench, [{"type": "connect"}], args=["--drain", "1"]) as gateway, tunnel(gateway, "h2") as tls:
        client = Client(tls)
        number = client.ask("/slow")
        assert client.until(DataReceived, number)
        began = time.monotonic()
        assert gateway.stop()[0] == 0
        assert 1 < time.monotonic() - began < 5
        try:
            assert client.until(StreamEnded, number) is None or client.until(StreamReset, number)
        except (OSError, ssl.SSLError):
            pass
    stuck.set()
    assert [r["reason"] for r in bench.records() if r["type"] == "receipt"] != ["none"]


class Peer:
    """A client's TLS connection with take() and send(), as frames want it."""

    def __init__(self, tls):
        self.tls, self.send = tls, tls.sendall

    def take(self, size):
        got = b""
        while len(got) < size:
            piece = self.tls.recv(size - len(got))
            if not piece:
                raise EOFError(got)
            got += piece
        return got


@pytest.mark.parametrize("answers", [True, False], ids=["client answers", "client is silent"])
def test_a_websocket_is_told_1001_on_both_sides_when_the_time_is_over(bench, pki, answers):
    seen = []

    def quiet(conn):
        seen.append(read_frame(conn))
        seen.append(read_frame(conn))
        conn.send(b"\x88\x02" + close(1001))
        conn.close_cleanly()
    ws_origin(bench, pki, quiet)
    with Daemon(bench, [{"type": "connect"}], args=["--drain", "1"]) as gateway, tunnel(gateway) as tls:
        peer = Peer(tls)
        peer.send(f"GET /ws HTTP/1.1\r\nHost: api.test\r\n{ASK}\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += peer.take(1)
        assert head.startswith(b"HTTP/1.1 101"), head
        peer.send(mine(TEXT, "hello"))
        began = time.monotonic()
        gateway.process.send_signal(signal.SIGTERM)
        told = read_frame(peer)
        waited = time.monotonic() - began
        if answers:
            peer.send(mine(CLOSE, close(1001)))
        assert (told.opcode, told.payload) == (CLOSE, close(1001, "session_ended")), told
        assert 0.9 < waited < 3, waited
        with pytest.raises((EOFError, OSError)):
            peer.take(1)
        assert gateway.process.wait(10) == 0
        assert time.monotonic() - began < 5
    assert [f.opcode for f in seen] == [TEXT, CLOSE] and seen[1].payload == close(1001), seen
    end = receipt(type("Done", (), {"records": bench.records()}))
    assert (end["reason"], end["side"], end["bytes_up"]) == ("session_ended", "warder", 5), end


def test_a_websocket_that_ends_in_time_ends_as_ever(bench, pki):
    def answer(conn):
        got = read_frame(conn)
        conn.send(b"\x88\x02" + got.payload[:2])
        conn.close_cleanly()
    ws_origin(bench, pki, answer)
    with Daemon(bench, [{"type": "connect"}]) as gateway, tunnel(gateway) as tls:
        peer = Peer(tls)
        peer.send(f"GET /ws HTTP/1.1\r\nHost: api.test\r\n{ASK}\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += peer.take(1)
        gateway.process.send_signal(signal.SIGTERM)
        time.sleep(0.6)
        assert gateway.process.poll() is None, "the WebSocket is under way"
        peer.send(mine(CLOSE, close(1000)))
        assert read_frame(peer).payload == close(1000)
        assert gateway.process.wait(10) == 0
    assert receipt(type("Done", (), {"records": bench.records()}))["reason"] == "none"
