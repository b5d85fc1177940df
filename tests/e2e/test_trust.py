"""What in the sandbox trusts Warder, runtime by runtime, against docs/trust.md; and what the sandbox sees of all this."""

import base64
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from support import echo as echo_module
from support.bench import PYTHON, REPO
from support.daemon import Daemon
from support.git_origin import git_origin, make_repository
from support.marks import both_users
from support.origin import Origin
from trust_rows import JAVA, MINIMUM, PATH, ROWS, URL, copied_jdk

DOCS = REPO / "docs" / "trust.md"
TABLE = Path(os.environ.get("WARDER_TRUST_TABLE", REPO / "build" / "trust.md"))
RESULTS = {}

ALL = [{"name": "all", "hosts": ["api.test", "git.test", "other.test"], "action": "allow"}]


@echo_module.route("/thing")
def npm_package(conn, request):
    package = {"name": "thing", "dist-tags": {"latest": "1.0.0"},
               "versions": {"1.0.0": {"name": "thing", "version": "1.0.0", "dist": {"tarball": "https://api.test/t.tgz"}}}}
    echo_module.reply(conn, request, json.dumps(package).encode(), headers=[("Content-Type", "application/json")])


@pytest.fixture(scope="module")
def jdk(base):
    """Made when it is first asked for."""
    made = []

    def get():
        made or made.append(copied_jdk(base / "java"))
        return made[0]
    yield get
    shutil.rmtree(base / "java", ignore_errors=True)


def line(row, result):
    return f"| {row.runtime} | {row.by} | {result} |"


def promised(row):
    return "yes" if row.works else f"**no**: {row.why}"


@pytest.fixture(scope="module", autouse=True)
def table():
    yield
    lines = ["| runtime | made to trust by | works |", "|---|---|---|",
             *(line(row, RESULTS.get(row.runtime, "not run here")) for row in ROWS)]
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", row.runtime)[:40])
def test_br_097_what_is_installed_trusts_us_as_the_table_says(bench, echo, pki, jdk, row):
    missing = row.missing()
    if missing:
        assert row.runtime not in MINIMUM, f"{row.runtime} is of the minimum, and {missing} is not here"
        pytest.skip(f"not run here: no {missing}")
    if "git" in row.needs:
        make_repository(bench.directory / "git")
        bench.map("git.test:443", git_origin(pki.good, bench.directory / "git", bench.real))
    bench.config(rules=ALL, grants=[{"secret": "tok", "hosts": ["git.test"], "at": ["basic"]}])
    for name, content in row.files:
        bench.write(name, content)
    if row.prepare and not row.prepare(bench.ws):
        pytest.skip(f"not run here: {row.runtime} cannot be prepared")
    command, args = row.command, []
    if "JDK" in command:
        command, args = command.replace("JDK", str(jdk())), ["--ro", jdk()]
    done = bench.run(command, args=args, timeout=row.seconds, env={"PATH": PATH})
    works = "ok" in done.text.split()
    RESULTS[row.runtime] = ("yes" if works else f"**no**: {row.why}")
    assert works == row.works, done
    if not row.works:
        assert re.search("(?i)certif|PKIX", done.error), f"it failed for another reason\n{done}"


def test_the_table_in_the_docs_is_the_one_that_was_run():
    """What was run here says what docs/trust.md says, and no row is in one of them alone."""
    text = DOCS.read_text()
    for row in ROWS:
        assert line(row, promised(row)) in text.splitlines(), line(row, promised(row))
        assert RESULTS.get(row.runtime, promised(row)) == promised(row)
    first = text[text.index("| runtime | made to trust by | works |"):]
    in_docs = first.split("\n\n")[0].splitlines()[2:]
    assert len(in_docs) == len(ROWS), "a row of the docs that no test has"


