"""`action: ask`: requests that wait for somebody's yes, and `warder approve` who gives it."""

import hashlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from support import websocket
from support.bench import BEARER, SECRET
from support.daemon import Daemon
from support.h2origin import H2Origin, answer
from support.marks import both_users
from support.terminal import Terminal

ASK = {"name": "asked", "hosts": ["api.test"], "action": "ask"}
OTHER = {"name": "other", "hosts": ["other.test"], "action": "allow"}


def policy(bench, rules=(ASK, OTHER), ask=None, **gateway):
    """The contract's configuration, with these rules and bounds."""
    path = bench.config(rules=list(rules), gateway=bench.gateway(**gateway))
    if ask:
        lines = path.read_text().splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("policies: "))
        policies = json.loads(lines[at].removeprefix("policies: "))
        policies["t"]["ask"] = ask
        lines[at] = "policies: " + json.dumps(policies)
        path.write_text("\n".join(lines) + "\n")
    return path


def approve(bench, *args, prefix=()):
    return subprocess.run([*prefix, *bench.as_user([bench.warder, "approve", *map(str, args)])],
                          cwd=bench.ws, env=bench.environment(), capture_output=True, timeout=20)


def open_questions(bench, count=1, *args, seconds=20.0):
    """Waits until so many are open."""
    deadline = time.monotonic() + seconds
    while True:
        done = approve(bench, "--json", *args)
        assert done.returncode == 0, done
        assert SECRET.encode() not in done.stdout
        found = json.loads(done.stdout)
        if len(found) == count:
            return found
        assert time.monotonic() < deadline, f"{len(found)} are open, not {count}: {found}"
        time.sleep(0.1)


def end(bench, process, creates=()):
    out, err = process.communicate(timeout=30)
    done = bench.check_end(creates=creates)
    done.code, done.out, done.err = process.returncode, out, err
    assert SECRET not in done.text + done.error
    return done


def of_type(done, kind):
    return [r for r in done.records if r["type"] == kind]


# -- yes, no, and no answer ----------------------------------------------------------------------
@both_users
def test_a_request_waits_and_a_yes_lets_it_pass(bench, echo):
    policy(bench)
    running = bench.start(f"curl -sS -i 'https://api.test/headers?key=v' {BEARER}")
    question, = open_questions(bench)
    assert (question["method"], question["url"]) == ("GET", "https://api.test/headers?key=v")
    assert question["rule"] == "asked" and question["count"] == 1
    assert {"name": "Authorization", "value": "Bearer [secret:tok]"} in question["headers"]
    assert question["secrets"] == ["tok in header:authorization"]
    assert len(question["id"]) == 32
    assert echo.accepted == 0, "something was dialled before the yes"
    said = approve(bench, question["id"][:8])
    assert said.returncode == 0 and b"allowed once" in said.stdout, said
    done = end(bench, running)
    assert done.code == 0 and "200 OK" in done.text, done
    assert echo.requests[0].get("authorization") == f"Bearer {SECRET}"
    approval, = of_type(done, "approval")
    assert approval["decision"] == "allow" and approval["scope"] == "once"
    assert approval["how"] == "cli" and approval["id"] == question["id"]
    assert approval["uid"] == (bench.user.uid if bench.user else os.geteuid())
    assert approval["user"] and approval["pid"] > 0
    assert approval["path"] == "/headers?key=…"
    intent, = of_type(done, "intent")
    assert intent["decision"] == "allow" and intent["approval_seq"] == approval["seq"]
    assert approval["seq"] < intent["seq"]
    left = [p for p in (bench.state / "warder/run/runs").iterdir()]
    assert not left, "the run's socket is left behind"


