"""Tokens that an origin hands out: the sandbox logs in, refreshes and revokes, and holds placeholders only."""

import base64
import json
import re
import shutil
from urllib.parse import parse_qsl, urlencode

import pytest

from support.bench import PYTHON
from support.oauth_server import CLIENT, CLIENT_SECRET, FORM, JSON, OAuthServer
from support.origin import Origin
from test_placeholder_shapes import CLAIMS, checksum, jwt_value, text, with_checksum

GRANT = {"capture": {"name": "acme", "hosts": ["id.test"],
                     "paths": ["/oauth/token", "/oauth/revoke", "/oauth/introspect", "/github/token",
                               "/docker/token", "/odd/**"]},
         "hosts": ["papi.test"]}
RULES = [{"name": "all", "hosts": ["id.test", "papi.test", "other.test"], "action": "allow"}]
CLIENT_ENV = {"REAL_CLIENT": CLIENT_SECRET}


@pytest.fixture(params=["h1", "h2"])
def server(request, bench, pki):
    yield from started(bench, pki, h2=request.param == "h2")


@pytest.fixture
def h1_server(bench, pki):
    yield from started(bench, pki, h2=False)


def started(bench, pki, h2):
    made = OAuthServer(pki.leaf("oauth", ["id.test", "papi.test", "api.github.com", "github.com"]), h2)
    bench.map("id.test:443", made.origin).map("papi.test:443", made.origin)
    set_up(bench)
    yield made


def set_up(bench, *, at=None, client=None, **capture):
    """`client`: where the client's own secret goes, at the endpoint."""
    grant = {**GRANT, **({"at": at} if at else {}), "capture": {**GRANT["capture"], **capture}}
    secrets, grants = {}, [grant]
    if client:
        secrets = {"client": {"source": {"env": "REAL_CLIENT"}, "placeholder": {"env": "CLIENT_SECRET"}}}
        grants = [{"secret": "client", "hosts": ["id.test"], "at": client}, grant]
    bench.config(rules=RULES, secrets=secrets, grants=grants)


def hidden(server, done):
    """Nothing that the server made is in what the sandbox printed or the log keeps."""
    assert server.minted, "the server minted nothing: there is nothing that could leak"
    everything = done.text + done.error + json.dumps(done.records)
    for value in [*server.minted, CLIENT_SECRET]:
        assert value not in everything, done
    return done


def names(done):
    """(secret, place) of what was put in, and of what was captured."""
    used = [(u["name"], u["place"]) for r in done.records if r.get("decision") == "allow" for u in r["uses"]]
    kept = [(m["name"], m["encoding"]) for r in done.records if r["type"] == "receipt" for m in r["masked"]
            if m["encoding"] == "captured"]
    return used, kept


# What a script inside shares: every answer is printed whole, so that the test sees all that arrived.
INSIDE = """
import json, os, sys, time, requests
def ask(method, url, **more):
    reply = requests.request(method, url, timeout=10, **more)
    print(json.dumps({"url": url, "status": reply.status_code, "headers": dict(reply.headers),
                      "text": reply.text, "reason": reply.headers.get("Warder-Reason", "")}), flush=True)
    return reply
def token(**fields): return ask("POST", "https://id.test/oauth/token", data=fields)
def me(value): return ask("GET", "https://papi.test/me", headers={"Authorization": "Bearer " + value})
"""


def script(bench, text, **more):
    bench.write("client.py", INSIDE + text)
    return bench.run([PYTHON, "-B", str(bench.ws / "client.py")], **more)


