"""Origins that are down, lie about who they are, break off or talk nonsense."""

import socket
import threading

import pytest

from support.bench import BEARER, SECRET
from support.origin import Origin

def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


def test_origin_down(bench, echo):
    bench.map("api.test:443", closed_port())
    done = bench.run(f"curl -sS -i {BEARER} https://api.test/ok; curl -sS https://other.test/ok")
    assert done.text.startswith("HTTP/1.1 502") and "upstream_connect_failed" in done.text, done
    assert done.text.endswith("ok"), done
    assert any(r.get("reason") == "upstream_connect_failed" for r in done.records), done.records


@pytest.mark.parametrize("fault", ["unknown authority", "wrong name", "expired", "clear text"])
def test_bad_upstream_certificate(bench, pki, fault):
    """502 with the reason, and zero application bytes at the origin."""
    def script(conn):
        conn.fill()
    pair = {"unknown authority": lambda: pki.leaf("stranger", ["api.test"], stranger=True),
            "wrong name": lambda: pki.leaf("wrong", ["elsewhere.test"]),
            "expired": lambda: pki.leaf("expired", ["api.test"], days=-1),
            "clear text": lambda: None}[fault]()
    origin = Origin(script, pair)
    bench.map("api.test:443", origin)
    done = bench.run(f"curl -sS -i {BEARER} https://api.test/ok", timeout=20)
    assert done.text.startswith("HTTP/1.1 502") and "upstream_tls_failed" in done.text, done
    assert SECRET.encode() not in origin.received
    if pair:
        assert origin.received == b""


def test_unresolvable_origin(bench, echo):
    """Allowed, but no such name on the host: .invalid never exists."""
    bench.config(grants=[], rules=[{"name": "x", "hosts": ["no-such-host.invalid"],
                                    "action": "allow"}])
    done = bench.run("curl -sS -i https://no-such-host.invalid/", timeout=25)
    assert done.text.startswith("HTTP/1.1 502") and "upstream_resolve_failed" in done.text, done


@pytest.mark.parametrize("target", ["127.0.0.1", "169.254.169.254", "10.0.0.1", "::1"])
def test_private_addresses_are_not_dialled_by_rule_alone(bench, echo, target):
    """A rule names the literal address: refused all the same, or not loadable."""
    bench.config(rules=[{"name": "x", "hosts": [target], "action": "allow"}], grants=[])
    literal = f"[{target}]" if ":" in target else target
    done = bench.run(f"curl -sS -i -m 5 http://{literal}:80/ --noproxy '*'", verify=False)
    assert " 200 " not in done.text and done.code != 0 or " 403 " in done.text, done


@pytest.mark.parametrize("kind", ["sized", "chunked", "close"])
def test_a_broken_off_body_never_ends_cleanly(bench, echo, kind):
    done = bench.run(f"curl -sS -o /dev/null {BEARER} https://api.test/cut/{kind}")
    assert done.code in (18, 56), done
    done = bench.python(f"""
reply = fetch("/cut/{kind}", headers=AUTH)
show(clean=reply.clean, size=len(reply.body))
""")
    assert done.lines[0]["clean"] is False and done.lines[0]["size"] <= 5000, done


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-", b"nonsense\r\n\r\n",
                                    b"\x15\x03\x01"])
def test_an_origin_that_answers_nonsense(bench, pki, answer):
    """502 upstream_broken; a request that was sent is not sent twice."""
    def script(conn):
        conn.read_request()
        conn.send(answer)
        conn.close_cleanly()
    origin = Origin(script, pki.good)
    bench.map("api.test:443", origin)
    done = bench.run(f"curl -sS -i {BEARER} -d x https://api.test/pay")
    assert done.text.startswith("HTTP/1.1 502") and "upstream_broken" in done.text, done
    assert len(origin.requests) == 1, origin.requests


def test_a_client_that_goes_away_frees_the_origin(bench, pki):
    """BR-016, third variant: the client closes first while the origin stays silent."""
    ended = threading.Event()

    def script(conn):
        conn.read_request()
        try:
            conn.fill()
        finally:
            ended.set()
    origin = Origin(script, pki.good)
    bench.map("api.test:443", origin)
    bench.run("curl -sS -m 0.5 https://api.test/wait; sleep 1; true")
    assert ended.wait(4)
