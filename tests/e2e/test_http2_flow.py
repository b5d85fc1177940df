"""HTTP/2 while it runs: gRPC, flow control, many streams, early and slow answers, memory."""

import hashlib
import os
import socket
import subprocess
import threading
import time

import pytest
from hyperframe.frame import DataFrame

from support.bench import SECRET
from support.echo import pattern
from support.h2bench import h1_origin_of, inside, origin_of, peak_of, talk
from support.h2origin import answer
from support.marks import both_users
from support.origin import Closed

MIB = 1 << 20
INITIAL_WINDOW = 4      # SETTINGS


# -- gRPC shapes (BR-024) ------------------------------------------------------------------------
def message(text):
    data = text.encode()
    return b"\0" + len(data).to_bytes(4, "big") + data


def grpc(stream):
    """Answers each message as it comes; Stream sends three for it, Collect one at the end."""
    kind, left, count = stream.path.split("/")[-1], b"", 0
    if kind == "Fail":
        stream.read_all()
        stream.head(200, [("content-type", "application/grpc"), ("grpc-status", "5"),
                          ("grpc-message", "none%20such")], end=True)
        return
    stream.head(200, [("content-type", "application/grpc")])
    while data := stream.read():
        left += data
        while len(left) >= 5 and len(left) >= 5 + int.from_bytes(left[1:5], "big"):
            size = 5 + int.from_bytes(left[1:5], "big")
            got, left, count = left[5:size].decode(), left[size:], count + 1
            if kind == "Echo":
                stream.send(message(f"re {got}"))
            elif kind == "Stream":
                for n in range(3):
                    stream.send(message(f"{got} {n}"))
                    time.sleep(0.05)
    if kind == "Collect":
        stream.send(message(f"{count} messages"))
    stream.finish([("grpc-status", "0"), ("grpc-message", ""), ("trace-bin", "AAEC")])


GRPC_CLIENT = """
HEAD = [("content-type", "application/grpc"), ("te", "trailers"), ("grpc-timeout", "10S"),
        ("key-bin", "AQID"), *BEARER]

def message(text):
    data = text.encode()
    return b"\\0" + len(data).to_bytes(4, "big") + data

def messages(number):
    found, left = [], bytes(wire.streams[number].body)
    while len(left) >= 5 and len(left) >= 5 + int.from_bytes(left[1:5], "big"):
        size = 5 + int.from_bytes(left[1:5], "big")
        found, left = found + [left[5:size].decode()], left[size:]
    return found

def call(method):
    return wire.request(f"/Hello/{method}", HEAD, method="POST", end=False)

def end(number):
    got = wire.finish(number)
    show(messages=messages(number), trailers=got["trailers"], headers=got["headers"],
         clean=got["clean"])

wire = H2Wire()
"""
GRPC_TRAILERS = [["grpc-status", "0"], ["grpc-message", ""], ["trace-bin", "AAEC"]]


@both_users
def test_br024_the_four_kinds_of_grpc_calls(bench, pki):
    origin = origin_of(bench, pki, grpc)
    done = inside(bench, GRPC_CLIENT + """
unary = call("Echo"); wire.frame(unary, message("one"), end=True); end(unary)

server = call("Stream"); wire.frame(server, message("s"), end=True); end(server)
times = [t for t, _ in wire.streams[server].arrivals]
show(spread=times[-1] - times[0])

client = call("Collect")
for n in range(5):
    wire.frame(client, message(f"m{n}"))
wire.frame(client, b"", end=True); end(client)

both = call("Echo")
for n in range(5):
    wire.frame(both, message(f"ping {n}\\n"))
    show(seen=wire.until(lambda: len(messages(both)) == n + 1, 2.0))
wire.frame(both, b"", end=True); end(both)

failed = call("Fail"); wire.frame(failed, message("x"), end=True); end(failed)
""")
    unary, server, spread, client, *both, failed = done.lines
    assert unary["messages"] == ["re one"] and unary["trailers"] == GRPC_TRAILERS, done
    assert server["messages"] == ["s 0", "s 1", "s 2"] and server["trailers"] == GRPC_TRAILERS
    assert 0.05 < spread["spread"] < 2, done
    assert client["messages"] == ["5 messages"] and client["trailers"] == GRPC_TRAILERS, done
    assert both[:5] == [{"seen": True}] * 5, done
    assert both[5]["messages"] == [f"re ping {n}\n" for n in range(5)], done
    assert ["grpc-status", "5"] in failed["headers"] and failed["trailers"] == [], done
    assert all(s.all("te") == ["trailers"] and s.all("key-bin") == ["AQID"]
               and s.get("authorization") == f"Bearer {SECRET}" for s in origin.streams)


