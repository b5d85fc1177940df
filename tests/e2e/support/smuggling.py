"""The corpus of ambiguous messages (tests/corpus/smuggling says what is in it), and what must be
true of every byte that reaches an HTTP/1.1 origin: one reading, whoever reads."""

import re
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[2] / "corpus" / "smuggling"

_MACROS = {"{get}": "GET {path} HTTP/1.1\\r\\nHost: api.test\\r\\n",
           "{post}": "POST {path} HTTP/1.1\\r\\nHost: api.test\\r\\n",
           "{evil}": "GET /evil HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n",
           "{ok}": "HTTP/1.1 200 OK\\r\\n",
           "{bad}": "HTTP/1.1 200 EVIL\\r\\nContent-Length: 4\\r\\n\\r\\nEVIL"}
_ESCAPES = {"r": "\r", "n": "\n", "t": "\t", "\\": "\\"}


@dataclass(frozen=True)
class Case:
    name: str
    verdict: str
    text: str

    def bytes(self, path="", scheme="https", port=443) -> bytes:
        text = self.text
        for macro, meaning in (*_MACROS.items(), ("{path}", path), ("{scheme}", scheme),
                               ("{port}", str(port))):
            text = text.replace(macro, meaning)
        text = re.sub(r"\{(\d+)\*([^}]*)\}", lambda m: m[2] * int(m[1]), text)
        text = re.sub(r"\\(?:x([0-9a-f]{2})|(.))",
                      lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPES.get(m[2], m[2]), text)
        return text.encode("latin-1")


def corpus(name):
    found = []
    for line in (CORPUS / name).read_text().splitlines():
        if line and not line.startswith("#"):
            case, verdict, text = line.split("|", 2)
            found.append(Case(case.strip(), verdict.strip(), text[1:]))
    return found


# -- what an origin may get ------------------------------------------------------------------------
_LINE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Z-]{1,32} (?:/[\x21-\x7e]*|\*) HTTP/1\.1")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):(?: ([\x21-\x7e\x80-\xff]"
                    rb"(?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)?")
_CHUNK = re.compile(rb"[0-9a-fA-F]{1,15}\r\n")
_HOP = {b"connection", b"keep-alive", b"proxy-connection", b"upgrade", b"proxy-authorization"}

_NOT_IN_TRAILERS = {"host", "content-length", "transfer-encoding", "authorization", "cookie", "te",
                    "proxy-authorization", "connection", "upgrade", "expect", "keep-alive"}


class Ambiguous(AssertionError):
    """The origin got bytes that another server could read in another way."""


@dataclass
class Plain:
    """One request that arrived, read by the strictest reader there is."""
    line: str
    fields: list
    body: bytes = b""
    whole: bool = False

    @property
    def target(self):
        return self.line.split(" ")[1]

    @property
    def host(self):
        return dict(self.fields)["host"].lower().rstrip(".")

    @property
    def head(self):
        return self.line + "\n" + "\n".join(": ".join(f) for f in self.fields)


def _demand(condition, what, data):
    if not condition:
        raise Ambiguous(f"{what}: {bytes(data[:300])!r}")


def _fields(block, data):
    found = []
    for line in block.split(b"\r\n"):
        field = _FIELD.fullmatch(line)
        _demand(field, f"a field of two readings, {line!r}", data)
        found.append((field[1].decode().lower(), (field[2] or b"").decode("latin-1")))
    return found


def read_plain(data: bytes):
    """The requests in all that a connection got; the last one may have broken off."""
    found, at = [], 0
    while at < len(data):
        end = data.find(b"\r\n\r\n", at)
        if end < 0:
            break
        line, _, block = data[at:end].partition(b"\r\n")
        _demand(_LINE.fullmatch(line), "a request line of two readings", line)
        request = Plain(line.decode(), _fields(block, data[at:]))
        found.append(request)
        at = _read_body(request, data, end + 4)
    return found


def _read_body(request, data, at):
    names = [n.encode() for n, _ in request.fields]
    _demand(names.count(b"host") == 1, "not one Host", data[at - 300:at])
    _demand(not _HOP & set(names), "a field of the client's connection", request.head.encode())
    lengths = [v for n, v in request.fields if n == "content-length"]
    codings = [v for n, v in request.fields if n == "transfer-encoding"]
    _demand(len(lengths) + len(codings) <= 1, "two framings", request.head.encode())
    if codings:
        _demand(codings == ["chunked"], "a coding of two readings", request.head.encode())
        return _read_chunks(request, data, at)
    size = 0
    if lengths:
        _demand(re.fullmatch("[0-9]{1,18}", lengths[0]), "a length of two readings",
                request.head.encode())
        size = int(lengths[0])
    request.body = data[at:at + size]
    request.whole = len(request.body) == size
    return at + size


def _read_chunks(request, data, at):
    while True:
        line_end = data.find(b"\r\n", at)
        if line_end < 0:
            return len(data)
        _demand(_CHUNK.fullmatch(data[at:line_end + 2]), "a chunk size of two readings", data[at:])
        size = int(data[at:line_end], 16)
        at = line_end + 2
        if size == 0:
            end = data.find(b"\r\n", at) if data[at:at + 2] == b"\r\n" else data.find(
                b"\r\n\r\n", at)
            if end < 0:
                return len(data)
            if end > at:
                trailers = _fields(data[at:end], data[at:])
                _demand(not {n for n, _ in trailers} & _NOT_IN_TRAILERS,
                        "a field in trailers that is acted on", data[at:])
                end += 2
            request.whole = True
            return end + 2
        request.body += data[at:at + size]
        tail = data[at + size:at + size + 2]
        _demand(tail == b"\r\n"[:len(tail)], "a chunk that does not end in CRLF", data[at:])
        at += size + 2


# -- HTTP/2 ----------------------------------------------------------------------------------------
def h2_parts(case, path):
    """(fields, pieces of data, trailers) of a case of h2_requests.txt, all latin-1 text."""
    fields = [[":method", "GET"], [":scheme", "https"], [":authority", "api.test"],
              [":path", path]]
    data, trailers = [], []
    for change in case.text.split(" ; "):
        text = Case("", "", change).bytes(path).decode("latin-1")
        if text.startswith("-:"):
            fields = [f for f in fields if f[0] != text[1:]]
        elif text.startswith("data="):
            data.append(text[5:])
        elif text.startswith("trailer:"):
            trailers.append(text[8:].split("=", 1))
        elif text[0] in "+^":
            fields.insert(len(fields) if text[0] == "+" else 0, text[1:].split("=", 1))
        else:
            name, _, value = text.partition("=")
            next(f for f in fields if f[0] == name)[1] = value
    return fields, data, trailers
