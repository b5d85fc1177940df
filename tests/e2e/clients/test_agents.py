"""Unmodified agents that hold placeholders, against a mock of their provider's API."""

import json
import subprocess

import pytest

from matrix import CLIENTS, GEMINI, OPENAI, WAYS, needs, record
from provider import answer

CODEX = ("export CODEX_API_KEY=$OPENAI_API_KEY; exec {program} exec --skip-git-repo-check "
         "--dangerously-bypass-approvals-and-sandbox 'What is the answer?' </dev/null")
GEMINI_CLI = "exec {program} --skip-trust -p 'What is the answer?' </dev/null"

AGENTS = {
    "codex exec": ("@openai/codex", "codex", CODEX, "OPENAI_API_KEY",
                   "/responses", f"Bearer {OPENAI}"),
    "gemini -p": ("@google/gemini-cli", "gemini", GEMINI_CLI, "GEMINI_API_KEY",
                  "enerateContent", GEMINI),
}
CANNOT = {
    ("codex exec", "socks5"): "its WebSocket goes through ALL_PROXY=socks5h, its HTTP requests do not",
    ("gemini -p", "socks5"): "no SOCKS",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("agent", AGENTS)
def test_agent(world, agent, way):
    package, program, line, variable, path, credential = AGENTS[agent]
    needs("agents")
    modules = CLIENTS / "agents" / "node_modules"
    version = json.loads((modules / package / "package.json").read_text())["version"]
    before = len(world.provider.asked)
    why_not = CANNOT.get((agent, way))
    try:
        said = world.run(["/bin/sh", "-c", f'echo "mine ${variable}"; '
                          + line.format(program=modules / ".bin" / program)], way, 20 if why_not else 90)
    except (subprocess.TimeoutExpired, AssertionError) as error:
        said = f"no end: {error}"
    asked = [a for a in world.provider.asked[before:] if path in a[2]]
    protocols = ", ".join(sorted({a[0] for a in asked})) or "none"
    held = said.partition("mine ")[2].partition("\n")[0]
    answered = bool(held) and answer(held) in said
    result = f"**no**: {why_not or said[-200:]}"
    if answered:
        result = "ok: streamed answer, with its placeholder in it"
    record(agent, version, way, protocols, result)
    assert OPENAI not in said and GEMINI not in said
    assert all(a[3] == credential for a in asked), asked
    if why_not:
        assert not answered, f"it works, though the table says: {why_not}"
    else:
        assert answered, (world.provider.asked[before:], said)
