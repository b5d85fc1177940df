"""Promise 3, in bulk: an origin says the value in every place and manner that docs/masking.md lists, a
client inside keeps every byte, and Python reads them in every way. Only the placeholder may be there."""

import base64
import gzip
import html
import json
import struct
import zlib
from dataclasses import dataclass, field

import pytest
import zstandard
from hyperframe.frame import GoAwayFrame

from support.bench import CONTRACT_SECRETS, SECRET
from support.codings import decode, encode, raw_deflate
from support.forms import forms, says
from support.h2bench import inside
from support.h2origin import H2Origin
from support.inside.wswire import BINARY, CLOSE, CONT, PING, PONG, TEXT, close, frame, read_frame
from support.origin import Closed, Origin
from support.websocket import inside as ws_inside
from support.websocket import switch

AWKWARD = "Qz\"7/y<8>k'Rx=5~ZpW3!vLm:@+,9"
VALUES = {"like a key": SECRET, "awkward": AWKWARD, "hex": "9f86d081884c7d659a2feaa0c55ad015",
          "short": "s3cretPW", "with escapes": "Ab%41\\cd&lt;9f8E7d6C5b4A3z2Y"}
# Masked, but with spaces where an entity, itself in escapes, is too short for the character: no reader
# gets the whole placeholder of it.
TOO_SHORT = ("json of html", "percent of html")
TOKEN_CHARACTERS = set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def forms_of(value):
    return forms(value, plain=not set("%\\&") & set(value))


# -- the tools themselves --------------------------------------------------------------------------
@pytest.mark.parametrize("kind", VALUES)
def test_every_form_is_read_back(kind):
    """Else the rest would prove nothing."""
    for name, text in forms_of(VALUES[kind]).items():
        assert says(f"before {text} after".encode(), VALUES[kind].encode()), (name, text)
    assert not says(b"before it and after", VALUES[kind].encode())


# -- what the origin says ----------------------------------------------------------------------------
@dataclass
class Answer:
    """`shown`: must the placeholder be readable in it? Where not, refusing or dropping is right as well."""
    name: str
    body: bytes = b""
    status: int = 200
    phrase: str = "OK"
    headers: list = field(default_factory=list)
    interim: list = field(default_factory=list)    # (status, phrase, headers)
    trailers: list = field(default_factory=list)
    coding: str = ""
    framing: str = "length"
    method: str = "GET"
    raw: bytes = b""                               # instead of all this; HTTP/1.1 only
    shown: bool = True
    only: str = ""                                 # the version that can say it


def lines(fields):
    return "".join(f"{n}: {v}\r\n" for n, v in fields).encode("latin-1")


def say_h1(conn, request, answer):
    """False: the connection is over."""
    if answer.raw:
        conn.send(answer.raw)
        conn.close_cleanly()
        return False
    out = b"".join(f"HTTP/1.1 {s} {p}\r\n".encode() + lines(h) + b"\r\n" for s, p, h in answer.interim)
    headers = [*answer.headers, *([("Content-Encoding", answer.coding)] if answer.coding else [])]
    body, framing = answer.body, "chunked" if answer.trailers else answer.framing
    bodiless = request.method == "HEAD" or answer.status in (204, 304)
    framed = {"length": [("Content-Length", str(len(body)))], "close": [("Connection", "close")],
              "chunked": [("Transfer-Encoding", "chunked")]}[framing]
    out += (f"HTTP/1.1 {answer.status} {answer.phrase}\r\n".encode("latin-1") +
            lines(headers + (framed if answer.status != 204 else [])) + b"\r\n")
    if not bodiless and framing == "chunked":
        step = 1 if len(body) < 20_000 else 4093
        out += b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + step]), body[i:i + step])
                        for i in range(0, len(body), step)) + b"0\r\n" + lines(answer.trailers) + b"\r\n"
    elif not bodiless:
        out += body
    conn.send(out)
    if framing == "close":
        conn.close_cleanly()
    return framing != "close"


