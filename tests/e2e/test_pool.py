"""Connections to origins: shared by the clients of one session, bounded, never another session's."""

import os
import ssl
import time

import pytest

from support.bench import BEARER, SECRET
from support.daemon import Daemon
from support.echo import echo_origin, reply
from support.h2bench import inside, origin_of
from support.origin import Origin
from support.websocket import inside as ws_inside
from support.websocket import switch

TEN = "for i in 1 2 3 4 5 6 7 8 9 10; do curl -sS -w ' %{{http_code}}' --{} https://api.test/ok; done"


@pytest.fixture
def one_worker():
    """The gateway has a thread, and so a pool, per processor that it may use."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    yield
    os.sched_setaffinity(0, allowed)


def with_pool(bench, **pool):
    return bench.gateway(upstream={"ca": ["test-ca.pem"], "connect_to": bench.connect,
                                   "connect_timeout": "1s", "pool": pool})


def receipts(records):
    return sorted((r for r in records if r["type"] == "receipt"), key=lambda r: r["exchange"])


# -- sharing ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", ["http1.1", "http2"])
def test_clients_in_a_row_make_one_connection(bench, pki, one_worker, version):
    origin = origin_of(bench, pki)
    done = bench.run(TEN.format(version))
    assert done.text.count(" 200") == 10, done
    assert len(origin.connections) == 1 and not origin.violations
    # curl --http1.1 and an origin that speaks both: nothing is translated.
    assert (len(origin.streams), len(origin.requests)) == ((10, 0) if version == "http2" else (0, 10))
    first, *others = receipts(done.records)
    assert {r["connect_us"] for r in others} == {0} and first["connect_us"] > 0, others
    assert len({(r["upstream"], r["tls"], r["leaf_sha256"]) for r in (first, *others)}) == 1


def test_an_origin_of_http1_is_shared_by_clients_that_would_speak_h2(bench, pki, one_worker):
    origin = echo_origin(pki.good)
    bench.map("api.test:443", origin)
    done = bench.run(TEN.format("http2"))
    assert done.text.count(" 200") == 10 and len(origin.connections) == 1, done


def test_every_worker_has_one_at_most(bench, echo):
    done = bench.run(TEN.format("http1.1"))
    assert done.text.count(" 200") == 10, done
    assert len(echo.connections) <= min(4, len(os.sched_getaffinity(0)))


CROWD = """
import threading
wires, held = [], threading.Lock()
def come():
    wire = H2Wire()
    wire.request("/hold", BEARER)
    with held:
        wires.append(wire)
threads = [threading.Thread(target=come) for _ in range(50)]
for one in threads:
    one.start()
for one in threads:
    one.join()
for wire in wires:
    show(status=wire.finish()["status"])
