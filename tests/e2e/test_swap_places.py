"""Swaps in query, path, JSON and form fields, bodies and WebSocket messages: what the origin parses is the value, what
the sandbox sees is its placeholder, and what stands anywhere else never leaves."""

import json
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from support.bench import BEARER, SECRET
from support.h2bench import inside as h2_inside
from support.h2bench import origin_of
from support.inside.wswire import CLOSE, close, frame, read_frame
from support.websocket import inside as ws_inside
from support.websocket import receipt, switch
from support.raw import raw_origin

ODD = "a\"b\\c+d&e=f#g/h %i<x>.REAL;~"        # what no parser may take for a part of what is around it
SHORT = "hunter2-of-me"                        # its placeholder is longer
VALUES = [SECRET, ODD, SHORT]


def grants(*at, **more):
    return [{"secret": "tok", "hosts": ["api.test"], "at": list(at), **more}]


def granted(bench, *at, value=SECRET, **more):
    bench.real = value
    bench.config(grants=grants(*at, **more))


def uses(done):
    return [(u["name"], u["place"]) for r in done.records if r.get("decision") == "allow"
            for u in r["uses"]]


def swapped(done):
    return [(s["name"], s["place"], s["count"]) for r in done.records if r["type"] == "receipt"
            for s in r["swapped"]]


def curl(rest, version="1.1"):
    return f"curl -sS --http{version} -w '\\n%{{http_code}} %{{header_json}}\\n' {rest}"


ANY = pytest.mark.parametrize("value", VALUES, ids=["same", "odd", "short"])
OVER = pytest.mark.parametrize("version", ["1.1", "2"])


# -- query and path ----------------------------------------------------------------------------------
@ANY
@OVER
def test_br052_br055_query_and_path(bench, echo, value, version):
    granted(bench, "query:key", value=value)
    done = bench.run(curl('"https://api.test/headers?b=%7e+&key=$API_TOKEN&&x=%2f"', version))
    target = echo.requests[0].target
    assert dict(parse_qsl(target.partition("?")[2]))["key"] == value
    assert target.startswith("/headers?b=%7e+&key=") and target.endswith("&&x=%2f")
    assert uses(done) == [("tok", "query:key")]
    shown = [r["path"] for r in done.records if r["type"] == "intent"]
    assert shown == ["/headers?b=…&key=[secret:tok]&&x=…"], shown


@ANY
def test_a_path_segment(bench, echo, value):
    granted(bench, "path", value=value)
    done = bench.run(curl('"https://api.test/headers/bot$API_TOKEN/getMe?a=b"'))
    parts = echo.requests[0].target.partition("?")[0].split("/")
    assert len(parts) == 4 and unquote(parts[2]) == "bot" + value
    assert [r["path"] for r in done.records if r["type"] == "intent"] == \
        ["/headers/bot[secret:tok]/getMe?a=…"]


def test_query_and_path_to_an_h2_origin_are_never_indexed(bench, pki):
    origin = origin_of(bench, pki)
    granted(bench, "query:key", value=ODD)
    done = bench.run(curl('"https://api.test/v1?key=$API_TOKEN"', "2"))
    stream = origin.streams[0]
    assert dict(parse_qsl(urlsplit(stream.path).query)) == {"key": ODD}, done
    assert ":path" in stream.never_indexed, stream.never_indexed


@pytest.mark.parametrize("where", ["?other=$API_TOKEN", "?key=$API_TOKEN&key=$API_TOKEN",
                                   "$API_TOKEN?key=1", "?$API_TOKEN=key", "?key=mine"])
def test_br052_elsewhere_in_the_target_never_leaves(bench, echo, where):
    granted(bench, "query:key")
    done = bench.run(curl(f'"https://api.test/headers/{where}"'))
    reason = "foreign_credential" if where == "?key=mine" else "placeholder_wrong_place"
    assert f'"{reason}"' in done.text.replace("[", "").replace("]", ""), done
    assert not echo.requests


# -- bodies ------------------------------------------------------------------------------------------
JSON_BODY = """
body = json.dumps({"a": [1, "\\u00fc"], "auth": {"token": TOKEN, "n": None}}).encode()
"""


