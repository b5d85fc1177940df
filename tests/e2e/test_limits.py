"""A policy's limits: each says which one and when it frees, whatever the protocol; totals and bodies break off visibly."""

import hashlib
import re
import time

import pytest

from support.daemon import Daemon
from support.echo import echo_origin, pattern, reply
from support.h2bench import inside, origin_of
from support.inside.wswire import TEXT, frame, read_frame
from support.origin import Origin
from support.websocket import inside as ws_inside
from support.websocket import is_fine, ws_origin
from test_gateway_runs import ask

VERSIONS = ("1.1", "2")
DB = {"name": "db", "hosts": ["db.test"], "ports": [5432], "action": "tcp"}


def serve_h2(stream):
    """/sized/N is N bytes, /hold waits for 2 s; what was sent is read first."""
    stream.read_all()
    kind, _, size = stream.path.strip("/").partition("/")
    if kind == "hold":
        time.sleep(2)
    stream.reply(pattern(int(size)) if kind == "sized" else b"ok %d" % len(stream.arrived))


def origin_for(bench, pki, version):
    if version == "2":
        return origin_of(bench, pki, serve_h2)
    origin = echo_origin(pki.good)
    bench.map("api.test:443", origin)
    return origin


def curl(version, *args):
    return f"curl -sS --http{version} " + " ".join(args)


def statuses(text):
    return re.findall(r"HTTP/\S+ (\d{3})", text)


def refused(done):
    return [r for r in done.records if r.get("decision") == "deny"]


def receipts(done):
    return [r for r in done.records if r["type"] == "receipt"]


# -- per minute ------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", VERSIONS)
def test_requests_per_minute_free_when_they_say(bench, pki, version):
    origin_for(bench, pki, version)
    bench.config(limits={"requests_per_minute": 30})
    done = bench.run(curl(version, "-i", "'https://api.test/sized/[1-60]'") + "; echo; echo again; "
                     + curl(version, "--retry 4 -i", "https://api.test/sized/7"), timeout=60)
    burst, again = done.text.split("again\n")
    passed = statuses(burst).count("200")
    assert 30 <= passed <= 31 + done.seconds / 2 and statuses(burst).count("429") == 60 - passed, done
    waits = re.findall(r"(?i)retry-after: (\d+)", burst)
    assert len(waits) == 60 - passed and set(waits) <= {"1", "2"}, waits
    assert re.search(r"requests_per_minute: 30 are used up; frees in [12] s\n", burst), burst
    assert "rule: limits.requests_per_minute" in burst
    assert statuses(again)[-1] == "200" and f"HTTP/{version}" in again, done
    assert {(r["reason"], r["rule"]) for r in refused(done)} == {
        ("limit_exceeded", "limits.requests_per_minute")}
    # Of all its refusals the person reads one line.
    assert done.error.count("requests_per_minute: 30: limit_exceeded") == 1, done


def test_json_has_the_seconds(bench, echo):
    bench.config(limits={"requests_per_minute": 1})
    done = bench.run("curl -sS https://api.test/ok; echo; curl -sS -H 'Accept: application/json' "
                     "https://api.test/ok")
    error = done.lines[0]["error"]
    assert error["reason"] == "limit_exceeded" and 50 <= error["retry_after"] <= 60, done
    assert error["detail"].startswith("requests_per_minute: 1 is used up; frees in "), done


def test_what_the_policy_refuses_uses_nothing_up(bench, echo):
    bench.config(limits={"requests": 1})
    done = bench.run("curl -sS -o /dev/null -w '%{http_code} ' https://no.test/[1-3] -k;"
                     "curl -sS -X DELETE -o /dev/null -w '%{http_code} ' https://api.test/ok;"
                     "curl -sS -o /dev/null -w '%{http_code} ' https://api.test/ok;"
                     "curl -sS -X DELETE -o /dev/null -w '%{http_code} ' https://api.test/ok;"
                     "curl -sS -o /dev/null -w '%{http_code} ' https://api.test/ok")
    assert done.text.split()[-4:] == ["403", "200", "403", "429"], done