def test_a_no_is_a_403_that_says_so(bench, echo):
    policy(bench)
    running = bench.start("curl -sS -i https://api.test/ok -d payload")
    question, = open_questions(bench)
    said = approve(bench, "--deny", question["id"])
    assert said.returncode == 0 and b"denied" in said.stdout, said
    done = end(bench, running)
    assert "403" in done.text and "Warder-Reason: approval_denied" in done.text, done
    assert echo.accepted == 0
    assert of_type(done, "approval")[0]["decision"] == "deny"
    assert of_type(done, "intent")[0]["reason"] == "approval_denied"


def test_without_an_answer_it_is_refused_in_time(bench, echo):
    policy(bench, ask={"timeout": "1s"})
    done = bench.run("curl -sS -i https://api.test/ok")
    assert "Warder-Reason: approval_timeout" in done.text, done
    assert "approval needed: GET https://api.test/ok (rule asked): warder approve " in done.error
    approval, = of_type(done, "approval")
    assert (approval["decision"], approval["how"], approval["uid"]) == ("timeout", "", -1)
    assert echo.accepted == 0


def test_a_client_that_gives_up_takes_its_question_along(bench, echo):
    policy(bench)
    running = bench.start("curl -sS -m 2 https://api.test/ok; echo code $?; read go",
                          stdin=subprocess.PIPE)
    question, = open_questions(bench)
    open_questions(bench, 0)
    late = approve(bench, question["id"])
    assert late.returncode == 2 and b"no such question is open" in late.stderr, late
    running.stdin.close()
    running.stdin = None
    done = end(bench, running)
    assert "code 28" in done.text and echo.accepted == 0, done
    assert not of_type(done, "approval")


def test_the_end_of_a_run_ends_what_waits(bench, echo):
    policy(bench)
    running = bench.start("curl -sS https://api.test/ok")
    open_questions(bench)
    running.send_signal(signal.SIGTERM)
    done = end(bench, running)
    assert echo.accepted == 0
    assert open_questions(bench, 0) == []
    assert not of_type(done, "approval")


def test_what_a_killed_run_left_goes_with_the_next_one(bench, echo):
    policy(bench)
    running = bench.start("curl -sS https://api.test/ok")
    open_questions(bench)
    running.kill()
    running.wait()
    runs = bench.state / "warder/run/runs"
    dead, = runs.iterdir()
    assert open_questions(bench, 0) == []       # nobody listens there
    os.utime(dead, (1, 1))
    bench.audit.unlink()
    bench.run("true")
    assert not list(runs.iterdir())


def test_more_than_the_bound_is_refused_at_once(bench, echo):
    policy(bench, ask={"pending": 2})
    running = bench.start("for i in 1 2; do curl -sS -m 20 https://api.test/ok?$i & done; read go; "
                          "curl -sS -i https://api.test/ok?3; kill %1 %2", stdin=subprocess.PIPE)
    open_questions(bench, 2)
    running.stdin.write(b"go\n")
    running.stdin.flush()
    running.stdin = None
    done = end(bench, running)
    assert "429" in done.text and "limit_exceeded" in done.text, done
    assert "wait for an answer" in done.text and echo.accepted == 0


# -- what a yes is for ---------------------------------------------------------------------------
def test_a_yes_once_is_for_one_request(bench, echo):
    policy(bench)
    running = bench.start("curl -sS https://api.test/ok; curl -sS -i https://api.test/ok")
    first, = open_questions(bench)
    assert approve(bench, first["id"]).returncode == 0
    assert echo.wait(lambda: len(echo.requests) == 1)
    second, = open_questions(bench)
    assert second["id"] != first["id"]
    assert approve(bench, "--deny", second["id"]).returncode == 0
    done = end(bench, running)
    assert len(echo.requests) == 1 and "approval_denied" in done.text, done


