import sys
from contextlib import contextmanager

import httpx

from checks import HEADERS, http

print("version", httpx.__version__)
client = httpx.Client(http2=sys.argv[1:] == ["h2"], timeout=20)


@contextmanager
def opened(method, url, body):
    with client.stream(method, url, headers=HEADERS, content=body) as answer:
        answer.raise_for_status()
        yield answer.http_version, answer.iter_bytes()


http(opened)
