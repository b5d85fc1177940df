"""Real clients, none of which knows that warder is there."""

import os
import shutil

import pytest

from support.bench import BEARER, CONTRACT_GRANTS, CONTRACT_RULES, PYTHON, SECRET
from support.git_origin import git_origin, make_repository
from support.marks import both_users


def sent(echo):
    return [r.get("authorization") for r in echo.requests]


@both_users
def test_curl_uploads_and_downloads(bench, echo):
    done = bench.run(f"curl -fsS {BEARER} -d hello https://api.test/echo && "
                     f"curl -fsS -I {BEARER} https://api.test/sized/77")
    assert done.code == 0 and done.text.startswith("hello"), done
    assert "content-length: 77" in done.text.lower()
    assert sent(echo) == [f"Bearer {SECRET}"] * 2


@both_users
def test_wget(bench, echo):
    """GnuTLS and no variable: it trusts the system's bundle alone."""
    if not shutil.which("wget"):
        pytest.skip("no wget on this machine")
    done = bench.run('wget -q -O - --header "Authorization: Bearer $API_TOKEN" '
                     "https://api.test/whoami")
    assert done.code == 0 and done.text.startswith("you are "), done
    assert sent(echo) == [f"Bearer {SECRET}"]


@pytest.fixture
def git(bench, pki):
    root = bench.directory / "git"
    make_repository(root)
    origin = git_origin(pki.good, root, SECRET)
    bench.map("git.test:443", origin)
    bench.config(rules=[{"name": "git", "hosts": ["git.test"], "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": ["git.test"], "at": ["basic"]}])
    origin.root = root
    return origin


@both_users
def test_git_clone_and_push_with_the_token_in_basic(bench, git):
    """BR-050: base64(user:placeholder) in both directions of git's smart protocol."""
    done = bench.run("""set -e
        git clone -q "https://x-access-token:$API_TOKEN@git.test/r.git" clone
        cd clone
        cat README
        head -c 400000 /dev/urandom > new
        git add new
        git -c user.name=t -c user.email=t@t commit -q -m second
        git push -q origin main
        git fetch -q && git status -sb | head -1""", creates=["clone"], timeout=60)
    assert done.code == 0 and "hello from the origin" in done.text, done
    log = os.popen(f"git -c safe.directory='*' -C {git.root}/r.git log --format=%s main").read()
    assert log.split() == ["second", "first"], log
    for path in (bench.ws / "clone" / ".git").rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_git_with_a_wrong_token_is_refused_by_warder(bench, git):
    done = bench.run("GIT_TERMINAL_PROMPT=0 git clone -q "
                     "https://u:not-a-placeholder@git.test/r.git clone", creates=["clone"])
    assert done.code == 128 and "403" in done.error, done


@both_users
def test_python_urllib(bench, echo):
    done = bench.python("""
import urllib.request
request = urllib.request.Request("https://api.test/whoami",
                                 headers={"Authorization": "Bearer " + TOKEN})
print(urllib.request.urlopen(request, timeout=10).read().decode().strip() == "you are " + TOKEN)
""")
    assert done.text == "True\n", done
    assert sent(echo) == [f"Bearer {SECRET}"]


@both_users
def test_python_requests(bench, echo):
    """It brings its own bundle and reads REQUESTS_CA_BUNDLE."""
    probe = os.system(f"{PYTHON} -c 'import requests' 2>/dev/null")
    if probe:
        pytest.skip("python3-requests is not installed")
    done = bench.python("""
import requests
session = requests.Session()
for auth in ({"headers": {"Authorization": "Bearer " + TOKEN}}, {"auth": ("user", TOKEN)}):
    answer = session.get("https://api.test/whoami", timeout=10, **auth)
    print(answer.text.strip() == "you are " + TOKEN)
answer = requests.get("https://other.test/ok", headers={"X": TOKEN, "Accept": "application/json"})
print(answer.json()["error"]["reason"])
""")
    assert done.text == "True\nTrue\nplaceholder_wrong_host\n", done
    assert sent(echo)[0] == f"Bearer {SECRET}" and sent(echo)[1].startswith("Basic ")


