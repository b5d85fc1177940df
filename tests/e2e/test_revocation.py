"""`warder secret rm` and a configuration without the secret: what used the value ends within a second, in every protocol."""

import json
import subprocess
import time
from datetime import datetime

import pytest

from support import websocket
from support.bench import BEARER, SECRET
from support.h2bench import asked, event_origin
from support.inside.wswire import CLOSE, TEXT, frame, read_frame
from support.origin import Closed, Origin

STORED = {"tok": {"source": {"store": "tok"}, "placeholder": {"env": "API_TOKEN"}}}
NO_VARIABLE = {"REAL_TOKEN": None}


def command(bench, *args, value=b""):
    done = subprocess.run(bench.as_user([bench.warder, "secret", *args]), input=value,
                          env=bench.environment(NO_VARIABLE), capture_output=True)
    assert done.returncode == 0, done


@pytest.fixture
def stored(bench):
    bench.own()
    command(bench, "set", "tok", value=SECRET.encode())
    return bench


def moment(record):
    return datetime.fromisoformat(record["time"].replace("Z", "+00:00")).timestamp()


def ended_within_a_second(done):
    """By the log's own clock: from the record of the revocation to the receipt of what used the value."""
    gone, = [r for r in done.records if r["type"] == "secret" and r["change"] == "revoked"]
    ended = [r for r in done.records if r["type"] == "receipt" and r["reason"] == "secret_revoked"]
    assert ended, done.records
    for receipt in ended:
        assert moment(receipt) - moment(gone) < 1.0, (gone, receipt)
    return ended


def until_revoked(bench, process, *, marker):
    """Waits for `marker` on the output, takes the secret away, and hears the run out."""
    seen = b""
    while marker not in seen:
        piece = process.stdout.read1(4096)
        assert piece, process.stderr.read()
        seen += piece
    begin = time.monotonic()
    command(bench, "rm", "tok")
    out, err = process.communicate(timeout=20)
    took = time.monotonic() - begin
    assert took < 5, (took, out, err)       # the log says it to the second
    return (seen + out).decode(), bench.check_end()


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_a_stream_that_used_it_ends_and_the_placeholder_trips_from_then_on(stored, pki, version):
    bench, origin = stored, event_origin(stored, pki, version)
    bench.config(secrets=STORED)
    process = bench.start(f"curl -sS -N {version} {BEARER} 'https://api.test/stream?n=2000&gap=0.05'; echo \"code $?\"; "
                          f"curl -sS {version} -i {BEARER} https://api.test/ok; curl -sS {version} https://api.test/ok",
                          env=NO_VARIABLE)
    text, done = until_revoked(bench, process, marker=b"data")
    assert text.lower().count("warder-reason: secret_revoked") == 1 and "code 0" not in text, text
    assert text.rstrip().endswith("ok"), text       # without the placeholder all is as before
    assert len(ended_within_a_second(done)) == 1
    assert asked(origin) == [f"Bearer {SECRET}", None]
    protocols = {r["protocol"] for r in done.records if r["type"] == "intent"}
    assert protocols == {"h2" if version == "--http2" else "http/1.1"}, protocols


def test_a_stream_that_did_not_use_it_goes_on(stored, echo):
    bench = stored
    bench.config(secrets=STORED)
    process = bench.start("curl -sS -N 'https://api.test/stream?n=60&gap=0.05'; echo code $?; "
                          f"curl -sS -o /dev/null {BEARER} https://api.test/ok", env=NO_VARIABLE)
    text, _ = until_revoked(bench, process, marker=b"data")
    assert "code 0" in text and len(echo.requests) == 1, text


def test_a_websocket_that_used_it_is_told_and_its_origin_too(stored, pki):
    bench, at_the_origin = stored, []

    def script(conn):
        websocket.switch(conn)
        conn.send(frame(TEXT, "hello"))
        try:
            at_the_origin.append(read_frame(conn).opcode)
        except Closed:
            at_the_origin.append("closed")
    bench.map("api.test:443", Origin(script, pki.good))
    bench.config(secrets=STORED)
    (bench.ws / "wswire.py").write_bytes((websocket.INSIDE / "wswire.py").read_bytes())
    (bench.ws / "wire.py").write_bytes((websocket.INSIDE / "wire.py").read_bytes())
    bench.write("client.py", "from wire import *\nfrom wswire import *\n"
                             "wire = opened(headers=AUTH)\nprint(read_frame(wire).payload.decode(), flush=True)\n"
                             "end = read_frame(wire)\nshow(opcode=end.opcode, why=end.payload[2:].decode())\n")
    process = bench.start(["/usr/bin/python3", "-B", str(bench.ws / "client.py")], env=NO_VARIABLE)
    text, done = until_revoked(bench, process, marker=b"hello")
    assert json.loads(text.splitlines()[-1]) == {"opcode": CLOSE, "why": "secret_revoked"}, text
    ended_within_a_second(done)
    end = time.monotonic() + 5
    while not at_the_origin and time.monotonic() < end:
        time.sleep(0.02)
    assert at_the_origin in ([CLOSE], ["closed"]), at_the_origin


def test_the_old_value_stays_masked_when_it_is_gone(stored, pki):
    """An origin that keeps the value may say it as late as it likes."""
    bench, kept = stored, []

    def serve(conn):
        while True:
            request = conn.read_request()
            kept.append((request.get("authorization") or "").partition(" ")[2])
            body = b"you were " + kept[0].encode()
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    bench.map("api.test:443", Origin(serve, pki.good))
    bench.config(secrets=STORED)
    process = bench.start(f"curl -sS {BEARER} https://api.test/; echo; echo first; "
                          f"until curl -sS -o /dev/null -w '%{{http_code}}' {BEARER} https://api.test/ | grep -q 403; "
                          'do sleep 0.1; done; curl -sS https://api.test/; echo; echo "mine $API_TOKEN"', env=NO_VARIABLE)
    text, _ = until_revoked(bench, process, marker=b"first\n")
    held = text.split("mine ")[1].strip()
    assert text.splitlines()[0] == text.splitlines()[2] == f"you were {held}", text
    assert kept[0] == SECRET and kept[-1] == "", kept


@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_an_idle_connection_that_carried_it_is_closed(stored, pki, version):
    bench, origin = stored, event_origin(stored, pki, version)
    bench.config(secrets=STORED)
    process = bench.start(f"curl -sS {version} -o /dev/null {BEARER} https://api.test/ok; "
                          f"curl -sS {version} -o /dev/null https://other.test/ok; echo asked; read go",
                          env=NO_VARIABLE, stdin=subprocess.PIPE)
    assert process.stdout.readline() == b"asked\n", process.stderr.read()
    assert asked(origin) == [f"Bearer {SECRET}", None] and len(origin.connections) == 2
    time.sleep(3)                       # far longer than what follows
    assert not any(conn.ended for conn in origin.connections), "nothing was kept: this test proves nothing"
    command(bench, "rm", "tok")
    begin = time.monotonic()
    assert origin.wait(lambda: origin.connections[0].ended, 5)
    assert time.monotonic() - begin < 2     # a second, behind the look at the store
    process.communicate(b"go\n", timeout=20)
    assert [r["change"] for r in bench.records() if r["type"] == "secret"] == ["revoked"]
    bench.check_end()
