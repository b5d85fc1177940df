"""Tools that are installed with the clients: each keeps its placeholder where it keeps its token, and works."""

import base64
import gzip
import hashlib
import io
import json
import os
import re
import secrets
import socket
import subprocess
import tarfile
import time
from urllib.parse import urlsplit

from matrix import CLIENTS, PATH, needs, record
from support import echo
from support.bench import MINE, SECRET, mine
from support.daemon import free_port
from support.origin import Origin
from test_placeholder_shapes import CASES
from test_real_tools import NPM_WORK, reasons, secret, used
from test_real_tools import needs as needs_program


def version_of(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, env={"PATH": PATH})
    return re.search(r"\d[\w.]*", done.stdout + done.stderr)[0]


def works(client, version):
    record(client, version, "transparent", "HTTP/1.1", "ok, with its placeholder")


# -- twine ---------------------------------------------------------------------------------------------
def test_twine_upload(bench, pki):
    needs_program("twine")
    value, uploads = CASES["pypi"][0], []

    def serve(conn):
        while True:
            request = conn.read_request()
            good = echo.token(request) == value
            uploads.append((good, request.body))
            echo.reply(conn, request, b"", "200 OK" if good else "403 Invalid or non-existent authentication")

    bench.map("upload.test:443", Origin(serve, pki.leaf("upload", ["upload.test"]), "upload"))
    spec, env = secret(value, "TWINE_PASSWORD")
    bench.config(rules=[{"name": "upload", "hosts": ["upload.test"], "action": "allow"}], secrets={"pypi": spec},
                 grants=[{"secret": "pypi", "hosts": ["upload.test"], "at": ["basic"]}])
    about = b"Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as out:
        entry = tarfile.TarInfo("thing-1.0/PKG-INFO")
        entry.size = len(about)
        out.addfile(entry, io.BytesIO(about))
    bench.write("thing-1.0.tar.gz", packed.getvalue())
    done = bench.run("TWINE_USERNAME=__token__ twine upload --non-interactive --disable-progress-bar "
                     "--repository-url https://upload.test/legacy/ thing-1.0.tar.gz 2>&1", env=env)
    assert done.code == 0 and len(uploads) == 1, done
    good, body = uploads[0]
    assert good and packed.getvalue() in body
    assert used(done) == [("pypi", "basic")] and value not in done.text
    works("twine upload", version_of("twine", "--version"))