@pytest.mark.parametrize("version", VERSIONS)
def test_a_download_over_its_minute_is_paced_and_whole(bench, pki, version):
    origin_for(bench, pki, version)
    bench.config(limits={"download_per_minute": "60KiB"})
    done = bench.run("{ sleep 3; " + curl(version, "-i https://api.test/sized/1; } & ")
                     + curl(version, "https://api.test/sized/68000 | sha256sum; wait"), timeout=60)
    assert hashlib.sha256(pattern(68000)).hexdigest() in done.text, done
    assert done.seconds > 6, done
    assert statuses(done.text) == ["429"], done
    assert re.search(r"download_per_minute: 60KiB is used up; frees in [1-6] s\n", done.text), done
    assert is_fine(receipts(done)[0]), receipts(done)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_upload_over_its_minute_is_paced_and_whole(bench, pki, version):
    origin = origin_for(bench, pki, version)
    bench.write("body", pattern(64000))
    bench.config(limits={"upload_per_minute": "60KiB"})
    done = bench.run(curl(version, "-T body -w ' %{http_code}'", "https://api.test/put"), timeout=60)
    assert done.text.endswith((" 200", " 404")), done
    assert done.seconds > 2 and receipts(done)[0]["bytes_up"] == 64000, done
    assert not origin.errors


# -- totals ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", VERSIONS)
def test_requests_in_all(bench, pki, version):
    origin = origin_for(bench, pki, version)
    bench.config(limits={"requests": 3})
    done = bench.run(curl(version, "-i", "'https://api.test/sized/[1-5]'"))
    assert statuses(done.text) == ["200"] * 3 + ["429"] * 2, done
    assert "retry-after" not in done.text.lower()
    assert "requests: 3 are used up, for the rest of the session" in done.text
    assert len(getattr(origin, "streams", None) or origin.requests) == 3


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["sized", "chunked", "close"])
def test_a_download_over_its_total_never_looks_complete(bench, pki, version, kind):
    if version == "2" and kind != "sized":
        pytest.skip("framing is HTTP/2's own")
    origin_for(bench, pki, version)
    bench.config(limits={"download": "100KiB"})
    done = bench.run(curl(version, f"https://api.test/{kind}/300000", "> got; echo code $?; ")
                     + curl(version, "-i", "https://api.test/ok"), creates=("got",))
    code = int(re.search(r"code (\d+)", done.text)[1])
    assert code != 0, done
    got = (bench.ws / "got").read_bytes()
    assert 0 < len(got) <= 100 * 1024 and pattern(300000).startswith(got), len(got)
    assert receipts(done)[0]["reason"] == "limit_exceeded" and receipts(done)[0]["side"] == "warder"
    assert "download: 100KiB is used up, for the rest of the session" in done.text, done


def test_a_download_of_exactly_its_total_is_whole(bench, pki):
    def script(conn):
        while True:
            request = conn.read_head()
            reply(conn, request, b"x" * 50_000)
    bench.map("api.test:443", Origin(script, pki.good))
    head = len("Content-Length") + len("50000") + 4
    bench.config(limits={"download": f"{2 * (50_000 + head)}B"})
    done = bench.run("curl -sS -o /dev/null -w '%{http_code} %{size_download}\\n' "
                     "'https://api.test/[1-3]'")
    assert done.text.splitlines()[:2] == ["200 50000"] * 2, done
    assert done.text.splitlines()[2].startswith("429"), done


@pytest.mark.parametrize("version", VERSIONS)
def test_an_upload_over_its_total_is_cut_off(bench, pki, version):
    origin = origin_for(bench, pki, version)
    bench.write("body", pattern(300_000))
    bench.config(limits={"upload": "100KiB"})
    done = bench.run(
        curl(version, "-i -T body", "https://api.test/put; echo; ")                # said beforehand
        + curl(version, "-i -T - -H 'Expect:' https://api.test/put < body; echo code $?; ")
        + curl(version, "-i https://api.test/ok"), timeout=30)
    assert re.search(r"upload: 100KiB for the session, of which \d+ bytes are left", done.text), done
    assert "upload: 100KiB is used up, for the rest of the session" in done.text, done
    assert "200" not in statuses(done.text), done
    under_way, = receipts(done)
    assert under_way["reason"] == "limit_exceeded" and under_way["bytes_up"] <= 100 * 1024
    bodies = [s.arrived for s in origin.streams] if version == "2" else [
        r.body for r in origin.requests]
    assert all(len(body or b"") <= 100 * 1024 for body in bodies)