def say_h2(stream, answer):
    stream.read_all()
    for status, _, headers in answer.interim:
        stream.head(status, [(n.lower(), v) for n, v in headers])
    headers = [(n.lower(), v) for n, v in answer.headers]
    if answer.coding:
        headers.append(("content-encoding", answer.coding))
    bodiless = stream.method == "HEAD" or answer.status in (204, 304)
    if answer.framing == "length" and answer.status != 204:
        headers.append(("content-length", str(len(answer.body))))
    body = b"" if bodiless else answer.body
    stream.head(answer.status, headers, end=not body and not answer.trailers)
    step = 16384 if answer.framing == "length" or len(body) > 20_000 else 7
    for at in range(0, len(body), step):
        stream.send(body[at:at + step], end=at + step >= len(body) and not answer.trailers)
    if answer.trailers:
        stream.finish([(n.lower(), v) for n, v in answer.trailers])


def spoken_by(kind, answers, pair):
    def h1(conn):
        while True:
            request = conn.read_request()
            if not say_h1(conn, request, answers[int(request.target[1:])]):
                return

    def h2(stream):
        say_h2(stream, answers[int(stream.path[1:])])
    return Origin(h1, pair) if kind == "h1" else H2Origin(h2, pair, h1=h1, keep=False)


# -- all places ------------------------------------------------------------------------------------
HEADERS = ["Location", "Set-Cookie", "WWW-Authenticate", "Link", "ETag", "Server", "Refresh",
           "Content-Location", "Content-Disposition", "Content-Type", "Content-Language", "Via", "Vary",
           "Authentication-Info", "Last-Modified", "Expires", "Warning", "Retry-After", "X-Any", "X-Request-Id",
           "Access-Control-Allow-Origin", "Content-Security-Policy", "Strict-Transport-Security", "Server-Timing",
           "Warder-Exchange", "Sec-WebSocket-Protocol", "Age", "Allow", "P3P", "Cache-Control", "Pragma"]
# Hop-by-hop, or a reason to refuse the answer: what leaves must not tell the value either.
FRAGILE = ["Connection", "Proxy-Authenticate", "Keep-Alive", "Proxy-Connection", "Upgrade", "Trailer", "Alt-Svc", "Content-Encoding",
           "Transfer-Encoding", "Content-Length", "Content-Range", "Warder-Reason", "Proxy-Status", "Content-MD5",
           "Accept-Ranges", "Digest", "Content-Digest"]
STACKS = ["gzip", "x-gzip", "deflate", "br", "zstd", "gzip, br", "zstd, deflate", "br, zstd", "deflate, gzip, br"]
STATUSES = [201, 202, 203, 300, 301, 302, 303, 307, 308, 400, 401, 402, 403, 404, 407, 409, 418, 422, 429, 451,
            500, 501, 502, 503, 504, 599]


def named_gzip(text, value):
    """gzip whose header has the value as the file's name and as a comment."""
    return (b"\x1f\x8b\x08\x18\0\0\0\0\0\x03" + value + b"\0" + value + b"\0" + raw_deflate(text) +
            struct.pack("<II", zlib.crc32(text), len(text)))


def skippable(data):
    return struct.pack("<II", 0x184D2A50, len(data)) + data