@ANY
@OVER
def test_br055_json_and_form_fields_by_curl(bench, echo, value, version):
    granted(bench, "body:json:/auth/token", "body:form:api key", value=value)
    done = bench.run(
        curl("""https://api.test/digest -H 'Content-Type: application/json' \
-d '{"a":"x","auth":{"token":"'$API_TOKEN'","n":[null]}}'""", version) + ";" +
        curl("""https://api.test/digest --data-urlencode "a=b&c" --data-urlencode \
"api key=$API_TOKEN" -d z=%41""", version))
    first, second = echo.requests
    assert json.loads(first.body) == {"a": "x", "auth": {"token": value, "n": [None]}}, done
    assert dict(parse_qsl(second.body.decode())) == {"a": "b&c", "api key": value, "z": "A"}
    for request in (first, second):
        assert int(request.get("content-length")) == len(request.body)
        assert request.get("transfer-encoding") is None
    assert uses(done) == [("tok", "body:json:/auth/token"), ("tok", "body:form:api key")]
    assert swapped(done) == [("tok", "body:json:/auth/token", 1), ("tok", "body:form:api key", 1)]


@ANY
def test_br057_every_cut_of_a_body_in_writes_chunks_and_frames(bench, pki, echo, value):
    """For each k two writes, two chunks, two DATA frames; then a byte at a time."""
    granted(bench, "body:json:/auth/token", value=value)
    done = h2_inside(bench, "from wire import *\n" + JSON_BODY + """
start = body.index(TOKEN.encode())
cuts = range(start - 1, start + len(TOKEN) + 2)
JSON = "Content-Type: application/json\\r\\n"
def chunk(data): return b"%x\\r\\n%s\\r\\n" % (len(data), data)
wire = Wire()
for k in cuts:
    for how in ("length", "chunked"):
        coding = "Transfer-Encoding: chunked" if how == "chunked" else f"Content-Length: {len(body)}"
        head = f"POST /digest HTTP/1.1\\r\\nHost: api.test\\r\\n{JSON}{coding}\\r\\n\\r\\n".encode()
        one, two = body[:k], body[k:]
        if how == "chunked": one, two = chunk(one), chunk(two) + b"0\\r\\n\\r\\n"
        wire.send(head + one); time.sleep(0.002); wire.send(two)
        show(how=how, k=k, status=wire.reply("POST").status)
wire.send((f"POST /digest HTTP/1.1\\r\\nHost: api.test\\r\\n{JSON}Transfer-Encoding: chunked\\r\\n\\r\\n")
          .encode() + b"".join(chunk(body[i:i+1]) for i in range(len(body))) + b"0\\r\\n\\r\\n")
show(how="bytes", k=0, status=wire.reply("POST").status)
h2 = H2Wire()
for k in cuts:
    n = h2.request("/digest", [("content-type", "application/json")], "POST", end=False)
    h2.frame(n, body[:k]); h2.frame(n, body[k:], end=True)
    show(how="h2", k=k, status=h2.finish(n)["status"])
""", timeout=60)
    assert done.lines and all(r["status"] == 200 for r in done.lines), done
    assert len(done.lines) == len(echo.requests)
    expected = {"a": [1, "ü"], "auth": {"token": value, "n": None}}
    for got, request in zip(done.lines, echo.requests):
        assert json.loads(request.body) == expected, (got, request.body)


@pytest.mark.parametrize("value", VALUES, ids=["same", "odd", "short"])
@OVER
def test_a_large_body_is_streamed_and_framed_anew(bench, echo, value, version):
    """Above 64 KiB: its length stays where it cannot change, else it is chunked."""
    granted(bench, "body:json:/token", value=value)
    bench.write("make.py", "import os\n"
                "print('{\"pad\":\"' + 'x' * 300000 + '\",\"token\":\"' + os.environ['API_TOKEN'] + '\"}')")
    done = bench.run("/usr/bin/python3 make.py > /tmp/body; " +
                     curl("https://api.test/digest -H 'Content-Type: application/json' "
                          "-H 'Expect:' -H 'Content-MD5: x' --data-binary @/tmp/body", version))
    request = echo.requests[0]
    assert json.loads(request.body) == {"pad": "x" * 300000, "token": value}, done
    assert request.get("content-md5") is None
    assert (request.get("transfer-encoding") == "chunked") == (value is not SECRET)
    assert swapped(done) == [("tok", "body:json:/token", 1)]


@pytest.mark.parametrize("size", [10, 200000])
def test_expect_100_continue_still_works(bench, echo, size):
    granted(bench, "body:json:/token", value=SHORT)
    done = bench.python(f"""
body = json.dumps({{"pad": "x" * {size}, "token": TOKEN}}).encode()
wire = Wire()
wire.send(f"POST /digest HTTP/1.1\\r\\nHost: api.test\\r\\nContent-Type: application/json\\r\\n"
          f"Expect: 100-continue\\r\\nContent-Length: {{len(body)}}\\r\\n\\r\\n")
first = wire.line() + wire.line()
wire.send(body)
show(first=first.decode(), status=wire.reply("POST").status)
""")
    assert done.lines == [{"first": "HTTP/1.1 100 Continue", "status": 200}], done
    assert json.loads(echo.requests[0].body)["token"] == SHORT


