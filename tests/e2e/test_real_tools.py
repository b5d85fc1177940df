"""Tools as they are, with placeholders in the places where they keep their tokens. What is not installed is skipped."""

import base64
import json
import re
import shutil
from urllib.parse import unquote, urlsplit

import pytest

from support import echo
from support.bench import SECRET, mine
from support.git_lfs import Lfs
from support.git_origin import make_repository
from support.origin import Origin
from test_placeholder_shapes import CASES, checksum, text

PATH = "/usr/local/bin:/usr/bin:/bin"


def needs(program):
    return shutil.which(program, path=PATH) or pytest.skip(f"no {program}")


def secret(value, variable):
    """(the secret's configuration, the environment with its value)"""
    return {"source": {"env": f"REAL_{variable}"}, "placeholder": {"env": variable}}, {f"REAL_{variable}": value}


def used(done):
    return [(u["name"], u["place"]) for r in done.records if r.get("decision") == "allow" for u in r["uses"]]


def reasons(done):
    return [r["reason"] for r in done.records if r.get("decision") == "deny"]


# -- git lfs -------------------------------------------------------------------------------------------
@pytest.fixture
def lfs(request, bench, pki):
    needs("git-lfs")
    root = bench.directory / "git"
    make_repository(root)
    server = Lfs(pki.leaf("lfs", ["git.test", "store.test"]), root, SECRET, request.param)
    bench.map("git.test:443", server.origin).map("store.test:443", server.origin)
    return server


def lfs_config(bench, *captures):
    bench.config(rules=[{"name": "git", "hosts": ["git.test", "store.test"], "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": ["git.test"], "at": ["basic"]}, *captures])


LFS_WORK = """set -e
export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
git lfs install --skip-repo >/dev/null
git config --global lfs.locksverify false
URL="https://x-access-token:$API_TOKEN@git.test/r.git"
cd /tmp
git clone -q "$URL" one && cd one
git lfs track '*.bin' >/dev/null
for i in 1 2 3; do head -c 300000 /dev/urandom >$i.bin; done
sha256sum *.bin
git add . && git commit -qm large
git push -q "$URL" HEAD 2>&1
cd .. && git clone -q "$URL" two 2>&1 && cd two && sha256sum *.bin
"""


def pushed_and_pulled(done, server):
    sums = re.findall(r"^([0-9a-f]{64})  \d\.bin$", done.text, re.M)
    assert len(sums) == 6 and sums[:3] == sums[3:], done
    assert set(server.objects) == set(sums)
    assert [method for method, _ in server.used] == ["PUT"] * 3 + ["GET"] * 3


@pytest.mark.parametrize("lfs", ["echo"], indirect=True)
def test_git_lfs_whose_server_hands_the_credential_back(bench, lfs):
    """GitLab's and Gitea's manner: the batch reply holds the Authorization of the request, masked, and it works."""
    lfs_config(bench)
    done = bench.run(LFS_WORK, timeout=90)
    pushed_and_pulled(done, lfs)
    assert base64.b64encode(f"x-access-token:{SECRET}".encode()).decode() not in done.text


@pytest.mark.parametrize("lfs", ["store"], indirect=True)
def test_git_lfs_whose_objects_lie_elsewhere(bench, lfs):
    """GitHub's manner: a credential for each object, at a host that has no grant."""
    lfs_config(bench)
    pushed_and_pulled(bench.run(LFS_WORK, timeout=90), lfs)


@pytest.mark.parametrize("lfs", ["minted"], indirect=True)
def test_git_lfs_with_credentials_of_its_own_at_the_same_host(bench, lfs):
    """They are foreign there, until a capture makes them the session's."""
    lfs_config(bench)
    done = bench.run(LFS_WORK, timeout=90)
    assert "foreign_credential" in reasons(done) and not lfs.objects, done
    lfs_config(bench, {"capture": {"name": "lfs", "hosts": ["git.test"], "paths": ["/*/info/lfs/objects/batch"],
                                   "fields": ["Authorization"]},
                       "hosts": ["git.test"], "at": ["header:authorization"]})
    lfs.used.clear()
    done = bench.run(LFS_WORK, timeout=90)
    pushed_and_pulled(done, lfs)
    assert not any(value in done.text + done.error for value in lfs.minted)


