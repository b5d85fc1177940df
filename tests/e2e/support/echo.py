"""The echo origin: HTTP/1.1 that answers with what it received, framed in every way there is."""

import base64
import gzip
import hashlib
import json
import time
from urllib.parse import parse_qs, urlsplit

from .origin import Closed, Origin

_ROUTES = {}


def route(path):
    def keep(function):
        _ROUTES[path] = function
        return function
    return keep


def echo_origin(pair=None, name="echo"):
    return Origin(serve, pair, name)


def pattern(size) -> bytes:
    """Bytes in which a shift, a loss or a repetition shows."""
    block = b"".join(hashlib.sha256(str(i).encode()).digest() for i in range(64))
    return (block * (size // len(block) + 1))[:size]


def serve(conn):
    while True:
        request = conn.read_head()
        if "100-continue" in (request.get("expect") or "").lower():
            conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            conn.read_body(request)
        finally:
            conn.requests.append(request)
        path = urlsplit(request.target).path
        name = "/" + path.strip("/").split("/")[0] if path != "/" else "/"
        handler = _ROUTES.get(path) or _ROUTES.get(name) or not_found
        if handler(conn, request) == "close" or (request.get("connection") or "") == "close":
            conn.close_cleanly()
            return


def reply(conn, request, body=b"", status="200 OK", headers=(), pieces=None):
    """Content-Length framing; `pieces` sends the body in these parts. A HEAD gets no body."""
    lines = [f"HTTP/1.1 {status}", *(f"{n}: {v}" for n, v in headers)]
    head = ("\r\n".join([*lines, f"Content-Length: {len(body)}"]) + "\r\n\r\n").encode("latin-1")
    if request.method == "HEAD":
        conn.send(head)
    elif pieces:
        conn.send(head)
        conn.send_pieces(pieces, 0.002)
    else:
        conn.send(head + body)


def chunked(conn, request, pieces, headers=(), trailers=(), pause=0.0):
    lines = ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *(f"{n}: {v}" for n, v in headers)]
    conn.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    if request.method == "HEAD":
        return
    for piece in pieces:
        conn.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        if pause:
            time.sleep(pause)
    end = "".join(f"{n}: {v}\r\n" for n, v in trailers)
    conn.send(f"0\r\n{end}\r\n".encode("latin-1"))


def query(request):
    return {k: v[0] for k, v in parse_qs(urlsplit(request.target).query).items()}


def tail(request):
    return urlsplit(request.target).path.rstrip("/").split("/")[-1]


def token(request) -> str:
    """The credential that arrived, without its scheme; of a Basic pair the password."""
    value = request.get("authorization") or request.get("x-api-key") or ""
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "basic":
        return base64.b64decode(rest).decode("latin-1").partition(":")[2]
    return rest.strip() or value


def not_found(conn, request):
    reply(conn, request, b"no such page\n", "404 Not Found")


@route("/")
@route("/ok")
def ok(conn, request):
    reply(conn, request, b"ok")


@route("/headers")
def show_headers(conn, request):
    seen = {"method": request.method, "target": request.target, "version": request.version,
            "headers": request.headers, "body": request.body.decode("latin-1"),
            "trailers": request.trailers}
    reply(conn, request, json.dumps(seen).encode() + b"\n",
          headers=[("Content-Type", "application/json")])


@route("/whoami")
def whoami(conn, request):
    reply(conn, request, f"you are {token(request)}\n".encode())


@route("/echo")
def echo(conn, request):
    reply(conn, request, request.body)


@route("/echo-chunked")
def echo_chunked(conn, request):
    body = request.body
    chunked(conn, request, [body[i:i + 7001] for i in range(0, len(body), 7001)])


@route("/digest")
def digest(conn, request):
    reply(conn, request, hashlib.sha256(request.body).hexdigest().encode())


@route("/sized")
def sized(conn, request):
    reply(conn, request, pattern(int(tail(request))))


@route("/chunked")
def sized_chunked(conn, request):
    body = pattern(int(tail(request)))
    chunked(conn, request, [body[i:i + 8191] for i in range(0, len(body), 8191)])


@route("/close")
def close_delimited(conn, request):
    conn.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + pattern(int(tail(request))))
    return "close"


@route("/close-whoami")
def close_whoami(conn, request):
    conn.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    text = f"you are {token(request)} still".encode()
    conn.send_pieces([text[:20], text[20:]], 0.02)
    return "close"


