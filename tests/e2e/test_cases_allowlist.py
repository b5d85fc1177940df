"""Cases from the field (BR-...) about the list of hosts: nothing gets past it, and nothing in it is
silently something else."""

import json
import re

import pytest

from support.bench import SECRET
from support.echo import echo_origin
from support.origin import Origin


def fine(conn):
    while True:
        request = conn.read_request()
        if request.target == "/go":
            conn.send(b"HTTP/1.1 302 Found\r\nLocation: http://evil.test/next\r\n"
                      b"Content-Length: 0\r\n\r\n")
        else:
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


# -- BR-143 ----------------------------------------------------------------------------------------
@pytest.fixture
def evil(bench, pki):
    """evil.test would answer on every port, if anything got there."""
    origin = Origin(fine)
    secure = Origin(fine, pki.good)
    for port in (80, 8080, 3128):
        bench.map(f"evil.test:{port}", origin)
    bench.map("evil.test:443", secure)
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:80", Origin(fine)).map(f"{host}:443", Origin(fine, pki.good))
    origin.all = lambda: origin.accepted + secure.accepted
    return origin


PLAIN = r"""
PUBLIC, SIX = "203.0.113.7", "2001:db8::7"
def ask(name, text, port=80, address=PUBLIC, tls=False, sni=None):
    def call():
        wire = Wire("evil.test", port, tls, sni, address, 4)
        wire.send(text)
        return wire.reply().summary()
    got = attempt(call)
    show(name=name, status=got if isinstance(got, str) else got["status"],
         reason=None if isinstance(got, str) else got["reason"])

to = "Host: evil.test\r\n\r\n"
ask("direct", "GET / HTTP/1.1\r\n" + to)
ask("direct with the secret's name", "GET /?t=SECRET HTTP/1.1\r\n" + to)
ask("IPv6", "GET / HTTP/1.1\r\n" + to, address=SIX)
ask("HTTP/1.0", "GET / HTTP/1.0\r\n" + to)
ask("HTTP/1.0 without Host", "GET / HTTP/1.0\r\n\r\n")
ask("absolute form", "GET http://evil.test/ HTTP/1.1\r\n" + to)
ask("absolute form at an allowed address", "GET http://evil.test/ HTTP/1.1\r\n" + to,
    address="api.test")
ask("method in mixed case", "Get / HTTP/1.1\r\n" + to)
ask("CONNECT", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n")
ask("CONNECT at an allowed address", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
    address="api.test")
ask("8080", "GET / HTTP/1.1\r\n" + to, port=8080)
ask("3128", "GET http://evil.test/ HTTP/1.1\r\n" + to, port=3128)
ask("TLS", "GET / HTTP/1.1\r\n" + to, port=443, tls=True)
ask("TLS over IPv6", "GET / HTTP/1.1\r\n" + to, port=443, tls=True, address=SIX)
ask("TLS on port 80", "GET / HTTP/1.1\r\n" + to, port=80, tls=True)
ask("clear text on 443", "GET / HTTP/1.1\r\n" + to, port=443)
ask("Host of the allowed one, SNI of the other", "GET / HTTP/1.1\r\nHost: api.test\r\n\r\n",
    port=443, tls=True)
ask("allowed SNI, Host of the other", "GET / HTTP/1.1\r\n" + to, port=443, tls=True, sni="api.test")
"""


def test_br143_a_host_that_is_not_allowed_is_not_reached_in_clear_text_either(bench, evil):
    done = bench.python(PLAIN)
    assert evil.all() == 0
    names = {}
    for got in done.lines:
        assert got["status"] != 200 and (isinstance(got["status"], str) or
                                         400 <= got["status"] < 500), got
        names[got["name"]] = got["reason"]
    assert len(names) == 18 and names["direct"] == names["IPv6"] == "host_not_allowed", names
    assert names["TLS"] == names["TLS over IPv6"] == "host_not_allowed", names
    denied = [r for r in done.records if r.get("decision") == "deny" and r["type"] == "intent"]
    assert len(denied) >= len(done.lines), (len(denied), len(done.lines))
    assert all(r["reason"] for r in denied)


def test_br143_curl_in_its_ways_and_a_redirect(bench, evil):
    """The first request of the redirect is allowed, the second is refused."""
    at = "--resolve evil.test:80:203.0.113.7 --resolve evil.test:8080:203.0.113.7"
    done = bench.run(f"for u in http://evil.test/?t=1 http://evil.test:8080/; do curl -s -m 4 {at} "
                     f"--noproxy '*' -o /dev/null -w '%{{http_code}} ' $u; done; "
                     f"curl -s -m 4 {at} -L -o /dev/null -w '%{{http_code}} %{{num_redirects}}' "
                     "http://api.test/go; echo; curl -s -m 4 http://evil.test/; echo $?")
    codes, redirect = done.text.split()[:2], done.text.split()[2:4]
    assert codes[0] == "403" and codes[1] in ("403", "000"), done
    assert redirect == ["403", "1"] and done.text.split()[-1] == "6", done
    assert evil.all() == 0


