"""Every way in, with every proof of identity, for every protocol: one decision behind all of them."""

import base64
import concurrent.futures
import hashlib
import socket
import ssl
import struct
import time

import pytest

from support.bench import CONTRACT_RULES, SECRET
from support.daemon import TOKEN, Daemon

RULES = CONTRACT_RULES + [
    {"name": "admin", "hosts": ["api.test"], "paths": ["/admin/**"], "action": "deny"}]

KINDS = {
    "connect": {"type": "connect"},
    "connect-token": {"type": "connect", "token": {"env": "PROXY_TOKEN"}},
    "connect-tls": {"type": "connect", "token": {"env": "PROXY_TOKEN"},
                    "tls": {"name": "127.0.0.1"}},
    "socks5": {"type": "socks5"},
    "socks5-token": {"type": "socks5", "token": {"env": "PROXY_TOKEN"}},
    "socks5-tls": {"type": "socks5", "token": {"env": "PROXY_TOKEN"},
                   "tls": {"name": "127.0.0.1"}},
}


@pytest.fixture
def gateway(bench, echo):
    with Daemon(bench, [{**entry, "name": name} for name, entry in KINDS.items()],
                rules=RULES) as running:
        yield running


def proxy_args(gateway, kind, login=TOKEN):
    """What curl is told. It has no SOCKS over TLS: that is spoken by hand below."""
    scheme = {"connect": "http", "socks5": "socks5h"}[kind.split("-")[0]]
    if kind == "connect-tls":
        scheme = "https"
    user = f"warder:{login}@" if KINDS[kind].get("token") and login else ""
    return ["--proxy-cacert", gateway.ca,
            "-x", f"{scheme}://{user}127.0.0.1:{gateway.ports[kind]}"]


CURL_KINDS = [k for k in KINDS if k != "socks5-tls"]

@pytest.mark.parametrize("kind", CURL_KINDS)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_allowed_request_passes(gateway, echo, kind, scheme):
    held = gateway.placeholder(kind)
    wanted = ["-H", f"Authorization: Bearer {held}"] if scheme == "https" else []
    done = gateway.curl(*proxy_args(gateway, kind), *wanted, f"{scheme}://api.test/headers")
    assert done.returncode == 0, done
    origin = echo if scheme == "https" else echo.clear
    seen = origin.requests[-1]
    if scheme == "https":
        assert seen.get("authorization") == f"Bearer {SECRET}"
        assert held in done.stdout and SECRET not in done.stdout
    assert seen.get("proxy-authorization") is None and seen.get("proxy-connection") is None
    intent = gateway.records("intent", 1)[-1]
    ingress = "absolute" if scheme == "http" and kind.startswith("connect") else kind.split("-")[0]
    assert (intent["ingress"], intent["authority"], intent["decision"]) == (
        ingress, f"{scheme}://api.test", "allow")
    assert intent["session"].endswith("/" + kind)


@pytest.mark.parametrize("kind", CURL_KINDS)
def test_what_policy_refuses_is_refused(gateway, echo, kind):
    args = proxy_args(gateway, kind)
    path = gateway.curl(*args, "-i", "https://api.test/admin/x")
    assert "Warder-Reason: path_not_allowed" in path.stdout, path
    host = gateway.curl(*args, "-i", "https://evil.test/")
    assert host.returncode != 0
    port = gateway.curl(*args, "-i", "https://api.test:8443/")
    assert port.returncode != 0
    assert not echo.requests
    reasons = [r["reason"] for r in gateway.records("intent", 3)]
    assert reasons == ["path_not_allowed", "host_not_allowed", "port_not_allowed"]


@pytest.mark.parametrize("kind", [k for k in CURL_KINDS if KINDS[k].get("token")])
@pytest.mark.parametrize("login", ["", "wrong-token-0123456789", TOKEN[:-1], TOKEN + "x"])
def test_without_the_token_nothing_passes(gateway, echo, kind, login):
    for scheme in ("https", "http"):
        done = gateway.curl(*proxy_args(gateway, kind, login), "-i", f"{scheme}://api.test/ok")
        assert "200 OK" not in done.stdout, done
        if scheme == "https" or kind.startswith("socks5"):
            assert done.returncode != 0, done
    assert not echo.requests and not echo.clear.requests
    assert {r["reason"] for r in gateway.records("intent", 2)} == {"not_authenticated"}
    assert TOKEN not in gateway.bench.audit.read_text()


