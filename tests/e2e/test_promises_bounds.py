"""Promise 6, attacked: an origin, or a sandbox, that goes on without end."""

import time

import pytest

from support.origin import Origin


def endless(conn):
    """/WHERE: what never ends there."""
    where = conn.read_request().target.strip("/")
    before, again = {
        "interim": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 50),
        "fields": (b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"b" * 1000 + b"\r\n"),
        "field": (b"HTTP/1.1 200 OK\r\nX-A: ", b"b" * 10_000),
        "phrase": (b"HTTP/1.1 200 ", b"b" * 10_000),
        "line breaks": (b"", b"\r\n" * 5_000),
        "trailers": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-A: b\r\n" * 500),
        "chunk line": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;", b"b" * 1000),
    }[where.replace("-", " ")]
    conn.send(before)
    while True:
        conn.send(again)


@pytest.mark.parametrize("where", ["interim", "fields", "field", "phrase", "line-breaks", "trailers", "chunk-line"])
def test_what_an_origin_sends_without_end_is_ended(bench, pki, where):
    origin = Origin(endless, pki.good)
    bench.map("api.test:443", origin)
    done = bench.python("""
wire = Wire()
wire.send(f"GET /{arguments()[0]} HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
begun = time.monotonic()
try:
    reply = wire.reply()
    show(clean=reply.clean, reason=reply.get("warder-reason"), interim=len(reply.interim))
except Broken:
    show(clean=False, reason=None, interim=0)
show(seconds=time.monotonic() - begun)
""", where)
    end, time = done.lines
    assert end["reason"] == "upstream_broken" or not end["clean"], done
    assert end["interim"] <= 1_001 and time["seconds"] < 8, done
    assert [r for r in done.records if r.get("type") == "receipt"][-1]["reason"] == "upstream_broken", done.records


def test_a_held_word_leaves_also_when_the_upload_ends_meanwhile(bench, pki):
    """other.test has no grant, so the word that its bytes end in is held, but only for a moment; the end
    of the request in that moment must not make it longer."""
    def script(conn):
        conn.read_head()
        conn.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nword\r\n")
        time.sleep(3)
        conn.send(b"0\r\n\r\n")
    bench.map("other.test:443", Origin(script, pki.good))
    done = bench.python("""
wire = Wire("other.test")
wire.send("POST /x HTTP/1.1\\r\\nHost: other.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n1\\r\\na\\r\\n")
wire.sock.settimeout(2)
while b"\\r\\n\\r\\n" not in bytes(wire.buffer):
    wire.fill()
start = time.monotonic()
wire.send("0\\r\\n\\r\\n")
while b"word" not in bytes(wire.buffer) and time.monotonic() - start < 2:
    attempt(wire.fill)
    wire.ended = None
show(seconds=time.monotonic() - start)
""", timeout=20)
    assert done.lines[0]["seconds"] < 1, done