# -- BR-146 ----------------------------------------------------------------------------------------
PATTERNS = ["api.test", "*.wild.test", "**.dot.test"]
VERDICTS = {"api.test": True, "a.wild.test": True, "a.b.wild.test": True, "dot.test": True,
            "x.dot.test": True, "x.y.dot.test": True,
            "xapi.test": False, "api.test.evil.test": False, "a.api.test": False,
            "evil-wild.test": False, "evilwild.test": False, "wild.test": False,
            "a.wild.test.evil.test": False, "wild.test.evil.test": False, "xdot.test": False,
            "dot.test.evil.test": False, "*.wild.test": False, ".wild.test": False,
            "..wild.test": False, "a..wild.test": False, "-.wild.test": False,
            "wild.test.": False, "api.test.": True, "A.WILD.TEST": True}
SUBSYSTEMS = r"""
import struct
def lookup(name):
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.rstrip(".").split(".")) + b"\0"
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(3)
    sock.sendto(struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + labels + b"\0\1\0\1",
                ("127.0.0.1", 53))
    data = sock.recv(512)
    return {"code": data[3] & 15, "answers": data[7]}

def ask(name, path, headers=""):
    wire = Wire(name, sni=name, address="203.0.113.7", verify=False)
    leaf = wire.sock.getpeercert(True)
    wire.send(f"GET {path} HTTP/1.1\r\nHost: {name}\r\n{headers}\r\n")
    got = wire.reply()
    wire.close()
    return [got.status, got.get("warder-reason"), name.rstrip(".").lower().encode() in leaf]

for name in json.load(open("names.json")):
    show(name=name, dns=attempt(lambda: lookup(name)), plain=attempt(lambda: ask(name, "/ok")),
         secret=attempt(lambda: ask(name, "/whoami", AUTH)))
"""


def test_br146_one_verdict_in_names_connections_grants_and_certificates(bench, pki):
    """A wildcard stops at a dot; * is not the apex, ** is; a literal * or a leading dot is no host."""
    allowed = [n for n, verdict in VERDICTS.items() if verdict and n == n.lower().rstrip(".")]
    origin = echo_origin(pki.leaf("wild", allowed))
    for name in allowed:
        bench.map(f"{name}:443", origin)
    bench.config(rules=[{"name": "some", "hosts": PATTERNS, "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": PATTERNS, "at": ["header:authorization"]}])
    bench.write("names.json", json.dumps(list(VERDICTS)))
    done = bench.python(SUBSYSTEMS, timeout=60)
    for got in done.lines:
        name, verdict = got["name"], VERDICTS[got["name"]]
        dns_allows = not isinstance(got["dns"], str) and got["dns"] == {"code": 0, "answers": 1}
        assert dns_allows == verdict, got
        for way in ("plain", "secret"):
            answer = got[way]
            if verdict:
                assert answer == [200, None, True], got
            else:
                assert isinstance(answer, str) or answer[0] in (400, 403, 421), got
    assert len(done.lines) == len(VERDICTS)
    hosts = {r.get("host").lower().rstrip(".") for r in origin.requests}
    assert hosts == set(allowed), hosts
    with_value = {r.get("host").lower().rstrip(".") for r in origin.requests
                  if r.get("authorization") == f"Bearer {SECRET}"}
    assert with_value == set(allowed), with_value


def test_br146_deny_takes_the_same_patterns(bench, pki):
    """*.wild.test denied leaves the apex to its own rule, **.dot.test denied takes it along."""
    names = ["wild.test", "a.wild.test", "dot.test", "x.dot.test", "xdot.test"]
    origin = echo_origin(pki.leaf("deny", names))
    for name in names:
        bench.map(f"{name}:443", origin)
    bench.config(grants=[], rules=[
        {"name": "no", "hosts": ["*.wild.test", "**.dot.test"], "action": "deny"},
        {"name": "yes", "hosts": names, "action": "allow"}])
    done = bench.run("for n in " + " ".join(names) + "; do curl -s -o /dev/null -w '%{http_code} ' "
                     "--resolve $n:443:203.0.113.7 https://$n/ok; done")
    assert done.text.split() == ["200", "403", "403", "403", "200"], done


# -- BR-147 ----------------------------------------------------------------------------------------
# What is written as a host -> what a request proves, or what the error must say.
ENTRIES = {"*.cloud.test": "a.cloud.test", "API.TEST": "api.test", "api.test.": "api.test",
           "10.77.0.2": "10.77.0.2",
           "cloud.*": ["cloud.*"], "https://api.test/": ["https://api.test/", "api.test"],
           "api.test/path": ["api.test/path", "paths"], "api.test:443": ["api.test:443", "ports"],
           "10.77.0.300": ["10.77.0.300"], "[fd77::2]:443": ["[fd77::2]:443"], "*": ["*"],
           "": [""],
           " api.test ": [" api.test "], "api..test": ["api..test"],
           "bücher.test": "xn--bcher-kva.test", "*.BÜCHER.test": "a.xn--bcher-kva.test",
           "☃.test": ["☃.test", "xn--"], "１２７.0.0.1": ["１２７.0.0.1", "IPv4"],
           "*api.test": ["*api.test"], "a.*.test": ["a.*.test"], ".api.test": [".api.test"],
           "**": ["**"], "*.": ["*."], "user@api.test": ["user@api.test"], "api_test:": ["api_test:"],
           "0x7f.1": ["0x7f.1"], "127.1": ["127.1"]}