# -- what the sandbox sees ---------------------------------------------------------------------------
SEEN = """
import glob, re, stat
places = ["/etc/ssl", "/etc/pki", "/etc/chromium", "/etc/opt", "/etc/firefox", "/etc/ca-certificates"]
keys, writable = [], []
for top in places:
    for base, dirs, files in os.walk(top):
        for name in files:
            path = os.path.join(base, name)
            try:
                data = open(path, "rb").read()
            except OSError:
                continue
            if b"PRIVATE KEY" in data:
                keys.append(path)
            if os.access(path, os.W_OK):
                writable.append(path)
def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)
bundle = open("/etc/ssl/certs/ca-certificates.crt").read()
show(keys=keys, writable=writable, count=bundle.count("BEGIN CERTIFICATE"),
     modes=[mode(p) for p in ("/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/warder-ca.pem", "/etc/ssl/certs/java/cacerts",
                              "/etc/chromium/policies/managed/warder.json", "/etc/firefox/policies/policies.json")],
     same=[open(p).read() == bundle for p in ("/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem")],
     policy=json.load(open("/etc/chromium/policies/managed/warder.json")),
     firefox=json.load(open("/etc/firefox/policies/policies.json")),
     added=open("/etc/ssl/certs/warder-ca.pem").read(),
     java=os.environ["JAVA_TOOL_OPTIONS"], store=list(open("/etc/ssl/certs/java/cacerts", "rb").read(2)))
"""


@both_users
def test_the_stores_are_whole_and_read_only_and_without_a_key(bench, echo):
    done = bench.python(SEEN)
    got, = done.lines
    assert got["keys"] == [] and got["writable"] == [], done
    assert got["count"] > 1 and set(got["modes"]) == {0o444} and all(got["same"]), done
    base64_only = "".join(got["added"].splitlines()[1:-1])
    assert got["policy"] == {"CACertificates": [base64_only]}
    assert got["firefox"]["policies"]["Certificates"]["Install"] == ["/etc/ssl/certs/warder-ca.pem"]
    assert got["java"] == "-Djavax.net.ssl.trustStore=/etc/ssl/certs/java/cacerts"
    assert got["store"][0] == 0x30


# -- the caller's own CA ---------------------------------------------------------------------------------
COUNT = "grep -c 'BEGIN CERTIFICATE' $SSL_CERT_FILE $NODE_EXTRA_CA_CERTS | sed 's/.*://'"


def der(pem):
    return "".join(line for line in Path(pem).read_text().splitlines() if "--" not in line)


HOLDS = """
for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
    text = open(os.environ[name]).read()
    show(name=name, lines=text, key="PRIVATE" in text)
show(java=open("/etc/ssl/certs/java/cacerts", "rb").read().hex(), policy=open("/etc/chromium/policies/managed/warder.json").read())
"""


@both_users
@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"])
def test_br_097_a_corporate_ca_of_the_callers_stays_trusted(bench, echo, pki, variable):
    """By whichever variable; in every form; and of the private key in the same file nothing."""
    mine = bench.directory / "corporate.pem"
    mine.write_text("# ours\n" + pki._stranger.key.read_text() + pki._stranger.cert.read_text())
    done = bench.python(HOLDS, env={variable: str(mine)})
    certificate = der(pki._stranger.cert)
    secret = der(pki._stranger.key)
    bundle, added, forms = done.lines
    for seen in (bundle, added):
        assert certificate in seen["lines"].replace("\n", "") and not seen["key"], seen["name"]
        assert secret[:40] not in seen["lines"].replace("\n", "")
    assert base64.b64decode(certificate).hex() in forms["java"] and certificate in forms["policy"]
    assert base64.b64decode(secret).hex()[:40] not in forms["java"]
    assert "not taken over" not in done.error, done
    works = bench.run(f"curl -sS {URL}", env={variable: str(mine)})
    assert works.text == "ok\n" or works.text == "ok", works


def test_br_097_a_corporate_ca_is_trusted_by_a_connection_that_warder_does_not_open(bench, pki):
    """Through a tunnel the origin's own certificate comes: the company's, which only the caller's variable makes known."""
    origin = echo_module.echo_origin(pki.leaf("corp", ["corp.test"], stranger=True))
    bench.map("corp.test:443", origin)
    bench.config(rules=[{"name": "corp", "hosts": ["corp.test"], "ports": [443], "action": "tunnel"}], grants=[])
    ask = "curl -sS https://corp.test/ok"
    assert bench.run(ask).text == ""
    done = bench.run(ask, env={"SSL_CERT_FILE": str(pki._stranger.cert)})
    assert done.text.strip() == "ok", done


