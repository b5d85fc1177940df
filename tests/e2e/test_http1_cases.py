"""HTTP/1.1 cases from the field (BR-...): raw bytes from inside, raw bytes at the origin."""

import hashlib
import json

import pytest

from support.bench import INSIDE, PYTHON, SECRET
from support.echo import pattern
from support.raw import OK, answer_ok, raw_origin


def exchanges(records, decision="allow"):
    return [r for r in records if r.get("decision") == decision]


# -- BR-001 ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("tls", [True, False], ids=["tls", "clear"])
def test_br001_chunked_upload_is_read(bench, pki, tls):
    origin = raw_origin(bench, pki, answer_ok, clear=not tls)
    done = bench.python(f"""
start = time.monotonic()
wire = Wire(port={443 if tls else 80}, tls={tls})
for part in ("POST /up HTTP/1.1\\r\\nHost: api.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n",
             "5\\r\\nhello\\r\\n", "6\\r\\n world\\r\\n", "0\\r\\n\\r\\n"):
    wire.send(part)
    time.sleep(0.05)
show(**wire.reply().summary(), seconds=time.monotonic() - start)
""")
    reply = done.lines[0]
    assert reply["status"] == 200 and reply["seconds"] < 2, done
    assert [(r.target, r.body) for r in origin.requests] == [("/up", b"hello world")]
    assert len(exchanges(done.records)) == 1, done.records


# -- BR-003 ----------------------------------------------------------------------------------------
EXPECT = """
start = time.monotonic()
wire = Wire()
wire.send(f"PUT /obj HTTP/1.1\\r\\nHost: api.test\\r\\nExpect: 100-Continue\\r\\n"
          f"Content-Length: 1048576\\r\\n{AUTH}\\r\\n")
reply = Reply()
wire.head(reply)
sent = 0
if reply.status == 100:
    wire.send(b"x" * 1048576)
    sent = 1048576
    reply = wire.reply("PUT")
show(status=reply.status, sent=sent, seconds=time.monotonic() - start)
"""


def test_br003_expect_continue_then_the_body(bench, pki):
    def script(conn):
        request = conn.read_head()
        conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        conn.read_body(request)
        conn.requests.append(request)
        conn.send(OK)
    origin = raw_origin(bench, pki, script)
    done = bench.python(EXPECT)
    reply = done.lines[0]
    assert (reply["status"], reply["sent"]) == (200, 1048576) and reply["seconds"] < 2, done
    assert len(origin.requests[0].body) == 1048576
    assert origin.requests[0].get("authorization") == f"Bearer {SECRET}"
    assert (origin.requests[0].get("expect") or "").lower() in ("100-continue", "")


@pytest.mark.parametrize("status", ["417 Expectation Failed", "401 Unauthorized"])
def test_br003_early_refusal_is_delivered(bench, pki, status):
    def script(conn):
        conn.read_head()
        conn.send(f"HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno".encode())
        conn.close_cleanly()
    origin = raw_origin(bench, pki, script)
    done = bench.python(EXPECT)
    assert done.lines[0]["status"] == int(status[:3]) and done.lines[0]["seconds"] < 2, done
    assert f"Bearer {SECRET}".encode() in origin.received


# -- BR-006 ----------------------------------------------------------------------------------------
SMUGGLED = "0\\r\\n\\r\\nGET /evil HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n"
PADDED = SMUGGLED + "." * 7     # 50 bytes


@pytest.mark.parametrize("name,fields,body", [
    ("length and chunked", "Content-Length: 50\\r\\nTransfer-Encoding: chunked\\r\\n", PADDED),
    ("chunked and length", "Transfer-Encoding: chunked\\r\\nContent-Length: 50\\r\\n", PADDED),
    ("two lengths", "Content-Length: 5\\r\\nContent-Length: 6\\r\\n", "hello!"),
    ("length list", "Content-Length: 5, 6\\r\\n", "hello!"),
    ("unknown coding", "Transfer-Encoding: chunked, identity\\r\\n", SMUGGLED),
    ("coding with a tab", "Transfer-Encoding: \\x0bchunked\\r\\n", SMUGGLED),
    ("space before the colon", "Content-Length : 43\\r\\n", SMUGGLED),
    ("signed length", "Content-Length: +5\\r\\n", "hello"),
])
def test_br006_two_framings_are_never_two_requests(bench, pki, name, fields, body):
    origin = raw_origin(bench, pki, answer_ok)
    done = bench.python(f"""
wire = Wire()
wire.send("POST /a HTTP/1.1\\r\\nHost: api.test\\r\\n{fields}\\r\\n{body}")
first = attempt(lambda: wire.reply("POST").summary())
show(first=first, closed=wire.closed(2))
show(alive=fetch("/ok", host="other.test").status)
""")
    assert b"/evil" not in origin.received, (name, origin.received)
    assert len(origin.requests) <= 1, origin.requests
    first = done.lines[0]["first"]
    if not origin.requests:
        assert isinstance(first, str) or first["status"] == 400, done
        assert done.lines[0]["closed"], "a malformed request must end the connection"
    assert done.lines[1]["alive"] == 200, done


