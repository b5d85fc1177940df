"""Rules with action tcp and tunnel: bytes pass by name and port, unseen; what no rule names is refused quickly."""

import os
import shutil
import socket
import subprocess
import time

import pytest

from support.bench import CONTRACT_RULES, SECRET
from support.git_origin import make_repository
from support.marks import both_users
from support.origin import Origin
from support.servers import Sshd, find_server, free_port

DB = {"name": "db", "hosts": ["db.test"], "ports": [22, 5432, 6379], "action": "tcp"}
PINNED = {"name": "pinned", "hosts": ["pin.test"], "ports": [443, 8443], "action": "tunnel"}
BANNER = b"SSH-2.0-OpenSSH_9.2p1 test\r\n"


def raw_config(bench, *more):
    bench.config(rules=[*CONTRACT_RULES, DB, PINNED, *more])


def origin_at(bench, authority, script, pair=None):
    origin = Origin(script, pair)
    bench.map(authority, origin)
    return origin


def echo_bytes(conn):
    while data := conn.sock.recv(65536):
        conn.sock.sendall(data)


def intents(result, protocol):
    return [r for r in result.records if r["type"] == "intent" and r["protocol"] == protocol]


def receipts(result):
    return [r for r in result.records if r["type"] == "receipt"]


# What a client does that hears the server first, and says what it got and how it ended.
HEAR = """
def hear(host, port, say=b""):
    start, got, end = time.monotonic(), b"", "eof"
    try:
        sock = socket.create_connection((host, port), 5)     # a reset may come as early as this
        if say:
            sock.sendall(say)
        while data := sock.recv(65536):
            got += data
    except ConnectionError as error:
        end = error.__class__.__name__
    return {"got": got.decode("latin-1"), "end": end, "seconds": time.monotonic() - start}
"""


@both_users
def test_the_server_may_speak_first(bench):
    origin = origin_at(bench, "db.test:22", lambda conn: (conn.send(BANNER), conn.fill(),
                                                          conn.send(b"you said " + conn._buffer)))
    raw_config(bench)
    done = bench.python("""
sock = socket.create_connection(("db.test", 22), 5)
sock.settimeout(5)
start = time.monotonic()
banner = sock.recv(100)
took = time.monotonic() - start
sock.sendall(b"\\0\\xffbinary\\r\\n")
show(banner=banner.decode(), took=took, answer=sock.recv(100).decode("latin-1"), end=sock.recv(1).decode())
""")
    seen, = done.lines
    assert seen["banner"].encode() == BANNER and seen["took"] < 1.0, done
    assert seen["answer"] == "you said \0\xffbinary\r\n" and seen["end"] == "", done
    intent, = intents(done, "tcp")
    assert (intent["authority"], intent["decision"], intent["rule"]) == (
        "tcp://db.test:22", "allow", "db"), intent
    receipt, = receipts(done)
    assert receipt["bytes_up"] == 10 and receipt["bytes_down"] == len(BANNER) + 19, receipt
    assert receipt["upstream"] == origin.address and receipt["reason"] == "none", receipt


def test_br104_without_a_rule_it_is_refused_quickly_and_said(bench, echo):
    """A host that HTTP may reach, on ports that no rule names; and a host that none does."""
    bench.config(rules=[*CONTRACT_RULES])
    done = bench.python(HEAR + """
from concurrent.futures import ThreadPoolExecutor
PORTS = (22, 25, 5432)
show(**dict(zip(map(str, PORTS), ThreadPoolExecutor().map(lambda port: hear("api.test", port), PORTS))),
     ssh=hear("api.test", 2222, b"SSH-2.0-me some client\\r\\n"), pg=hear("api.test", 2222, bytes([0, 0, 0, 8, 4, 210, 22, 47])),
     redis=hear("api.test", 2222, b"*1\\r\\n$4\\r\\nPING\\r\\n"),
     unknown=attempt(lambda: hear("nowhere.test", 22)))
""")
    seen, = done.lines
    for port in ("22", "25", "5432"):
        assert seen[port]["end"] == "ConnectionResetError" and seen[port]["got"] == "", done
        assert seen[port]["seconds"] < 2.5, done
        refused = [r for r in done.records if f"api.test:{port}" in r.get("authority", "")]
        assert refused and refused[0]["decision"] == "deny", done.records
        assert refused[0]["reason"] == "port_not_allowed", refused
        assert f"add {{hosts: [api.test], ports: [{port}], action: tcp}}" in done.error, done
    for spoke in ("ssh", "pg", "redis"):
        assert seen[spoke]["end"] == "ConnectionResetError" and seen[spoke]["seconds"] < 1, done
    assert isinstance(seen["unknown"], str), done
    assert "nowhere.test" in done.error, done
    assert echo.accepted == 0