"""


@pytest.mark.parametrize("limit", [None, 20])
def test_fifty_h2_clients_share_a_connection_up_to_its_limit(bench, pki, one_worker, limit):
    arrived = []

    def script(stream):
        stream.read_all()
        arrived.append(stream)
        deadline = time.monotonic() + 10
        while len(arrived) < 50 and time.monotonic() < deadline:
            time.sleep(0.01)
        stream.reply(b"x")
    settings = {3: limit} if limit else None      # SETTINGS_MAX_CONCURRENT_STREAMS
    origin = origin_of(bench, pki, script, settings=settings)
    done = inside(bench, CROWD)
    assert [r["status"] for r in done.lines] == [200] * 50, done
    assert len(origin.connections) == (3 if limit else 1)
    assert not origin.violations
    assert all(s.get("authorization") == f"Bearer {SECRET}" for s in origin.streams)
    assert len([r for r in done.records if r["type"] == "dial"]) == 1


# -- never shared ----------------------------------------------------------------------------------
@pytest.mark.parametrize("version", ["http1.1", "http2"])
def test_two_sessions_never_share(bench, pki, one_worker, version):
    origin = origin_of(bench, pki)
    ways = ("a", "b")
    with Daemon(bench, [{"type": "connect", "name": name} for name in ways]) as gateway:
        for name in ways * 3:
            done = gateway.curl("-x", f"http://127.0.0.1:{gateway.ports[name]}", f"--{version}",
                                "-H", f"X-Session: {name}", "https://api.test/ok")
            assert done.returncode == 0, done
    # h2: what the origin speaks was asked on behalf of `a`; `b` dialled its own.
    assert len(origin.connections) == 2
    users = [{r.get("x-session") for r in c.requests} for c in origin.connections]
    if version == "http2":
        users = [{s.get("x-session") for s in c.streams.values()} for c in origin.h2_connections]
    assert users == [{"a"}, {"b"}]


def test_two_runs_never_share_nor_resume(bench, pki):
    reused = []

    def script(conn):
        reused.append(conn.sock.session_reused)
        while True:
            reply(conn, conn.read_request(), b"x")
    origin = Origin(script, pki.good)
    bench.map("api.test:443", origin)
    for _ in range(2):
        assert bench.run("curl -sS https://api.test/").text == "x"
    assert len(origin.connections) == 2 and reused == [False, False]


def test_what_spoke_websocket_is_never_used_again(bench, pki, one_worker):
    """Not even where the origin's answer to the Close looks like nothing at all."""
    def script(conn):
        if len(origin.connections) == 1:
            switch(conn)
            conn.take(8)              # the client's Close: 2 + 4 + 2
            conn.send(b"\x88\x02\x03\xe8")
        while True:
            reply(conn, conn.read_request(), b"x")
    origin = Origin(script, pki.good)
    bench.map("api.test:443", origin)
    done = ws_inside(bench, """
import asyncio, subprocess, websockets
async def main():
    async with websockets.connect("wss://api.test/chat") as ws:
        pass
asyncio.run(main())
show(got=subprocess.run(["curl", "-sS", "https://api.test/"], capture_output=True).stdout.decode())
""")
    assert done.lines == [{"got": "x"}], done
    assert len(origin.connections) == 2 and not origin.connections[0].requests[1:]


# -- the end of a connection -----------------------------------------------------------------------
@pytest.mark.parametrize("version", ["http1.1", "http2"])
def test_the_idle_time_closes(bench, pki, one_worker, version):
    origin = origin_of(bench, pki)
    bench.config(gateway=with_pool(bench, idle="300ms"))
    done = bench.run(f"for i in 1 2; do curl -sS -o /dev/null --{version} https://api.test/; "
                     "sleep 1.2; done")
    assert done.code == 0 and len(origin.connections) == 2, done
    assert all(c.ended == "eof" for c in origin.connections)


def closing(after, idle):
    """Answers so many requests of a connection; then it closes, at once or on the next request."""
    def script(conn):
        for _ in range(after):
            reply(conn, conn.read_request(), b"x")
        if not idle:
            conn.read_request()       # taken, and never answered
        conn.close_cleanly()
    return script


@pytest.mark.parametrize("idle", [True, False], ids=["while idle", "on the next request"])
def test_br012_what_an_origin_closed_is_replaced_and_a_post_is_not_sent_twice(bench, pki, one_worker,
                                                                              idle):
    origin = Origin(closing(1, idle), pki.good)
    bench.map("api.test:443", origin)
    done = bench.run("for i in 1 2 3; do curl -sS -w ' %{http_code}\\n' https://api.test/get/$i; done;"
                     "for i in 1 2 3; do curl -sS -o /dev/null -w '%{http_code}\\n' -d a=$i "
                     "https://api.test/post/$i; done")
    assert done.text.split()[:6] == ["x", "200"] * 3, done
    codes = done.text.split()[6:]
    posts = [r.target for r in origin.requests if r.method == "POST"]
    assert len(posts) == len(set(posts)) == 3, posts
    # What was on its way when the origin closed may have been carried out: the client must know.
    assert codes == (["200"] * 3 if idle else ["502", "200", "502"]), done


