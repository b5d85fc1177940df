"""Agent profiles and presets from the command line. Stand-ins do what the agents do at their start: read their own
directory, ask their API with the key of their environment."""

import json
import os
import signal
import time

import pytest
import yaml

from support import echo
from support.bench import REPO
from support.marks import both_users
from support.origin import Origin

KEYS = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "Rea1-Anthropic_" * 6 + "abcAA",
        "OPENAI_API_KEY": "sk-proj-" + "Rea1OpenAi" * 8,
        "GEMINI_API_KEY": "AIzaSy" + "Rea1Va1" * 4 + "Rea1V",
        "GH_TOKEN": "gho_" + "Rea1Rea1Rea1Rea1Rea1Rea1Rea1Re" + "000000"}

# profile: (command, variable, host, path, how the key is sent)
AGENTS = {
    "claude-code": ("claude", "ANTHROPIC_API_KEY", "api.anthropic.com", "/v1/messages?beta=true", "x-api-key: $KEY"),
    "codex": ("codex", "OPENAI_API_KEY", "api.openai.com", "/v1/responses", "Authorization: Bearer $KEY"),
    "gemini-cli": ("gemini", "GEMINI_API_KEY", "generativelanguage.googleapis.com",
                   "/v1beta/models/gemini-2.5-pro:generateContent", "x-goog-api-key: $KEY"),
    "opencode": ("opencode", "ANTHROPIC_API_KEY", "api.anthropic.com", "/v1/messages", "x-api-key: $KEY"),
    "copilot-cli": ("copilot", "GH_TOKEN", "api.githubcopilot.com", "/chat/completions", "Authorization: Bearer $KEY"),
    "aider": ("aider", "OPENAI_API_KEY", "api.openai.com", "/v1/chat/completions", "Authorization: Bearer $KEY"),
    "goose": ("goose", "ANTHROPIC_API_KEY", "api.anthropic.com", "/v1/messages", "x-api-key: $KEY"),
}


@pytest.fixture
def api(bench, pki):
    """Every host of the profiles, and one that none has; says back the credential that it got."""
    asked = []

    def serve(conn):
        while True:
            request = conn.read_request()
            held = [request.get(name) for name in ("x-api-key", "authorization", "x-goog-api-key")]
            credential = next((h for h in held if h), "none").removeprefix("Bearer ")
            asked.append((request.get("host"), request.method, request.target, credential))
            echo.reply(conn, request, b"you hold " + credential.encode())

    hosts = sorted({a[2] for a in AGENTS.values()} | {"statsig.anthropic.com"})
    origin = Origin(serve, pki.leaf("agents", hosts), "agents")
    for host in hosts:
        bench.map(f"{host}:443", origin)
    bench.asked = asked
    return origin


def stand_in(bench, command, script):
    bench.write(f"bin/{command}", "#!/bin/sh\n" + script, 0o755)
    return [str(bench.ws / "bin" / command)]


def config(bench, **more):
    """No rule and no secret of its own: what is allowed comes from the profile."""
    return bench.config(**{"rules": [], "grants": [], "secrets": {}, **more})


@pytest.mark.parametrize("profile", AGENTS)
def test_an_agent_starts_with_its_profile(bench, api, profile):
    command, variable, host, path, header = AGENTS[profile]
    value = KEYS[variable]
    bench.real = value
    config(bench)
    script = (f'KEY=${variable}\necho "mine $KEY"\n'
              f'curl -sS -d "{{}}" -H "{header}" "https://{host}{path}"; echo\n'
              f'curl -s -o /dev/null -w "%{{http_code}}\\n" -d x "https://{host}/v1/organizations"\n'
              'curl -s -o /dev/null -w "%{http_code}\\n" https://statsig.anthropic.com/v1/rgstr\n')
    done = bench.run(stand_in(bench, command, script), args=["--profile", profile], env={variable: value})
    held, said, admin, telemetry = done.text.splitlines()
    assert held.startswith("mine ") and value not in done.text, done
    assert said == "you hold " + held.removeprefix("mine ") and len(said) == len("you hold ") + len(value), done
    assert (admin, telemetry) == ("403", "000"), done
    assert bench.asked == [(host, "POST", path, value)], bench.asked
    assert f"warder: profile {profile}: uses {variable}" in done.error, done
    allowed = [r for r in done.records if r.get("decision") == "allow" and r.get("uses")]
    assert allowed and allowed[0]["rule"].startswith(profile + "."), allowed


