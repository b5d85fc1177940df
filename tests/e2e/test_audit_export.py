"""`warder audit export --format ocsf`: every event beside what OCSF 1.8 requires of its class."""

import base64
import hashlib
import json
import os

import pytest

from support.bench import SECRET
from support.records import every_type, gateway_run, varied_run

BASE = {"activity_id", "category_uid", "class_uid", "metadata", "severity_id", "time", "type_uid"}
# class: activities, what else it requires, of what it requires at least one
CLASSES = {
    0: ({99}, set(), ()),
    1007: ({1, 2}, {"actor", "device", "process"}, ()),
    2004: ({1}, {"finding_info"}, ()),
    3002: ({1}, {"user"}, ("service", "dst_endpoint")),
    3004: ({3, 4, 99}, {"entity"}, ()),
    4001: ({1, 2, 4, 5}, set(), ("src_endpoint", "dst_endpoint")),
    4002: ({1, 2, 3, 4, 5, 6, 7, 8, 9, 99}, set(), ("http_request", "http_response")),
    4003: ({6}, set(), ("src_endpoint", "dst_endpoint")),
    6002: ({3, 4, 99}, {"app"}, ()),
    6003: ({3, 4, 99}, {"actor", "api", "src_endpoint"}, ()),
}
METHODS = {"CONNECT": 1, "DELETE": 2, "GET": 3, "HEAD": 4, "OPTIONS": 5, "POST": 6, "PUT": 7, "TRACE": 8, "PATCH": 9}
# What an object requires where it is there: all of the first, one of the second.
OBJECTS = {
    "metadata": ({"product", "version"}, ()), "http_response": ({"code"}, ()), "tls": ({"version"}, ()),
    "connection_info": ({"direction_id"}, ()), "api": ({"operation"}, ()), "policy": (set(), ("name", "type", "uid")),
    "url": (set(), ("url_string", "path")), "finding_info": ({"uid"}, ()), "entity": (set(), ("name", "uid")),
    "query": ({"hostname"}, ()), "user": (set(), ("name", "uid")), "product": (set(), ("name", "uid")),
    "app": (set(), ("name", "uid")), "device": ({"type_id"}, ()), "firewall_rule": (set(), ("name", "uid")),
    "src_endpoint": (set(), ("ip", "uid", "name", "hostname")), "dst_endpoint": (set(), ("ip", "uid", "name", "hostname")),
    "actor": (set(), ("process", "user", "session", "app_name", "app_uid")), "process": (set(), ("pid", "name", "uid")),
}
ENUMS = {"severity_id": {0, 1, 2, 3, 4, 5, 6, 99}, "action_id": {0, 1, 2, 3, 4, 99}, "status_id": {0, 1, 2, 99},
         "disposition_id": {0, 1, 2, 6, 11, 15, 17, 25, 26, 27, 99}, "direction_id": {0, 1, 2, 3, 99},
         "rcode_id": {*range(12), *range(16, 26), 99}}


def nested(node, path=()):
    if isinstance(node, dict):
        for key, value in node.items():
            if key != "unmapped":
                yield (*path, key), value
                yield from nested(value, (*path, key))
    elif isinstance(node, list):
        for value in node:
            yield from nested(value, path)


def faults(event):
    """What OCSF would not accept of it."""
    yield from (f"no {key}" for key in BASE - event.keys())
    activities, required, one_of = CLASSES[event["class_uid"]]
    yield from (f"no {key}" for key in required - event.keys())
    if one_of and not set(one_of) & event.keys():
        yield f"none of {one_of}"
    if event["class_uid"] == 4002 and not {"src_endpoint", "dst_endpoint"} & event.keys():
        yield "no endpoint"
    if event["activity_id"] not in activities:
        yield "activity_id"
    if event["activity_id"] == 99 and "activity_name" not in event:
        yield "no activity_name"
    if event["type_uid"] != event["class_uid"] * 100 + event["activity_id"]:
        yield "type_uid"
    if event["category_uid"] != event["class_uid"] // 1000:
        yield "category_uid"
    if not isinstance(event["time"], int) or event["time"] < 1_700_000_000_000:
        yield "time"
    method = event.get("http_request", {}).get("http_method")
    if event["class_uid"] == 4002 and METHODS.get(method, 99) != event["activity_id"]:
        yield "activity of the method"
    for path, value in nested(event):
        needed, some = OBJECTS.get(path[-1], (set(), ())) if isinstance(value, dict) else (set(), ())
        yield from (f"{path}: no {key}" for key in needed - (value.keys() if isinstance(value, dict) else set()))
        if some and not set(some) & value.keys():
            yield f"{path}: none of {some}"
        if path[-1] in ENUMS and value not in ENUMS[path[-1]]:
            yield f"{path}: {value}"
        if value is None or value == "" and path[-1] in ("name", "uid", "hostname"):
            yield f"{path}: empty"