# -- at a time -------------------------------------------------------------------------------------
def test_concurrent_streams_and_requests_count_together(bench, pki):
    open_now, peak = [], []

    def script(stream):
        stream.read_all()
        open_now.append(stream)
        peak.append(len(open_now))
        time.sleep(1.5)
        open_now.remove(stream)
        stream.reply(b"held")
    origin_of(bench, pki, script)
    bench.config(limits={"concurrent": 3})
    done = inside(bench, """
first, second = H2Wire(), H2Wire()
numbers = [first.request(f"/{i}") for i in range(3)] + [first.request("/over")]
answers = [first.finish(n) for n in numbers]
show(got=[a["status"] for a in answers], text=answers[3]["body"])
show(later=[second.fetch("/later")["status"]])
""")
    got, later = done.lines
    assert sorted(got["got"]) == [200, 200, 200, 429], done
    assert later == {"later": [200]} and max(peak) == 3, (done, peak)
    assert [(r["reason"], r["rule"]) for r in refused(done)] == [
        ("limit_exceeded", "limits.concurrent")]


CONNECTIONS = """
def ask(wire):
    wire.send("GET /ok HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
    got = wire.reply()
    return {"status": got.status, "connection": got.get("connection"),
            "retry": got.get("retry-after"), "body": got.body.decode()}
"""


def test_connections_open_at_a_time(bench, echo):
    bench.config(limits={"connections": 2})
    done = bench.python(CONNECTIONS + """
a, b = Wire(), Wire()
show(**ask(a)); show(**ask(b))
c = Wire()
show(**ask(c))
a.sock.close()
time.sleep(1)
show(**ask(Wire()))
""")
    first, second, over, later = done.lines
    assert (first["status"], second["status"], later["status"]) == (200, 200, 200), done
    assert (over["status"], over["connection"], over["retry"]) == (429, "close", None), over
    assert "connections: 2 are open; frees when one of them ends" in over["body"]


@pytest.mark.parametrize("version", VERSIONS)
def test_connections_per_minute(bench, pki, version):
    origin_for(bench, pki, version)
    bench.config(limits={"connections_per_minute": 2})
    one = curl(version, "-i https://api.test/sized/5; ")
    done = bench.run(one * 3)
    assert statuses(done.text) == ["200", "200", "429"], done
    assert re.search(r"(?i)retry-after: (2\d|30)\r", done.text), done
    assert "connections_per_minute: 2 are used up; frees in" in done.text


def test_a_raw_connection_over_the_limit_reaches_nobody(bench):
    def script(conn):
        conn.send(b"hello")
        conn.fill()
    origin = Origin(script)
    bench.map("db.test:5432", origin)
    bench.config(rules=[DB], limits={"connections": 1})
    done = bench.python("""
a = socket.create_connection(("db.test", 5432), 5)
show(first=a.recv(5).decode())
try:
    b = socket.create_connection(("db.test", 5432), 5)
    show(second=b.recv(5).decode())
except ConnectionError as error:
    show(second=type(error).__name__)
""")
    assert done.lines == [{"first": "hello"}, {"second": "ConnectionResetError"}], done
    assert len(origin.connections) == 1
    assert [r["reason"] for r in refused(done)] == ["limit_exceeded"]


# -- bodies ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", VERSIONS)
def test_a_body_over_its_most(bench, pki, version):
    origin = origin_for(bench, pki, version)
    bench.write("body", pattern(70_000))
    bench.write("small", pattern(65_536))
    bench.config(limits={"request_body": "64KiB"})
    done = bench.run(curl(version, "-i -T body https://api.test/said; ")
                     + curl(version, "-i -T - -H 'Expect:' https://api.test/unsaid < body; ")
                     + curl(version, "-i -T small -H 'Expect:' https://api.test/echo; "))
    found = [s for s in statuses(done.text) if s != "100"]
    assert found[:2] == ["413", "413"] and found[2] in ("200", "404"), done
    assert done.text.count("request_body: 64KiB is the most that one may have") == 2, done
    assert [is_fine(r) or r["reason"] for r in receipts(done)] == ["too_large", True], receipts(done)
    assert not origin.errors


