"""What the gateway asks about names, whom it asks, and which of the answers it dials."""

import contextlib

import pytest

from support.nets import Listeners, NameServer, Net, Packets

GOOD, GOOD6 = "10.77.0.2", "fd77::2"
REFUSED, REFUSED6 = "10.77.0.3", "fd77::3"      # exist, and nobody listens there
SILENT, SILENT6 = "10.77.0.99", "fd77::dead"    # what is sent there is swallowed
NO_ROUTE6 = "2606:2800:220:1::1"
FORBIDDEN = ["127.0.0.1", "::1", "169.254.169.254"]
A, AAAA, CNAME = NameServer.A, NameServer.AAAA, NameServer.CNAME
RULES = [{"name": "api", "hosts": ["*.api.test"], "action": "allow", "allow_private": True}]

ASK = """
import http.client
def ask(host):
    began = time.monotonic()
    try:
        peer = http.client.HTTPConnection(host, 80, timeout=15)
        peer.request("GET", "/")
        answer = peer.getresponse()
        text = answer.read().decode()
        return {"status": answer.status, "reason": answer.getheader("warder-reason"),
                "body": text, "took": time.monotonic() - began}
    except OSError as error:
        return {"status": 0, "reason": str(error), "took": time.monotonic() - began}
"""


@pytest.fixture
def place(bench):
    with contextlib.ExitStack() as stack:
        net = Net([f"{GOOD}/24", f"{REFUSED}/24", f"{GOOD6}/64", f"{REFUSED6}/64",
                   "169.254.169.254/32"])
        stack.callback(net.close)
        net.host(bench)
        bench.net, bench.stack = net, stack
        bench.listeners = Listeners(net, [GOOD, GOOD6, *FORBIDDEN])
        stack.callback(bench.listeners.close)
        yield bench


def resolving(place, resolvers, script=None):
    """The configuration with these resolvers; `script` answers on 127.0.0.1:53."""
    place.config(rules=RULES, grants=[], secrets={}, gateway={
        "audit": {"file": "audit/audit.jsonl"}, "upstream": {"resolvers": resolvers}})
    place.real = ""
    if script is None:
        return None
    server = NameServer(place.net, script)
    place.stack.callback(server.close)
    return server


def zone(table):
    """{name: [address or name]} as a script; every other name does not exist."""
    def script(name, kind):
        if name not in table:
            return 3
        return [(name, of(text), 60, text) for text in table[name] if of(text) == kind]
    return script


def of(text):
    return AAAA if ":" in text else A


def test_br_077_only_the_configured_resolver_is_asked(place):
    server = resolving(place, ["127.0.0.1"], zone({"a.api.test": [GOOD]}))
    packets = Packets(place.net)
    place.stack.callback(packets.close)
    done = place.python(ASK + "show(**ask('a.api.test'))\nshow(**ask('b.api.test'))")
    known, unknown = done.lines
    assert (known["status"], known["body"]) == (200, GOOD), done
    assert (unknown["status"], unknown["reason"]) == (502, "upstream_resolve_failed"), done
    assert "the name does not exist" in unknown["body"], done
    assert packets.resolvers_asked() == {("127.0.0.1", 53)}, packets.resolvers_asked()
    assert {name for name, _ in server.questions} == {"a.api.test", "b.api.test"}


def test_br_077_a_dead_resolver_is_a_reason_in_time_and_is_not_replaced(place):
    resolving(place, [SILENT])
    packets = Packets(place.net)
    place.stack.callback(packets.close)
    done = place.python(ASK + "show(**ask('a.api.test'))")
    [answer] = done.lines
    assert (answer["status"], answer["reason"]) == (502, "upstream_resolve_failed"), done
    assert "no answer from the resolver" in answer["body"], done
    assert answer["took"] < 10.75, answer       # docs/limits.md: 10 s
    assert packets.resolvers_asked() == {(SILENT, 53)}, packets.resolvers_asked()
    assert any(r.get("reason") == "upstream_resolve_failed" for r in done.records), done.records


