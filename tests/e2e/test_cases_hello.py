"""TLS cases from the field (BR-...): hellos of every size, in every piece and of every shape."""

import pytest

from support.talk import Talk


# -- BR-090 ----------------------------------------------------------------------------------------
CUT_HELLO = """
import threading
context = ssl.create_default_context()
def shake(size, pieces, pause):
    # The list of protocols makes the hello as long as it is to be.
    context = ssl.create_default_context()
    filler = [("x%03d" % i).ljust(200, "-") for i in range(max(0, size - 300) // 201)]
    context.set_alpn_protocols(["http/1.1", *filler])
    come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(come, go, server_hostname="api.test")
    sock = socket.create_connection(("api.test", 443), 8)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    first = True
    while True:
        try:
            tls.do_handshake()
            done = True
        except ssl.SSLWantReadError:
            done = False
        data = go.read()
        length = len(data)
        if first:
            at = 0
            for cut in [*pieces(length), length]:
                sock.sendall(data[at:cut]); at = cut
                time.sleep(pause)
            hello, first = length, False
        else:
            sock.sendall(data)
        if done:
            sock.close()
            return {"hello": hello, "protocol": tls.selected_alpn_protocol()}
        data = sock.recv(65536)
        if not data:
            return {"hello": hello, "protocol": "closed"}
        come.write(data)

results, lock = [], threading.Lock()
def run(*how):
    got = attempt(lambda: shake(*how))
    with lock:
        results.append(got)

jobs = [(size, lambda n, c=cut: [c], 0.05) for size, last in ((2100, 2100), (12000, 12000))
        for cut in range(100, last, 100 if size == 2100 else 700)]
jobs += [(500, lambda n: range(1, 300), 0.0005), (2100, lambda n: range(1, 300), 0.0005)]
threads = []
for job in jobs:
    threads.append(threading.Thread(target=run, args=job))
    threads[-1].start()
    if len(threads) % 8 == 0:
        for t in threads[-8:]: t.join()
for t in threads: t.join()
show(results=results, jobs=len(jobs))
"""


