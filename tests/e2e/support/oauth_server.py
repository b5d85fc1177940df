"""A local OAuth server with an API behind it, over HTTP/1.1 and HTTP/2: it mints a new value each time, and remembers them."""

import base64
import json
import secrets
import threading
import time
import urllib.parse
from urllib.parse import parse_qsl, urlsplit

from . import echo
from .h2origin import H2Origin

CLIENT = "my-app"
CLIENT_SECRET = "cs-S3cr3tOfTheClient-0123456789"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


def mint(prefix):
    return prefix + secrets.token_urlsafe(30)


class OAuthServer:
    """RFC 6749 (code, refresh with rotation, client credentials), 7009, 8628, GitHub's forms and Docker's GET."""

    def __init__(self, pair, h2=False, life=3600):
        self.life = life
        self.minted, self.asked = [], []     # every value; (method, path, fields, credential) as they came
        self.access, self.refresh = {}, {}   # value -> when it ends, value -> is it good
        self.pending = 2                     # so often a device has to wait
        self.replies = {}                    # path -> (content type, body) instead of what it would say
        self._lock = threading.Lock()
        alpn = ("h2", "http/1.1") if h2 else ("http/1.1",)
        self.origin = H2Origin(self._on_stream, pair, alpn=alpn, h1=self._on_connection, name="oauth")
        self.address = self.origin.address

    def token(self, prefix="at-"):
        value = mint(prefix)
        self.minted.append(value)
        self.access[value] = time.monotonic() + self.life
        return value

    def fresh(self, prefix="rt-"):
        value = mint(prefix)
        self.minted.append(value)
        self.refresh[value] = True
        return value

    # -- the two protocols -------------------------------------------------------------------
    def _on_connection(self, conn):
        while True:
            request = conn.read_request()
            status, headers, body = self._answer(request.method, request.target, request.get, request.body)
            words = {200: "OK", 206: "Partial Content", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}
            echo.reply(conn, request, body, f"{status} {words[status]}", headers)

    def _on_stream(self, stream):
        body = stream.read_all()
        status, headers, out = self._answer(stream.method, stream.path, stream.get, body)
        stream.reply(out, status, [(n.lower(), v) for n, v in headers])

    def _answer(self, method, target, field, body):
        url = urlsplit(target)
        kind = (field("content-type") or "").partition(";")[0]
        if kind == JSON:
            fields = json.loads(body or b"{}")
        elif kind == FORM:
            fields = dict(parse_qsl(body.decode()))
        else:
            fields = dict(parse_qsl(url.query))
        credential = field("authorization") or ""
        with self._lock:
            self.asked.append((method, url.path, fields, credential))
            if url.path in self.replies:
                kind, text, *more = self.replies[url.path]
                return 200, [("Content-Type", kind), *more], text
            handler = {"/oauth/token": self._token, "/oauth/device": self._device,
                       "/oauth/revoke": self._revoke, "/oauth/introspect": self._introspect,
                       "/github/token": self._github, "/docker/token": self._docker,
                       "/me": self._me}.get(url.path)
            if handler is None:
                return self._json({"error": "no such page"}, 404)
            return handler(fields, credential, field)

    @staticmethod
    def _json(value, status=200, headers=()):
        return status, [("Content-Type", JSON + "; charset=utf-8"), ("Cache-Control", "no-store"),
                        *headers], json.dumps(value).encode()

    # -- token endpoint ----------------------------------------------------------------------
    @staticmethod
    def is_client(fields, credential):
        scheme, _, rest = credential.partition(" ")
        if scheme.lower() == "basic":
            user, _, password = base64.b64decode(rest).decode().partition(":")
            return (user, urllib.parse.unquote(password)) == (CLIENT, CLIENT_SECRET)
        return (fields.get("client_id"), fields.get("client_secret")) == (CLIENT, CLIENT_SECRET)

    def pair(self):
        return {"access_token": self.token(), "token_type": "Bearer", "expires_in": self.life,
                "refresh_token": self.fresh(), "scope": "read"}

    def _token(self, fields, credential, field):
        grant = fields.get("grant_type")
        if grant == "client_credentials":
            if not self.is_client(fields, credential):
                return self._json({"error": "invalid_client"}, 401)
            return self._json({"access_token": self.token(), "token_type": "Bearer",
                               "expires_in": self.life})
        if grant == "authorization_code" and fields.get("code") == "the-code":
            return self._json({**self.pair(), "id_token": self.fresh("eyJhbGciOiJub25lIn0.e30.")})
        if grant == "refresh_token":
            given = fields.get("refresh_token")
            if not self.refresh.get(given):
                return self._json({"error": "invalid_grant", "error_description": f"bad {given}"}, 400)
            self.refresh[given] = False          # rotation: each is good once
            return self._json(self.pair())
        if grant == "urn:ietf:params:oauth:grant-type:device_code":
            return self._poll(fields)
        return self._json({"error": "unsupported_grant_type"}, 400)

    def _device(self, fields, credential, field):
        return self._json({"device_code": "the-device", "user_code": "WDJB-MJHT", "interval": 1,
                           "verification_uri": "https://id.test/device", "expires_in": 900})

    def _poll(self, fields):
        if fields.get("device_code") != "the-device":
            return self._json({"error": "invalid_grant"}, 400)
        self.pending -= 1
        if self.pending >= 0:
            return self._json({"error": "authorization_pending",
                               "error_description": "the user has not yet answered"}, 400)
        return self._json(self.pair())

    def _revoke(self, fields, credential, field):
        given = fields.get("token")
        self.access.pop(given, None)
        self.refresh.pop(given, None)
        return 200, [], b""

    def _introspect(self, fields, credential, field):
        return self._json({"active": self._is_live(fields.get("token")), "client_id": CLIENT})

    def _github(self, fields, credential, field):
        """A form by default, JSON for who asks for it."""
        self.pending -= 1
        if self.pending >= 0:
            return 200, [("Content-Type", FORM)], b"error=authorization_pending&interval=1"
        reply = {"access_token": self.token("gho_"), "scope": "repo,read:org,gist", "token_type": "bearer"}
        if "json" in (field("accept") or ""):
            return self._json(reply)
        return 200, [("Content-Type", FORM + "; charset=utf-8")], urllib.parse.urlencode(reply).encode()

    def _docker(self, fields, credential, field):
        if not self.is_client(fields, credential):
            return self._json({"details": "incorrect username or password"}, 401)
        value = self.token("dk-")
        return self._json({"token": value, "access_token": value, "expires_in": self.life,
                           "issued_at": "2026-01-01T00:00:00Z"})

    # -- the API -----------------------------------------------------------------------------
    def _is_live(self, value):
        return self.access.get(value, 0) > time.monotonic()

    def _me(self, fields, credential, field):
        value = credential.partition(" ")[2]
        if not self._is_live(value):
            return self._json({"error": "invalid_token"}, 401, [("WWW-Authenticate", 'Bearer error="invalid_token"')])
        return self._json({"login": "octo", "you_sent": value})

    def of(self, path):
        return [(fields, credential) for _, p, fields, credential in self.asked if p == path]

    def stop(self):
        self.origin.stop()

    @property
    def errors(self):
        return self.origin.errors
