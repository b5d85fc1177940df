"""WebSocket through the gateway: faithful both ways, masked down, a tripwire up, and bounded."""

import time

import pytest

from support.bench import SECRET
from support.h2bench import origin_of
from support.inside.wswire import BINARY, CLOSE, CONT, PING, PONG, TEXT, close, frame, read_frame
from support.marks import both_users
from support.origin import Origin
from support.raw import raw_origin
from support.websocket import (Websockets, echo, echo_frames, inside, is_fine, receipt, receipts,
                               switch, talk, ws_origin)


def note_frames(frames):
    def script(conn):
        while True:
            frames.append(read_frame(conn))
            if frames[-1].opcode == CLOSE:
                conn.send(frame(CLOSE, frames[-1].payload))
                conn.close_cleanly()
                return
    return script


# -- real peers ------------------------------------------------------------------------------------
REAL = """
import asyncio, websockets
async def main(url):
    async with websockets.connect(url, subprotocols=["chat.v2", "chat.v1"],
                                  extra_headers={"Authorization": f"Bearer {TOKEN}"}) as ws:
        got = []
        big = bytes(range(256)) * 4096
        for message in ("hello", b"\\0\\xff binary", "", "ph\\u00e9 \\u2603", big):
            await ws.send(message)
            got.append(await ws.recv() == message)
        await ws.send(["frag", "men", "ted"])
        got.append(await ws.recv() == "fragmented")
        await asyncio.wait_for(await ws.ping(), 5)
        show(got=got, protocol=ws.subprotocol, extensions=[str(e) for e in ws.extensions])
        await ws.close(1001, "going home")
        show(code=ws.close_code)
    async with websockets.connect(url) as ws:
        await ws.send("close me")
        try:
            await ws.recv()
        except websockets.ConnectionClosed as end:
            show(code=end.rcvd.code, reason=end.rcvd.reason)
asyncio.run(main(arguments()[0]))
"""


@both_users
@pytest.mark.parametrize("scheme", ["wss", "ws"])
def test_br039_real_client_and_server_without_a_proxy(bench, pki, scheme):
    """The client asks for permessage-deflate, knows no proxy, and gets all that it sent."""
    pair = pki.good if scheme == "wss" else None
    origin = Websockets(echo, pair, subprotocols=["chat.v2"])
    bench.map(f"api.test:{443 if pair else 80}", origin)
    script = REAL if pair else REAL.replace('f"Bearer {TOKEN}"', '"none"').replace(
        "Authorization", "X-Other")
    done = inside(bench, script, f"{scheme}://api.test/chat")
    first, closed, second = done.lines
    assert first == {"got": [True] * 6, "protocol": "chat.v2", "extensions": []}, done
    assert closed == {"code": 1001} and second == {"code": 4000, "reason": "as you wish"}, done
    path, fields = origin.handshakes[0]
    names = [n.lower() for n, _ in fields]
    assert path == "/chat" and "sec-websocket-extensions" not in names, fields
    if pair:
        assert dict(fields)["Authorization"] == f"Bearer {SECRET}"
    assert [is_fine(r) for r in receipts(done)] == [True, True], receipts(done)
    intents = [r for r in done.records if r.get("decision") == "allow"]
    assert {r["protocol"] for r in intents} == {"http/1.1"}, intents


def test_br039_no_proxy_variable_is_exported(bench, echo):
    done = bench.run("env")
    names = [line.split("=")[0].lower() for line in done.text.splitlines()]
    assert not [n for n in names if n.endswith("_proxy")], done


