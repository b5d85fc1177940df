"""config/schema.json beside the reader: what the one takes the other takes, and what is misspelt neither does."""

import copy
import json
import subprocess

import jsonschema
import pytest
import yaml

from support.bench import CONTRACT_GRANTS, CONTRACT_RULES, CONTRACT_SECRETS, REPO

SCHEMA = json.loads((REPO / "config/schema.json").read_text())


def is_valid(document):
    return not list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(document))


def example():
    return yaml.safe_load((REPO / "config/example.yaml").read_text())


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_example_is_valid():
    errors = list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(example()))
    assert not errors, errors[0]


def test_the_reference_is_what_the_schema_says():
    done = subprocess.run([REPO / "tools/config-reference", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def maps_in(node, path=()):
    """Where every map of the document is."""
    if isinstance(node, dict):
        yield path
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from maps_in(value, (*path, key))


def with_key(document, path, key):
    changed = copy.deepcopy(document)
    node = changed
    for step in path:
        node = node[step]
    node[key] = "x"
    return changed


def is_loaded(bench, document):
    """Whether warder takes it; a secret that cannot be read is for later."""
    path = bench.write("other.yaml", json.dumps(document))
    done = subprocess.run([bench.warder, "run", "--config", str(path), "--policy", "coding-agent",
                           "--print-config"], capture_output=True, text=True,
                          env=bench.environment(), cwd=bench.ws)
    return done.returncode == 0, done.stderr


def test_a_key_that_is_misspelt_anywhere_is_taken_by_neither(bench):
    document = example()
    loaded, error = is_loaded(bench, document)
    assert loaded, error
    free = [("secrets",), ("policies",), ("gateway", "upstream", "connect_to")]    # names, not keys
    tried = 0
    for path in maps_in(document):
        if path in free or "headers" in path[-1:] or "include" in path:
            continue
        changed = with_key(document, path, "misspelt")
        assert not is_valid(changed), path
        loaded, error = is_loaded(bench, changed)
        assert not loaded and "misspelt" in error or "unknown key" in error, (path, error)
        tried += 1
    assert tried > 20


@pytest.mark.parametrize("change", [
    {"action": "allowed"}, {"ports": []}, {"ports": [0]}, {"ports": ["a"]}, {"methods": ["get"]},
    {"paths": ["no-slash"]}, {"max_body": "ten"}, {"max_body": "1KB"}, {"allow_private": "maybe"},
    {"hosts": []}, {"headers": {}}, {"query": []}])
def test_a_value_that_is_wrong_is_taken_by_neither(bench, change):
    document = {"version": 1, "secrets": CONTRACT_SECRETS,
                "policies": {"coding-agent": {"rules": [{**CONTRACT_RULES[1], **change}],
                                              "grants": CONTRACT_GRANTS}}}
    assert not is_valid(document)
    loaded, error = is_loaded(bench, document)
    assert not loaded, error
