"""Cases from the field (BR-...) about what flows: events, coded bodies, pushes, and more than fits."""

import gzip
import json
import subprocess
import time
import zlib

import pytest

from support.bench import BEARER, INSIDE, MINE, SECRET, mine
from support.bulk import BulkOrigin, blocks, digest
from support.codings import decode, encode
from support.git_origin import git_origin, make_repository
from support.h2origin import H2Origin
from support.origin import Origin
from support.talk import Talk

MIB = 1 << 20

# -- BR-040, BR-041 --------------------------------------------------------------------------------
TYPES = {"sse": "text/event-stream", "none": None, "octets": "application/octet-stream",
         "ndjson": "application/x-ndjson"}
COUNT, GAP = 7, 0.2


def event(i, kind):
    """About 30 bytes with the moment at which they were written. JSON ends in no line break."""
    if kind == "json":
        return f'{{"n": {i}, "at": {time.monotonic():.6f}}}'.encode()
    return f"data: {i} {time.monotonic():.6f}\n\n".encode()


def events_h1(conn):
    """/chunked/TYPE and /close/TYPE."""
    while True:
        request = conn.read_request()
        _, framing, kind = request.target.split("/")
        media = "application/json" if kind == "json" else TYPES[kind]
        fields = f"Content-Type: {media}\r\n" if media else ""
        fields += "Transfer-Encoding: chunked" if framing == "chunked" else "Connection: close"
        conn.send(f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode())
        for i in range(COUNT):
            piece = event(i, kind)
            conn.send(b"%x\r\n%s\r\n" % (len(piece), piece) if framing == "chunked" else piece)
            time.sleep(GAP)
        if framing == "close":
            conn.close_cleanly()
            return
        conn.send(b"0\r\n\r\n")


def events_h2(stream):
    kind = stream.path.split("/")[2]
    media = "application/json" if kind == "json" else TYPES[kind]
    stream.head(200, [("content-type", media)] if media else [])
    for i in range(COUNT):
        stream.send(event(i, kind))
        time.sleep(GAP)
    stream.finish()


# Everything at once; each stream's events with the moment at which they arrived.
LISTEN = r"""
import re, threading
from h2wire import H2Wire, BEARER
MOMENT = re.compile(rb'(?:data: \d+ |"at": )(\d+\.\d+)')

def report(path, version, got, arrivals):
    # A moment belongs to the read with which its last byte came.
    late = []
    for found in MOMENT.finditer(got):
        now = next(when for when, upto in arrivals if upto >= found.end())
        late.append(now - float(found.group(1)))
    show(path=path, version=version, late=late)

def over_h1(path, host):
    wire = Wire(host)
    wire.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{AUTH if host == 'api.test' else ''}\r\n")
    got, arrivals = b"", []
    wire.sock.settimeout(4)
    try:
        while b"\r\n0\r\n\r\n" not in got and (data := wire.sock.recv(65536)):
            got += data
            arrivals.append((time.monotonic(), len(got)))
    except OSError:
        pass
    report(path, "h1", got, arrivals)

def over_h2(path, host):
    wire = H2Wire(host)
    number = wire.request(path, BEARER if host == "api.test" else [])
    stream, arrivals = wire.streams[number], []
    while not stream.done and wire.pump(4):
        arrivals.append((time.monotonic(), len(stream.body)))
    report(path, "h2", bytes(stream.body), arrivals)

paths = json.load(open("paths.json"))
threads = [threading.Thread(target=over, args=(path, host))
           for path in paths for host in ("api.test",)
           for over in ((over_h1, over_h2) if arguments()[0] == "h1" else (over_h2,))]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.mark.parametrize("origin", ["h1", "h2"])
def test_br040_br041_events_leave_at_once_whatever_their_framing_and_type(bench, pki, origin):
    """Chunked, up to the close, DATA frames; with every content type and without one; to clients of
    either version; the mask at work."""
    kinds = [*TYPES, "json"]
    if origin == "h1":
        bench.map("api.test:443", Origin(events_h1, pki.good))
        paths = [f"/{framing}/{kind}" for framing in ("chunked", "close") for kind in kinds]
    else:
        bench.map("api.test:443", H2Origin(events_h2, pki.good))
        paths = [f"/events/{kind}" for kind in kinds]
    bench.write("h2wire.py", (INSIDE / "h2wire.py").read_bytes())
    bench.write("paths.json", json.dumps(paths))
    done = bench.python(LISTEN, origin, timeout=40)
    streams = [(r["path"], r["version"], sorted(r["late"])) for r in done.lines]
    assert len(streams) == len(paths) * (2 if origin == "h1" else 1), done
    for path, version, late in streams:
        # One hiccup of a busy machine is forgiven; an event that waits for the next one is not.
        assert len(late) == COUNT and late[-2] < 0.1 and late[-1] < 0.5, (path, version, late)


# -- BR-043 ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
def test_br043_a_coded_request_body_is_never_said_to_be_swapped(bench, echo, coding):
    """Warder does not look into it (docs): the bytes pass as they are, and no use is recorded."""
    done = bench.python(f"""
