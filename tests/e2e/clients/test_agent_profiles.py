"""Agents as npm has them, each in its profile, against a mock of its API: it holds a placeholder, answers, and asks
nothing that its profile does not allow but what is named here."""

import json
import subprocess

import pytest

from matrix import CLIENTS, GEMINI, OPENAI, needs, record
from provider import Provider, answer
from test_agents import CODEX, GEMINI_CLI
from support import echo
from support.origin import Origin

KEY = "sk-ant-api03-" + "Rea1-Anthropic_" * 6 + "abcAA"
ANSWER = "It is forty-two."


def installed(command):
    needs("agents")
    found = CLIENTS / "agents" / "node_modules" / ".bin" / command
    return found if found.exists() else pytest.skip(f"no {command}: make test-clients")


def refused(done):
    return sorted({r["authority"] + (r.get("path") or "") for r in done.records if r.get("decision") == "deny"})


def message(model):
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None,
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}


def events(model):
    text = {"type": "text", "text": ""}
    for name, data in [
            ("message_start", {"message": message(model)}),
            ("content_block_start", {"index": 0, "content_block": text}),
            ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": ANSWER}}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 5}}),
            ("message_stop", {})]:
        yield f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


@pytest.fixture
def api(bench, pki):
    asked = []

    def serve(conn):
        while True:
            request = conn.read_request()
            asked.append((request.method, request.target, request.get("x-api-key")))
            body = json.loads(request.body) if request.target.startswith("/v1/messages") and request.body else {}
            model = body.get("model", "claude-none")
            if body.get("stream"):
                echo.chunked(conn, request, list(events(model)), [("Content-Type", "text/event-stream")])
            elif body:
                whole = {**message(model), "content": [{"type": "text", "text": ANSWER}], "stop_reason": "end_turn"}
                echo.reply(conn, request, json.dumps(whole).encode(), headers=[("Content-Type", "application/json")])
            else:
                echo.reply(conn, request, b"{}", headers=[("Content-Type", "application/json")])

    bench.map("api.anthropic.com:443", Origin(serve, pki.leaf("anthropic", ["api.anthropic.com"]), "anthropic"))
    bench.asked = asked
    return asked


def test_claude_code(bench, api):
    program = installed("claude")
    bench.real = KEY
    claude = bench.home / ".claude"
    (claude / "projects").mkdir(parents=True)
    (claude / "settings.json").write_text('{"cleanupPeriodDays": 7}')
    (claude / ".credentials.json").write_text('{"claudeAiOauth": {"accessToken": "never"}}')
    bench.config(rules=[], grants=[], secrets={})
    done = bench.run(["/bin/sh", "-c", f'echo "mine $ANTHROPIC_API_KEY"; {program} --version; '
                      f"{program} -p 'What is the answer?' </dev/null"],
                     args=["--profile", "claude-code", "--ro", CLIENTS / "agents"],
                     env={"ANTHROPIC_API_KEY": KEY}, timeout=120)
    assert done.code == 0 and ANSWER in done.text and "(Claude Code)" in done.text, str(done)
    messages = [a for a in api if a[1].startswith("/v1/messages")]
    assert messages and all(a[2] == KEY for a in messages), api
    assert refused(done) == [], str(done)
    assert (claude / "settings.json").read_text() == '{"cleanupPeriodDays": 7}'
    kept = [p for p in (claude / "projects").rglob("*.jsonl")]
    assert kept and "What is the answer?" in kept[0].read_text(), kept
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.split()[0]
    record("claude -p in its profile", version, "transparent", "HTTP/1.1", "ok: streamed answer, with its placeholder")


# command: (profile, variable, value, the line, the header's value, what it asks besides and is refused)
OTHERS = {
    "codex": ("codex", "OPENAI_API_KEY", OPENAI, CODEX, "Bearer " + OPENAI, ()),
    "gemini": ("gemini-cli", "GEMINI_API_KEY", GEMINI, GEMINI_CLI, GEMINI, ()),
}


@pytest.mark.parametrize("command", OTHERS)
def test_another_agent(bench, pki, command):
    program = installed(command)
    profile, variable, value, line, credential, besides = OTHERS[command]
    bench.real = value
    provider = Provider(pki.leaf("models", ["api.openai.com", "generativelanguage.googleapis.com"]))
    for host in ("api.openai.com", "generativelanguage.googleapis.com"):
        bench.connect[f"{host}:443"] = provider.address
    bench.origins.append(provider)
    bench.config(rules=[], grants=[], secrets={})
    done = bench.run(["/bin/sh", "-c", f'echo "mine ${variable}"; ' + line.format(program=program)],
                     args=["--profile", profile, "--ro", CLIENTS / "agents"], env={variable: value}, timeout=120)
    held = done.text.partition("mine ")[2].partition("\n")[0]
    assert held and answer(held) in done.text, str(done)
    asked = [a[3] for a in provider.asked if a[3]]
    assert asked and set(asked) == {credential}, provider.asked
    assert set(refused(done)) <= set(besides), (refused(done), done.error)
    package = {"codex": "@openai/codex", "gemini": "@google/gemini-cli"}[command]
    version = json.loads((CLIENTS / "agents" / "node_modules" / package / "package.json").read_text())["version"]
    record(f"{command} in its profile", version, "transparent", "HTTP/2", "ok: streamed answer, with its placeholder")