# -- what is no request ----------------------------------------------------------------------------
@pytest.mark.parametrize("way", ["upload", "download"])
def test_a_websocket_is_told_at_its_total(bench, pki, way):
    def script(conn):
        if way == "upload":
            while True:
                read_frame(conn)
        for _ in range(100):
            conn.send(frame(TEXT, b"x" * 1000))
            time.sleep(0.01)                # what stands in the middle of a frame can only be cut off
        conn.fill()
    ws_origin(bench, pki, script)
    bench.config(limits={way: "20KiB"})
    done = ws_inside(bench, """
wire = opened()
if arguments()[0] == "upload":
    for _ in range(30):
        wire.send(mine(TEXT, b"y" * 1000))
got = 0
while (one := read_frame(wire)).opcode == TEXT:
    got += 1
show(got=got, code=int.from_bytes(one.payload[:2], "big"), why=one.payload[2:].decode())
""", way)
    told = done.lines[0]
    assert (told["code"], told["why"]) == (1008, "limit_exceeded"), done
    assert told["got"] <= 20 and receipts(done)[0]["reason"] == "limit_exceeded", done


@pytest.mark.parametrize("way", ["upload", "download"])
def test_raw_bytes_end_at_their_total(bench, way):
    taken = bytearray()

    def script(conn):
        if way == "download":
            conn.send(b"x" * 200_000)
        while True:
            taken.extend(conn.received[len(taken):])
            conn.fill()
    bench.map("db.test:5432", Origin(script))
    bench.config(rules=[DB], limits={way: "100KiB"})
    done = bench.python("""
sock = socket.create_connection(("db.test", 5432), 5)
got, end = 0, "eof"
try:
    if arguments()[0] == "upload":
        for _ in range(20):
            sock.sendall(b"y" * 10_000)
            time.sleep(0.01)
    while data := sock.recv(65536):
        got += len(data)
except ConnectionError:
    end = "reset"
show(got=got, end=end)
""", way)
    assert done.lines[0]["end"] == "reset" and done.lines[0]["got"] <= 100 * 1024, done
    assert len(taken) <= 100 * 1024
    assert receipts(done)[0]["reason"] == "limit_exceeded" and "limit_exceeded" in done.error, done


# -- the session's life ----------------------------------------------------------------------------
def test_a_lifetime_ends_the_network_not_the_command(bench, echo):
    bench.config(limits={"lifetime": "8s"})
    done = bench.run("curl -sS https://api.test/ok; echo; "
                     "curl -sS -N 'https://api.test/stream?n=300&gap=0.1' > /dev/null; echo code $?; "
                     "curl -sS https://api.test/ok; echo code $?; echo still here")
    assert done.code == 0 and done.text.startswith("ok\n") and "still here" in done.text, done
    codes = re.findall(r"code (\d+)", done.text)
    assert len(codes) == 2 and "0" not in codes, done
    assert "lifetime: 8s is over: the sandbox has no network any more" in done.error, done
    assert done.seconds < 25 and receipts(done)[-1]["reason"] == "session_ended", done


# -- many sandboxes --------------------------------------------------------------------------------
def test_limits_are_each_sandbox_its_own_and_metrics_count_them(bench, echo):
    with Daemon(bench, [{"type": "connect", "name": n} for n in ("a", "b")],
                limits={"requests": 2}) as gateway:
        def get(name):
            return gateway.curl("-x", f"http://127.0.0.1:{gateway.ports[name]}", "-o", "/dev/null",
                                "-w", "%{http_code}", "https://api.test/ok").stdout
        assert [get("a") for _ in range(3)] == ["200", "200", "429"]
        assert [get("b") for _ in range(3)] == ["200", "200", "429"]
        assert 'warder_refused_total{reason="limit_exceeded"} 2' in ask(gateway, "/metrics")[1]