def test_br024_a_message_that_ends_in_a_word_is_not_held(bench, pki):
    """Most do (a protobuf ends in a string): each side waits for the other's, so none may."""
    origin_of(bench, pki, grpc)
    done = inside(bench, GRPC_CLIENT + """
both = call("Echo")
for n in range(3):
    wire.frame(both, message(f"ping-{n}"))
    show(seen=wire.until(lambda: len(messages(both)) == n + 1, 0.5))
wire.frame(both, b"", end=True); end(both)
""")
    assert done.lines[:3] == [{"seen": True}] * 3, done


def test_br024_request_trailers_reach_the_origin(bench, pki):
    origin = origin_of(bench, pki)
    done = inside(bench, """
wire = H2Wire()
show(**wire.fetch("/a", method="POST", body=b"abc", trailers=[("x-a", "1"), ("y-bin", "AA")]))
show(**wire.fetch("/b", method="POST", trailers=[("x-b", "2")]))
""")
    assert [s.trailers for s in origin.streams] == [[("x-a", "1"), ("y-bin", "AA")],
                                                    [("x-b", "2")]], done
    assert all(r["status"] == 200 for r in done.lines)
    assert bytes(origin.streams[0].arrived) == b"abc"


# -- flow control (BR-028) -----------------------------------------------------------------------
@pytest.mark.parametrize("sized", [True, False], ids=["sized", "unsized"])
def test_br028_ten_mebibytes_up_through_small_windows(bench, pki, sized):
    """The origin takes 64 KiB at a time, with pauses; other streams go on beside it."""
    def script(stream):
        if stream.path != "/up":
            answer(stream)
            return
        digest, since = hashlib.sha256(), 0
        while data := stream.read():
            digest.update(data)
            since += len(data)
            if since > MIB:
                time.sleep(0.02)
                since = 0
        stream.reply(digest.hexdigest().encode())
    origin = origin_of(bench, pki, script, settings={INITIAL_WINDOW: 20000}, keep=False)
    done = inside(bench, f"sized = {sized}\n" + """
import hashlib
block = hashlib.sha256(b"x").digest() * 32
body = b"".join(i.to_bytes(4, "big") + block[4:] for i in range(10 << 10))
wire = H2Wire()
length = [("content-length", str(len(body)))] if sized else []
up = wire.request("/up", [*BEARER, *length], method="POST", end=False)
wire.data(up, body[:5 << 20])
show(beside=wire.fetch("/beside")["status"])
wire.data(up, body[5 << 20:], end=True)
show(**wire.finish(up), digest=hashlib.sha256(body).hexdigest())
""", timeout=40)
    beside, up = done.lines
    assert beside["beside"] == 200 and up["status"] == 200 and up["body"] == up["digest"], done
    stream, = origin.named("/up")
    assert len(stream.arrived) == 10 * MIB and not origin.violations
    assert stream.all("content-length") == ([str(10 * MIB)] if sized else []), stream.headers


