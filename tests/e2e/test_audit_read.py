"""`warder audit tail`, `query` and `report`: what the records say, to read, and nothing that a terminal obeys."""

import json
import os
import re
import subprocess
import time

import pytest

from support.bench import BEARER, SECRET
from support.marks import both_users
from support.records import every_type, line, varied_run
from support.terminal import Terminal

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture
def log(bench, echo):
    assert varied_run(bench).code == 3
    return bench.audit


def audit(bench, *args, **more):
    return bench.warder_command("audit", *args, creates=["audit", "made", "every.jsonl", "bad.jsonl"], **more)


def query(bench, log, *args):
    done = audit(bench, "query", "--json", *args, log)
    assert done.code in (0, 1) and bool(done.out) == (done.code == 0), done
    return done.lines


def test_query_chooses(bench, log):
    everything = bench.records()
    assert query(bench, log) == everything
    session = everything[1]["session"]
    assert query(bench, log, "--session", session) == [r for r in everything if r.get("session") == session]
    assert {r["type"] for r in query(bench, log, "--type", "dns")} == {"dns"}
    refused = query(bench, log, "--decision", "deny")
    assert refused and refused == [r for r in everything if r.get("decision") == "deny"]
    about = query(bench, log, "--host", "api.test")
    assert {"dns", "intent", "receipt"} <= {r["type"] for r in about}
    assert "other.test" not in json.dumps(about) and "evil.test" not in json.dumps(about)
    assert query(bench, log, "--host", "*.test", "--type", "intent") == query(bench, log, "--type", "intent")
    uses = query(bench, log, "--secret", "tok")
    assert {"session_start", "intent", "receipt"} <= {r["type"] for r in uses}
    assert not any(r["type"] == "dns" for r in uses)
    tripped = query(bench, log, "--reason", "placeholder_wrong_host")
    assert tripped and all(r["reason"] == "placeholder_wrong_host" for r in tripped)
    assert query(bench, log, "--host", "absent.test") == []


