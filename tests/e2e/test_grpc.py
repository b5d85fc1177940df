"""gRPC through the mask: compressed messages are searched, bidirectional streams are not delayed."""

import gzip
import json
import struct
import time
import zlib
from concurrent import futures

import grpc
import pytest

from support.bench import SECRET
from support.h2bench import inside, origin_of
from support.h2origin import H2Origin

FIELDS = [("content-type", "application/grpc+proto")]
OK = [("grpc-status", "0")]
PLAIN = b"nothing in here " * 20


def message(data, flags=0):
    return struct.pack(">BI", flags, len(data)) + data


# -- a real server and a real client ----------------------------------------------------------------
CLIENT = r"""
import os
os.environ["GRPC_DNS_RESOLVER"] = "native"
import grpc, queue
roots = open(os.environ["SSL_CERT_FILE"], "rb").read()
creds = grpc.ssl_channel_credentials(roots)
meta = [("authorization", f"Bearer {TOKEN}")]
compression = getattr(grpc.Compression, arguments()[0])
same = lambda b: b
with grpc.secure_channel("api.test:443", creds, compression=compression) as channel:
    call = channel.unary_unary("/t.T/One", request_serializer=same, response_deserializer=same)
    text, done = call.with_call(b"x" * 500, metadata=meta, timeout=10)
    show(unary=text.decode(), mine=TOKEN, trailer=dict(done.trailing_metadata()).get("x-said"))
    asks = queue.Queue()
    both = channel.stream_stream("/t.T/Both", request_serializer=same, response_deserializer=same)
    answers = both(iter(asks.get, None), metadata=meta, timeout=10)
    waits, said = [], []
    for i in range(8):
        asks.put(b"%d " % i * 100)
        start = time.monotonic()
        said.append(next(answers).decode())
        waits.append(time.monotonic() - start)
    asks.put(None)
    show(rest=[a.decode() for a in answers], said=said, waits=sorted(waits))
"""


@pytest.mark.parametrize("coding", ["Gzip", "Deflate", "NoCompression"])
def test_grpc_messages_are_masked_compressed_or_not(bench, pki, coding):
    def one(request, context):
        value = dict(context.invocation_metadata())["authorization"]
        context.set_trailing_metadata([("x-said", value)])
        return f"you sent {value} ".encode() * 20

    def both(requests, context):
        value = dict(context.invocation_metadata())["authorization"]
        for request in requests:
            yield request + f"with {value}".encode()

    class Handler(grpc.GenericRpcHandler):
        def service(self, details):
            if details.method == "/t.T/One":
                return grpc.unary_unary_rpc_method_handler(one)
            return grpc.stream_stream_rpc_method_handler(both)
    server = grpc.server(futures.ThreadPoolExecutor(8), [Handler()],
                         compression=getattr(grpc.Compression, coding))
    credentials = grpc.ssl_server_credentials(
        [(open(pki.good.key, "rb").read(), open(pki.good.cert, "rb").read())])
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        bench.map("api.test:443", f"127.0.0.1:{port}")
        done = bench.python(CLIENT, coding, timeout=40)
    finally:
        server.stop(0).wait()
    first, second = done.lines
    mine = first["mine"]
    assert first["unary"] == f"you sent Bearer {mine} " * 20, done
    assert first["trailer"] == f"Bearer {mine}", done
    assert second["said"] == [f"{i} " * 100 + f"with Bearer {mine}" for i in range(8)], done
    assert second["rest"] == [] and second["waits"][-2] < 0.1, second
    masked = [m for r in done.records for m in r.get("masked") or [] if m["place"] == "body"]
    assert [m["count"] for m in masked] == [20, 8], masked


# -- messages made by hand --------------------------------------------------------------------------
FETCH = """
for host in ("api.test", "other.test"):
    wire = H2Wire(host)
    for path in json.load(open("paths.json")):
        got = wire.fetch(path, BEARER if host == "api.test" else [], authority=host)
        show(**got, host=host, path=path, mine=TOKEN)
"""
PACK = {"gzip": gzip.compress, "deflate": zlib.compress}
UNPACK = {"gzip": gzip.decompress, "deflate": zlib.decompress}


def fetch(bench, pki, script, paths):
    for host in ("api.test", "other.test"):
        bench.map(f"{host}:443", H2Origin(script, pki.good))
    bench.write("paths.json", json.dumps([f"/{p}" for p in paths]))
    done = inside(bench, FETCH)
    assert len(done.lines) == 2 * len(paths), done
    return done


