"""HTTP/2 attacked: frames out of place, floods, lengths that lie, fields that split HTTP/1.1."""

import time

import pytest
from hyperframe.frame import ContinuationFrame, HeadersFrame, PushPromiseFrame

from support.bench import BEARER, SECRET
from support.echo import echo_origin
from support.h2bench import inside, origin_of, peak_of, talk
from support.h2origin import answer

MIB = 1 << 20
PROTOCOL_ERROR, CALM = 1, 11


@pytest.fixture(params=["h2", "http1"])
def origin(request, bench, pki):
    """api.test, over either version; `whole()` counts the complete requests that it got."""
    if request.param == "h2":
        made = origin_of(bench, pki)
        made.whole = lambda: [s.path for s in made.streams if s.ended]
    else:
        made = echo_origin(pki.good)
        bench.map("api.test:443", made)
        # The echo origin also lists what broke off.
        made.whole = lambda: [r.target for r in made.requests
                              if len(r.body) == int(r.get("content-length") or len(r.body))
                              and (r.body or not r.get("transfer-encoding"))]
    return made


# -- BR-029 --------------------------------------------------------------------------------------
def test_br029_continuation_out_of_place(bench, pki):
    origin = origin_of(bench, pki)
    done = inside(bench, """
def case(name, *frames):
    raw = RawH2()
    raw.send(*[f(raw) if callable(f) else f for f in frames])
    show(name=name, **raw.verdict())

def open_head(number=1):
    def make(raw):
        return HeadersFrame(number, raw.block(fields("/a"))[:9], flags=["END_STREAM"])
    return make

case("lone", ContinuationFrame(1, b"", flags=["END_HEADERS"]))
case("lone with a head", lambda raw: ContinuationFrame(1, raw.block(fields("/a")),
                                                       flags=["END_HEADERS"]))
case("data inside", open_head(), DataFrame(1, b"abc"))
case("another stream", open_head(), ContinuationFrame(3, b"x", flags=["END_HEADERS"]))
case("another head", open_head(), lambda raw: raw.head(3, fields("/b")))
case("after data", lambda raw: raw.head(1, fields("/a", method="POST"), ["END_HEADERS"]),
     ContinuationFrame(1, b"", flags=["END_HEADERS"]))
wire = H2Wire()
show(name="alive", status=wire.fetch("/ok")["status"])
""")
    *cases, alive = done.lines
    for case in cases:
        assert case.get("goaway") == PROTOCOL_ERROR or case.get("closed") is True, case
    assert alive["status"] == 200
    assert [s.path for s in origin.streams if s.ended] == ["/ok"], origin.streams
    paths = [r["path"] for r in done.records if r.get("decision") == "allow"]
    assert sorted(paths) in (["/ok"], ["/a", "/ok"]), paths     # "after data" was a request


def test_br029_a_flood_of_continuation_frames(bench, pki):
    origin = origin_of(bench, pki)
    task = talk(bench, """
H2Wire().fetch("/warm")
pause()
raw = RawH2()
raw.send(HeadersFrame(1, raw.block(fields("/a")), flags=[]))
one = ContinuationFrame(1, b"\\x90").serialize()     # a field of the static table
sent = 0
while sent < 200000 and raw.send(one * 1000):
    sent += 1000
pause(sent=sent, **raw.verdict(0))
raw = RawH2()
raw.send(HeadersFrame(1, raw.block(fields("/a")), flags=[]))
empty = ContinuationFrame(1, b"").serialize()
sent = 0
while sent < 200000 and raw.send(empty * 1000):
    sent += 1000
pause(sent=sent, **raw.verdict(0))
show(status=H2Wire().fetch("/ok")["status"])
""")
    task.hear()
    peak = peak_of(task)
    task.go()
    floods = [task.hear()]
    task.go()
    floods.append(task.hear())
    grown = peak()
    done = task.end()
    for flood in floods:
        assert flood.get("goaway") in (PROTOCOL_ERROR, CALM) or flood.get("closed"), flood
    assert task.sanitized() or grown < 8 * MIB, grown
    assert done.lines[-1]["status"] == 200 and {s.path for s in origin.streams} == {"/warm", "/ok"}


