"""CONNECT and SOCKS to what a tcp or tunnel rule has: the answer is given when the origin was dialled, and says why not."""

import contextlib
import socket
import ssl
import struct
import time

import pytest

from support.daemon import Daemon
from support.disks import small_disk
from support.origin import Origin
from test_raw_tcp import DB, PINNED, echo_bytes

PORT = 5432
LISTENERS = [{"type": "connect", "name": "connect"}, {"type": "socks5", "name": "socks5"}]
INSIDE = {"name": "inside", "hosts": ["10.255.255.1"], "ports": [PORT], "action": "tcp"}


def by_connect(gateway, host, port=PORT):
    """(socket, what it was told: 200, or status and reason)"""
    sock = gateway.connect("connect")
    sock.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = sock.recv(1)
        assert piece, head
        head += piece
    lines = head.decode().split("\r\n")
    status = int(lines[0].split()[1])
    reason = [line.split(": ")[1] for line in lines if line.startswith("Warder-Reason: ")]
    return sock, (status, *reason)


def by_socks(gateway, host, port=PORT):
    """(socket, the reply's code)"""
    sock = gateway.connect("socks5")
    sock.sendall(b"\x05\x01\x00")
    assert sock.recv(2) == b"\x05\x00"
    sock.sendall(b"\x05\x01\x00\x03" + bytes([len(host)]) + host.encode() + struct.pack("!H", port))
    reply = sock.recv(10)
    assert reply[:1] == b"\x05" and len(reply) == 10, reply
    return sock, (reply[1],)


WAYS = pytest.mark.parametrize("way", [by_connect, by_socks])
OPENED = {by_connect: (200,), by_socks: (0,)}


def serve(bench, *rules, **upstream):
    gateway = bench.gateway(upstream={"ca": ["test-ca.pem"], "connect_to": bench.connect, "connect_timeout": "1s",
                                      **upstream})
    daemon = Daemon(bench, LISTENERS, rules=[DB, PINNED, *rules], grants=[], secrets={})
    gateway["listeners"] = [{"policy": "t", "token": "none", "address": f"127.0.0.1:{daemon.ports[one['name']]}", **one}
                            for one in LISTENERS]
    daemon.config = bench.config(rules=[DB, PINNED, *rules], grants=[], secrets={}, gateway=gateway)
    return daemon


@contextlib.contextmanager
def silence():
    """An address that answers no SYN: its queue is full."""
    with socket.socket() as server, socket.socket() as first, socket.socket() as second:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield "127.0.0.1:%d" % server.getsockname()[1]


def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return "127.0.0.1:%d" % free.getsockname()[1]


def until_the_end(sock):
    got = b""
    with contextlib.suppress(ConnectionError):
        while piece := sock.recv(65536):
            got += piece
    return got


@WAYS
def test_the_server_may_speak_first_behind_the_answer(bench, way):
    def banner(conn):
        conn.send(b"SSH-2.0-x\r\n")
        echo_bytes(conn)
    bench.map(f"db.test:{PORT}", Origin(banner))
    with serve(bench) as gateway:
        sock, told = way(gateway, "db.test")
        with sock:
            assert told == OPENED[way]
            assert sock.recv(64) == b"SSH-2.0-x\r\n"
            sock.sendall(b"hello")
            assert sock.recv(64) == b"hello"
        receipt, = gateway.records("receipt", 1)
        intent, = gateway.records("intent")
    assert (intent["authority"], intent["decision"]) == (f"tcp://db.test:{PORT}", "allow"), intent
    assert (receipt["reason"], receipt["bytes_up"], receipt["bytes_down"]) == ("none", 5, 16), receipt


@pytest.mark.parametrize("port", [PORT, 443], ids=["tcp", "tunnel"])
@pytest.mark.parametrize("way, told", [(by_connect, (502, "upstream_connect_failed")), (by_socks, (5,))])
def test_nobody_listens(bench, way, told, port):
    host = "db.test" if port == PORT else "pin.test"
    bench.map(f"{host}:{port}", closed_port())
    with serve(bench) as gateway:
        sock, got = way(gateway, host, port)
        sock.close()
        assert got == told
        receipt, = gateway.records("receipt", 1)
        assert [i["decision"] for i in gateway.records("intent")] == ["allow"]
    assert (receipt["reason"], receipt["side"]) == ("upstream_connect_failed", "upstream"), receipt


