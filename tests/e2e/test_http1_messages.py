"""HTTP/1.1 messages: malformed heads are refused, well-formed ones pass unchanged both ways."""

import pytest

from support.bench import CONTRACT_RULES
from support.origin import Closed
from support.raw import answer_ok, raw_origin


@pytest.mark.parametrize("head", [
    "GET /a HTTP/1.1\\r\\nHost: api.test\\r\\nHost: other.test\\r\\n\\r\\n",
    "GET /a HTTP/1.1\\r\\n\\r\\n",
    "GET /a HTTP/1.1\\nHost: api.test\\n\\n",
    "GET /a HTTP/1.1\\r\\nHost: api.test\\r\\nX: a\\rb\\r\\n\\r\\n",
    "GET /a HTTP/1.1\\r\\nHost: api.test\\r\\nX: a\\x00b\\r\\n\\r\\n",
    "GET /a HTTP/1.1\\r\\nHost: api.test\\r\\nBad Name: a\\r\\n\\r\\n",
    "GET  /a HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n",
    "GET /../secret HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n",
    "GET /a%2e%2e/%2e%2e/x HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n",
    "GET /a HTTP/3.7\\r\\nHost: api.test\\r\\n\\r\\n",
    "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n",
], ids=["two hosts", "no host", "bare LF", "bare CR", "NUL", "space in a name", "two spaces",
        "dot segments", "coded dot segments", "version", "h2 preface"])
def test_malformed_heads_are_refused(bench, pki, head):
    origin = raw_origin(bench, pki, answer_ok)
    done = bench.python(f"""
wire = Wire()
wire.send("{head}")
show(first=attempt(lambda: wire.reply().summary()))
""")
    first = done.lines[0]["first"]
    if "%2e%2e/%2e%2e" in head or "/../" in head:
        assert first["status"] in (400, 403), done
    else:
        assert isinstance(first, str) or first["status"] in (400, 421, 505), done
    assert origin.requests == [] and b"/a" not in origin.received, done


def test_uploads_of_every_framing_arrive_whole(bench, echo):
    done = bench.run("head -c 3000000 /dev/urandom > up; sha256sum < up; "
                     "curl -sS -T up https://api.test/digest; echo; "
                     "curl -sS -T - https://api.test/digest < up; echo; "
                     "curl -sS -X POST --data-binary @up https://api.test/digest", creates=["up"],
                     timeout=60)
    wanted, *got = [line.split()[0] for line in done.text.splitlines()]
    assert got == [wanted] * 3, done


def test_pipelined_requests_are_answered_in_order(bench, echo):
    done = bench.python("""
wire = Wire()
wire.send("".join(f"GET /sized/{n} HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n" for n in range(1, 8)))
show(sizes=[len(wire.reply().body) for _ in range(7)])
""")
    assert done.lines == [{"sizes": list(range(1, 8))}], done


def test_interim_responses_and_request_trailers_pass(bench, echo):
    done = bench.python("""
show(**fetch("/hints").summary())
wire = Wire()
wire.send("POST /headers HTTP/1.1\\r\\nHost: api.test\\r\\nTransfer-Encoding: chunked\\r\\n"
          "Trailer: X-T\\r\\n\\r\\n3\\r\\nabc\\r\\n0\\r\\nX-T: end\\r\\n\\r\\n")
show(seen=json.loads(wire.reply("POST").body))
""")
    hints, posted = done.lines
    assert hints["interim"] == [[103, [["Link", "</style.css>; rel=preload"]]]], done
    assert hints["body"] == "hinted"
    assert posted["seen"]["body"] == "abc" and posted["seen"]["trailers"] == [["X-T", "end"]], done


def test_hop_by_hop_fields_do_not_pass(bench, echo):
    done = bench.python("""
wire = Wire()
wire.send("GET /headers HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: keep-alive, X-Hop\\r\\n"
          "X-Hop: 1\\r\\nProxy-Authorization: Basic YTpi\\r\\nTE: trailers\\r\\nKeep-Alive: 5\\r\\n"
          "X-End: 2\\r\\n\\r\\n")
show(status=wire.reply().status)
""")
    names = {n.lower() for n, _ in echo.requests[0].headers} if echo.requests else set()
    assert not names & {"x-hop", "proxy-authorization", "keep-alive"}, names
    assert done.lines[0]["status"] in (200, 403), done
    assert "x-end" in names or done.lines[0]["status"] == 403


def test_early_final_response_reaches_the_client(bench, pki):
    """BR-014: a 413 in the middle of an upload."""
    def script(conn):
        conn.read_head()
        conn.take(65536)
        conn.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\n"
                  b"too large")
        try:
            while True:
                conn.fill()
        except Closed:
            pass
    raw_origin(bench, pki, script)
    done = bench.run("head -c 20000000 /dev/zero | curl -sS -m 15 -i -X POST --data-binary @- "
                     "-H 'Expect:' https://api.test/up", timeout=30)
    assert "HTTP/1.1 413" in done.text and "too large" in done.text, done


def test_methods_of_the_policy_decide(bench, echo):
    bench.config(rules=[{**CONTRACT_RULES[0], "methods": ["GET"]}, CONTRACT_RULES[1]])
    done = bench.run("for m in GET POST PATCH; do curl -sS -o /dev/null -w '%{http_code} ' -X $m "
                     "https://api.test/ok; done; for m in PATCH OPTIONS TRACE; do "
                     "curl -sS -o /dev/null -w '%{http_code} ' -X $m https://other.test/ok; done")
    assert done.text.split() == ["200", "403", "403", "200", "200", "403"], done