def test_br_078_a_name_that_resolves_to_changing_addresses_reaches_permitted_ones_only(place):
    """200 dials; what is refused is refused on the address of that very dial."""
    turns = [([GOOD], 200), (["127.0.0.1"], 403), (["169.254.169.254"], 403), (["::1"], 403),
             (["0.0.0.0"], 403), (["127.0.0.1", GOOD, "::1", "169.254.169.254"], 200),
             (["::ffff:127.0.0.1"], 403), ("internal.test", 403)]
    counts = {A: 0, AAAA: 0}

    def script(name, kind):
        answers, _ = turns[counts[kind] % len(turns)]
        counts[kind] += 1
        if answers == "internal.test":
            found = [(name, CNAME, 0, answers)]
            return found + [(answers, A, 0, "127.0.0.1")] if kind == A else found
        return [(name, kind, 0, text) for text in answers if of(text) == kind]

    resolving(place, ["127.0.0.1"], script)
    done = place.python(ASK + "show(all=[ask('rebind.api.test') for _ in range(200)])")
    [[*answers]] = [line["all"] for line in done.lines]
    expected = [turns[i % len(turns)][1] for i in range(200)]
    assert [a["status"] for a in answers] == expected, done.text[:3000]
    assert all(a["reason"] == "address_not_allowed" for a in answers if a["status"] == 403)
    assert all(a["body"] == GOOD for a in answers if a["status"] == 200)
    assert set(place.listeners.reached) == {GOOD}, place.listeners.reached
    assert counts == {A: 200, AAAA: 200}


def test_br_078_a_permitted_answer_is_checked_again_when_its_time_is_over(place):
    """Also an answer that was kept is vetted at every dial, and not kept longer than its TTL."""
    asked = []

    def script(name, kind):
        if kind == AAAA:
            return []
        asked.append(name)
        return [(name, A, 1, GOOD if len(asked) == 1 else "127.0.0.1")]

    resolving(place, ["127.0.0.1"], script)
    done = place.python(ASK + """
show(**ask('a.api.test'))
show(**ask('a.api.test'))
time.sleep(1.1)
show(**ask('a.api.test'))
""")
    assert [line["status"] for line in done.lines] == [200, 200, 403], done
    assert len(asked) == 2 and set(place.listeners.reached) == {GOOD}


def test_br_108_every_address_of_a_name_has_its_chance(place):
    table = {
        "silent6.api.test": ([SILENT6, GOOD], GOOD, 2.0),
        "noroute6.api.test": ([NO_ROUTE6, GOOD], GOOD, 1.0),
        "refused6.api.test": ([REFUSED6, GOOD], GOOD, 1.0),
        "two.api.test": ([REFUSED, GOOD], GOOD, 1.0),
        "three.api.test": ([REFUSED, SILENT, GOOD], GOOD, 2.0),
        "six.api.test": ([GOOD6], GOOD6, 1.0),
        "guarded.api.test": (["127.0.0.1", SILENT, GOOD], GOOD, 2.0),
    }
    resolving(place, ["127.0.0.1"], zone({n: found for n, (found, _, _) in table.items()}))
    names = list(table)
    done = place.python(ASK + f"for name in {names!r}: show(**ask(name))", timeout=40)
    for name, line in zip(names, done.lines, strict=True):
        _, reached, seconds = table[name]
        assert (line["status"], line.get("body")) == (200, reached), (name, line)
        assert line["took"] < seconds, (name, line)
    assert set(place.listeners.reached) == {GOOD, GOOD6}
    used = {r["upstream"] for r in done.records if r.get("upstream")}
    assert any(a.startswith(GOOD) for a in used) and any(GOOD6 in a for a in used), used


def test_br_108_when_no_address_connects_each_is_named(place):
    resolving(place, ["127.0.0.1"], zone({"dead.api.test": [REFUSED, REFUSED6]}))
    done = place.python(ASK + "show(**ask('dead.api.test'))")
    [answer] = done.lines
    assert (answer["status"], answer["reason"]) == (502, "upstream_connect_failed"), done
    assert f"{REFUSED}:80: Connection refused" in answer["body"], answer
    assert f"[{REFUSED6}]:80: Connection refused" in answer["body"], answer