@pytest.mark.parametrize("real", [SECRET, "s3cretPW"], ids=["same length", "longer placeholder"])
def test_br028_ten_mebibytes_down_with_10000_values(bench, pki, real):
    """Masked in place, or grown; the client's windows are the protocol's small ones."""
    bench.real = real
    text = b"".join(b"%06d " % i + b"x" * 1000 + real.encode() + b"\n" for i in range(10000))

    def script(stream):
        stream.read_all()
        stream.head(200, [("content-length", str(len(text)))])
        stream.send(text, end=True)
    origin = origin_of(bench, pki, script)
    done = inside(bench, """
import hashlib
wire = H2Wire()
got = wire.fetch("/a", BEARER)
wanted = b"".join(b"%06d " % i + b"x" * 1000 + TOKEN.encode() + b"\\n" for i in range(10000))
body = got["body"].encode("latin-1")
length = [int(v) for n, v in got["headers"] if n == "content-length"]
show(same=body == wanted, clean=got["clean"], length=length in ([], [len(body)]), size=len(body))
""", timeout=40)
    assert done.lines[0] == {"same": True, "clean": True, "length": True,
                             "size": done.lines[0]["size"]}, done
    assert not origin.violations


def test_a_slow_client_stops_the_origin_and_not_the_other_streams(bench, pki):
    """No WINDOW_UPDATE for one stream: what the gateway takes for it is bounded."""
    def script(stream):
        if stream.path == "/big":
            stream.head(200)
            stream.sent = 0
            for _ in range(640):
                stream.send(b"x" * 16384)
                stream.sent += 16384
        else:
            answer(stream)
    origin = origin_of(bench, pki, script)
    done = inside(bench, """
wire = H2Wire(ack=False)
big = wire.request("/big", BEARER)
wire.until(lambda: len(wire.streams[big].body) == 65535, 3)
wire.h2.increment_flow_control_window(1 << 20)
wire.flush()
time.sleep(0.3)
show(others=[wire.fetch(f"/{i}")["status"] for i in range(10)], got=len(wire.streams[big].body))
wire.reset(big)
show(status=wire.fetch("/last")["status"])
""")
    first, last = done.lines
    assert first == {"others": [200] * 10, "got": 65535} and last == {"status": 200}, done
    big, = origin.named("/big")
    assert big.sent < MIB and big.wait_gone() is not None


def test_an_origin_that_ignores_the_windows_breaks_only_itself(bench, pki):
    def script(stream):
        stream.read_all()
        if stream.path == "/ok":
            stream.reply(b"ok")
            return
        stream.head(200)
        for _ in range(60):
            frame = DataFrame(stream.id, b"y" * 16384)
            stream.conn.raw(frame.serialize())
    origin = origin_of(bench, pki, script)
    done = inside(bench, """
wire = H2Wire(ack=False)
numbers = [wire.request(f"/{i}", BEARER) for i in range(2)]
wire.until(lambda: False, 0.7)      # no room here for what comes: now it is the gateway's
wire.h2.increment_flow_control_window(1 << 24)
for number in numbers:
    if not wire.streams[number].done:
        wire.h2.increment_flow_control_window(1 << 24, number)
wire.flush()
got = wire.finish(*numbers)
show(clean=[g["clean"] for g in got], reset=[g["reset"] for g in got])
show(status=wire.fetch("/ok")["status"], closed=wire.closed)
""")
    assert done.lines[0]["clean"] == [False, False], done
    assert None not in done.lines[0]["reset"], done
    assert done.lines[1] == {"status": 200, "closed": False}, done


