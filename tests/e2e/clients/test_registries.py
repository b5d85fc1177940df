"""Package clients as they are, at the real registries, with nothing but the preset. What cannot be reached from here is
skipped; where names resolve to a mirror's address, that is the operator's own map."""

import json
import os
import shutil
import socket
import subprocess
import urllib.request
from urllib.parse import urlsplit

import pytest

from matrix import record
from support.bench import CLEAN

PATH = CLEAN["PATH"] + ":/usr/local/go/bin:" + os.path.expanduser("~/.cargo/bin")


def needs_program(name):
    return shutil.which(name, path=PATH) or pytest.skip(f"no {name}")


def reach(bench, *hosts, port=443):
    for host in hosts:
        try:
            address = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
            socket.create_connection((address, port), 5).close()
        except OSError as error:
            pytest.skip(f"{host} cannot be reached: {error}")
        bench.map(f"{host}:{port}", f"{address}:{port}")


def policy(bench, *include, extra=""):
    upstream = {"connect_to": bench.connect}
    for bundle in (os.environ.get("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt"):
        if bundle and os.path.exists(bundle):
            upstream["ca"] = [bundle]
            break
    bench.write("t.yaml", "version: 1\npolicies:\n  t:\n" + f"    include: {json.dumps(include)}\n" + extra
                + f"gateway: {json.dumps({'audit': {'file': 'audit/audit.jsonl'}, 'upstream': upstream})}\n")


def works(bench, preset, script, env=None, refused="", timeout=150):
    done = bench.run(script, env={"PATH": PATH, **(env or {})}, timeout=timeout)
    assert done.code == 0, str(done)
    rules = {r["rule"].split(".")[0] for r in done.records if r.get("decision") == "allow" and r.get("rule")}
    assert rules == set(preset.split()), (rules, str(done))
    denied = {r["reason"] for r in done.records if r.get("decision") == "deny"}
    assert denied == (set(refused.split()) if refused else set()), done
    return done


def noted(client, preset, *version):
    said = subprocess.run(version, capture_output=True, text=True, env={**os.environ, "PATH": PATH}).stdout
    record(f"{client} with preset/{preset}", said.split("\n")[0].strip()[:30], "transparent", "-", "ok, the real registry")


def test_pip_download(bench):
    reach(bench, "pypi.org", "files.pythonhosted.org")
    policy(bench, "preset/pypi")
    done = works(bench, "pypi", "cd /tmp && /usr/bin/python3 -m pip --disable-pip-version-check download --no-deps six==1.16.0 "
                 "&& ls *.whl")
    assert "six-1.16.0-py2.py3-none-any.whl" in done.text, done
    noted("pip", "pypi", "/usr/bin/python3", "-m", "pip", "--version")


def test_npm_view_and_install(bench):
    needs_program("npm")
    reach(bench, "registry.npmjs.org")
    policy(bench, "preset/npm")
    done = works(bench, "npm", "cd /tmp && npm view is-odd@3.0.1 version && npm view @types/ms name && mkdir p && cd p && "
                 "npm init -y >/dev/null && npm install --no-fund --no-update-notifier @types/ms@0.7.34 is-odd@3.0.1 && "
                 "ls node_modules node_modules/@types")
    assert "3.0.1" in done.text and "@types/ms" in done.text and "is-number" in done.text, done
    noted("npm", "npm", "npm", "--version")


def test_npm_publish_is_refused(bench):
    needs_program("npm")
    reach(bench, "registry.npmjs.org")
    policy(bench, "preset/npm")
    done = bench.run("mkdir /tmp/p && cd /tmp/p && npm init -y >/dev/null && "
                     "npm publish --//registry.npmjs.org/:_authToken=npm_none 2>&1", env={"PATH": PATH}, timeout=90)
    assert done.code != 0 and "method_not_allowed" in {r.get("reason") for r in done.records}, done


def test_cargo_fetches(bench):
    needs_program("cargo")
    reach(bench, "index.crates.io", "static.crates.io")
    with urllib.request.urlopen("https://index.crates.io/config.json", timeout=20) as answer:
        download = urlsplit(json.load(answer)["dl"])
    mirror = download.hostname != "static.crates.io"    # which says itself where its crates are
    own = {"name": "mirror", "hosts": [download.hostname], "methods": ["GET"], "paths": [download.path + "/**"],
           "action": "allow"}
    policy(bench, "preset/crates", extra=f"    rules: {json.dumps([own])}\n" if mirror else "")
    manifest = '[package]\\nname="p"\\nversion="0.1.0"\\nedition="2021"\\n[dependencies]\\nitoa = "=1.0.9"\\n'
    done = works(bench, "crates mirror" if mirror else "crates", "mkdir -p /tmp/p/src && cd /tmp/p && touch src/lib.rs && "
                 f"printf '{manifest}' >Cargo.toml && cargo fetch 2>&1 && grep -A1 itoa Cargo.lock",
                 env={"HOME": os.path.expanduser("~")})
    assert 'version = "1.0.9"' in done.text, done
    noted("cargo", "crates", "cargo", "--version")


def test_go_lists_and_downloads(bench):
    needs_program("go")
    reach(bench, "proxy.golang.org")      # it hands the checksum database on, too
    policy(bench, "preset/go-proxy")
    done = works(bench, "go-proxy", "mkdir /tmp/p && cd /tmp/p && export GOTOOLCHAIN=local GOFLAGS=-mod=mod && "
                 "go mod init example.test/p 2>/dev/null && go list -m -versions github.com/google/uuid && "
                 "go get github.com/google/uuid@v1.6.0 2>&1 && cat go.sum")
    assert "github.com/google/uuid v1.6.0 h1:" in done.text, done
    noted("go", "go-proxy", "go", "version")


def test_maven_gets(bench):
    needs_program("mvn")
    reach(bench, "repo.maven.apache.org")
    policy(bench, "preset/maven")
    pom = ("<project><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>b</artifactId>"
           "<version>1</version><packaging>pom</packaging><dependencies><dependency><groupId>org.slf4j</groupId>"
           "<artifactId>slf4j-api</artifactId><version>2.0.9</version></dependency></dependencies></project>")
    done = bench.run(f"mkdir /tmp/p && cd /tmp/p && echo '{pom}' >pom.xml && "
                     "keytool -importcert -noprompt -storepass changeit -keystore /tmp/trust.p12 -storetype PKCS12 "
                     "-file /etc/ssl/certs/warder-ca.pem 2>/dev/null && "
                     "MAVEN_OPTS='-Djavax.net.ssl.trustStore=/tmp/trust.p12 -Djavax.net.ssl.trustStorePassword=changeit "
                     "-Duser.home=/tmp' mvn -q -B dependency:resolve; ls /tmp/.m2/repository/org/slf4j/slf4j-api/2.0.9",
                     env={"PATH": PATH}, timeout=200)
    assert "slf4j-api-2.0.9.jar" in done.text, done
    assert {r["rule"] for r in done.records if r.get("decision") == "allow" and r.get("rule")} == {"maven.central"}, done
    noted("maven", "maven", "mvn", "--version")


def test_apt_updates(bench):
    """apt in clear text, with directories of its own."""
    needs_program("apt-get")
    reach(bench, "deb.debian.org", port=80)
    policy(bench, "preset/debian")
    script = """set -e
mkdir -p /tmp/a/lists/partial /tmp/a/cache/archives/partial /tmp/a/etc
echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main' >/tmp/a/etc/list
cat >/tmp/a/conf <<E
Dir::State "/tmp/a"; Dir::State::lists "/tmp/a/lists"; Dir::Cache "/tmp/a/cache"; Dir::State::status "/dev/null";
Dir::Etc::sourcelist "/tmp/a/etc/list"; Dir::Etc::sourceparts "/dev/null"; APT::Sandbox::User "";
Acquire::Languages "none"; APT::Architectures { "amd64"; };
E
export APT_CONFIG=/tmp/a/conf
apt-get -q update
cd /tmp && apt-get -q download hello && ls hello*.deb
"""
    done = works(bench, "debian", script, timeout=240)
    assert "hello_" in done.text, done
    noted("apt", "debian", "apt-get", "--version")