def test_br106_what_ends_before_its_protocol_is_known_is_recorded(bench, echo):
    """The beginning of an HTTP head or of any word, then FIN: bytes that were meant for somebody."""
    done = bench.python("""
for say in (b"b384022038bf9cc26d2b", b"", b"GET / HTTP/1.1\\r\\nHost: evil"):
    with socket.create_connection(("93.184.216.34", 7777), 5) as sock:
        sock.sendall(say)
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(8)
        show(got=attempt(lambda: sock.recv(100).decode("latin-1")))
""")
    refused = [r for r in done.records if r["type"] == "intent" and "93.184.216.34" in r["authority"]]
    assert len(refused) == 3 and all(r["decision"] == "deny" for r in refused), (done, refused)


def test_br106_another_port_of_a_raw_host_stays_closed(bench):
    """The rule is for its ports: 5433 and 80 of the same host are not it, nor is HTTP on 5432."""
    origin = origin_at(bench, "db.test:5432", echo_bytes)
    for port in (5433, 80, 443):
        bench.map(f"db.test:{port}", origin.address)
    raw_config(bench)
    done = bench.python(HEAR + """
show(other=hear("db.test", 5433), web=hear("db.test", 80, b"GET / HTTP/1.0\\r\\nHost: db.test\\r\\n\\r\\n"))
""")
    seen, = done.lines
    assert seen["other"]["end"] == "ConnectionResetError", done
    assert " 403 " in seen["web"]["got"] and "port_not_allowed" in seen["web"]["got"], done
    assert origin.accepted == 0


def test_64_mib_both_ways_and_a_half_close(bench):
    def hash_after(conn):
        echo_bytes(conn)                        # until the client's FIN, which must not end our half
        conn.send(b"and the end")
    origin_at(bench, "db.test:5432", hash_after)
    raw_config(bench)
    done = bench.python("""
import hashlib, threading
SIZE = 64 << 20
piece = os.urandom(1 << 20)
sock = socket.create_connection(("db.test", 5432), 20)
sent, got, count = hashlib.sha256(), hashlib.sha256(), 0
def send():
    for i in range(SIZE // len(piece)):
        block = i.to_bytes(4, "big") + piece[4:]
        sent.update(block)
        sock.sendall(block)
    sock.shutdown(socket.SHUT_WR)
thread = threading.Thread(target=send)
thread.start()
tail = b""
while data := sock.recv(1 << 18):
    data = tail + data
    tail = data[-11:]
    got.update(data[:-11])
    count += len(data) - len(tail)
thread.join()
show(same=sent.hexdigest() == got.hexdigest(), count=count, tail=tail.decode("latin-1"))
""", timeout=60)
    assert done.lines == [{"same": True, "count": 64 << 20, "tail": "and the end"}], done
    receipt, = receipts(done)
    assert (receipt["bytes_up"], receipt["bytes_down"]) == (64 << 20, (64 << 20) + 11), receipt


def test_a_reset_passes_and_an_origin_that_is_not_there_is_a_reset(bench):
    with socket.create_server(("127.0.0.1", 0)) as free:
        closed = free.getsockname()[1]
    origin_at(bench, "db.test:5432", lambda conn: (conn.send(b"x"), conn.fill(), conn.reset()))
    bench.map("db.test:6379", f"127.0.0.1:{closed}")
    raw_config(bench)
    done = bench.python(HEAR + """
show(reset=hear("db.test", 5432, b"y"), closed=hear("db.test", 6379))
""")
    seen, = done.lines
    assert seen["reset"]["end"] == "ConnectionResetError", done
    assert seen["closed"]["end"] == "ConnectionResetError" and seen["closed"]["seconds"] < 2, done
    ends = {r["exchange"]: r for r in receipts(done)}
    by_port = {i["authority"].rsplit(":", 1)[1]: ends[i["exchange"]] for i in intents(done, "tcp")}
    assert by_port["5432"]["reason"] == "upstream_broken", done.records
    assert by_port["6379"]["reason"] == "upstream_connect_failed", done.records
    assert all(r["side"] == "upstream" for r in ends.values()), done.records


