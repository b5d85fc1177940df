"""HTTP/2 on both sides, and translated between versions: the promises hold as over HTTP/1.1."""

import base64
import json
import subprocess
import time

import pytest

from support import echo
from support.bench import BEARER, CONTRACT_RULES, SECRET
from support.echo import echo_origin
from support.h2bench import h1_origin_of, inside, origin_of
from support.h2origin import answer
from support.marks import both_users


# -- versions (BR-032) ---------------------------------------------------------------------------
@pytest.mark.parametrize("alpn", [("h2", "http/1.1"), ("http/1.1",), None],
                         ids=["both", "http1", "no alpn"])
def test_br032_every_client_reaches_every_origin(bench, pki, alpn):
    origin = origin_of(bench, pki, alpn=alpn)
    done = bench.run(f"for v in http2 http1.1; do curl -sS -o /dev/null --$v {BEARER} "
                     "-w '%{http_version} %{http_code} ' https://api.test/headers; done")
    both = bool(alpn) and "h2" in alpn      # curl takes either: it gets what the origin speaks
    assert done.code == 0, done
    assert done.text.split() == ["2" if both else "1.1", "200", "1.1", "200"], done
    assert (len(origin.streams), len(origin.requests)) == ((1, 1) if both else (0, 2))
    assert not origin.violations
    only = inside(bench, 'show(status=H2Wire().fetch("/headers", BEARER)["status"])')
    assert only.lines == [{"status": 200}], only      # a client that speaks h2 and nothing else


def test_an_origin_that_only_speaks_h2(bench, pki):
    origin = origin_of(bench, pki, alpn=("h2",))
    done = bench.run("curl -sS -o /dev/null --http2 -w '%{http_version} %{http_code}' "
                     "https://api.test/x")
    assert done.text == "2 200" and len(origin.streams) == 1, done


@pytest.mark.parametrize("alpn", [("h2",), ("http/1.1",)], ids=["h2", "http1"])
def test_authority_is_the_name_that_was_decided_on(bench, pki, alpn):
    origin = origin_of(bench, pki, alpn=alpn)
    done = inside(bench, """
for name in ("api.test", "API.test", "api.test.", "api.test.:443"):
    wire = H2Wire()
    show(status=wire.fetch("/headers", authority=name)["status"])
    wire.close()
""")
    assert [line["status"] for line in done.lines] == [200] * 4, done
    seen = [s.get(":authority") for s in origin.streams] or [r.get("host") for r in origin.requests]
    assert seen == ["api.test", "API.test", "api.test", "api.test"]


NODE_ORIGIN = """
const http2 = require('http2'), fs = require('fs');
const server = http2.createSecureServer({cert: fs.readFileSync('%s'), key: fs.readFileSync('%s'),
                                         allowHTTP1: false});
server.on('stream', (stream, headers) => {
  let size = 0;
  stream.on('data', (piece) => { size += piece.length; });
  stream.on('end', () => {
    if (headers[':path'] === '/trailers') {
      stream.respond({':status': 200}, {waitForTrailers: true});
      stream.on('wantTrailers', () => stream.sendTrailers({'x-sum': 'abc'}));
      stream.end('body');
      return;
    }
    stream.respond({':status': 200, 'content-type': 'application/json'});
    stream.end(JSON.stringify({authority: headers[':authority'], size,
                               method: headers[':method'], token: headers.authorization,
                               hop: headers['x-hop'] || null}));
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"""


