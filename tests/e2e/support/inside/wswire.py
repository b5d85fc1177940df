"""WebSocket frames for raw peers, inside and at the origin: whatever has take() and send()."""

import base64
import hashlib
import os
import struct
from collections import namedtuple

CONT, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
KEY = base64.b64encode(b"0123456789abcdef").decode()
ASK = ("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
       f"Sec-WebSocket-Key: {KEY}\r\n")

Frame = namedtuple("Frame", "fin opcode payload key")


def accept_of(key):
    digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
    return base64.b64encode(digest).decode()


def masked(payload, key):
    stream = (key * (len(payload) // 4 + 1))[:len(payload)]
    number = int.from_bytes(payload, "big") ^ int.from_bytes(stream, "big")
    return number.to_bytes(len(payload), "big")


def frame(opcode, payload=b"", fin=True, key=None):
    payload = payload.encode() if isinstance(payload, str) else payload
    bit, size = (0x80 if key else 0), len(payload)
    start = bytes([(0x80 if fin else 0) | opcode])
    if size < 126:
        start += bytes([bit | size])
    elif size < 65536:
        start += bytes([bit | 126]) + struct.pack("!H", size)
    else:
        start += bytes([bit | 127]) + struct.pack("!Q", size)
    return start + (key + masked(payload, key) if key else payload)


def mine(opcode, payload=b"", fin=True):
    """As a client sends it."""
    return frame(opcode, payload, fin, os.urandom(4))


def close(code, reason=""):
    return struct.pack("!H", code) + reason.encode()


def read_frame(peer):
    first, second = peer.take(2)
    size = second & 0x7f
    if size == 126:
        size, = struct.unpack("!H", peer.take(2))
    elif size == 127:
        size, = struct.unpack("!Q", peer.take(8))
    key = peer.take(4) if second & 0x80 else None
    payload = peer.take(size)
    return Frame(bool(first & 0x80), first & 0x7f, masked(payload, key) if key else payload, key)


def plain(one):
    """What of a frame a JSON line can show."""
    return [one.fin, one.opcode, one.payload.decode("latin-1")]


def ask(host="api.test", path="/ws", headers="", behind=b"", **kind):
    """A connection that asked for the upgrade, and the head of the answer."""
    from wire import Reply, Wire
    wire = Wire(host, **kind)
    wire.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{ASK}{headers}\r\n".encode("latin-1") +
              behind)
    reply = Reply()
    wire.head(reply)
    return wire, reply


def opened(*args, **kind):
    wire, reply = ask(*args, **kind)
    assert reply.status == 101, reply.summary()
    return wire