def test_equal_requests_are_one_question_and_one_yes_is_for_those_that_were_shown(bench, echo):
    policy(bench)
    running = bench.start("for i in 1 2 3; do curl -sS -o /dev/null -w '%{http_code}\n' https://api.test/ok & done; wait; "
                          "curl -sS -i https://api.test/ok")
    deadline = time.monotonic() + 20
    while (question := open_questions(bench)[0])["count"] < 3:
        assert time.monotonic() < deadline, question
        time.sleep(0.1)
    assert echo.accepted == 0
    assert approve(bench, question["id"]).returncode == 0
    assert echo.wait(lambda: len(echo.requests) == 3, 20)
    later, = open_questions(bench)                     # the same again is asked again
    assert later["id"] != question["id"] and later["count"] == 1
    assert approve(bench, "--deny", later["id"]).returncode == 0
    done = end(bench, running)
    assert done.text.split()[:3] == ["200"] * 3 and "approval_denied" in done.text, done
    assert len(of_type(done, "approval")) == 2 and len(echo.requests) == 3


def test_a_yes_to_the_rule_is_for_what_it_decides_in_this_run(bench, echo):
    policy(bench)
    running = bench.start("curl -sS https://api.test/ok; curl -sS https://api.test/ok -d x; "
                          "curl -sS https://api.test/headers")
    question, = open_questions(bench)
    assert approve(bench, question["id"], "--for", "10m").returncode == 0
    done = end(bench, running)
    assert done.code == 0 and len(echo.requests) == 3, done
    approval, = of_type(done, "approval")
    assert approval["scope"] == "rule" and re.match(r"\d{4}-.*Z$", approval["until"])
    intents = of_type(done, "intent")
    assert [i["approval_seq"] for i in intents] == [approval["seq"]] * 3
    again = bench.start("curl -sS -i https://api.test/ok")     # another run: forgotten
    question, = open_questions(bench)
    assert approve(bench, "--deny", question["id"]).returncode == 0
    assert "approval_denied" in end(bench, again).text


def test_the_whole_body_is_shown_and_bound(bench, echo):
    policy(bench)
    body = json.dumps({"title": "hello", "body": "world"})
    running = bench.start(f"curl -sS https://api.test/body -H 'Expect: 100-continue' -d '{body}'")
    question, = open_questions(bench)
    assert question["body"]["text"] == body
    assert question["body"]["sha256"] == hashlib.sha256(body.encode()).hexdigest()
    said = approve(bench, question["id"])
    assert body.encode() in said.stdout
    done = end(bench, running)
    assert echo.requests[0].body == body.encode()
    assert of_type(done, "approval")[0]["body_sha256"] == question["body"]["sha256"]


def test_a_long_body_is_not_shown(bench, echo):
    policy(bench)
    bench.write("big", b"x" * 70000)
    running = bench.start("curl -sS https://api.test/body --data-binary @big")
    question, = open_questions(bench)
    assert question["body"] == {"shown": False}
    said = approve(bench, question["id"])
    assert b"body not shown" in said.stdout
    done = end(bench, running)
    assert len(echo.requests[0].body) == 70000
    assert of_type(done, "approval")[0]["body_sha256"] == ""


def test_a_deny_cannot_be_overridden(bench, echo):
    policy(bench, [ASK, {"name": "never", "hosts": ["api.test"], "paths": ["/admin/**"],
                         "action": "deny"}])
    running = bench.start("curl -sS https://api.test/ok; curl -sS -i https://api.test/admin/x")
    question, = open_questions(bench)
    assert approve(bench, question["id"], "--for", "1h").returncode == 0
    done = end(bench, running)
    assert "path_not_allowed" in done.text and len(echo.requests) == 1, done


def test_a_tripwire_is_not_asked_about(bench, echo):
    policy(bench)
    done = bench.run('curl -sS -i https://api.test/ok -H "X-Log: $API_TOKEN"')
    assert "placeholder_wrong_place" in done.text, done
    assert not of_type(done, "approval") and echo.accepted == 0