@pytest.mark.parametrize("profile", AGENTS)
def test_the_trust_variables_that_an_agent_reads_are_there(bench, api, profile):
    """Whatever each of them names holds the run's own authority, by which the agent's API is trusted."""
    command, variable, host, path, header = AGENTS[profile]
    bench.real = KEYS[variable]
    config(bench)
    trust = yaml.safe_load((REPO / "config" / "presets" / "agents" / f"{profile}.yaml").read_text())["trust"]
    script = (f'for v in {" ".join(trust)}; do eval "f=\\$$v"; echo "$v $f"; '
              f'curl -sS -d "{{}}" -o /dev/null -w "%{{http_code}}\\n" --cacert "$f" "https://{host}{path}"; done\n')
    done = bench.run(stand_in(bench, command, script), args=["--profile", profile], env={variable: KEYS[variable]})
    lines = done.text.splitlines()
    assert trust and [line.split()[0] for line in lines[::2]] == trust, done
    assert all(len(line.split()) == 2 for line in lines[::2]), done
    assert set(lines[1::2]) == {"200"}, done


def home_of_claude(bench):
    for name, text in {"settings.json": '{"model": "opus"}', "CLAUDE.md": "be brief\n", ".credentials.json": "TOKEN",
                       "commands/fix.md": "fix it\n", "commands/deep/run.sh": "#!/bin/sh\n", "history.jsonl": "old",
                       "projects/-other/session.jsonl": "theirs\n", "plugins/p/plugin.json": "{}"}.items():
        path = bench.home / ".claude" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (bench.home / ".claude" / "commands" / "deep" / "run.sh").chmod(0o755)
    (bench.home / ".claude.json").write_text('{"primaryApiKey": "TOKEN"}')
    (bench.home / ".ssh").mkdir()
    (bench.home / ".ssh" / "id").write_text("PRIVATE")


@both_users
def test_what_an_agent_sees_of_its_home(bench, api):
    """Copies are changed and thrown away, what is kept is written for good, the rest is not there."""
    home_of_claude(bench)
    config(bench)
    own = "projects/" + "".join(c if c.isalnum() and c.isascii() else "-" for c in str(bench.ws))
    script = f"""
stat -c '%a %u' ~ ~/.claude | sort | uniq -c
cd ~ && find . -type f | sort
cat .claude/CLAUDE.md && test -x .claude/commands/deep/run.sh && echo runs
echo changed >.claude/tmp && mv .claude/tmp .claude/CLAUDE.md && cat .claude/CLAUDE.md
rm -r .claude/commands && mkdir -m 0 .claude/shut && echo removed
(echo x >.claude/plugins/p/plugin.json) 2>/dev/null && echo wrote a plugin
echo said >.claude/{own}/session.jsonl && echo kept
(echo x >.claude/projects/-other/session.jsonl) 2>/dev/null && echo wrote another session
echo $CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC ${{ANTHROPIC_API_KEY-unset}} $ANTHROPIC_MODEL
"""
    before = (bench.home / ".claude" / "CLAUDE.md").read_text()
    done = bench.run(stand_in(bench, "claude", script), args=["--profile", "claude-code"], env={"ANTHROPIC_MODEL": "opus"})
    lines = done.text.splitlines()
    shown = [line for line in lines if line.startswith("./")]
    assert shown == ["./.claude/CLAUDE.md", "./.claude/commands/deep/run.sh", "./.claude/commands/fix.md",
                     "./.claude/plugins/p/plugin.json", "./.claude/settings.json", "./.gitconfig"], done
    assert lines[-6:] == ["be brief", "runs", "changed", "removed", "kept", "1 unset opus"], done
    assert "700" in lines[0], done
    claude = bench.home / ".claude"
    assert (claude / "CLAUDE.md").read_text() == before
    assert (claude / "commands" / "fix.md").exists()
    assert (claude / own / "session.jsonl").read_text() == "said\n"
    assert (claude / own / "session.jsonl").stat().st_uid == claude.stat().st_uid
    assert (claude / "projects" / "-other" / "session.jsonl").read_text() == "theirs\n"
    assert os.listdir(bench.state / "warder" / "homes") == []
    assert "no credential; not set: ANTHROPIC_API_KEY" in done.error, done


