#!/usr/bin/env python3
"""Checks Warder's audit files and proofs with nothing of Warder's (audit/FORMAT.md has the rules).

verify_audit.py VKEY FILE…    exit 0: all is there and signed by VKEY; 1: it is not; 2: usage.
FILE is an audit file (*.jsonl, closed) or what `warder audit prove` wrote. Needs python3-cryptography."""
import base64
import functools
import hashlib
import json
import pathlib
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()

def need(good, what):
    if not good:
        raise ValueError(what)

def decoded(text):
    return base64.b64decode(text, validate=True)

def opened(note, vkey):
    """(origin, size, root) of a signed note, once its signature by the key is good."""
    name, number, key = vkey.split("+", 2)
    need(sha(name.encode(), b"\n", decoded(key))[:4].hex() == number, "VKEY is no verifier key")
    text, _, signatures = note.rpartition("\n\n")
    for line in signatures.splitlines():
        dash, who, data = line.split(" ")
        if (dash, who, decoded(data)[:4].hex()) == ("—", name, number):
            Ed25519PublicKey.from_public_bytes(decoded(key)[1:]).verify(decoded(data)[4:], (text + "\n").encode())
            origin, size, root = text.split("\n")
            return origin, int(size), decoded(root)
    raise ValueError("no signature by this key")

def add(edge, size, leaf):
    """Appends a leaf to a tree of `size` leaves, of which only the right edge is kept."""
    while size & 1:
        leaf, size = sha(b"\1", edge.pop(), leaf), size >> 1
    edge.append(leaf)

def root_of(edge):
    return functools.reduce(lambda node, left: sha(b"\1", left, node), reversed(edge))

def check_log(data, vkey):
    need(data.endswith(b"\n"), "the last line is cut off")
    edge, prev, types, before, origin = [], "", [], {}, ""
    for number, line in enumerate(data[:-1].split(b"\n")):
        record, at = json.loads(line), f"record {number}: "
        need(record["v"] == 1 and record["seq"] == number, at + "another number stands there")
        need(record["prev"] == prev, at + "it does not follow the one before")
        types.append(record["type"])
        origin = record["origin"] if number == 0 else origin
        if record["type"] == "checkpoint":
            need(opened(record["note"], vkey) == (origin, number, root_of(edge)), at + "other records were signed")
            whole = {"v": 1, "seq": number, "time": before["time"], "mono_ns": before["mono_ns"],
                     "type": "checkpoint", "note": record["note"], "prev": prev}
            need(json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode() == line, at + "the line around the note was changed")
        before, leaf = record, sha(b"\0", line)
        add(edge, number, leaf)
        prev = base64.b64encode(leaf).decode()
    need(types[0] == "log", "no header")
    need(types[-2:] == ["close", "checkpoint"], "no closing checkpoint: records may be missing")
    return f"intact, {len(types)} records of {origin}"

def check_proof(text, vkey):
    (first, record), (kind, index, *path), note = (
        part.split("\n") if i < 2 else part for i, part in enumerate(text.split("\n\n", 2)))
    need((first, kind) == ("warder-audit-proof 1", "c2sp.org/tlog-proof@v1"), "no proof")
    (origin, size, root), index = opened(note, vkey), int(index.removeprefix("index "))
    need(json.loads(record)["seq"] == index < size, "the record has another number")
    node, fn, sn = sha(b"\0", record.encode()), index, size - 1  # RFC 9162, 2.1.3.2
    for step in map(decoded, path):
        need(sn > 0, "too long a path")
        if fn & 1 or fn == sn:
            node = sha(b"\1", step, node)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            node = sha(b"\1", node, step)
        fn, sn = fn >> 1, sn >> 1
    need(sn == 0 and node == root, "the record is not in that log")
    return f"proved, record {index} of {size} in {origin}:\n{record}"

def main(vkey, *files):
    code = 0
    for file in files:
        data = pathlib.Path(file).read_bytes()
        try:
            proof = data.startswith(b"warder-audit-proof")
            print(f"{file}:", check_proof(data.decode(), vkey) if proof else check_log(data, vkey))
        except (ValueError, KeyError, TypeError, InvalidSignature) as error:
            code = print(f"{file}: broken: {error or 'bad signature'}") or 1
    return code

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 2 else print(__doc__) or 2)
