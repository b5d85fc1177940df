"""What others wrote to judge servers: h2spec and testssl, against what a client of Warder sees."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from matrix import PATH, needs, record


@pytest.mark.parametrize("way", ["transparent", "connect"])
def test_h2spec(world, way):
    argv = [needs("h2spec", "h2spec"), "-h", "api.test", "-p", "443", "-t", "-k", "-S"]
    if way == "transparent":
        said = world.run(argv, way, seconds=300)
    else:
        with world.forwarded("api.test:443") as prefix:
            said = world.run([*prefix, *argv], way, seconds=300)
    total, passed, skipped, failed = map(int, re.search(
        r"(\d+) tests, (\d+) passed, (\d+) skipped, (\d+) failed", said).groups())
    record("h2spec", "2.2.1", way, "HTTP/2", f"{passed} of {total}, {skipped} skipped")
    assert passed == total == 146, said[-4000:]


# What it finds and may find, with the reason; from MEDIUM up.
INHERENT = {
    "cert_chain_of_trust": "a private authority",
    "cert_revocation": "no CRL, no OCSP: the leaf lives for days, in one session",
    "cert_expirationStatus": "the leaf lives for days",
    "cert_notAfter": "the leaf lives for days",
    "DNS_CAArecord": "the name's owner's",
    "security_headers": "the origin's own",
}


def test_testssl(world):
    """The leaf, the versions and ciphers, and the known holes, through the CONNECT listener.

    Its own --proxy writes CONNECT with bare line feeds, which is refused as malformed: so by socat."""
    shutil.which("testssl") or pytest.skip("no testssl")
    home = world.home()
    argv = ["testssl", "--quiet", "--color", "0", "--warnings", "off", "--ip", "127.0.0.1",
            "--add-ca", world.daemon.ca, "--jsonfile", "found.json", "api.test:443"]
    with world.forwarded("api.test:443") as prefix:
        done = subprocess.run(list(map(str, [*world.prefix, *prefix, *argv])), cwd=home, timeout=900,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env={"PATH": PATH, "HOME": str(home), "TERM": "xterm"})
    assert (home / "found.json").exists(), done.stdout[-3000:] + done.stderr[-2000:]
    found = json.loads((home / "found.json").read_text())
    bad = [(f["id"].split(" ")[0], f["severity"], f["finding"]) for f in found
           if f["severity"] in ("MEDIUM", "HIGH", "CRITICAL", "FATAL")]
    rest = [b for b in bad if b[0] not in INHERENT]
    ids = {b[0] for b in bad}
    version = re.search(r'VERSION="([\d.]+)', Path(shutil.which("testssl")).read_text())[1]
    listed = ", ".join(f"{name} ({why})" for name, why in INHERENT.items() if name in ids)
    record("testssl", version, "connect", "TLS 1.2, TLS 1.3",
           f"**finds** {rest}" if rest else f"nothing from MEDIUM up but {listed or 'nothing'}")
    assert len(found) > 50 and not rest, rest