import gzip, zlib
body = json.dumps({{"key": TOKEN}}).encode()
coded = {{"gzip": gzip.compress, "deflate": zlib.compress}}.get("{coding}", lambda b: b"\\x8b" + b)
reply = fetch("/digest", method="POST", headers="Content-Encoding: {coding}\\r\\n", body=coded(body))
show(status=reply.status, reason=reply.get("warder-reason"))
""")
    got = done.lines[0]
    uses = [r for r in done.records if r.get("uses")]
    assert not uses, uses
    if coding == "br":          # what was not really coded is seen all the same
        assert got["status"] == 403 and got["reason"].startswith("placeholder_"), done
        assert b'"key"' not in echo.received
        return
    assert got["status"] in (200, 415, 403), done
    if got["status"] == 200:
        body = echo.requests[0].body
        plain = gzip.decompress(body) if coding == "gzip" else zlib.decompress(body)
        assert SECRET.encode() not in plain and echo.requests[0].get("content-encoding") == coding


# -- BR-044, BR-046 --------------------------------------------------------------------------------
def coded(fields, body):
    """An origin that answers with these fields and this body."""
    def script(conn):
        while True:
            request = conn.read_request()
            shown = body(request) if callable(body) else body
            conn.send(b"HTTP/1.1 200 OK\r\n" + fields + b"Content-Length: %d\r\n\r\n" % len(shown) +
                      shown)
    return script


def reflect(request):
    return f"you sent {request.get('authorization')}\n".encode()


ASKED = {"gzip, br, zstd": "gzip, br, zstd", "x-private, zstd;q=0.9": "zstd;q=0.9",
         "*": "identity", "gzip;q=1.0": "gzip;q=1.0", "identity;q=0, gzip": "identity;q=0, gzip",
         "": "identity"}


@pytest.mark.parametrize("accepted", ASKED)
def test_br044_br046_what_an_origin_may_code_in_is_what_we_can_read(bench, pki, accepted):
    """It codes in whatever it is told, the client decodes it; no form of the value comes back."""
    def script(conn):
        while True:
            request = conn.read_request()
            offered = [m.split(";")[0].strip() for m in request.get("accept-encoding").split(",")]
            coding = next((c for c in ("zstd", "br", "gzip") if c in offered), None)
            text = reflect(request)
            shown = encode(coding, text) if coding else text
            field = f"Content-Encoding: {coding}\r\n" if coding else ""
            conn.send(f"HTTP/1.1 200 OK\r\n{field}Content-Length: {len(shown)}\r\n\r\n".encode() +
                      shown)
    origin = Origin(script, pki.good)
    bench.map("api.test:443", origin)
    done = bench.python(f"""