def test_a_chunked_upload_by_curl(bench, echo):
    granted(bench, "body", value=ODD)
    done = bench.run("""printf 'key: %s!' "$API_TOKEN" | """ + curl(
        "https://api.test/digest -H 'Content-Type: text/plain' -T - -X POST"))
    assert echo.requests[0].body == f"key: {ODD}!".encode(), done
    assert echo.requests[0].get("transfer-encoding") == "chunked"


def test_a_multipart_upload_by_curl(bench, echo):
    granted(bench, "body", value=SHORT)
    done = bench.run(curl("https://api.test/digest -F note=hi -F key=$API_TOKEN"))
    request = echo.requests[0]
    assert f'name="key"\r\n\r\n{SHORT}\r\n'.encode() in request.body, done
    assert int(request.get("content-length")) == len(request.body)


WRONG = [("application/json", '{{"auth":{{"other":"{t}"}}}}'), ("application/json", '{{"token":"{t}"}}'),
         ("application/json", '{{"auth":{{"token":"{t}","x":"{t}"}}}}'),
         ("application/json", '{{"auth":{{"token":["{t}"]}}}}'),
         ("application/json", '{{"auth":{{"token2":"{u}"}}}}'),
         ("text/plain", '{{"auth":{{"token":"{t}"}}}}'),
         ("application/x-www-form-urlencoded", "token={t}")]


@pytest.mark.parametrize("kind, body", WRONG)
@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_br054_br062_anywhere_else_in_a_body_never_leaves(bench, echo, kind, body, framing):
    granted(bench, "body:json:/auth/token")
    done = bench.python(f"""
spelt = "".join("\\\\u%04x" % ord(c) for c in TOKEN)
body = '''{body}'''.format(t=TOKEN, u=spelt).encode()
if "{framing}" == "chunked":
    sent = b"%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (len(body), body)
    coding = "Transfer-Encoding: chunked"
else:
    sent, coding = body, f"Content-Length: {{len(body)}}"
wire = Wire()
wire.send(f"POST /digest HTTP/1.1\\r\\nHost: api.test\\r\\nContent-Type: {kind}\\r\\n{{coding}}\\r\\n\\r\\n"
          .encode() + sent)
reply = wire.reply("POST")
show(status=reply.status, reason=reply.get("warder-reason"), mine=TOKEN, spelt=spelt)
""")
    got = done.lines[0]
    assert (got["status"], got["reason"]) == (403, "placeholder_wrong_place"), done
    for form in (SECRET, got["mine"], got["spelt"]):
        assert form.encode() not in echo.received
    # What was read whole before its head left never began; of the rest the origin never saw an end.
    if framing == "length" and kind == "application/json":
        assert not echo.requests
    assert not any(request.body for request in echo.requests)


def test_br054_an_unbound_host_gets_nothing(bench, echo):
    granted(bench, "body", "query:key")
    done = bench.run(curl("https://other.test/digest -d key=$API_TOKEN"))
    assert "placeholder_wrong_host" in done.text, done
    assert b"key=" not in echo.received


@pytest.mark.parametrize("coding", ["gzip", "zstd", "br", "deflate"])
def test_br043_a_coded_body_to_a_granted_place_is_415(bench, echo, coding):
    granted(bench, "body:json:/token")
    done = bench.run(curl(f"https://api.test/digest -H 'Content-Type: application/json' "
                          f"-H 'Content-Encoding: {coding}' -d xyz"))
    assert "415" in done.text and "body_unswappable" in done.text, done
    assert not echo.requests
    denied = [r for r in done.records if r.get("decision") == "deny"]
    assert [r["reason"] for r in denied] == ["body_unswappable"] and denied[0]["uses"] == [], denied


def test_br062_an_error_that_quotes_the_body_is_masked(bench, echo):
    granted(bench, "body:json:/token", value=ODD)
    done = bench.run(curl("https://api.test/echo -H 'Content-Type: application/json' "
                          "-d '{\"token\":\"'$API_TOKEN'\"}'") + "; echo; echo mine $API_TOKEN")
    assert json.loads(echo.requests[0].body) == {"token": ODD}
    assert json.loads(done.text.splitlines()[0])["token"] == done.text.split("mine ")[1].strip()