def test_a_client_of_http1_reaches_an_origin_that_refuses_all_but_h2(bench, pki):
    """It answers HTTP/1.1 in ALPN with an alert, as RFC 7301 says; the exchange is translated."""
    if int(subprocess.check_output(["node", "--version"]).strip()[1:].split(b".")[0]) < 20:
        pytest.skip("Node before 20 has no such origin")
    script = bench.directory / "origin.js"
    script.write_text(NODE_ORIGIN % (pki.good.cert, pki.good.key))
    node = subprocess.Popen(["node", str(script)], stdout=subprocess.PIPE)
    bench.running.append(node)
    port = int(node.stdout.readline())
    bench.map("api.test:443", f"127.0.0.1:{port}")
    done = bench.run(f"c='curl -sS --http1.1'; for i in 1 2; do $c {BEARER} https://api.test/a; echo; done; "
                     "head -c 300000 /dev/zero | $c -X POST -H 'Transfer-Encoding: chunked' "
                     "-H 'Connection: X-Hop' -H 'X-Hop: 1' --data-binary @- https://api.test/b; echo; "
                     "$c --raw https://api.test/trailers; "
                     "$c -o /dev/null -w '%{http_code}\n' -H 'Connection: Upgrade' "
                     "-H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' "
                     "-H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' https://api.test/ws")
    assert done.code == 0, done
    lines = done.text.splitlines()
    got = [json.loads(line) for line in lines[:3]]
    assert [g["size"] for g in got] == [0, 0, 300000]
    assert [g["authority"] for g in got] == ["api.test"] * 3
    assert got[0]["token"] != f"Bearer {SECRET}" and got[0]["token"].startswith("Bearer ")
    assert got[2]["hop"] is None
    assert "x-sum: abc" in lines, done
    assert lines[-1] == "502", done             # an upgrade has no like in HTTP/2
    receipts = [r for r in done.records if r["type"] == "receipt"]
    assert [r["reason"] for r in receipts] == ["none"] * 4 + ["upstream_tls_failed"]


# -- swap ----------------------------------------------------------------------------------------
@both_users
def test_the_value_is_swapped_and_never_indexed(bench, pki):
    """The client lets its fields be indexed; the value must not stay in the origin's table."""
    grants = [{"secret": "tok", "hosts": ["api.test"],
               "at": ["header:authorization", "header:x-api-key", "basic"]}]
    origin = origin_of(bench, pki)
    bench.config(grants=grants)
    done = inside(bench, """
import base64
basic = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
wire = H2Wire()
for _ in range(2):
    for name, value in (("x-api-key", TOKEN), ("authorization", f"Bearer {TOKEN}"),
                        ("authorization", f"Basic {basic}")):
        got = wire.fetch("/a", [("x-plain", "indexed-1"), (name, value)])
        show(status=got["status"], leak=TOKEN in got["body"])
""")
    assert [r["status"] for r in done.lines] == [200] * 6, done
    assert len(origin.h2_connections) == 1 and len(origin.streams) == 6
    basic = base64.b64encode(f"x-access-token:{SECRET}".encode()).decode()
    sent = [("x-api-key", SECRET), ("authorization", f"Bearer {SECRET}"),
            ("authorization", f"Basic {basic}")]
    for at, (name, value) in enumerate(sent * 2):
        stream = origin.streams[at]
        assert stream.all(name) == [value] and name in stream.never_indexed, stream.headers
        assert "x-plain" not in stream.never_indexed
    table = b"\n".join(origin.h2_connections[0].table)
    assert b"indexed-1" in table and SECRET.encode() not in table and basic.encode() not in table


def test_fields_keep_their_order_and_repetition(bench, pki):
    """And `-bin` metadata its bytes, which base64 without padding carries."""
    sent = [("x-a", "1"), ("x-b", "2"), ("x-a", "3"), ("blob-bin", "AAECAw"), ("blob-bin", "/+8"),
            ("x-empty", ""), ("x-a", "1"), ("x-comma", "a, b,,c"), ("x-tab", "a\tb"),
            ("x-latin", "caf\u00e9".encode("latin-1").decode("latin-1"))]
    back = [("y-1", "a"), ("set-cookie", "a=1; Path=/"), ("y-2", "b"), ("set-cookie", "b=2"),
            ("blob-bin", "AAECAw"), ("y-1", "c")]

    def script(stream):
        stream.read_all()
        stream.head(200, back)
        stream.send(b"x")
        stream.finish([("t-bin", "AQ"), ("t-a", "1"), ("t-bin", "Ag")])
    origin = origin_of(bench, pki, script)
    done = inside(bench, f"sent = {sent[:-1]!r}\n" + """
show(**H2Wire().fetch("/a", [*sent, (b"x-latin", b"caf\\xe9")]))
""")
    stream, = origin.streams
    assert [(n, v) for n, v in stream.plain if n != "accept-encoding"] == sent, stream.headers
    got = done.lines[0]
    assert [tuple(h) for h in got["headers"]] == back, done
    assert got["trailers"] == [["t-bin", "AQ"], ["t-a", "1"], ["t-bin", "Ag"]] and got["clean"]


