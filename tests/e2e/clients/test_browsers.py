"""Browsers, headless: they trust their own roots, those of their policies and those of an NSS database."""

import re
import shutil
import subprocess

import pytest

from matrix import record

NSS = ('mkdir -p "$HOME/.pki/nssdb" && certutil -d "sql:$HOME/.pki/nssdb" -N --empty-password && '
        'certutil -d "sql:$HOME/.pki/nssdb" -A -t C,, -n warder -i "$NODE_EXTRA_CA_CERTS" && ')
LINE = ('exec timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run '
        '--disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage '
        '--user-data-dir="$HOME/profile" {more} --dump-dom https://api.test/live')


@pytest.mark.parametrize("way", ["transparent", "connect"])
def test_chromium(world, way):
    """Its own sandbox needs user namespaces, which a sandbox of Warder does not give: --no-sandbox. The page comes over
    HTTP/2; for its WebSocket the browser opens HTTP/1.1 beside it, since RFC 8441 is not offered."""
    # Inside there is a policy; elsewhere the database has to be made.
    by_policy = way == "transparent"
    for program in ("chromium", "certutil")[:1 if by_policy else 2]:
        shutil.which(program) or pytest.skip(f"no {program}")
    version = re.search(r"[\d.]+", subprocess.run(["chromium", "--version"], capture_output=True,
                                                  text=True).stdout)[0]
    # It asks for a proxy's password in a window: so the listener without one.
    more = "" if way == "transparent" else f"--proxy-server=http://127.0.0.1:{world.daemon.ports['open']}"
    before, sockets = len(world.api.named("/live")), len(world.api.requests)
    said = world.run(["/bin/sh", "-c", ("" if by_policy else NSS) + LINE.format(more=more)], way, seconds=90)
    asked = world.api.named("/live")[before:]
    opened = [r for r in world.api.requests[sockets:] if r.target == "/socket"]
    fine = "heard hello" in said and len(asked) == len(opened) == 1
    record(f"headless Chromium --no-sandbox, CA {'by policy' if by_policy else 'in NSS'}", version, way,
           ", ".join(["HTTP/2"] * bool(asked) + ["WebSocket"] * bool(opened)) or "none",
           "ok: a page and its WebSocket" if fine else f"**no**: {said[-200:]}")
    assert fine, said[-3000:]


def test_firefox(world):
    """Its roots come by /etc/firefox/policies; like Chromium it cannot have a sandbox of its own inside."""
    shutil.which("firefox-esr") or pytest.skip("no firefox-esr")
    version = re.search(r"[\d.]+", subprocess.run(["firefox-esr", "--version"], capture_output=True, text=True).stdout)[0]
    before = len(world.api.named("/firefox"))
    said = world.run(["/bin/sh", "-c", 'MOZ_DISABLE_CONTENT_SANDBOX=1 timeout 100 firefox-esr --headless --no-remote --profile '
                      '"$(mktemp -d)" --screenshot "$HOME/shot.png" https://api.test/firefox; ls -l "$HOME/shot.png"'],
                     "transparent", seconds=120)
    asked = len(world.api.named("/firefox")) - before
    record("headless Firefox, CA by policy", version, "transparent", "HTTP/2" if asked else "none",
           "ok: a page" if asked else f"**no**: {said[-200:]}")
    assert asked >= 1, said[-3000:]