@pytest.mark.parametrize("header", [
    "Basic " + base64.b64encode(f"warder:{TOKEN}".encode()).decode(),
    "basic " + base64.b64encode(f"{TOKEN}:".encode()).decode(),
    f"Bearer {TOKEN}"])
def test_the_token_is_taken_in_each_form_that_clients_have(gateway, echo, header):
    answer = gateway.ask("connect-token", (
        f"GET http://api.test/ok HTTP/1.1\r\nHost: api.test\r\nProxy-Authorization: {header}\r\n"
        "Connection: close\r\n\r\n").encode())
    assert answer.startswith(b"HTTP/1.1 200"), answer


@pytest.mark.parametrize("header", ["Basic", "Basic !!!", "Digest x", "Bearer  ", f"basic {TOKEN}"])
def test_what_is_no_credential_gets_407(gateway, echo, header):
    answer = gateway.ask("connect-token", (
        f"GET http://api.test/ok HTTP/1.1\r\nHost: api.test\r\nProxy-Authorization: {header}\r\n"
        "Connection: close\r\n\r\n").encode())
    assert answer.startswith(b"HTTP/1.1 407"), answer
    assert b'Proxy-Authenticate: Basic realm="warder"' in answer
    assert not echo.clear.requests


def test_two_credentials_are_none(gateway, echo):
    line = f"Proxy-Authorization: Bearer {TOKEN}\r\n"
    answer = gateway.ask("connect-token", (
        f"GET http://api.test/ok HTTP/1.1\r\nHost: api.test\r\n{line}{line}"
        "Connection: close\r\n\r\n").encode())
    assert answer.startswith(b"HTTP/1.1 407"), answer


def test_a_client_that_is_asked_for_the_token_may_send_it_on_the_same_connection(gateway, echo):
    login = base64.b64encode(f"warder:{TOKEN}".encode()).decode()
    with gateway.connect("connect-token") as sock:
        sock.sendall(b"GET http://api.test/ok HTTP/1.1\r\nHost: api.test\r\n\r\n")
        head = sock.recv(65536)
        assert head.startswith(b"HTTP/1.1 407") and b"Connection: close" not in head
        sock.sendall(f"GET http://api.test/ok HTTP/1.1\r\nHost: api.test\r\n"
                     f"Proxy-Authorization: Basic {login}\r\n\r\n".encode())
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")


def test_br019_each_form_of_target_gets_a_definite_answer(gateway, echo):
    """BR-019: forwarded under the same policy, or 400; https in absolute form never in clear."""
    def status(request):
        return gateway.ask("connect", request.encode()).split(b" ")[1:2]

    close = "Connection: close\r\n\r\n"
    assert status(f"GET /x HTTP/1.1\r\nHost: other.test\r\n{close}") == [b"400"]
    assert status(f"GET https://other.test/x HTTP/1.1\r\nHost: other.test\r\n{close}") == [b"400"]
    assert status(f"OPTIONS * HTTP/1.1\r\nHost: other.test\r\n{close}") == [b"400"]
    assert status("GET http://other.test/ok HTTP/1.0\r\n\r\n") == [b"200"]
    assert status(f"GET http://other.test HTTP/1.1\r\nHost: other.test\r\n{close}") == [b"200"]
    assert [r.target for r in echo.clear.requests] == ["/ok", "/"]
    assert not echo.requests


def test_br021_nothing_of_the_hop_to_the_proxy_goes_on(gateway, echo):
    """BR-021: also what Connection names; what it must not name is refused."""
    login = base64.b64encode(f"warder:{TOKEN}".encode()).decode()
    head = (f"GET http://other.test/headers HTTP/1.1\r\nHost: other.test\r\n"
            f"Proxy-Authorization: Basic {login}\r\nProxy-Connection: keep-alive\r\n"
            "X-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers, deflate\r\n")
    answer = gateway.ask("connect-token", f"{head}Connection: close, X-Hop\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 200"), answer
    names = {n.lower(): v for n, v in echo.clear.requests[0].headers}
    assert not {"proxy-authorization", "proxy-connection", "keep-alive", "x-hop"} & set(names)
    assert names.get("te") == "trailers"
    answer = gateway.ask("connect-token",
                         f"{head}Connection: close, authorization\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 400"), answer
    assert len(echo.clear.requests) == 1


