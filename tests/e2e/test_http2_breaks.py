"""HTTP/2 that breaks off, at either end, at any moment: nothing looks complete that is not."""

import time

import pytest

from support.h2bench import h1_origin_of, inside, origin_of
from support.h2origin import H2Origin, answer
from support.origin import Closed


@pytest.mark.parametrize("kind", ["h2", "http1"])
@pytest.mark.parametrize("body", [False, True], ids=["get", "upload"])
def test_a_client_that_resets_while_the_origin_is_silent(bench, pki, kind, body):
    """The origin hears of it within 2 s, and the other streams go on."""
    gone = []

    def script(stream):
        if stream.path == "/slow":
            gone.append(stream.wait_gone(5))
        else:
            answer(stream)

    def old(conn):
        head = conn.read_head()
        if head.target == "/ok":
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return
        start = time.monotonic()
        try:
            while True:
                conn.fill()
        except Closed:
            gone.append(time.monotonic() - start)
    origin = origin_of(bench, pki, script) if kind == "h2" else h1_origin_of(bench, pki, old)
    done = inside(bench, f"""
wire = H2Wire()
slow = wire.request("/slow", BEARER, method="{'POST' if body else 'GET'}", end={not body})
if {body}:
    wire.frame(slow, b"some")
time.sleep(0.2)
wire.reset(slow)
show(status=wire.fetch("/ok")["status"])
time.sleep(0.3)
show(status=wire.fetch("/ok")["status"])
""")
    assert done.lines == [{"status": 200}] * 2, done
    assert origin.wait(lambda: gone) and gone[0] is not None and gone[0] < 2, gone
    receipts = [r for r in done.records if r.get("reason") == "client_broken"]
    assert len(receipts) == 1, done.records


def test_a_client_that_resets_in_the_middle_of_an_answer(bench, pki):
    def script(stream):
        if stream.path == "/ok":
            answer(stream)
            return
        stream.head(200)
        while True:
            stream.send(b"x" * 1000 + b"\n")
            time.sleep(0.01)
    origin = origin_of(bench, pki, script)
    done = inside(bench, """
wire = H2Wire()
number = wire.request("/endless", BEARER)
wire.until(lambda: len(wire.streams[number].body) > 3000)
wire.reset(number)
show(status=wire.fetch("/ok")["status"])
time.sleep(0.3)
""")
    assert done.lines == [{"status": 200}], done
    assert origin.named("/endless")[0].wait_gone() is not None


class Slow(H2Origin):
    """Takes its time for every TLS handshake but the first."""

    def _serve(self, sock):
        time.sleep(0.5 if self.accepted > 1 else 0)
        super()._serve(sock)


@pytest.mark.parametrize("how,alpn", [("reset", "h2"), ("reset", "http/1.1"), ("vanish", "h2")])
def test_a_client_that_goes_while_the_origin_is_dialled(bench, pki, alpn, how):
    """The request is not sent for nobody, or it is given up at once; the next stream goes on."""
    seen = []

    def script(stream):
        if stream.path == "/gone":
            seen.append(stream.wait_gone(5))
            return
        answer(stream)
        if stream.path == "/last":
            stream.conn.goaway(stream.id)

    def old(conn):
        while True:
            request = conn.read_request()
            if request.target == "/gone":
                start = time.monotonic()
                try:
                    conn.fill()
                except Closed:
                    pass
                seen.append(time.monotonic() - start)
                return
            last = b"Connection: close\r\n" if request.target == "/last" else b""
            conn.send(b"HTTP/1.1 200 OK\r\n%bContent-Length: 2\r\n\r\nok" % last)
            if last:
                return
    origin = Slow(script, pki.good, alpn=(alpn,), h1=old)
    bench.map("api.test:443", origin)
    done = inside(bench, f"""
wire = H2Wire()
show(status=wire.fetch("/last")["status"])
first = wire.request("/gone", BEARER)
wire.until(lambda: False, 0.15)
if {how == 'reset'}:
    wire.reset(first)
else:
    wire.tls.close()
    wire = H2Wire()
show(status=wire.fetch("/ok")["status"])
time.sleep(1.2)
""")
    assert done.lines == [{"status": 200}] * 2, done
    # What lasts until the sandbox ends was never given up.
    assert all(t is not None and t < 0.6 for t in seen), seen
    assert not [s for s in origin.named("/gone") if not s.gone_at]
    assert len([r for r in done.records if r.get("reason") == "client_broken"]) == 1, done.records