@pytest.mark.parametrize("foreign", ["refuse", "strip", "pass"])
def test_a_credential_of_the_sandbox_s_own(bench, echo, foreign):
    """In a field, a query pair, a JSON field and a trailer."""
    granted(bench, "header:x-key", "query:key", "body:json:/token", foreign=foreign)
    done = bench.python("""
JSON = "Content-Type: application/json\\r\\n"
def say(name, reply): show(name=name, status=reply.status, reason=reply.get("warder-reason"))
say("header", fetch("/digest?1", headers="X-Key: mine\\r\\n"))
say("query", fetch("/digest?a=1&key=mine&b=2"))
say("body", fetch("/digest?3", method="POST", headers=JSON, body=b'{"a":1,"token":"mine"}'))
wire = Wire()
wire.send("POST /digest?4 HTTP/1.1\\r\\nHost: api.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
          "1\\r\\nx\\r\\n0\\r\\nX-Key: mine\\r\\nX-Sum: 1\\r\\n\\r\\n")
say("trailer", wire.reply("POST"))
""")
    if foreign == "refuse":
        assert [(r["status"], r["reason"]) for r in done.lines] == [(403, "foreign_credential")] * 4, done
        assert not any(request.body for request in echo.requests) and b"mine" not in echo.received
        return
    assert [r["status"] for r in done.lines] == [200] * 4, done
    header, query, body, trailer = echo.requests
    kept = foreign == "pass"
    assert (header.get("x-key") == "mine") == kept
    assert query.target == ("/digest?a=1&key=mine&b=2" if kept else "/digest?a=1&b=2")
    assert json.loads(body.body) == {"a": 1, "token": "mine" if kept else ""}
    assert dict(trailer.trailers) == ({"X-Key": "mine", "X-Sum": "1"} if kept else {"X-Sum": "1"})
    word = "foreign:passed" if kept else "foreign:stripped"
    assert [u for u in uses(done) if u[0] != "tok"] == [(word, "header:x-key"), (word, "query:key")]
    assert [s for s in swapped(done)] == [(word, "body:json:/token", 1), (word, "trailer:x-key", 1)]


REFLECTED = ["Cookie", "User-Agent", "Origin", "Referer", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Request-Id",
             "Traceparent", "Access-Control-Request-Headers"]


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_br062_nothing_goes_where_servers_reflect(bench, pki, version):
    """Not in such a field, which no grant can name, and with no OPTIONS or TRACE; each is a tripwire of its own."""
    origin = origin_of(bench, pki)
    rules = [{"name": "all", "hosts": ["api.test"], "methods": ["GET", "OPTIONS"], "action": "allow"}]
    for name in REFLECTED:
        bench.config(rules=rules, grants=[{"secret": "tok", "hosts": ["api.test"], "at": [f"header:{name}"]}])
        done = bench.run("true")
        assert done.code == 2 and name.lower() in done.error.lower(), (name, done)
    bench.config(rules=rules, grants=[{"secret": "tok", "hosts": ["api.test"], "at": ["header:authorization", "query:key"]}])
    ask = f"curl -sS --http{version} -o /dev/null -w '%{{http_code}} %header{{warder-reason}}\n'"
    tries = [f'-H "{name}: a=$API_TOKEN"' for name in REFLECTED] + [
        f"-X OPTIONS {BEARER}", '-X OPTIONS "https://api.test/?key=$API_TOKEN"', f"-X TRACE {BEARER}"]
    done = bench.run("; ".join(f"{ask} {one} {'' if 'https:' in one else 'https://api.test/'}" for one in tries))
    said = done.text.splitlines()
    assert said[:-1] == ["403 placeholder_wrong_place"] * (len(tries) - 1), list(zip(tries, said))
    assert said[-1].split()[0] in ("403", "405"), said
    assert not origin.streams and not origin.requests, (origin.streams, origin.requests)
    assert bench.run(f"{ask} {BEARER} https://api.test/").text.startswith("200"), "and in its place it goes"


def test_plain_http_only_where_the_grant_says_so(bench, echo):
    granted(bench, "header:authorization")
    ask = curl('http://api.test/headers -H "Authorization: Bearer $API_TOKEN"')
    assert "placeholder_wrong_place" in bench.run(ask).text
    assert not echo.clear.requests
    granted(bench, "header:authorization", plain_http=True)
    done = bench.run(ask)
    assert echo.clear.requests[0].get("authorization") == f"Bearer {SECRET}", done
    assert uses(done)[-1] == ("tok", "header:authorization")


def test_max_says_how_often(bench, echo):
    granted(bench, "query:key", "body:json:/token", max=2)
    done = bench.run(curl("""https://api.test/digest?key=$API_TOKEN -H 'Content-Type: application/json' \
-d '{"token":"'$API_TOKEN'"}'"""))
    assert json.loads(echo.requests[0].body) == {"token": SECRET}, done
    granted(bench, "query:key", "body:json:/token")
    done = bench.run(curl("""https://api.test/digest?key=$API_TOKEN -H 'Content-Type: application/json' \
-d '{"token":"'$API_TOKEN'"}'"""))
    assert "placeholder_wrong_place" in done.text and len(echo.requests) == 1, done