def bodies(value, every):
    text = "".join(f"{name} [{form}]\r\n" for name, form in every.items()).encode()
    for name, form in every.items():
        for framing in ("length", "chunked", "close"):
            yield Answer(f"body, {name}, {framing}", f"before {form} after".encode(), framing=framing,
                         shown=name not in TOO_SHORT)
        yield Answer(f"body, {name}, alone", form.encode(), framing="chunked", shown=name not in TOO_SHORT)
        yield Answer(f"body, {name}, gzip", encode("gzip", f'{{"a":"{form}"}}'.encode()), coding="gzip",
                     framing="chunked", shown=name not in TOO_SHORT)
    for coding in STACKS:
        for framing in ("length", "chunked", "close"):
            yield Answer(f"{coding}, {framing}", encode(coding, text), coding=coding, framing=framing)
    yield Answer("bare deflate", raw_deflate(text), coding="deflate")
    yield Answer("stored deflate", zlib.compress(text, 0), coding="deflate", framing="chunked")
    yield Answer("members", gzip.compress(text[:50]) + gzip.compress(text[50:]), coding="gzip")
    raw = value.encode()
    yield Answer("gzip's own name", named_gzip(b"nothing", raw), coding="gzip", shown=False)
    yield Answer("behind gzip", gzip.compress(b"nothing") + raw * 3, coding="gzip", shown=False)
    yield Answer("behind deflate", zlib.compress(b"nothing") + raw * 3, coding="deflate", shown=False)
    yield Answer("zstd skipped", skippable(raw * 3) + zstandard.compress(b"nothing") + skippable(raw),
                 coding="zstd", shown=False)
    yield Answer("not coded at all", text, coding="gzip", shown=False)
    yield Answer("coded, not said", gzip.compress(b"x"), coding=value, shown=False)
    document = {"headers": {"authorization": f"Bearer {value}"}}
    page = f"<!-- {value} -->"
    if "html, escape()" in every:
        document["nested"] = json.dumps({"again": json.dumps({"token": value})})
        page += f'<a href="/?t={html.escape(value)}">{html.escape(value)}</a>'
    yield Answer("json", json.dumps(document).encode(), headers=[("Content-Type", "application/json")])
    yield Answer("page", page.encode(), headers=[("Content-Type", "text/html")], framing="chunked")
    events = "".join(f"event: {n}\nid: {form}\ndata: {form}\n\n" for n, form in every.items()) + ": " + value
    for coding in ("", "gzip", "br"):
        yield Answer(f"events {coding}", encode(coding, events.encode()) if coding else events.encode(),
                     coding=coding, headers=[("Content-Type", "text/event-stream")], framing="chunked")
    yield Answer("multipart", f'--b\r\nContent-Disposition: form-data; name="{value}"\r\n\r\n{value}\r\n--b--'.encode(),
                 headers=[("Content-Type", "multipart/form-data; boundary=b")])
    yield Answer("between bytes", b"\0\xff" * 40 + raw + b"\xfe\0" * 40)
    yield Answer("twice in itself", raw[:-2] + raw + raw[2:] + raw[:4] + raw + raw)


def heads(value, every):
    full = [(f"X-F{i}", f"a {form} z") for i, form in enumerate(every.values())]
    yield Answer("all headers", b"ok", headers=full)
    yield Answer("HEAD", b"", headers=full, method="HEAD")
    for status in (204, 304):
        yield Answer(f"{status}", status=status, headers=full)
    basic = base64.b64encode(f"user:{value}".encode()).decode()
    some = f"{value} {every['percent']} {basic} {every['hex']}"
    for name in HEADERS:
        yield Answer(f"header {name}", b"ok", headers=[(name, some), (name, value)])
        yield Answer(f"header {name}, error", b"ok", status=401, headers=[(name, basic)])
    for name in FRAGILE:
        yield Answer(f"header {name}", b"ok", headers=[(name, value)], shown=False)
    for name, form in every.items():
        if set(form) <= TOKEN_CHARACTERS:
            yield Answer(f"field name, {name}", b"ok", headers=[(f"X-{form}", "1"), (form, "2")], shown=False)
        yield Answer(f"phrase, {name}", b"ok", status=400, phrase=f"No {form}", only="h1", shown=False)
        yield Answer(f"Location, {name}", b"", status=302, headers=[("Location", f"https://evil.test/?{form}")],
                     shown=name not in TOO_SHORT)
    yield Answer("early hints", b"ok", interim=[(103, "Early Hints", full), (103, f"Hints {value}", full)])
    yield Answer("processing", b"ok", interim=[(102, f"Wait for {value}", full[:3])], shown=False)
    yield Answer("trailers", b"ok" * 20, trailers=full)
    tokens = [form for form in every.values() if set(form) <= TOKEN_CHARACTERS]
    yield Answer("trailers' names", b"ok", trailers=[(f"X-{form}", "1") for form in tokens], shown=False)
    for status in STATUSES:
        yield Answer(f"status {status}", f"no: {value}, {basic}".encode(), status=status, phrase="Whatever",
                     headers=[("X-Why", value), ("Location", f"/?{every['percent']}")])
    for asked in ("bytes 0-99/100", value):
        yield Answer("a part", f"part {value}".encode(), status=206, headers=[("Content-Range", asked)], shown=False)


