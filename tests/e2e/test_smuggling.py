"""Request smuggling: whatever a client or an origin sends, the origin sees the one request that the
policy judged or none, and the client its one answer or none. The cases are in
tests/corpus/smuggling; tests/http/smuggling_test.cpp reads the same ones in every split."""

import base64
import json
import re
import time
from collections import Counter

import pytest

from support.bench import CONTRACT_RULES
from support.h2bench import inside, origin_of
from support.origin import Closed, Origin
from support.smuggling import Ambiguous, corpus, h2_parts, read_plain

RULES = [{"name": "evil", "hosts": ["api.test"], "paths": ["/evil/**"], "action": "deny"},
         {"name": "api", "hosts": ["api.test"], "action": "allow"}, CONTRACT_RULES[1]]

REQUESTS = corpus("requests.txt")
RESPONSES = corpus("responses.txt")

# Sends each case on a connection of its own, a few at a time, and tells which statuses came back.
CLIENT = r"""
import base64, re, threading
context = ssl.create_default_context()
ssl.create_default_context = lambda: context
todo = json.load(open("cases.json"))
lock = threading.Lock()

def heard(wire):
    # Everything until the end, or a quarter of a second of silence behind something.
    got = b""
    try:
        wire.sock.settimeout(0.6)
        while data := wire.sock.recv(65536):
            got += data
            wire.sock.settimeout(0.25)
        return got, "end"
    except (TimeoutError, socket.timeout):
        return got, "open"
    except OSError:
        return got, "broken"

def work():
    while True:
        with lock:
            if not todo:
                return
            number, tls, data = todo.pop()
        wire = Wire(port=443 if tls else 80, tls=tls)
        try:
            wire.send(base64.b64decode(data))
        except OSError:
            pass
        got, end = heard(wire)
        wire.close()
        with lock:
            show(number=number, tls=tls, end=end,
                 statuses=[int(s) for s in re.findall(rb"HTTP/1\.1 (\d\d\d)", got)])

threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
show(alive=fetch("/ok", host="other.test").status)
"""


def answer(conn):
    """Answers every request that is whole, in whatever way it can be read."""
    while True:
        request = conn.read_request()
        body = b"" if request.method == "HEAD" else b"ok"
        conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + body)


def test_the_strict_reader_takes_no_request_that_must_be_refused():
    """What the other tests measure with: it must object to the very bytes of the corpus. Of sizes it
    knows nothing."""
    only_too_large = {"trailer-long", "target-long", "names-1001", "head-too-large"}
    taken = []
    for case in REQUESTS:
        try:
            requests = read_plain(case.bytes("/t/0"))
        except Ambiguous:
            requests = []
        strict = case.verdict == "refused" and case.name not in only_too_large
        if strict and any(r.whole for r in requests):
            taken.append(case.name)
    assert not taken, taken


def run_corpus(bench, schemes):
    cases = []
    for number, case in enumerate(REQUESTS):
        for scheme, letter, port in schemes:
            data = case.bytes(f"/{letter}/{number}", scheme, port)
            cases.append([number, letter == "t", base64.b64encode(data).decode()])
    bench.write("cases.json", json.dumps(cases))
    bench.config(rules=RULES)
    done = bench.python(CLIENT, timeout=120)
    assert done.lines[-1]["alive"] == 200, done
    answers = {("t" if r["tls"] else "p", r["number"]): r for r in done.lines[:-1]}
    assert len(answers) == len(cases), "a case got lost"
    return done, answers


def judge_answers(answers, arrived):
    """`arrived`: how many whole requests of each case the origin got. All that is wrong, by name."""
    wrong = []
    for (letter, number), got in answers.items():
        case, count = REQUESTS[number], arrived[letter, number]
        passes = case.verdict in ("one", "two")
        statuses = got["statuses"]
        if count != (1 if passes else 0):
            wrong.append((case.name, letter, case.verdict, "arrived", count, statuses))
        elif passes and [s for s in statuses if s == 200] != [200]:
            wrong.append((case.name, letter, case.verdict, "answered", statuses))
        elif not passes and (200 in statuses or len(statuses) > 1):
            wrong.append((case.name, letter, case.verdict, "answered", statuses))
        elif case.verdict in ("refused", "judged") and not statuses and got["end"] == "open":
            wrong.append((case.name, letter, case.verdict, "neither answered nor closed"))
    return wrong


def case_of(text):
    """Which case a request belongs to: its own path stands in its target or its X-Case field."""
    found = re.search(r"/([tp])/(\d+)", text)
    assert found, f"a request of no case: {text!r}"
    return found[1], int(found[2])


def judged(records, scheme):
    """(method, path) of what the policy let through."""
    return {(r["method"], r["path"].partition("?")[0]) for r in records
            if r.get("decision") == "allow" and r.get("authority") == f"{scheme}://api.test"}


