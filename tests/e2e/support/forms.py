"""The ways in which docs/masking.md says that a value is found, written by Python; and undone by Python."""

import base64
import functools
import html
import html.entities
import json
import re
import urllib.parse

_NAMES = {}
for _name, _text in html.entities.html5.items():
    if _name.endswith(";") and len(_text) == 1 and ord(_text) < 128:
        _NAMES.setdefault(_text, "&" + _name)


def _every(text, how, nth=1):
    return "".join(how(c) if i % nth == 0 else c for i, c in enumerate(text))


def _upper(c):
    return f"%{ord(c):02X}"


def _lower(c):
    return f"%{ord(c):02x}"


def _u(c):
    return f"\\u{ord(c):04x}"


def _decimal(c):
    return f"&#{ord(c)};"


def _named(c):
    return _NAMES.get(c, f"&#x{ord(c):X};")


def _quote(text):
    return urllib.parse.quote(text, safe="")


def _json(text, times=1):
    for _ in range(times):
        text = json.dumps(text)[1:-1]
    return text


def _in_base64(value):
    found = {}
    for alphabet, coder in (("base64", base64.b64encode), ("base64url", base64.urlsafe_b64encode)):
        for shift in range(3):
            text = coder(b"x" * shift + value.encode() + b"y" * 5).decode()
            found[f"{alphabet} +{shift}"] = text
            found[f"{alphabet} +{shift} unpadded"] = text.rstrip("=")
            found[f"{alphabet} +{shift} at its end"] = coder(b"x" * shift + value.encode()).decode()
        found[f"{alphabet} of a pair"] = coder(f"x-access-token:{value}".encode()).decode()
    text = found["base64 of a pair"]
    found |= {"percent base64": _quote(text), "percent base64, all": _every(text, _lower),
              "json base64": text.replace("/", "\\/").replace("+", "\\u002b").replace("=", "\\u003D"),
              "html base64": _every(text, _decimal, 3)}
    return found


def forms(value, plain=True):
    """Name to text. Not `plain`: the value itself holds `%`, `\\` or `&`, of which less is promised."""
    found = {"raw": value, "hex": value.encode().hex(), "HEX": value.encode().hex().upper(),
             "percent": _quote(value), "json": _json(value),
             "json slashes": _json(value).replace("/", "\\/"), **_in_base64(value)}
    found["percent hex"] = _every(found["hex"], _upper, 2)
    if not plain:
        return {n: t for n, t in found.items() if not n.startswith(("percent ", "json b", "html"))}
    return found | {
        "percent, all upper": _every(value, _upper), "percent, all lower": _every(value, _lower),
        "percent, some": _every(value, _upper, 3), "percent, mixed": _every(_every(value, _lower, 2), str),
        "percent, twice": _quote(_every(value, _upper, 2)), "percent, four times":
            _quote(_quote(_quote(_every(value, _lower, 4)))),
        "json, all": _every(value, _u), "json, some": _every(value, _u, 4),
        "json, upper": _every(value, lambda c: f"\\u{ord(c):04X}", 2),
        "json, x": _every(value, lambda c: f"\\x{ord(c):02x}", 2),
        "json in json": _json(_every(value, _u, 3).replace("/", "\\/"), 1) if '"' not in value
            else _json(value, 2), "json in json in json": _json(_json(value, 2)),
        "json, escaped thrice": _json(_every(value, _u, 5), 2) if '"' not in value else _json(value, 3),
        "html, decimal": _every(value, _decimal), "html, some": _every(value, _decimal, 3),
        "html, zeros": _every(value, lambda c: f"&#{ord(c):05};", 2),
        "html, hex": _every(value, lambda c: f"&#x{ord(c):x};", 2),
        "html, HEX": _every(value, lambda c: f"&#X{ord(c):X};"),
        "html, named": _every(value, _named), "html, escape()": html.escape(value),
        "html, twice": html.escape(_every(value, _named, 2)),
        "json of html": _every(value, _decimal, 3).replace("&", "\\u0026"),
        "percent of html": _quote(_every(value, _decimal, 2)),
        "html of percent": _every(value, _upper, 2).replace("%", "&#37;"),
        "percent, json and html by turns": "".join((_upper, _u, _decimal, str)[i % 4](c)
                                                   for i, c in enumerate(value))}


# -- undone ----------------------------------------------------------------------------------------
_JSON = re.compile(rb"\\(?:u00([0-9a-fA-F]{2})|x([0-9a-fA-F]{2})|([\"'/\\]))")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{8,}")
_HEX = re.compile(rb"(?:[0-9a-fA-F]{2}){6,}")


def _unjson(text):
    return _JSON.sub(lambda m: m[3] or bytes([int(m[1] or m[2], 16)]), text)


def _unhtml(text):
    return html.unescape(text.decode("latin-1")).encode("utf-8", "replace") if b"&" in text else text


def _leaves(view):
    """What stands in base64 or hex, at each alignment."""
    for run in _BASE64.findall(view.translate(bytes.maketrans(b"-_", b"+/"))):
        for at in range(4):
            part = run[at:]
            part = part[:len(part) - (len(part) % 4 == 1)]
            yield base64.b64decode(part + b"=" * (-len(part) % 4))
    for run in _HEX.findall(view):
        yield bytes.fromhex(run.decode())
        yield bytes.fromhex(run[1:-1].decode())


@functools.lru_cache(200_000)
def read_in_every_way(text: bytes, deepest=8) -> bytes:
    """All that a reader could make of it, in lines: escapes undone in any order, then base64 and hex."""
    seen, ring = {text}, [text]
    for _ in range(deepest):
        ring = {undo(view) for view in ring
                for undo in (_unjson, _unhtml, urllib.parse.unquote_to_bytes)} - seen
        seen |= ring
    leaves = {leaf for view in seen for leaf in _leaves(view)}
    return b"\n".join(seen | leaves)


def words(text: bytes):
    return set(re.split(rb"[\s\[\]]+", text))


def says(text: bytes, *needles: bytes):
    """Can any of them be read in a word of it? None of them has a space in it."""
    return any(needle in read for read in map(read_in_every_way, words(text)) for needle in needles)
