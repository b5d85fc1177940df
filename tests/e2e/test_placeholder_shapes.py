"""Placeholders that the tools of each secret take for real: what they check, checked with other code than Warder's."""

import base64
import json
import random
import re
import shutil
import string
import uuid
import zlib

import pytest

from support.echo import token
from support.origin import Origin

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
UNRESERVED = re.compile(r"[A-Za-z0-9._~-]+")


def text(size, alphabet=BASE62):
    return "".join(random.SystemRandom().choices(alphabet, k=size))


def checksum(body):
    """GitHub's: CRC-32 in base62, six characters."""
    crc, out = zlib.crc32(body.encode()), ""
    while crc:
        crc, digit = divmod(crc, 62)
        out = BASE62[digit] + out
    return out.rjust(6, "0")


def with_checksum(prefix):
    body = text(30)
    return prefix + body + checksum(body)


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


CLAIMS = {"iss": "https://id.example", "sub": "user-7", "aud": "api", "exp": 4102444800,
          "email": "somebody@example.com", "jti": text(16)}


def jwt_value():
    return ".".join([part({"alg": "HS256", "typ": "JWT"}), part(CLAIMS), text(42) + "A"])


def macaroon_value():
    """As PyPI makes them: version 2, location, identifier, one caveat, signature."""
    def field(kind, data):
        return bytes([kind, len(data)]) + data
    raw = (b"\x02" + field(1, b"pypi.org") + field(2, str(uuid.uuid4()).encode()) + b"\0" +
           field(2, b'{"version":1,"permissions":"user"}') + b"\0\0" +
           field(6, text(32).encode()))
    return "pypi-" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


