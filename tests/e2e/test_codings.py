"""Coded bodies: undone, masked, and coded again, over every version; what cannot be undone."""

import base64
import json
import time
import zlib

import brotli
import pytest
import zstandard

from support.bench import BEARER, CONTRACT_RULES, MINE, SECRET, mine
from support.codings import Flowing, decode, encode, raw_deflate
from support.h2bench import inside, peak_of, talk
from support.h2origin import H2Origin
from support.origin import Origin

TEXT = f"the value is {SECRET}, and again {SECRET}\n".encode() + b"more text\n" * 500
# What a body is coded in, and its bytes.
BODIES = {
    "gzip": ("gzip", encode("gzip", TEXT)),
    "x-gzip": ("x-gzip", encode("gzip", TEXT)),
    "upper case": ("GZIP", encode("gzip", TEXT)),
    "two members": ("gzip", encode("gzip", TEXT[:40]) + encode("gzip", TEXT[40:])),
    "padded": ("gzip", encode("gzip", TEXT) + bytes(512)),
    "deflate": ("deflate", encode("deflate", TEXT)),
    "bare deflate": ("deflate", raw_deflate(TEXT)),
    "br": ("br", encode("br", TEXT)),
    "zstd": ("zstd", encode("zstd", TEXT)),
    "two frames": ("zstd", encode("zstd", TEXT[:40]) + encode("zstd", TEXT[40:])),
    "two codings": ("gzip, br", encode("gzip, br", TEXT)),
    "three codings": ("zstd, deflate, gzip", encode("zstd, deflate, gzip", TEXT)),
}


def head_of(coding, more=""):
    return f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n{more}".encode()


