"""The harness itself, without warder: the origins say what they got, and every oracle can fail."""

import base64
import os
import subprocess
import sys

import pytest

from support import oracles, processes
from support.bench import INSIDE, SECRET
from support.echo import echo_origin, pattern

sys.path.insert(0, str(INSIDE))


@pytest.fixture
def direct(pki, monkeypatch):
    """wire.fetch straight to the echo origin, trusting the test's authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(pki.ca_pem))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    import wire
    origin = echo_origin(pki.good)

    def fetch(path, **more):
        return wire.fetch(path, address="127.0.0.1", port=origin.port, **more)
    yield origin, fetch
    origin.stop()
    assert not origin.errors


def test_echo_origin_frames_in_every_way(direct):
    origin, fetch = direct
    auth = f"Authorization: Bearer {SECRET}\r\n"
    assert fetch("/sized/5000").body == pattern(5000)
    assert fetch("/chunked/50000").body == pattern(50000)
    closed = fetch("/close/700")
    assert (closed.kind, closed.clean, closed.body) == ("close", True, pattern(700))
    assert fetch("/trailers", headers=auth).trailers == [("X-Sum", "42"), ("X-Token", SECRET)]
    assert fetch("/hints").interim[0][0] == 103
    assert SECRET in fetch("/reflect/body", headers=auth).body.decode()
    assert SECRET in fetch("/drip/chunked", headers=auth).body.decode()
    assert fetch("/split/sized/9", headers=auth).body.decode() == f"before {SECRET} after"
    assert fetch("/sized/9", method="HEAD").get("content-length") == "9"
    assert fetch("/echo", method="POST", body=b"abc").body == b"abc"
    assert len(origin.requests) == 10


@pytest.mark.parametrize("kind", ["sized", "chunked", "close"])
def test_a_cut_body_is_seen_as_cut(direct, kind):
    _, fetch = direct
    reply = fetch(f"/cut/{kind}")
    assert reply.body == pattern(5000) and not reply.clean


@pytest.mark.parametrize("leak", [
    SECRET.encode(), SECRET.encode().hex().encode(), base64.b64encode(b"u:" + SECRET.encode()),
    base64.b64encode(b"x" + SECRET.encode() + b"yy"), base64.b64encode(SECRET.encode()),
    base64.urlsafe_b64encode(b"abc" + SECRET.encode())])
def test_the_leak_oracle_finds_every_form(leak):
    oracles.assert_no_leak(SECRET.encode(), place=b"clean text and a prefix sk-live-S3cr3tValue")
    with pytest.raises(AssertionError):
        oracles.assert_no_leak(SECRET.encode(), place=b"before " + leak + b" after")


def test_an_orphan_is_found():
    known = processes.children(os.getpid())
    subprocess.run(["sh", "-c", "sleep 30 >/dev/null 2>&1 & exit 0"], check=True)
    orphans = processes.children(os.getpid()) - known
    assert len(orphans) == 1
    with pytest.raises(AssertionError):
        oracles.assert_processes_gone(lambda: orphans, 0.05)
    for pid in orphans:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