# -- faithful --------------------------------------------------------------------------------------
@pytest.mark.parametrize("tls", [True, False], ids=["tls", "clear"])
def test_frames_keep_their_borders_bits_and_keys(bench, pki, tls):
    frames = []
    ws_origin(bench, pki, note_frames(frames), clear=not tls)
    done = inside(bench, f"""
wire = opened(port={443 if tls else 80}, tls={tls})
key = b"\\1\\2\\3\\4"
wire.send(frame(TEXT, "one", False, key) + frame(PING, "in between", True, key) +
          frame(CONT, "", False, key) + frame(CONT, "two", True, b"\\5\\6\\7\\x08") +
          frame(BINARY, b"x" * 70000, True, key) + frame(PONG, "unasked", True, key))
wire.send(frame(CLOSE, close(4000, "done"), True, key), pieces=1)
show(end=plain(read_frame(wire)), closed=wire.closed(2))
""")
    key = b"\1\2\3\4"
    assert frames == [(False, TEXT, b"one", key), (True, PING, b"in between", key),
                      (False, CONT, b"", key), (True, CONT, b"two", b"\5\6\7\x08"),
                      (True, BINARY, b"x" * 70000, key), (True, PONG, b"unasked", key),
                      (True, CLOSE, close(4000, "done"), key)]
    assert done.lines == [{"end": [True, CLOSE, close(4000, "done").decode("latin-1")],
                           "closed": True}], done
    mine = receipt(done)
    sent = 6 + 10 + 70000 + 7 + 6
    assert (mine["bytes_up"], mine["bytes_down"]) == (sent, 6), mine


def test_close_codes_pass_both_ways(bench, pki):
    codes = [(1000, ""), (1001, "away"), (4000, "own words")]

    def script(conn):
        _, side, code, *reason = switch(conn).target.split("/")
        if side == "server":
            conn.send(frame(CLOSE, close(int(code), reason[0].replace("_", " "))))
            seen.append(read_frame(conn).payload)
        else:
            seen.append(read_frame(conn).payload)
            conn.send(frame(CLOSE, seen[-1]))
        conn.close_cleanly()
    seen = []
    raw_origin(bench, pki, script)
    done = inside(bench, f"""
for code, reason in {codes}:
    for side in ("server", "client"):
        wire = opened(path=f"/{{side}}/{{code}}/" + reason.replace(" ", "_"))
        if side == "client":
            wire.send(mine(CLOSE, close(code, reason)))
        got = read_frame(wire).payload
        if side == "server":
            wire.send(mine(CLOSE, got))
        show(got=got == close(code, reason), clean=wire.closed(3) and wire.ended == "eof")
""")
    assert done.lines == [{"got": True, "clean": True}] * 6, done
    assert seen == [close(*c) for c in codes for _ in "xx"]
    assert [is_fine(r) for r in receipts(done)] == [True] * 6


def test_br036_data_right_behind_the_101_and_an_idle_connection(bench, pki):
    def script(conn):
        switch(conn, behind=frame(TEXT, "first"))
        time.sleep(2)
        conn.send(frame(TEXT, "second"))
        conn.send(frame(CLOSE, close(1001)))
        read_frame(conn)
        conn.close_cleanly()
    raw_origin(bench, pki, script)
    done = inside(bench, """
wire = opened()
got = [plain(read_frame(wire)) for _ in range(3)]
wire.send(mine(CLOSE, close(1001)))
show(got=got, closed=wire.closed(2))
""")
    assert done.lines == [{"got": [[True, TEXT, "first"], [True, TEXT, "second"],
                                   [True, CLOSE, "\x03\xe9"]], "closed": True}], done
    assert is_fine(receipt(done)), receipt(done)


def test_br036_data_right_behind_the_request(bench, pki):
    frames = []
    ws_origin(bench, pki, note_frames(frames))
    done = inside(bench, """
wire = opened(behind=mine(TEXT, "early") + mine(CLOSE, close(1000)))
show(end=plain(read_frame(wire)))
""")
    assert [(f.opcode, f.payload) for f in frames] == [(TEXT, b"early"), (CLOSE, close(1000))]
    assert len(done.lines) == 1, done


def test_h2_origin_gets_it_over_http1(bench, pki):
    """The origin prefers h2; a client that offers HTTP/1.1 alone has its WebSocket all the same."""
    def serve(conn):
        switch(conn)
        echo_frames(conn)
    origin = origin_of(bench, pki, h1=serve)
    done = inside(bench, """
wire = opened()
wire.send(mine(TEXT, "over http/1.1"))
show(got=plain(read_frame(wire)))
wire.send(mine(CLOSE, close(1000)))
show(got=plain(read_frame(wire)))
""")
    assert done.lines[0] == {"got": [True, TEXT, "over http/1.1"]} and len(done.lines) == 2, done
    assert not origin.h2_connections or not origin.streams