# -- the flows ---------------------------------------------------------------------------------------
def test_code_then_refresh_with_rotation(bench, server):
    done = hidden(server, script(bench, """
first = token(grant_type="authorization_code", code="the-code", client_id="my-app").json()
me(first["access_token"])
second = token(grant_type="refresh_token", refresh_token=first["refresh_token"]).json()
me(second["access_token"])
token(grant_type="refresh_token", refresh_token=first["refresh_token"])      # it is used up
third = token(grant_type="refresh_token", refresh_token=second["refresh_token"]).json()
me(third["access_token"])
"""))
    assert [line["status"] for line in done.lines] == [200, 200, 200, 200, 400, 200, 200], done
    first, who, second = (json.loads(line["text"]) for line in done.lines[:3])
    assert who["you_sent"] == first["access_token"]      # masked on its way back
    real = server.minted[0]
    assert len(first["access_token"]) == len(real) and first["access_token"] != real
    assert len({first[k] for k in ("access_token", "refresh_token", "id_token")} |
               {second[k] for k in ("access_token", "refresh_token")}) == 5
    # An error that quotes the refresh token is masked too.
    assert json.loads(done.lines[4]["text"])["error_description"] == f"bad {first['refresh_token']}"
    used, kept = names(done)
    assert used[:2] == [("acme.access_token", "header:authorization"),
                        ("acme.refresh_token", "body:form:refresh_token")], used
    assert [name for name, _ in kept][:3] == ["acme.access_token", "acme.refresh_token", "acme.id_token"]


@pytest.mark.parametrize("way", ["basic", "body:form:client_secret"])
def test_client_credentials(bench, server, way):
    set_up(bench, client=[way])
    auth = ('auth=("my-app", os.environ["CLIENT_SECRET"]), data={"grant_type": "client_credentials"}'
            if way == "basic" else
            'data={"grant_type": "client_credentials", "client_id": "my-app", '
            '"client_secret": os.environ["CLIENT_SECRET"]}')
    done = hidden(server, script(bench, f"""
reply = ask("POST", "https://id.test/oauth/token", {auth})
me(reply.json()["access_token"])
""", env=CLIENT_ENV))
    assert [line["status"] for line in done.lines] == [200, 200], done
    assert names(done)[0] == [("client", way), ("acme.access_token", "header:authorization")]


def test_device_flow(bench, server):
    done = hidden(server, script(bench, """
device = ask("POST", "https://id.test/oauth/device", data={"client_id": "my-app"}).json()
while True:
    reply = token(grant_type="urn:ietf:params:oauth:grant-type:device_code", client_id="my-app",
                  device_code=device["device_code"]).json()
    if reply.get("error") != "authorization_pending": break
    time.sleep(0.1)
me(reply["access_token"])
"""))
    assert [line["status"] for line in done.lines] == [200, 400, 400, 200, 200], done


def test_revocation_and_introspection(bench, server):
    done = hidden(server, script(bench, """
first = token(grant_type="authorization_code", code="the-code").json()
def tell(what, value): return ask("POST", f"https://id.test/oauth/{what}", data={"token": value})
tell("introspect", first["access_token"])
tell("revoke", first["access_token"])
tell("introspect", first["access_token"])
me(first["access_token"])
tell("revoke", first["refresh_token"])
token(grant_type="refresh_token", refresh_token=first["refresh_token"])
"""))
    assert [line["status"] for line in done.lines] == [200, 200, 200, 200, 401, 200, 400], done
    assert ["true" in done.lines[i]["text"] for i in (1, 3)] == [True, False]
    assert [f["token"] for f, _ in server.of("/oauth/revoke")] == server.minted[:2]


def test_a_form_as_github_s_and_json_for_who_asks(bench, server):
    done = hidden(server, script(bench, """
from urllib.parse import parse_qsl
URL = "https://id.test/github/token"
for _ in range(2): ask("POST", URL, data={"client_id": "x"})
form = dict(parse_qsl(ask("POST", URL, data={"client_id": "x"}).text))
me(form["access_token"])
me(ask("POST", URL, data={"client_id": "x"}, headers={"Accept": "application/json"}).json()["access_token"])
"""))
    assert [line["status"] for line in done.lines] == [200] * 6, done
    assert dict(parse_qsl(done.lines[0]["text"]))["error"] == "authorization_pending"
    form = dict(parse_qsl(done.lines[2]["text"]))
    assert (form["scope"], form["token_type"]) == ("repo,read:org,gist", "bearer")
    assert form["access_token"].startswith("gho_")