def tls_within(gateway, sock, name):
    context = ssl.create_default_context(cafile=gateway.ca)
    return context.wrap_socket(sock, server_hostname=name)


def get(sock, host, path="/ok"):
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    got = b""
    while piece := sock.recv(65536):
        got += piece
    return got


@pytest.mark.parametrize("head", [
    "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n",
    "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test\r\nContent-Length: 0\r\n\r\n",
    "CONNECT other.test:443 HTTP/1.0\r\n\r\n"])
def test_br023_the_answer_to_connect_has_no_framing(gateway, echo, head):
    """BR-023: neither length nor coding; the tunnel behind it works."""
    with gateway.connect("connect") as sock:
        sock.sendall(head.encode())
        answer = sock.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"\r\n\r\n")
        assert b"content-length" not in answer.lower() and b"transfer-" not in answer.lower()
        with tls_within(gateway, sock, "other.test") as tls:
            assert get(tls, "other.test").startswith(b"HTTP/1.1 200")


def test_br023_a_client_hello_in_the_same_segment_is_used(gateway, echo):
    """BR-023: what came along with the CONNECT is the tunnel's."""
    context = ssl.create_default_context(cafile=gateway.ca)
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(inward, outward, server_hostname="other.test")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    with gateway.connect("connect") as sock:
        sock.sendall(b"CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n"
                     + outward.read())
        data = b""
        while b"\r\n\r\n" not in data:
            data += sock.recv(65536)
        inward.write(data.partition(b"\r\n\r\n")[2])
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                inward.write(sock.recv(65536))
        tls.write(b"GET /ok HTTP/1.1\r\nHost: other.test\r\n\r\n")
        sock.sendall(outward.read())
        answer = b""
        while b"\r\n\r\n" not in answer:
            try:
                answer += tls.read()
            except ssl.SSLWantReadError:
                inward.write(sock.recv(65536))
        assert answer.startswith(b"HTTP/1.1 200"), answer


def test_br103_connect_to_port_80_carries_clear_text(gateway, echo):
    """BR-103: clients that tunnel http:// URLs too."""
    done = gateway.curl(*proxy_args(gateway, "connect"), "--proxytunnel", "http://other.test/ok")
    assert done.returncode == 0, done
    assert echo.clear.requests[0].get("host") == "other.test"


@pytest.mark.parametrize("target", [
    "evil.test:443", "evil.test", "api.test:0", "api.test:99999", "api.test:443:443", "api..test:443",
    "127.1:443", "2130706433:443", "0x7f.0.0.1:443", "0177.0.0.1:443", "api.test\x00.evil.test:443",
    "user@api.test:443", "http://api.test:443", "[::1:443", "[fe80::1%25eth0]:443", ":443", "*:443",
    "\uff11\uff12\uff17.0.0.1:443", "\u2603.test:443", "api.test/:443"])
def test_br148_malformed_and_forbidden_connect_targets(gateway, echo, target):
    """BR-148, BR-081: refused with a status, nothing dialled, and the proxy goes on."""
    answer = gateway.ask("connect", f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"
                         .encode("utf-8"))
    assert answer.split(b" ")[1:2] in ([b"400"], [b"403"]), answer
    assert not echo.requests
    done = gateway.curl(*proxy_args(gateway, "connect"), "https://other.test/ok")
    assert done.returncode == 0, done