# secret: its value, how its placeholder is to look, and what the placeholder must be
CASES = {
    "github": (with_checksum("ghp_"), {}, r"ghp_[0-9a-zA-Z]{36}"),
    "app": (with_checksum("ghs_"), {"shape": "github-app"}, r"ghs_[0-9a-zA-Z]{36}"),
    "npm": (with_checksum("npm_"), {}, r"npm_[0-9a-zA-Z]{36}"),
    "anthropic": ("sk-ant-api03-" + text(93) + "AA", {}, r"sk-ant-api03-[\w-]{93}AA"),
    "openai": ("sk-proj-" + text(74) + "T3BlbkFJ" + text(74), {},
               r"sk-proj-[\w-]{74}T3BlbkFJ[\w-]{74}"),
    "aws-id": ("AKIA" + text(16, string.ascii_uppercase + "234567"), {}, r"AKIA[A-Z2-7]{16}"),
    "aws-key": (text(40, BASE62 + "+/"), {"shape": "aws-secret-key"}, r"[A-Za-z0-9+/]{40}"),
    "slack": (f"xoxb-{text(11, '123456789')}-{text(13, '123456789')}-{text(24)}", {},
              r"xoxb-[0-9]{11}-[0-9]{13}-[a-zA-Z0-9]{24}"),
    "gitlab": ("glpat-" + text(20), {}, r"glpat-[0-9a-zA-Z]{20}"),
    "google": ("AIza" + text(35), {}, r"AIza[0-9a-zA-Z]{35}"),
    "stripe": ("sk_live_" + text(32), {}, r"sk_live_[0-9a-zA-Z]{32}"),
    "hex": (text(64, "0123456789abcdef"), {"shape": "hex"}, r"[0-9a-f]{64}"),
    "hf": ("hf_" + text(34, string.ascii_letters), {}, r"hf_[a-zA-Z]{34}"),
    "uuid": (str(uuid.uuid4()), {}, r"[0-9a-f-]{36}"),
    "jwt": (jwt_value(), {}, r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+"),
    "pypi": (macaroon_value(), {}, r"pypi-AgEIcHlwaS5vcmc[A-Za-z0-9\-_]{50,1000}"),
    "acme": ("acme_" + text(20), {"shape": {"template": "acme_[a-z0-9]{16,40}"}}, r"acme_[a-z0-9]{25,27}"),
    "marked": (with_checksum("gho_"), {"format": "obvious"}, r"gho_WARDER~[0-9a-zA-Z]{29}"),
}


def variable(name):
    return "P_" + name.replace("-", "_").upper()


def set_up(bench, cases):
    secrets = {name: {"source": {"env": f"REAL_{variable(name)}"},
                      "placeholder": {"env": variable(name), **spec}}
               for name, (_, spec, _) in cases.items()}
    grants = [{"secret": name, "hosts": ["api.test"], "at": ["header:authorization"]}
              for name in cases]
    bench.config(secrets=secrets, grants=grants)
    return {f"REAL_{variable(name)}": value for name, (value, _, _) in cases.items()}


SHOW = """
import os
found = {}
for name in NAMES:
    ph = os.environ[name]
    wire = Wire()
    wire.send(f"GET /whoami HTTP/1.1\\r\\nHost: api.test\\r\\nAuthorization: Bearer {ph}\\r\\n\\r\\n")
    found[name] = [ph, wire.reply().body.decode()]
show(**found)
"""


@pytest.fixture
def held(bench, echo):
    """What the sandbox holds for each secret; each was used once, so the origin saw the values."""
    env = set_up(bench, CASES)
    done = bench.python(f"NAMES = {[variable(name) for name in CASES]}\n" + SHOW, env=env)
    assert len(done.lines) == 1, done
    found = {name: done.lines[0][variable(name)] for name in CASES}
    for name, (value, _, _) in CASES.items():
        assert value not in done.text + done.error + bench.audit.read_text(), name
        assert found[name][1] == f"you are {found[name][0]}\n", (name, found[name])
    assert [token(r) for r in echo.requests] == [value for value, _, _ in CASES.values()]
    return {name: placeholder for name, (placeholder, _) in found.items()}


def test_each_secret_gets_a_placeholder_of_its_own_shape_that_works(held):
    for name, (value, _, rule) in CASES.items():
        assert re.fullmatch(rule, held[name]), (name, held[name])
        assert UNRESERVED.fullmatch(held[name]), (name, held[name])
        if name != "acme":
            assert len(held[name]) == len(value), (name, held[name], value)
    assert len(set(held.values())) == len(CASES)
    for name in ("github", "app", "npm"):
        assert held[name][-6:] == checksum(held[name][4:-6]), (name, held[name])
    parsed = uuid.UUID(held["uuid"])
    assert parsed.version == 4 and parsed.variant == uuid.RFC_4122
    # Its 40 characters are bytes to those who decode them.
    assert len(base64.b64decode(held["aws-key"], validate=True)) == 30


def test_a_jwt_decodes_to_what_its_client_reads(held):
    wanted = {k: v for k, v in CLAIMS.items() if k not in ("email", "jti")}
    head, body, signature = held["jwt"].split(".")
    pad = "=="
    assert json.loads(base64.urlsafe_b64decode(head + pad)) == {"alg": "HS256", "typ": "JWT"}
    assert json.loads(base64.urlsafe_b64decode(body + pad)) == wanted
    assert len(base64.urlsafe_b64decode(signature + pad)) == 32
    jwt = pytest.importorskip("jwt")
    assert jwt.decode(held["jwt"], options={"verify_signature": False}) == wanted
    assert jwt.get_unverified_header(held["jwt"]) == {"alg": "HS256", "typ": "JWT"}
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(held["jwt"], "no key " * 8, algorithms=["HS256"], audience="api")


def test_a_pypi_token_decodes_as_a_macaroon(held):
    raw = base64.urlsafe_b64decode(held["pypi"][len("pypi-"):] + "==")
    assert raw[:11] == b"\x02\x01\x08pypi.org"
    at, fields = 11, []
    while at < len(raw):
        kind, at = raw[at], at + 1
        if kind == 0:
            fields.append((0, b""))
            continue
        size, shift = 0, 0
        while True:
            byte, at = raw[at], at + 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        fields.append((kind, raw[at:at + size]))
        at += size
    assert at == len(raw)
    assert [kind for kind, _ in fields] == [2, 0, 0, 6]
    assert len(fields[-1][1]) == 32


def test_flags_infer_the_shape(bench, echo):
    value = CASES["github"][0]
    done = bench.run('printf %s "$GITHUB_TOKEN"', policy=None, config=None,
                     args=["--secret", "GITHUB_TOKEN@api.test"], env={"GITHUB_TOKEN": value})
    assert re.fullmatch(r"ghp_[0-9a-zA-Z]{36}", done.text), done
    assert done.text[-6:] == checksum(done.text[4:-6]), done
    assert value not in done.text


@pytest.mark.parametrize("value, shape, why", [
    ("hunter2-hunter2", "jwt", "is made from the value, which is not of that shape"),
    ("hunter2-hunter2", {"template": "acme-[a-z]{40}-h"}, "could be put together with parts"),
])
def test_a_shape_that_this_value_cannot_have_ends_the_run_before_it_begins(bench, echo, value,
                                                                          shape, why):
    env = set_up(bench, {"acme": (value, {"shape": shape}, "")})
    done = bench.run("echo started", env=env)
    assert done.code != 0 and "started" not in done.text, done
    assert "t.yaml:2: secret acme: " in done.error and why in done.error, done
    assert value not in done.error


def test_gh_uses_its_placeholder(bench, pki):
    """The real client: it reads GH_TOKEN, and shows it in what it prints."""
    if not shutil.which("gh", path="/usr/local/bin:/usr/bin:/bin"):
        pytest.skip("gh is not installed")
    real = with_checksum("ghp_")

    def serve(conn):
        while True:
            request = conn.read_head()
            conn.read_body(request)
            conn.requests.append(request)
            known = (request.get("authorization") or "") == f"token {real}"
            body = json.dumps({"login": "octo" if known else "nobody", "token": token(request)}).encode()
            conn.send((f"HTTP/1.1 {'200 OK' if known else '401 Unauthorized'}\r\n"
                       "Content-Type: application/json; charset=utf-8\r\n"
                       "X-OAuth-Scopes: repo, read:org, gist\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n").encode() + body)

    origin = Origin(serve, pki.leaf("github", ["api.github.com"]), "github")
    bench.map("api.github.com:443", origin)
    bench.config(rules=[{"name": "gh", "hosts": ["api.github.com"], "action": "allow"}],
                 secrets={"gh": {"source": {"env": "REAL_GH"}, "placeholder": {"env": "GH_TOKEN"}}},
                 grants=[{"secret": "gh", "hosts": ["api.github.com"]}])
    done = bench.run('gh api user; echo; gh auth token; echo; echo "mine $GH_TOKEN"',
                     env={"REAL_GH": real})
    placeholder = done.text.split("mine ")[1].strip()
    assert re.fullmatch(r"ghp_[0-9a-zA-Z]{36}", placeholder), done
    assert f'{{"login": "octo", "token": "{placeholder}"}}' in done.text, done
    assert real not in done.text + done.error