@pytest.mark.parametrize("entry", ENTRIES)
def test_br147_an_entry_works_or_is_an_error_that_quotes_it(bench, pki, entry):
    """Never a rule that looks right and matches nothing."""
    wanted = ENTRIES[entry]
    if isinstance(wanted, list):
        bench.config(grants=[], rules=[{"name": "x", "hosts": [entry], "action": "allow"}])
        done = bench.run("touch started", creates=["started"], verify=False)
        assert done.code == 2 and not (bench.ws / "started").exists(), done
        assert re.search(r"t\.yaml:\d+:\d+", done.error), done
        assert all(word in done.error for word in wanted), (wanted, done.error)
        return
    origin = echo_origin(pki.leaf("entry", ["api.test", "a.cloud.test", "xn--bcher-kva.test",
                                           "a.xn--bcher-kva.test"], addresses=["10.77.0.2"]))
    bench.map(f"{wanted}:443", origin)
    bench.config(grants=[], rules=[{"name": "x", "hosts": [entry], "action": "allow"}])
    done = bench.run(f"curl -sS https://{wanted}/ok")
    assert done.text == "ok", done


def test_br147_a_range_of_addresses_works_or_is_an_error(bench, pki):
    origin = echo_origin(pki.leaf("range", ["api.test"], addresses=["10.77.0.9"]))
    bench.map("10.77.0.9:443", origin)
    bench.config(grants=[], rules=[{"name": "x", "hosts": ["10.77.0.0/24"], "action": "allow"}])
    done = bench.run("curl -sS https://10.77.0.9/ok", verify=False)
    assert done.text == "ok" or (done.code == 2 and "10.77.0.0/24" in done.error), done


def test_br147_how_each_rule_was_understood_can_be_read(bench, echo):
    bench.config(rules=[{"name": "x", "hosts": ["API.Test.", "*.Wild.test"], "action": "allow"}],
                 grants=[])
    done = bench.run("true", args=["--print-config"])
    assert done.code == 0 and "api.test" in done.text and "*.wild.test" in done.text, done


# -- BR-150 ----------------------------------------------------------------------------------------
EMPTY = {
    "no rules": {"rules": []}, "rules missing": {}, "rules null": {"rules": None},
    "only deny": {"rules": [{"name": "no", "hosts": ["evil.test"], "action": "deny"}]},
    "only grants": {"grants": [{"secret": "tok", "hosts": ["api.test"],
                                "at": ["header:authorization"]}]},
}


@pytest.mark.parametrize("what", EMPTY)
def test_br150_an_empty_list_lets_nothing_through(bench, echo, what):
    """Loopback inside works all the same. Where an empty key is an error, nothing is started."""
    text = {"version": 1, "secrets": {"tok": {"source": {"env": "REAL_TOKEN"},
                                              "placeholder": {"env": "API_TOKEN"}}},
            "policies": {"t": EMPTY[what]}, "gateway": bench.gateway()}
    bench.write("t.yaml", "".join(f"{k}: {json.dumps(v)}\n" for k, v in text.items()))
    done = bench.python("""
import struct
def dns():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(3)
    sock.sendto(struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\\3api\\4test\\0\\0\\1\\0\\1",
                ("127.0.0.1", 53))
    return sock.recv(512)[3] & 15
def ask(tls, port):
    wire = Wire("api.test", port, tls, address="203.0.113.7")
    wire.send(f"GET /ok HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH if tls else ''}\\r\\n")
    return wire.reply().status
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname(), 2)
show(dns=attempt(dns), http=attempt(lambda: ask(False, 80)), https=attempt(lambda: ask(True, 443)),
     own=bool(client))
""", verify=False)
    assert echo.accepted == 0 and echo.clear.accepted == 0
    if done.code == 2:
        assert "t.yaml:" in done.error and what != "only deny", done
        return
    assert done.lines == [{"dns": 3, "http": 403, "https": 403, "own": True}], done


def test_br150_a_missing_file_starts_nothing(bench, echo):
    done = bench.run("touch started", config="absent.yaml", verify=False)
    assert done.code == 2 and "absent.yaml" in done.error, done
    assert not (bench.ws / "started").exists() and echo.accepted == 0
    bench.write("empty.yaml", "")
    done = bench.run("touch started", config="empty.yaml", verify=False)
    assert done.code == 2 and not (bench.ws / "started").exists(), done
