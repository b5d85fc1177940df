"""Rules with query, headers, max_body and ranges, over the wire: what is refused, and where a body is cut off."""

import pytest

from support.h2bench import inside, origin_of
from support.raw import answer_ok, raw_origin

SMALL = [{"name": "small", "hosts": ["api.test", "other.test"], "max_body": "64KiB", "action": "allow"}]
LIMIT = 65536


def refusals(done):
    return [r["reason"] for r in done.records if r.get("decision") == "deny"]


def test_query_and_fields_are_decided_on_as_they_were_sent(bench, pki):
    origin = raw_origin(bench, pki, answer_ok)
    bench.config(rules=[
        {"name": "search", "hosts": ["api.test"], "paths": ["/search"], "query": ["page"],
         "headers": {"x-env": ["prod"]}, "action": "allow"},
        {"name": "open", "hosts": ["api.test"], "paths": ["/open"], "action": "allow"},
        {"name": "no-admin", "hosts": ["**.test"], "query": ["admin"], "action": "deny"},
        {"name": "no-debug", "hosts": ["**.test"], "headers": {"x-debug": ["*"]},
         "action": "deny"}])
    done = bench.python("""
for target, fields in (
        ("/search?page=1", "X-Env: prod"), ("/search", "x-env: prod"), ("/open?x=1", "A: b"),
        ("/search?page=1&size=9", "X-Env: prod"), ("/search?page=1;size=9", "X-Env: prod"),
        ("/search?Page=1", "X-Env: prod"), ("/search?page=1", "X-Env: prod\\r\\nX-Env: dev"),
        ("/search?page=1", "X-Env: prod, dev"), ("/search", "A: b"),
        ("/search", "X-Env: prod\\r\\nConnection: x-env, keep-alive"),
        ("/open?admin=1", "A: b"), ("/open?ADMIN", "A: b"), ("/open?%61dmin", "A: b"),
        ("/open?%2561dmin=1", "A: b"), ("/open?a=1;admin[]=1", "A: b"),
        ("/open?a=1%26admin=1", "A: b"), ("/open", "X-Debug:"), ("/open", "x_debug: 1")):
    wire = Wire()
    wire.send(f"GET {target} HTTP/1.1\\r\\nHost: api.test\\r\\n{fields}\\r\\n\\r\\n")
    reply = wire.reply()
    show(status=reply.status, reason=reply.get("warder-reason"))
""")
    query, header = (403, "query_not_allowed"), (403, "header_not_allowed")
    assert [(r["status"], r["reason"]) for r in done.lines] == [
        (200, None)] * 3 + [query] * 3 + [header] * 4 + [query] * 6 + [header] * 2, done
    assert [r.target for r in origin.requests] == ["/search?page=1", "/search", "/open?x=1"]
    assert refusals(done).count("query_not_allowed") == 9, done.records


@pytest.mark.parametrize("tls", [True, False], ids=["tls", "clear"])
def test_a_declared_length_over_max_body_is_refused_before_anything_is_sent(bench, pki, tls):
    origin = raw_origin(bench, pki, answer_ok, clear=not tls)
    bench.config(rules=SMALL)
    done = bench.python(f"""
for length in ({LIMIT}, {LIMIT + 1}):
    wire = Wire(port={443 if tls else 80}, tls={tls})
    wire.send(f"POST /up HTTP/1.1\\r\\nHost: api.test\\r\\nContent-Length: {{length}}\\r\\n\\r\\n")
    wire.send(b"x" * {LIMIT})
    reply = wire.reply()
    show(status=reply.status, reason=reply.get("warder-reason"))
""")
    assert [(r["status"], r["reason"]) for r in done.lines] == [(200, None), (413, "too_large")], done
    assert [len(r.body) for r in origin.requests] == [LIMIT]


