"""What must hold after every test: no leak, no process and no file left behind."""

import base64
import os
import time
import urllib.parse
from pathlib import Path


def encodings(value: bytes) -> dict:
    """Every form in which `value` would be a leak. Base64 is looked for at the three alignments, by
    the characters that depend on the value alone."""
    forms = {"raw": value, "hex": value.hex().encode(), "HEX": value.hex().upper().encode(),
             "percent": urllib.parse.quote(value, safe="").encode(),
             "percent of all": "".join(f"%{b:02X}" for b in value).encode()}
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + value).rstrip(b"=")
        start = (0, 2, 3)[shift]
        whole = (shift + len(value)) * 8 // 6
        core = coded[start:whole]
        forms[f"base64+{shift}"] = core
        forms[f"base64url+{shift}"] = core.translate(bytes.maketrans(b"+/", b"-_"))
    return forms


def assert_no_leak(value: bytes, **places: bytes):
    for place, data in places.items():
        for name, form in encodings(value).items():
            at = data.find(form)
            assert at < 0, f"the secret's value is in {place} ({name}), at byte {at} of {len(data)}"


def tree(directory: Path) -> set:
    found = set()
    for base, dirs, files in os.walk(directory):
        for name in dirs + files:
            found.add(os.path.relpath(os.path.join(base, name), directory))
    return found


def new_files(before: set, directory: Path, audit_dir: str, allowed=()) -> set:
    """What a run left behind, besides the audit directory and what the test's own command made."""
    kept = (audit_dir, *allowed)
    return {name for name in tree(directory) - before
            if not any(name == k or name.startswith(k + "/") for k in kept)}


def assert_processes_gone(gone, seconds=2.0):
    """`gone()` lists what is still alive; it must be empty within the time."""
    deadline = time.monotonic() + seconds
    while (alive := gone()):
        assert time.monotonic() < deadline, f"processes are left: {alive}"
        time.sleep(0.02)