def test_a_client_that_vanishes_takes_all_its_streams_along(bench, pki):
    def script(stream):
        if stream.path == "/ok":
            answer(stream)
        else:
            stream.wait_gone(8)
    origin = origin_of(bench, pki, script)
    done = inside(bench, """
wire = H2Wire()
for i in range(20):
    wire.request(f"/{i}", BEARER, method="POST", end=i % 2 == 0)
wire.until(lambda: False, 0.3)
wire.tls.close()
show(status=H2Wire().fetch("/ok")["status"])
time.sleep(0.3)
""")
    assert done.lines == [{"status": 200}], done
    silent = [s for s in origin.streams if s.path != "/ok"]
    assert len(silent) == 20 and all(s.gone_at for s in silent)
    assert len([r for r in done.records if r.get("reason") == "client_broken"]) == 20


BREAKS = {"reset": lambda s: s.reset(2), "cancel": lambda s: s.reset(8),
          "no error": lambda s: s.reset(0),
          "goaway": lambda s: (s.conn.goaway(0, 2), s.conn.close()),
          "fin": lambda s: s.conn.close("fin"), "close_notify": lambda s: s.conn.close("notify"),
          "rst": lambda s: s.conn.close("rst")}


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_breaks_off_never_ends_cleanly(bench, pki, method):
    """Before an answer: 502. In the middle of one, sized or not: a reset. Then all goes on."""
    def script(stream):
        where, how = stream.path.strip("/").split("/")
        how = how.replace("_", " ") if how != "close_notify" else how
        if where == "ok":
            stream.reply(b"ok")
            return
        if where != "before":
            stream.head(200, [("content-length", "100")] if where == "sized" else [])
            stream.send(b"some\n")
        time.sleep(0.02)
        BREAKS[how](stream)
    origin = origin_of(bench, pki, script)
    done = inside(bench, f"method = {method!r}\n" + """
wire = H2Wire()
for how in arguments():
    for where in ("before", "sized", "unsized"):
        got = wire.fetch(f"/{where}/{how}", BEARER, method=method,
                         body=b"abc" if method == "POST" else None, )
        show(how=how, where=where, status=got["status"], clean=got["clean"], reset=got["reset"],
             reason=got["reason"])
        show(ok=wire.fetch("/ok/x")["status"])
""", *(name.replace(" ", "_") for name in BREAKS), timeout=60)
    got = [r for r in done.lines if "how" in r]
    assert len(got) == 3 * len(BREAKS), done
    assert all(r["ok"] == 200 for r in done.lines if "ok" in r), done
    for r in got:
        if r["where"] == "before":
            assert (r["status"], r["reason"], r["clean"]) == (502, "upstream_broken", True), r
        else:
            assert r["status"] == 200 and not r["clean"] and r["reset"] is not None, r
    # Sent again at most once, and only what is safe to repeat.
    for name in BREAKS:
        times = len(origin.named(f"/before/{name.replace(' ', '_')}"))
        assert 1 <= times <= (2 if method == "GET" else 1), (name, times)


def test_an_http1_origin_that_breaks_off_resets_the_stream(bench, pki):
    def old(conn):
        while True:
            request = conn.read_request()
            if request.target == "/ok":
                conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                continue
            if request.target == "/sized":
                conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome\n")
            elif request.target == "/chunked":
                conn.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nsome\n\r\n")
            elif request.target == "/close":
                conn.send(b"HTTP/1.1 200 OK\r\n\r\nsome\n")
            conn.cut()
            return
    h1_origin_of(bench, pki, old)
    done = inside(bench, """
wire = H2Wire()
for path in ("/before", "/sized", "/chunked", "/close"):
    got = wire.fetch(path, BEARER, method="POST")
    show(status=got["status"], clean=got["clean"], reset=got["reset"] is not None)
    show(status=wire.fetch("/ok")["status"])
""")
    assert done.lines[0] == {"status": 502, "clean": True, "reset": False}, done
    assert done.lines[2::2] == [{"status": 200, "clean": False, "reset": True}] * 3, done
    assert done.lines[1::2] == [{"status": 200}] * 4, done


def test_a_graceful_goaway_ends_nothing(bench, pki):
    """The origin wants no new stream: the ones under way end well, the next one goes elsewhere."""
    def script(stream):
        if stream.path == "/long":
            stream.head(200)
            for i in range(10):
                stream.send(b"tick %d\n" % i)
                time.sleep(0.03)
                if i == 3:
                    stream.conn.goaway(stream.id)
            stream.finish()
        else:
            answer(stream)
    origin = origin_of(bench, pki, script)
    done = inside(bench, """
wire = H2Wire()
long = wire.request("/long", BEARER)
wire.until(lambda: len(wire.streams[long].body) >= 7 * 6)
show(status=wire.fetch("/next", method="POST", body=b"x")["status"])
show(**wire.finish(long))
""")
    assert done.lines[0] == {"status": 200}, done
    assert done.lines[1]["clean"] and done.lines[1]["body"].endswith("tick 9\n"), done
    assert origin.accepted == 2
