"""The rows of docs/trust.md: how each runtime asks https://api.test/ok, and what makes it trust Warder.

A row's command prints `ok` when the origin's answer came over verified TLS. Nothing in it names a CA, but for rows that are there to
show what does not work."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support.bench import PYTHON

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin"
URL = "https://api.test/ok"
BARE = "env -i PATH=$PATH HOME=$HOME "
BUNDLE = "the system's bundle"


@dataclass(frozen=True)
class Row:
    runtime: str
    by: str                 # what makes it trust
    command: str            # for /bin/sh, in the workspace; JDK stands for a copied one
    needs: tuple = ()       # programs
    module: str = ""        # of Python
    files: tuple = ()       # (name, content)
    works: bool = True
    why: str = ""           # it does not
    prepare: object = None  # called with the workspace before the run; returns False when it cannot
    seconds: int = 60

    def missing(self):
        """What is not on this machine, or an empty text."""
        for program in self.needs:
            if not shutil.which(program, path=PATH):
                return program
        if self.module and subprocess.run([PYTHON, "-c", f"import {self.module}"], capture_output=True).returncode:
            return f"Python's {self.module}"
        return ""


def python(code):
    return f"{PYTHON} -B -c '{code}'"


JAVA_CLIENT = """import java.net.*;
import java.net.http.*;
class Fetch {
  public static void main(String[] arguments) throws Exception {
    var client = HttpClient.newHttpClient();
    var request = HttpRequest.newBuilder(URI.create(arguments[0])).build();
    var answer = client.send(request, HttpResponse.BodyHandlers.ofString());
    var old = (HttpURLConnection) new URL(arguments[0]).openConnection();
    System.out.println(answer.statusCode() == 200 && old.getResponseCode() == 200 ? "ok"
        : answer.statusCode() + " " + answer.body());
  }
}
"""
JAVA = (("Fetch.java", JAVA_CLIENT),)


def copied_jdk(place: Path):
    """A JDK as one downloads it: with a cacerts of its own, which nobody else knows of and which holds one root."""
    place.mkdir()
    home, copy = Path(shutil.which("java", path=PATH)).resolve().parents[1], place / "jdk"
    # With what its links lead to: Debian's has its configuration in /etc.
    shutil.copytree(home, copy, ignore=shutil.ignore_patterns("jmods", "src.zip", "legal", "man", "docs", "demo"))
    own = copy / "lib/security/cacerts"
    own.unlink()
    root = place / "private-root.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    "/dev/null", "-out", root, "-days", "30", "-subj", "/CN=private root"], check=True, capture_output=True)
    subprocess.run(["keytool", "-importcert", "-noprompt", "-alias", "private", "-storepass", "changeit", "-keystore", own,
                    "-file", root], check=True, capture_output=True)
    return copy


GO_CLIENT = """package main
import ("fmt"; "io"; "net/http"; "os")
func main() {
  answer, err := http.Get(os.Args[1])
  if err != nil { fmt.Println(err); os.Exit(1) }
  body, _ := io.ReadAll(answer.Body)
  fmt.Println(string(body))
}
"""


def build_go(workspace: Path):
    (workspace / "client.go").write_text(GO_CLIENT)
    go = shutil.which("go", path=PATH)
    done = subprocess.run([go, "build", "-o", "go-client", "client.go"], cwd=workspace, capture_output=True, text=True,
                          env={"PATH": PATH, "HOME": str(Path.home()), "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod",
                               "GOTOOLCHAIN": "local"})
    return done.returncode == 0


NPM = "printf 'registry=https://api.test/\\n' >$HOME/.npmrc; "
OWN_FILE = "import ssl,urllib.request as u;print(u.urlopen(\"%s\",context=ssl.create_default_context(cafile=\"%s\")).read().decode())"


def own_roots(workspace: Path):
    """As certifi in a virtual environment has them: a file beside the program."""
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", workspace / "cacert.pem")
    return True


ROWS = [
    Row("curl, libcurl", "`CURL_CA_BUNDLE`", f"curl -sS {URL}", ("curl",)),
    Row("curl, empty environment", BUNDLE, f"{BARE} curl -sS {URL}", ("curl",)),
    Row("wget (GnuTLS)", BUNDLE, f"{BARE} wget -q -O - {URL}", ("wget",)),
    Row("git", "`GIT_SSL_CAINFO`", "git ls-remote https://x:$API_TOKEN@git.test/r.git | grep -q refs/heads/main && echo ok",
        ("git",)),
    Row("openssl s_client", "`SSL_CERT_FILE`",
        "echo | openssl s_client -verify_return_error -brief -connect api.test:443 -servername api.test 2>&1 | "
        "grep -q 'Verification: OK' && echo ok", ("openssl",)),
    Row("OpenSSL by directory (`-CApath`)", "the hashed directory",
        f"echo | {BARE} openssl s_client -no-CAfile -no-CAstore -CApath /etc/ssl/certs -verify_return_error -brief "
        "-connect api.test:443 -servername api.test 2>&1 | grep -q 'Verification: OK' && echo ok", ("openssl",)),
    Row("Python ssl, urllib", "`SSL_CERT_FILE`",
        python(f"import urllib.request as u;print(u.urlopen(\"{URL}\").read().decode())")),
    Row("Python requests", "`REQUESTS_CA_BUNDLE`", python(f"import requests;print(requests.get(\"{URL}\").text)"),
        module="requests"),
    Row("Python httpx", "`SSL_CERT_FILE`", python(f"import httpx;print(httpx.get(\"{URL}\").text)"), module="httpx"),
    Row("Python aiohttp", "`SSL_CERT_FILE`", "/usr/bin/python3 -B aio.py", module="aiohttp", files=(("aio.py", f"""
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session, session.get("{URL}") as answer:
        print(await answer.text())