def test_compressed_messages_leave_untouched_unless_a_value_is_in_them(bench, pki):
    kept = {name: message(pack(PLAIN), 1) for name, pack in PACK.items()}

    def script(stream):
        name = stream.path[1:]
        stream.head(200, [*FIELDS, ("grpc-encoding", name)])
        body = kept[name] + message(PACK[name](b"value " + SECRET.encode()), 1) + \
            message(b"plain " + SECRET.encode()) + message(b"", 0)
        for i in range(0, len(body), 11):
            stream.send(body[i:i + 11])
        stream.finish(OK)
    for got in fetch(bench, pki, script, PACK).lines:
        name, body, mine = got["path"][1:], got["body"].encode("latin-1"), got["mine"].encode()
        assert got["clean"] and got["trailers"] == [["grpc-status", "0"]], got
        assert body.startswith(kept[name]), got
        flags, size = struct.unpack(">BI", body[len(kept[name]):][:5])
        rest = body[len(kept[name]) + 5:]
        assert flags == 1 and UNPACK[name](rest[:size]) == b"value " + mine, got
        assert rest[size:] == message(b"plain " + mine) + message(b""), got


CUT = message(gzip.compress(PLAIN), 1)[:-5]
REFUSED = {  # grpc-encoding, body, refused also from a host without a grant
    "snappy": ("snappy", message(b"opaque", 1), False),
    "unnamed": (None, message(b"opaque", 1), False),
    "not gzip": ("gzip", message(b"opaque", 1), True),
    "cut": ("gzip", CUT, True),
    "too long": ("gzip", struct.pack(">BI", 1, 5 << 20) + bytes(1000), True),
    "bad flags": (None, b"\x07" + message(b"x")[1:], True),
    "bomb": ("gzip", message(gzip.compress(bytes(65 << 20)), 1), True),
}


def test_messages_that_cannot_be_searched_never_end_cleanly(bench, pki):
    names = list(REFUSED)

    def script(stream):
        encoding, body, _ = REFUSED[names[int(stream.path[1:])]]
        stream.head(200, [*FIELDS, *([("grpc-encoding", encoding)] if encoding else [])])
        stream.send(body)
        stream.finish(OK)
    done = fetch(bench, pki, script, range(len(names)))
    for got in done.lines:
        name = names[int(got["path"][1:])]
        passes = got["host"] == "other.test" and not REFUSED[name][2]
        if passes:
            assert got["clean"] and got["body"].encode("latin-1") == REFUSED[name][1], (name, got)
        else:
            refused = (got["status"], got["reason"]) == (502, "response_unmaskable")
            assert refused or not got["clean"], (name, got)
            assert not got["body"] or refused, (name, got)
    reasons = [r for r in done.records if r.get("reason") == "response_unmaskable"]
    assert len(reasons) == 2 * len(names) - 2, [r.get("reason") for r in done.records]


def test_a_prefix_follows_a_placeholder_of_another_length(bench, pki):
    bench.real = "s3cretPW"

    def script(stream):
        stream.head(200, FIELDS)
        stream.send(message(b"<" + bench.real.encode() + b">") + message(b"plain"))
        stream.finish(OK)
    for got in fetch(bench, pki, script, ["x"]).lines:
        wanted = message(b"<" + got["mine"].encode() + b">") + message(b"plain")
        assert got["clean"] and got["body"].encode("latin-1") == wanted, got


def test_a_message_leaves_as_soon_as_it_is_complete(bench, pki):
    """Also one that ends in a word, from a host without a grant: no wait for what may follow."""
    def script(stream):
        stream.head(200, [*FIELDS, ("grpc-encoding", "gzip")])
        for i in range(6):
            text = b"%.6f word" % time.monotonic()
            stream.send(message(gzip.compress(text), 1) if i % 2 else message(text))
            time.sleep(0.2)
        stream.finish(OK)
    bench.map("other.test:443", H2Origin(script, pki.good))
    done = inside(bench, """
import gzip
wire = H2Wire("other.test")
number = wire.request("/x", authority="other.test")
stream, late, seen = wire.streams[number], [], 0
while not stream.done and wire.pump(4):
    now, data = time.monotonic(), bytes(stream.body[seen:])
    if not data:
        continue
    seen += len(data)
    text = gzip.decompress(data[5:]) if data[0] else data[5:]
    late.append(now - float(text.split()[0]))
show(late=sorted(late))
""")
    late = done.lines[0]["late"]
    assert len(late) == 6 and late[-2] < 0.1 and late[-1] < 0.5, late


def test_what_a_request_accepts_is_what_can_be_undone(bench, pki):
    origin = origin_of(bench, pki)
    inside(bench, """
show(**H2Wire().fetch("/x", [*BEARER, ("grpc-accept-encoding", "identity,snappy,deflate, gzip")]))
""")
    assert origin.streams[0].all("grpc-accept-encoding") == ["identity, deflate, gzip"]