@both_users
def test_links_and_secrets_are_left_out_of_the_copies(bench, api):
    home_of_claude(bench)
    claude = bench.home / ".claude"
    value = KEYS["ANTHROPIC_API_KEY"]
    bench.real = value
    (claude / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_API_KEY": value}}))
    (claude / "CLAUDE.md").unlink()
    (claude / "CLAUDE.md").symlink_to(bench.home / ".ssh" / "id")
    (claude / "commands" / "id").symlink_to(bench.home / ".ssh" / "id")
    (claude / "skills").symlink_to(bench.home / ".ssh")
    os.mkfifo(claude / "commands" / "pipe")
    config(bench)
    done = bench.run(stand_in(bench, "claude", "cd ~; find .claude -type f -o -type l -o -type p | sort; "
                              "cat .claude/commands/* 2>/dev/null"),
                     args=["--profile", "claude-code"], env={"ANTHROPIC_API_KEY": value})
    assert done.text.splitlines() == [".claude/commands/deep/run.sh", ".claude/commands/fix.md",
                                      ".claude/plugins/p/plugin.json", "fix it"], done
    assert "~/.claude/CLAUDE.md is left out: it is reached through a link" in done.error, done
    assert "~/.claude/skills is left out: it is reached through a link" in done.error, done
    assert "~/.claude/settings.json is left out: it holds the value of secret ANTHROPIC_API_KEY" in done.error, done


@both_users
def test_attack_keys_that_nobody_declared_do_not_come_in_with_a_profile(bench, api):
    """Not in the environment, so no secret of the run: known by their form alone."""
    home_of_claude(bench)
    claude = bench.home / ".claude"
    value = KEYS["ANTHROPIC_API_KEY"]
    pem = "-----BEGIN OPENSSH PRIVATE KEY-----\nMIIE\n"
    bench.real = value
    (claude / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_API_KEY": value}}))
    (claude / "commands" / "deep" / "id").write_text(pem)
    (claude / "plugins" / "p" / ".mcp.json").write_text(json.dumps({"headers": {"X": "Bearer " + value}}))
    (claude / "CLAUDE.md").write_text("Use keys such as sk-ant-api03-... or ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n")
    config(bench)
    done = bench.run(stand_in(bench, "claude", "cd ~/.claude; find . -type f | sort; cat CLAUDE.md; "
                              "find . -type f -exec cat {} +; wc -c <plugins/p/.mcp.json; "
                              "(echo x >plugins/p/.mcp.json) 2>/dev/null && echo written"),
                     args=["--profile", "claude-code"])
    lines = done.text.splitlines()
    assert lines[:5] == ["./CLAUDE.md", "./commands/deep/run.sh", "./commands/fix.md", "./plugins/p/.mcp.json",
                         "./plugins/p/plugin.json"], done
    assert lines[5].startswith("Use keys") and lines[-1] == "0", done
    assert value not in done.text + done.error and "MIIE" not in done.text + done.error, done
    for line in ("~/.claude/settings.json is left out: it holds what looks like a token",
                 "~/.claude/commands/deep/id is left out: it holds what looks like a token",
                 "~/.claude/plugins/p/.mcp.json is shown empty: it holds what looks like a token"):
        assert line in done.error, done
    assert value in (claude / "plugins" / "p" / ".mcp.json").read_text()


def test_what_is_too_large_to_be_looked_through_is_not_shown(bench, api):
    home_of_claude(bench)
    with open(bench.home / ".claude" / "plugins" / "big", "wb") as big:
        big.truncate((256 << 20) + 1)
    config(bench)
    done = bench.run(stand_in(bench, "claude", "ls ~/.claude/plugins; echo ran"), args=["--profile", "claude-code"])
    assert done.text == "ran\n", done
    assert "~/.claude/plugins is left out: it is too large" in done.error, done


def test_copies_are_bounded(bench, api):
    home_of_claude(bench)
    with open(bench.home / ".claude" / "commands" / "big", "wb") as big:
        big.truncate((64 << 20) + 1)
    config(bench)
    done = bench.run(stand_in(bench, "claude", "echo ran"), args=["--profile", "claude-code"])
    assert done.code == 2 and "ran" not in done.text, done
    assert "~/.claude/commands/big goes beyond: move what the agent does not need out of it" in done.error, done
    assert os.listdir(bench.state / "warder" / "homes") == []


def test_a_secret_that_lies_in_what_is_kept_refuses_the_start(bench, api):
    (bench.home / ".codex" / "sessions").mkdir(parents=True)
    key = bench.home / ".codex" / "sessions" / "key"
    key.write_text(KEYS["OPENAI_API_KEY"])
    config(bench, secrets={"key": {"source": {"file": str(key)}, "placeholder": {"env": "OPENAI_API_KEY"}}})
    done = bench.run(stand_in(bench, "codex", "echo ran"), args=["--profile", "codex"])
    assert done.code == 2 and "ran" not in done.text, done
    assert "~/.codex/sessions is shown by the profile and holds, or lies in," in done.error, done


def test_copies_of_a_run_that_was_killed_go_with_the_next(bench, api):
    home_of_claude(bench)
    config(bench)
    command = stand_in(bench, "claude", "echo up; exec sleep 30")
    process = bench.start(command, args=["--profile", "claude-code"])
    assert process.stdout.readline() == b"up\n"
    homes = bench.state / "warder" / "homes"
    first, = os.listdir(homes)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(0.5)
    assert os.listdir(homes) == [first]
    done = bench.run(stand_in(bench, "claude", "cat ~/.claude/CLAUDE.md"), args=["--profile", "claude-code"],
                     verify=False)
    assert done.text == "be brief\n", done
    assert os.listdir(homes) == []


def test_a_program_that_has_a_profile_is_told_of_it(bench):
    done = bench.run(stand_in(bench, "claude", "echo ran"), config=None, policy=None)
    assert done.text == "ran\n"
    assert "There is a profile for it: warder run --profile claude-code -- claude\n" in done.error, done
    for args in (["--profile", "claude-code"], ["--allow", "a.test"], ["--quiet"]):
        done = bench.run(stand_in(bench, "claude", "echo ran"), config=None, policy=None, args=args)
        assert "There is a profile" not in done.error, done


def test_a_profile_by_itself_prints_what_it_amounts_to(bench):
    done = bench.warder_command("run", "--profile", "codex", "--allow", "pypi.org", "--print-config",
                                env={"OPENAI_API_KEY": KEYS["OPENAI_API_KEY"]})
    assert done.code == 0 and KEYS["OPENAI_API_KEY"] not in done.text, done
    assert "  codex:\n" in done.text and "name: codex.openai.ask" in done.text and "pypi.org" in done.text, done
    assert "#   ~/.codex/sessions: kept\n" in done.text, done
    bench.write("printed.yaml", done.text)
    again = bench.warder_command("run", "--config", "printed.yaml", "--print-config")
    assert again.text == done.text.split("# of profile")[0], again


@pytest.mark.parametrize("args, sentence", [
    (["--profile", ""], "it is empty: give a name"),
    (["--profile", "claude"], "there is no such profile: did you mean 'claude-code'?"),
    (["--profile", "claud-code"], "there is no such profile: did you mean 'claude-code'?"),
    (["--profile", "codex", "--gateway", "/nowhere"], "--gateway goes without --config, --profile"),
])
def test_a_profile_that_cannot_be_used_is_refused(bench, args, sentence):
    done = bench.warder_command("run", *args, "--", "true")
    assert done.code == 2 and sentence in done.error, done


def test_presets_are_listed_and_shown(bench):
    done = bench.warder_command("preset", "list")
    presets = sorted(p.stem for p in (REPO / "config" / "presets").glob("*.yaml"))
    agents = sorted(p.stem for p in (REPO / "config" / "presets" / "agents").glob("*.yaml"))
    names = [line.split()[0] for line in done.text.splitlines() if line.startswith("  p")]
    assert names == [f"preset/{n}" for n in presets] + [f"profile/{n}" for n in agents], done
    for name, file in [("npm", "npm"), ("preset/aws", "aws"), ("profile/codex", "agents/codex"), ("goose", "agents/goose")]:
        done = bench.warder_command("preset", "show", name)
        assert done.out == (REPO / "config" / "presets" / f"{file}.yaml").read_bytes(), done
    done = bench.warder_command("preset", "show", "npn")
    assert done.code == 2 and 'unknown preset "npn": did you mean' in done.error, done


def test_an_included_preset_holds_from_inside(bench, pki):
    """npm's way of asking, allowed and refused by the rules of a preset."""
    asked = []

    def serve(conn):
        while True:
            request = conn.read_request()
            asked.append((request.method, request.target))
            echo.reply(conn, request, b"{}")

    bench.map("registry.npmjs.org:443", Origin(serve, pki.leaf("npm", ["registry.npmjs.org"]), "npm"))
    bench.write("t.yaml", "version: 1\npolicies:\n  t:\n    include: [{preset/npm: {methods: [GET]}}]\n"
                       f"gateway: {json.dumps(bench.gateway())}\n")
    done = bench.run("for u in express @types%2fnode -/whoami @acme%2fx%2f..%2fy; do "
                     "curl -s -o /dev/null -w '%{http_code} ' https://registry.npmjs.org/$u; done; "
                     "curl -s -X PUT -d '{}' -w ' %header{warder-reason}' -o /dev/null https://registry.npmjs.org/express; "
                     "curl -s -d '{}' -w '%{http_code}' -o /dev/null "
                     "https://registry.npmjs.org/-/npm/v1/security/advisories/bulk")
    assert done.text.split()[:4] == ["200", "200", "403", "400"], done
    assert asked == [("GET", "/express"), ("GET", "/@types%2fnode")], asked
    rules = {r["rule"] for r in done.records if r.get("decision") == "allow" and r.get("rule")}
    assert rules == {"npm.read"}, rules