got = fetch("/x", headers=AUTH + ("Accept-Encoding: {accepted}\\r\\n" if {bool(accepted)} else ""))
show(**got.summary(), mine=TOKEN)
""")
    asked = origin.requests[0].all("accept-encoding")
    assert asked == [ASKED[accepted]], asked
    got = done.lines[0]
    coding = dict(map(tuple, got["headers"])).get("Content-Encoding")
    assert (coding is None) == (ASKED[accepted] == "identity"), got
    body = got["body"].encode("latin-1")
    text = decode(coding, body) if coding else body
    assert got["clean"] and text == f"you sent Bearer {got['mine']}\n".encode(), got


BODY = f"the value is {SECRET}".encode()
CODED = {
    "gzip": (b"Content-Encoding: gzip\r\n", gzip.compress(BODY)),
    "two members": (b"Content-Encoding: gzip\r\n",
                    gzip.compress(b"the first") + gzip.compress(BODY)),
    "cut": (b"Content-Encoding: gzip\r\n", gzip.compress(BODY)[:-12]),
    "deflate": (b"Content-Encoding: deflate\r\n", zlib.compress(BODY)),
    "upper case": (b"CONTENT-ENCODING: GZIP\r\n", gzip.compress(BODY)),
    "x-gzip": (b"Content-Encoding: x-gzip\r\n", gzip.compress(BODY)),
    "x-private": (b"Content-Encoding: x-private\r\n", bytes(b ^ 0x55 for b in BODY)),
    "identity, gzip": (b"Content-Encoding: identity, gzip\r\n", gzip.compress(BODY)),
    "identity and gzip": (b"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n",
                          gzip.compress(BODY)),
    "gzip behind an empty one": (b"Content-Encoding:\r\nContent-Encoding: gzip\r\n",
                                 gzip.compress(BODY)),
    "a list of empties": (b"Content-Encoding: , ,gzip\r\n", gzip.compress(BODY)),
    "not really": (b"Content-Encoding: gzip\r\n", BODY),
}


def test_br044_br046_a_coding_that_was_not_asked_for_is_masked_or_refused(bench, pki):
    """What is known is masked, whatever it is called; else 502 response_unmaskable, or an answer that
    breaks off, and not one byte of the body."""
    names = list(CODED)

    def script(conn):
        while True:
            fields, body = CODED[names[int(conn.read_request().target.strip("/"))]]
            conn.send(b"HTTP/1.1 200 OK\r\n" + fields + b"Content-Length: %d\r\n\r\n" % len(body) +
                      body)
    bench.map("api.test:443", Origin(script, pki.good))
    done = bench.python(f"""
for i in range({len(names)}):
    got = fetch(f"/{{i}}", headers=AUTH)
    show(**got.summary(), mine=TOKEN)