def send_framed(conn, coding, body, framing):
    """With its length, in chunks of 7 bytes, or up to the close. True: the connection goes on."""
    if framing == "length":
        conn.send(head_of(coding, f"Content-Length: {len(body)}\r\n\r\n") + body)
    elif framing == "chunked":
        pieces = [body[i:i + 7] for i in range(0, len(body), 7)]
        conn.send(head_of(coding, "Transfer-Encoding: chunked\r\n\r\n") +
                  b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n")
    else:
        conn.send(head_of(coding, "Connection: close\r\n\r\n") + body)
        conn.close_cleanly()
        return False
    return True


def bodies_h1(conn):
    """/FRAMING/NUMBER"""
    while True:
        _, framing, number = conn.read_request().target.split("/")
        coding, body = list(BODIES.values())[int(number)]
        if not send_framed(conn, coding, body, framing):
            return


def bodies_h2(stream):
    coding, body = list(BODIES.values())[int(stream.path.split("/")[-1])]
    stream.reply(body, headers=[("content-encoding", coding)],
                 length=stream.path.startswith("/length/"))


FETCH_ALL = """
import base64
paths = json.load(open("paths.json"))
for host in ("api.test", "other.test"):
    for path in paths:
        got = fetch(path, host=host, headers=AUTH if host == "api.test" else "")
        show(host=host, path=path, version="h1", status=got.status, clean=got.clean, mine=TOKEN,
             coding=got.get("content-encoding"), length=got.get("content-length"),
             body=base64.b64encode(got.body).decode())
    wire = H2Wire(host)
    for path in paths:
        got = wire.fetch(path, BEARER if host == "api.test" else [], authority=host)
        fields = dict(got["headers"])
        show(host=host, path=path, version="h2", status=got["status"], clean=got["clean"],
             coding=fields.get("content-encoding"), length=fields.get("content-length"), mine=TOKEN,
             body=base64.b64encode(got["body"].encode("latin-1")).decode())
"""


def undone(coding, body):
    """What a client makes of it."""
    return decode(coding.lower(), base64.b64decode(body))


@pytest.mark.parametrize("origin", ["h1", "h2"])
def test_br044_a_value_in_a_coded_body_is_masked_over_every_version(bench, pki, origin):
    """From the host with the grant and from one without; however framed; to clients of HTTP/1.1 and 2."""
    make = (lambda: Origin(bodies_h1, pki.good)) if origin == "h1" else (
        lambda: H2Origin(bodies_h2, pki.good, h1=bodies_h1))
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", make())
    framings = ["length", "chunked", "close"] if origin == "h1" else ["length", "chunked"]
    paths = [f"/{f}/{i}" for f in framings for i in range(len(BODIES))]
    bench.write("paths.json", json.dumps(paths))
    done = inside(bench, FETCH_ALL, timeout=120)
    assert len(done.lines) == len(paths) * 4, done
    for got in done.lines:
        name = list(BODIES)[int(got["path"].split("/")[-1])]
        coding = BODIES[name][0]
        where = (name, got["host"], got["path"], got["version"])
        assert (got["status"], got["clean"], got["coding"]) == (200, True, coding), (where, got)
        assert got["length"] is None, where
        assert undone(coding, got["body"]) == TEXT.replace(SECRET.encode(), got["mine"].encode()), where
    masked = [m for r in done.records for m in r.get("masked") or []]
    assert len(masked) == len(done.lines) and {m["count"] for m in masked} == {2}, masked


def test_br044_curl_reads_what_it_asked_for(bench, pki):
    """Each coding that this curl knows; what it asks for reaches the origin."""
    def script(conn):
        while True:
            request = conn.read_request()
            coding = request.target.strip("/")
            assert coding in request.get("accept-encoding"), request.headers
            body = encode(coding, TEXT)
            conn.send(head_of(coding, f"Content-Length: {len(body)}\r\n\r\n") + body)
    origin = Origin(script, pki.good)
    bench.map("api.test:443", origin)
    done = bench.run("for c in gzip deflate br; do "
                     f"curl -sS --compressed {BEARER} https://api.test/$c || echo failed $?; done; {MINE}")
    text = TEXT.decode().replace(SECRET, mine(done))
    assert done.text.count(text) == 3 and "failed" not in done.text, done


# -- what is asked for ------------------------------------------------------------------------------
def test_without_secrets_nothing_is_touched(bench, pki):
    """Neither what the client accepts, nor a byte of the body."""
    body = encode("gzip", TEXT.replace(SECRET.encode(), b"nothing")) + b"trailing"
    def script(conn):
        while True:
            conn.read_request()
            conn.send(head_of("gzip, x-private", f"Content-Length: {len(body)}\r\n\r\n") + body)
    origin = Origin(script, pki.good)
    bench.map("api.test:443", origin)
    bench.config(secrets={}, grants=[], rules=CONTRACT_RULES)
    done = bench.python("""
import base64
got = fetch("/x", headers="Accept-Encoding: dcz, *;q=0.1\\r\\n")
show(body=base64.b64encode(got.body).decode(), length=got.get("content-length"))
fetch("/x")
""")
    assert base64.b64decode(done.lines[0]["body"]) == body, done
    assert done.lines[0]["length"] == str(len(body))
    asked = [r.all("accept-encoding") for r in origin.requests]
    assert asked == [["dcz, *;q=0.1"], []], asked


# -- heads without bodies ---------------------------------------------------------------------------
def test_heads_without_bodies_tell_no_length_that_will_not_be(bench, pki):
    coded = "Content-Encoding: gzip\r\nETag: \"v1\"\r\nAccept-Ranges: bytes\r\n"

    def script(conn):
        while True:
            request = conn.read_request()
            status = request.target.strip("/")
            if request.method == "HEAD":
                conn.send(f"HTTP/1.1 200 OK\r\n{coded}Content-Length: 99\r\n\r\n".encode())
            elif status == "empty":
                conn.send(f"HTTP/1.1 200 OK\r\n{coded}Content-Length: 0\r\n\r\n".encode())
            elif status == "nothing":
                conn.send(f"HTTP/1.1 200 OK\r\n{coded}Transfer-Encoding: chunked\r\n\r\n"
                          "0\r\n\r\n".encode())
            else:
                conn.send(f"HTTP/1.1 {status} X\r\n{coded}\r\n".encode())
    bench.map("api.test:443", Origin(script, pki.good))
    done = bench.python("""
wire = Wire()
for method, path in (("HEAD", "/x"), ("GET", "/204"), ("GET", "/304"), ("GET", "/empty"),
                     ("GET", "/nothing")):
    wire.send(f"{method} {path} HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
    show(**wire.reply(method).summary())
""")
    seen = [(r["status"], r["clean"], r["body"], dict(map(tuple, r["headers"]))) for r in done.lines]
    assert [s[:3] for s in seen] == [(s, True, "") for s in (200, 204, 304, 200, 200)], done
    for status, _, _, fields in seen:
        assert fields["Content-Encoding"] == "gzip", fields
    for index in (0, 1, 2, 4):
        fields = seen[index][3]
        assert "Content-Length" not in fields and "Accept-Ranges" not in fields, fields
        assert fields["ETag"] == 'W/"v1"', fields
    assert seen[3][3]["Content-Length"] == "0", seen[3]


def test_a_client_of_http_1_0_gets_a_coded_body_up_to_the_close(bench, pki):
    bench.map("api.test:443", Origin(bodies_h1, pki.good))
    done = bench.python("""
import base64
wire = Wire()
wire.send(f"GET /chunked/0 HTTP/1.0\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
got = wire.reply()
show(clean=got.clean, kind=got.kind, body=base64.b64encode(got.body).decode(), mine=TOKEN)
""")
    got = done.lines[0]
    assert got["clean"] and got["kind"] == "close", done
    assert undone("gzip", got["body"]) == TEXT.replace(SECRET.encode(), got["mine"].encode())


def test_trailers_behind_a_coded_body_are_masked(bench, pki):
    def script(conn):
        conn.read_request()
        body = encode("zstd", TEXT)
        conn.send(head_of("zstd", "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n") +
                  b"%x\r\n%s\r\n0\r\nX-Sum: %s\r\n\r\n" % (len(body), body, SECRET.encode()))
    bench.map("api.test:443", Origin(script, pki.good))
    done = bench.python('got = fetch("/x", headers=AUTH)\n'
                        'show(clean=got.clean, trailers=got.trailers, mine=TOKEN)')
    got = done.lines[0]
    assert got["clean"] and got["trailers"] == [["X-Sum", got["mine"]]], done


# -- what cannot be undone --------------------------------------------------------------------------
BROKEN = {
    "unknown": ("x-private", bytes(b ^ 0x55 for b in TEXT)),
    "too many": ("gzip, gzip, gzip, gzip", encode("gzip, gzip, gzip, gzip", TEXT)),
    "not really": ("gzip", TEXT),
    "not br": ("br", TEXT),
    "wrong sum": ("gzip", encode("gzip", TEXT)[:-8] + bytes(8)),
    "cut": ("gzip", encode("gzip", TEXT)[:-9]),
    "cut zstd": ("zstd", encode("zstd", TEXT)[:-3]),
}


@pytest.mark.parametrize("origin", ["h1", "h2"])
def test_br044_br046_what_cannot_be_undone_never_ends_cleanly(bench, pki, origin):
    """Unknown: refused from a host with a grant, passed from another one. Malformed or cut: refused, or
    broken off, from both."""
    def over_h1(conn):
        while True:
            coding, body = list(BROKEN.values())[int(conn.read_request().target.strip("/"))]
            if not send_framed(conn, coding, body, "length"):
                return

    def over_h2(stream):
        coding, body = list(BROKEN.values())[int(stream.path.strip("/"))]
        stream.reply(body, headers=[("content-encoding", coding)])
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", Origin(over_h1, pki.good) if origin == "h1" else
                  H2Origin(over_h2, pki.good, h1=over_h1))
    done = inside(bench, f"""
for host in ("api.test", "other.test"):
    for i in range({len(BROKEN)}):
        got = fetch(f"/{{i}}", host=host, headers=AUTH if host == "api.test" else "")
        show(host=host, i=i, status=got.status, clean=got.clean, reason=got.get("warder-reason"))
""")
    names = list(BROKEN)
    for got in done.lines:
        name = names[got["i"]]
        unknown = name in ("unknown", "too many")
        refused = got["clean"] and (got["status"], got["reason"]) == (502, "response_unmaskable")
        broken = not got["clean"] and got["status"] == 200
        if unknown and got["host"] == "other.test":
            assert got["clean"] and got["status"] == 200, (name, done)
        elif unknown or origin == "h1":      # all of it is there with its head
            assert refused, (name, done)
        else:
            assert refused or broken, (name, done)
    reasons = [r["reason"] for r in done.records if r.get("reason") == "response_unmaskable"]
    seen = [(r.get("exchange"), r.get("reason"), r.get("status"), r.get("bytes_down")) for r in done.records
            if "bytes_down" in r]
    assert len(reasons) == 2 * len(BROKEN) - 2, seen