# -- many streams --------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["h2", "http1"])
def test_a_hundred_streams_at_once(bench, pki, kind):
    """To an h2 origin over one connection; to an HTTP/1.1 one over as many as it takes."""
    everyone = threading.Barrier(100)

    def wait(stream):
        everyone.wait(10)
        stream.reply(stream.path.encode())

    def old(conn):
        while True:
            request = conn.read_request()
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" %
                      (len(request.target), request.target.encode()))
    origin = origin_of(bench, pki, wait) if kind == "h2" else h1_origin_of(bench, pki, old)
    done = inside(bench, """
wire = H2Wire()
for i in range(100):
    wire.request(f"/{i}", BEARER)
got = wire.finish(seconds=15)
show(right=sum(g["body"] == f"/{i}" and g["status"] == 200 for i, g in enumerate(got)),
     odd=[g for g in got if g["status"] != 200][:3])
""")
    assert done.lines == [{"right": 100, "odd": []}], done
    if kind == "h2":
        assert origin.accepted == 1 and origin.h2_connections[0].most == 100
        assert all(s.get("authorization") == f"Bearer {SECRET}" for s in origin.streams)
    assert len([r for r in done.records if r.get("status") == 200]) == 100


def test_more_streams_than_the_origin_allows(bench, pki):
    """It takes 4 at a time: 40 are all answered, on whatever connections that takes."""
    def script(stream):
        stream.read_all()
        time.sleep(0.02)
        stream.reply(b"ok")
    origin = origin_of(bench, pki, script, settings={3: 4})
    done = inside(bench, """
wire = H2Wire()
show(first=wire.fetch("/first")["status"])
for i in range(40):
    wire.request(f"/{i}", BEARER)
got = wire.finish(seconds=15)
show(codes=sorted({(g["status"], str(g["reason"])) for g in got}))
""")
    assert done.lines[1]["codes"] == [[200, "None"]], done
    assert all(c.most <= 4 for c in origin.h2_connections) and not origin.violations


# -- answers that come early, in pieces, or late -------------------------------------------------
@both_users
@pytest.mark.parametrize("kind", ["h2", "http1"])
def test_br014_early_413_during_an_upload(bench, pki, kind):
    def script(stream):
        if stream.path == "/ok":
            answer(stream)
            return
        stream.read()
        stream.reply(b"too large\n", 413)
        stream.reset(0)      # NO_ERROR: the rest is not wanted (RFC 9113 section 8.1)

    def old(conn):
        head = conn.read_head()
        if head.target == "/ok":
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            return
        conn.take(65536)
        conn.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 10\r\nConnection: close\r\n\r\n"
                  b"too large\n")
        try:
            while True:
                conn.fill()
        except Closed:
            pass
    origin = origin_of(bench, pki, script) if kind == "h2" else h1_origin_of(bench, pki, old)
    done = inside(bench, """
wire = H2Wire()
up = wire.request("/up", BEARER, method="POST", end=False)
sent = wire.data(up, bytes(20_000_000), end=True)
got = wire.finish(up)
show(status=got["status"], body=got["body"], ended=wire.streams[up].ended, sent=sent)
show(status=wire.fetch("/ok")["status"])
""")
    up, ok = done.lines
    assert (up["status"], up["body"], up["ended"]) == (413, "too large\n", True), done
    assert up["sent"] < 20_000_000 and ok["status"] == 200, done
    curl = bench.run("head -c 20000000 /dev/zero | curl -sS --http2 -m 15 -i -X POST "
                     "--data-binary @- https://api.test/up", timeout=30)
    assert " 413" in curl.text.splitlines()[0] and "too large" in curl.text, curl


@both_users
def test_server_sent_events_leave_at_once(bench, pki):
    def script(stream):
        stream.head(200, [("content-type", "text/event-stream")])
        for i in range(6):
            stream.send(f"data: {i} {time.monotonic():.6f}\n\n".encode())
            time.sleep(0.12)
        stream.send(f"data: {SECRET[:9]}".encode())
        time.sleep(0.05)
        stream.send(f"{SECRET[9:]}\n\n".encode(), end=True)
    origin_of(bench, pki, script)
    done = inside(bench, """
wire = H2Wire()
number = wire.request("/events", BEARER)
stream, late, seen = wire.streams[number], [], 0
while not stream.done and wire.pump():
    now = time.monotonic()
    for line in bytes(stream.body[seen:]).decode().splitlines():
        words = line.split()
        if len(words) == 3:
            late.append(now - float(words[2]))
    seen = len(stream.body)
show(late=late, text=stream.body.decode(), ended=stream.ended, mine=TOKEN)
""")
    got = done.lines[0]
    late = sorted(got["late"])
    # One hiccup of a busy machine is forgiven; an event that waits for the next one is not.
    assert len(late) == 6 and late[-2] < 0.1 and late[-1] < 0.5, late
    assert got["text"].endswith(f"data: {got['mine']}\n\n") and got["ended"], done


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