# -- gh ------------------------------------------------------------------------------------------------
def test_gh_auth_login_with_token_and_status(bench, pki):
    needs("gh")
    value = CASES["github"][0]

    def serve(conn):
        while True:
            request = conn.read_request()
            good = (request.get("authorization") or "") in (f"token {value}", f"bearer {value}")
            body = {"data": {"viewer": {"login": "octo"}}} if request.target == "/graphql" else {"login": "octo"}
            if not good:
                body = {"message": "Bad credentials"}
            echo.reply(conn, request, json.dumps(body).encode(), "200 OK" if good else "401 Unauthorized",
                       [("Content-Type", "application/json"), ("X-OAuth-Scopes", "repo, read:org, gist")])

    origin = Origin(serve, pki.leaf("gh", ["api.github.com", "github.com"]), "gh")
    bench.map("api.github.com:443", origin)
    spec, env = secret(value, "MY_PAT")
    bench.config(rules=[{"name": "gh", "hosts": ["api.github.com"], "action": "allow"}], secrets={"gh": spec},
                 grants=[{"secret": "gh", "hosts": ["api.github.com"]}])
    done = bench.run('export GH_CONFIG_DIR=/tmp/gh; echo "$MY_PAT" | gh auth login --with-token --hostname github.com; '
                     'gh auth status -t 2>&1; gh api user; echo; echo "mine $MY_PAT"', env=env)
    assert "Logged in to github.com as octo" in done.text and '{"login": "octo"}' in done.text, done
    assert f"Token: {mine(done)}" in done.text and value not in done.text, done
    assert set(used(done)) == {("gh", "header:authorization")}


# -- docker --------------------------------------------------------------------------------------------
def test_docker_login_keeps_a_placeholder(bench, pki):
    """Without a daemon docker asks the registry itself: Basic, here at the registry and at its token endpoint."""
    needs("docker")
    seen = []

    def serve(conn):
        while True:
            request = conn.read_request()
            path, credential = urlsplit(request.target).path, request.get("authorization") or ""
            seen.append((request.get("host"), path, echo.token(request)))
            good = echo.token(request) == SECRET
            more = [("Docker-Distribution-API-Version", "registry/2.0"), ("Content-Type", "application/json")]
            if request.get("host") == "auth.test":
                body = {"token": "dk-" + text(40), "expires_in": 300} if good else {"details": "incorrect"}
                minted.append(body.get("token"))
            else:
                good = good or credential.partition(" ")[2] in minted
                body = {}
                if not good and request.get("host") == "hub.test":
                    more.append(("WWW-Authenticate", 'Bearer realm="https://auth.test/token",service="hub.test"'))
                elif not good:
                    more.append(("WWW-Authenticate", 'Basic realm="reg"'))
            echo.reply(conn, request, json.dumps(body).encode(), "200 OK" if good else "401 Unauthorized", more)

    minted, hosts = [], ["reg.test", "hub.test", "auth.test"]
    origin = Origin(serve, pki.leaf("docker", hosts), "docker")
    for host in hosts:
        bench.map(f"{host}:443", origin)
    bench.config(rules=[{"name": "reg", "hosts": hosts, "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": ["reg.test", "auth.test"], "at": ["basic"]},
                         {"capture": {"name": "hub", "hosts": ["auth.test"], "paths": ["/token"]},
                          "hosts": ["hub.test"], "at": ["header:authorization"]}])
    # Where a login is there already, docker looks for no helper to keep the next one.
    done = bench.run('export DOCKER_CONFIG=/tmp/docker; mkdir /tmp/docker; '
                     'echo \'{"auths": {"none.test": {"auth": "bWU6bWU="}}}\' >/tmp/docker/config.json; for r in reg.test hub.test; do '
                     'printf %s "$API_TOKEN" | docker login -u me --password-stdin $r 2>&1; done; '
                     'cat /tmp/docker/config.json; echo; echo "mine $API_TOKEN"', timeout=60)
    assert done.text.count("Login Succeeded") == 2, done
    kept = re.findall(r'"auth": "(.*?)"', done.text)
    assert sorted(base64.b64decode(one).decode() for one in kept) == ["me:me"] + [f"me:{mine(done)}"] * 2, done
    assert minted and not any(one in done.text for one in minted if one)
    assert {("tok", "basic"), ("hub.token", "header:authorization")} == set(used(done)), used(done)