def export(bench, file, code=0):
    done = bench.warder_command("audit", "export", "--format", "ocsf", file, creates=["audit", "made", "every.jsonl", "bad.jsonl"])
    assert done.code == code, done
    assert SECRET not in done.text
    return [json.loads(line) for line in done.text.splitlines()]


def test_a_real_log(bench, echo):
    varied_run(bench)
    events = export(bench, bench.audit)
    for event in events:
        assert not list(faults(event)), (list(faults(event)), event)
    lines = bench.audit.read_bytes().splitlines()
    assert sorted({e["metadata"]["sequence"] for e in events}) == list(range(len(lines))), "a record without an event"
    for event in events:
        leaf = hashlib.sha256(b"\0" + lines[event["metadata"]["sequence"]]).digest()
        assert event["metadata"]["uid"].removesuffix("/finding") == base64.b64encode(leaf).decode()
    classes = {e["class_uid"] for e in events}
    assert {1007, 2004, 4002, 4003, 6002} <= classes, classes
    assert len({e["metadata"]["uid"] for e in events}) == len(events)
    allowed = [e for e in events if e["class_uid"] == 4002 and e["action_id"] == 4]
    intent, receipt = allowed
    assert receipt["http_response"]["code"] == 200 and receipt["dst_endpoint"]["ip"] == "127.0.0.1", receipt
    assert intent["metadata"]["correlation_uid"] == receipt["metadata"]["correlation_uid"]
    refused = next(e for e in events if e.get("status_code") == "method_not_allowed")
    assert refused["http_response"]["code"] == 403 and refused["action_id"] == 2 and refused["activity_id"] == 2


def test_a_real_log_of_a_gateway(bench, echo):
    events = export(bench, gateway_run(bench))
    for event in events:
        assert not list(faults(event)), (list(faults(event)), event)
    classes = {e["class_uid"] for e in events}
    assert {3002, 4001, 4002, 6002, 6003} <= classes, classes
    operations = {e["api"]["operation"] for e in events if e["class_uid"] == 6003}
    assert operations == {"approval allow", "policy replaced"}, operations
    approved = next(e for e in events if e.get("activity_name") == "allow")
    assert approved["actor"]["user"]["uid"] == str(os.getuid()), approved


def test_every_type(bench):
    path = every_type(bench.ws)
    events = export(bench, path)
    for event in events:
        assert not list(faults(event)), (list(faults(event)), event)
    assert set(CLASSES) - {2004} <= {e["class_uid"] for e in events}
    assert {e["metadata"]["event_code"] for e in events} >= {"exec", "limit", "of_the_future", "approval"}


def test_the_table_can_fail(bench):
    good = export(bench, every_type(bench.ws))[0]
    assert not list(faults(good))
    for key in sorted(BASE - {"class_uid", "activity_id", "type_uid", "category_uid", "time"}):
        assert list(faults({k: v for k, v in good.items() if k != key})), key
    assert list(faults({**good, "severity_id": 7})) and list(faults({**good, "type_uid": 1}))


def test_what_is_no_record_is_told(bench, echo):
    bench.run("true")
    bench.write("bad.jsonl", bench.audit.read_bytes() + b"{}\nhello\n")
    assert export(bench, bench.ws / "bad.jsonl", code=2)


@pytest.mark.parametrize("args", [[], ["--format", "cef"]])
def test_another_format_is_refused(bench, args):
    assert bench.warder_command("audit", "export", *args).code == 2