def test_br026_split_cookies_become_one_field(bench, pki):
    origin = echo_origin(pki.good)
    bench.map("api.test:443", origin)
    two = origin_of(bench, pki, host="other.test")
    done = inside(bench, """
cookies = [("cookie", "a=1"), ("x-mid", "m"), ("cookie", "s=x, y"), ("cookie", "z=3")]
show(**H2Wire().fetch("/headers", cookies))
show(**H2Wire("other.test").fetch("/headers", cookies))
""")
    assert [r["status"] for r in done.lines] == [200, 200], done
    assert origin.requests[0].all("cookie") == ["a=1; s=x, y; z=3"], origin.requests[0].headers
    assert origin.received.lower().count(b"cookie:") == 1
    assert "; ".join(two.streams[0].all("cookie")) == "a=1; s=x, y; z=3"


# -- mask ----------------------------------------------------------------------------------------
def mirror(stream):
    """The credential comes back everywhere."""
    stream.read_all()
    value = (stream.get("authorization") or " ").split(" ")[1]
    stream.head(103, [("x-hint", value)])
    stream.head(200, [("x-token", value), ("location", f"https://other.test/?t={value}"),
                      ("set-cookie", f"sid={value}; Secure")])
    stream.send(f"body {value} and {base64.b64encode(value.encode()).decode()}.".encode())
    stream.finish([("x-sum", "42"), ("x-last", value)])


@both_users
def test_mask_in_every_place(bench, pki):
    origin = origin_of(bench, pki, mirror)
    done = inside(bench, 'show(**H2Wire().fetch("/a", BEARER), mine=TOKEN)')
    got = done.lines[0]
    ph = got["mine"]
    assert origin.streams[0].get("authorization") == f"Bearer {SECRET}"
    assert ["x-hint", ph] in got["interim"][0], done
    assert got["headers"] == [["x-token", ph], ["location", f"https://other.test/?t={ph}"],
                              ["set-cookie", f"sid={ph}; Secure"]], done
    assert got["body"] == f"body {ph} and {base64.b64encode(ph.encode()).decode()}.", done
    assert got["trailers"] == [["x-sum", "42"], ["x-last", ph]] and got["clean"], done


def test_br066_value_cut_at_every_byte_over_data_frames(bench, pki):
    """Over h2 and over chunks of HTTP/1.1, all streams at once on one connection."""
    def script(stream):
        text, k = f"before {SECRET} after".encode(), int(stream.path.split("/")[-1])
        stream.head(200)
        stream.frame(text[:7 + k])
        stream.frame(text[7 + k:], end=True)
    origin_of(bench, pki, script)
    bench.map("other.test:443", echo_origin(pki.good))
    bench.config(grants=[{"secret": "tok", "hosts": ["api.test", "other.test"]}])
    done = inside(bench, """
wanted = f"before {TOKEN} after"
for host in ("api.test", "other.test"):
    wire = H2Wire(host)
    numbers = {wire.request(f"/split/chunked/{k}", BEARER): k for k in range(len(TOKEN) + 1)}
    got = wire.finish()
    show(count=len(got), bad=[(k, g) for k, g in zip(numbers.values(), got)
                              if g["body"] != wanted or not g["clean"]])
""")
    assert done.lines == [{"count": len(SECRET) + 1, "bad": []}] * 2, done


def test_a_value_in_one_byte_frames_and_padding(bench, pki):
    def script(stream):
        stream.head(200)
        for byte in SECRET.encode():
            stream._do(lambda: stream.conn.h2.send_data(stream.id, bytes([byte]), pad_length=7))
        stream.finish()
    origin_of(bench, pki, script)
    done = inside(bench, 'show(**H2Wire().fetch("/a", BEARER), mine=TOKEN)')
    assert done.lines[0]["body"] == done.lines[0]["mine"] and done.lines[0]["clean"], done