def broken(value):
    """Answers that are none: what they say must not stand in the page that says so, nor pass."""
    ok = "HTTP/1.1 200 OK\r\n"
    for name, text in {
            "no status line": f"{value}\r\n\r\n", "odd version": f"HTTP/9.9 200 {value}\r\n\r\n",
            "odd status": f"HTTP/1.1 {value} OK\r\n\r\n", "no colon": f"{ok}{value}\r\n\r\n",
            "space before colon": f"{ok}{value} : x\r\n\r\n", "folded": f"{ok}X-A: b\r\n {value}\r\n\r\n",
            "two lengths": f"{ok}Content-Length: 1\r\nContent-Length: {value}\r\n\r\nx",
            "odd chunk": f"{ok}Transfer-Encoding: chunked\r\n\r\n{value}\r\n",
            "chunk extension": f"{ok}Transfer-Encoding: chunked\r\n\r\n2;x={value}\r\nok\r\n0;y={value}\r\n\r\n",
            "odd trailer": f"{ok}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n{value}\r\n\r\n",
            "more than said": f"{ok}Content-Length: 2\r\n\r\nok{value}",
            "another answer": f"{ok}Content-Length: 2\r\n\r\nok{ok}Content-Length: {len(value)}\r\n\r\n{value}",
            "behind 204": f"HTTP/1.1 204 No\r\n\r\n{value}", "behind 304": f"HTTP/1.1 304 No\r\n\r\n{value}",
            "less than said": f"{ok}Content-Length: 500\r\n\r\n{value} {value}",
            "HTTP/1.0": f"HTTP/1.0 200 OK\r\nX: {value}\r\n\r\n{value}", "HTTP/0.9": value * 9,
            "unasked switch": f"HTTP/1.1 101 Switching {value}\r\nUpgrade: {value}\r\nConnection: upgrade\r\n\r\n{value}",
            "many 100s": f"HTTP/1.1 100 {value}\r\nX: {value}\r\n\r\n" * 5 + f"{ok}Content-Length: 0\r\n\r\n",
            "nul in a field": f"{ok}X: \0{value}\r\n\r\n", "bare LF": f"{ok}X: a\n{value}: b\r\n\r\n"}.items():
        yield Answer(f"broken, {name}", raw=text.encode(), shown=False, only="h1")


CLIENT = """
import base64
plan = json.load(open("plan.json"))
coded = lambda data: base64.b64encode(bytes(data)).decode()

class Kept(Wire):
    def fill(self):
        before = len(self.buffer)
        try:
            super().fill()
        finally:
            self.every += self.buffer[before:]

for host in ("api.test", "other.test"):
    wire, h2 = None, None
    for number, method in plan["h1"]:
        if wire is None:
            wire = Kept(host)
        wire.every = bytearray(wire.buffer)
        reply, failed = None, ""
        try:
            wire.send(f"{method} /{number} HTTP/1.1\\r\\nHost: {host}\\r\\n{AUTH if host == 'api.test' else ''}\\r\\n")
            reply = wire.reply(method)
        except (Broken, OSError, ValueError) as error:
            failed = repr(error)
        show(host=host, number=number, version="h1", every=coded(wire.every), failed=failed,
             status=reply.status if reply else 0, body=coded(reply.body if reply else b""),
             coding=reply and reply.get("content-encoding"), token=TOKEN)
        if not reply or not reply.clean or reply.kind == "close" or (reply.get("connection") or "") == "close":
            wire.close()
            wire = None
    for number, method in plan["h2"]:
        if h2 is None or h2.closed or h2.goaway is not None:
            h2 = H2Wire(host)
        got = h2.fetch(f"/{number}", BEARER if host == "api.test" else [], method=method)
        head = json.dumps([got["headers"], got["interim"], got["trailers"]], ensure_ascii=False).replace('\\\\"', '"')
        show(host=host, number=number, version="h2", failed="", status=got["status"],
             every=coded("\\n".join(v for h in (got["headers"], *got["interim"], got["trailers"]) for p in h
                                   for v in p).encode("latin-1") + b"\\n" + got["body"].encode("latin-1")),
             body=coded(got["body"].encode("latin-1")), coding=dict(got["headers"]).get("content-encoding"),
             token=TOKEN)
"""


