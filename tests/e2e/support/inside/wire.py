"""A raw HTTP/1.1 client for scripts inside the sandbox: exact bytes out, strict reading in."""

import json
import os
import socket
import ssl
import sys
import time

TOKEN = os.environ.get("API_TOKEN", "")
AUTH = f"Authorization: Bearer {TOKEN}\r\n"


def show(**values):
    """One JSON line for the test."""
    print(json.dumps(values), flush=True)


class Broken(Exception):
    """The peer ended the stream where the message was not complete."""


class Reply:
    def __init__(self):
        self.interim, self.status, self.phrase = [], 0, ""
        self.version, self.headers, self.trailers = "", [], []
        self.body, self.clean, self.kind = b"", False, ""

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def get(self, name):
        values = self.all(name)
        return values[0] if values else None

    def summary(self):
        return {"status": self.status, "reason": self.get("warder-reason"), "clean": self.clean,
                "kind": self.kind, "headers": self.headers, "trailers": self.trailers,
                "interim": self.interim, "body": self.body.decode("latin-1")}


class Wire:
    def __init__(self, host="api.test", port=443, tls=True, sni=None, address=None, timeout=8.0,
                 verify=True):
        sock = socket.create_connection((address or host, port), timeout=timeout)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            context = ssl.create_default_context()
            # A truncated TLS stream must not look like its end.
            context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
            if not verify or sni == "":
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            name = None if sni == "" else (sni or host)
            sock = context.wrap_socket(sock, server_hostname=name, suppress_ragged_eofs=False)
        self.sock = sock
        self.buffer = bytearray()
        self.ended = None

    def send(self, data, pieces=None, pause=0.0):
        data = data.encode("latin-1") if isinstance(data, str) else data
        if not pieces:
            self.sock.sendall(data)
            return self
        for i in range(0, len(data), pieces):
            self.sock.sendall(data[i:i + pieces])
            time.sleep(pause)
        return self

    # -- reading -----------------------------------------------------------------------------
    def fill(self):
        try:
            data = self.sock.recv(65536)
        except ssl.SSLEOFError as error:
            self.ended = "truncated"
            raise Broken("no close_notify") from error
        except (ConnectionError, ssl.SSLError) as error:
            self.ended = "reset"
            raise Broken(str(error)) from error
        if not data:
            self.ended = "eof"
            raise Broken("end of stream")
        self.buffer += data

    def take(self, count):
        while len(self.buffer) < count:
            self.fill()
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        return self.take(self.buffer.index(b"\r\n") + 2)[:-2]

    def fields(self):
        found = []
        while (line := self.line()):
            name, _, value = line.decode("latin-1").partition(":")
            found.append((name, value.strip(" \t")))
        return found

    def head(self, reply):
        version, status, phrase = (self.line().decode("latin-1") + "  ").split(" ", 2)
        reply.version, reply.status, reply.phrase = version, int(status), phrase.strip()
        reply.headers = self.fields()

    def reply(self, method="GET"):
        """The next final response. A body that breaks off gives clean=False, never an exception."""
        reply = Reply()
        self.head(reply)
        while 100 <= reply.status < 200 and reply.status != 101:
            reply.interim.append((reply.status, reply.headers))
            self.head(reply)
        try:
            self._body(reply, method)
            reply.clean = True
        except Broken:
            reply.clean = False
        return reply

    def _body(self, reply, method):
        if method == "HEAD" or reply.status in (204, 304):
            reply.kind = "none"
        elif "chunked" in (reply.get("transfer-encoding") or ""):
            reply.kind = "chunked"
            self._chunks(reply)
        elif reply.get("content-length") is not None:
            reply.kind = "length"
            self._exactly(reply, int(reply.get("content-length")))
        else:
            reply.kind = "close"
            self._until_close(reply)

    def _exactly(self, reply, count):
        try:
            while len(self.buffer) < count:
                self.fill()
        finally:
            reply.body += self.take(min(count, len(self.buffer)))

    def _chunks(self, reply):
        while True:
            size = int(self.line().split(b";")[0], 16)
            if size == 0:
                reply.trailers = self.fields()
                return
            self._exactly(reply, size)
            if self.take(2) != b"\r\n":
                raise Broken("a chunk does not end in CRLF")

    def _until_close(self, reply):
        try:
            while True:
                self.fill()
        except Broken:
            reply.body = bytes(self.buffer)
            self.buffer.clear()
            if self.ended != "eof":
                raise

    def closed(self, seconds=3.0):
        """True when the peer ends the connection within that time, whatever it sends before."""
        self.sock.settimeout(seconds)
        try:
            while True:
                self.fill()
        except Broken:
            return True
        except OSError:
            return False

    def close(self):
        self.sock.close()


def fetch(path, host="api.test", headers="", method="GET", body=b"", **kind):
    """One request on a connection of its own."""
    wire = Wire(host, **kind)
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    wire.send(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}{length}\r\n".encode("latin-1")
              + body)
    reply = wire.reply(method)
    wire.close()
    return reply


def attempt(call):
    """What `call` returns, or the name of what it raised: for things that must be refused."""
    try:
        return call()
    except (OSError, Broken, ValueError) as error:
        return type(error).__name__


def arguments():
    return sys.argv[1:]
