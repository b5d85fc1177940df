"""Package managers against an index of their own, and what speaks no HTTP: ssh, psql, redis-cli."""

import os
import re
import shutil
import socket
import subprocess
import time
import zipfile

import pytest

from matrix import PATH, needs, record
from support import echo
from support.bench import CLEAN, PYTHON, SECRET
from support.daemon import TOKEN, Daemon, free_port
from support.origin import Origin
from support.servers import Sshd, find_server


def version_of(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, env={"PATH": PATH})
    return re.search(r"\d[\w.]*", done.stdout + done.stderr)[0]


def inside_net(world, function):
    return world.net.run(function) if world.net else function()


def until_open(world, port, seconds=30):
    end = time.monotonic() + seconds
    while True:
        try:
            inside_net(world, lambda: socket.create_connection(("127.0.0.1", port), 1).close())
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def started(world, argv, port, **more):
    process = subprocess.Popen([*world.prefix, *map(str, argv)], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, **more)
    try:
        until_open(world, port)
    except OSError:
        process.kill()
        raise
    return process


def both_ways(world, client, version, host, origin, line, wanted, at):
    """`line` in a sandbox, and outside of it with a CONNECT listener's variables."""
    address = origin if isinstance(origin, str) else origin.address
    for way in ("transparent", "connect"):
        bench = world.place(client.split()[0])
        bench.connect[f"{host}:443"] = address
        rules = [{"name": "one", "hosts": [host], "action": "allow"}]
        grants = [{"secret": "tok", "hosts": [host], "at": at}]
        if way == "transparent":
            bench.config(rules=rules, grants=grants)
            said = str(bench.run(f"cd $HOME; {line}", timeout=120))
        else:
            with Daemon(bench, [{"type": "connect", "token": {"env": "PROXY_TOKEN"}}], rules=rules,
                        grants=grants) as daemon:
                given = {n: v.replace(":TOKEN@", f":{TOKEN}@")
                         for n, v in daemon.variables("connect-1").items()}
                home = world.home()
                done = subprocess.run([*world.prefix, "/bin/sh", "-c", line], cwd=home, timeout=120,
                                      env={**CLEAN, "HOME": str(home), **given}, text=True,
                                      capture_output=True, stdin=subprocess.DEVNULL)
                said = done.stdout + done.stderr
        record(client, version, way, "HTTP/1.1", "ok" if wanted in said else f"**no**: {said[-200:]}")
        assert wanted in said, said
        assert SECRET not in said


@pytest.fixture(scope="module")
def index(world, base):
    """pypi.test: a wheel made here, behind the token."""
    wheel = base / "thing-1.0-py3-none-any.whl"
    about = "thing-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as out:
        out.writestr("thing.py", "print('thing works')\n")
        out.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        out.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        out.writestr(f"{about}/RECORD", "")
    listing = f'<a href="/files/{wheel.name}">{wheel.name}</a>'.encode()

    def serve(conn):
        while True:
            request = conn.read_request()
            if echo.token(request) != SECRET:
                echo.reply(conn, request, b"", "401 Who", [("WWW-Authenticate", "Basic realm=index")])
            elif request.target.startswith("/files/"):
                echo.reply(conn, request, wheel.read_bytes())
            else:
                echo.reply(conn, request, listing, headers=[("Content-Type", "text/html")])
    origin = inside_net(world, lambda: Origin(serve, world.pki.leaf("pypi", ["pypi.test"]), "pypi"))
    yield origin
    origin.stop()


def test_pip_install(world, index):
    line = (f"{PYTHON} -m venv v && v/bin/pip -q install "
            '--index-url "https://u:$API_TOKEN@pypi.test/simple" thing && v/bin/python -m thing; rm -rf v')
    both_ways(world, "pip install", version_of(PYTHON, "-m", "pip", "--version"), "pypi.test", index, line,
              "thing works", ["basic"])


