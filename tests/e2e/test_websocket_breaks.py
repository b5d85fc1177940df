"""WebSockets that are refused, malformed, or broken off."""

import time

import pytest

from support.bench import CONTRACT_RULES
from support.inside.wswire import CLOSE, CONT, TEXT, accept_of, close, frame, read_frame
from support.raw import raw_origin
from support.websocket import echo_frames, inside, receipt, receipts, switch, ws_origin


# -- the handshake ---------------------------------------------------------------------------------
BAD_101 = {
    "wrong-accept": f"Sec-WebSocket-Accept: {accept_of('another key')}\r\n",
    "no-accept": "",
    "extension": "Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Extensions: x-new\r\n",
}


def test_a_101_that_does_not_fit_the_request_is_refused(bench, pki):
    def script(conn):
        request = conn.read_request()
        fields = BAD_101[request.target.strip("/")].format(
            accept=accept_of(request.get("sec-websocket-key")))
        conn.send(("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                   f"{fields}\r\n").encode() + frame(TEXT, "smuggled"))
        conn.fill()
    raw_origin(bench, pki, script)
    done = inside(bench, f"""
for fault in {list(BAD_101)}:
    wire, reply = ask(path="/" + fault, headers=AUTH)
    wire._body(reply, "GET")
    show(status=reply.status, reason=reply.get("warder-reason"))
""")
    assert done.lines == [{"status": 502, "reason": "upstream_broken"}] * 3, done
    assert "smuggled" not in done.text


UNASKED = {
    "none": "",
    "h2c": "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
    "old": "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n"
           "Sec-WebSocket-Key: x\r\n",
}


def test_a_101_nobody_asked_for_is_refused(bench, pki):
    def script(conn):
        request = conn.read_request()
        assert request.get("upgrade") is None and request.get("connection") is None
        conn.send(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        conn.fill()
    raw_origin(bench, pki, script)
    done = bench.python(f"""
for fields in {list(UNASKED.values())}:
    reply = fetch("/ws", headers=fields)
    show(status=reply.status, reason=reply.get("warder-reason"))
""")
    assert done.lines == [{"status": 502, "reason": "upstream_broken"}] * 3, done


def test_another_answer_is_an_ordinary_one(bench, pki):
    fields = {"401": "WWW-Authenticate: Basic\r\n", "403": "", "302": "Location: /else\r\n",
              "426": "Upgrade: websocket\r\n"}

    def script(conn):
        while True:
            status = conn.read_request().target.strip("/")
            conn.send(f"HTTP/1.1 {status} Well\r\n{fields[status]}Content-Length: 4\r\n\r\nbody"
                      .encode())
    raw_origin(bench, pki, script)
    done = inside(bench, f"""
for status in {list(fields)}:
    wire, reply = ask(path="/" + status)
    wire._body(reply, "GET")
    wire.send("GET /403 HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
    show(status=reply.status, body=reply.body.decode(), next=wire.reply().body.decode())
""")
    assert done.lines == [{"status": int(s), "body": "body", "next": "body"} for s in fields], done


def test_policy_refuses_before_any_upgrade(bench, pki):
    rules = [{"name": "no-ws", "hosts": ["api.test"], "paths": ["/ws"], "action": "deny"},
             *CONTRACT_RULES]
    origin = ws_origin(bench, pki, echo_frames)
    bench.config(rules=rules)
    done = inside(bench, """
for host, address in (("api.test", None), ("else.test", "93.184.216.34")):
    wire, reply = ask(host, address=address)
    wire._body(reply, "GET")
    show(status=reply.status, reason=reply.get("warder-reason"))
""")
    assert [(r["status"], r["reason"]) for r in done.lines] == [
        (403, "path_not_allowed"), (403, "host_not_allowed")], done
    assert origin.received == b""


# -- ends ------------------------------------------------------------------------------------------
def test_an_origin_that_goes_without_a_close_frame_is_no_clean_end(bench, pki):
    def script(conn):
        how = switch(conn).target.strip("/")
        conn.send(frame(TEXT, "hello"))
        time.sleep(0.1)
        getattr(conn, how)()
    raw_origin(bench, pki, script)
    done = inside(bench, """
for how in ("close_cleanly", "cut", "reset"):
    wire = opened(path="/" + how)
    show(got=plain(read_frame(wire)), closed=wire.closed(3), ended=wire.ended)
""")
    assert len(done.lines) == 3, done
    for got in done.lines:
        assert got["got"] == [True, TEXT, "hello"] and got["closed"], done
        assert got["ended"] in ("reset", "truncated"), done
    assert [r["reason"] for r in receipts(done)] == ["upstream_broken"] * 3, receipts(done)


@pytest.mark.parametrize("tls,how", [(True, "wire.close()"),
                                     (False, "wire.sock.shutdown(socket.SHUT_WR)")],
                         ids=["tls", "half-close"])
def test_a_client_that_goes_takes_the_origin_along(bench, pki, tls, how):
    gone = []

    def script(conn):
        try:
            while True:
                read_frame(conn)
        finally:
            gone.append(time.monotonic())
    origin = ws_origin(bench, pki, script, clear=not tls)
    done = inside(bench, f"""
wire = opened(port={443 if tls else 80}, tls={tls})
wire.send(mine(TEXT, "hello"))
time.sleep(0.2)
show(at=time.monotonic())
{how}
time.sleep(0.5)
""")
    assert origin.wait(lambda: gone), "the origin's connection stays open"
    assert gone[0] - done.lines[0]["at"] < 0.8, (gone, done)
    assert tls or origin.connections[0].ended == "reset"    # Python's TLS shows both as an end
    assert receipt(done)["reason"] == "client_broken", receipt(done)


WRONG = ['frame(TEXT, "not masked")', 'b"\\xc1\\x80abcd"', 'mine(3, "x")', 'mine(CONT, "x")',
         'mine(PING, "x", False)', 'b"\\x81\\xfe\\0\\5abcd"']


def test_a_malformed_frame_of_the_client_closes_both_sides(bench, pki):
    frames = []

    def script(conn):
        own = []
        frames.append(own)
        while not own or own[-1].opcode != CLOSE:
            own.append(read_frame(conn))
    ws_origin(bench, pki, script)
    done = inside(bench, f"""
for wrong in ({", ".join(WRONG)}):
    wire = opened()
    wire.send(mine(TEXT, "good") + wrong)
    show(got=plain(read_frame(wire)), closed=wire.closed(4), ended=wire.ended)
""")
    end = [True, CLOSE, close(1002, "malformed_request").decode("latin-1")]
    assert done.lines == [{"got": end, "closed": True, "ended": "eof"}] * len(WRONG), done
    for own in frames:
        assert [(f.opcode, f.payload) for f in own] == [(TEXT, b"good"), (CLOSE, close(1002))]
        assert own[1].key is not None
    assert [r["reason"] for r in receipts(done)] == ["malformed_request"] * len(WRONG)


def test_a_malformed_frame_of_the_origin_closes_both_sides(bench, pki):
    wrong = [frame(TEXT, "masked", True, b"abcd"), b"\xf1\0", frame(CONT, "x"),
             b"\x82\x7f\xff" + b"\0" * 7]
    seen = []

    def script(conn):
        number = int(switch(conn).target.strip("/"))
        conn.send(frame(TEXT, "good") + wrong[number])
        seen.append(read_frame(conn))
    raw_origin(bench, pki, script)
    done = inside(bench, f"""
for number in range({len(wrong)}):
    wire = opened(path=f"/{{number}}")
    show(got=[plain(read_frame(wire)) for _ in range(2)], closed=wire.closed(4), ended=wire.ended)
""")
    end = [True, CLOSE, close(1002, "upstream_broken").decode("latin-1")]
    assert done.lines == [{"got": [[True, TEXT, "good"], end], "closed": True,
                           "ended": "eof"}] * len(wrong), done
    assert [(f.opcode, f.payload) for f in seen] == [(CLOSE, close(1002))] * len(wrong)
    assert [r["reason"] for r in receipts(done)] == ["upstream_broken"] * len(wrong)
