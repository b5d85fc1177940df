"""A scripted api.test beside an other.test that answers, so that liveness can be seen."""

from .origin import Origin

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def raw_origin(bench, pki, script, clear=False):
    """A scripted api.test; other.test answers ok, so that liveness can be seen."""
    origin = Origin(script, None if clear else pki.good)
    bench.map("api.test:80" if clear else "api.test:443", origin)

    def fine(conn):
        while True:
            conn.read_request()
            conn.send(OK)
    bench.map("other.test:443", Origin(fine, pki.good))
    return origin


def answer_ok(conn):
    while True:
        conn.read_request()
        conn.send(OK)