# -- BR-030 --------------------------------------------------------------------------------------
def test_br030_frames_for_streams_that_never_were(bench, pki):
    """PRIORITY costs nothing; WINDOW_UPDATE and DATA on an idle stream end the connection."""
    origin = origin_of(bench, pki)
    task = talk(bench, """
H2Wire().fetch("/warm")
pause()
wire = H2Wire()
for first in range(1, 10000, 1000):
    wire.tls.sendall(b"".join(PriorityFrame(n, depends_on=0, stream_weight=5).serialize()
                              for n in range(first, first + 1000, 2)))
wire.h2.highest_outbound_stream_id = 10001
got = wire.fetch("/after", BEARER)
pause(status=got["status"], goaway=wire.goaway)
for frame in (WindowUpdateFrame(9, window_increment=5), DataFrame(9, b"x"), RstStreamFrame(9)):
    raw = RawH2()
    raw.send(frame)
    show(**raw.verdict())
show(status=H2Wire().fetch("/ok")["status"])
""")
    task.hear()
    peak, start = peak_of(task), time.monotonic()
    task.go()
    after = task.hear()
    grown = peak()
    done = task.end()
    assert after == {"status": 200, "goaway": None}, after
    assert time.monotonic() - start < 10 and (task.sanitized() or grown < 8 * MIB), grown
    assert origin.named("/after")[0].get("authorization") == f"Bearer {SECRET}"
    assert [r["path"] for r in done.records if r.get("uses")] == ["/after"]
    assert all(r.get("goaway") in (1, 5) or r.get("closed") for r in done.lines[2:-1]), done
    assert done.lines[-1]["status"] == 200


def test_br030_rapid_reset_is_cut_off(bench, pki):
    """10 000 times HEADERS and RST_STREAM: the origin gets few of them, and never many at once."""
    def script(stream):
        if stream.path == "/flood":
            stream.wait_gone(10)
        else:
            answer(stream)
    origin = origin_of(bench, pki, script)
    task = talk(bench, """
H2Wire().fetch("/warm")
pause()
raw = RawH2()
sent = 0
for batch in range(100):
    parts = []
    for n in range(100):
        number = 1 + 2 * (batch * 100 + n)
        parts += [raw.head(number, fields("/flood", BEARER)), RstStreamFrame(number, error_code=8)]
    if not raw.send(*parts):
        break
    sent += 100
pause(sent=sent, **raw.verdict(20001, 1))
show(status=H2Wire().fetch("/ok")["status"])
""")
    task.hear()
    peak = peak_of(task)
    task.go()
    flood = task.hear()
    grown = peak()
    done = task.end()
    assert flood.get("goaway") == CALM or flood.get("closed"), flood
    reached = len(origin.named("/flood"))
    assert reached < 2000 and all(c.most <= 100 for c in origin.h2_connections), reached
    assert task.sanitized() or grown < 24 * MIB, grown
    assert done.lines[-1]["status"] == 200
    assert origin.wait(lambda: all(s.gone_at for s in origin.named("/flood")))


@pytest.mark.parametrize("frame", ["SettingsFrame(0)", "Ping", "Empty data"])
def test_a_peer_that_provokes_answers_and_reads_none(bench, pki, frame):
    origin_of(bench, pki)
    task = talk(bench, f"""
from hyperframe.frame import PingFrame
H2Wire().fetch("/warm")
pause()
raw = RawH2()
if {frame!r} == "Empty data":
    raw.send(raw.head(1, fields("/a", method="POST"), ["END_HEADERS"]))
    one = DataFrame(1, b"").serialize()
elif {frame!r} == "Ping":
    one = PingFrame(0, b"12345678").serialize()
else:
    one = SettingsFrame(0).serialize()
raw.tls.settimeout(1)
sent = 0
while sent < 400000 and raw.send(one * 1000):
    sent += 1000
pause(sent=sent)
raw.tls.close()
show(status=H2Wire().fetch("/ok")["status"])
""")
    task.hear()
    peak = peak_of(task)
    task.go()
    task.hear()
    grown = peak()
    done = task.end()
    assert task.sanitized() or grown < 16 * MIB, grown
    assert done.lines[-1]["status"] == 200