def undone(got):
    """The body as a client reads it."""
    body = base64.b64decode(got["body"])
    for undo in (lambda: decode(got["coding"].lower(), body), lambda: zlib.decompress(body, -15)):
        try:
            return undo() if got["coding"] and body else body
        except Exception:      # of the answers that are broken on purpose
            continue
    return body


def leaks(value, text):
    return says(text, value)


def tells(token, text):
    """The first character in base64 also holds bits of what stands before it. Some decoders of base64
    pass over spaces, which stand for what was an escape."""
    return says(text, token[1:]) or says(text.replace(b" ", b""), token[1:])


def run_the_gauntlet(bench, pki, value, kind, answers):
    bench.real = value
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", spoken_by(kind, answers, pki.good))
    bench.config(secrets=CONTRACT_SECRETS)
    numbers = [(i, a.method) for i, a in enumerate(answers) if a.only in ("", kind)]
    bench.write("plan.json", json.dumps({"h1": numbers, "h2": numbers}))
    done = inside(bench, CLIENT, timeout=300)
    assert done.code == 0 and len(done.lines) == 4 * len(numbers), done.error[-2000:]
    bad, untold, told = [], [], 0
    for got in done.lines:
        answer = answers[got["number"]]
        where = f"{answer.name} | {got['host']} {got['version']} {got['status']} {got['failed']}"
        text = base64.b64decode(got["every"]) + b"\n\n" + undone(got)
        # On the way from HTTP/1.1 to HTTP/2 a field name loses its case, and hardly any of the value with it. An origin
        # of HTTP/2 has made that change itself.
        if leaks(value.encode(), text) or kind == "h1" and leaks(value.lower().encode(), text):
            bad.append(where)
        elif answer.shown and not tells(got["token"].encode(), text):
            untold.append((where, text[-300:]))
        told += answer.shown
    assert not bad, f"{len(bad)} leaks: {bad}"
    assert not untold, f"{len(untold)} without the placeholder: {untold[:40]}"
    assert told > len(done.lines) // 2
    return done


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("origin", ["h1", "h2"])
def test_br065_br067_no_place_and_no_form_tells_the_value(bench, pki, kind, origin):
    value = VALUES[kind]
    every = forms_of(value)
    answers = [*bodies(value, every), *heads(value, every), *(broken(value) if origin == "h1" else ())]
    run_the_gauntlet(bench, pki, value, origin, answers)


# -- what a request carried ----------------------------------------------------------------------------
PLACES = ["header:authorization", "header:x-key", "basic", "query:key", "path", "body:json:/a/0/b", "body:form:key",
          "body", "ws"]