@pytest.mark.parametrize("kind", ["large", "fifo", "directory", "key", "missing", "binary", "device"])
def test_attack_a_bundle_of_the_callers_that_is_none(bench, echo, pki, kind):
    """It is said, it changes nothing, and it does not hold the run up."""
    bad = bench.directory / "bad"
    if kind == "large":
        bad.write_bytes((pki.ca_pem.read_bytes() * 20000)[:10 << 20])
    elif kind == "fifo":
        os.mkfifo(bad)
    elif kind == "directory":
        bad.mkdir()
    elif kind == "key":
        bad.write_bytes(pki._stranger.key.read_bytes())
    elif kind == "binary":
        bad.write_bytes(b"-----BEGIN CERTIFICATE-----" + os.urandom(5000) + b"-----END CERTIFICATE-----")
    elif kind == "device":
        bad = Path("/dev/zero")
    plain = bench.run(f"{COUNT}; curl -sS {URL}")
    done = bench.run(f"{COUNT}; curl -sS {URL}", env={"SSL_CERT_FILE": str(bad)}, timeout=20)
    assert done.code == 0 and done.text == plain.text and done.text.split()[-1] == "ok", done
    assert f"SSL_CERT_FILE={bad} is not taken over: " in done.error, done


def test_attack_a_gateway_does_not_wait_for_a_pipe(bench, echo):
    """OpenSSL itself reads SSL_CERT_FILE for the way to origins."""
    pipe = bench.directory / "pipe"
    os.mkfifo(pipe)
    environment = bench.environment
    bench.environment = lambda env=None: environment({"SSL_CERT_FILE": str(pipe), **(env or {})})
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        proxy = f"http://127.0.0.1:{gateway.ports['connect-1']}"
        done = gateway.curl("-x", proxy, URL)
        assert done.stdout == "ok", done
        store = (gateway.directory / "java.p12").read_bytes()
        variables = gateway.variables("connect-1")
        assert variables["JAVA_TOOL_OPTIONS"] == f"-Djavax.net.ssl.trustStore={gateway.directory}/java.p12"
        assert store[0] == 0x30 and (gateway.directory / "java.p12").stat().st_mode & 0o777 == 0o600
        code, said = gateway.stop()
    assert code == 0 and f"SSL_CERT_FILE={pipe} is not taken over: it is no file" in said, said


def test_the_systems_own_bundle_in_a_variable_is_nothing_to_speak_of(bench, echo):
    plain = bench.run(COUNT)
    done = bench.run(COUNT, env={"SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"})
    assert done.text == plain.text and "not taken over" not in done.error, done


# -- Java ---------------------------------------------------------------------------------------------------
OURS = "-Djavax.net.ssl.trustStore=/etc/ssl/certs/java/cacerts"


@pytest.mark.parametrize("mine, seen", [
    (None, OURS),
    ("", OURS),
    ("-Xmx64m", f"{OURS} -Xmx64m"),
    ("-Xmx64m -Djavax.net.ssl.trustStore=/my/own.p12", "-Xmx64m -Djavax.net.ssl.trustStore=/my/own.p12"),
    ("-Djavax.net.ssl.trustStorePassword=x", f"{OURS} -Djavax.net.ssl.trustStorePassword=x")])
def test_br_098_the_callers_java_options_stay(bench, echo, mine, seen):
    env = {} if mine is None else {"JAVA_TOOL_OPTIONS": mine}
    done = bench.run('printf "%s" "$JAVA_TOOL_OPTIONS"', env=env, args=["--env", "JAVA_TOOL_OPTIONS"])
    assert done.text == seen, done


def needs_java():
    for program in ("java", "javac", "keytool"):
        shutil.which(program, path=PATH) or pytest.skip(f"no {program}")