@both_users
def test_node_fetch(bench, echo):
    """Node's fetch reads no proxy variable and brings its own roots."""
    node = shutil.which("node", path="/usr/local/bin:/usr/bin:/bin")
    if not node:
        pytest.skip("no node in /usr/bin or /usr/local/bin")
    bench.write("client.mjs", """
const headers = {authorization: `Bearer ${process.env.API_TOKEN}`};
const answer = await fetch("https://api.test/whoami", {headers});
console.log((await answer.text()).trim() === `you are ${process.env.API_TOKEN}`);
const body = "x".repeat(200000);
const posted = await fetch("https://api.test/echo", {method: "POST", headers, body});
console.log((await posted.text()).length);
const refused = await fetch("https://other.test/ok", {headers});
console.log(refused.status, refused.headers.get("warder-reason"));
""")
    done = bench.run([node, str(bench.ws / "client.mjs")], timeout=60)
    assert done.text == "true\n200000\n403 placeholder_wrong_host\n", done
    assert sent(echo) == [f"Bearer {SECRET}"] * 2


@both_users
def test_an_empty_environment_trusts_the_system_bundle(bench, echo):
    done = bench.run('t=$API_TOKEN; env -i /usr/bin/curl -sS -H "Authorization: Bearer $t" '
                     'https://api.test/ok; env -i /bin/sh -c '
                     '"echo | /usr/bin/openssl s_client -connect api.test:443 -servername api.test '
                     '-verify_return_error -brief 2>&1 | /usr/bin/head -20"')
    assert done.code == 0 and done.text.startswith("ok"), done
    assert "Verification: OK" in done.text, done
    assert sent(echo) == [f"Bearer {SECRET}"]


def test_proxy_variables_change_nothing(bench, echo):
    """A program that ignores them, and one to which the host gave a wrong one: both get through."""
    env = {"https_proxy": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}
    done = bench.run("curl -sS https://api.test/ok; curl -sS --noproxy '*' https://other.test/ok",
                     env=env)
    assert done.text == "okok", done


def test_a_program_that_dials_by_address_is_caught(bench, echo):
    """connect() to a public address succeeds and proves nothing: only the gateway has accepted."""
    done = bench.python("""
sock = socket.create_connection(("93.184.216.34", 443), 5)
sock.sendall(b"hello, is anybody out there?\\r\\n\\r\\n")
sock.settimeout(5)
show(got=attempt(lambda: sock.recv(100).decode("latin-1")))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(0.5)
show(udp=attempt(lambda: (udp.connect(("8.8.8.8", 443)), udp.send(b"x"), udp.recv(10))[2].decode()))
""")
    tcp, udp = done.lines
    assert tcp["got"] in ("", "ConnectionResetError") or tcp["got"][9:12] in ("400", "403"), done
    assert "Error" in udp["udp"], done
    assert echo.accepted == 0


def test_host_services_are_not_reachable(bench, echo):
    """The origin listens on the host's loopback: inside, 127.0.0.1 is the sandbox's own."""
    done = bench.python("""
port = int(arguments()[0])
show(host=attempt(lambda: str(socket.create_connection(("127.0.0.1", port), 2))))
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname(), 2)
peer, _ = server.accept()
peer.sendall(b"own")
show(own=client.recv(10).decode(), interfaces=sorted(os.listdir("/sys/class/net"))
     if os.path.isdir("/sys/class/net") else ["lo"])
""", echo.port)
    assert done.lines[0]["host"] == "ConnectionRefusedError", done
    assert done.lines[1]["own"] == "own" and echo.accepted == 0, done


def test_two_grants_choose_by_placeholder(bench, echo):
    secrets = {"tok": {"source": {"env": "REAL_TOKEN"}, "placeholder": {"env": "API_TOKEN"}},
               "two": {"source": {"env": "REAL_TWO"}, "placeholder": {"env": "TWO"}}}
    second = "another-secret-value-42"
    bench.config(rules=CONTRACT_RULES, secrets=secrets,
                 grants=[*CONTRACT_GRANTS, {"secret": "two", "hosts": ["other.test"],
                                            "at": ["header:x-api-key"]}])
    quiet, key = "curl -sS -o /dev/null", '-H "X-Api-Key:'
    done = bench.run(f'{quiet} {BEARER} https://api.test/ok; '
                     f'{quiet} {key} $TWO" https://other.test/ok; '
                     f'{quiet} -w "%{{http_code}}" {key} $API_TOKEN" https://other.test/ok',
                     env={"REAL_TWO": second})
    assert [r.get("x-api-key") for r in echo.requests] == [None, second], done
    assert done.text == "403" and sent(echo)[0] == f"Bearer {SECRET}", done