# -- BR-031 --------------------------------------------------------------------------------------
def test_br031_content_length_that_lies(bench, origin):
    """The origin never gets a whole request out of it, and the other streams go on."""
    done = inside(bench, """
wire = H2Wire()
side = wire.request("/ok", method="POST", end=False)
def case(name, lengths, *pieces):
    number = wire.request("/bad", [("content-length", n) for n in lengths], method="POST",
                          end=not pieces)
    for i, piece in enumerate(pieces):
        if wire.streams[number].done:
            break
        try:
            wire.frame(number, piece, end=i + 1 == len(pieces))
        except Exception as error:
            pass
        wire.pump(0.05)
    got = wire.finish(number, seconds=3)
    show(name=name, status=got["status"], reset=got["reset"])
case("more", ["5"], b"123456789")
case("more in the second frame", ["5"], b"123", b"456789")
case("less", ["10"], b"123")
case("none", ["10"])
case("two", ["3", "4"], b"123")
case("negative", ["-1"], b"1")
case("not a number", ["3x"], b"123")
case("plus", ["+3"], b"123")
case("huge", ["99999999999999999999999"], b"123")
wire.frame(side, b"fine", end=True)
show(status=wire.finish(side)["status"], goaway=wire.goaway)
""")
    *cases, side = done.lines
    for case in cases:
        assert case["reset"] is not None or case["status"] == 400, case
    assert side == {"status": 200, "goaway": None}, done
    assert origin.whole() == ["/ok"], origin.whole()


def test_br031_an_h2_answer_whose_length_lies(bench, pki):
    def script(stream):
        stream.read_all()
        stream.head(200, [("content-length", stream.path[1:])])
        stream.send(b"12345\n", end=True)
    origin_of(bench, pki, script)
    done = inside(bench, """
wire = H2Wire()
for n in ("3", "9", "6"):
    got = wire.fetch("/" + n)
    show(status=got["status"], clean=got["clean"])
""")
    assert [r["clean"] and r["status"] == 200 for r in done.lines] == [False, False, True], done


def test_trailers_that_are_malformed_end_nothing(bench, origin):
    """Nor do they become a head of HTTP/1.1: the request is never whole at the origin."""
    done = inside(bench, r"""
cases = {
    "pseudo": [(":path", "/x")], "upper case": [("X-Up", "1")], "CR LF": [("x-a", "1\r\nx-b: 2")],
    "connection": [("connection", "close")],
    "transfer-encoding": [("transfer-encoding", "chunked")],
    "name": [("x-a: 1\r\nx-b", "2")],
}
for name, trailers in cases.items():
    raw = RawH2()
    raw.send(raw.head(1, fields("/bad", method="POST"), ["END_HEADERS"]), DataFrame(1, b"abc"),
             raw.head(1, trailers))
    show(name=name, **raw.verdict())
    raw.tls.close()
raw = RawH2()       # a second head that ends nothing
raw.send(raw.head(1, fields("/bad", method="POST"), ["END_HEADERS"]), DataFrame(1, b"abc"),
         raw.head(1, [("x-a", "1")], ["END_HEADERS"]))
show(name="no end", **raw.verdict())
raw.tls.close()
wire = H2Wire()
show(status=wire.fetch("/ok")["status"])
""")
    *cases, alive = done.lines
    assert all("goaway" in c or "reset" in c for c in cases), cases
    assert alive["status"] == 200 and origin.whole() == ["/ok"], origin.whole()


