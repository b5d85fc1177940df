"""A client certificate as a grant: shown where it is granted, to requests that are allowed, by the gateway."""

import ssl
import subprocess

import pytest

from support.bench import CONTRACT_GRANTS
from support.echo import reply, serve
from support.h2origin import H2Origin, answer
from support.origin import Origin
from support.websocket import echo_frames, inside, switch

RULES = [{"name": "mtls", "hosts": ["mtls.test"], "paths": ["/open/**"], "action": "allow"},
         {"name": "api", "hosts": ["api.test"], "action": "allow"}]


@pytest.fixture
def identity(bench):
    """A certificate in the workspace, its key in a directory that the sandbox finds covered."""
    (bench.ws / "tls").mkdir()
    for name in ("agent", "stranger"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                        "-keyout", bench.ws / "tls" / f"{name}.key",
                        "-out", bench.ws / f"{name}.pem"], check=True, capture_output=True)
    return bench.ws / "agent.pem"


def grant(certificate="agent.pem", key="tls/agent.key", hosts=("mtls.test",)):
    return {"client_certificate": {"certificate": certificate, "key": key}, "hosts": list(hosts)}


def asking_origin(bench, pki, identity, host, need=ssl.CERT_REQUIRED, newest=None):
    """Asks for a certificate, and keeps the name in it."""
    shown = []

    def script(conn):
        peer = conn.sock.getpeercert()
        shown.append(dict(x[0] for x in peer["subject"])["commonName"] if peer else None)
        reply(conn, conn.read_request(), b"x", headers=[("Connection", "close")])
        conn.close_cleanly()
    origin = Origin(script, pki.leaf(f"mtls-{host}", [host]))
    origin.shown = shown
    origin._context.load_verify_locations(identity)
    origin._context.verify_mode = need
    if newest:
        origin._context.maximum_version = newest
    bench.map(f"{host}:443", origin)
    return origin


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_it_is_shown_where_it_is_granted_and_nowhere_else(bench, pki, identity, newest):
    origin = asking_origin(bench, pki, identity, "mtls.test", newest=newest)
    other = asking_origin(bench, pki, identity, "api.test", need=ssl.CERT_OPTIONAL, newest=newest)
    bench.config(rules=RULES, grants=[*CONTRACT_GRANTS, grant()])
    done = bench.run("for i in 1 2 3; do curl -sS https://mtls.test/open/; "
                     "curl -sS https://api.test/; done")
    assert done.text == "x" * 6, done
    assert origin.shown == ["agent"] * 3 and other.shown == [None] * 3
    uses = {r["authority"]: r["uses"] for r in done.records if r["type"] == "intent"}
    assert uses == {"https://mtls.test": [{"name": "client_certificate", "version": 1,
                                           "place": "tls"}], "https://api.test": []}


# One that speaks HTTP/2 alone either ends the handshake when that is not offered, or goes on as if it were: this one.
@pytest.mark.parametrize("alpn", [("h2",), ("h2", "http/1.1"), ("http/1.1",), None],
                         ids=["h2 alone", "both", "http1 alone", "no alpn"])
def test_an_origin_of_any_version_is_reached_at_the_first_request(bench, pki, identity, alpn):
    h1 = (lambda conn: conn.reset()) if alpn == ("h2",) else serve
    origin = H2Origin(answer, pki.leaf("mtls-h2", ["mtls.test"]), alpn=alpn, h1=h1)
    origin._context.load_verify_locations(identity)
    origin._context.verify_mode = ssl.CERT_REQUIRED
    bench.map("mtls.test:443", origin)
    bench.config(rules=[{"name": "all", "hosts": ["mtls.test"], "action": "allow"}], grants=[grant()])
    done = bench.run("for v in http2 http2 http1.1 http1.1; do curl -sS -o /dev/null --$v "
                     "-w '%{http_version} %{http_code} ' https://mtls.test/headers; done")
    both = bool(alpn) and "h2" in alpn
    assert done.text.split()[1::2] == ["200"] * 4, done
    # What it speaks is not asked without the certificate: the first client is offered HTTP/1.1.
    assert done.text.split()[0::2] == ["1.1", "2" if both else "1.1", "1.1", "1.1"], done
    assert not origin.violations
    assert len(origin.streams) == (4 if both else 0)


