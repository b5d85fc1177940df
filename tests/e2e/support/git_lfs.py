"""Git LFS on top of the git server: the batch API and a store, with three manners of per-object credentials."""

import hashlib
import json
import secrets
from urllib.parse import urlsplit

from . import echo
from .git_origin import _answer, _authorised, _run_backend
from .origin import Origin

LFS = "application/vnd.git-lfs+json"


class Lfs:
    """`manner` of the header that an object is fetched or stored with:
    "echo": the Authorization of the request itself, as GitLab and Gitea do; "store": another host and a credential made
    for it, as GitHub does; "minted": the same host, and a credential made for it."""

    def __init__(self, pair, root, password, manner):
        self.root, self.password, self.manner = root, password, manner
        self.objects, self.minted, self.used, self.batches = {}, [], [], 0
        self.origin = Origin(self._serve, pair, "lfs")
        self.origin.patience = 120     # git and its helpers are slow on a busy machine, and keep what they opened

    def _serve(self, conn):
        while True:
            request = conn.read_head()
            if "100-continue" in (request.get("expect") or "").lower():
                conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            conn.read_body(request)
            conn.requests.append(request)
            path = urlsplit(request.target).path
            if path.startswith("/objects/"):
                self._object(conn, request, path.rpartition("/")[2])
            elif not _authorised(request, self.password):
                echo.reply(conn, request, b"", "401 Unauthorized", [("WWW-Authenticate", 'Basic realm="git"'),
                                                                    ("LFS-Authenticate", 'Basic realm="git"')])
            elif path.endswith("/info/lfs/objects/batch"):
                self._batch(conn, request)
            elif "/info/lfs/" in path:
                echo.reply(conn, request, b'{"message":"no locks here"}', "404 Not Found", [("Content-Type", LFS)])
            else:
                _answer(conn, _run_backend(request, self.root))

    def _batch(self, conn, request):
        self.batches += 1
        asked = json.loads(request.body)
        found = []
        for each in asked["objects"]:
            known = each["oid"] in self.objects
            if (asked["operation"] == "upload") == known:
                found.append({**each, **({} if known else {"error": {"code": 404, "message": "none"}})})
                continue
            found.append({**each, "authenticated": True, "actions": {asked["operation"]: self._action(request, each)}})
        echo.reply(conn, request, json.dumps({"transfer": "basic", "objects": found}).encode(),
                   headers=[("Content-Type", LFS)])

    def _action(self, request, each):
        host = "store.test" if self.manner == "store" else "git.test"
        if self.manner == "echo":
            value = request.get("authorization")
        else:
            value = "RemoteAuth " + secrets.token_urlsafe(30)
            self.minted.append(value)
        return {"href": f"https://{host}/objects/{each['oid']}", "header": {"Authorization": value},
                "expires_in": 3600}

    def _object(self, conn, request, oid):
        given = request.get("authorization")
        good = _authorised(request, self.password) if self.manner == "echo" else given in self.minted
        self.used.append((request.method, given))
        if not good:
            echo.reply(conn, request, b"", "403 Forbidden")
        elif request.method == "PUT":
            assert hashlib.sha256(request.body).hexdigest() == oid
            self.objects[oid] = request.body
            echo.reply(conn, request)
        else:
            echo.reply(conn, request, self.objects[oid], headers=[("Content-Type", "application/octet-stream")])