ECHO = """
import base64, hashlib
coded = lambda data: base64.b64encode(bytes(data)).decode()
pair = base64.b64encode(f"user:{TOKEN}".encode()).decode()
json_type, form_type = (("content-type", t) for t in ("application/json", "application/x-www-form-urlencoded"))
asked = [("/x", [("authorization", f"Bearer {TOKEN}")], b""), ("/x", [("x-key", TOKEN)], b""),
         ("/x", [("authorization", f"Basic {pair}")], b""), (f"/x?key={TOKEN}&a=b", [], b""),
         (f"/v1/bot{TOKEN}/send", [], b""),
         ("/x", [json_type], json.dumps({"a": [{"b": f"key {TOKEN}"}]}).encode()),
         ("/x", [form_type], b"a=b&key=" + TOKEN.encode()),
         ("/x", [("content-type", "text/plain")], b"x" * 70000 + TOKEN.encode() + b"y" * 9)]
h2 = H2Wire()
for path, fields_, body in asked:
    head = "".join(f"{n}: {v}\\r\\n" for n, v in fields_)
    got = fetch(path, headers=head, method="POST", body=body or b"-")
    show(version="h1", path=path, status=got.status, token=TOKEN,
         every=coded(repr([got.phrase, got.headers, got.trailers, got.interim]).encode() + b"\\n" + got.body))
    got = h2.fetch(path, fields_, method="POST", body=body or b"-")
    show(version="h2", path=path, status=got["status"], token=TOKEN, every=coded(
         "\\n".join(v for h in (got["headers"], *got["interim"], got["trailers"]) for p in h for v in p).encode("latin-1")
         + b"\\n" + got["body"].encode("latin-1")))
""".replace("\\\\", "\\")


def reflected(given):
    """All that the request brought, as it came and decoded, in all manners."""
    texts = [f"{n}: {v}" for n, v in given.headers] + [given.body[-200:].decode("latin-1")]
    for name, value in given.headers:
        if value.startswith("Basic "):
            texts.append(base64.b64decode(value[6:]).decode())
    texts += [base64.b64encode(t.encode("latin-1")).decode() for t in texts]
    return "\n".join(texts + [json.dumps(t) for t in texts] + [html.escape(t) for t in texts])


@pytest.mark.parametrize("value", [SECRET, AWKWARD], ids=["like a key", "awkward"])
@pytest.mark.parametrize("origin", ["h1", "h2"])
def test_br067_what_the_origin_got_comes_back_as_it_was_sent(bench, pki, origin, value):
    arrived = []

    def note(given, target):
        arrived.append("\n".join([target, reflected(given)]))
        line = target.encode("latin-1", "replace").decode("latin-1")
        fields = [("X-Target", line), ("Location", f"https://other.test{line}"),
                  *((f"X-Got-{n.strip(':')}", v) for n, v in given.headers)]
        return Answer("", arrived[-1].encode("latin-1"), headers=fields, interim=[(103, "Hints", fields)],
                      trailers=fields)

    def h1(conn):
        while True:
            request = conn.read_request()
            given = request.raw_head.decode("latin-1") + request.body.decode("latin-1")
            answer = note(request, request.target)
            answer.body += b"\n" + given.encode("latin-1")
            say_h1(conn, request, answer)

    class Given:
        def __init__(self, stream):
            stream.read_all()
            self.headers, self.body = stream.headers, bytes(stream.arrived)

    def h2(stream):
        say_h2(stream, note(Given(stream), stream.path))
    bench.real = value
    bench.map("api.test:443", Origin(h1, pki.good) if origin == "h1" else H2Origin(h2, pki.good, h1=h1))
    bench.config(grants=[{"secret": "tok", "hosts": ["api.test"], "at": PLACES}])
    done = inside(bench, ECHO, timeout=60)
    assert len(done.lines) == 16 == len(arrived), done
    for got, text in zip(done.lines, arrived):
        assert got["status"] == 200 and says(text.encode("latin-1"), value.encode()), (got, text[-500:])
        every = base64.b64decode(got["every"])
        assert not leaks(value.encode(), every), (got["version"], got["path"])
        assert tells(got["token"].encode(), every), (got["version"], got["path"], every[-500:])