@pytest.mark.parametrize("then", ["the end", "garbage", "silence in a word"])
def test_br044_a_coded_body_that_goes_wrong_later_is_broken_off(bench, pki, then):
    """Its head and its first part have left: what follows must not look like its end."""
    def script(conn):
        coding = conn.read_request().target.strip("/")
        coder = Flowing(coding)
        first = coder.piece(f"first {SECRET}\n".encode())
        conn.send(head_of(coding, "Transfer-Encoding: chunked\r\n\r\n") +
                  b"%x\r\n%s\r\n" % (len(first), first))
        time.sleep(0.3)
        more = b"" if then == "the end" else b"\xff" * 300
        if then == "silence in a word":
            word = coder.piece(f"{SECRET[:9]}".encode())
            conn.send(b"%x\r\n%s\r\n" % (len(word), word))
            time.sleep(0.5)
        conn.send((b"%x\r\n%s\r\n" % (len(more), more) if more else b"") + b"0\r\n\r\n")
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", Origin(script, pki.good))
    done = inside(bench, """
for coding in ("gzip", "deflate", "br", "zstd"):
    for host in ("api.test", "other.test"):
        got = fetch(f"/{coding}", host=host, headers=AUTH if host == "api.test" else "")
        show(**got.summary(), coding=coding, host=host, mine=TOKEN)
        got = H2Wire(host).fetch(f"/{coding}", BEARER if host == "api.test" else [], authority=host)
        show(**got, coding=coding, host=host, mine=TOKEN)
""")
    assert len(done.lines) == 16, done
    for got in done.lines:
        assert got["status"] == 200 and not got["clean"], got
        text = undo_flow(got["coding"], got["body"].encode("latin-1")).decode()
        held = SECRET[:9] if then == "silence in a word" and got["host"] == "other.test" else ""
        assert text == f"first {got['mine']}\n{held}", got
    reasons = [r.get("reason") for r in done.records if "bytes_down" in r]
    assert reasons == ["response_unmaskable"] * 16, reasons


