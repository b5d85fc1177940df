"""What comes back: the value becomes the placeholder, in every framing; nothing else changes."""

import base64
import hashlib
import json

import pytest

from support.bench import BEARER, CONTRACT_SECRETS, MINE, SECRET, mine
from support.echo import echo_origin, pattern
from support.marks import both_users
from support.origin import Origin


def curl(path, *more):
    return f"curl -sS -i {BEARER} {' '.join(more)} https://api.test{path}; {MINE}"


def test_body_header_location_cookie_and_error_page(bench, echo):
    paths = ["body", "header", "location", "cookie", "error"]
    done = bench.run(f"for p in {' '.join(paths)}; do "
                     f"curl -sS -i {BEARER} https://api.test/reflect/$p; echo; done; {MINE}")
    ph = mine(done)
    assert f"body {ph} and again {ph}." in done.text, done
    assert f"X-Token: {ph}" in done.text and f"X-All: Bearer {ph}" in done.text, done
    assert f"Location: https://other.test/next?token={ph}" in done.text, done
    assert f"Set-Cookie: sid={ph}; Path=/; Secure" in done.text, done
    assert f"<h1>no: {ph}</h1>" in done.text, done
    assert SECRET in {r.get("authorization").split()[1] for r in echo.requests}


def test_status_line(bench, echo):
    done = bench.run(curl("/reflect/phrase"))
    assert done.text.startswith("HTTP/1.1 400"), done
    assert "see the status line" in done.text, done


@pytest.mark.parametrize("where", ["base64-0", "base64-1", "base64-2", "base64url-0", "base64url-1",
                                   "base64url-2"])
def test_base64_at_every_alignment(bench, echo, where):
    """The bytes around the value keep their meaning when the client decodes what it got."""
    done = bench.run(f"curl -sS {BEARER} https://api.test/reflect/{where}; {MINE}")
    ph = mine(done)
    text = done.text.split("[")[1].split("]")[0]
    decoded = (base64.urlsafe_b64decode if "url" in where else base64.b64decode)(text)
    assert SECRET.encode() not in decoded
    pad = b"x" * int(where[-1])
    assert decoded == pad + ph.encode() + b"yyyyy", (decoded, ph)


@both_users
def test_basic_pair_echoed_by_the_origin(bench, echo):
    done = bench.run('curl -sS -u "x-access-token:$API_TOKEN" https://api.test/reflect/basic; ' +
                     MINE)
    coded = done.text.split("Basic ")[1].split("\n")[0]
    plain = base64.b64decode(coded).decode()
    assert plain == f"x-access-token:{mine(done)}", done
    sent = base64.b64decode(echo.requests[0].get("authorization").split()[1])
    assert sent.decode() == f"x-access-token:{SECRET}"


@pytest.mark.parametrize("kind", ["sized", "chunked", "close"])
def test_br066_cut_at_every_byte(bench, echo, kind):
    """BR-066: the value cut after k bytes, each part a write of its own, for every k."""
    done = bench.python(f"""
wanted = f"before {{TOKEN}} after"
wire, bad = None, []
for k in range(0, len(TOKEN) + 1):
    wire = wire or Wire()
    wire.send(f"GET /split/{kind}/{{k}} HTTP/1.1\\r\\nHost: api.test\\r\\n{{AUTH}}\\r\\n")
    reply = wire.reply()
    if reply.body.decode() != wanted or not reply.clean:
        bad.append((k, reply.summary()))
    if reply.kind == "close" or "{kind}" == "close":
        wire = None
show(bad=bad)
""")
    assert done.lines == [{"bad": []}], done


def test_br066_one_byte_writes(bench, echo):
    done = bench.python("""
for kind in ("sized", "chunked"):
    reply = fetch("/drip/" + kind, headers=AUTH)
    show(body=reply.body.decode(), wanted=f"<<{TOKEN}>>", clean=reply.clean)
""")
    assert all(r["body"] == r["wanted"] and r["clean"] for r in done.lines), done
    assert len(done.lines) == 2


def test_br066_one_value_ends_with_the_start_of_another(bench, pki):
    """Two secrets that overlap: the first becomes its placeholder, what is left of the second stars."""
    first, second = "abcdefgh-OVERLAP1234", "OVERLAP1234-zyxwvuts"
    secrets = {"one": {"source": {"env": "REAL_TOKEN"}, "placeholder": {"env": "API_TOKEN"}},
               "two": {"source": {"env": "REAL_TWO"}, "placeholder": {"env": "TWO"}}}
    grants = [{"secret": n, "hosts": ["api.test"], "at": [f"header:{h}"]}
              for n, h in (("one", "authorization"), ("two", "x-api-key"))]
    texts = [f"{first}{second}", f"{first[:-11]}{second}", f"{second}{first}",
             f"{first[:-1]}{first}"]

    def script(conn):
        while True:
            conn.read_request()
            body = "|".join(texts).encode()
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            conn.send_pieces([body[i:i + 3] for i in range(0, len(body), 3)])
    origin = Origin(script, pki.good)
    bench.real = first
    bench.map("api.test:443", origin).config(secrets=secrets, grants=grants)
    done = bench.run('curl -sS https://api.test/x -H "Authorization: Bearer $API_TOKEN" '
                     '-H "X-Api-Key: $TWO"; echo; echo "$API_TOKEN $TWO"', env={"REAL_TWO": second})
    assert first not in done.text and second not in done.text, done
    body, tokens = done.text.strip().split("\n")
    one, two = tokens.split()
    parts = body.split("|")
    assert parts[0] == one + two and parts[2] == two + one and parts[3] == first[:-1] + one, done
    assert parts[1] == one + "*" * len(second[11:]), done