def test_br_098_keytool_opens_the_store_with_and_without_its_password(bench, echo):
    needs_java()
    bench.config(rules=ALL, grants=[])
    done = bench.run("for p in '-storepass changeit' ''; do keytool -J-Duser.language=en -list -keystore /etc/ssl/certs/java/cacerts $p "
                     "</dev/null 2>&1 | grep -c trustedCertEntry; done; grep -c 'BEGIN CERT' $SSL_CERT_FILE; "
                     "keytool -list -storepass wrong -keystore /etc/ssl/certs/java/cacerts 2>&1 | grep -c 'ntegrity check\\|password was incorrect'",
                     timeout=60)
    with_it, without, bundle, wrong = map(int, done.text.split())
    assert with_it == without == bundle > 1 and wrong == 1, done


def test_br_098_a_store_of_the_users_own_with_his_ca_in_it_wins(bench, echo):
    """A JKS file, named on the command line beside our option: neither a type nor a password of ours is left in force."""
    needs_java()
    bench.config(rules=ALL, grants=[])
    bench.write("Fetch.java", JAVA[0][1])
    done = bench.run("keytool -importcert -noprompt -alias w -storetype JKS -storepass secret1 -keystore $HOME/own.jks "
                     f"-file $NODE_EXTRA_CA_CERTS >/dev/null 2>&1; java -Djavax.net.ssl.trustStore=$HOME/own.jks Fetch.java {URL}",
                     timeout=90)
    assert done.text.strip() == "ok", done


def test_br_100_java_without_a_proxy_is_refused_in_words(bench, echo):
    """That both clients work without properties is in the table; what is refused is refused at once and recorded."""
    needs_java()
    bench.config(rules=[{"name": "api", "hosts": ["api.test"], "action": "allow"}], grants=[])
    bench.write("Refused.java", """import java.net.*;
import java.net.http.*;
class Refused {
  static String ask(java.util.concurrent.Callable<Integer> how) {
    try { return "" + how.call(); } catch (Exception error) { return error.getClass().getSimpleName(); }
  }
  public static void main(String[] arguments) throws Exception {
    var url = "https://evil.test/";
    HttpClient.newHttpClient();
    long start = System.nanoTime();
    String one = ask(() -> HttpClient.newHttpClient().send(HttpRequest.newBuilder(URI.create(url)).build(),
        HttpResponse.BodyHandlers.discarding()).statusCode());
    String two = ask(() -> ((HttpURLConnection) new URL(url).openConnection()).getResponseCode());
    System.out.println("refused " + one + " " + two + " " + (System.nanoTime() - start) / 1_000_000);
  }
}
""")
    done = bench.run("java Refused.java", timeout=90)
    one, two, took = re.search(r"refused (\S+) (\S+) (\d+)", done.text).groups()
    for each in (one, two):
        assert each in ("403", "UnknownHostException", "ConnectException", "SSLHandshakeException", "IOException"), done
    assert int(took) < 15000, done      # without waiting for anything, on a machine that has other things to do
    assert any("evil.test" in json.dumps(r) for r in done.records), done.records


# -- proxy variables ------------------------------------------------------------------------------------------
def test_br_101_no_proxy_holds_plain_names_and_addresses(bench, echo):
    """A sandbox needs none, whatever the host has; clients of a gateway get entries that every library can read."""
    done = bench.run("env | grep -ic _proxy=; true", env={"NO_PROXY": "[::1],10.0.0.0/8", "https_proxy": "http://127.0.0.1:9"})
    assert done.text.strip() == "0", done
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        given = gateway.variables("connect-1")
    assert given["NO_PROXY"] == given["no_proxy"]
    for entry in given["NO_PROXY"].split(","):
        assert re.fullmatch(r"[a-z0-9.-]+|[0-9a-f:]+", entry), entry
    code = ("import urllib.request;urllib.request.proxy_bypass('x');import importlib.util as i;"
            "[__import__(m).Client() for m in ('httpx',) if i.find_spec(m)];print('built')")
    proxy = {k: v.replace(":TOKEN@", ":t@") for k, v in given.items() if k.lower().endswith("_proxy")}
    built = subprocess.run([PYTHON, "-c", code], env={"PATH": PATH, **proxy}, capture_output=True, text=True, timeout=30)
    assert built.stdout == "built\n", built.stderr