def test_br148_a_name_in_its_own_letters_is_a_name_that_no_rule_allows(gateway, echo):
    """BR-148, BR-079: not malformed; refused and recorded as its A-label."""
    target = "b\u00fccher.test:443"
    answer = gateway.ask("connect", f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 403") and b"host_not_allowed" in answer, answer
    assert b"xn--bcher-kva.test" in answer, "the rule that would allow it"
    intent = gateway.records("intent", 1)[-1]
    assert (intent["authority"], intent["reason"]) == (
        "tcp://xn--bcher-kva.test:443", "host_not_allowed"), intent
    assert not echo.requests


@pytest.mark.parametrize("spelling", ["API.TEST", "api.test.", "Api.Test."])
@pytest.mark.parametrize("kind", ["connect", "socks5"])
def test_br079_one_host_in_any_spelling(gateway, echo, kind, spelling):
    """BR-079: the same verdict, the swap too; the origin hears the name that was decided on; bad.api.test is not
    api.test."""
    held = gateway.placeholder(kind)
    done = gateway.curl(*proxy_args(gateway, kind), "-H", f"Authorization: Bearer {held}",
                        f"https://{spelling}/headers")
    assert done.returncode == 0, done
    assert echo.requests[-1].get("authorization") == f"Bearer {SECRET}"
    assert echo.requests[-1].get("host").lower() == "api.test"
    refused = gateway.curl(*proxy_args(gateway, kind), f"https://bad.{spelling}/ok")
    assert refused.returncode != 0


@pytest.mark.parametrize("written, sent", [
    ("api.test", "api.test"), ("Api.TEST", "Api.TEST"), ("api.test:80", "api.test:80"),
    ("api.test.", "api.test"), ("API.test.:80", "api.test")])
def test_host_is_the_name_that_was_decided_on(gateway, echo, written, sent):
    """To a front that reads "api.test." by other rules than ours it is the same host all the same."""
    for target in (f"http://{written}", "http://api.test"):
        answer = gateway.ask("connect", f"GET {target}/headers HTTP/1.1\r\nHost: {written}\r\n"
                             "Connection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 200"), answer
        assert echo.clear.requests[-1].get("host") == sent
    assert {i["authority"] for i in gateway.records("intent", 2)} == {"http://api.test"}


def test_br083_names_that_disagree_are_refused(gateway, echo):
    """BR-083: CONNECT, SNI, Host and absolute form name one host; the secret is never sent otherwise."""
    def inside(connect, sni, request):
        with gateway.connect("connect") as sock:
            sock.sendall(f"CONNECT {connect}:443 HTTP/1.1\r\nHost: {connect}:443\r\n\r\n".encode())
            assert sock.recv(65536).startswith(b"HTTP/1.1 200")
            with tls_within(gateway, sock, sni) as tls:
                tls.sendall(request.encode())
                got = b""
                while piece := tls.recv(65536):
                    got += piece
                return got

    held = gateway.placeholder("connect")
    close = f"Authorization: Bearer {held}\r\nConnection: close\r\n\r\n"
    for connect, sni, head in [
            ("api.test", "api.test", "GET / HTTP/1.1\r\nHost: evil.test\r\n"),
            ("api.test", "other.test", "GET / HTTP/1.1\r\nHost: other.test\r\n"),
            ("other.test", "other.test", "GET / HTTP/1.1\r\nHost: api.test\r\n"),
            ("api.test", "api.test", "GET / HTTP/1.1\r\nHost: api.test\r\nHost: evil.test\r\n"),
            ("api.test", "api.test", "GET https://evil.test/ HTTP/1.1\r\nHost: api.test\r\n")]:
        answer = inside(connect, sni, head + close)
        assert answer.split(b" ")[1] in (b"421", b"400", b"403"), (connect, sni, head, answer)
    assert not echo.requests


def test_br085_without_sni_the_connect_name_counts(gateway, echo):
    """BR-085: policy, certificate and verification of the origin take the name of the CONNECT."""
    context = ssl.create_default_context(cafile=gateway.ca)
    context.check_hostname = False
    with gateway.connect("connect") as sock:
        sock.sendall(b"CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n")
        assert sock.recv(65536).startswith(b"HTTP/1.1 200")
        with context.wrap_socket(sock) as tls:
            names = tls.getpeercert()["subjectAltName"]
            assert names == (("DNS", "other.test"),)
            assert get(tls, "other.test").startswith(b"HTTP/1.1 200")


# -- SOCKS5, by hand ---------------------------------------------------------------------------
def socks(sock, host, login=None, command=1, kind=3, port=443):
    """Greets, logs in, asks. The reply's code, or why it ended before."""
    sock.sendall(b"\x05\x02\x00\x02" if login else b"\x05\x01\x00")
    version, method = sock.recv(2)
    assert version == 5
    if method == 0xff:
        return "no method"
    if method == 2:
        user, password = login
        sock.sendall(b"\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
        if sock.recv(2) != b"\x01\x00":
            return "refused"
    target = {1: lambda: socket.inet_aton(host), 4: lambda: socket.inet_pton(socket.AF_INET6, host),
              3: lambda: bytes([len(host)]) + host.encode("latin-1"), 9: lambda: b"?"}[kind]()
    sock.sendall(bytes([5, command, 0, kind]) + target + struct.pack("!H", port))
    reply = sock.recv(10)
    assert reply[:1] == b"\x05" and len(reply) == 10, reply
    return reply[1]


@pytest.mark.parametrize("kind, host, code", [
    (3, "other.test", 0), (3, "OTHER.TEST.", 0), (3, "evil.test", 2), (3, "api.test\0.evil.test", 1),
    (3, "", 1), (3, "127.1", 1), (3, "a b", 1), (9, "?", 8)])
def test_socks5_decides_on_names(gateway, echo, kind, host, code):
    with gateway.connect("socks5") as sock:
        assert socks(sock, host, kind=kind) == code
        if code == 0:
            with tls_within(gateway, sock, "other.test") as tls:
                assert get(tls, "other.test").startswith(b"HTTP/1.1 200")
    assert bool(echo.requests) == (code == 0)


@pytest.mark.parametrize("command", [2, 3, 0, 255])
def test_socks5_serves_connect_alone(gateway, command):
    with gateway.connect("socks5") as sock:
        assert socks(sock, "other.test", command=command) == 7


@pytest.mark.parametrize("kind, address", [(1, "203.0.113.7"), (4, "2001:db8::7")])
def test_socks5_to_an_address_takes_the_name_within(gateway, echo, kind, address):
    """socks5:// (not socks5h://): the client looked the name up itself; that address is never dialled."""
    with gateway.connect("socks5") as sock:
        assert socks(sock, address, kind=kind) == 0
        with tls_within(gateway, sock, "other.test") as tls:
            assert get(tls, "other.test").startswith(b"HTTP/1.1 200")
    with gateway.connect("socks5") as sock:
        assert socks(sock, address, kind=kind) == 0
        with pytest.raises((ssl.SSLError, OSError)):
            context = ssl._create_unverified_context()
            context.wrap_socket(sock).recv(1)
    assert len(echo.requests) == 1


@pytest.mark.parametrize("login, outcome", [
    (None, "no method"), ((b"warder", b"wrong"), "refused"), ((b"", b""), "refused"),
    ((b"warder", TOKEN.encode()), 0), ((TOKEN.encode(), b""), 0)])
def test_socks5_login(gateway, login, outcome):
    with gateway.connect("socks5-token") as sock:
        assert socks(sock, "other.test", login) == outcome


def test_socks5_within_tls(gateway, echo):
    """The token is not read on the way, and TLS to the origin runs within TLS to the proxy."""
    context = ssl.create_default_context(cafile=gateway.ca)
    with context.wrap_socket(gateway.connect("socks5-tls"), server_hostname="127.0.0.1") as outer:
        assert socks(outer, "other.test", (b"warder", TOKEN.encode())) == 0
        inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(inward, outward, server_hostname="other.test")

        def step(call, *args):
            while True:
                try:
                    result = call(*args)
                    outer.sendall(outward.read())
                    return result
                except ssl.SSLWantReadError:
                    outer.sendall(outward.read())
                    inward.write(outer.recv(65536))

        step(tls.do_handshake)
        step(tls.write, b"GET /headers HTTP/1.1\r\nHost: other.test\r\n\r\n")
        assert step(tls.read).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("garbage", [b"\x04\x01\x01\xbb\x01\x02\x03\x04\x00", b"GET / HTTP/1.1\r\n\r\n",
                                     b"\x05\x00", b"\x05\x01\x00\x05\x01\x01\x03"])
def test_what_is_not_socks5_is_closed_and_recorded(gateway, garbage):
    gateway.ask("socks5", garbage, seconds=4)
    assert gateway.records("intent", 1)[-1]["reason"] == "malformed_request"


def test_megabytes_through_tls_within_tls(gateway, echo):
    """Both layers under load, both ways: 24 MiB of bytes come back as they were sent."""
    args = proxy_args(gateway, "connect-tls")
    data = gateway.bench.directory / "big"
    data.write_bytes(bytes(range(256)) * 4096 * 24)
    done = gateway.curl(*args, "--data-binary", f"@{data}", "https://other.test/digest", timeout=60)
    assert hashlib.sha256(data.read_bytes()).hexdigest() in done.stdout, done
    out = gateway.bench.directory / "out"
    done = gateway.curl(*args, "-o", out, "https://other.test/sized/25165824", timeout=60)
    assert done.returncode == 0 and out.stat().st_size == 25165824, done


def test_own_certificate_of_the_proxy(bench, echo, pki):
    """tls: {certificate, key}: the proxy proves itself with the operator's files."""
    bench.write("proxy.pem", open(pki.good.cert, "rb").read())
    bench.write("proxy.key", open(pki.good.key, "rb").read(), 0o600)
    entry = {"type": "connect", "tls": {"certificate": "proxy.pem", "key": "proxy.key"}}
    with Daemon(bench, [entry]) as gateway:
        done = gateway.curl("--proxy-cacert", pki.ca_pem, "--resolve",
                            f"api.test:{gateway.ports['connect-1']}:127.0.0.1",
                            "-x", f"https://api.test:{gateway.ports['connect-1']}",
                            "https://other.test/ok")
        assert done.returncode == 0, done


def test_a_stranger_that_knocks_without_end_does_not_fill_the_record(gateway):
    """The first 200 within ten seconds are recorded one by one, the rest by their number."""
    head = b"GET http://api.test/ok HTTP/1.1\r\nHost: api.test\r\n\r\n"
    for _ in range(120):
        with gateway.connect("connect-token") as sock:
            for _ in range(2):
                sock.sendall(head)
                assert sock.recv(65536).startswith(b"HTTP/1.1 407")
    refused = [r for r in gateway.records("intent") if r["reason"] == "not_authenticated"]
    assert 200 <= len(refused) <= 210
    done = gateway.curl(*proxy_args(gateway, "connect-token"), "https://other.test/ok")
    assert done.returncode == 0, done


@pytest.mark.parametrize("kind, words", [
    ("connect-token", b"\x01\x02 x\r\n\r\n"), ("connect-tls", b"not TLS\r\n\r\n"),
    ("socks5-token", b"\x04\x01\x00")])
def test_what_a_stranger_says_wrong_is_thinned_too_and_counted_to_the_last(gateway, kind, words):
    """Heads that cannot be read, failed handshakes, another protocol: together, by their number, at the end."""
    def knock():
        with gateway.connect(kind) as sock:
            sock.sendall(words)
            try:
                sock.recv(64)
            except OSError:
                pass
    with concurrent.futures.ThreadPoolExecutor(8) as many:
        list(many.map(lambda _: knock(), range(420)))
    assert gateway.stop()[0] == 0
    refused = [r for r in gateway.bench.records() if r["type"] == "intent"]
    assert 200 <= len(refused) <= 215
    alone = [r for r in refused if "more" not in r["authority"]]
    together = [int(r["authority"].strip("(").split()[0]) for r in refused
                if "more" in r["authority"]]
    assert len(alone) + sum(together) == 420
    kinds = [r["type"] for r in gateway.bench.records()
             if r.get("session", "").endswith("/" + kind)]
    assert kinds[-1] == "session_end"


def test_idle_strangers_do_not_keep_out_the_one_with_the_token(gateway, echo):
    idle = [gateway.connect("connect-token") for _ in range(700)]
    try:
        time.sleep(2)
        done = gateway.curl(*proxy_args(gateway, "connect-token"), "https://other.test/ok")
        assert done.returncode == 0, done
    finally:
        for sock in idle:
            sock.close()
