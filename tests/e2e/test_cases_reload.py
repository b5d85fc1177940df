"""Cases of hot reload: BR-134, BR-136."""

import subprocess

import pytest

from support.bench import CONTRACT_GRANTS, CONTRACT_RULES, SECRET
from support.h2bench import origin_of, talk
from support.marks import both_users
from support.talk import Talk

API, OTHER = CONTRACT_RULES
NONE = {"name": "none", "hosts": ["other.test"], "action": "deny"}


def reload(bench):
    return subprocess.run(bench.as_user([bench.warder, "reload"]), env=bench.environment(),
                          capture_output=True, text=True)


KEPT = """
import base64, os
token = os.environ["API_TOKEN"]
wires = {host: Wire(host) for host in ("api.test", "other.test")}

def ask(host):
    auth = f"Authorization: Bearer {token}\\r\\n" if host == "api.test" else ""
    try:
        wires[host].send(f"GET /headers HTTP/1.1\\r\\nHost: {host}\\r\\n{auth}\\r\\n")
        reply = wires[host].reply()
    except (Broken, OSError) as error:
        return "closed"
    return [reply.status, reply.get("warder-reason")]

for _ in range(4):
    pause(**{host.split(".")[0]: ask(host) for host in wires})
"""


@both_users
def test_br134_a_connection_kept_open_is_asked_by_the_new_policy(bench, echo):
    """HTTP/1.1: the rule goes; then only the grant goes."""
    bench.config()
    task = Talk(bench, KEPT)
    assert task.hear() == {"api": [200, None], "other": [200, None]}
    bench.config(rules=[API, NONE])
    assert reload(bench).returncode == 0
    at_other = len([r for r in echo.requests if r.get("host") == "other.test"])
    task.go()
    heard = task.hear()
    assert heard["api"] == [200, None]
    assert heard["other"] in ("closed", [403, "host_not_allowed"]), heard
    assert len([r for r in echo.requests if r.get("host") == "other.test"]) == at_other
    assert echo.requests[-1].get("authorization") == f"Bearer {SECRET}"
    bench.config(rules=[API, OTHER], grants=[])
    assert reload(bench).returncode == 0
    asked = len(echo.requests)
    task.go()
    heard = task.hear()
    assert heard["api"] in ("closed", [403, "placeholder_wrong_host"]), heard
    assert all(SECRET not in str(r.get("authorization")) for r in echo.requests[asked:])
    bench.config(rules=[API, OTHER], grants=CONTRACT_GRANTS)
    assert reload(bench).returncode == 0
    task.go()
    task.hear()
    task.end()


def test_br134_a_connection_of_http2_is_asked_by_the_new_policy(bench, echo, pki):
    origin = origin_of(bench, pki, host="other.test")
    bench.config()
    task = talk(bench, """
wire = H2Wire("other.test")
for _ in range(2):
    try:
        found = wire.fetch("/h2")
        pause(status=found["status"], reason=found["reason"])
    except OSError:
        pause(status=0, reason=None)
""")
    assert task.hear() == {"status": 200, "reason": None}
    bench.config(rules=[API, NONE])
    assert reload(bench).returncode == 0
    asked = len(origin.streams)
    task.go()
    heard = task.hear()
    assert heard in ({"status": 403, "reason": "host_not_allowed"}, {"status": 0, "reason": None})
    assert len(origin.streams) == asked == 1
    task.end()


def text_with(port):
    return ("version: 1\npolicies: {t: {rules: [{hosts: [other.test], ports: [" + port +
            "], action: allow}]}}\n")


WRONG = {
    "syntax": "version: 1\npolicies: {t: {rules: [\n",
    "unknown key": "version: 1\npolicies: {t: {rules: [], ruls: []}}\n",
    "port in words": text_with("https"),
    "a range as a port": text_with("9000-9100x"),
    "port 70000": text_with("70000"),
    "empty": "",
    "half-written": "version: 1\npolicies:\n  t:\n    rules:\n      - {hosts: [other.te",
    "ten megabytes": "version: 1\npolicies: {t: {rules: [" +
                     "{hosts: [other.test], action: allow}, " * 280_000 + "]}}\n",
}


@pytest.mark.parametrize("kind", [*WRONG, "unreadable", "gone"])
def test_br136_what_is_wrong_leaves_the_old_policy_and_exits_2(bench, echo, kind):
    path = bench.config()
    task = Talk(bench, KEPT)
    assert task.hear() == {"api": [200, None], "other": [200, None]}
    if kind == "unreadable":
        path.unlink()
        path.mkdir()
    elif kind == "gone":
        path.unlink()
    else:
        path.write_text(WRONG[kind])
    done = reload(bench)
    assert done.returncode == 2 and "nothing has changed" in done.stderr, done
    task.go()
    assert task.hear() == {"api": [200, None], "other": [200, None]}
    if path.is_dir():
        path.rmdir()
    bench.config(rules=[API, NONE], name="draft.yaml").rename(path)   # by rename it is taken
    assert reload(bench).returncode == 0
    task.go()
    heard = task.hear()
    assert heard["api"] == [200, None] and heard["other"] in ("closed", [403, "host_not_allowed"]), heard
    task.go()
    task.hear()
    changes = [r["change"] for r in task.end().records if r["type"] == "policy"]
    assert changes == ["refused", "replaced"]