@pytest.mark.parametrize("kind", [JSON, FORM])
def test_what_the_sandbox_holds_has_the_shape_and_length_of_what_was_minted(bench, server, kind):
    minted = {"access_token": with_checksum("ghu_"), "refresh_token": "ghr_" + text(76), "id_token": jwt_value()}
    server.minted += minted.values()
    reply = {**minted, "token_type": "bearer", "expires_in": 3600}
    body = json.dumps(reply) if kind == JSON else urlencode(reply)
    server.replies["/oauth/token"] = (kind, body.encode())
    done = hidden(server, script(bench, 'ask("POST", "https://id.test/oauth/token", data={"code": "x"})'))
    got = json.loads(done.lines[0]["text"]) if kind == JSON else dict(parse_qsl(done.lines[0]["text"]))
    assert {k: len(v) for k, v in minted.items()} == {k: len(got[k]) for k in minted}, got
    assert re.fullmatch(r"ghu_[0-9a-zA-Z]{36}", got["access_token"]), got
    assert got["access_token"][-6:] == checksum(got["access_token"][4:-6]), got
    assert re.fullmatch(r"ghr_[0-9a-zA-Z]{76}", got["refresh_token"]), got
    head, body, _ = (base64.urlsafe_b64decode(p + "==") for p in got["id_token"].split("."))
    assert json.loads(head)["alg"] == "HS256" and json.loads(body)["sub"] == CLAIMS["sub"], got
    assert "email" not in json.loads(body)
    assert str(got["expires_in"]) == "3600" and got["token_type"] == "bearer"


def test_nested_tokens_as_slack_s(bench, server):
    bot, user = server.token("xoxb-"), server.token("xoxp-")
    server.replies["/odd/slack"] = (JSON, json.dumps(
        {"ok": True, "access_token": bot, "authed_user": {"id": "U1", "access_token": user},
         "teams": [{"id": 1, "accessToken": bot}]}).encode())
    done = hidden(server, script(bench, """
reply = ask("POST", "https://id.test/odd/slack", data={}).json()
me(reply["access_token"])
me(reply["authed_user"]["access_token"])
"""))
    reply = json.loads(done.lines[0]["text"])
    assert reply["access_token"] == reply["teams"][0]["accessToken"]
    assert [line["status"] for line in done.lines] == [200, 200, 200], done
    assert [c for _, c in server.of("/me")] == [f"Bearer {bot}", f"Bearer {user}"]


def test_a_registry_s_token_endpoint(bench, server):
    """What docker, skopeo and their like ask: a GET with Basic."""
    set_up(bench, client=["basic"])
    done = hidden(server, script(bench, """
reply = ask("GET", "https://id.test/docker/token?service=reg&scope=repository:a/b:pull",
            auth=("my-app", os.environ["CLIENT_SECRET"])).json()
assert reply["token"] == reply["access_token"]
me(reply["token"])
""", env=CLIENT_ENV))
    assert [line["status"] for line in done.lines] == [200, 200], done
    assert names(done)[0] == [("client", "basic"), ("acme.token", "header:authorization")]