@pytest.mark.parametrize("late", [False, True])
def test_a_body_that_is_not_in_its_coding_is_refused_over_h2(bench, pki, late):
    def script(stream):
        stream.head(200, [("content-encoding", "gzip")])
        time.sleep(0.3 if late else 0)
        stream.send(b"\x1f\x8b\x08 not really")
        stream.finish()
    origin_of(bench, pki, script)
    done = inside(bench, 'show(**H2Wire().fetch("/a", BEARER))')
    got = done.lines[0]
    refused = (got["status"], got["reason"], got["clean"]) == (502, "response_unmaskable", True)
    # Its head may have left before its first byte came: then it breaks off.
    broken = got["status"] == 200 and got["body"] == "" and got["reset"] is not None and not got["clean"]
    assert refused or broken, done
    reasons = [r["reason"] for r in done.records if r["type"] == "receipt"]
    assert reasons == ["response_unmaskable"], done.records


# -- refusals ------------------------------------------------------------------------------------
@both_users
def test_refusals_leave_the_connection_usable(bench, pki):
    rules = [{**CONTRACT_RULES[0], "paths": ["/a/**", "/ok"]}, CONTRACT_RULES[1]]
    origin = origin_of(bench, pki)
    other = origin_of(bench, pki, host="other.test")
    bench.config(rules=rules)
    done = inside(bench, """
wire = H2Wire()
for path, headers, more in (
        ("/secret", [], {}), ("/a/b", [("x-other", TOKEN)], {}), (f"/a/{TOKEN}", [], {}),
        (f"/a/?q={TOKEN}", [], {}), ("/a", [("authorization", "Bearer my-own")], {}),
        ("/a", [], {"authority": "other.test"}), ("/a", [], {"authority": "evil.test"}),
        ("/a", [], {"method": "DELETE"}), ("/a/../secret", [], {}),
        ("/a", [("cookie", TOKEN)], {})):
    got = wire.fetch(path, headers, **more)
    show(status=got["status"], reason=got["reason"], clean=got["clean"])
    show(status=wire.fetch("/ok", BEARER)["status"])
other = H2Wire("other.test")
got = other.fetch("/", BEARER)
show(status=got["status"], reason=got["reason"], clean=got["clean"])
show(status=other.fetch("/")["status"], goaway=wire.goaway, closed=wire.closed)
""")
    refused = [(r["status"], r["reason"]) for r in done.lines[::2]]
    assert refused == [
        (403, "path_not_allowed"), (403, "placeholder_wrong_place"),
        (403, "placeholder_wrong_place"), (403, "placeholder_wrong_place"),
        (403, "foreign_credential"), (421, "authority_mismatch"), (421, "authority_mismatch"),
        (403, "method_not_allowed"), (400, "malformed_request"), (403, "placeholder_wrong_place"),
        (403, "placeholder_wrong_host")], done
    assert all(r["clean"] for r in done.lines[::2]), done
    assert all(r["status"] == 200 for r in done.lines[1::2]), done
    assert done.lines[-1] == {"status": 200, "goaway": None, "closed": False}, done
    assert [s.path for s in origin.streams] == ["/ok"] * 10 and len(other.streams) == 1


def test_a_refused_name_is_told_over_h2(bench, pki):
    evil = origin_of(bench, pki, host="evil.test")
    done = inside(bench, """
wire = H2Wire("evil.test", address="93.184.216.34")
for body in (None, b"x" * 100000):
    got = wire.fetch("/", body=body, method="POST" if body else "GET")
    show(status=got["status"], reason=got["reason"], body=got["body"])
""")
    assert [(r["status"], r["reason"]) for r in done.lines] == [(403, "host_not_allowed")] * 2, done
    assert evil.accepted == 0


