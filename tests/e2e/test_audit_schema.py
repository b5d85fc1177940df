"""audit/schema.json beside FORMAT.md, the golden lines and what a run writes."""

import json
import re

import jsonschema
import pytest

from support.bench import REPO
from support.records import UNKNOWN, gateway_run, golden_lines, line, varied_run

SCHEMA = json.loads((REPO / "audit/schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
GOLDEN = [json.loads(text) for text in golden_lines()]
TYPES = {name for name in SCHEMA["$defs"] if name not in ("time", "prev")}


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_every_type_of_the_format_has_a_definition_and_an_example():
    text = (REPO / "audit/FORMAT.md").read_text()
    table = set(re.findall(r"^\| `([a-z_]+)` \|", text[text.index("## 2. Types"):text.index("## 3.")], re.M)) - {"type"}
    assert table == TYPES, table ^ TYPES
    assert {r["type"] for r in GOLDEN} == TYPES


@pytest.mark.parametrize("record", GOLDEN, ids=lambda r: r["type"])
def test_the_examples_are_valid_and_what_is_changed_in_them_is_not(record):
    errors = list(VALIDATOR.iter_errors(record))
    assert not errors, errors[0]
    optional = set(SCHEMA["$defs"][record["type"]]["properties"]) - set(SCHEMA["$defs"][record["type"]]["required"])
    for key in record.keys() - optional:
        assert not VALIDATOR.is_valid({k: v for k, v in record.items() if k != key}), key
    assert not VALIDATOR.is_valid({**record, "surplus": 1})
    for key in record:
        assert not VALIDATOR.is_valid({**record, key: {"an": "object"}}), key


def test_what_is_unknown_is_not_valid():
    assert not VALIDATOR.is_valid(json.loads(line(UNKNOWN)))


def valid_types(bench):
    records = bench.records()
    for record in records:
        errors = list(VALIDATOR.iter_errors(record))
        assert not errors, (record, [e.message for e in errors[0].context][-3:])
    return {r["type"] for r in records}


def test_every_record_of_a_run_is_valid(bench, echo):
    varied_run(bench)
    varied_run(bench)    # resumes the file
    assert {"log", "session_start", "session_end", "dns", "intent", "receipt", "checkpoint", "close",
            "resume", "exec", "exit", "files"} <= valid_types(bench)


def test_every_record_of_a_gateway_is_valid(bench, echo):
    gateway_run(bench)
    assert {"approval", "policy", "intent", "receipt"} <= valid_types(bench)