# -- npm -----------------------------------------------------------------------------------------------
class Registry:
    """As much of a registry as `npm login`, `whoami`, `publish` and `install` ask for."""

    def __init__(self, pair, tokens=()):
        self.tokens, self.packages, self.waits, self.minted = set(tokens), {}, 1, []
        self.origin = Origin(self._serve, pair, "npm")

    def _serve(self, conn):
        while True:
            request = conn.read_request()
            status, body, *more = self._answer(request)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            echo.reply(conn, request, data, status, [("Content-Type", "application/json"), *more])

    def _answer(self, request):
        path = unquote(urlsplit(request.target).path)
        if path == "/-/v1/login":
            return "200 OK", {"loginUrl": "https://npm.test/login/1", "doneUrl": "https://npm.test/-/v1/done/1"}
        if path == "/-/v1/done/1":
            self.waits -= 1
            if self.waits >= 0:
                return "202 Accepted", {}, ("Retry-After", "1")
            body = "npm_" + text(30)
            self.minted.append(body + checksum(body[4:]))
            self.tokens.add(self.minted[-1])
            return "200 OK", {"token": self.minted[-1]}
        if (request.get("authorization") or "").partition(" ")[2] not in self.tokens:
            return "401 Unauthorized", {"error": "who are you?"}
        if path == "/-/whoami":
            return "200 OK", {"username": "octo"}
        if request.method == "PUT":
            self.packages[path] = json.loads(request.body)
            return "201 Created", {"ok": True}
        name = path.split("/-/")[0]
        if name not in self.packages:
            return "404 Not Found", {"error": "no such package"}
        package = self.packages[name]
        if "/-/" in path:
            return "200 OK", base64.b64decode(next(iter(package["_attachments"].values()))["data"])
        return "200 OK", {k: v for k, v in package.items() if k != "_attachments"}


NPM_WORK = """
cd /tmp && mkdir thing && cd thing
echo '{"name":"thing","version":"1.0.0","main":"index.js"}' >package.json
echo 'console.log("thing " + "works")' >index.js
npm whoami
npm publish 2>&1
mkdir ../user && cd ../user && echo '{}' >package.json
npm install --no-audit --no-fund thing >/dev/null 2>&1 && node -e 'require("thing")'
"""
NPM_RULES = [{"name": "npm", "hosts": ["npm.test"], "action": "allow"}]


def test_npm_with_its_token_in_npmrc(bench, pki):
    needs("npm")
    value = CASES["npm"][0]
    registry = Registry(pki.leaf("npm", ["npm.test"]), [value])
    bench.map("npm.test:443", registry.origin)
    spec, env = secret(value, "NPM_TOKEN")
    bench.config(rules=NPM_RULES, secrets={"npm": spec},
                 grants=[{"secret": "npm", "hosts": ["npm.test"], "at": ["header:authorization"]}])
    done = bench.run("printf 'registry=https://npm.test/\\n//npm.test/:_authToken=${NPM_TOKEN}\\n' >$HOME/.npmrc" +
                     NPM_WORK, env=env, timeout=90)
    assert "octo" in done.text and "thing works" in done.text and "+ thing@1.0.0" in done.text, done
    assert value not in done.text + done.error
    assert set(used(done)) == {("npm", "header:authorization")}


def test_npm_login_keeps_a_placeholder(bench, pki):
    needs("npm")
    registry = Registry(pki.leaf("npm", ["npm.test"]))
    bench.map("npm.test:443", registry.origin)
    bench.config(rules=NPM_RULES, secrets={},
                 grants=[{"capture": {"name": "npm", "hosts": ["npm.test"], "paths": ["/-/v1/done/**"]},
                          "hosts": ["npm.test"], "at": ["header:authorization"]}])
    done = bench.run("printf 'registry=https://npm.test/\\n' >$HOME/.npmrc; npm login --auth-type=web 2>&1; "
                     "cat $HOME/.npmrc" + NPM_WORK, timeout=90)
    kept = re.search(r"_authToken=(npm_\w+)", done.text)
    assert kept and "thing works" in done.text and "+ thing@1.0.0" in done.text, done
    assert registry.minted and registry.minted[0] not in done.text + done.error
    assert kept[1][-6:] == checksum(kept[1][4:-6])       # and of npm's own shape
