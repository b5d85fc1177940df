"""--cache: what package managers have fetched is there in the next run."""

import hashlib
import io
import zipfile
from email.utils import formatdate

import pytest

from support.marks import both_users
from support.origin import Origin


def wheel():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("tiny.py", "value = 1\n")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\n")
    return data.getvalue()


@pytest.fixture
def index(bench, pki):
    asked, body = [], wheel()

    def serve(conn):
        while True:
            request = conn.read_request()
            asked.append(request.target)
            head = (f"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {len(body)}\r\n"
                    f"Cache-Control: max-age=86400\r\nETag: \"{hashlib.sha256(body).hexdigest()}\"\r\n"
                    "Date: " + formatdate(usegmt=True) + "\r\n\r\n")
            conn.send(head.encode() + body)

    origin = Origin(serve, pki.leaf("index", ["api.test"]), "index")
    bench.map("api.test:443", origin)
    bench.asked = asked
    return origin


@both_users
def test_pip_downloads_once(bench, index):
    cache = bench.directory / "cache"
    bench.own()
    command = ("/usr/bin/python3 -m pip download -q --disable-pip-version-check --no-deps -d $HOME/got "
               "https://api.test/tiny-1.0-py3-none-any.whl && ls $HOME/got")
    first = bench.run(command, args=["--cache", cache], timeout=120)
    assert first.text == "tiny-1.0-py3-none-any.whl\n", first
    assert len(bench.asked) == 1 and (cache / "pip").is_dir() and cache.stat().st_mode & 0o777 == 0o700
    bench.config(rules=[], grants=[], secrets={}, name="nothing.yaml")
    second = bench.run(command, args=["--cache", cache], config="nothing.yaml", timeout=120)
    assert second.text == "tiny-1.0-py3-none-any.whl\n", second
    without = bench.run(command, config="nothing.yaml", timeout=120)
    assert without.code != 0 and len(bench.asked) == 1, without


@both_users
def test_variables_point_to_the_cache_unless_they_are_given(bench, echo):
    done = bench.run("echo $PIP_CACHE_DIR $XDG_CACHE_HOME $MAVEN_ARGS $GOMODCACHE; mkdir -p ~/.cargo/registry/index && "
                     "touch ~/.cargo/registry/index/x && ls -l ~/.cache/cargo/registry/index | tail -1 | grep -c x",
                     args=["--cache", bench.directory / "cache", "--env", "GOMODCACHE"], env={"GOMODCACHE": "/tmp/mine"})
    assert done.text == ("/home/sandbox/.cache/pip /home/sandbox/.cache "
                         "-Dmaven.repo.local=/home/sandbox/.cache/maven /tmp/mine\n1\n"), done
    assert (bench.directory / "cache/cargo/registry/index/x").exists()


@both_users
def test_attack_a_cache_that_would_show_too_much_is_refused(bench, echo):
    bench.config()
    (bench.home / ".ssh").mkdir()
    (bench.home / ".ssh/id").write_text("x")
    (bench.directory / "link").symlink_to(bench.home / ".ssh")
    for wrong in (bench.home, bench.ws, bench.ws / "sub", bench.state / "warder/cache", bench.home / ".ssh",
                  bench.directory / "link", "/"):
        done = bench.run("echo started", args=["--cache", wrong], verify=False)
        assert done.code == 2 and "--cache" in done.error and "started" not in done.text, (wrong, done)


@both_users
def test_attack_links_in_a_cache_lead_nowhere_outside(bench, echo):
    """What one sandbox leaves in the cache is followed inside the next one, never by Warder."""
    cache = bench.directory / "cache"
    (bench.home / ".ssh").mkdir()
    (bench.home / ".ssh/id").write_text("mine\n")
    bench.own()
    bench.run(f"rm -rf ~/.cache/cargo; ln -s {bench.home}/.ssh ~/.cache/cargo; ln -s {bench.home}/.ssh ~/.cache/pip",
              args=["--cache", cache])
    done = bench.run("cat ~/.cache/cargo/id ~/.cache/pip/id ~/.cargo/registry/id 2>/dev/null; ls -A ~/.cargo/registry/ 2>/dev/null; echo ran",
                     args=["--cache", cache])
    assert done.text == "ran\n" and (bench.home / ".ssh/id").read_text() == "mine\n", done
    assert sorted(p.name for p in (bench.home / ".ssh").iterdir()) == ["id"]