""")
    for name, got in zip(names, done.lines, strict=True):
        if name in ("x-private", "not really", "cut"):
            refused = got["clean"] and (got["status"], got["reason"]) == (502, "response_unmaskable")
            broken = name == "cut" and not got["clean"]
            assert refused or broken, (name, got)
            continue
        undo = zlib.decompress if name == "deflate" else gzip.decompress
        text = undo(got["body"].encode("latin-1"))
        plain = BODY.replace(SECRET.encode(), got["mine"].encode())
        assert got["status"] == 200 and got["clean"], (name, got)
        assert text == (b"the first" if name == "two members" else b"") + plain, (name, text)
        held = [v for n, v in got["headers"] if n.lower() == "content-encoding"]
        assert ",".join(held).lower().replace("x-", "").endswith("gzip" if name != "deflate" else name)


@pytest.mark.parametrize("fields", [b"Content-Encoding: identity\r\n", b"Content-Encoding:\r\n", b""])
def test_br046_identity_is_no_coding(bench, pki, fields):
    bench.map("api.test:443", Origin(coded(fields, reflect), pki.good))
    done = bench.run(f"curl -sS {BEARER} https://api.test/x; {MINE}")
    assert f"you sent Bearer {mine(done)}" in done.text, done


# -- BR-047 ----------------------------------------------------------------------------------------
def test_br047_a_git_push_in_chunks(bench, pki):
    """Above http.postBuffer git sends a probe of 4 bytes, and then a chunked POST. 300 MB of it take
    minutes: 60 are in full/test_cases_large.py."""
    root = bench.directory / "git"
    make_repository(root)
    origin = git_origin(pki.good, root, SECRET)
    bench.map("git.test:443", origin)
    bench.config(rules=[{"name": "git", "hosts": ["git.test"], "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": ["git.test"], "at": ["basic"]}])
    done = bench.run("""set -e
        git clone -q "https://x-access-token:$API_TOKEN@git.test/r.git" clone
        cd clone
        head -c 5000000 /dev/urandom > blob
        git add blob
        git -c user.name=t -c user.email=t@t commit -q -m second
        git -c http.postBuffer=65536 push -q origin main
        git fetch -q
        git fsck --full 2>/dev/null
        git rev-parse HEAD""", creates=["clone"], timeout=60)
    there = subprocess.run(["git", "-c", "safe.directory=*", "-C", f"{root}/r.git", "rev-parse",
                            "main"], capture_output=True, text=True, check=True).stdout.strip()
    assert done.code == 0 and done.text.split()[-1] == there, done
    posts = [r for r in origin.requests if r.method == "POST" and "receive-pack" in r.target]
    assert any(r.get("transfer-encoding") == "chunked" and len(r.body) > 4_900_000 for r in posts), [
        (r.headers, len(r.body)) for r in posts]


# -- BR-048 ----------------------------------------------------------------------------------------
LARGE = """
import hashlib
fetch("/ok", headers=AUTH)
pause(token=TOKEN)
size = int(arguments()[0])
for framing in ("length", "chunked"):
    wire = Wire()
    start = time.monotonic()
    wire.send(f"GET /{framing}/{size} HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
    reply, first, state = Reply(), None, hashlib.sha256()
    wire.head(reply)
    left = size
    while left:
        count = left
        if framing == "chunked":
            count = int(wire.line(), 16)
        left -= count
        while count:
            if not wire.buffer:
                wire.fill()
            first = first or time.monotonic() - start
            piece = bytes(wire.buffer[:count])
            del wire.buffer[:count]
            state.update(piece)
            count -= len(piece)
        if framing == "chunked":
            wire.take(2)
    show(first=first, sha256=state.hexdigest())
    wire.close()
pause()
wire = Wire()
wire.send(f"GET /length/{1 << 30} HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
for i in range(10):
    wire.take(100_000)
    time.sleep(0.1)
pause()
wire.close()
pause()
"""


def test_br048_a_large_response_flows_and_a_slow_reader_slows_the_origin(bench, pki):
    """Scaled to 48 MiB a time (1 GiB: full/test_big.py): the first byte at once, every byte, little
    memory; 1 MB/s at the client is not much more at the origin; its end reaches the origin."""
    size = 48 * MIB
    bulk = BulkOrigin(pki.good, SECRET.encode())
    bench.map("api.test:443", bulk)
    talk = Talk(bench, LARGE, size)
    token = talk.hear()["token"].encode()
    before = talk.memory()
    talk.go()
    wanted = digest(blocks(size, token))
    for _ in range(2):
        got = talk.hear(60)
        assert got["sha256"] == wanted and got["first"] < 0.5, got
    talk.hear()
    assert bench.sanitized or talk.memory("VmHWM") - before < 16 * MIB
    sent = bulk.sent
    talk.go()
    talk.hear(20)
    # 1 MB was read. The rest lies in the kernel's buffers of four sockets.
    assert bulk.sent - sent < 40 * MIB, bulk.sent - sent
    assert bench.sanitized or talk.memory("VmHWM") - before < 16 * MIB
    start = time.monotonic()
    talk.go()
    talk.hear()
    assert bulk.broken.wait(5) and time.monotonic() - start < 5
    talk.end()