# -- memory --------------------------------------------------------------------------------------
def test_nothing_is_left_of_many_streams_and_connections(bench, pki):
    """Thousands of requests, hundreds of them reset: descriptors and memory come back."""
    def script(stream):
        if stream.path == "/reset":
            stream.reset(2)
        elif stream.path == "/slow":
            stream.wait_gone(5)
        else:
            stream.reply(b"ok")
    origin_of(bench, pki, script, keep=False)
    task = talk(bench, """
def round():
    wire = H2Wire()
    for i in range(20):
        wire.request("/ok", BEARER)
        wire.request("/reset", BEARER, method="POST")
        wire.reset(wire.request("/slow", BEARER))
    wire.until(lambda: sum(s.done for s in wire.streams.values()) == 40)
    wire.close()
    return sum(s.status == 200 for s in wire.streams.values())
round()
pause()
pause(right=[round() for _ in range(15)])
""")
    task.hear()
    baseline, peak = task.descriptors_settled(0, 1.0), peak_of(task)
    task.go()
    assert task.hear()["right"] == [20] * 15
    grown = peak()
    workers = min(os.cpu_count(), 4)      # each keeps one connection to the origin for a while
    assert task.descriptors_settled(baseline + workers) <= baseline + workers
    done = task.end()
    assert task.sanitized() or grown < 8 * MIB, f"{grown / MIB:.1f} MiB"
    assert len([r for r in done.records if "status" in r]) == 16 * 60


def test_200_megabytes_down_take_no_memory(bench, pki, tmp_path):
    """From a real h2 server, through curl, while the gateway holds a secret to look for."""
    size = 200_000_000
    block = pattern(MIB)
    with open(tmp_path / "big", "wb") as file:
        for at in range(0, size, MIB):
            file.write(block[:size - at])
    digest = hashlib.sha256((tmp_path / "big").read_bytes()).hexdigest()
    port = free_port()
    server = subprocess.Popen(["nghttpd", "-d", tmp_path, "-a", "127.0.0.1", str(port),
                               pki.good.key, pki.good.cert], stdout=subprocess.DEVNULL)
    try:
        bench.map("api.test:443", f"127.0.0.1:{port}")
        task = talk(bench, """
import subprocess
def get(path):
    return subprocess.run("curl -sS --http2 " + path, shell=True, capture_output=True,
                          text=True).stdout
H2Wire().fetch("/none", BEARER)
pause(version=get("-o /dev/null -w '%{http_version}' https://api.test/none"))
pause(load=subprocess.run(['h2load', '-n3000', '-c4', '-m50', 'https://api.test/none'],
                          capture_output=True, text=True).stdout)
pause(digest=get('https://api.test/big -H "Authorization: Bearer $API_TOKEN" | sha256sum'))
""")
        assert task.hear()["version"] == "2"
        task.go()
        load = task.hear(40)["load"]
        assert " 3000 4xx" in load or "3000 4xx" in load, load
        peak = peak_of(task)
        task.go()
        assert task.hear(40)["digest"].split()[0] == digest
        grown = peak()
        task.end()
    finally:
        server.kill()
        server.wait()
        (tmp_path / "big").unlink()
    assert task.sanitized() or grown < 16 * MIB, f"{grown / MIB:.1f} MiB"