def test_a_placeholder_in_a_body_cut_over_frames_trips(bench, pki):
    """Cut after k bytes, the rest in its own frame: the whole never arrives, nor a clean end."""
    origin = origin_of(bench, pki)
    done = inside(bench, """
wire = H2Wire()
for k in range(1, len(TOKEN)):
    number = wire.request(f"/a/{k}", BEARER, method="POST", end=False)
    wire.frame(number, b"x" * 40 + TOKEN[:k].encode())
    if k % 5 == 0:
        time.sleep(0.02)
    wire.frame(number, TOKEN[k:].encode() + b"y", end=True)
    got = wire.finish(number)
    show(status=got["status"], reason=got["reason"], reset=got["reset"])
show(status=wire.fetch("/ok")["status"], mine=TOKEN)
""")
    *tripped, last = done.lines
    assert last["status"] == 200 and len(tripped) == len(SECRET) - 1, done
    assert {(r["status"], r["reason"]) for r in tripped} == {(403, "placeholder_wrong_place")}, done
    posted = [s for s in origin.streams if s.path != "/ok"]
    assert last["mine"].encode() not in origin.bytes_seen
    assert all(s.wait_gone() is not None and not s.ended for s in posted), posted


def test_a_placeholder_after_the_answer_began_resets(bench, pki):
    def script(stream):
        stream.head(200)
        stream.send(b"begun\n")
        stream.read_all()
        stream.send(b"never", end=True)
    origin = origin_of(bench, pki, script)
    done = inside(bench, """
wire = H2Wire()
number = wire.request("/a", method="POST", end=False)
wire.frame(number, b"first")
wire.until(lambda: wire.streams[number].body)
wire.frame(number, TOKEN[:9].encode())
wire.frame(number, TOKEN[9:].encode(), end=True)
show(**wire.finish(number), mine=TOKEN)
""")
    got = done.lines[0]
    assert got["body"] == "begun\n" and got["reset"] is not None and not got["clean"], done
    assert origin.streams[0].wait_gone() is not None and not origin.streams[0].ended
    assert got["mine"].encode() not in origin.bytes_seen


@pytest.mark.parametrize("kind", ["h2", "http1"])
def test_a_placeholder_in_a_request_trailer_trips(bench, pki, kind):
    origin = origin_of(bench, pki) if kind == "h2" else echo_origin(pki.good)
    bench.map("api.test:443", origin)
    done = inside(bench, """
wire = H2Wire()
got = wire.fetch("/headers", BEARER, method="POST", body=b"abc", trailers=[("x-end", TOKEN)])
show(**got, mine=TOKEN)
""")
    got = done.lines[0]
    assert (got["status"], got["reason"]) == (403, "placeholder_wrong_place"), done
    assert got["mine"].encode() not in origin.received
    if kind == "h2":
        assert origin.streams[0].wait_gone() is not None and not origin.streams[0].ended
    else:
        assert origin.wait(lambda: origin.connections[0].ended)
        assert not origin.received.endswith(b"0\r\n\r\n"), origin.received[-40:]


# -- messages that have no body, or more than one ------------------------------------------------
@pytest.mark.parametrize("kind", ["h2", "http1"])
def test_head_204_304_and_no_content_length(bench, pki, kind):
    def script(stream):
        if stream.method == "HEAD":
            stream.head(200, [("content-length", "1234")], end=True)
        elif stream.path == "/status/304":
            stream.head(304, [("etag", '"x"'), ("content-length", "10")], end=True)
        elif stream.path == "/status/204":
            stream.head(204, end=True)
        elif stream.path == "/empty":
            stream.head(200)
            stream.finish()
        else:
            stream.reply(b"no length here", length=False)

    def old(conn):
        while True:
            request = conn.read_request()
            if request.target == "/status/x":
                conn.send(b"HTTP/1.1 200 OK\r\n\r\nno length here")
                conn.close_cleanly()
                return
            if request.method == "HEAD":
                conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n")
            elif request.target == "/empty":
                conn.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
            else:
                echo.status(conn, request)
    origin_of(bench, pki, script) if kind == "h2" else h1_origin_of(bench, pki, old)
    done = inside(bench, """
wire = H2Wire()
show(**wire.fetch("/head", method="HEAD"))
for path in ("/status/204", "/status/304", "/empty", "/status/x"):
    show(**wire.fetch(path))
""")
    head, s204, s304, empty, unsized = done.lines
    assert all(r["clean"] for r in done.lines), done
    assert ["content-length", "1234"] in head["headers"] and head["body"] == "", done
    assert (s204["status"], s204["body"]) == (204, ""), done
    assert s304["status"] == 304 and ["etag", '"x"'] in s304["headers"] and s304["body"] == "", done
    assert (empty["status"], empty["body"]) == (200, ""), done
    assert (unsized["status"], unsized["body"]) == (200, "no length here"), done