def test_a_text_that_only_claims_to_be_coded_is_searched(bench, pki):
    """A host without a grant: what nobody can undo passes, but a value in plain sight does not."""
    def script(conn):
        conn.read_request()
        conn.send(head_of("x-private", f"Content-Length: {len(TEXT)}\r\n\r\n") + TEXT)
    bench.map("other.test:443", Origin(script, pki.good))
    done = bench.run(f"curl -sS https://other.test/x; {MINE}")
    assert done.text.startswith(TEXT.decode().replace(SECRET, mine(done))), done


def test_a_part_of_a_coded_body_from_a_host_without_a_grant_passes_as_it_is(bench, pki):
    part = encode("gzip", b"some text " * 100)[10:30]

    def script(conn):
        request = conn.read_request()
        assert request.get("range") == "bytes=10-29", request.headers
        conn.send(b"HTTP/1.1 206 Partial Content\r\nContent-Encoding: gzip\r\n"
                  b"Content-Range: bytes 10-29/99\r\nContent-Length: 20\r\n\r\n" + part)
    bench.map("other.test:443", Origin(script, pki.good))
    done = bench.python("""
got = fetch("/x", host="other.test", headers="Range: bytes=10-29\\r\\n")
show(**got.summary())
""")
    got = done.lines[0]
    assert (got["status"], got["clean"], got["body"].encode("latin-1")) == (206, True, part), done


