"""One host by all its spellings, and what the sandbox's resolver says to questions of every make."""

import contextlib
import random
import socket
import ssl
import string
import struct

import pytest

from support.daemon import Daemon
from support.echo import echo_origin
from support.nets import NameServer, Net, Packets

IDN = "xn--bcher-kva.test"
OWN = "b\u00fccher.test"
RULES = [
    {"name": "api", "hosts": ["api.test", "*.wide.test"], "action": "allow"},
    {"name": "no", "hosts": ["bad.b\u00fccher.test"], "action": "deny"},
    {"name": "idn", "hosts": ["**.B\u00dcCHER.test"], "action": "allow"}]


# -- names beyond ASCII, through the proxies ---------------------------------------------------
@pytest.fixture(scope="module")
def leaf(pki):
    return pki.leaf("idn", [IDN])


@pytest.fixture
def origin(bench, leaf):
    made, clear = echo_origin(leaf), echo_origin(name="clear")
    made.clear = clear
    bench.map(f"{IDN}:443", made).map(f"{IDN}:80", clear)
    return made


@pytest.fixture
def gateway(bench, origin):
    with Daemon(bench, [{"type": "connect", "name": "connect"}, {"type": "socks5", "name": "socks5"}],
                rules=RULES, grants=[], secrets={}) as running:
        yield running


def opened_by_connect(gateway, host):
    sock = gateway.connect("connect")
    sock.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
    return sock, sock.recv(65536).split(b"\r\n")[0].decode()


def opened_by_socks(gateway, host):
    sock = gateway.connect("socks5")
    name = host.encode()
    sock.sendall(b"\x05\x01\x00")
    assert sock.recv(2) == b"\x05\x00"
    sock.sendall(b"\x05\x01\x00\x03" + bytes([len(name)]) + name + struct.pack("!H", 443))
    return sock, {0: "HTTP/1.1 200", 2: "HTTP/1.1 403", 1: "HTTP/1.1 400"}[sock.recv(10)[1]]