# -- secrets ---------------------------------------------------------------------------------------
TRIPS = {
    "whole": 'mine(TEXT, text)',
    "fragments": 'mine(TEXT, text[:cut], False) + mine(CONT, text[cut:])',
    "ping-between": 'mine(TEXT, text[:cut], False) + mine(PING, "") + mine(CONT, text[cut:])',
    "binary": 'mine(BINARY, text)',
    "ping": 'mine(PING, TOKEN)',
    "close-reason": 'mine(CLOSE, close(4000, TOKEN))',
}


@pytest.mark.parametrize("host", ["api.test", "other.test"])
def test_br037_a_placeholder_in_a_message_is_a_tripwire(bench, pki, host):
    """No grant names a WebSocket as a place: at the bound host it is the wrong place, elsewhere the
    wrong host."""
    frames = {}

    def script(conn):
        own = frames.setdefault(switch(conn).target.strip("/"), [])
        while True:
            own.append(read_frame(conn))
    origin = Origin(script, pki.good)
    bench.map(f"{host}:443", origin)
    cases = ",".join(f'"{name}": lambda: {made}' for name, made in TRIPS.items())
    done = inside(bench, f"""
text = json.dumps({{"op": 2, "d": {{"token": TOKEN}}}})
cut = text.index(TOKEN) + 9
for name, made in {{{cases}}}.items():
    wire = opened("{host}", "/" + name)
    wire.send(mine(TEXT, "before"))
    time.sleep(0.1)
    wire.send(made())
    show(name=name, got=plain(read_frame(wire)), closed=wire.closed(3), ended=wire.ended,
         mine=TOKEN)
""")
    word = "placeholder_wrong_place" if host == "api.test" else "placeholder_wrong_host"
    assert [r["name"] for r in done.lines] == list(TRIPS), done
    for got in done.lines:
        assert got["got"] == [True, CLOSE, close(1008, word).decode("latin-1")], got
        assert got["closed"] and got["ended"] == "eof", got
        own = frames[got["name"]]
        payload = b"".join(f.payload for f in own)
        assert payload.startswith(b"before") and got["mine"].encode() not in payload, payload
        assert CLOSE not in [f.opcode for f in own], own
    assert SECRET.encode() not in origin.received
    for conn in origin.connections:
        assert origin.wait(lambda c=conn: c.ended), "the origin's connection stays open"
    assert [r["reason"] for r in receipts(done)] == [word] * len(TRIPS), receipts(done)
    assert all(r["bytes_up"] >= 6 for r in receipts(done)), receipts(done)


MASKED = ["one-frame", "fragments", "bytes", "ping-between", "close-reason"]


def test_a_value_in_messages_is_masked(bench, pki):
    def script(conn):
        request = switch(conn)
        token, how = request.get("authorization").split()[1], request.target.strip("/")
        text = f"you are {token} now"
        if how == "one-frame":
            conn.send(frame(TEXT, text))
        elif how == "fragments":
            conn.send(frame(TEXT, text[:15], False))
            time.sleep(0.1)
            conn.send(frame(CONT, text[15:]))
        elif how == "bytes":
            whole = frame(TEXT, text)
            conn.send_pieces([whole[i:i + 1] for i in range(len(whole))], 0.001)
        elif how == "ping-between":
            conn.send(frame(TEXT, text[:15], False) + frame(PING, "p"))
            assert read_frame(conn).opcode == PONG      # it came through while the message waits
            conn.send(frame(CONT, text[15:]))
        reason = f"no {token}" if how == "close-reason" else ""
        conn.send(frame(CLOSE, close(4001, reason)))
        read_frame(conn)
        conn.close_cleanly()
    raw_origin(bench, pki, script)
    done = inside(bench, f"""
for how in {MASKED}:
    wire = opened(path="/" + how, headers=AUTH)
    text, end = b"", None
    while not end:
        got = read_frame(wire)
        if got.opcode == PING:
            wire.send(mine(PONG, got.payload))
        elif got.opcode == CLOSE:
            end = got.payload
        else:
            text += got.payload
    wire.send(mine(CLOSE, end[:2]))
    show(how=how, text=text.decode(), end=end[2:].decode(), mine=TOKEN, code=end[0] * 256 + end[1])
""")
    assert [r["how"] for r in done.lines] == MASKED, done
    for got in done.lines:
        last = got["how"] == "close-reason"
        assert got["code"] == 4001, got
        assert got["end"] == (f"no {got['mine']}" if last else ""), got
        assert got["text"] == ("" if last else f"you are {got['mine']} now"), got
    for one in receipts(done):
        marks = [m for m in one["masked"] if m["place"] == "ws"]
        assert [(m["name"], m["encoding"], m["count"]) for m in marks] == [("tok", "raw", 1)], one