def test_br006_identical_length_list_is_one_request_or_none(bench, pki):
    origin = raw_origin(bench, pki, answer_ok)
    done = bench.python("""
wire = Wire()
wire.send("POST /a HTTP/1.1\\r\\nHost: api.test\\r\\nContent-Length: 5, 5\\r\\n\\r\\nhello")
show(**wire.reply("POST").summary())
""")
    bodies = [r.body for r in origin.requests]
    assert (done.lines[0]["status"], bodies) in ((200, [b"hello"]), (400, [])), (done, bodies)


@pytest.mark.parametrize("fields,body", [
    (b"Content-Length: 50\r\nTransfer-Encoding: chunked\r\n",
     b"5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 EVIL\r\n\r\n"),
    (b"Content-Length: 5\r\nContent-Length: 6\r\n", b"hello!"),
    (b"Content-Length: 5, 6\r\n", b"hello!"),
])
def test_br006_two_framings_in_a_response(bench, pki, fields, body):
    def script(conn):
        conn.read_request()
        conn.send(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n" + body)
        conn.fill()
    origin = raw_origin(bench, pki, script)
    done = bench.python("""
wire = Wire()
request = f"GET /a HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n"
wire.send(request)
first = wire.reply().summary()
show(first=first, second=attempt(lambda: wire.send(request).reply().summary()))
""")
    first = done.lines[0]["first"]
    normalised = first["status"] == 200 and first["kind"] == "chunked" and first["body"] == "hello"
    assert normalised or first["status"] == 502 or not first["clean"], done
    assert "EVIL" not in done.text, done
    assert origin.wait(lambda: origin.connections[0].ended), "the origin's connection stays open"


# -- BR-008 ----------------------------------------------------------------------------------------
BAD_CHUNKS = {
    "overflow": "10000000000000000\\r\\nhello\\r\\n0\\r\\n\\r\\n",
    "giant": "FFFFFFFFFFFFFFFF\\r\\nhello\\r\\n0\\r\\n\\r\\n",
    "negative": "-1\\r\\nhello\\r\\n0\\r\\n\\r\\n",
    "hex prefix": "0x5\\r\\nhello\\r\\n0\\r\\n\\r\\n",
    "break in a quoted extension": "5;ext=\\\"a\\r\\nb\\\"\\r\\nhello\\r\\n0\\r\\n\\r\\n",
    "empty size": "\\r\\nhello\\r\\n0\\r\\n\\r\\n",
    "more data than announced": "5\\r\\nhello!\\r\\n0\\r\\n\\r\\n",
    "bare LF": "5\\nhello\\n0\\n\\n",
    "bare CR": "5\\rhello\\r0\\r\\r",
}


def rss_of(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_br008_bad_chunks_in_a_request(bench, pki):
    """Each case on a connection of its own: 400 and closed, never a clean request at the origin."""
    origin = raw_origin(bench, pki, answer_ok)
    cases = ",".join(f'("{n}", "{c}")' for n, c in BAD_CHUNKS.items())
    done = bench.python(f"""
for name, body in [{cases}]:
    wire = Wire()
    wire.send("POST /a HTTP/1.1\\r\\nHost: api.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n" +
              body)
    first = attempt(lambda: wire.reply("POST").status)
    show(name=name, first=first, closed=wire.closed(2))
show(alive=fetch("/ok", host="other.test").status)
""", timeout=60)
    for case in done.lines[:-1]:
        assert case["first"] in (400, "Broken", "ConnectionResetError"), case
        assert case["closed"], case
    assert len(done.lines) == len(BAD_CHUNKS) + 1 and done.lines[-1]["alive"] == 200, done
    assert origin.requests == [], "a broken chunked body arrived as a whole one"


def test_br008_bad_chunks_in_a_response(bench, pki):
    """The client sees an aborted transfer, and the connection to the origin is closed."""
    bodies = {str(i): c.encode().decode("unicode_escape").encode("latin-1")
              for i, c in enumerate(BAD_CHUNKS.values())}

    def script(conn):
        request = conn.read_request()
        conn.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
                  bodies[request.target.strip("/")])
        conn.fill()
    origin = raw_origin(bench, pki, script)
    done = bench.python(f"""
for i in range({len(bodies)}):
    show(i=i, got=attempt(lambda: fetch(f"/{{i}}", headers=AUTH).summary()))
show(alive=fetch("/ok", host="other.test").status)
""", timeout=60)
    for case in done.lines[:-1]:
        got = case["got"]
        assert isinstance(got, str) or got["status"] == 502 or not got["clean"], case
    assert done.lines[-1]["alive"] == 200, done
    for conn in origin.connections:
        assert origin.wait(lambda c=conn: c.ended), "a connection to the origin stays open"


def test_br008_memory_does_not_follow_an_announced_size(bench, pki):
    raw_origin(bench, pki, answer_ok)
    bench.write("client.py", f"""from wire import *
for size in ["FFFFFFFF", "7FFFFFFFFFFFFFFF"] * 4:
    wire = Wire()
    wire.send("POST /a HTTP/1.1\\r\\nHost: api.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
              + size + "\\r\\n" + "x" * 5000)
print("sent", flush=True)
time.sleep(0.5)
""")
    bench.write("wire.py", (INSIDE / "wire.py").read_bytes())
    process = bench.start([PYTHON, "-B", str(bench.ws / "client.py")])
    assert process.stdout.readline() == b"sent\n"
    assert bench.sanitized or rss_of(process.pid) < 100_000, "KiB"
    process.communicate(timeout=10)
    bench.check_end()


# -- BR-010 ----------------------------------------------------------------------------------------
def test_br010_head_keeps_its_length_and_the_connection(bench, pki):
    heads = {"/big": b"Content-Length: 123456\r\n", "/chunked": b"Transfer-Encoding: chunked\r\n",
             "/none": b""}

    def script(conn):
        while True:
            request = conn.read_request()
            if request.method == "HEAD":
                conn.send(b"HTTP/1.1 200 OK\r\nX-A: b\r\n" + heads[request.target] + b"\r\n")
            elif request.target == "/not-modified":
                conn.send(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\nETag: \"e\"\r\n\r\n")
            else:
                conn.send(OK)
    raw_origin(bench, pki, script)
    done = bench.python("""
for auth in ("", AUTH):
    for method, path in (("HEAD", "/big"), ("HEAD", "/chunked"), ("HEAD", "/none"),
                         ("GET", "/not-modified")):
        wire = Wire(timeout=2)
        start = time.monotonic()
        wire.send(f"{method} {path} HTTP/1.1\\r\\nHost: api.test\\r\\n{auth}\\r\\n")
        first = wire.reply(method)
        wire.send(f"GET /ok HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
        second = wire.reply()
        show(path=path, status=first.status, length=first.get("content-length"),
             second=second.body.decode(), seconds=time.monotonic() - start)
""")
    assert len(done.lines) == 8, done
    for reply in done.lines:
        assert reply["second"] == "ok" and reply["seconds"] < 1, done
        allowed = {"/big": ("123456", None), "/not-modified": ("10", None)}
        assert reply["length"] in allowed.get(reply["path"], (None,)), done


# -- BR-013 ----------------------------------------------------------------------------------------
def test_br013_folded_request_header(bench, pki):
    """400, or one line and swapped; never the placeholder as it is."""
    origin = raw_origin(bench, pki, answer_ok)
    done = bench.python("""
wire = Wire()
wire.send("GET /a HTTP/1.1\\r\\nHost: api.test\\r\\n"
          f"Authorization: Bearer\\r\\n {TOKEN}\\r\\n\\r\\n")
show(**wire.reply().summary(), mine=TOKEN)
""")
    reply = done.lines[0]
    assert reply["mine"].encode() not in origin.received
    if origin.requests:
        assert origin.requests[0].get("authorization") == f"Bearer {SECRET}"
    else:
        assert reply["status"] == 400, done


UNUSUAL = [("X-Tab", "a\tb"), ("X-Latin", "caf\xe9"), ("X-Empty", ""), ("X-Twice", "1"),
           ("X-TWICE", "2"), ("x-case-Kept", "v"), ("X-Quote", '"a, b"'),
           ("X-Long", "y" * 40 * 1024)]


def test_br013_request_headers_arrive_as_sent(bench, pki):
    origin = raw_origin(bench, pki, answer_ok)
    sent = [*UNUSUAL, *((f"X-N{i}", str(i)) for i in range(400))]
    bench.write("fields.json", json.dumps(sent))
    done = bench.python("""
fields = json.load(open("fields.json"))
wire = Wire()
text = "".join(f"{n}: {v}\\r\\n" for n, v in fields)
wire.send(f"GET /a HTTP/1.1\\r\\nHost: api.test\\r\\n{text}\\r\\n")
show(status=wire.reply().status)
""")
    assert done.lines == [{"status": 200}], done
    assert [h for h in origin.requests[0].headers if h[0].lower().startswith("x-")] == sent


def test_br013_response_headers_arrive_as_sent(bench, pki):
    sent = [*UNUSUAL, *((f"X-N{i}", str(i)) for i in range(400))]

    def script(conn):
        conn.read_request()
        conn.send(b"HTTP/1.1 200 Fine By Me\r\n" +
                  "".join(f"{n}: {v}\r\n" for n, v in sent).encode("latin-1") +
                  b"X-Folded: one\r\n two\r\nTransfer-Encoding: chunked\r\n\r\n"
                  b"5;ext=1\r\nhello\r\n0;last\r\nX-Trailer: t\r\n\r\n")
    raw_origin(bench, pki, script)
    done = bench.python('show(**fetch("/a", headers=AUTH).summary())')
    reply = done.lines[0]
    if reply["status"] == 502:      # RFC 9112 section 5.2 leaves both to a proxy
        assert reply["reason"] == "upstream_broken", done
        return
    got = [tuple(h) for h in reply["headers"] if h[0].lower().startswith("x-")]
    assert [h for h in got if h[0] != "X-Folded"] == sent
    assert dict(got)["X-Folded"].split() == ["one", "two"]
    assert reply["clean"] and reply["body"] == "hello", done
    assert reply["trailers"] == [["X-Trailer", "t"]], done


def test_br013_response_headers_without_a_fold(bench, pki):
    sent = [*UNUSUAL, *((f"X-N{i}", str(i)) for i in range(400))]

    def script(conn):
        conn.read_request()
        conn.send(b"HTTP/1.1 200 Fine By Me\r\n" +
                  "".join(f"{n}: {v}\r\n" for n, v in sent).encode("latin-1") +
                  b"Transfer-Encoding: chunked\r\n\r\n"
                  b"5;ext=1\r\nhello\r\n0;last\r\nX-Trailer: t\r\n\r\n")
    raw_origin(bench, pki, script)
    done = bench.python("""
reply = fetch("/a", headers=AUTH)
show(**reply.summary(), phrase=reply.phrase)
""")
    reply = done.lines[0]
    assert [tuple(h) for h in reply["headers"] if h[0].lower().startswith("x-")] == sent, done
    assert reply["phrase"] == "Fine By Me"
    assert reply["clean"] and reply["body"] == "hello", done
    assert reply["trailers"] == [["X-Trailer", "t"]], done


# -- BR-015 ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_br015_chunk_lines_never_become_body(bench, pki, version):
    body = pattern(200 * 1024)

    def script(conn):
        conn.read_request()
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n")
        at, sizes = 0, [1, 7, 8191, 65536]
        while at < len(body):
            piece = body[at:at + sizes[0]]
            conn.send(b"%x\r\n%s\r\n" % (len(piece), piece))
            at, sizes = at + len(piece), sizes[1:] + sizes[:1]
        conn.send(b"0\r\n\r\n")
    raw_origin(bench, pki, script)
    done = bench.python(f"""
import hashlib
import json
wire = Wire()
wire.send(f"GET /p.jpg HTTP/{version}\\r\\nHost: api.test\\r\\n{{AUTH}}\\r\\n")
reply = wire.reply()
show(digest=hashlib.sha256(reply.body).hexdigest(), coding=reply.get("transfer-encoding"),
     clean=reply.clean, status=reply.status)
""")
    reply = done.lines[0]
    assert reply["digest"] == hashlib.sha256(body).hexdigest() and reply["clean"], done
    if version == "1.0":
        assert reply["coding"] is None, done
