"""A threaded TLS or clear-text origin: records the exact bytes it got, does what a script says."""

import itertools
import socket
import ssl
import struct
import threading
import time
import traceback

_PATIENCE = 20.0


class Closed(Exception):
    """The peer went away while the script wanted more bytes."""


_order = itertools.count()


class Request:
    def __init__(self, line, headers, body, trailers, raw_head):
        self.method, self.target, self.version = line.split(" ", 2)
        self.headers = headers        # [(name, value)] in order, case kept, latin-1
        self.body = body
        self.trailers = trailers
        self.raw_head = raw_head
        self.number = next(_order)

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    def __repr__(self):
        return f"<{self.method} {self.target} {len(self.body)} bytes>"


class Conn:
    """One accepted connection as a script sees it."""

    def __init__(self, origin, sock):
        self.origin, self.sock = origin, sock
        self.received = bytearray()   # everything, as it came (decrypted)
        self.requests = []
        self.ended = None             # "eof", "reset": how the peer ended it
        self.opened = time.monotonic()
        self._buffer = bytearray()

    # -- receiving ---------------------------------------------------------------------------
    def fill(self):
        try:
            data = self.sock.recv(65536)
        except (ConnectionError, ssl.SSLError) as error:
            self.ended = "reset"
            raise Closed(str(error)) from error
        if not data:
            self.ended = "eof"
            raise Closed("end of stream")
        self.received += data
        self._buffer += data

    def take_until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self.fill()
        end = self._buffer.index(mark) + len(mark)
        return self._take(end)

    def take(self, count) -> bytes:
        while len(self._buffer) < count:
            self.fill()
        return self._take(count)

    def _take(self, count):
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def read_head(self):
        raw = self.take_until(b"\r\n\r\n")
        line, *rest = raw[:-4].decode("latin-1").split("\r\n")
        headers = []
        for text in rest:
            name, _, value = text.partition(":")
            headers.append((name, value.strip(" \t")))
        return Request(line, headers, b"", [], raw)

    def read_body(self, request):
        if "chunked" in (request.get("transfer-encoding") or "").lower():
            request.body, request.trailers = self._read_chunked()
        elif request.get("content-length"):
            request.body = self.take(int(request.get("content-length")))

    def _read_chunked(self):
        body = bytearray()
        while True:
            size = int(self.take_until(b"\r\n").split(b";")[0], 16)
            if size == 0:
                break
            body += self.take(size)
            assert self.take(2) == b"\r\n", "a chunk does not end in CRLF"
        trailers = []
        while (line := self.take_until(b"\r\n")) != b"\r\n":
            name, _, value = line[:-2].decode("latin-1").partition(":")
            trailers.append((name, value.strip(" \t")))
        return bytes(body), trailers

    def read_request(self):
        request = self.read_head()
        self.read_body(request)
        self.requests.append(request)
        return request

    # -- sending -----------------------------------------------------------------------------
    def send(self, data: bytes):
        try:
            self.sock.sendall(data)
        except (ConnectionError, ssl.SSLError) as error:
            raise Closed(str(error)) from error

    def send_pieces(self, pieces, pause=0.0):
        """Each piece is a TLS record and a TCP segment of its own."""
        for piece in pieces:
            self.send(piece)
            if pause:
                time.sleep(pause)

    def close_cleanly(self):
        """close_notify, then FIN: the only honest end of a close-delimited body."""
        try:
            if isinstance(self.sock, ssl.SSLSocket):
                self.sock.settimeout(1)
                self.sock.unwrap()
        except (OSError, ValueError):
            pass
        self._close()

    def cut(self):
        """FIN without close_notify: what a truncation looks like."""
        self._close()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._close()

    def _close(self):
        try:
            self.sock.close()
        except OSError:
            pass


class Origin:
    """Listens on a free port of 127.0.0.1; `script(conn)` runs in a thread per connection."""

    def __init__(self, script, pair=None, name="origin"):
        self.script, self.name = script, name
        self.patience = _PATIENCE     # how long a script waits for a byte
        self.connections = []
        self.handshake_errors = []
        self.errors = []              # what a script raised: a test asserts that there is none
        self._context = None
        if pair:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(pair.cert, pair.key)
            self._context.set_alpn_protocols(["http/1.1"])
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._listener.getsockname()[1]
        self.accepted = 0
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def requests(self):
        """In the order in which they came, whatever connection carried them."""
        with self._lock:
            return sorted((r for c in self.connections for r in c.requests), key=lambda r: r.number)

    @property
    def received(self) -> bytes:
        with self._lock:
            return b"".join(bytes(c.received) for c in self.connections)

    def wait(self, condition, seconds=3.0):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def stop(self):
        """Closing alone leaves the thread in accept(), on a descriptor that is used again."""
        if self._listener.fileno() < 0:
            return
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()

    def _accept(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        sock.settimeout(self.patience)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls = sock
        if self._context:
            try:
                tls = self._context.wrap_socket(sock, server_side=True)
            except (OSError, ssl.SSLError) as error:
                self.handshake_errors.append(str(error))
                sock.close()
                return
        conn = Conn(self, tls)
        with self._lock:
            self.connections.append(conn)
        try:
            self.script(conn)
        except Closed:
            pass
        except Exception:
            self.errors.append(traceback.format_exc())
        finally:
            conn._close()
