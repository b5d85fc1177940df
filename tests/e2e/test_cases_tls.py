"""TLS cases from the field (BR-...): minted certificates as the strictest clients look at them, and
the variables by which runtimes find their roots."""

import base64
import re
import shutil
import subprocess

from support.bench import BEARER, SECRET
from support.echo import echo_origin
from support.marks import both_users

# Leaves as the client got them, and the authority that it trusts.
LEAF = """
import base64, re
def leaf(host, address=None):
    context = ssl.create_default_context()
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    sock = socket.create_connection((address or host, 443), 8)
    with context.wrap_socket(sock, server_hostname=host) as tls:
        return {"der": base64.b64encode(tls.getpeercert(True)).decode(), **tls.getpeercert()}
"""
AUTHORITY = 'open(os.environ["NODE_EXTRA_CA_CERTS"]).read()'


def openssl(*args, stdin=None):
    return subprocess.run(["openssl", *map(str, args)], input=stdin, capture_output=True,
                          check=False, timeout=10)


def text_of(der):
    return openssl("x509", "-inform", "der", "-noout", "-text",
                   stdin=base64.b64decode(der)).stdout.decode()


def extension(text, name):
    """(is critical, the lines of its value) of an extension in openssl's text."""
    found = re.search(rf"^ {{12}}X509v3 {name}: ?(critical)?\s*\n((?: {{16}}.*\n?)+)", text, re.M)
    assert found, (name, text)
    return bool(found[1]), found[2].split("\n")[0].strip()


# -- revocation ------------------------------------------------------------------------------------
def test_must_staple_is_neither_asked_of_an_origin_nor_passed_on(bench, pki):
    """As docs/architecture.md says: an origin whose certificate demands a staple is taken without one; our leaf for it
    demands none, and a client that insists on a staple gets none from anybody."""
    origin = echo_origin(pki.leaf("staple", ["api.test"], more=["tlsfeature=status_request"]))
    bench.map("api.test:443", origin)
    seen = openssl("x509", "-in", pki.dir / "staple.pem", "-noout", "-text").stdout.decode()
    assert "status_request" in seen, "the origin's certificate is what it should be"
    done = bench.python(LEAF + """
import subprocess
show(**leaf("api.test"))
insisting = subprocess.run(["curl", "-sS", "--cert-status", "https://api.test/ok"], capture_output=True)
plain = subprocess.run(["curl", "-sS", "https://api.test/ok"], capture_output=True, text=True)
show(insisting=insisting.returncode, plain=plain.stdout)
""")
    leaf, asked = done.lines
    text = text_of(leaf["der"])
    assert "status_request" not in text and "OCSP" not in text, text
    no_staple = 91
    assert asked == {"insisting": no_staple, "plain": "ok"}, done


# -- BR-086 ----------------------------------------------------------------------------------------
@both_users
def test_br086_leaf_and_authority_satisfy_strict_verifiers(bench, echo):
    """Python's VERIFY_X509_STRICT inside, openssl's -x509_strict outside, and each extension."""
    done = bench.python(LEAF + f"show(ca={AUTHORITY}, **leaf('api.test'))")
    got = done.lines[0]
    ca, der = bench.directory / "ca.pem", bench.directory / "leaf.der"
    pem = bench.directory / "leaf.pem"
    ca.write_text(got["ca"])
    der.write_bytes(base64.b64decode(got["der"]))
    openssl("x509", "-inform", "der", "-in", der, "-out", pem)
    checked = openssl("verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname",
                      "api.test", "-CAfile", ca, pem)
    assert checked.returncode == 0, checked.stderr
    for other in ("sslclient", "smimesign"):
        assert openssl("verify", "-x509_strict", "-purpose", other, "-CAfile", ca, pem).returncode

    top = openssl("x509", "-in", ca, "-noout", "-text").stdout.decode()
    assert extension(top, "Basic Constraints") == (True, "CA:TRUE, pathlen:0")
    critical, usage = extension(top, "Key Usage")
    assert critical and "Certificate Sign" in usage, usage
    leaf = text_of(got["der"])
    assert extension(leaf, "Basic Constraints")[1] == "CA:FALSE"
    assert extension(leaf, "Key Usage")[1] == "Digital Signature"
    assert extension(leaf, "Extended Key Usage")[1] == "TLS Web Server Authentication"
    assert extension(leaf, "Subject Alternative Name")[1] == "DNS:api.test"
    assert extension(leaf, "Authority Key Identifier")[1] == extension(
        top, "Subject Key Identifier")[1]
    assert extension(leaf, "Subject Key Identifier")