def test_nothing_is_looked_up_before_the_yes(bench):
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 0))
    names.settimeout(0.2)
    asked = []

    def listen():
        while names.fileno() >= 0:
            try:
                asked.append(names.recv(512))
            except TimeoutError:
                continue
            except OSError:
                return
    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    upstream = {"ca": ["test-ca.pem"], "resolvers": ["127.0.0.1:%d" % names.getsockname()[1]]}
    policy(bench, upstream=upstream)
    running = bench.start("curl -sS -i --http2 https://api.test/ok")
    question, = open_questions(bench)
    time.sleep(0.5)
    assert not asked, "the name was looked up before the yes"
    assert approve(bench, question["id"]).returncode == 0
    deadline = time.monotonic() + 5
    while not asked and time.monotonic() < deadline:
        time.sleep(0.05)
    assert asked, "nor was it after it: this test proves nothing"
    running.kill()
    running.wait()
    names.close()
    thread.join(2)


# -- what is shown -------------------------------------------------------------------------------
EVIL = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\u2066 \x9b31m"


def test_what_is_shown_obeys_no_terminal(bench, echo):
    policy(bench)
    bench.write("evil", EVIL.encode())
    running = bench.start("curl -sS 'https://api.test/%1b%5b2J?q=%e2%80%ae' --data-binary @evil "
                          "-H \"$(printf 'X-Evil: \\342\\200\\256\\302\\233cba')\"")
    question, = open_questions(bench)
    text = approve(bench, "--json").stdout + approve(bench).stdout
    said = approve(bench, question["id"])
    for shown in (text, said.stdout, said.stderr):
        controls = [b for b in shown if b < 0x20 and b != 0x0a]
        assert not controls and b"\xe2\x80\xae" not in shown and b"\xe2\x81\xa6" not in shown, shown
        assert b"\xc2\x9b" not in shown, shown
    assert rb"\u001b]0;owned\u0007" in said.stdout, said
    assert rb"X-Evil: \xe2\x80\xae\xc2\x9bcba" in said.stdout, said
    done = end(bench, running)
    assert echo.requests[0].body == EVIL.encode()
    notice = [line for line in done.error.splitlines() if "approval needed" in line]
    assert len(notice) == 1 and notice[0].isascii(), done


# -- protocols -----------------------------------------------------------------------------------
def test_http2(bench, pki):
    origin = H2Origin(answer, pki.good)
    bench.map("api.test:443", origin)
    policy(bench, [{**ASK, "methods": ["POST"]},
                   {"name": "read", "hosts": ["api.test"], "methods": ["GET"], "action": "allow"}])
    running = bench.start("curl -sS -o /dev/null -w '%{http_version} %{http_code}\\n' --http2 "
                          f"https://api.test/x -d 'the body' {BEARER}")
    question, = open_questions(bench)
    assert question["body"]["text"] == "the body"
    assert not origin.requests
    assert approve(bench, question["id"]).returncode == 0
    done = end(bench, running)
    assert done.text == "2 200\n", done


def test_websocket(bench, pki):
    server = websocket.Websockets(websocket.echo, pki.good)
    bench.map("api.test:443", server)
    policy(bench)
    bench.write("client.py", """from wire import *
from wswire import *
peer = opened()
peer.send(mine(TEXT, b"hello"))
show(said=read_frame(peer).payload.decode())
""")
    for name in ("wire.py", "wswire.py"):
        bench.write(name, (websocket.INSIDE / name).read_bytes())
    running = bench.start(["/usr/bin/python3", "-B", "client.py"])
    question, = open_questions(bench)
    assert {"name": "Upgrade", "value": "websocket"} in question["headers"]
    assert not server.handshakes
    assert approve(bench, question["id"]).returncode == 0
    done = end(bench, running)
    assert '"hello"' in done.text, done


# -- gateways, and who may answer ----------------------------------------------------------------
class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("gateway", timeout=10)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(self.path)


def api(gateway, method, path, body=None):
    connection = Unix(gateway.directory / "admin.sock")
    connection.request(method, path, body)
    reply = connection.getresponse()
    return reply.status, reply.read().decode()