@pytest.mark.parametrize("pair, reason", [("$API_TOKEN:x", "placeholder_wrong_place"),
                                          ("AKIA0123456789ABCDEF:$API_TOKEN", "foreign_credential")])
def test_br061_a_signature_made_with_a_placeholder_is_refused_here(bench, echo, pair, reason):
    granted(bench, "header:authorization")
    done = bench.run(curl(f'https://api.test/bucket/key --aws-sigv4 aws:amz:us-east-1:s3 -u "{pair}"'))
    assert f'"{reason}"' in done.text and not echo.requests, done


# -- gRPC and WebSocket ------------------------------------------------------------------------------
@pytest.mark.parametrize("value, fits", [(SECRET, True), (SHORT, False)])
def test_grpc_messages_where_the_lengths_agree(bench, pki, value, fits):
    origin = origin_of(bench, pki)
    granted(bench, "body", value=value)
    done = h2_inside(bench, """
from wire import show
import struct
inner = b"\\x0a" + bytes([len(TOKEN)]) + TOKEN.encode()
message = b"\\0" + struct.pack("!I", len(inner)) + inner
h2 = H2Wire()
n = h2.request("/pkg.Service/Call", [("content-type", "application/grpc"), ("te", "trailers")], "POST", end=False)
for i in range(len(message)): h2.frame(n, message[i:i+1])
h2.end(n)
got = h2.finish(n)
show(status=got["status"], reason=got["reason"], reset=got["reset"])
""")
    got = done.lines[0]
    if fits:
        inner = b"\x0a" + bytes([len(value)]) + value.encode()
        assert got["status"] == 200, done
        assert origin.streams[0].arrived == b"\0" + len(inner).to_bytes(4, "big") + inner
        assert swapped(done) == [("tok", "body", 1)]
    else:
        assert (got["status"], got["reason"]) == (415, "body_unswappable"), done


@pytest.mark.parametrize("value", [SECRET, SHORT])
def test_websocket_messages(bench, pki, value):
    got = []

    def script(conn):
        switch(conn)
        while True:
            got.append(read_frame(conn))
            if got[-1].opcode == CLOSE:
                conn.send(frame(CLOSE, close(1000)))
                conn.close_cleanly()
                return
            conn.send(frame(1, f"got {got[-1].payload.decode()}"))
    raw_origin(bench, pki, script)
    granted(bench, "ws", value=value)
    done = ws_inside(bench, """
wire = opened()
text = '{"op":2,"token":"' + TOKEN + '"}'
wire.send(mine(TEXT, text)); show(text=read_frame(wire).payload.decode(), mine=TOKEN)
wire.send(mine(BINARY, TOKEN)); show(text=read_frame(wire).payload.decode(), mine=TOKEN)
for k in range(1, len(text)):
    wire.send(mine(TEXT, text[:k], False) + mine(CONT, text[k:]))
    first = read_frame(wire).payload; second = read_frame(wire).payload
wire.send(mine(CLOSE, close(1000))); read_frame(wire)
""")
    assert [r["text"] for r in done.lines] == [
        'got {"op":2,"token":"%s"}' % done.lines[0]["mine"], "got " + done.lines[0]["mine"]], done
    whole = '{"op":2,"token":"%s"}' % value
    text, messages = "", []
    for one in got:
        if one.opcode == CLOSE:
            break
        text += one.payload.decode()
        if one.fin:
            messages.append(text)
            text = ""
    assert messages[0] == whole and messages[1] == value
    assert set(messages[2:]) == {whole}
    assert ("tok", "ws") in uses(done)
    counts = [(s["name"], s["place"], s["count"]) for s in receipt(done)["swapped"]]
    assert counts == [("tok", "ws", len(messages))], receipt(done)


def test_a_websocket_without_the_place_is_a_tripwire(bench, pki):
    got = []

    def script(conn):
        switch(conn)
        got.append(read_frame(conn))
    raw_origin(bench, pki, script)
    granted(bench, "body", "query:key")
    done = ws_inside(bench, """
wire = opened()
wire.send(mine(TEXT, TOKEN))
end = read_frame(wire)
show(code=end.payload[0] * 256 + end.payload[1], why=end.payload[2:].decode())
""")
    assert done.lines == [{"code": 1008, "why": "placeholder_wrong_place"}], done
    assert not got
