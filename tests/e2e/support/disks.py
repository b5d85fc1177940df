"""A disk that is full, and then is not."""

import contextlib
import os
import subprocess

import pytest


@contextlib.contextmanager
def small_disk(place, free="256k"):
    """Mounted at `place`; with a file that, once it is removed, leaves room for a megabyte and more."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small tmpfs")
    place.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", place], check=True)
    try:
        filler = place / "filler"
        filler.write_bytes(bytes((2 << 20) - int(free[:-1]) * 1024))
        yield filler
    finally:
        subprocess.run(["umount", "-l", place], check=True)