# -- what Warder says itself ---------------------------------------------------------------------------
def test_br067_pages_that_warder_makes_do_not_tell_the_value(bench, pki):
    """The target held it, and the origin breaks off in every way in which it can say the value once more. The
    oracles look at what stands in the audit and on the standard error too."""
    def goes_away(stream):
        stream.read_all()
        if stream.path.startswith("/late"):
            stream.head(200, [("content-length", "100")])
            stream.send(b"some")
        goodbye = GoAwayFrame(0, last_stream_id=0 if "never" in stream.path else stream.id, error_code=2)
        goodbye.additional_data = SECRET.encode()
        stream.conn.raw(goodbye.serialize())
        stream.conn.close("fin")
    bench.map("api.test:443", H2Origin(goes_away, pki.good))
    bench.map("other.test:443", Origin(lambda conn: None, pki.leaf("stranger", ["other.test"], stranger=True)))
    bench.config(grants=[{"secret": "tok", "hosts": ["api.test", "other.test"], "at": ["query:key", "path"]}])
    done = inside(bench, """
for host, path in (("other.test", "/a"), ("api.test", "/late/a"), ("api.test", "/never/b"), ("api.test", "/early")):
    for target in (f"{path}?key={TOKEN}", f"{path}/{TOKEN}/x"):
        got = attempt(lambda: fetch(target, host=host).summary())
        show(path=path, h1=got, status=got["status"] if isinstance(got, dict) else 0)
        got = H2Wire(host).fetch(target)
        show(path=path, h2=got, status=got["status"])
""", timeout=60)
    assert len(done.lines) == 16, done
    assert {got["status"] for got in done.lines if got["path"] == "/a"} == {502}, done
    assert not leaks(SECRET.encode(), done.out + done.err)
    assert "[secret:tok]" in json.dumps(done.records)


# -- WebSocket -----------------------------------------------------------------------------------------
WS = """
import base64
coded = lambda data: base64.b64encode(bytes(data)).decode()
for host in ("api.test", "other.test"):
    wire, reply = ask(host, headers=AUTH if host == "api.test" else "")
    show(host=host, head=coded(repr([reply.phrase, reply.headers]).encode()), status=reply.status, token=TOKEN)
    whole = b""
    while True:
        got = read_frame(wire)
        if got.opcode in (0, 1, 2):
            whole += got.payload
            if not got.fin:
                continue
        show(opcode=got.opcode, payload=coded(whole if got.opcode < 8 else got.payload))
        whole = whole if got.opcode >= 8 else b""
        if got.opcode == CLOSE:
            wire.send(mine(CLOSE, got.payload))
            break
"""