@pytest.fixture(scope="module")
def registry(world, base):
    """npm.test: verdaccio with one package, TLS in front of it by its own `https`."""
    program = needs("servers", "node_modules/.bin/verdaccio")
    place, port = base / "verdaccio", free_port()
    place.mkdir()
    pair = world.pki.leaf("npm", ["npm.test"])
    (place / "config.yaml").write_text(
        f"storage: {place}/storage\nauth: {{htpasswd: {{file: {place}/htpasswd}}}}\nuplinks: {{}}\n"
        f"https: {{key: {pair.key}, cert: {pair.cert}}}\nlog: {{type: stdout, level: error}}\n"
        "packages: {'**': {access: $all, publish: $all}}\nself_path: .\n")
    node = shutil.which("node", path=PATH)
    argv = [node, program, "-c", place / "config.yaml", "-l", f"https://127.0.0.1:{port}"]
    process = started(world, argv, port, env={"PATH": PATH, "HOME": str(place)})
    thing = place / "thing"
    thing.mkdir()
    (thing / "package.json").write_text('{"name": "thing", "version": "1.0.0", "main": "index.js"}')
    (thing / "index.js").write_text("console.log('thing works')\n")
    (place / ".npmrc").write_text(f"registry=https://127.0.0.1:{port}/\nstrict-ssl=false\n"
                                  f"//127.0.0.1:{port}/:_authToken=anything\n")
    done = subprocess.run([*world.prefix, "npm", "publish"], cwd=thing, capture_output=True, text=True,
                          env={"PATH": PATH, "HOME": str(place)}, timeout=60)
    assert done.returncode == 0, done
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait(10)


def test_npm_install(world, registry):
    line = ('mkdir p; cd p; printf "registry=https://npm.test/\n" >.npmrc; echo "{}" >package.json; '
            "npm install --no-audit --no-fund thing >/dev/null && node -e 'require(\"thing\")'; cd ..; rm -rf p")
    both_ways(world, "npm install", version_of("npm", "--version"), "npm.test", registry, line,
              "thing works", ["header:authorization"])


# -- raw TCP ----------------------------------------------------------------------------------------
def raw(world, client, version, port, address, line, wanted, keep=()):
    bench = world.place(client)
    for path in keep:
        shutil.copy(path, bench.ws)
    bench.connect[f"db.test:{port}"] = address
    bench.config(rules=[{"name": "db", "hosts": ["db.test"], "ports": [port], "action": "tcp"}], grants=[])
    done = bench.run(line, timeout=60)
    record(client, version, "transparent (`tcp`)", "bytes", "ok" if wanted in done.text else "**no**")
    assert wanted in done.text, done


def test_redis_cli(world):
    server, env = find_server("usr/bin/redis-server")
    port = free_port()
    process = started(world, [server, "--port", port, "--bind", "127.0.0.1", "--save", ""], port, env=env)
    try:
        raw(world, "redis-cli", version_of("redis-cli", "--version"), 6379, f"127.0.0.1:{port}",
            "redis-cli -h db.test set word 'hello there' && redis-cli -h db.test get word", "hello there")
    finally:
        process.terminate()
        process.wait(10)


def test_psql(world, base, ordinary_user):
    initdb, env = find_server("usr/lib/postgresql/*/bin/initdb")
    if not shutil.which("psql"):
        pytest.skip("no psql")
    place, port = base / "pg", free_port()
    place.mkdir()
    os.chown(place, ordinary_user.uid, ordinary_user.gid)
    subprocess.run([*ordinary_user.prefix, initdb, "-D", place / "data", "-U", "tester", "--auth=trust"],
                   check=True, capture_output=True, cwd="/", env=env)
    argv = [os.path.join(os.path.dirname(initdb), "postgres"), "-D", place / "data", "-p", port, "-k", place,
            "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    process = started(world, [*ordinary_user.prefix, *argv], port, cwd="/", env=env)
    try:
        time.sleep(1)
        raw(world, "psql", version_of("psql", "--version"), 5432, f"127.0.0.1:{port}",
            "psql -h db.test -U tester postgres -Atc "
            "\"select 'hello ' || length(repeat('x', 1000000))\"", "hello 1000000")
    finally:
        process.terminate()
        process.wait(10)


def test_ssh(world, base, request):
    user = request.getfixturevalue("ordinary_user") if os.geteuid() == 0 else None
    server = Sshd(base / "ssh", user, world.prefix, lambda connect: inside_net(world, connect))
    try:
        raw(world, "ssh", version_of("ssh", "-V"), 22, f"127.0.0.1:{server.port}",
            "cp client $HOME/k; chmod 600 $HOME/k; head -c 1000000 /dev/zero | "
            "ssh -i $HOME/k -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
            f"{server.login}@db.test 'echo over; wc -c'", "over\n1000000", keep=[server.directory / "client"])
    finally:
        server.stop()