def test_frames_after_the_end_of_a_stream(bench, origin):
    done = inside(bench, """
for name, frame in (("data", DataFrame(1, b"more")), ("head", None)):
    raw = RawH2()
    raw.send(raw.head(1, fields("/ok")), frame or raw.head(1, [("x-late", "1")]))
    raw.read(1.0)
    show(name=name, seen=[type(f).__name__ for f in raw.frames])
show(status=H2Wire().fetch("/ok")["status"])
""")
    for case in done.lines[:2]:
        assert set(case["seen"]) & {"GoAwayFrame", "RstStreamFrame"}, case
    assert done.lines[2] == {"status": 200}
    assert b"more" not in origin.received and b"x-late" not in origin.received


# -- heads ---------------------------------------------------------------------------------------
def test_malformed_heads_reach_no_origin(bench, origin):
    """What RFC 9113 calls malformed, and what would become something else over HTTP/1.1."""
    done = inside(bench, r"""
good = fields("/bad")
cases = {
    "upper case": [*good, ("X-Up", "1")],
    "connection": [*good, ("connection", "close")],
    "transfer-encoding": [*good, ("transfer-encoding", "chunked")],
    "keep-alive": [*good, ("keep-alive", "5")],
    "upgrade": [*good, ("upgrade", "h2c")],
    "te gzip": [*good, ("te", "gzip")],
    "CR LF": [*good, ("x-a", "1\r\nx-b: 2")],
    "LF": [*good, ("x-a", "1\nx-b: 2")],
    "NUL": [*good, ("x-a", "1\0")],
    "CR LF in a name": [*good, ("x-a: 1\r\nx-b", "2")],
    "colon in a name": [*good, ("x:a", "2")],
    "space in a name": [*good, ("x a", "2")],
    "no path": good[:3],
    "empty path": [*good[:3], (":path", "")],
    "no method": good[1:],
    "two paths": [*good, (":path", "/other")],
    "late pseudo": [*good[:3], ("x-a", "1"), good[3]],
    "unknown pseudo": [*good, (":what", "1")],
    "response pseudo": [*good, (":status", "200")],
    "path splits": [*good[:3], (":path", "/bad HTTP/1.1\r\nX-Smuggled: 1")],
    "path with a space": [*good[:3], (":path", "/bad x")],
    "relative path": [*good[:3], (":path", "bad")],
    "absolute path": [*good[:3], (":path", "https://other.test/bad")],
    "method splits": [(":method", "GET /bad HTTP/1.1\r\nX:"), *good[1:]],
    "authority splits": [good[0], good[1], (":authority", "api.test\r\nX: 1"), good[3]],
    "userinfo": [good[0], good[1], (":authority", "me@api.test"), good[3]],
    "host differs": [*good, ("host", "other.test")],
    "two hosts": [*good, ("host", "api.test"), ("host", "other.test")],
    "no authority": [good[0], good[1], good[3]],
    "connect": [(":method", "CONNECT"), (":authority", "api.test:443")],
    "extended connect": [(":method", "CONNECT"), *good[1:], (":protocol", "websocket")],
    "leading space": [*good, ("x-a", " 1")],
}
for name, head in cases.items():
    raw = RawH2()
    raw.send(raw.head(1, head))
    show(name=name, **raw.verdict())
    raw.tls.close()
wire = H2Wire()
show(name="alive", status=wire.fetch("/ok")["status"])
""", timeout=60)
    *cases, alive = done.lines
    for case in cases:
        assert "goaway" in case or "reset" in case or case["status"] in ("400", "403", "421"), case
    assert alive["status"] == 200
    assert origin.whole() == ["/ok"], (origin.whole(), cases)
    assert b"smuggled" not in origin.received.lower()