@pytest.mark.parametrize("kind", VALUES)
def test_br065_websocket_messages_and_control_frames_do_not_tell_the_value(bench, pki, kind):
    """Each form in text and binary, whole and in fragments of one byte with pings between; in the reasons."""
    value = VALUES[kind]
    every = forms_of(value)
    control = [v for v in every.values() if len(v) <= 120]

    def script(conn):
        switch(conn, headers=f"Sec-WebSocket-Protocol: {value}\r\nX-Any: {every['percent']}\r\n")
        for number, form in enumerate(every.values()):
            whole = f"before {form} after".encode()
            opcode = (TEXT, BINARY)[number % 2]
            conn.send(frame(opcode, whole))
            conn.send(frame(opcode, form))
            parts = [frame(opcode if i == 0 else CONT, whole[i:i + 1], False) for i in range(len(whole))]
            parts.insert(len(parts) // 2, frame(PING, value[:120]))
            conn.send(b"".join(parts) + frame(CONT, b""))
        conn.send(frame(TEXT, "\n".join(every.values())))
        for form in control:
            conn.send(frame(PING, form) + frame(PONG, form))
        try:
            conn.send(frame(CLOSE, close(4000, f"bad {value}")))
            while read_frame(conn).opcode != CLOSE:
                pass
        except Closed:
            pass
    bench.real = value
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", Origin(script, pki.good))
    bench.config(secrets=CONTRACT_SECRETS)
    done = ws_inside(bench, WS, timeout=60)
    heads = [got for got in done.lines if "head" in got]
    frames = [(g["opcode"], base64.b64decode(g["payload"])) for g in done.lines if "opcode" in g]
    assert [h["status"] for h in heads] == [101, 101], done
    token = heads[0]["token"].encode()
    for text in [base64.b64decode(h["head"]) for h in heads] + [payload for _, payload in frames]:
        assert not leaks(value.encode(), text), text[:300]
    # A control frame has room for 125 bytes; a longer placeholder may not fit.
    short = {"json of html", "percent of html"}
    untold = [f for f in frames if f[0] < 8 and not tells(token, f[1])]
    assert len(untold) <= 2 * 3 * len(short & set(every)), untold[:3]
    assert [f[0] for f in frames].count(CLOSE) == 2 and tells(token, [f for f in frames if f[0] == CLOSE][0][1])


# -- gRPC ----------------------------------------------------------------------------------------------
GRPC = """
import base64
for host in ("api.test", "other.test"):
    wire = H2Wire(host)
    for path in ("/identity", "/gzip", "/deflate", "/web", "/web-text"):
        got = wire.fetch(path, BEARER if host == "api.test" else [], authority=host)
        show(**{**got, "body": base64.b64encode(got["body"].encode("latin-1")).decode()}, path=path, host=host, token=TOKEN)
"""


def message(data, flags=0):
    return struct.pack(">BI", flags, len(data)) + data


def unframed(body, coding):
    """The messages, each undone."""
    undo = {"gzip": gzip.decompress, "deflate": zlib.decompress}
    while body:
        flags, size = struct.unpack(">BI", body[:5])
        data, body = body[5:5 + size], body[5 + size:]
        yield undo[coding](data) if flags & 1 else data


@pytest.mark.parametrize("kind", [k for k in VALUES if k != "short"])
def test_grpc_messages_trailers_and_binary_metadata_do_not_tell_the_value(bench, pki, kind):
    value = VALUES[kind]
    every = forms_of(value)
    pack = {"gzip": gzip.compress, "deflate": zlib.compress}
    binary = [(f"x-said{i}-bin", base64.b64encode(b"x" * i + value.encode()).decode().rstrip("=")) for i in range(3)]
    ends = [("grpc-status", "13"), ("grpc-message", every["percent"]), *binary,
            ("grpc-status-details-bin", base64.b64encode(b"\x08\x0d\x12" + value.encode()).decode().rstrip("="))]

    def script(stream):
        stream.read_all()
        name = stream.path[1:]
        messages = [b"\x0a" + bytes([len(f)]) + f.encode() for f in every.values() if len(f) < 128]
        if name.startswith("web"):
            body = b"".join(map(message, messages)) + message(lines(ends), 0x80)
            kind = "application/grpc-web" + name[3:]
            stream.head(200, [("content-type", kind)])
            stream.send(base64.b64encode(message(value.encode())) if "text" in name else body, end=True)
            return
        coder = pack.get(name)
        stream.head(200, [("content-type", "application/grpc"), *binary,
                          *([("grpc-encoding", name)] if coder else [])])
        body = b"".join(message(coder(m), 1) if coder else message(m) for m in messages)
        for at in range(0, len(body), 501):
            stream.send(body[at:at + 501])
        stream.finish(ends)
    bench.real = value
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", H2Origin(script, pki.good))
    bench.config(secrets=CONTRACT_SECRETS)
    done = inside(bench, GRPC, timeout=60)
    assert len(done.lines) == 10, done
    for got in done.lines:
        body, coding = base64.b64decode(got["body"]), dict(got["headers"]).get("grpc-encoding", "identity")
        whole = b"\n".join(unframed(body, coding)) if got["path"] != "/web-text" else body
        fields = "\n".join(v for h in (got["headers"], got["trailers"]) for _, v in h).encode("latin-1")
        assert got["clean"] and not leaks(value.encode(), body + b"\n" + whole + b"\n" + fields), got
        assert tells(got["token"].encode(), whole), (got["path"], whole[:300])
        assert got["path"].startswith("/web") or tells(got["token"].encode(), fields), got