def test_private_addresses_need_the_rule_to_say_so(bench):
    rules = [{"name": "inside", "hosts": ["10.255.255.1"], "ports": [5432], "action": "tcp"}]
    bench.config(rules=rules, grants=[])
    done = bench.python(HEAR + 'show(**hear("10.255.255.1", 5432))')
    assert done.lines[0]["end"] == "ConnectionResetError", done
    receipt, = receipts(done)
    assert receipt["reason"] == "address_not_allowed", receipt


def test_no_inspection_therefore_no_secrets(bench, echo):
    """Clear HTTP inside a raw connection: the placeholder arrives as it is, the value never."""
    origin = origin_at(bench, "db.test:5432", lambda conn: (conn.read_request(), conn.send(
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")))
    raw_config(bench)
    done = bench.python("""
wire = Wire("db.test", 5432, tls=False)
wire.send(f"GET / HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
show(status=wire.reply().status, token=TOKEN)
""")
    seen, = done.lines
    assert seen["status"] == 200, done
    assert f"Bearer {seen['token']}".encode() in origin.received, origin.received
    assert SECRET.encode() not in origin.received
    assert SECRET not in seen["token"]


# -- tunnel ------------------------------------------------------------------------------------

@both_users
def test_a_tunnel_shows_the_origins_own_certificate(bench, pki):
    """Signed by an authority that the gateway does not know: verifying it is the client's affair."""
    pair = pki.leaf("pinned", ["pin.test"], stranger=True)
    origin = origin_at(bench, "pin.test:443", lambda conn: (conn.read_request(), conn.send(
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npinned")), pair)
    raw_config(bench)
    bench.write("own-ca.pem", (pki.dir / "stranger-ca.pem").read_bytes())
    done = bench.run('curl -sS --cacert own-ca.pem -H "Authorization: Bearer $API_TOKEN" https://pin.test/; '
                     'echo; curl -sS https://pin.test/ 2>&1; echo "exit $?"; echo "mine $API_TOKEN"')
    assert done.text.startswith("pinned\n"), done
    assert "exit 60" in done.text, f"our own authority would verify: {done}"
    token = done.text.split("mine ")[1].strip()
    assert f"Bearer {token}".encode() in origin.received and SECRET.encode() not in origin.received
    first = intents(done, "tunnel")[0]
    assert (first["authority"], first["decision"], first["rule"]) == (
        "tcp://pin.test:443", "allow", "pinned"), first
    assert receipts(done)[0]["bytes_down"] > 500, done.records


def test_a_tunnel_takes_nothing_but_tls_for_its_host(bench, pki):
    origin = origin_at(bench, "pin.test:443", echo_bytes, pki.leaf("pinned", ["pin.test"]))
    bench.map("pin.test:8443", origin.address)
    raw_config(bench)
    done = bench.python(HEAR + """
def named(sni):
    try:
        Wire("pin.test", 443, sni=sni, verify=False)
    except OSError as error:
        return str(error)
def without_a_name():
    wire = Wire("pin.test", 443, sni="")
    wire.send(b"x")
    return wire.sock.recv(1).decode()
show(wrong=str(named("api.test")), clear=hear("pin.test", 443, b"GET / HTTP/1.1\\r\\nHost: pin.test\\r\\n\\r\\n"),
     other=hear("pin.test", 8443, b"SSH-2.0-x\\r\\n"), nameless=attempt(without_a_name))
""")
    seen, = done.lines
    assert "unrecognized name" in seen["wrong"].lower().replace("_", " "), done
    for refused in ("clear", "other"):
        assert seen[refused]["got"] == "" and seen[refused]["end"] == "ConnectionResetError", done
        assert seen[refused]["seconds"] < 2, done
    assert seen["nameless"] == "x", done
    assert origin.accepted == 1, "only the one without a name was let through"
    reasons = [i["reason"] for i in intents(done, "tunnel") if i["decision"] == "deny"]
    assert reasons == ["authority_mismatch", "malformed_request", "malformed_request"], done.records


def test_a_contradiction_is_a_load_error_that_names_both_rules(bench, echo):
    raw_config(bench, {"name": "web", "hosts": ["*.test"], "ports": [5432], "action": "allow"})
    done = bench.run("true", verify=False)
    assert done.code == 2 and "'db'" in done.error and "'web'" in done.error, done
    raw_config(bench)
    done = bench.run("true", args=["--allow", "db.test:5432"], verify=False)
    assert done.code == 2 and "'db'" in done.error and "--allow db.test:5432" in done.error, done


def test_a_disk_that_fills_up_stops_raw_connections_too(bench):
    """Nothing is dialled whose record has no place."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small tmpfs")
    origin = origin_at(bench, "db.test:5432", lambda conn: conn.send(b"x"))
    raw_config(bench)
    audit = bench.ws / "audit"
    audit.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs", audit], check=True)
    try:
        done = bench.python(HEAR + """
good, address = 0, socket.gethostbyname("db.test")       # a look-up needs a record too
for _ in range(1500):
    last = hear(address, 5432)
    if last["end"] != "eof":
        break
    good += 1
show(good=good, end=last["end"])
""", verify=False, timeout=60)
        seen, = done.lines
        assert seen["end"] == "ConnectionResetError" and seen["good"] > 10, done
        assert origin.accepted in (seen["good"], seen["good"] + 1), (origin.accepted, done)
        assert "audit_unavailable" in done.error, done
    finally:
        subprocess.run(["umount", "-l", audit], check=True)


# -- real clients ------------------------------------------------------------------------------

@pytest.fixture
def sshd(bench, base, request):
    find_server("usr/sbin/sshd")
    user = request.getfixturevalue("ordinary_user") if os.geteuid() == 0 else None
    place = base / f"sshd-{bench.directory.name.split('-')[0]}"   # outside of the bench, which looks for what it left
    repository = make_repository(place / "git")
    if user:
        subprocess.run(["chown", "-R", f"{user.uid}:{user.gid}", place], check=True)
    server = Sshd(place / "sshd", user)
    bench.map("db.test:22", f"127.0.0.1:{server.port}")
    shutil.copy(place / "sshd/client", bench.ws / "id")
    (bench.ws / "id").chmod(0o600)
    key = (place / "sshd/host.pub").read_text()
    bench.write("known_hosts", f"db.test {key}api.test {key}")
    server.options = (f"-F /dev/null -i {bench.ws}/id -o UserKnownHostsFile={bench.ws}/known_hosts "
                      "-o BatchMode=yes -o ConnectTimeout=10")
    server.repository = repository
    yield server
    server.stop()


def test_br104_ssh_and_git_over_ssh(bench, sshd):
    raw_config(bench)
    done = bench.run(f"""
ssh {sshd.options} {sshd.login}@db.test 'echo over; cat | wc -c' < /usr/bin/true
GIT_SSH_COMMAND='ssh {sshd.options}' git clone -q ssh://{sshd.login}@db.test{sshd.repository} got && cat got/README
""", creates=["got"])
    assert done.code == 0, f"{done}\n{sshd.said()}"
    size = os.path.getsize("/usr/bin/true")
    assert done.text == f"over\n{size}\nhello from the origin\n", f"{done}\n{sshd.said()}"
    assert [i["authority"] for i in intents(done, "tcp")] == ["tcp://db.test:22"] * 2, done.records
    assert receipts(done)[1]["bytes_down"] > 300_000, done.records


def test_br104_git_over_ssh_without_a_rule_fails_quickly(bench, sshd, echo):
    bench.config()
    done = bench.run(f"GIT_SSH_COMMAND='ssh {sshd.options}' git ls-remote {sshd.login}@api.test:r.git")
    assert done.code == 128 and done.seconds < 5, done
    assert "api.test:22" in done.error and "action: tcp" in done.error, done
    assert "Accepted" not in sshd.said()


def test_redis_client(bench):
    program, env = find_server("usr/bin/redis-server")
    if not shutil.which("redis-cli"):
        pytest.skip("no redis-cli")
    port = free_port()
    server = subprocess.Popen([program, "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                               "--dir", str(bench.directory)], stdout=subprocess.DEVNULL, env=env)
    try:
        bench.map("db.test:6379", f"127.0.0.1:{port}")
        raw_config(bench)
        done = bench.run("redis-cli -h db.test set word 'hello there' && redis-cli -h db.test get word")
        assert done.text == "OK\nhello there\n", done
    finally:
        server.terminate()
        server.wait(5)