def test_rfc8441_a_websocket_over_http2_is_refused_and_the_connection_goes_on(bench, origin):
    """Not offered in our SETTINGS (RFC 8441 section 3), so that clients open HTTP/1.1 for it; one that tries all the
    same hears it at once."""
    done = inside(bench, """
raw = RawH2()
raw.send(raw.head(1, [(":method", "CONNECT"), (":scheme", "https"), (":authority", "api.test"), (":path", "/ws"),
                      (":protocol", "websocket"), ("sec-websocket-version", "13")], flags=["END_HEADERS"]))
start = time.monotonic()
show(seconds=0, **raw.verdict())
took = time.monotonic() - start
settings = {}
for frame in raw.frames:
    if isinstance(frame, SettingsFrame):
        settings.update(frame.settings)
raw.send(raw.head(3, fields("/ok")))
show(offers=settings.get(8, 0), took=took, **raw.verdict(3))
""")
    first, second = done.lines
    protocol_error = 1
    assert first.get("reset") == protocol_error, done
    assert second["offers"] == 0 and second["took"] < 1 and second["status"] == "200", done
    assert origin.whole() == ["/ok"]


def test_a_scheme_that_is_not_the_connections_is_refused(bench, pki):
    """As in absolute form over HTTP/1.1: what is asked for and what is decided on are one."""
    origin = origin_of(bench, pki)
    done = inside(bench, """
got = H2Wire().fetch(all=[(":method", "GET"), (":scheme", "http"), (":authority", "api.test"),
                          (":path", "/a")])
show(status=got["status"], reset=got["reset"])
""")
    assert done.lines[0]["status"] in (400, 421) or done.lines[0]["reset"] is not None, str(done)
    assert not origin.streams


def test_a_head_of_a_mebibyte_is_refused(bench, pki):
    origin = origin_of(bench, pki)
    task = talk(bench, """
warm = H2Wire()
warm.fetch("/warm")
pause()
raw = RawH2()
block = raw.block([*fields("/big"), *((f"x-{i}", "v" * 1000) for i in range(1060))])
parts = [block[i:i + 16000] for i in range(0, len(block), 16000)]
frames = [HeadersFrame(1, parts[0], flags=["END_STREAM"]),
          *(ContinuationFrame(1, p) for p in parts[1:])]
frames[-1].flags.add("END_HEADERS")
raw.send(*frames)
show(**raw.verdict())
# One that is large only when decoded: an entry of 4,000 bytes named 5,000 times.
raw = RawH2()
block = raw.block([*fields("/bomb"), ("x-bomb", "b" * 3900)]) + b"\\xbe" * 5000
parts = [block[i:i + 16000] for i in range(0, len(block), 16000)]
raw.send(HeadersFrame(1, parts[0], flags=["END_STREAM", "END_HEADERS"]))
pause(**raw.verdict())
show(status=warm.fetch("/ok")["status"])
""")
    task.hear()
    peak = peak_of(task)
    task.go()
    big, bomb = task.hear(), task.hear()
    grown = peak()
    done = task.end()
    for got in (big, bomb):
        assert got["status"] == "431" or "reset" in got or "goaway" in got, got
    assert {s.path for s in origin.streams} == {"/warm", "/ok"} and done.lines[-1]["status"] == 200
    assert task.sanitized() or grown < 8 * MIB, grown


def test_a_large_head_that_is_allowed_passes_whole(bench, origin):
    """Tokens of real clients: 40 KiB of fields, over CONTINUATION frames."""
    done = inside(bench, """
wire = H2Wire()
got = wire.fetch("/headers", [(f"x-{i}", "v" * 4000) for i in range(10)])
show(status=got["status"], whole=got["body"].count("v" * 4000))
""")
    assert done.lines == [{"status": 200, "whole": 10}], done