def test_br086_a_hundred_leaves_have_a_hundred_serials_and_live_shortly(bench, echo):
    """Of refused names, which are handshaken too; valid for at most 47 days."""
    done = bench.python(LEAF + """
context = ssl.create_default_context()
context.verify_flags |= ssl.VERIFY_X509_STRICT
for i in range(100):
    sock = socket.create_connection(("203.0.113.7", 443), 8)
    with context.wrap_socket(sock, server_hostname=f"h{i}.evil.test") as tls:
        got = tls.getpeercert()
        show(serial=got["serialNumber"], names=got["subjectAltName"],
             seconds=ssl.cert_time_to_seconds(got["notAfter"]) -
                     ssl.cert_time_to_seconds(got["notBefore"]),
             began=time.time() - ssl.cert_time_to_seconds(got["notBefore"]))
""")
    serials = {r["serial"] for r in done.lines}
    assert len(serials) == 100 and all(0 < len(s) <= 40 and int(s, 16) > 0 for s in serials)
    assert all(int(s.zfill(40)[:2], 16) < 0x80 for s in serials), "over 20 bytes or negative"
    for i, got in enumerate(done.lines):
        assert got["names"] == [["DNS", f"h{i}.evil.test"]], got
        assert got["seconds"] <= 47 * 86400 and got["began"] >= 60, got
    assert echo.accepted == 0


# -- BR-087 ----------------------------------------------------------------------------------------
def name_of(size):
    """A host name of that many characters under wild.test, with labels of at most 63."""
    rest = size - len(".wild.test")
    labels = []
    while rest > 0:
        take = min(63, rest) if rest != 64 else 62
        labels.append("a" * take)
        rest -= take + 1
    name = ".".join([*labels, "wild.test"])
    assert len(name) == size, (len(name), size)
    return name


def test_br087_names_longer_than_a_common_name(bench, pki):
    """63, 64, 65, 75 and 253 characters: the name is a SAN, critical where the subject is empty."""
    names = [name_of(n) for n in (63, 64, 65, 75, 253)]
    origin = echo_origin(pki.leaf("long", ["api.test", *names]))
    for name in names:
        bench.map(f"{name}:443", origin)
    bench.config(rules=[{"name": "wild", "hosts": ["*.wild.test"], "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": ["*.wild.test"],
                          "at": ["header:authorization"]}])
    bench.write("names", "\n".join(names) + "\n")
    done = bench.run(f"for n in $(cat names); do curl -sS {BEARER} https://$n/whoami >/dev/null "
                     "&& echo fine; done")
    assert done.text == "fine\n" * len(names), done
    assert [r.get("authorization") for r in origin.requests] == [f"Bearer {SECRET}"] * len(names)
    seen = bench.python(LEAF + "for name in open('names').read().split(): show(**leaf(name))")
    for name, got in zip(names, seen.lines, strict=True):
        text = text_of(got["der"])
        critical, san = extension(text, "Subject Alternative Name")
        assert san == f"DNS:{name}", (name, text)
        empty = not got["subject"]
        assert critical == empty and (not empty or len(name) > 64), (name, text)


# -- BR-088 ----------------------------------------------------------------------------------------
LITERALS = {"10.77.0.2": "10.77.0.2", "fd77::2": "[fd77::2]"}
CLIENTS = """
for url in https://10.77.0.2/ok 'https://[fd77::2]/ok'; do
  curl -sS -g $url || echo "curl: $?"; echo
  /usr/bin/python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=8).read().decode())' $url || echo python
  if [ -x /usr/bin/node ]; then
    /usr/bin/node -e 'fetch(process.argv[1]).then(async a => console.log(await a.text()))' $url
  else echo ok; fi
done
"""


def literal_bench(bench, pair):
    origin = echo_origin(pair)
    for host in LITERALS.values():
        bench.map(f"{host}:443", origin)
    bench.config(grants=[], rules=[{"name": "literal", "hosts": list(LITERALS),
                                    "action": "allow"}])
    return origin