asyncio.run(main())
"""),)),
    Row("a bundle of its own beside the program (certifi by hand, in a virtual environment)", "nothing", python(OWN_FILE % (URL, "cacert.pem")),
        prepare=own_roots, works=False, why="no variable is asked"),
    Row("Node fetch, https", "`NODE_EXTRA_CA_CERTS`", "node client.mjs", ("node",), files=(("client.mjs", f"""
import https from "node:https";
const answer = await fetch("{URL}");
await answer.text();
https.get("{URL}", {{agent: false}}, (reply) => {{
  reply.resume();
  console.log(answer.status === 200 && reply.statusCode === 200 ? "ok" : "refused");
}});
"""),)),
    Row("npm", "`npm_config_cafile`", NPM + "npm view thing version 2>&1 | grep -q '^1.0.0$' && echo ok", ("npm",)),
    Row("Java (the distribution's)", "Debian's `/etc/ssl/certs/java/cacerts`", f"{BARE} java Fetch.java {URL}", ("java", "javac"), files=JAVA),
    Row("Java, a JDK with a cacerts of its own", "`JAVA_TOOL_OPTIONS`", f"JDK/bin/java Fetch.java {URL}", ("java", "javac", "keytool"), files=JAVA, seconds=120),
    Row("Java with a trust store of the user's (`-Djavax.net.ssl.trustStore`)", "the user's own setting, which wins",
        f"JDK/bin/java -Djavax.net.ssl.trustStore=JDK/lib/security/cacerts Fetch.java {URL}", ("java", "javac", "keytool"),
        files=JAVA, seconds=120, works=False, why="Warder's CA is not in it, as asked"),
    Row("Go net/http", "`SSL_CERT_FILE`", f"./go-client {URL}", ("go",), prepare=build_go, seconds=60),
    Row("Go net/http, empty environment", BUNDLE, f"{BARE} ./go-client {URL}", ("go",), prepare=build_go, seconds=60),
    Row("Perl LWP", "`PERL_LWP_SSL_CA_FILE`", f"perl -MLWP::UserAgent -e 'print LWP::UserAgent->new->get(\"{URL}\")->content'",
        ("perl", "lwp-request")),
    Row("Ruby net/http", "`SSL_CERT_FILE`", f"ruby -ropen-uri -e 'puts URI.open(\"{URL}\").read'", ("ruby",)),
    Row("PHP streams", "`SSL_CERT_FILE`", f"php -r 'echo file_get_contents(\"{URL}\");'", ("php",)),
]
MINIMUM = {"curl, libcurl", "curl, empty environment", "wget (GnuTLS)", "git", "openssl s_client", "Python ssl, urllib", "Python requests",
           "Python httpx", "Python aiohttp", "Node fetch, https", "Perl LWP"}