# -- npm -----------------------------------------------------------------------------------------------
def test_npm_logs_in_to_verdaccio_and_publishes(bench, pki):
    """The password is swapped in what npm sends, the token that comes back is captured: .npmrc keeps a placeholder."""
    program, place, port = needs("servers", "node_modules/.bin/verdaccio"), bench.directory / "verdaccio", free_port()
    place.mkdir()
    pair = pki.leaf("verdaccio", ["npm.test"])
    (place / "config.yaml").write_text(
        f"storage: {place}/storage\nauth: {{htpasswd: {{file: {place}/htpasswd, algorithm: bcrypt, rounds: 4}}}}\n"
        f"uplinks: {{}}\nhttps: {{key: {pair.key}, cert: {pair.cert}}}\nlog: {{type: stdout, level: error}}\n"
        "packages: {'**': {access: $authenticated, publish: $authenticated}}\nself_path: .\n")
    process = subprocess.Popen([needs_program("node"), program, "-c", str(place / "config.yaml"), "-l",
                                f"https://127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env={"PATH": PATH, "HOME": str(place)})
    bench.running.append(process)
    wait_for(port)
    bench.map("npm.test:443", f"127.0.0.1:{port}")
    bench.config(rules=[{"name": "npm", "hosts": ["npm.test"], "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": ["npm.test"], "at": ["body:json:/password", "basic"]},
                         {"capture": {"name": "npm", "hosts": ["npm.test"], "paths": ["/-/user/**"]},
                          "hosts": ["npm.test"], "at": ["header:authorization"]}])
    bench.write("login.py", LOGIN)
    done = bench.run("printf 'registry=https://npm.test/\\n' >$HOME/.npmrc; "
                     "/usr/bin/python3 login.py; cat $HOME/.npmrc" + NPM_WORK, timeout=90)
    assert re.search(r"_authToken=\S+", done.text) and "+ thing@1.0.0" in done.text, done
    assert "thing works" in done.text and "\nme\n" in done.text, done      # installed again, and whoami
    assert {("tok", "body:json:/password"), ("npm.token", "header:authorization")} <= set(used(done))
    kept = (place / "htpasswd").read_text().split(":")[1]
    assert bcrypt(SECRET, kept) == kept       # it was the value that the registry got
    works("npm login, whoami, publish, install", version_of("npm", "--version"))


# npm asks for a name and a password in a terminal.
LOGIN = """
import os, pty, re, time
pid, master = pty.fork()
if pid == 0:
    os.execvp("npm", ["npm", "login", "--auth-type=legacy", "--no-update-notifier"])
said, answers = b"", [(b"Username", b"me"), (b"Password", os.environ["API_TOKEN"].encode()), (b"Email", b"me@x.test")]
try:
    while data := os.read(master, 4096):
        said += data
        if answers and answers[0][0] in said:
            os.write(master, answers.pop(0)[1] + b"\\n")
            said = b""
except OSError:
    pass
os.waitpid(pid, 0)
"""


def wait_for(port, seconds=30):
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < end, f"nothing listens on {port}"
            time.sleep(0.1)


# -- containers ----------------------------------------------------------------------------------------
def token_registry(conn, state):
    """A registry that sends who comes to auth.test for a token, as docker.io does."""
    while True:
        request = conn.read_request()
        url = urlsplit(request.target)
        credential = request.get("authorization") or ""
        state["asked"].append((url.path, credential))
        if url.path == "/token":
            if echo.token(request) != SECRET:
                echo.reply(conn, request, b'{"details":"incorrect"}', "401 Unauthorized")
                continue
            state["minted"].append("dk-" + secrets.token_urlsafe(40))
            body = {"token": state["minted"][-1], "access_token": state["minted"][-1], "expires_in": 300}
            echo.reply(conn, request, json.dumps(body).encode(), headers=[("Content-Type", "application/json")])
        elif credential.partition(" ")[2] not in state["minted"]:
            challenge = 'Bearer realm="https://auth.test/token",service="reg.test",scope="repository:a/b:pull"'
            echo.reply(conn, request, b"{}", "401 Unauthorized",
                       [("WWW-Authenticate", challenge), ("Docker-Distribution-API-Version", "registry/2.0")])
        else:
            body = json.dumps({"name": "a/b", "tags": ["1", "2"]} if "tags" in url.path else {}).encode()
            echo.reply(conn, request, body, headers=[("Content-Type", "application/json"),
                                                     ("Docker-Distribution-API-Version", "registry/2.0")])


def test_skopeo_login_by_a_token_endpoint(bench, pki):
    """`docker login`: Basic at the token endpoint, whose token goes to the registry; the file that docker keeps."""
    needs_program("skopeo")
    state = {"asked": [], "minted": []}
    origin = Origin(lambda conn: token_registry(conn, state), pki.leaf("reg", ["reg.test", "auth.test"]), "reg")
    bench.map("reg.test:443", origin).map("auth.test:443", origin)
    bench.config(rules=[{"name": "reg", "hosts": ["reg.test", "auth.test"], "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": ["auth.test"], "at": ["basic"]},
                         {"capture": {"name": "reg", "hosts": ["auth.test"], "paths": ["/token"]},
                          "hosts": ["reg.test"], "at": ["header:authorization"]}])
    done = bench.run('export REGISTRY_AUTH_FILE=/tmp/auth.json; echo "$API_TOKEN" | '
                     "skopeo login -u me --password-stdin reg.test 2>&1; skopeo list-tags docker://reg.test/a/b 2>&1; "
                     "cat $REGISTRY_AUTH_FILE;" + MINE)
    assert "Login Succeeded" in done.text and '"2"' in done.text, done
    kept = base64.b64decode(re.search(r'"auth": "(.*?)"', done.text)[1]).decode()
    assert kept == f"me:{mine(done)}"
    assert state["minted"] and not any(value in done.text for value in state["minted"])
    assert ("tok", "basic") in used(done) and ("reg.token", "header:authorization") in used(done)
    works("skopeo login, token endpoint", version_of("skopeo", "--version"))


def oci_image(place):
    """An image of one small layer, as an OCI layout."""
    blobs = place / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def blob(data, kind):
        name = hashlib.sha256(data).hexdigest()
        (blobs / name).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{name}", "size": len(data)}

    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as out:
        entry = tarfile.TarInfo("hello")
        entry.size = 500_000
        out.addfile(entry, io.BytesIO(os.urandom(entry.size)))
    unpacked = "sha256:" + hashlib.sha256(layer.getvalue()).hexdigest()
    inner = blob(gzip.compress(layer.getvalue()), "layer.v1.tar+gzip")
    config = blob(json.dumps({"architecture": "amd64", "os": "linux", "config": {},
                              "rootfs": {"type": "layers", "diff_ids": [unpacked]}}).encode(), "config.v1+json")
    manifest = blob(json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                                "config": config, "layers": [inner]}).encode(), "manifest.v1+json")
    (place / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (place / "index.json").write_text(json.dumps(
        {"schemaVersion": 2, "manifests": [{**manifest, "annotations": {"org.opencontainers.image.ref.name": "1"}}]}))


def bcrypt(password, like="$2b$05$" + "a" * 22):
    """By the C library: Python has none any more."""
    done = subprocess.run(["perl", "-e", "print crypt($ARGV[0], $ARGV[1])", password, like],
                          capture_output=True, text=True, check=True)
    return done.stdout


def test_skopeo_pushes_and_pulls_with_basic(bench, pki, base):
    """The distribution registry itself, with a password file; and a docker configuration that was written by hand."""
    needs_program("skopeo")
    program = needs_program("docker-registry")
    place, port = bench.directory / "registry", free_port()
    place.mkdir()
    (place / "htpasswd").write_text(f"me:{bcrypt(SECRET)}\n")
    pair = pki.leaf("distribution", ["reg.test"])
    (place / "config.yml").write_text(json.dumps(
        {"version": "0.1", "log": {"level": "error"}, "storage": {"filesystem": {"rootdirectory": str(place / "data")}},
         "auth": {"htpasswd": {"realm": "registry", "path": str(place / "htpasswd")}},
         "http": {"addr": f"127.0.0.1:{port}", "relativeurls": True,
                  "tls": {"certificate": str(pair.cert), "key": str(pair.key)}}}))
    process = subprocess.Popen([program, "serve", str(place / "config.yml")], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={"PATH": PATH})
    bench.running.append(process)
    wait_for(port)
    bench.map("reg.test:443", f"127.0.0.1:{port}")
    bench.config(rules=[{"name": "reg", "hosts": ["reg.test"], "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": ["reg.test"], "at": ["basic"]}])
    oci_image(bench.ws / "image")
    done = bench.run("""export REGISTRY_AUTH_FILE=/tmp/auth.json
        printf '{"auths": {"reg.test": {"auth": "%s"}}}' "$(printf 'me:%s' "$API_TOKEN" | base64 -w0)" >$REGISTRY_AUTH_FILE
        skopeo --insecure-policy copy -q oci:image:1 docker://reg.test/a/b:1 2>&1 &&
        skopeo --insecure-policy copy -q docker://reg.test/a/b:1 oci:/tmp/back:1 2>&1 &&
        (cd image/blobs/sha256 && sha256sum *) >/tmp/1 && (cd /tmp/back/blobs/sha256 && sha256sum *) >/tmp/2 &&
        diff /tmp/1 /tmp/2 && echo same""", timeout=60)
    assert done.text.strip().endswith("same"), done
    assert set(used(done)) == {("tok", "basic")}
    works("skopeo copy, registry with Basic", version_of("skopeo", "--version"))


# -- providers' SDKs -----------------------------------------------------------------------------------
def provider(conn, keys, asked):
    """Both providers' chat endpoints; the answer names the key that it was asked with."""
    while True:
        request = conn.read_request()
        key = echo.token(request)
        asked.append((request.get("host"), key))
        if key not in keys:
            echo.reply(conn, request, b'{"error": {"message": "invalid api key"}}', "401 Unauthorized",
                       [("Content-Type", "application/json")])
            continue
        text, is_streamed = f"{key} asked.", json.loads(request.body).get("stream")
        write = anthropic if request.target == "/v1/messages" else openai
        if is_streamed:
            events = "".join(f"{'event: ' + e['type'] + chr(10) if 'type' in e else ''}data: {json.dumps(e)}\n\n"
                             for e in write(text, True))
            end = "data: [DONE]\n\n" if write is openai else ""
            echo.chunked(conn, request, [p.encode() for p in (events[:300], events[300:] + end)],
                         [("Content-Type", "text/event-stream")], pause=0.02)
        else:
            echo.reply(conn, request, json.dumps(write(text, False)).encode(),
                       headers=[("Content-Type", "application/json")])


def anthropic(text, is_streamed):
    message = {"id": "m", "type": "message", "role": "assistant", "model": "mock", "stop_reason": "end_turn",
               "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    if not is_streamed:
        return {**message, "content": [{"type": "text", "text": text}]}
    deltas = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
              for piece in (text[:-3], text[-3:])]
    return [{"type": "message_start", "message": {**message, "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}, *deltas,
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"}]


def openai(text, is_streamed):
    reply = {"id": "c", "created": 1, "model": "mock"}
    if not is_streamed:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        return {**reply, "object": "chat.completion", "choices": [choice],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
    return [{**reply, "object": "chat.completion.chunk",
             "choices": [{"index": 0, "finish_reason": None, "delta": {"content": piece}}]}
            for piece in (text[:-3], text[-3:])]


def test_the_sdks_of_openai_and_anthropic(bench, pki):
    python = needs("sdks", "bin/python")
    hosts, asked = ["api.openai.com", "api.anthropic.com"], []
    keys = [CASES["openai"][0], CASES["anthropic"][0]]
    origin = Origin(lambda conn: provider(conn, keys, asked), pki.leaf("sdks", hosts), "sdks")
    secrets_, env, grants = {}, {}, []
    for name, value, host in zip(("OPENAI_API_KEY", "ANTHROPIC_API_KEY"), keys, hosts):
        secrets_[host.split(".")[1]], more = secret(value, name)
        env.update(more)
        grants.append({"secret": host.split(".")[1], "hosts": [host]})
        bench.map(f"{host}:443", origin)
    bench.config(rules=[{"name": "all", "hosts": hosts, "action": "allow"}], secrets=secrets_, grants=grants)
    done = bench.run([python, "-B", CLIENTS / "sdks" / "ask.py"], args=["--ro", CLIENTS], env=env, timeout=60)
    said = dict(line.rsplit(" asked.", 1)[0].rsplit(" ", 1) for line in done.text.splitlines() if "asked." in line)
    assert len(said) == 4, done
    mine_, yours = done.text.split("held ")[1].split()
    assert {v for k, v in said.items() if "anthropic" in k} == {mine_}, done
    assert {v for k, v in said.items() if "openai" in k} == {yours}, done
    assert done.text.count("refused foreign_credential") == 2, done
    assert sorted(set(asked)) == sorted(zip(hosts, keys)) and len(asked) == 4, asked
    assert not any(key in done.text + done.error for key in keys)
    for name in ("openai", "anthropic"):
        works(f"{name} (Python)", re.search(rf"^{name} (\d\S*)", done.text, re.M)[1])


# -- aws -----------------------------------------------------------------------------------------------
def test_br061_aws_is_refused_with_a_reason(bench, echo):
    """SigV4: a request that is signed with a placeholder cannot be mended: it is refused, and the user reads why."""
    needs_program("aws")
    identity, first = secret(CASES["aws-id"][0], "AWS_ACCESS_KEY_ID")
    key, second = secret(CASES["aws-key"][0], "AWS_SECRET_ACCESS_KEY")
    bench.config(secrets={"id": identity, "key": key},
                 grants=[{"secret": name, "hosts": ["api.test"], "at": ["header:authorization"]} for name in ("id", "key")])
    done = bench.run("export AWS_DEFAULT_REGION=eu-west-1 AWS_EC2_METADATA_DISABLED=true AWS_MAX_ATTEMPTS=1 "
                     "AWS_CA_BUNDLE=${AWS_CA_BUNDLE:-/etc/ssl/certs/ca-certificates.crt}; "
                     "aws --endpoint-url https://api.test sts get-caller-identity 2>&1; "
                     "aws --endpoint-url https://api.test s3api list-buckets 2>&1", env={**first, **second}, timeout=60)
    assert not echo.requests and done.code != 0, done
    assert len(reasons(done)) >= 2 and len(set(reasons(done))) == 1, (reasons(done), done)
    assert "the request is signed with the placeholder, and a swap would break that" in done.text, done
    assert done.error.count("signed with the placeholder") >= 2, done      # said again when the run ends
    record("aws", version_of("aws", "--version"), "transparent", "none", "**no**: a signature, which a swap cannot put "
           "right; refused")