def test_the_origin_sees_the_one_request_that_was_judged_or_none(bench, pki):
    """Over TLS and in clear text; every byte at the origin has one reading."""
    origins = {"https": Origin(answer, pki.good), "http": Origin(answer)}
    others = [Origin(answer, pki.good), Origin(answer)]
    for (scheme, origin), other, port in zip(origins.items(), others, (443, 80)):
        bench.map(f"api.test:{port}", origin).map(f"evil.test:{port}", other)
    bench.map("other.test:443", Origin(answer, pki.good))
    done, answers = run_corpus(bench, [("https", "t", 443), ("http", "p", 80)])

    arrived = Counter()
    for scheme, origin in origins.items():
        allowed = judged(done.records, scheme)
        for conn in origin.connections:
            assert origin.wait(lambda c=conn: c.ended), "a connection to the origin stays open"
            for request in read_plain(bytes(conn.received)):
                assert "evil" not in re.sub(r"evil\.test|2fevil|evil%00", "", request.target), request
                assert request.host in ("api.test", "api.test:443", "api.test:80"), request
                method = request.line.split(" ")[0]
                assert (method, request.target.partition("?")[0]) in allowed, request
                if request.whole:
                    arrived[case_of(request.head)] += 1
        assert sum(len(c.requests) for c in origin.connections) == \
            sum(n for (letter, _), n in arrived.items() if letter == ("t" if scheme == "https" else
                                                                      "p"))
    wrong = judge_answers(answers, arrived)
    assert not wrong, f"{len(wrong)} of {len(answers)}: {wrong}"
    assert all(other.accepted == 0 for other in others)


# -- HTTP/2 ----------------------------------------------------------------------------------------
H2_REQUESTS = corpus("h2_requests.txt")

H2_CLIENT = r"""
import threading
context = ssl.create_default_context()
context.set_alpn_protocols(["h2"])
ssl.create_default_context = lambda: context
todo = json.load(open("cases.json"))
lock = threading.Lock()

def latin(pairs):
    return [(n.encode("latin-1"), v.encode("latin-1")) for n, v in pairs]

def work():
    while True:
        with lock:
            if not todo:
                return
            number, head, data, trailers = todo.pop()
        raw = RawH2()
        block = raw.block(latin(head))
        cuts = [block[i:i + 16000] for i in range(0, len(block), 16000)]
        ends = [] if data or trailers else ["END_STREAM"]
        frames = [HeadersFrame(1, cuts[0], flags=ends),
                  *(ContinuationFrame(1, c) for c in cuts[1:])]
        frames[-1].flags.add("END_HEADERS")
        for i, piece in enumerate(data):
            last = i + 1 == len(data) and not trailers
            frames.append(DataFrame(1, piece.encode("latin-1"),
                                    flags=["END_STREAM"] if last else []))
        if trailers:
            frames.append(raw.head(1, latin(trailers)))
        raw.send(*frames)
        verdict = raw.verdict()
        raw.tls.close()
        with lock:
            show(number=number, **verdict)

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
show(alive=H2Wire().fetch("/alive")["status"])
"""


@pytest.mark.parametrize("kind", ["http1", "h2"])
def test_what_came_over_http2_is_the_one_request_that_was_judged_or_none(bench, pki, kind):
    """At an origin of either version; over HTTP/1.1 every byte has one reading."""
    def script(stream):
        stream.read_all()
        stream.reply(b"" if stream.method == "HEAD" else b"ok")
    if kind == "h2":
        origin = origin_of(bench, pki, script)
    else:
        origin = Origin(answer, pki.good)
        bench.map("api.test:443", origin)
    other = Origin(answer, pki.good)
    bench.map("evil.test:443", other).map("other.test:443", other)
    bench.config(rules=RULES)
    bench.write("cases.json", json.dumps(
        [[n, *h2_parts(c, f"/t/{n}")] for n, c in enumerate(H2_REQUESTS)]))
    done = inside(bench, H2_CLIENT, timeout=90)
    assert done.lines[-1]["alive"] == 200 and len(done.lines) == len(H2_REQUESTS) + 1, done

    allowed, arrived = judged(done.records, "https"), Counter()
    for method, target, host, head, whole in arrivals(origin, kind):
        assert (method, target.partition("?")[0]) in allowed, head
        assert host.lower().rstrip(".") in ("api.test", "api.test:443"), head
        if whole and target != "/alive":
            arrived[case_of(head)] += 1
    wrong = []
    for got in done.lines[:-1]:
        case = H2_REQUESTS[got["number"]]
        wanted = 1 if case.verdict == "one" else 0
        told = "reset" in got or "goaway" in got or got.get("status", "200") != "200"
        if arrived["t", got["number"]] != wanted or (told or got.get("closed", False)) == wanted:
            wrong.append((case.name, case.verdict, arrived["t", got["number"]], got))
    assert not wrong, f"{len(wrong)} of {len(H2_REQUESTS)}: {wrong}"
    assert other.accepted == 0 and getattr(origin, "violations", []) == []