def test_br090_a_hello_in_any_pieces_and_of_any_size(bench, echo):
    """2 and 12 KB cut at every hundredth byte, 50 ms apart; one byte per write."""
    done = bench.python(CUT_HELLO, timeout=60)
    got = done.lines[0]
    assert len(got["results"]) == got["jobs"] > 35, done
    assert all(not isinstance(r, str) and r["protocol"] == "http/1.1" for r in got["results"]), done
    sizes = sorted(r["hello"] for r in got["results"])
    assert sizes[0] < 700 and sizes[-1] > 11000 and 1900 < sizes[len(sizes) // 4] < 2300, sizes


def test_br090_a_client_that_says_nothing_is_closed_at_the_limit_for_handshakes(bench, echo):
    """10 s (docs/limits.md); meanwhile others are served."""
    talk = Talk(bench, """
sock = socket.create_connection(("api.test", 443), 20)
half = socket.create_connection(("api.test", 443), 20)
half.sendall(bytes.fromhex("160301020001"))
start = time.monotonic()
show(other=fetch("/ok").status)
for each in (sock, half):
    attempt(lambda: each.recv(100))
pause(seconds=time.monotonic() - start)
""")
    assert talk.hear()["other"] == 200
    assert 9 < talk.hear(20)["seconds"] < 12.5
    done = talk.end()
    assert any(r.get("reason") == "client_timeout" for r in done.records), done.records


# -- BR-092 ----------------------------------------------------------------------------------------
S_CLIENT = ("echo | openssl s_client -connect api.test:443 -servername api.test "
            "-verify_return_error -CAfile $SSL_CERT_FILE")


def test_br092_openssl_in_its_many_moods(bench, echo):
    """First key shares that a server may not know, TLS 1.2 alone, tickets, early data."""
    moods = ["-groups X448:X25519", "-groups P-521:X25519", "-groups ffdhe8192:P-256",
             "-tls1_2", "-tls1_3", "-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305",
             "-no_ticket", "-alpn h2,http/1.1", "-tls1_2 -no_ticket"]
    done = bench.run("; ".join(f"{S_CLIENT} {mood} 2>&1 | grep -q 'Verify return code: 0' "
                               "&& echo 1 || echo 0" for mood in moods), timeout=60)
    assert done.text.split() == ["1"] * len(moods), (list(zip(moods, done.text.split())), done)


@pytest.mark.parametrize("version", ["-tls1_3", "-tls1_2"])
def test_br092_a_session_of_before_and_early_data(bench, echo, version):
    """Resumed, or a full handshake; a request in early data is answered once or not at all."""
    bench.write("early", "GET /ok?early HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
    request = "printf 'GET /ok?late HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n'"
    client = S_CLIENT.replace("echo", request) + f" -quiet -ign_eof {version}"
    early = " -early_data early" if version == "-tls1_3" else ""
    done = bench.run(f"{client} -sess_out s >first 2>&1; "
                     f"{client} -sess_in s >second 2>&1; {client} -sess_in s{early} >third 2>&1; "
                     "grep -c '200 OK' first second third; rm -f first second third s", timeout=30)
    assert done.text.split() == ["first:1", "second:1", "third:1"], done
    assert [r.target for r in echo.requests].count("/ok?early") <= 1
    assert [r.target for r in echo.requests].count("/ok?late") == 3


BROWSER = """
import random, struct
HRR = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")

def vec(size, data):
    return len(data).to_bytes(size, "big") + data

def hello(dice, shares, early=False):
    grease = lambda: bytes([dice.choice((0x0a, 0x1a, 0x2a, 0x3a, 0xca, 0xda))]) * 2
    groups = b"".join((b"\\x5a\\x5a", b"\\x11\\xec", b"\\x00\\x1d", b"\\x00\\x17", b"\\x00\\x18"))
    share = b"".join(struct.pack(">H", g) + vec(2, k) for g, k in shares)
    extensions = [
        (0x0000, vec(2, b"\\0" + vec(2, b"api.test"))), (0x000a, vec(2, groups)),
        (0x000b, b"\\x01\\x00"), (0x0023, b""),
        (0x0010, vec(2, vec(1, b"h2") + vec(1, b"http/1.1"))),
        (0x0005, b"\\x01\\0\\0\\0\\0"), (0x0012, b""), (0x0017, b""), (0xff01, b"\\0"),
        (0x000d, vec(2, bytes.fromhex("0403080404010503080505010806" "0601"))),
        (0x0033, vec(2, share)), (0x002d, b"\\x01\\x01"),
        (0x002b, vec(1, grease() + b"\\x03\\x04\\x03\\x03")), (0x001b, b"\\x02\\x00\\x02"),
        (0x4469, vec(2, vec(1, b"h2"))), (0x44cd, vec(2, vec(1, b"h2"))),
        (0xfe0d, b"\\0\\x00\\x01\\x00\\x01\\x2a" + vec(2, dice.randbytes(32)) +
                 vec(2, dice.randbytes(144))),
        (int.from_bytes(grease(), "big"), b""), (0x6a6a, b"\\0")]
    seen, unique = set(), []
    for kind, data in extensions:
        if kind not in seen:
            seen.add(kind); unique.append((kind, data))
    dice.shuffle(unique)
    packed = b"".join(struct.pack(">H", k) + vec(2, d) for k, d in unique)
    suites = grease() + bytes.fromhex("130113021303c02bc02fc02cc030cca9cca8c013c014009c009d002f0035")
    body = (b"\\x03\\x03" + dice.randbytes(32) + vec(1, dice.randbytes(32)) + vec(2, suites) +
            b"\\x01\\x00" + vec(2, packed))
    return b"\\x16\\x03\\x01" + vec(2, b"\\x01" + vec(3, body))

def answer_to(data):
    sock = socket.create_connection(("api.test", 443), 8)
    sock.sendall(data)
    got = b""
    while len(got) < 50:
        piece = sock.recv(4096)
        if not piece:
            return "closed " + got.hex()
        got += piece
    sock.close()
    if got[0] == 22 and got[5] == 2:
        return "retry" if got[11:43] == HRR else "hello"
    return got[:10].hex()

for seed in range(6):
    dice = random.Random(seed)
    x25519, kyber = dice.randbytes(32), dice.randbytes(1216)
    show(known=attempt(lambda: answer_to(hello(dice, [(0x5a5a, b"\\0"), (0x001d, x25519)]))),
         post_quantum=attempt(lambda: answer_to(
             hello(dice, [(0x5a5a, b"\\0"), (0x11ec, kyber), (0x001d, x25519)]))),
         unknown=attempt(lambda: answer_to(hello(dice, [(0x5a5a, b"\\0"), (0x11ec, kyber)]))),
         none=attempt(lambda: answer_to(hello(dice, []))))
"""


def test_br092_hellos_like_a_browsers(bench, echo):
    """GREASE everywhere, shuffled extensions, ECH GREASE, ALPS, compress_certificate, shares of
    groups that we do not know."""
    done = bench.python(BROWSER)
    assert done.lines == [{"known": "hello", "post_quantum": "hello", "unknown": "retry",
                           "none": "retry"}] * 6, done