def test_a_mask_that_changes_lengths_frames_anew(bench, pki):
    """The value is shorter than its placeholder; a large message around it arrives whole."""
    value = "hunter2-mine"

    def script(conn):
        token = switch(conn).get("authorization").split()[1]
        assert token == value
        conn.send(frame(TEXT, f"({token})") + frame(TEXT, "x" * 50000 + token + "y" * 50000))
        conn.send(frame(TEXT, f"a{token[:5]}", False) + frame(CONT, f"{token[5:]}b"))
        conn.send(frame(CLOSE, close(1000)))
        read_frame(conn)
    bench.real = value
    origin = raw_origin(bench, pki, script)
    done = inside(bench, """
wire = opened(headers=AUTH)
messages, text = [], ""
while True:
    got = read_frame(wire)
    if got.opcode == CLOSE:
        break
    text += got.payload.decode()
    if got.fin:
        messages.append(text)
        text = ""
wire.send(mine(CLOSE, got.payload))
show(right=messages == [f"({TOKEN})", "x" * 50000 + TOKEN + "y" * 50000, f"a{TOKEN}b"],
     sizes=[len(m) for m in messages], longer=len(TOKEN))
""")
    assert done.lines[0]["right"] and done.lines[0]["longer"] > len(value), done
    assert not origin.errors, origin.errors


def test_a_message_of_an_ungranted_origin_leaves_at_once(bench, pki):
    """Words are held inside a message alone, and there for a moment: each echo is there in time."""
    origin = Origin(lambda conn: (switch(conn), echo_frames(conn)), pki.good)
    bench.map("other.test:443", origin)
    done = inside(bench, """
wire = opened("other.test")
start = time.monotonic()
for _ in range(20):
    wire.send(mine(TEXT, "a word"))
    assert read_frame(wire).payload == b"a word"
messages = time.monotonic() - start
wire.send(mine(TEXT, "half a wo", False))
got, start = b"", time.monotonic()
while got != b"half a wo":
    got += read_frame(wire).payload
fragment = time.monotonic() - start
wire.send(mine(CONT, "rd"))
show(messages=messages, fragment=fragment, rest=plain(read_frame(wire)))
wire.send(mine(CLOSE, close(1000)))
read_frame(wire)
""")
    got = done.lines[0]
    assert got["messages"] < 1 and got["fragment"] < 0.6, done
    assert got["rest"] == [True, CONT, "rd"], done


# -- bounds ----------------------------------------------------------------------------------------
def test_a_slow_reader_slows_the_sender(bench, pki):
    sent = [0]
    message = frame(BINARY, b"z" * (1 << 20))

    def script(conn):
        for _ in range(48):
            for at in range(0, len(message), 65536):
                conn.send(message[at:at + 65536])
                sent[0] += 65536
        conn.send(frame(CLOSE, close(1000)))
        read_frame(conn)
    ws_origin(bench, pki, script)
    task = talk(bench, """
wire = opened()
pause()
count = 0
while (got := read_frame(wire)).opcode == BINARY:
    count += got.payload == b"z" * (1 << 20)
wire.send(mine(CLOSE, got.payload))
show(count=count)
""")
    task.hear()
    before = task.memory()
    last = -1
    while sent[0] != last:
        last = sent[0]
        time.sleep(0.5)
    assert last < 40 << 20, "the origin was never slowed"
    assert task.sanitized() or task.memory() - before < 4 << 20
    done = task.end()
    assert done.lines[-1] == {"count": 48}, done