def test_trailers_are_masked(bench, echo):
    done = bench.python('show(**fetch("/trailers", headers=AUTH).summary(), mine=TOKEN)')
    reply = done.lines[0]
    assert reply["trailers"] == [["X-Sum", "42"], ["X-Token", reply["mine"]]], done


def test_close_delimited_body_is_masked_and_ends_cleanly(bench, echo):
    done = bench.python('show(**fetch("/close-whoami", headers=AUTH).summary(), mine=TOKEN)')
    reply = done.lines[0]
    assert reply["clean"] and reply["body"] == f"you are {reply['mine']} still", done


@both_users
def test_server_sent_events_leave_at_once(bench, echo):
    """An event without a match is not held back; the one with the value, cut in two, is masked."""
    done = bench.python("""
wire = Wire()
wire.send(f"GET /stream?n=6&gap=0.15 HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
reply = Reply()
wire.head(reply)
late, text = [], b""
while True:
    size = int(wire.line(), 16)
    if not size:
        break
    data = wire.take(size); wire.take(2)
    now = time.monotonic()
    text += data
    for line in data.decode().splitlines():
        if line.startswith("data: ") and line.split()[1].isdigit():
            late.append(now - float(line.split()[2]))
show(late=late, text=text.decode(), mine=TOKEN)
""")
    seen = done.lines[0]
    late = sorted(seen["late"])
    # One hiccup of a busy machine is forgiven; an event that waits for the next one is not.
    assert len(late) == 6 and late[-2] < 0.1 and late[-1] < 0.5, late
    assert f"data: secret {seen['mine']} end\n\n" in seen["text"], done


def test_large_bodies_are_identical_and_lengths_hold(bench, echo):
    """Nothing is masked here: not one byte and not one length changes."""
    done = bench.run(f"for p in sized chunked close; do "
                     f"curl -sS {BEARER} https://api.test/$p/300007 | sha256sum; done; "
                     f"curl -sS -o /dev/null -D - {BEARER} https://api.test/sized/300007")
    digest = hashlib.sha256(pattern(300007)).hexdigest()
    assert done.text.count(digest) == 3, done
    assert "content-length: 300007" in done.text.lower(), done


def test_only_codings_that_can_be_undone_are_asked_of_the_origin(bench, echo):
    done = bench.run(f"curl -sS --compressed {BEARER} https://api.test/ok; "
                     f"curl -sS -H 'Accept-Encoding: dcb, *' {BEARER} https://api.test/ok; "
                     f"curl -sS {BEARER} https://api.test/ok")
    assert done.text == "okokok", done
    first, *rest = [r.all("accept-encoding") for r in echo.requests]
    assert len(first) == 1 and set(first[0].split(", ")) <= {"deflate", "gzip", "br", "zstd"}, first
    assert rest == [["identity"], ["identity"]], rest


def test_a_coded_body_is_masked_after_a_swap(bench, echo):
    done = bench.run(f"curl -sS --compressed {BEARER} https://api.test/reflect/gzip; {MINE}")
    assert done.text.startswith(f"token {mine(done)}"), done


def test_mask_also_works_where_no_secret_was_used(bench, pki, echo):
    """other.test tells a value that it cannot know from this request: it is masked all the same."""
    def script(conn):
        conn.read_request()
        body = f"found lying around: {SECRET}".encode()
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    bench.map("other.test:443", Origin(script, pki.good))
    done = bench.run(f"curl -sS https://other.test/x; {MINE}")
    assert f"found lying around: {mine(done)}" in done.text, done


def test_plain_http_is_masked(bench, echo):
    def script(conn):
        conn.read_request()
        body = f"over port 80: {SECRET}".encode()
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    bench.map("api.test:80", Origin(script))
    done = bench.run(f"curl -sS http://api.test/x; {MINE}")
    assert f"over port 80: {mine(done)}" in done.text, done


def test_range_and_partial_content_after_a_swap(bench, pki):
    """A range could cut the value in two: it is not asked for; a 206 all the same is refused."""
    def script(conn):
        request = conn.read_request()
        assert request.get("range") is None and request.get("if-range") is None
        half = SECRET[:15].encode()
        conn.send(b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-14/30\r\n"
                  b"Content-Length: 15\r\n\r\n" + half)
    origin = Origin(script, pki.good)
    bench.map("api.test:443", origin)
    done = bench.run(f"curl -sS -i -r 0-14 {BEARER} https://api.test/x")
    assert len(origin.connections) == 1 and not origin.errors, origin.errors
    assert " 502 " in done.text.split("\n")[0] and SECRET[:15] not in done.text, done


def test_a_short_value_grows_into_a_longer_placeholder(bench, pki):
    """8 bytes cannot hold 128 random bits: lengths change and the framing must follow."""
    origin = echo_origin(pki.good)
    bench.real = "s3cretPW"
    bench.map("api.test:443", origin).config(secrets=CONTRACT_SECRETS)
    done = bench.python("""
for path in ("/reflect/body", "/whoami", "/drip/sized", "/drip/chunked"):
    reply = fetch(path, headers=AUTH)
    show(**reply.summary(), mine=TOKEN)
""")
    bodies = [r["body"] for r in done.lines]
    ph = done.lines[0]["mine"]
    assert bodies == [f"body {ph} and again {ph}.", f"you are {ph}\n", f"<<{ph}>>",
                      f"<<{ph}>>"], done
    assert all(r["clean"] for r in done.lines)


def test_masking_is_counted_in_the_audit(bench, echo):
    done = bench.run(curl("/reflect/body"))
    masked = [r for r in done.records if r.get("masked")]
    assert len(masked) == 1, done.records
    entry = masked[0]["masked"][0]
    assert entry["count"] == 2 and "tok" in json.dumps(entry) and "body" in json.dumps(entry)