def arrivals(origin, kind):
    """(method, target, host, head, whole) of all that reached the origin."""
    if kind == "h2":
        for s in origin.streams:
            names = {n for n, _ in s.headers}
            assert not names & {"connection", "transfer-encoding", "upgrade", "host"}, s.headers
            yield (s.method, s.path, s.get(":authority"), " ".join(v for _, v in s.headers),
                   s.ended)
        return
    for conn in origin.connections:
        assert origin.wait(lambda c=conn: c.ended), "a connection to the origin stays open"
        for request in read_plain(bytes(conn.received)):
            method, target, _ = request.line.split(" ")
            yield method, target, request.host, request.head, request.whole


# -- what an origin answers ------------------------------------------------------------------------
def responder(conn):
    """/r/N is answered with the bytes of case N. What is one response leaves the connection open, so
    that the gateway would read what stands behind it as the answer to the next request."""
    while True:
        request = conn.read_request()
        asked = re.match(r"/r/(\d+)", request.target)
        if not asked:
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")
            continue
        case = RESPONSES[int(asked[1])]
        conn.send(case.bytes())
        if case.verdict != "one" or "until-close" in case.name:
            conn.close_cleanly()
            raise Closed("on purpose")


ASK = """
import threading
context = ssl.create_default_context()
ssl.create_default_context = lambda: context
todo = json.load(open("cases.json"))
lock = threading.Lock()

def work():
    while True:
        with lock:
            if not todo:
                return
            number, method = todo.pop()
        wire = Wire()
        wire.send(f"{method} /r/{number} HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
        first = attempt(lambda: wire.reply(method).summary())
        time.sleep(0.02)
        def again():
            wire.send("GET /next HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
            return wire.reply().body.decode("latin-1")
        second = attempt(again)
        wire.close()
        if not isinstance(first, str):
            first["headers"] = []
        with lock:
            show(number=number, first=first, second=second)

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""

ASK_H2 = """
todo = json.load(open("cases.json"))
wire = H2Wire()
for number, method in todo:
    first = wire.fetch(f"/r/{number}", method=method)
    second = wire.fetch("/next")
    first["headers"] = []
    show(number=number, first=first, second=second["body"])
"""

BODIES = {"until-close": "hello", "until-close-http10": "hello", "second-behind-length": "hello",
          "second-behind-chunked": "hello", "blank-behind": "hello", "interim-then-two": "hello"}


@pytest.mark.parametrize("version", ["http/1.1", "h2"])
def test_the_client_gets_its_one_answer_or_none(bench, pki, version):
    """502, or a transfer that broke off; never a clean end of what was not whole, and never the
    response that an origin sent behind its response."""
    origin = Origin(responder, pki.good)
    bench.map("api.test:443", origin)
    bench.config(rules=RULES)
    bench.write("cases.json", json.dumps(
        [[n, "HEAD" if c.name.startswith("for-head-") else "GET"] for n, c in enumerate(RESPONSES)]))
    done = bench.python(ASK, timeout=90) if version == "http/1.1" else inside(bench, ASK_H2,
                                                                              timeout=90)
    assert len(done.lines) == len(RESPONSES), done
    wrong = []
    for got in done.lines:
        case, first = RESPONSES[got["number"]], got["first"]
        clean = not isinstance(first, str) and first["clean"] and first["status"] not in (502, 0)
        if clean != (case.verdict == "one"):
            wrong.append((case.name, case.verdict, first))
        elif clean and first["body"] != BODIES.get(case.name, ""):
            wrong.append((case.name, "body", first))
        closed = ("Broken", "ConnectionResetError", "BrokenPipeError", "SSLEOFError")
        if got["second"] not in ("next", *(closed if version == "http/1.1" else ())):
            wrong.append((case.name, "the next answer", got["second"]))
    assert not wrong, f"{len(wrong)}: {wrong}"
    assert "EVIL" not in done.text
    asked = Counter(r.target for r in origin.requests)
    twice = {RESPONSES[int(t[3:])].name for t, n in asked.items() if t.startswith("/r/") and n > 1}
    assert not twice, f"sent twice although an answer had begun: {twice}"


def test_a_response_that_nobody_asked_for_answers_no_later_request(bench, pki):
    """It comes while the connection is kept for the next request."""
    def script(conn):
        count = 0
        while True:
            request = conn.read_request()
            count += 1
            if request.target == "/next":
                conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext")
                continue
            conn.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            time.sleep(0.05)
            conn.send(b"HTTP/1.1 200 EVIL\r\nContent-Length: 4\r\n\r\nEVIL")
    bench.map("api.test:443", Origin(script, pki.good))
    done = bench.python("""
for i in range(5):
    wire = Wire()
    wire.send("GET /a HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
    first = wire.reply().body.decode()
    time.sleep(0.15)
    wire.send("GET /next HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
    show(first=first, second=attempt(lambda: wire.reply().body.decode()))
""")
    assert all(r["first"] == "hello" for r in done.lines) and "EVIL" not in done.text, done
    assert all(r["second"] == "next" for r in done.lines), done