def get_within(gateway, sock, host):
    context = ssl.create_default_context(cafile=gateway.ca)
    with context.wrap_socket(sock, server_hostname=IDN) as tls:
        tls.sendall(f"GET /headers HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        got = b""
        while piece := tls.recv(65536):
            got += piece
    return got


SPELLINGS = [IDN, "XN--BCHER-KVA.TEST.", OWN, "B\u00dcCHER.Test.", "bu\u0308cher.test",
             "b\u00fccher\u3002test"]


@pytest.mark.parametrize("opened", [opened_by_connect, opened_by_socks])
def test_br079_an_internationalized_host_in_any_spelling(gateway, origin, opened):
    """BR-079: one verdict, one leaf, one origin; Host arrives as the name that was decided on, in the capitals of the client."""
    for number, spelling in enumerate(SPELLINGS, 1):
        sock, answer = opened(gateway, spelling)
        with sock:
            assert answer.startswith("HTTP/1.1 200"), (spelling, answer)
            assert get_within(gateway, sock, spelling).startswith(b"HTTP/1.1 200"), spelling
        intent = gateway.records("intent", number)[-1]
        assert (intent["authority"], intent["decision"]) == (f"https://{IDN}", "allow"), intent
    hosts = sorted(r.get("host").encode("latin-1") for r in origin.requests)    # of several connections
    assert hosts == [IDN.encode()] * len(SPELLINGS), hosts


@pytest.mark.parametrize("opened", [opened_by_connect, opened_by_socks])
def test_br079_a_deny_holds_for_all_spellings(gateway, origin, opened):
    for number, spelling in enumerate(SPELLINGS, 1):
        sock, answer = opened(gateway, f"bad.{spelling}")
        sock.close()
        assert answer.startswith("HTTP/1.1 403"), (spelling, answer)
        intent = gateway.records("intent", number)[-1]
        assert (intent["authority"], intent["decision"], intent["reason"]) == (
            f"tcp://bad.{IDN}:443", "deny", "host_not_allowed"), intent
    assert not origin.requests


def test_br079_absolute_form_in_any_spelling(gateway, origin):
    def ask(host, field):
        return gateway.ask("connect", f"GET http://{host}/headers HTTP/1.1\r\nHost: {field}\r\n"
                           "Connection: close\r\n\r\n".encode())
    for spelling in SPELLINGS:
        assert ask(spelling, spelling).startswith(b"HTTP/1.1 200"), spelling
        assert ask(spelling, f"{IDN}:80").startswith(b"HTTP/1.1 200"), spelling
        assert ask(f"bad.{spelling}", f"bad.{spelling}").startswith(b"HTTP/1.1 403"), spelling
    assert len(origin.clear.requests) == 2 * len(SPELLINGS)


def test_br081_letters_beyond_ascii_are_no_address_and_no_way_around(gateway, origin):
    """BR-081, BR-148: 400 by every route, and nothing is dialled."""
    for host in ("\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "\u2460.0.0.1", "\uff3b::1\uff3d",
                 "api\uff0ftest", "\u2603.test", "\u00fc\0.test", "b\u00fccher..test", "\u00fc@api.test"):
        for head in (f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n",
                     f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n",
                     f"GET http://{IDN}/ HTTP/1.1\r\nHost: {host}\r\n"):
            answer = gateway.ask("connect", f"{head}Connection: close\r\n\r\n".encode())
            assert answer.startswith(b"HTTP/1.1 400"), (head, answer)
        sock, answer = opened_by_socks(gateway, host)
        sock.close()
        assert answer.startswith("HTTP/1.1 400"), (host, answer)
    assert not origin.requests and not origin.clear.requests


# -- the resolver ------------------------------------------------------------------------------
# Questions to the bit; `extra` stands behind the question.
ASK = """
import struct

def labels(text):
    return b"".join(bytes([len(p)]) + p.encode() for p in text.split(".") if p) + b"\\0"

def question(text, kind=1, klass=1, flags=0x0100, count=1, extra=b"", more=0, ident=7):
    return (struct.pack(">HHHHHH", ident, flags, count, 0, 0, more) + labels(text)
            + struct.pack(">HH", kind, klass) + extra)

def opt(version=0, flags=0, size=1232, options=b""):
    return b"\\0" + struct.pack(">HHBBHH", 41, size, 0, version, flags, len(options)) + options

def read(data):
    ident, flags, questions, answers, _, more = struct.unpack(">HHHHHH", data[:12])
    seen = {"id": ident, "code": flags & 15, "flags": flags, "answers": answers, "more": more,
            "size": len(data), "hex": data.hex()}
    if answers:
        at = 12
        while data[at]:
            at += data[at] + 1
        at += 5
        kind, _, ttl, size = struct.unpack(">HHIH", data[at + 2:at + 12])
        value = data[at + 12:at + 12 + size]
        seen["kind"], seen["ttl"] = kind, ttl
        seen["value"] = (".".join(map(str, value)) if kind == 1 else
                         ".".join(value[i + 1:i + 1 + value[i]].decode()
                                  for i in starts(value)))
    if more:
        at = data.rindex(b"\\0\\0\\x29")
        seen["opt"] = dict(zip(("size", "high", "version", "flags"),
                               struct.unpack(">HBBH", data[at + 3:at + 9])))
    return seen

def starts(value):
    at = 0
    while value[at]:
        yield at
        at += value[at] + 1

def udp(data, server="127.0.0.1"):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(3)
    sock.sendto(data, (server, 53))
    return read(sock.recv(4096))

def tcp(*packets, pieces=None):
    sock = socket.create_connection(("127.0.0.1", 53), 3)
    data = b"".join(struct.pack(">H", len(p)) + p for p in packets)
    for at in range(0, len(data), pieces or len(data)):
        sock.sendall(data[at:at + (pieces or len(data))])
    found, rest = [], b""
    while len(found) < len(packets):
        piece = sock.recv(4096)
        if not piece:
            break
        rest += piece
        while len(rest) >= 2 and len(rest) >= 2 + struct.unpack(">H", rest[:2])[0]:
            size = struct.unpack(">H", rest[:2])[0]
            found.append(read(rest[2:2 + size]))
            rest = rest[2 + size:]
    return found
"""
A, PTR, MX, TXT, AAAA, SRV, SVCB, HTTPS, ANY = 1, 12, 15, 16, 28, 33, 64, 65, 255
NOERROR, FORMERR, NXDOMAIN, NOTIMP, REFUSED = 0, 1, 3, 4, 5


def test_edns_as_resolvers_send_it(bench):
    bench.config(rules=RULES, grants=[], secrets={})
    done = bench.python(ASK + """
show(plain=udp(question("aPi.TeSt")),
     edns=udp(question("aPi.TeSt", extra=opt(flags=0x8000, size=4096), more=1, flags=0x0130)),
     no=udp(question("evil.test", extra=opt(), more=1)),
     version=udp(question("api.test", extra=opt(version=1, options=b"?"), more=1)),
     small=udp(question("api.test", extra=opt(size=100), more=1)),
     two=udp(question("api.test", count=2)), none=udp(question("api.test", count=0)),
     chaos=udp(question("version.bind", 16, klass=3)), any=udp(question("api.test", klass=255)),
     status=udp(question("api.test", flags=0x1100)))
""")
    seen, = done.lines
    asked = b"\3aPi\4TeSt\0".hex()
    for each in ("plain", "edns"):
        assert (seen[each]["code"], seen[each]["answers"]) == (NOERROR, 1), seen[each]
        assert asked in seen[each]["hex"] and seen[each]["ttl"] <= 60, seen[each]
    assert seen["plain"]["more"] == 0
    assert seen["edns"]["opt"] == {"size": 1232, "high": 0, "version": 0, "flags": 0x8000}
    assert seen["edns"]["flags"] & 0x0230 == 0x0010, "CD as asked; neither AD nor TC"
    assert seen["no"]["code"] == NXDOMAIN and b"blocked by".hex() in seen["no"]["hex"]
    assert (seen["version"]["code"], seen["version"]["answers"]) == (0, 0)
    assert seen["version"]["opt"] == {"size": 1232, "high": 1, "version": 0, "flags": 0}, "BADVERS"
    assert seen["small"]["answers"] == 1
    assert [seen[k]["code"] for k in ("two", "none")] == [FORMERR, FORMERR]
    assert [seen[k]["code"] for k in ("chaos", "any")] == [REFUSED, REFUSED]
    assert seen["status"]["code"] == NOTIMP
    assert all(s["size"] <= 512 for s in seen.values())
    assert any(r["name"] == "version.bind" and r["answer"] == "REFUSED" for r in done.records
               if r["type"] == "dns"), done.records


def test_every_type_of_an_allowed_name_is_there_and_empty_but_for_the_address(bench):
    bench.config(rules=RULES, grants=[], secrets={})
    done = bench.python(ASK + f"""
for kind in ({MX}, {TXT}, {AAAA}, {SRV}, {SVCB}, {HTTPS}, {PTR}, 2, 6, 43, 48, 99, 252, {ANY}, {A}):
    show(kind=kind, api=udp(question("api.test", kind)), wide=udp(question("_x._tcp.wide.test", kind)),
         no=udp(question("evil.test", kind)), own=udp(question("localhost", kind)))
""")
    for line in done.lines:
        count = 1 if line["kind"] in (A, ANY) else 0
        for each in ("api", "wide", "own"):
            assert (line[each]["code"], line[each]["answers"]) == (NOERROR, count), (each, line)
        assert (line["no"]["code"], line["no"]["answers"]) == (NXDOMAIN, 0), line
    assert len(done.lines) == 15


def test_many_questions_on_one_tcp_connection_are_answered_in_order(bench):
    bench.config(rules=RULES, grants=[], secrets={})
    done = bench.python(ASK + """
names = ["api.test", "evil.test", "a.wide.test", "api.test"] * 8
packets = [question(n, ident=100 + i) for i, n in enumerate(names)]
for pieces in (None, 7, 1):
    show(found=[(f["id"], f["code"]) for f in tcp(*packets, pieces=pieces)])
show(broken=tcp(question("api.test"), b"x" * 11, question("api.test")))
""")
    *whole, broken = done.lines
    for line in whole:
        assert line["found"] == [[100 + i, [0, 3, 0, 0][i % 4]] for i in range(32)], line
    assert len(whole) == 3
    assert len(broken["broken"]) == 1, "closed after what is no query"


def test_the_name_of_an_address_is_what_this_session_was_given(bench):
    bench.config(rules=RULES, grants=[], secrets={})
    done = bench.python(ASK + f"""
def backwards(address):
    return ".".join(reversed(address.split("."))) + ".in-addr.arpa"
address = socket.gethostbyname("api.test")
one = "1." + "0." * 31 + "ip6.arpa"
show(given=udp(question(backwards(address), {PTR})), upper=udp(question(backwards(address).upper(), {PTR})),
     text=udp(question(backwards(address), {TXT})), own=udp(question(backwards("127.0.0.1"), {PTR})),
     own6=udp(question(one, {PTR})), tcp=tcp(question(backwards(address), {PTR}))[0])
show(not_given=udp(question(backwards("198.18.77.7"), {PTR})),
     other=udp(question(backwards("8.8.8.8"), {PTR})),
     private=udp(question(backwards("10.99.0.1"), {PTR})), six=udp(question("8" + one[1:], {PTR})),
     part=udp(question("18.198.in-addr.arpa", {PTR})), data=udp(question("c2VjcmV0.in-addr.arpa", {PTR})))
show(of=socket.gethostbyaddr(address)[0], mine=socket.getfqdn(address),
     there=attempt(lambda: socket.gethostbyaddr("203.0.113.7")[0]))
""")
    known, unknown, by_libc = done.lines
    for each, name in (("given", "api.test"), ("upper", "api.test"), ("tcp", "api.test"),
                       ("own", "localhost"), ("own6", "localhost")):
        assert (known[each].get("kind"), known[each].get("value")) == (PTR, name), (each, known)
        assert known[each]["ttl"] <= 60
    assert (known["text"]["code"], known["text"]["answers"]) == (NOERROR, 0)
    assert all(v["code"] == NXDOMAIN for v in unknown.values()), unknown
    assert (by_libc["of"], by_libc["mine"]) == ("api.test", "api.test"), by_libc
    told = {r["name"]: r["answer"] for r in done.records if r["type"] == "dns"}
    assert told["8.8.8.8.in-addr.arpa"] == "NXDOMAIN" and "api.test" in told.values(), told
    assert "8.8.8.8.in-addr.arpa" not in done.error and "c2VjcmV0.in-addr.arpa" in done.error, done


def test_search_domains_only_make_other_forbidden_names(bench):
    bench.config(rules=RULES, grants=[], secrets={})
    done = bench.python(ASK + """
import subprocess
resolv = open("/etc/resolv.conf").read()
show(resolv=resolv, host=socket.gethostname())
env = dict(os.environ, LOCALDOMAIN="corp.example", RES_OPTIONS="attempts:1")
for name in ("api.test", "api", "api.test.corp.example"):
    for database in ("hosts", "ahosts", "ahostsv4"):
        for where in (None, env):
            done = subprocess.run(["getent", database, name], env=where, capture_output=True, text=True)
            show(name=name, code=done.returncode, found=done.stdout.split()[:1])
show(python=sorted({a[4][0] for a in socket.getaddrinfo("api.test", 443)}))
""")
    about, *asked, last = done.lines
    assert [x for x in about["resolv"].splitlines() if not x.startswith("nameserver")] == [], about
    assert "." not in about["host"], "of a name with a dot libc would make a search domain"
    for line in asked:
        assert line["code"] == (0 if line["name"] == "api.test" else 2), line
    assert len(asked) == 18
    assert len(last["python"]) == 1 and last["python"][0].startswith("198.18.")
    answers = {r["name"]: r["answer"] for r in done.records if r["type"] == "dns"}
    assert answers.get("api.corp.example") == "NXDOMAIN", answers
    assert "api.test.corp.example" not in {r["name"] for r in done.records if r["type"] == "dns"
                                           and r["answer"] != "NXDOMAIN"}


# -- no packet leaves --------------------------------------------------------------------------
@pytest.fixture
def place(bench):
    with contextlib.ExitStack() as stack:
        net = Net(["10.77.0.2/24"])
        stack.callback(net.close)
        net.host(bench)
        bench.packets = Packets(net)
        stack.callback(bench.packets.close)
        bench.server = NameServer(net, lambda name, kind: [(name, A, 0, "10.77.0.2")] if kind == A else [])
        stack.callback(bench.server.close)
        bench.real = ""
        bench.config(rules=RULES, grants=[], secrets={}, gateway={
            "audit": {"file": "audit/audit.jsonl"}, "upstream": {"resolvers": ["127.0.0.1"]}})
        yield bench


def random_names(count):
    letters = string.ascii_letters + string.digits + "-_"
    made = random.Random(20261130)

    def label():
        return "x" + "".join(made.choices(letters, k=made.randint(1, 40))) + "x"
    return [".".join(label() for _ in range(made.randint(1, 4))) + made.choice(
        [".evil.test", ".api.test", ".test", ".com", ".in-addr.arpa", ".xwide.test", ""])
        for _ in range(count)]


def test_a_thousand_forbidden_names_send_no_packet_and_do_not_flood_the_log(place):
    names = random_names(1000)
    place.write("names", "\n".join(names))
    done = place.python(ASK + f"""
names = open("names").read().split()
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.settimeout(3)
sock.connect(("127.0.0.1", 53))
codes = []
for i, name in enumerate(names):
    packet = question(name, ({A}, {AAAA}, {TXT}, {PTR})[i % 4])
    if i % 50 == 0:
        codes.append(tcp(packet)[0]["code"])
    else:
        sock.send(packet)
        codes.append(read(sock.recv(4096))["code"])
show(codes=sorted(set(codes)), count=len(codes), allowed=udp(question("api.test"))["code"])
""")
    assert done.lines == [{"codes": [NXDOMAIN], "count": 1000, "allowed": NOERROR}], str(done)
    assert place.server.questions == []
    assert place.packets.seen == [], place.packets.seen[:10]
    told = [r for r in done.records if r["type"] == "dns"]
    alone = [r for r in told if r["answer"] == "NXDOMAIN" and not r["name"].startswith("(")]
    together = [r for r in told if r["name"].startswith("(")]
    assert 200 <= len(alone) <= 400 and [r["name"] for r in alone[:200]] == names[:200]
    assert all((r["answer"], r["reason"], r["qtype"]) == ("NXDOMAIN", "name_not_allowed", "")
               for r in together)
    assert len(alone) + sum(int(r["name"].split()[0][1:]) for r in together) == 1000, together
    assert len(together) <= 1 + done.seconds
    assert any(r["name"] == "api.test" and r["answer"].startswith("198.18.") for r in told)