def test_a_websocket_to_an_unknown_origin_is_asked_for_in_http1(bench, pki, identity):
    origin = H2Origin(answer, pki.leaf("mtls-ws", ["mtls.test"]), h1=lambda conn: echo_frames(switch(conn) and conn))
    origin._context.load_verify_locations(identity)
    origin._context.verify_mode = ssl.CERT_REQUIRED
    bench.map("mtls.test:443", origin)
    bench.config(rules=RULES, grants=[grant()])
    done = inside(bench, """
wire = opened("mtls.test", path="/open/ws")
wire.send(mine(TEXT, "hello"))
show(got=plain(read_frame(wire)))
wire.send(mine(CLOSE, close(1000)))
show(end=plain(read_frame(wire)))
""")
    assert done.lines[0] == {"got": [True, 1, "hello"]}, done


@pytest.mark.parametrize("version", ["http1.1", "http2"])
def test_what_is_refused_shows_nothing_and_dials_nothing(bench, pki, identity, version):
    origin = asking_origin(bench, pki, identity, "mtls.test")
    bench.config(rules=RULES, grants=[grant()])
    done = bench.run(f"curl -sS -i --{version} https://mtls.test/closed")
    assert "path_not_allowed" in done.text, done
    assert origin.accepted == 0


def test_without_the_grant_the_origin_refuses(bench, pki, identity):
    asking_origin(bench, pki, identity, "mtls.test")
    bench.config(rules=RULES, grants=[])
    done = bench.run("curl -sS -o /dev/null -w '%{http_code}' https://mtls.test/open/")
    assert done.text == "502", done


def test_the_sandbox_reads_no_key(bench, pki, identity):
    asking_origin(bench, pki, identity, "mtls.test")
    bench.config(rules=RULES, grants=[grant()])
    key = bench.ws / "tls" / "agent.key"
    secret = key.read_text().splitlines()[1]
    done = bench.run(f"cat {key}; ls -a tls; echo > agent.pem; cp agent.pem x && mv x agent.pem; "
                     f"grep -rs '{secret}' . /proc/self/environ; curl -sS https://mtls.test/open/",
                     creates=("x",))
    assert secret not in done.text + done.error and done.text.endswith("x"), done
    assert identity.read_text().startswith("-----BEGIN"), done


@pytest.mark.parametrize("files,says", [
    ({"key": "tls/none.key"}, "tls/none.key cannot be read"),
    ({"certificate": "none.pem"}, "none.pem cannot be read"),
    ({"key": "tls/stranger.key"}, "tls/stranger.key is not the key of"),
    ({"key": "tls/secret.key"}, "tls/secret.key is encrypted: write the key without a passphrase"),
    ({"certificate": "tls/agent.key"}, "tls/agent.key holds no PEM certificate"),
    ({"key": "loose.key"}, "lies in the workspace")])
def test_files_that_cannot_serve_are_refused_at_the_start(bench, identity, files, says):
    subprocess.run(["openssl", "ec", "-aes256", "-passout", "pass:secret", "-in",
                    bench.ws / "tls/agent.key", "-out", bench.ws / "tls/secret.key"],
                   check=True, capture_output=True)
    bench.write("loose.key", (bench.ws / "tls/agent.key").read_bytes())
    bench.config(rules=RULES, grants=[grant(**files)])
    done = bench.run("echo ran")
    assert done.code == 2 and "ran" not in done.text, done
    assert says in done.error and "t.yaml:3: " in done.error, done
