"""A gigabyte each way through the mask: every byte arrives, and the gateway stays small."""

import time

import pytest

from support.bench import SECRET
from support.bulk import BulkOrigin, blocks, digest
from support.talk import Talk

MIB = 1 << 20
SIZE = 1024 * MIB


@pytest.fixture
def bulk(bench, pki):
    origin = BulkOrigin(pki.good, SECRET.encode())
    origin.patience = 600             # a coded gigabyte takes its time, and another connection idles
    bench.map("api.test:443", origin)
    return origin


CLIENT = """
import hashlib, http.client, random
def connection():
    return http.client.HTTPSConnection("api.test", context=ssl.create_default_context(), timeout=60)
AUTHORISED = {"Authorization": "Bearer " + TOKEN}
fetch("/ok", headers=AUTH)
pause(token=TOKEN)
"""


@pytest.mark.parametrize("framing", ["length", "chunked", "gzip"])
def test_a_gigabyte_down_through_the_mask(bench, bulk, framing):
    """The value stands in it 64 times: each comes out as the placeholder, the rest is equal. Coded, it
    is a gigabyte when undone (and on the wire: it is random)."""
    talk = Talk(bench, CLIENT + """
import zlib
link = connection()
link.request("GET", arguments()[0], headers=AUTHORISED)
answer, state = link.getresponse(), hashlib.sha256()
coder = zlib.decompressobj(wbits=31) if answer.getheader("Content-Encoding") == "gzip" else None
while piece := answer.read(1 << 16):
    state.update(coder.decompress(piece) if coder else piece)
assert coder is None or coder.eof and not coder.unused_data
pause(sha256=state.hexdigest())
""", f"/{framing}/{SIZE}")
    token = talk.hear()["token"].encode()
    baseline = talk.memory()
    start = time.monotonic()
    talk.go()
    got = talk.hear(600)["sha256"]
    grown = talk.memory("VmHWM") - baseline
    print(f"{framing}: grown by {grown / MIB:.1f} MiB, {time.monotonic() - start:.1f} s")
    assert len(token) == len(SECRET) and got == digest(blocks(SIZE, token))
    assert bench.sanitized or grown < 16 * MIB, f"grown by {grown / MIB:.1f} MiB"
    talk.end()


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_gigabyte_up(bench, bulk, framing):
    talk = Talk(bench, CLIENT + f"""
base, size = random.Random(7).randbytes({MIB}), {SIZE}
def pieces():
    for number in range(size // len(base)):
        yield number.to_bytes(8, "big") + base[8:]
link = connection()
length = {{"Content-Length": str(size)}} if arguments()[0] == "length" else {{}}
link.request("PUT", "/", body=pieces(), headers=AUTHORISED | length, encode_chunked=not length)
pause(sha256=link.getresponse().read().decode())
""", framing)
    talk.hear()
    baseline = talk.memory()
    talk.go()
    got = talk.hear(600)["sha256"]
    grown = talk.memory("VmHWM") - baseline
    assert got == digest(blocks(SIZE)) and bulk.taken == SIZE
    assert bench.sanitized or grown < 16 * MIB, f"grown by {grown / MIB:.1f} MiB"
    talk.end()


def stands_still(count, seconds=2.0, within=30.0):
    """The value at which `count()` no longer moves."""
    deadline = time.monotonic() + within
    last, since = count(), time.monotonic()
    while time.monotonic() < deadline:
        time.sleep(0.05)
        if (now := count()) != last:
            last, since = now, time.monotonic()
        elif time.monotonic() - since >= seconds:
            return last
    raise AssertionError(f"still moving after {within} s, at {last}")


def test_a_slow_reader_holds_the_origin_back_and_its_end_reaches_it(bench, bulk):
    """What the kernel's socket buffers take is all that the origin gets rid of."""
    talk = Talk(bench, CLIENT + """
wire = Wire()
wire.send(f"GET /length/1073741824 HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
wire.take(200000)
pause(reading=False)
wire.take(1 << 26)
pause(reading=False)
wire.close()
pause(closed=True)
""")
    talk.hear()
    baseline = talk.memory()
    talk.go()
    talk.hear()
    first = stands_still(lambda: bulk.sent)
    assert first < 128 * MIB, f"{first / MIB:.0f} MiB left the origin and nobody reads"
    talk.go()
    talk.hear()
    second = stands_still(lambda: bulk.sent)
    assert first < second < first + 128 * MIB, (first, second)
    assert bench.sanitized or talk.memory("VmHWM") - baseline < 16 * MIB
    talk.go()
    talk.hear()
    assert bulk.broken.wait(5), "the origin still believes that somebody reads"
    talk.end()


def test_a_client_that_leaves_its_upload_ends_the_origins_request(bench, bulk):
    talk = Talk(bench, CLIENT + """
wire = Wire()
wire.send(f"PUT / HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}Content-Length: 1073741824\\r\\n\\r\\n")
wire.send(bytes(1 << 24))
pause(sent=True)
wire.close()
pause(closed=True)
""")
    talk.hear()
    talk.go()
    talk.hear()
    assert bulk.wait(lambda: bulk.taken == 16 * MIB, 30), bulk.taken
    talk.go()
    talk.hear()
    assert bulk.broken.wait(5), "the origin still waits for the rest"
    talk.end()