@pytest.mark.parametrize("field", ["gzip", "gzip, chunked", "chunked, gzip"])
def test_a_transfer_coding_other_than_chunked_is_refused(bench, pki, field):
    """A transfer coding hides a body as well as a content coding; nobody asks for one."""
    def script(conn):
        conn.read_request()
        body = encode("gzip", TEXT)
        conn.send(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {field}\r\n\r\n".encode() +
                  b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        conn.close_cleanly()
    bench.map("api.test:443", Origin(script, pki.good))
    done = bench.python('show(**fetch("/x", headers=AUTH).summary())')
    assert (done.lines[0]["status"], done.lines[0]["reason"]) == (502, "upstream_broken"), done


# -- events -----------------------------------------------------------------------------------------
COUNT, GAP = 6, 0.2
STREAM_CODINGS = ["gzip", "deflate", "br", "zstd"]

LISTEN = r"""
import threading
from h2wire import H2Wire, BEARER

def report(path, version, arrivals):
    show(path=path, version=version, mine=TOKEN, arrivals=[[t, d.hex()] for t, d in arrivals])

def over_h1(path, host):
    wire = Wire(host)
    wire.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{AUTH if host == 'api.test' else ''}\r\n")
    wire.head(Reply())
    arrivals = []
    while (size := int(wire.line(), 16)):
        data = wire.take(size)
        wire.take(2)
        arrivals.append((time.monotonic(), data))
    report(path + host, "h1", arrivals)

def over_h2(path, host):
    wire = H2Wire(host)
    number = wire.request(path, BEARER if host == "api.test" else [], authority=host)
    stream, arrivals, seen = wire.streams[number], [], 0
    while not stream.done and wire.pump(4):
        arrivals.append((time.monotonic(), bytes(stream.body[seen:])))
        seen = len(stream.body)
    report(path + host, "h2", arrivals)

threads = [threading.Thread(target=over, args=(path, host)) for over in (over_h1, over_h2)
           for path in json.load(open("paths.json")) for host in ("api.test", "other.test")]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def events(coding):
    """Each event as it is to be sent, and the last bytes."""
    coder = Flowing(coding)
    for i in range(COUNT):
        yield coder.piece(f"data: {i} {time.monotonic():.6f} {SECRET}\n\n".encode())
    yield coder.end()


def undo_flow(coding, data):
    """What a client has read by then."""
    if coding in ("gzip", "deflate"):
        return zlib.decompressobj(47).decompress(data)
    if coding == "br":
        return brotli.Decompressor().process(data)
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


@pytest.mark.parametrize("origin", ["h1", "h2"])
def test_br040_coded_events_leave_at_once(bench, pki, origin):
    """A flush per event at the origin is one at the client, under every coding."""
    def over_h1(conn):
        coding = conn.read_request().target.strip("/")
        conn.send(head_of(coding, "Content-Type: text/event-stream\r\n"
                          "Transfer-Encoding: chunked\r\n\r\n"))
        for piece in events(coding):
            conn.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            time.sleep(GAP)
        conn.send(b"0\r\n\r\n")

    def over_h2(stream):
        coding = stream.path.strip("/")
        stream.head(200, [("content-encoding", coding), ("content-type", "text/event-stream")])
        for piece in events(coding):
            stream.send(piece)
            time.sleep(GAP)
        stream.finish()
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", Origin(over_h1, pki.good) if origin == "h1" else
                  H2Origin(over_h2, pki.good, h1=over_h1))
    bench.write("paths.json", json.dumps([f"/{c}" for c in STREAM_CODINGS]))
    done = inside(bench, LISTEN, timeout=40)
    assert len(done.lines) == 16, done
    for got in done.lines:
        coding = got["path"].split("/")[1].split("api")[0].split("other")[0]
        data, known, late = b"", 0, []
        for when, piece in got["arrivals"]:
            data += bytes.fromhex(piece)
            text = undo_flow(coding, data).decode()
            whole = text.split("\n\n")[:-1]
            for event in whole[known:]:
                _, number, sent, value = event.split(" ")
                assert value == got["mine"] and int(number) == len(late), (got["path"], event)
                late.append(when - float(sent))
            known = len(whole)
        assert decode(coding, data).decode() == text      # and a proper end
        late.sort()
        assert len(late) == COUNT and late[-2] < 0.1 and late[-1] < 0.5, (got["path"],
                                                                         got["version"], late)


# -- bombs ------------------------------------------------------------------------------------------
BOMB = """
import threading
fetch("/small", headers=AUTH)
pause()
seen, found = 0, []
def load():
    global seen
    wire = Wire()
    wire.send(f"GET /bomb HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
    found.append(wire.reply())
thread = threading.Thread(target=load)
thread.start()
waits = []
while thread.is_alive():
    start = time.monotonic()
    fetch("/small", headers=AUTH)
    waits.append(time.monotonic() - start)
thread.join()
got = found[0]
import zlib
undo, size = zlib.decompressobj(31), 0
data = got.body
while data or not undo.eof:
    piece = undo.decompress(data, 1 << 20)
    data = undo.unconsumed_tail
    size += len(piece)
    if undo.eof: break
show(clean=got.clean, bytes=len(got.body), size=size, waits=sorted(waits))
pause()
"""


def test_a_bomb_passes_in_little_memory_and_stops_nobody(bench, pki):
    """1 GiB of zeros in 1 MiB of gzip in one chunk; meanwhile other requests on the same worker go on."""
    size = 1 << 30
    coder = zlib.compressobj(9, wbits=31)
    zeros = bytes(1 << 24)
    bomb = b"".join([coder.compress(zeros) for _ in range(size // len(zeros))]) + coder.flush()

    def script(conn):
        while True:
            if conn.read_request().target == "/bomb":
                conn.send(head_of("gzip", f"Content-Length: {len(bomb)}\r\n\r\n") + bomb)
            else:
                conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    bench.map("api.test:443", Origin(script, pki.good))
    task = talk(bench, BOMB)
    task.hear()
    peak = peak_of(task)
    task.go()
    got = task.hear(120)
    grown = peak()
    assert got["clean"] and got["size"] == size, got
    assert bench.sanitized or grown < 24 << 20, grown
    waits = got["waits"]
    assert len(waits) > 3 and waits[len(waits) // 2] < 0.2, waits
    task.end()


# -- clients ----------------------------------------------------------------------------------------
NODE = r"""
const asked = ['gzip', 'deflate', 'br'];
for (const coding of asked) {
  const got = await fetch(`https://api.test/${coding}`,
                          {headers: {authorization: `Bearer ${process.env.API_TOKEN}`}});
  console.log(JSON.stringify({coding, text: await got.text(), mine: process.env.API_TOKEN}));
}
"""
REQUESTS = """
import os, requests
for coding in ("gzip", "deflate", "br"):
    got = requests.get(f"https://api.test/{coding}", timeout=10,
                       headers={"authorization": f"Bearer {TOKEN}", "accept-encoding": coding})
    show(coding=coding, text=got.text, mine=TOKEN)
"""


@pytest.mark.parametrize("client", ["node", "requests"])
def test_what_libraries_decode_by_themselves(bench, pki, client):
    """What leaves here is read by the decoders that programs use."""
    def script(conn):
        while True:
            coding = conn.read_request().target.strip("/")
            send_framed(conn, coding, encode(coding, TEXT), "chunked")
    bench.map("api.test:443", Origin(script, pki.good))
    if client == "node":
        bench.write("client.mjs", NODE)
        done = bench.run("node client.mjs")
    else:
        done = bench.python(REQUESTS)
    assert len(done.lines) == 3, done
    for got in done.lines:
        assert got["text"] == TEXT.decode().replace(SECRET, got["mine"]), got