@pytest.mark.parametrize("pieces", [1, 1000, 65536], ids=str)
def test_a_chunked_body_is_cut_off_at_max_body(bench, pki, pieces):
    """413, and the origin never sees the end of it; one byte less passes whole."""
    broken = []

    def script(conn):
        request = conn.read_head()
        try:
            conn.read_body(request)
        finally:
            broken.append((request.target, bytes(conn.received[len(request.raw_head):])))
        conn.requests.append(request)
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        conn.close_cleanly()
    origin = raw_origin(bench, pki, script)
    bench.config(rules=SMALL)
    done = bench.python(f"""
def chunked(data, size):
    return b"".join(b"%x\\r\\n%s\\r\\n" % (len(data[i:i + size]), data[i:i + size])
                    for i in range(0, len(data), size)) + b"0\\r\\n\\r\\n"

for target, length in (("/fits", {LIMIT}), ("/over", {LIMIT + 1}), ("/far", {LIMIT * 20})):
    wire = Wire()
    wire.send(f"POST {{target}} HTTP/1.1\\r\\nHost: api.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
    try:
        wire.send(chunked(b"x" * length, max({pieces}, length // 2000)))
    except OSError:
        pass                                # the answer is there already
    reply = wire.reply()
    show(status=reply.status, reason=reply.get("warder-reason"), clean=reply.clean)
""")
    assert [(r["status"], r["reason"]) for r in done.lines] == [
        (200, None), (413, "too_large"), (413, "too_large")], done
    assert [(r.target, len(r.body)) for r in origin.requests] == [("/fits", LIMIT)]
    for target, seen in broken[1:]:
        assert b"\r\n0\r\n" not in seen and seen.count(b"x") <= LIMIT, (target, seen[-20:])
    receipts = [r for r in done.records if r.get("reason") == "too_large"]
    assert len(receipts) == 2, done.records


def test_http2_without_a_length_is_cut_off_at_max_body(bench, pki):
    origin = origin_of(bench, pki)
    bench.config(rules=SMALL)
    done = inside(bench, f"""
for path, length in (("/fits", {LIMIT}), ("/over", {LIMIT + 1}), ("/far", {LIMIT * 20})):
    wire = H2Wire()
    number = wire.request(path, method="POST", end=False)
    wire.data(number, b"x" * length, end=True)
    got = wire.finish(number)
    show(status=got["status"], reason=got["reason"])
""")
    assert [(r["status"], r["reason"]) for r in done.lines] == [
        (200, None), (413, "too_large"), (413, "too_large")], done
    for stream in origin.streams:
        assert len(stream.arrived) <= LIMIT, stream
        if stream.path != "/fits":
            assert stream.wait_gone() is not None and not stream.ended, stream


def test_a_body_that_never_ends_is_answered_at_max_body(bench, pki):
    origin = raw_origin(bench, pki, answer_ok)
    bench.config(rules=SMALL)
    done = bench.python(f"""
wire = Wire()
wire.send("POST /over HTTP/1.1\\r\\nHost: api.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n")
wire.send(b"%x\\r\\n" % {LIMIT * 2} + b"x" * {LIMIT + 1})     # and no more
reply = wire.reply()
show(status=reply.status, reason=reply.get("warder-reason"))
""")
    assert [(r["status"], r["reason"]) for r in done.lines] == [(413, "too_large")], done
    assert origin.requests == []


def test_an_answer_that_has_begun_is_broken_off_with_the_body(bench, pki):
    def script(stream):
        stream.head(200)
        stream.send(b"begun\n")
        stream.read_all()
        stream.send(b"never", end=True)
    origin = origin_of(bench, pki, script)
    bench.config(rules=SMALL)
    done = inside(bench, f"""
wire = H2Wire()
number = wire.request("/a", method="POST", end=False)
wire.frame(number, b"first")
wire.until(lambda: wire.streams[number].body)
wire.data(number, b"x" * {LIMIT}, end=True)
show(**wire.finish(number))
""")
    got = done.lines[0]
    assert got["body"] == "begun\n" and not got["clean"], done
    assert origin.streams[0].wait_gone() is not None and not origin.streams[0].ended


def test_a_range_is_reached_by_its_addresses_and_by_no_name(bench, pki):
    origin = raw_origin(bench, pki, answer_ok, clear=True)
    bench.map("93.184.216.34:80", origin)
    bench.config(rules=[{"name": "net", "hosts": ["93.184.216.0/24"], "action": "allow"},
                        {"name": "not", "hosts": ["93.184.216.64/26"], "action": "deny"}])
    done = bench.python("""
for address in ("93.184.216.34", "93.184.216.65", "93.184.217.34"):
    wire = Wire(host=address, port=80, tls=False)
    wire.send(f"GET / HTTP/1.1\\r\\nHost: {address}\\r\\n\\r\\n")
    reply = wire.reply()
    show(status=reply.status, reason=reply.get("warder-reason"))
wire = Wire(host="93.184.216.34", port=80, tls=False)
wire.send("GET / HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
show(status=wire.reply().status, reason=None)
""")
    assert [(r["status"], r["reason"]) for r in done.lines[:3]] == [
        (200, None), (403, "host_not_allowed"), (403, "host_not_allowed")], done
    assert done.lines[3]["status"] == 403, done
    assert len(origin.requests) == 1