@pytest.mark.parametrize("way, told", [(by_connect, (504, "upstream_timeout")), (by_socks, (4,))])
def test_nobody_answers(bench, way, told):
    with silence() as address:
        bench.map(f"db.test:{PORT}", address)
        with serve(bench) as gateway:
            sock, got = way(gateway, "db.test")
            sock.close()
            assert got == told
            assert [r["reason"] for r in gateway.records("receipt", 1)] == ["upstream_timeout"]


@pytest.mark.parametrize("way, told", [(by_connect, (502, "upstream_resolve_failed")), (by_socks, (4,))])
def test_the_name_does_not_exist(bench, way, told):
    rule = {"name": "gone", "hosts": ["no-such-host.invalid"], "ports": [PORT], "action": "tcp"}
    with serve(bench, rule) as gateway:
        sock, got = way(gateway, rule["hosts"][0])
        sock.close()
        assert got == told
        assert [r["reason"] for r in gateway.records("receipt", 1)] == ["upstream_resolve_failed"]


@pytest.mark.parametrize("way, told", [(by_connect, (403, "address_not_allowed")), (by_socks, (2,))])
def test_an_address_that_the_rule_does_not_open(bench, way, told):
    with serve(bench, INSIDE) as gateway:
        sock, got = way(gateway, "10.255.255.1")
        sock.close()
        assert got == told
        assert [r["reason"] for r in gateway.records("receipt", 1)] == ["address_not_allowed"]


@pytest.mark.parametrize("way, told", [(by_connect, (503, "audit_unavailable")), (by_socks, (1,))])
def test_without_a_place_for_the_record_nothing_is_dialled(bench, way, told):
    origin = Origin(echo_bytes)
    bench.map(f"db.test:{PORT}", origin)

    def until(wanted, seconds=30):
        end, opened = time.monotonic() + seconds, 0
        while True:
            sock, got = way(gateway, "db.test")
            sock.close()
            if got == wanted:
                return opened
            opened += got == OPENED[way]
            assert got in (told, OPENED[way]) and time.monotonic() < end, got

    with small_disk(bench.ws / "audit") as filler, serve(bench) as gateway:
        opened = until(told) + until(told)      # what was kept for receipts may serve for another intent
        end = time.monotonic() + 10
        while origin.accepted < opened and time.monotonic() < end:      # they wait in its queue
            time.sleep(0.05)
        time.sleep(0.2)
        assert opened > 10 and origin.accepted == opened
        filler.unlink()
        until(OPENED[way])
        assert gateway.stop()[0] == 0
        assert bench.verify().returncode == 0


@WAYS
def test_a_tunnel_still_takes_nothing_but_tls_for_its_host(bench, pki, way):
    """Dialled before its hello: what is no hello for this host ends it, and no byte of it has left."""
    raw = Origin(echo_bytes)
    bench.map("pin.test:443", raw).map("pin.test:8443", raw.address)
    with serve(bench) as gateway:
        sock, told = way(gateway, "pin.test", 443)
        with sock:
            assert told == OPENED[way]
            with pytest.raises(ssl.SSLError, match="(?i)unrecognized.name"):
                ssl._create_unverified_context().wrap_socket(sock, server_hostname="api.test")
        sock, told = way(gateway, "pin.test", 8443)
        with sock:
            assert told == OPENED[way]
            sock.sendall(b"GET / HTTP/1.1\r\nHost: pin.test\r\n\r\n")
            assert until_the_end(sock) == b""
        ends = gateway.records("receipt", 2)
    assert [(r["reason"], r["side"], r["bytes_up"]) for r in ends] == [
        ("authority_mismatch", "client", 0), ("malformed_request", "client", 0)], ends
    assert raw.received == b""


@WAYS
def test_a_tunnel_passes_the_origins_own_certificate(bench, pki, way):
    pair = pki.leaf("pinned", ["pin.test"], stranger=True)
    bench.map("pin.test:443", Origin(lambda conn: conn.send(b"pinned"), pair))
    with serve(bench) as gateway:
        sock, told = way(gateway, "pin.test", 443)
        context = ssl.create_default_context(cafile=pki.dir / "stranger-ca.pem")
        with sock, context.wrap_socket(sock, server_hostname="pin.test") as tls:
            assert told == OPENED[way] and tls.recv(64) == b"pinned"
