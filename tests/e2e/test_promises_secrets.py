"""Promise 3, attacked: ways to read the value that need nobody's help, or only an allowed host's."""

import gzip
import time

from support import processes
from support.bench import MINE, SECRET, mine
from support.origin import Origin


def test_the_moment_at_which_bytes_arrive_does_not_spell_the_value(bench, pki, echo):
    """other.test streams what it is told to and has no grant. Were beginnings of the value held back,
    each letter would take a few guesses."""
    def streams(conn):
        while True:
            request = conn.read_request()
            guess = request.target.split("/")[-1].encode()
            conn.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            conn.send(b"%x\r\n%s\r\n" % (len(guess), guess))
            time.sleep(0.3)
            conn.send(b"1\r\n!\r\n0\r\n\r\n")
    bench.map("other.test:443", Origin(streams, pki.good))
    done = bench.python("""
def early(guess):
    wire = Wire("other.test")
    wire.send(f"GET /{guess} HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n")
    end = time.monotonic() + 0.2
    wire.sock.settimeout(0.05)
    while time.monotonic() < end:
        attempt(wire.fill)
        wire.ended = None
    seen = bytes(wire.buffer).partition(b"\\r\\n\\r\\n")[2]
    wire.close()
    return len(seen)
show(**{guess: [early(guess) for _ in range(6)] for guess in arguments()})
""", SECRET[:9], SECRET[:8] + "Q", SECRET[:15], SECRET[:14] + "Q")
    seen, = done.lines
    # A word leaves with a sweep, sooner or later; what told the value would tell it every time.
    right, wrong, longer, none = seen.values()
    assert set(right) & set(wrong) and set(longer) & set(none), seen


def test_a_range_does_not_slice_the_value_at_a_host_that_may_know_it(bench, pki):
    """Logged in by a cookie, say: no placeholder is in this request, and the answer holds the value."""
    def script(conn):
        while True:
            request = conn.read_request()
            text = f"your token is {SECRET}.".encode()
            asked = request.get("range")
            if asked:
                first, last = (int(n) for n in asked.removeprefix("bytes=").split("-"))
                part = text[first:last + 1]
                conn.send(b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %d-%d/%d\r\nContent-Length: %d"
                          b"\r\n\r\n%s" % (first, last, len(text), len(part), part))
            else:
                conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", Origin(script, pki.good))
    done = bench.run("for r in 0-24 25-60; do curl -sS -b s=1 -r $r https://api.test/settings; done; "
                     "curl -sS -r 0-3 https://other.test/x")
    assert SECRET[5:11] not in done.text and SECRET[11:] not in done.text, done
    assert done.text.count("your token is sk-") == 2 and done.text.endswith("your"), done


def test_the_value_is_in_no_process_but_the_gateway(bench, echo):
    """Environment and arguments of every process of the run, warder's own too, and the launcher's memory."""
    running = bench.start("echo up; sleep 5")
    running.stdout.readline()
    value = bench.real.encode()
    tree = {running.pid} | processes.descendants(running.pid)
    assert len(tree) >= 3, tree
    for pid in tree:
        for name in ("environ", "cmdline"):
            with open(f"/proc/{pid}/{name}", "rb") as file:
                assert value not in file.read(), (name, processes.command(pid))
        if pid == running.pid:
            continue
        with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                begin, end = (int(n, 16) for n in line.split()[0].split("-"))
                if "r" not in line.split()[1] or end - begin > 64 << 20:
                    continue
                try:
                    memory.seek(begin)
                    assert value not in memory.read(end - begin), (line, processes.command(pid))
                except (OSError, ValueError, OverflowError):
                    continue
    running.terminate()
    running.communicate(timeout=10)
    bench.check_end()


def test_a_coded_answer_of_a_host_that_may_know_the_value_is_masked(bench, pki):
    """Also before this session has sent the value there: the origin may know it from another day."""
    def script(conn):
        while True:
            conn.read_request()
            body = gzip.compress(f"your token is {SECRET}.".encode())
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s"
                      % (len(body), body))
    bench.map("api.test:443", Origin(script, pki.good))
    done = bench.run(f"curl -sS --compressed https://api.test/settings; {MINE}")
    assert done.text.startswith(f"your token is {mine(done)}."), done