def test_query_by_time(bench, log):
    everything = bench.records()
    middle = everything[len(everything) // 2]["time"]
    before, after = query(bench, log, "--until", middle), query(bench, log, "--since", middle)
    assert before and after and before + after == everything
    assert query(bench, log, "--since", "1h") == everything and query(bench, log, "--until", "1h") == []
    for bad in ("yesterday", "2026-11-29T12:00:00+02:00", "12:00", "5", "-3h", ""):
        done = audit(bench, "query", "--since", bad, log)
        assert done.code == (2 if bad else 0), done


def test_query_takes_the_lines_as_they_are(bench, log):
    done = audit(bench, "query", "--json", log)
    assert done.out == log.read_bytes()


@both_users
def test_without_a_file_all_of_the_state_directory_is_meant(bench, echo):
    bench.config(gateway={"upstream": bench.gateway()["upstream"]})
    for _ in range(2):
        bench.run(f"curl -sS -o /dev/null {BEARER} https://api.test/ok")
    starts = [json.loads(line) for line in audit(bench, "query", "--json", "--type", "session_start").text.splitlines()]
    assert len({r["session"] for r in starts}) == 2
    report = audit(bench, "report", "--format", "json")
    assert report.code == 0 and report.json["verdict"] == "intact" and len(report.json["sessions"]) == 2, report
    one = audit(bench, "report", "--format", "json", "--session", starts[0]["session"])
    assert [s["session"] for s in one.json["sessions"]] == [starts[0]["session"]], one
    tail = audit(bench, "tail")
    assert f'{starts[1]["session"]}  session_start' in tail.text, tail
    assert f'{starts[0]["session"]}  session_start' not in tail.text, tail


def test_attack_no_control_byte_reaches_a_terminal(bench, log):
    """Neither one that a command's arguments held, nor one that somebody put into the file raw."""
    assert "owned" in log.read_text()
    forged = log.read_text().splitlines(keepends=True)
    forged[2] = forged[2].replace('"session":"', '"session":"\x9b31m\u202e')
    bad = bench.write("bad.jsonl", "".join(forged))
    for args in (("tail", "-n", "999"), ("query",), ("query", "--json"), ("report",), ("report", "--format", "json"),
                 ("export", "--format", "ocsf")):
        for file in (log, bad, every_type(bench.ws)):
            done = audit(bench, *args, file)
            assert not CONTROL.search(done.text), (args, done.text)
            assert not CONTROL.search(done.error), done.error
            assert SECRET not in done.text


def test_tail_shows_the_last_ones_and_colours_on_a_terminal_only(bench, log):
    done = audit(bench, "tail", "-n", "3", log)
    assert done.code == 0 and len(done.text.splitlines()) == 3, done
    assert "session_end" in done.text and "exit_code=3" in done.text, done
    everything = audit(bench, "tail", "-n", "999", log)
    assert "deny  DELETE https://api.test/ok  method_not_allowed" in everything.text, everything
    for env, coloured in ((bench.environment(), True), ({**bench.environment(), "NO_COLOR": "1"}, False),
                          ({**bench.environment(), "TERM": "dumb"}, False)):
        terminal = Terminal([bench.warder, "audit", "tail", "-n", "999", str(log)], bench.ws, env)
        terminal.wait(20)
        assert (b"\x1b[31m" in terminal.seen) == coloured, terminal.seen
    missing = audit(bench, "tail", bench.ws / "absent")
    assert missing.code == 2 and missing.error, missing


def test_tail_follows(bench, echo):
    bench.run("true")
    process = subprocess.Popen([bench.warder, "audit", "tail", "-f", "-n", "1", str(bench.audit)], cwd=bench.ws,
                               env=bench.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    bench.running.append(process)
    assert b"checkpoint" in process.stdout.readline()
    bench.run(f"curl -sS -o /dev/null {BEARER} https://api.test/followed")
    seen = b""
    deadline = time.monotonic() + 30
    while b"/followed" not in seen and time.monotonic() < deadline:
        seen += process.stdout.readline()
    assert b"/followed" in seen, seen
    bench.audit.write_bytes(bench.audit.read_bytes()[:100])
    assert process.wait(30) == 1
    assert b"shorter" in process.stderr.read()


def test_report_tells_what_happened(bench, log):
    done = audit(bench, "report", "--format", "json", log)
    assert done.code == 0, done
    report = done.json
    assert report["verdict"] == "intact" and report["verification"]["outcome"] == "intact"
    session, = report["sessions"]
    assert session["how"] == "exit" and session["uid"] == str(os.getuid()) and session["cwd"] == str(bench.ws), session
    assert any(p["program"].endswith("/curl") and p["count"] == 4 for p in report["programs"]), report["programs"]
    assert {"change": "created", "file": "made", "count": 1} in report["files"], report["files"]
    assert report["other_types"] == [], report["other_types"]
    assert session["exit_code"] == 3 and session["command"][0] == "/bin/sh" and session["secrets"] == ["tok"], session
    hosts = {h["host"]: h for h in report["hosts"]}
    assert hosts["https://api.test"]["allowed"] == 1 and hosts["https://api.test"]["refused"] == 1, hosts
    use, = report["secrets"]
    assert use == {"secret": "tok@1", "host": "https://api.test", "place": "header:authorization", "count": 1}
    assert {"secret": "tok", "place": "body"}.items() <= report["masked"][0].items(), report["masked"]
    refused = {(r["reason"], r["where"]): r["count"] for r in report["refusals"]}
    assert refused[("method_not_allowed", "https://api.test")] == 1, refused
    assert any(reason == "name_not_allowed" and "evil.test" in where for reason, where in refused), refused
    assert [t["reason"] for t in report["tripwires"]["events"]] == ["placeholder_wrong_host"], report["tripwires"]
    text = audit(bench, "report", log)
    assert text.code == 0 and text.text.startswith("# Audit report\n\n**Verified"), text
    for title in ("Sessions", "Hosts", "Secrets used", "Refused or failed", "Tripwires", "Approvals", "Programs",
                  "Files changed", "Limits"):
        assert f"\n## {title}\n" in text.text, title


def test_report_of_every_type(bench):
    done = audit(bench, "report", "--format", "json", every_type(bench.ws), "--key",
                 "warder-audit+00000000+AQ==")
    assert done.code == 2 and done.json["verdict"] == "unreadable", done
    bench.run("true")    # makes this host's key
    done = audit(bench, "report", "--format", "json", every_type(bench.ws))
    report = done.json
    assert done.code == 1 and report["verdict"] == "broken", done
    assert report["programs"] == [{"program": "/usr/bin/git", "count": 1}]
    assert report["files"] == [{"change": "created", "file": "a|b`c", "count": 1}]
    assert report["limits"]["events"][0]["limit"] == "memory"
    assert report["approvals"]["events"][0]["user"] == "ann"
    assert {c["what"] for c in report["changes"]["events"]} == {"policy agent", "secret github"}
    assert report["other_types"] == [{"type": "of_the_future", "count": 1}]
    text = audit(bench, "report", every_type(bench.ws)).text
    assert "a\\|b\\`c" in text, "what a file is called is no markup"


def test_attack_a_flood_of_names_does_not_outgrow_a_report(bench):
    bench.run("true")
    floods = [line({"type": "dns", "session": "s1", "name": f"n{i}.test", "qtype": "A", "answer": "NXDOMAIN",
                    "reason": "name_not_allowed", "rule": ""}) for i in range(7000)]
    wires = [line({"type": "intent", "session": "s1", "exchange": i, "authority": f"https://n{i}.test", "method": "GET",
                   "decision": "deny", "reason": "placeholder_wrong_host"}) for i in range(7000)]
    bench.write("bad.jsonl", "\n".join(wires + floods) + "\n")
    report = audit(bench, "report", "--format", "json", bench.ws / "bad.jsonl").json
    assert len(report["hosts"]) == 5001 and sum(h["refused"] for h in report["hosts"]) == 7000
    assert len(report["refusals"]) < 5010 and sum(r["count"] for r in report["refusals"]) == 14000
    assert len(report["tripwires"]["events"]) == 1000 and report["tripwires"]["more"] == 6000


def test_attack_a_report_holds_no_markup_of_a_record(bench, echo):
    bench.run(["/bin/sh", "-c", "true", "<script>|`x`|[l](https://e.test)\n# head\nwww.e.test ![i](u) ~~s~~ &lt; a@e.test"])
    text = audit(bench, "report", bench.audit).text
    wanted = ("\\<script\\>\\|\\`x\\`\\|\\[l\\]\\(https\\://e.test\\)\\\\n\\# head\\\\nwww\\.e.test "
              "\\!\\[i\\]\\(u\\) \\~\\~s\\~\\~ \\&lt; a\\@e.test")
    assert wanted in text, text


@pytest.mark.parametrize("how", ["edited", "cut"])
def test_attack_a_report_of_a_changed_log_says_so_on_top(bench, log, how):
    lines = log.read_bytes().splitlines(keepends=True)
    if how == "edited":
        lines[3] = lines[3].replace(b"test", b"tess", 1)
    else:
        del lines[-2:]
    bench.write("bad.jsonl", b"".join(lines))
    done = audit(bench, "report", bench.ws / "bad.jsonl")
    assert done.code == 1 and "**NOT INTACT" in done.text.splitlines()[2], done
    assert how == "cut" or "edited" in done.text, done