# -- life and bounds ---------------------------------------------------------------------------------
def test_an_expired_token_is_401_and_the_client_refreshes(bench, server):
    server.life = 1
    done = hidden(server, script(bench, """
tokens = token(grant_type="authorization_code", code="the-code").json()
me(tokens["access_token"])
time.sleep(1.2)
me(tokens["access_token"])
tokens = token(grant_type="refresh_token", refresh_token=tokens["refresh_token"]).json()
me(tokens["access_token"])
"""))
    assert [(line["status"], line["reason"]) for line in done.lines] == \
        [(200, ""), (200, ""), (401, "secret_expired"), (200, ""), (200, "")], done
    assert done.lines[2]["headers"]["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert len(server.of("/me")) == 2           # the expired one never left


def test_tokens_are_bound_to_the_grant_s_hosts_and_places(bench, h1_server):
    server = h1_server
    done = hidden(server, script(bench, """
t = token(grant_type="authorization_code", code="the-code").json()
bearer = lambda value: {"Authorization": "Bearer " + value}
ask("GET", "https://other.test/", headers=bearer(t["access_token"]))
ask("GET", "https://id.test/me", headers=bearer(t["access_token"]))
ask("GET", "https://papi.test/me", headers=bearer(t["refresh_token"]))
ask("GET", "https://papi.test/me?access_token=" + t["access_token"])
ask("POST", "https://papi.test/me", data={"token": t["access_token"]})
ask("POST", "https://id.test/oauth/token", data={"refresh_token": t["access_token"]})
ask("GET", "https://papi.test/me", headers=bearer("a-token-of-my-own"))
"""))
    assert [line["status"] for line in done.lines] == [200] + [403] * 7, done
    assert [line["reason"] for line in done.lines[1:]] == \
        ["placeholder_wrong_host", "placeholder_wrong_place", "placeholder_wrong_host",
         "placeholder_wrong_place", "placeholder_wrong_place", "placeholder_wrong_place",
         "foreign_credential"], done
    assert len(server.asked) == 1


def test_the_oldest_of_many_tokens_goes(bench, h1_server):
    done = hidden(h1_server, script(bench, """
held = [token(grant_type="authorization_code", code="the-code").json()["access_token"] for _ in range(12)]
me(held[0])
me(held[-1])
"""))
    # 36 tokens: the first 4 are over, as if they had run out.
    assert [(line["status"], line["reason"]) for line in done.lines[-2:]] == [(401, "secret_expired"), (200, "")], done


# -- what must not pass --------------------------------------------------------------------------------
def hiding(value):
    inner = json.dumps({"access_token": value})
    return {
        "json in a text": (JSON, json.dumps({"data": inner}).encode()),
        "a form in a text": (JSON, json.dumps({"data": f"access_token={value}&x=y"}).encode()),
        "no text": (JSON, json.dumps({"access_token": {"value": value}}).encode()),
        "not well-formed": (JSON, inner[:-1].encode()),
        "two documents": (JSON, (inner + inner).encode()),
        "xml": ("application/xml", f"<OAuth><access_token>{value}</access_token></OAuth>".encode()),
        "yaml": ("application/yaml", f"access_token: {value}".encode()),
        "a bare JWT": ("application/jwt", value.encode()),
        "too long": (JSON, json.dumps({"pad": "x" * 300_000, "access_token": value}).encode()),
        "a script": ("text/javascript", f"f({inner})".encode()),
        "behind a mark": ("text/plain", b"\xef\xbb\xbf" + inner.encode()),
        "coded": (JSON, __import__("gzip").compress(inner.encode()), ("Content-Encoding", "gzip")),
    }


@pytest.mark.parametrize("kind", hiding(""))
def test_a_reply_with_a_hidden_token_is_refused(bench, server, kind):
    value = server.token()
    server.replies["/odd/reply"] = hiding(value)[kind]
    done = hidden(server, script(bench, 'ask("POST", "https://id.test/odd/reply", data={})'))
    assert [(line["status"], line["reason"]) for line in done.lines] == [(502, "response_unmaskable")], done
    assert [r["reason"] for r in done.records if r["type"] == "receipt"] == ["response_unmaskable"]


@pytest.mark.parametrize("path", ["/oauth/%74oken", "//oauth/token", "/oauth/token/", "/oauth/token;x=y",
                                  "/oauth%2ftoken", "/oauth/token?x=y"])
def test_no_spelling_of_the_path_leads_past_the_capture(bench, h1_server, path):
    """A server that reads the path as /oauth/token, whatever it was sent as."""
    value = h1_server.token()
    h1_server._answer = lambda *_: (200, [("Content-Type", JSON)], json.dumps({"access_token": value}).encode())
    done = hidden(h1_server, bench.run(f"curl -sS --path-as-is -X POST 'https://id.test{path}'"))
    assert json.loads(done.text).get("access_token"), done


def test_a_part_of_the_reply_is_not_asked_for(bench, h1_server):
    """A slice of a token has no key, so a server that knows ranges must not see one, nor may one that has its own way."""
    value = h1_server.token()
    whole = b'access_token=' + value.encode()

    def answer(method, target, field, body):
        h1_server.asked.append((method, target, {}, field("range")))
        part = field("range") or "forced" in target
        return 206 if part else 200, [("Content-Type", "text/plain")], whole[15:] if part else whole
    h1_server._answer = answer
    done = hidden(h1_server, bench.run("curl -sS -H 'Range: bytes=15-' https://id.test/oauth/token; echo; "
                                       "curl -sS 'https://id.test/oauth/token?forced'"))
    assert [seen for _, _, _, seen in h1_server.asked] == [None, None]
    assert done.text.startswith("access_token=") and "response_unmaskable" in done.text, done
    assert value[2:] not in done.text


def test_in_clear_text_tokens_are_captured_too(bench, h1_server):
    value = h1_server.token()

    def serve(conn):
        conn.read_request()
        body = json.dumps({"access_token": value}).encode()
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                  % (len(body), body))
    bench.map("id.test:80", Origin(serve, name="clear"))
    set_up(bench)
    done = hidden(h1_server, bench.run("curl -sS -X POST http://id.test/oauth/token"))
    assert len(json.loads(done.text)["access_token"]) == len(value), done