@pytest.mark.parametrize("how", ["refused", "goaway"])
def test_what_an_h2_origin_did_not_do_is_sent_again(bench, pki, one_worker, how):
    """RFC 9113 section 8.7, also for what is not safe, if it has no body; and once only."""
    def script(stream):
        turned_away = len(origin.named(stream.path)) == 1 or stream.path == "/never"
        if stream.path == "/first" or not turned_away:
            stream.read_all()
            stream.reply(b"x")
        elif how == "refused" or stream.path == "/never":
            stream.reset(7)
        else:
            stream.conn.goaway(stream.id - 2)
    origin = origin_of(bench, pki, script)
    bench.config(rules=[{"hosts": ["api.test"], "action": "allow"}])
    done = inside(bench, """
wire = H2Wire()
for method, path in (("GET", "/first"), ("POST", "/post"), ("DELETE", "/delete"), ("GET", "/never")):
    show(status=wire.fetch(path, method=method)["status"])
body = wire.request("/body", method="POST", end=False)
wire.data(body, b"abc", end=True)
show(status=wire.finish(body)["status"])
""")
    assert [r["status"] for r in done.lines] == [200, 200, 200, 502, 502], done
    seen = {path: len(origin.named(path)) for path in ("/post", "/delete", "/never", "/body")}
    assert seen == {"/post": 2, "/delete": 2, "/never": 2, "/body": 1}, seen


# -- limits ----------------------------------------------------------------------------------------
def test_the_limit_of_an_authority(bench, pki):
    """Two connections: of three at once the third waits; and who waits for too long is told."""
    def script(conn):
        while True:
            request = conn.read_request()
            time.sleep(float(request.target.split("/")[-1]))
            reply(conn, request, b"x")
    origin = Origin(script, pki.good)
    bench.map("api.test:443", origin)
    bench.config(gateway=with_pool(bench, per_authority=2))
    three = ("for i in 1 2 3; do curl -sS -o /dev/null -D h$i https://api.test/{} & done; wait; "
             "cat h1 h2 h3; rm h1 h2 h3")
    done = bench.run("curl -sS -o /dev/null https://api.test/0; " + three.format("0.3"))
    assert done.text.count("HTTP/1.1 200") == 3, done
    most = bench.run(three.format("2"))
    assert most.text.count("HTTP/1.1 200") == 2 and most.text.count("HTTP/1.1 429") == 1, most
    assert "warder-reason: limit_exceeded" in most.text.lower()
    refused = [r["side"] for r in receipts(most.records) if r["reason"] == "limit_exceeded"]
    assert refused == ["warder"]


def test_br139_a_burst_of_short_clients_is_served_by_few_connections(bench, echo):
    done = bench.python("""
import concurrent.futures, urllib.request
def get(i):
    with urllib.request.urlopen("https://api.test/ok") as answer:
        return answer.status
for i in range(20):
    assert get(i) == 200
with concurrent.futures.ThreadPoolExecutor(20) as pool:
    show(good=list(pool.map(get, range(80))).count(200))
""")
    assert done.lines == [{"good": 80}], done
    assert len(echo.connections) <= 40, len(echo.connections)


# -- TLS -------------------------------------------------------------------------------------------
def test_a_new_connection_to_a_known_authority_resumes(bench, pki, one_worker):
    reused = []

    def script(conn):
        reused.append((conn.sock.session_reused, conn.sock.version()))
        reply(conn, conn.read_request(), b"x", headers=[("Connection", "close")])
        conn.close_cleanly()
    origin = Origin(script, pki.good)
    older = Origin(script, pki.good)
    older._context.maximum_version = ssl.TLSVersion.TLSv1_2
    bench.map("api.test:443", origin).map("other.test:443", older)
    done = bench.run(f"for i in 1 2 3; do curl -sS {BEARER} https://api.test/; "
                     "curl -sS https://other.test/; done")
    assert done.text == "x" * 6, done
    assert sorted(reused) == sorted([(i > 0, v) for i in range(3) for v in ("TLSv1.2", "TLSv1.3")])
    found = receipts(done.records)
    assert len({(r["upstream"], r["tls"], r["leaf_sha256"]) for r in found}) == 2
    assert all(len(r["leaf_sha256"]) == 64 for r in found)
