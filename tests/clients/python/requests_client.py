from contextlib import contextmanager

import requests

from checks import HEADERS, http

print("version", requests.__version__)
session = requests.Session()


@contextmanager
def opened(method, url, body):
    with session.request(method, url, headers=HEADERS, data=body, stream=True, timeout=20) as answer:
        answer.raise_for_status()
        yield f"HTTP/{answer.raw.version / 10}", answer.iter_content(None)


http(opened)