@route("/cut")
def cut(conn, request):
    """/cut/{sized,chunked,close}: the body breaks off after its first half."""
    kind = tail(request)
    half = pattern(5000)
    if kind == "sized":
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + half)
    elif kind == "chunked":
        conn.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + half + b"\r\n")
    else:
        conn.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + half)
    time.sleep(0.1)
    conn.cut()
    raise Closed("cut on purpose")


@route("/status")
def status(conn, request):
    code = tail(request)
    if code in ("204", "304"):
        extra = "Content-Length: 10\r\n" if code == "304" else ""
        conn.send(f"HTTP/1.1 {code} Nothing\r\nETag: \"x\"\r\n{extra}\r\n".encode())
    else:
        reply(conn, request, f"status {code}\n".encode(), f"{code} Whatever")


@route("/hints")
def early_hints(conn, request):
    conn.send(b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")
    time.sleep(0.02)
    reply(conn, request, b"hinted")


@route("/trailers")
def with_trailers(conn, request):
    chunked(conn, request, [b"before ", b"the trailers"], headers=[("Trailer", "X-Sum")],
            trailers=[("X-Sum", "42"), ("X-Token", token(request))])


@route("/stream")
def stream(conn, request):
    """Server-sent events, each stamped with the moment it was written; the last one holds the
    token, split over two writes."""
    asked = query(request)
    count, gap = int(asked.get("n", 5)), float(asked.get("gap", 0.15))
    secret = token(request)
    conn.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
              b"Transfer-Encoding: chunked\r\n\r\n")
    for i in range(count):
        event = f"data: {i} {time.monotonic():.6f}\n\n".encode()
        conn.send(b"%x\r\n%s\r\n" % (len(event), event))
        time.sleep(gap)
    for part in (f"data: secret {secret[:9]}", f"{secret[9:]} end\n\n"):
        conn.send(b"%x\r\n%s\r\n" % (len(part), part.encode()))
        time.sleep(0.05)
    conn.send(b"0\r\n\r\n")


@route("/drip")
def drip(conn, request):
    """The token one byte per write, /drip/sized or /drip/chunked."""
    text = f"<<{token(request)}>>".encode()
    pieces = [text[i:i + 1] for i in range(len(text))]
    if tail(request) == "chunked":
        chunked(conn, request, pieces, pause=0.001)
    else:
        reply(conn, request, text, pieces=pieces)


@route("/split")
def split(conn, request):
    """/split/{sized,chunked,close}/K: the token cut after K bytes, each part a write of its own."""
    _, _, kind, at = urlsplit(request.target).path.split("/")
    text = f"before {token(request)} after".encode()
    k = len("before ") + int(at)
    parts = [text[:k], text[k:]]
    if kind == "chunked":
        chunked(conn, request, parts, pause=0.004)
    elif kind == "sized":
        reply(conn, request, text, pieces=parts)
    else:
        conn.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        conn.send_pieces(parts, 0.004)
        return "close"


@route("/reflect")
def reflect(conn, request):
    """/reflect/WHERE: the credential comes back there."""
    secret, where = token(request), tail(request)
    given = request.get("authorization") or ""
    if where == "header":
        reply(conn, request, b"see X-Token", headers=[("X-Token", secret), ("X-All", given)])
    elif where == "location":
        reply(conn, request, b"", "302 Found",
              [("Location", f"https://other.test/next?token={secret}")])
    elif where == "cookie":
        reply(conn, request, b"", headers=[("Set-Cookie", f"sid={secret}; Path=/; Secure")])
    elif where == "basic":
        reply(conn, request, f"you sent {given}\n".encode())
    elif where == "error":
        reply(conn, request, f"<h1>no: {secret}</h1>".encode(), "500 Internal Server Error")
    elif where == "phrase":
        reply(conn, request, b"see the status line", f"400 Bad token {secret}")
    elif where.startswith("base64"):
        pad = "x" * int(where[-1])
        plain = f"{pad}{secret}{'y' * 5}".encode()
        coder = base64.urlsafe_b64encode if "url" in where else base64.b64encode
        reply(conn, request, b"[" + coder(plain) + b"]")
    elif where == "gzip":
        reply(conn, request, gzip.compress(f"token {secret}".encode()),
              headers=[("Content-Encoding", "gzip")])
    else:
        reply(conn, request, f"body {secret} and again {secret}.".encode())