def test_br088_an_address_literal_has_an_address_in_its_leaf(bench, pki):
    origin = literal_bench(bench, pki.leaf("literal", ["api.test"], addresses=list(LITERALS)))
    done = bench.run(CLIENTS, timeout=60)
    assert done.text.split() == ["ok"] * 6, done
    assert {r.get("host") for r in origin.requests} == set(LITERALS.values())
    seen = bench.python(LEAF + "for a in ('10.77.0.2', 'fd77::2'): show(**leaf(a))")
    assert [r["subjectAltName"] for r in seen.lines] == [
        [["IP Address", "10.77.0.2"]], [["IP Address", "FD77:0:0:0:0:0:0:2"]]], seen


def test_br088_the_origins_certificate_is_checked_against_the_address(bench, pki):
    """A dNSName that spells the address is not its iPAddress."""
    origin = literal_bench(bench, pki.leaf("spelled", ["10.77.0.2"]))
    done = bench.run("curl -sS -i https://10.77.0.2/ok; curl -sS -g -i 'https://[fd77::2]/ok'")
    assert done.text.count("upstream_tls_failed") >= 2 and "HTTP/1.1 200" not in done.text, done
    assert origin.requests == []


# -- BR-097 ----------------------------------------------------------------------------------------
REPLACING = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO",
             "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE")
ADDING = ("NODE_EXTRA_CA_CERTS", "DENO_CERT")


@both_users
def test_br097_each_trust_variable_names_a_bundle_that_can_be_read(bench, echo):
    done = bench.python("""
found = {}
for name in arguments():
    path = os.environ.get(name)
    text = open(path).read() if path else ""
    mode = os.stat(path).st_mode & 0o777 if path else 0
    found[name] = [text.count("BEGIN CERTIFICATE"), mode, "PRIVATE KEY" in text,
                   os.access(path or "", os.W_OK)]
roots = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"]).get_ca_certs()
ours = ssl.create_default_context(cafile=os.environ["NODE_EXTRA_CA_CERTS"]).get_ca_certs()
show(found=found, ours=len(ours), merged=ours[-1] in roots)
""", *REPLACING, *ADDING)
    got = done.lines[0]
    for name, (count, mode, key, writable) in got["found"].items():
        assert count > (10 if name in REPLACING else 0), (name, got)
        assert mode == 0o444 and not key and not writable, (name, got)
    assert got["merged"], "the authority is not in the bundle that replaces"


def test_br097_curl_wget_git_and_openssl_verify_us_by_their_own_variable(bench, echo):
    """Each with nothing but its own variable."""
    tools = [t for t in ("curl", "wget", "git", "openssl") if shutil.which(t, path="/usr/bin")]
    alone = "env -i PATH=/usr/bin HOME=$HOME"
    lines = {"curl": f"{alone} CURL_CA_BUNDLE=$CURL_CA_BUNDLE curl -sS -o /dev/null",
             "wget": f"{alone} wget -q -O /dev/null",
             "git": f"{alone} GIT_SSL_CAINFO=$GIT_SSL_CAINFO git ls-remote",
             "openssl": f"echo | {alone} SSL_CERT_FILE=$SSL_CERT_FILE openssl s_client "
                        "-verify_return_error -brief -servername api.test -connect"}
    done = bench.run("".join(
        f"{lines[t]} {'api.test:443' if t == 'openssl' else 'https://api.test/ok'} "
        f">$HOME/log 2>&1; echo {t} $?; grep -iE 'certificate|self.signed|issuer' $HOME/log "
        "| grep -v Verification; " for t in tools))
    wanted = [f"{t} 0" for t in tools]
    got = [line for line in done.text.splitlines() if line.split()[0] in tools]
    assert got == wanted and "self" not in done.text and "verify failed" not in done.text, done


def test_br097_a_variable_of_the_users_own_is_not_lost(bench, echo):
    """--env lets one in that Warder sets itself: that is an error, or TLS works all the same."""
    mine = bench.write("mine.pem", "# nothing\n")
    done = bench.run("curl -sS https://api.test/ok; echo; echo $REQUESTS_CA_BUNDLE",
                     env={"REQUESTS_CA_BUNDLE": str(mine)}, args=["--env", "REQUESTS_CA_BUNDLE"],
                     verify=False)
    if done.code == 2:
        assert "REQUESTS_CA_BUNDLE" in done.error, done
    else:
        assert done.text.startswith("ok\n"), done