def test_the_api_of_a_gateway(bench, echo):
    with Daemon(bench, [{"type": "connect"}], config=None, rules=[ASK, OTHER]) as gateway:
        proxy = f"http://127.0.0.1:{gateway.ports['connect-1']}"
        answers = []

        def fetch(path):
            answers.append(gateway.curl("-i", "--proxy", proxy, f"https://api.test{path}"))
        threads = [threading.Thread(target=fetch, args=(p,)) for p in ("/ok?1", "/ok?2")]
        for thread in threads:
            thread.start()
        sock = gateway.directory / "admin.sock"
        one, two = open_questions(bench, 2, "--gateway", sock)
        assert json.loads(api(gateway, "GET", "/v1/approvals")[1])[0]["id"] == one["id"]
        path = f"/v1/approvals/{one['id']}"
        for bad in ("", "[]", '{"answer": "maybe"}', '{"answer": "allow"}',
                    '{"answer": "allow", "for": "25h"}', '{"answer": "allow", "for": "once", "x": 1}',
                    '{"answer": "allow", "for": "once", "count": 0}'):
            assert api(gateway, "POST", path, bad)[0] == 400, bad
        assert api(gateway, "POST", "/v1/approvals/" + "0" * 32, '{"answer": "deny"}')[0] == 404
        assert api(gateway, "POST", "/v1/approvals", '{"answer": "deny"}')[0] == 405
        assert api(gateway, "GET", path)[0] == 405
        assert echo.accepted == 0
        assert api(gateway, "POST", path, '{"answer": "allow", "for": "once"}')[0] == 200
        assert api(gateway, "POST", path, '{"answer": "deny"}')[0] == 404     # answered already
        assert approve(bench, "--deny", two["id"], "--gateway", sock).returncode == 0
        for thread in threads:
            thread.join(20)
        texts = sorted(done.stdout.split(" ")[1] for done in answers if done.stdout)
        assert len(echo.requests) == 1, answers
        assert any("approval_denied" in done.stdout for done in answers), (texts, answers)
        said = gateway.records("approval", 2)
        assert [(r["how"], r["decision"]) for r in said] == [("api", "allow"), ("cli", "deny")]
    assert bench.verify().returncode == 0


def test_a_run_behind_a_gateway_is_asked_about_there(bench, echo):
    with Daemon(bench, [{"type": "connect"}], rules=[ASK, OTHER]) as gateway:
        sock = gateway.directory / "admin.sock"
        running = bench.start("curl -sS -i https://api.test/ok", policy=None, config=None,
                              args=("--gateway", sock), env={"REAL_TOKEN": None})
        question, = open_questions(bench, 1, "--gateway", sock)
        assert question["session"].endswith("/run/1")
        assert approve(bench, question["id"], "--gateway", sock).returncode == 0
        out, err = running.communicate(timeout=20)
        assert b"200 OK" in out and b"approval needed: GET https://api.test/ok" in err, (out, err)
    assert bench.verify().returncode == 0


def test_the_sandbox_cannot_answer_for_itself(bench, echo):
    """It does not see the socket; and who sees it from another network namespace is refused."""
    policy(bench)
    running = bench.start(f"ls -aR {bench.directory} 2>&1; curl -sS -i https://api.test/ok")
    question, = open_questions(bench)
    sockets = list((bench.state / "warder/run/runs").glob("*/admin.sock"))
    assert len(sockets) == 1 and sockets[0].parent.stat().st_mode & 0o777 == 0o700
    if os.geteuid() == 0:
        spy = approve(bench, question["id"], prefix=("unshare", "-n"))
        assert spy.returncode != 0 and b"network namespace" in spy.stdout + spy.stderr, spy
        assert echo.accepted == 0
    assert approve(bench, "--deny", question["id"]).returncode == 0
    done = end(bench, running)
    assert "admin.sock" not in done.text and "approval_denied" in done.text, done


