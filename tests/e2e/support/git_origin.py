"""A git server behind the test origin: git http-backend as CGI, with a token in Basic."""

import base64
import os
import subprocess
import zlib
from pathlib import Path
from urllib.parse import urlsplit

from .origin import Origin

_BACKEND = "/usr/lib/git-core/git-http-backend"


def make_repository(root: Path) -> Path:
    """A bare repository r.git with one commit; pushes are allowed."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1",
           "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t",
           "GIT_COMMITTER_EMAIL": "t@t"}
    work, bare = root / "seed", root / "r.git"

    def git(*args, cwd=root):
        subprocess.run(["git", *map(str, args)], cwd=cwd, env=env, check=True, capture_output=True)

    root.mkdir(parents=True, exist_ok=True)
    git("init", "-q", "-b", "main", work)
    (work / "README").write_text("hello from the origin\n")
    (work / "blob").write_bytes(os.urandom(300_000))
    git("add", ".", cwd=work)
    git("commit", "-q", "-m", "first", cwd=work)
    git("clone", "-q", "--bare", work, bare)
    git("config", "http.receivepack", "true", cwd=bare)
    return bare


def git_origin(pair, root: Path, password: str):
    return Origin(lambda conn: _serve(conn, root, password), pair, "git")


def _serve(conn, root, password):
    while True:
        request = conn.read_head()
        if "100-continue" in (request.get("expect") or "").lower():
            conn.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        conn.read_body(request)
        conn.requests.append(request)
        if not _authorised(request, password):
            conn.send(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"git\"\r\n"
                      b"Content-Length: 0\r\n\r\n")
            continue
        _answer(conn, _run_backend(request, root))


def _authorised(request, password):
    scheme, _, rest = (request.get("authorization") or "").partition(" ")
    if scheme.lower() != "basic":
        return False
    return base64.b64decode(rest).decode("latin-1").partition(":")[2] == password


def _run_backend(request, root) -> bytes:
    url = urlsplit(request.target)
    body = request.body
    if request.get("content-encoding") == "gzip":
        body = zlib.decompress(body, 31)
    env = {"PATH": "/usr/bin:/bin", "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1",
           "PATH_INFO": url.path, "QUERY_STRING": url.query, "REQUEST_METHOD": request.method,
           "CONTENT_TYPE": request.get("content-type") or "", "CONTENT_LENGTH": str(len(body)),
           "REMOTE_USER": "t", "REMOTE_ADDR": "127.0.0.1", "HOME": str(root),
           "GIT_PROTOCOL": request.get("git-protocol") or "", "GIT_CONFIG_COUNT": "1",
           "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    done = subprocess.run([_BACKEND], input=body, env=env, capture_output=True, timeout=200)  # of 200 MB
    return done.stdout


def _answer(conn, cgi: bytes):
    head, _, body = cgi.partition(b"\r\n\r\n")
    status, fields = b"200 OK", []
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"status:"):
            status = line.split(b":", 1)[1].strip()
        else:
            fields.append(line)
    conn.send(b"HTTP/1.1 " + status + b"\r\n" + b"\r\n".join(fields) +
              b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    for i in range(0, len(body), 30_000):
        piece = body[i:i + 30_000]
        conn.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    conn.send(b"0\r\n\r\n")