def test_translation_to_http1_and_back(bench, pki):
    """Trailers, 1xx, unsized and sized bodies, HTTP/1.1's own fields: each in the other's form."""
    origin = echo_origin(pki.good)
    bench.map("api.test:443", origin)
    done = inside(bench, """
wire = H2Wire()
show(**wire.fetch("/hints"))
show(**wire.fetch("/trailers", BEARER), mine=TOKEN)
show(**wire.fetch("/headers", [("te", "trailers"), ("x-a", "1")], method="POST", body=b"abc",
                  trailers=[("x-t", "end")]))
show(**wire.fetch("/headers", [("content-length", "5")], method="PUT", body=b"12345"))
show(**wire.fetch("/close-whoami", BEARER), mine=TOKEN)
""")
    hints, trailers, chunked, sized, closed = done.lines
    assert [":status", "103"] in hints["interim"][0] and hints["body"] == "hinted", done
    assert ["link", "</style.css>; rel=preload"] in hints["interim"][0]
    assert trailers["body"] == "before the trailers", done
    assert trailers["trailers"] == [["x-sum", "42"], ["x-token", trailers["mine"]]], done
    assert all(r["clean"] and r["status"] == 200 for r in done.lines), done
    names = {n for r in done.lines for n, _ in r["headers"]}
    assert not names & {"transfer-encoding", "connection", "keep-alive", "trailer"} - {"trailer"}
    assert closed["body"] == f"you are {closed['mine']} still", done
    posted, put = [r for r in origin.requests if r.target == "/headers"]
    assert posted.body == b"abc" and posted.all("transfer-encoding") == ["chunked"], posted.headers
    assert [(n.lower(), v) for n, v in posted.trailers] == [("x-t", "end")], posted.trailers
    assert put.body == b"12345" and put.all("content-length") == ["5"]
    assert put.get("transfer-encoding") is None
    assert all(r.all("host") == ["api.test"] and r.version == "HTTP/1.1" for r in origin.requests)


# -- what is recorded ----------------------------------------------------------------------------
def test_each_stream_has_one_intent_and_one_receipt(bench, pki):
    def script(stream):
        if stream.path == "/cut":
            stream.head(200)
            stream.send(b"some")
            stream.reset(2)
        elif stream.path == "/refused":
            stream.reset(7)
        else:
            answer(stream)
    origin_of(bench, pki, script)
    done = inside(bench, """
wire = H2Wire()
for path in ("/x/1", "/x/2", "/cut", "/refused"):
    wire.request(path, BEARER)
wire.request("/x/3", method="DELETE")
wire.finish()
""")
    intents = [r for r in done.records if r.get("decision")]
    assert len(intents) == 5 and all(r["protocol"] == "h2" for r in intents), done.records
    allowed = {r["exchange"]: r for r in intents if r["decision"] == "allow"}
    receipts = [r for r in done.records if "status" in r]
    assert sorted(r["path"] for r in allowed.values()) == ["/cut", "/refused", "/x/1", "/x/2"]
    assert sorted(r["exchange"] for r in receipts) == sorted(allowed), (receipts, allowed)
    outcome = {allowed[r["exchange"]]["path"]: (r["status"], r.get("reason")) for r in receipts}
    assert outcome["/x/1"][0] == outcome["/x/2"][0] == 200, outcome
    assert outcome["/cut"] == (200, "upstream_broken"), outcome
    assert outcome["/refused"] == (502, "upstream_broken"), outcome