def test_the_command_line_says_what_is_wrong(bench):
    for args, why in ((("--deny",), "needs the ID"), (("abc",), "at least 4 characters"),
                      (("abcd", "--for", "2d"), "from 1s to 24h"), (("abcd",), "no such question"),
                      (("--deny", "abcd", "--for", "1m"), "without --for"),
                      (("abcd", "--watch"), "without an ID"),
                      (("--gateway", "nowhere.sock"), "no gateway listens there")):
        done = approve(bench, *args)
        assert done.returncode == 2 and why in done.stderr.decode(), done
    assert approve(bench).stdout == b"nothing waits for an answer\n"


# -- terminals -----------------------------------------------------------------------------------
@pytest.fixture
def terminals():
    made = []
    yield made
    for each in made:
        each.close()


def test_the_person_is_called_without_a_mark_on_the_screen(bench, echo, terminals):
    policy(bench)
    bench.own()
    screen = Terminal(bench.argv("curl -sS https://api.test/ok"), bench.ws, bench.environment())
    terminals.append(screen)
    called = screen.expect(r"\x1b\]9;warder: (approval needed: [ -~]*)\x07\x07")
    assert b"GET https://api.test/ok" in called[1]
    assert b"warder: approval" not in screen.seen
    question, = open_questions(bench)
    helper = Terminal(bench.as_user([bench.warder, "approve", "--watch"]), bench.ws,
                      bench.environment())
    terminals.append(helper)
    helper.expect("GET https://api.test/ok")
    helper.expect(r"allow it\? ")
    helper.send("maybe\n")
    helper.expect(r"allow it\? ")
    helper.send("y\n")
    assert screen.wait() == 0
    assert len(echo.requests) == 1
    helper.send("\x03")
    helper.wait()
    assert question["id"] == [r for r in bench.records() if r["type"] == "approval"][0]["id"]
    assert bench.verify().returncode == 0


def test_attack_what_was_typed_ahead_answers_nothing(bench, echo, terminals):
    """A second enter after a yes, or keys that were meant for something else, are no answer to what comes next."""
    policy(bench)
    bench.own()
    helper = Terminal(bench.as_user([bench.warder, "approve", "--watch"]), bench.ws, bench.environment())
    terminals.append(helper)
    helper.send("y\ny\nr\n")
    time.sleep(0.3)
    running = bench.start("curl -sS https://api.test/first; curl -sS https://api.test/second")
    helper.expect("GET https://api.test/first")
    helper.expect(r"allow it\? ")
    time.sleep(1)
    assert echo.accepted == 0, "it was answered by what nobody typed for it"
    helper.send("y\ny\nr\n")
    helper.expect("GET https://api.test/second")
    helper.expect(r"allow it\? ")
    time.sleep(1)
    assert len(echo.requests) == 1, echo.requests
    helper.send("n\n")
    done = end(bench, running)
    assert "approval_denied" in done.text, done
    helper.send("\x03")
    helper.wait()


def test_a_run_that_is_stopped_does_not_hold_up_the_questions_of_others(bench, echo):
    policy(bench)
    running = bench.start("curl -sS https://api.test/ok")
    open_questions(bench)
    bench.config(gateway={"upstream": {"ca": ["test-ca.pem"]}}, name="t2.yaml")   # a record of its own
    stopped = bench.start("echo up; exec sleep 30", config="t2.yaml")
    assert stopped.stdout.readline() == b"up\n"
    stopped.send_signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        done = approve(bench, "--json")
        question, = json.loads(done.stdout)
        assert time.monotonic() - begin < 5 and b"gave no answer" in done.stderr, done
        assert approve(bench, question["id"]).returncode == 0
        running.wait(20)
    finally:
        stopped.send_signal(signal.SIGCONT)
    stopped.terminate()
    stopped.communicate(timeout=10)
    end(bench, running)