def test_an_answer_head_that_is_malformed_or_too_large(bench, pki):
    heads = {
        "/upper": [(":status", "200"), ("X-Up", "1")],
        "/crlf": [(":status", "200"), ("x", "1\r\ny: 2")],
        "/nostatus": [("x", "1")], "/odd": [(":status", "2x0")], "/101": [(":status", "101")],
        "/connection": [(":status", "200"), ("connection", "close")],
        "/big": [(":status", "200"), *((f"x-{i}", "v" * 4000) for i in range(400))]}

    def script(stream):
        stream.read_all()
        if stream.path == "/ok":
            stream.reply(b"ok")
            return
        with stream.conn.change:
            if stream.path == "/push":
                block = stream.conn.h2.encoder.encode([(":method", "GET"), (":path", "/")])
                stream.conn.raw(PushPromiseFrame(stream.id, 2, block,
                                                 flags=["END_HEADERS"]).serialize())
                return
            block = stream.conn.h2.encoder.encode(heads[stream.path])
            parts = [block[i:i + 16000] for i in range(0, len(block), 16000)]
            frames = [HeadersFrame(stream.id, parts[0], flags=["END_STREAM"]),
                      *(ContinuationFrame(stream.id, p) for p in parts[1:])]
            frames[-1].flags.add("END_HEADERS")
            stream.conn.raw(b"".join(f.serialize() for f in frames))
    origin_of(bench, pki, script)
    done = inside(bench, """
wire = H2Wire()
for path in arguments():
    got = wire.fetch(path, method="POST", body=b"x")
    show(path=path, status=got["status"], clean=got["clean"])
    show(status=wire.fetch("/ok")["status"])
""", *heads, "/push")
    assert [r["status"] for r in done.lines[::2]] == [502] * (len(heads) + 1), done
    assert [r["status"] for r in done.lines[1::2]] == [200] * (len(heads) + 1), done


def test_settings_of_the_client(bench, origin):
    """A window that opens later, HPACK without a table, one byte at a time, a limit on heads."""
    done = inside(bench, """
for settings in ({4: 0}, {1: 0, 5: 32768}, {4: 1}, {6: 200}):
    wire = H2Wire(settings=settings)
    number = wire.request("/headers", [("x-a", "v" * 30)])
    wire.until(lambda: wire.streams[number].status, 4)
    wire.until(lambda: wire.streams[number].done, 0.2)
    if not wire.streams[number].done:
        wire.h2.increment_flow_control_window(1 << 16, number)
        wire.flush()
    got = wire.finish(number)
    show(status=got["status"], clean=got["clean"], whole="v" * 30 in got["body"])
""")
    assert done.lines == [{"status": 200, "clean": True, "whole": True}] * 4, str(done)


@pytest.mark.parametrize("kind", ["h2", "http1"])
def test_expect_100_continue(bench, pki, kind):
    """curl waits for the 100, which is the origin's to send."""
    def script(stream):
        assert stream.get("expect") == "100-continue" and not stream.arrived
        stream.head(100)
        answer(stream)
    if kind == "h2":
        origin_of(bench, pki, script)
    else:
        bench.map("api.test:443", echo_origin(pki.good))
    done = bench.run("head -c 100000 /dev/zero | curl -sS --http2 --expect100-timeout 5 -m 8 "
                     "-o /dev/null -X POST -H 'Expect: 100-continue' --data-binary @- "
                     "-w '%{http_version} %{http_code} %{time_total}' https://api.test/digest")
    version, code, seconds = done.text.split()
    assert (version, code) == ("2" if kind == "h2" else "1.1", "200") and float(seconds) < 4, done


def test_real_clients_at_once(bench, pki):
    """curl with many transfers on one connection, and nghttp."""
    origin = origin_of(bench, pki)
    done = bench.run('urls=""; for i in $(seq 40); do '
                     'urls="$urls -o /dev/null https://api.test/$i"; done; '
                     f'curl -sS --http2 -Z --parallel-max 40 {BEARER} -w "%{{http_code}}\\n" $urls '
                     '| sort | uniq -c; '
                     'nghttp -nv https://api.test/n https://api.test/m | grep -c ":status: 200"')
    lines = [line.split() for line in done.text.splitlines()]
    assert lines == [["40", "200"], ["2"]], done
    assert len([s for s in origin.streams if s.get("authorization") == f"Bearer {SECRET}"]) == 40