# -- real clients --------------------------------------------------------------------------------------
def test_requests_oauthlib_refreshes_by_itself(bench, server):
    done_import = bench.run([PYTHON, "-c", "import requests_oauthlib"])
    if done_import.code != 0:
        pytest.skip("no requests-oauthlib")
    server.life = 2
    done = hidden(server, script(bench, """
from requests_oauthlib import OAuth2Session
saved = []
client = OAuth2Session("my-app", redirect_uri="https://app.test/cb", auto_refresh_url="https://id.test/oauth/token",
                       auto_refresh_kwargs={"client_id": "my-app"}, token_updater=saved.append)
client.fetch_token("https://id.test/oauth/token", code="the-code", include_client_id=True)
print(json.dumps({"got": dict(client.token)}))
for _ in range(3):
    reply = client.get("https://papi.test/me")
    print(json.dumps({"status": reply.status_code, "me": reply.json(), "refreshed": len(saved)}), flush=True)
    if len(saved): client.token = saved[-1]
    time.sleep(2.2)
"""))
    assert [(line["status"], line["refreshed"]) for line in done.lines[1:]] == [(200, 0), (200, 1), (200, 2)], done
    assert [f["grant_type"] for f, _ in server.of("/oauth/token")] == \
        ["authorization_code", "refresh_token", "refresh_token"]


def test_gh_logs_in_by_a_device_code(bench, pki, h1_server):
    """gh's own flow: forms from github.com, the token in its hosts.yml, then the API."""
    if not shutil.which("gh", path="/usr/local/bin:/usr/bin:/bin"):
        pytest.skip("gh is not installed")
    server, answer = h1_server, h1_server._answer

    def github(method, target, field, body):
        if target == "/login/device/code":
            server.asked.append((method, target, {}, ""))
            return 200, [("Content-Type", FORM)], (b"device_code=the-device&user_code=WDJB-MJHT&interval=1&"
                                                   b"verification_uri=https%3A%2F%2Fgithub.com%2Flogin%2Fdevice&expires_in=900")
        if target == "/login/oauth/access_token":
            return answer(method, "/github/token", field, body)
        credential = field("authorization") or ""
        server.asked.append((method, target, {}, credential))
        scopes = [("X-OAuth-Scopes", "repo, read:org, gist")]
        if not server._is_live(credential.partition(" ")[2]):
            return server._json({"message": "Bad credentials"}, 401, scopes)
        if target == "/graphql":
            return server._json({"data": {"viewer": {"login": "octo"}}}, 200, scopes)
        return server._json({"login": "octo"}, 200, scopes)

    server._answer, server.pending = github, 1
    hosts = ["github.com", "api.github.com"]
    for host in hosts:
        bench.map(f"{host}:443", server.origin)
    bench.config(rules=[{"name": "gh", "hosts": hosts, "action": "allow"}], secrets={},
                 grants=[{"capture": {"name": "gh", "hosts": ["github.com"],
                                      "paths": ["/login/oauth/access_token"]}, "hosts": hosts}])
    done = hidden(server, bench.run(
        "export GH_CONFIG_DIR=/tmp/gh; gh auth login --web --hostname github.com --git-protocol https </dev/null 2>&1; "
        "gh api user; echo; gh auth status 2>&1; echo; cat /tmp/gh/hosts.yml; echo; gh auth token", timeout=60))
    assert '{"login": "octo"}' in done.text and "Logged in to github.com as octo" in done.text, done
    placeholder = done.text.strip().splitlines()[-1]
    assert re.fullmatch(r"gho_[\w-]{40}", placeholder), done
    assert f"oauth_token: {placeholder}" in done.text, done
    api = [c for _, p, _, c in server.asked if p in ("/graphql", "/user", "/")]
    assert api and all(c.partition(" ")[2] == server.minted[0] for c in api), api
