"""The record: complete, verifiable, out of the sandbox's reach, and a condition of egress."""

import json
import os
import subprocess

import pytest

from support.bench import BEARER, MINE, SECRET, mine
from support.daemon import free_port
from support.marks import both_users
from support.origin import Origin


def kinds(records, **wanted):
    return [r for r in records if all(r.get(k) == v for k, v in wanted.items())]


def sequences(records):
    return [r["seq"] for r in records if "seq" in r]


@both_users
def test_one_run_leaves_a_complete_story(bench, echo):
    done = bench.run(f"curl -sS -o /dev/null {BEARER} https://api.test/whoami; "
                     "curl -sS -o /dev/null -X DELETE https://api.test/ok; "
                     "curl -sS https://evil.test/; true")
    numbers = sequences(done.records)
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers
    allowed, = kinds(done.records, decision="allow")
    denied, = kinds(done.records, decision="deny")
    assert {k: allowed[k] for k in ("method", "authority", "path", "rule")} == {
        "method": "GET", "authority": "https://api.test", "path": "/whoami", "rule": "api"}, allowed
    assert [(u["name"], u["place"]) for u in allowed["uses"]] == [("tok", "header:authorization")]
    assert denied["method"] == "DELETE" and denied["reason"] == "method_not_allowed", denied
    receipts = [r for r in done.records if r.get("status") == 200]
    assert len(receipts) == 1, done.records
    raw = bench.audit.read_text()
    assert "evil.test" in raw and "NXDOMAIN" in raw
    assert SECRET not in raw
    assert bench.verify().returncode == 0


def test_the_placeholder_and_query_values_are_not_recorded(bench, echo):
    done = bench.run(f'curl -sS -o /dev/null "https://api.test/ok?q=private-thing"; '
                     f'curl -sS -o /dev/null "https://api.test/p/$API_TOKEN"; {MINE}')
    raw = bench.audit.read_text()
    assert mine(done) not in raw
    assert "private-thing" not in raw, raw


@pytest.mark.parametrize("fails", ["no", "tls", "connect"])
def test_br126_what_a_url_holds_is_in_no_log(bench, echo, pki, fails):
    """Swapped in the query and in the path, and the user's own signature: also where the origin cannot be reached."""
    if fails == "tls":
        bench.map("api.test:443", Origin(lambda conn: None, pki.leaf("unknown", ["api.test"], stranger=True)))
    elif fails == "connect":
        bench.connect["api.test:443"] = f"127.0.0.1:{free_port()}"
    bench.config(grants=[{"secret": "tok", "hosts": ["api.test"], "at": ["query:key", "path"]}])
    urls = [f"https://api.test/headers?sig=USER-SIGNATURE&{more}" for more in ("key=$API_TOKEN", "b=1")]
    urls.append("https://api.test/bot$API_TOKEN/send?sig=USER-SIGNATURE")
    done = bench.run("; ".join(f'curl -sS -o /dev/null -w "%{{http_code}} " "{url}"' for url in urls) + f"; {MINE}")
    codes = done.text.split()[:3]
    assert codes == (["502"] * 3 if fails != "no" else ["200", "200", "404"]), done
    logged = bench.audit.read_text() + done.error
    for word in ("USER-SIGNATURE", SECRET, mine(done)):
        assert word not in logged, word
    allowed = kinds(done.records, type="intent", decision="allow")
    assert len(allowed) == 3, allowed


def test_file_and_directory_are_private(bench, echo):
    bench.run("true")
    assert bench.audit.stat().st_mode & 0o777 == 0o600
    assert bench.audit.parent.stat().st_mode & 0o777 == 0o700
    for path in bench.state.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def records_file(bench, echo):
    bench.run(f"for i in 1 2 3; do curl -sS -o /dev/null {BEARER} https://api.test/sized/$i; done")
    lines = bench.audit.read_bytes().splitlines(keepends=True)
    numbered = [i for i, line in enumerate(lines) if line.startswith(b"{") and b'"seq"' in line]
    return lines, numbered


def broken(bench, lines):
    bench.audit.write_bytes(b"".join(lines))
    done = bench.verify()
    return done.returncode, (done.stdout + done.stderr).decode()


def test_one_flipped_byte_is_found_and_named(bench, echo):
    lines, numbered = records_file(bench, echo)
    victim = next(i for i in numbered[2:] if b"api.test" in lines[i])
    sequence = json.loads(lines[victim])["seq"]
    at = lines[victim].index(b"api.test") + 1
    lines[victim] = lines[victim][:at] + b"q" + lines[victim][at + 1:]
    code, text = broken(bench, lines)
    assert code == 1 and str(sequence) in text, text


def test_a_missing_a_doubled_and_a_swapped_record_are_found(bench, echo):
    lines, numbered = records_file(bench, echo)
    a, b = numbered[2], numbered[3]
    for name, changed in {
            "missing": lines[:a] + lines[a + 1:], "doubled": lines[:b] + lines[a:],
            "swapped": lines[:a] + [lines[b], lines[a]] + lines[b + 1:]}.items():
        code, text = broken(bench, changed)
        assert code == 1, (name, text)
        assert any(str(json.loads(lines[i])["seq"]) in text for i in (a, b)), (name, text)
    assert broken(bench, lines)[0] == 0


def test_a_cut_tail_is_never_called_complete(bench, echo):
    lines, numbered = records_file(bench, echo)
    code, text = broken(bench, lines[:numbered[-1]])
    assert code != 0 or "not anchored" in text.lower(), text


def test_verify_without_a_path_takes_the_last_run(bench, echo):
    bench.config(gateway={"upstream": bench.gateway()["upstream"]})
    bench.run(f"curl -sS {BEARER} https://api.test/ok")
    files = list((bench.state / "warder" / "audit").glob("*.jsonl"))
    assert len(files) == 1, files
    done = bench.warder_command("audit", "verify")
    assert done.code == 0, done
    assert SECRET not in files[0].read_text()


def test_verify_of_what_is_no_audit_file(bench):
    bench.write("junk.jsonl", b"hello\n{}\n")
    assert bench.verify(bench.ws / "junk.jsonl").returncode != 0
    assert bench.verify(bench.ws / "absent.jsonl").returncode != 0


@both_users
def test_the_sandbox_cannot_see_or_change_it(bench, echo):
    done = bench.run(f"""curl -sS -o /dev/null {BEARER} https://api.test/ok
        ls -A audit; cat audit/audit.jsonl
        echo for''ged >> audit/audit.jsonl; touch audit/x; mv audit gone; rm -rf audit
        ln -s /tmp audit/y
        mkdir audit2 && mv audit2 audit
        ls -A audit; echo end""", creates=["audit2"])
    assert "seq" not in done.text and "end" in done.text, done
    raw = bench.audit.read_text()
    assert "forged" not in raw and "api.test" in raw
    assert bench.verify().returncode == 0


def test_the_state_directory_is_not_seen_even_inside_the_workspace(bench, echo):
    """XDG_STATE_HOME below the workspace: the log key must not be the sandbox's to read."""
    inside = bench.ws / "state"
    inside.mkdir()
    bench.state = inside
    done = bench.run("find state -type f; cat state/warder/* 2>/dev/null; echo end",
                     creates=["state"])
    assert done.text == "end\n", done


def test_a_restart_continues_the_chain(bench, echo):
    first = bench.run(f"curl -sS {BEARER} https://api.test/ok").records
    second = bench.run(f"curl -sS {BEARER} https://api.test/ok").records
    assert second[:len(first)] == first and len(second) > len(first)
    numbers = sequences(second)
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), numbers
    assert bench.verify().returncode == 0


def test_a_second_gateway_on_the_same_file_names_the_holder(bench, echo):
    holder = bench.start("echo ready; sleep 20")
    assert holder.stdout.readline() == b"ready\n"
    done = subprocess.run(bench.argv("touch second-ran"), cwd=bench.ws, env=bench.environment(),
                          capture_output=True, timeout=10)
    assert done.returncode == 2, done
    assert str(holder.pid) in done.stderr.decode(), done.stderr
    assert not (bench.ws / "second-ran").exists()
    holder.terminate()
    holder.wait(5)
    bench.check_end()


def test_a_torn_tail_is_repaired_and_recorded(bench, echo):
    bench.run(f"curl -sS {BEARER} https://api.test/ok")
    with open(bench.audit, "ab") as file:
        file.write(b'{"seq":999,"half a rec')
    done = bench.run(f"curl -sS {BEARER} https://api.test/ok")
    assert done.code == 0 and done.text == "ok", done
    assert bench.verify().returncode == 0
    kept = [p.name for p in bench.audit.parent.iterdir()]
    assert any("torn" in name for name in kept), kept
    assert any(r["type"] == "repair" for r in done.records), done.records


@pytest.mark.parametrize("where", ["full device", "read-only directory", "a directory"])
def test_without_a_record_nothing_leaves(bench, echo, where):
    gateway = bench.gateway()
    if where == "full device":
        gateway["audit"]["file"] = "/dev/full"
    elif where == "read-only directory":
        gateway["audit"]["file"] = "/proc/self/audit/audit.jsonl"
    else:
        (bench.ws / "audit" / "audit.jsonl").mkdir(parents=True)
        bench.audit = bench.ws / "audit" / "not-made"
    bench.config(gateway=gateway)
    done = bench.run(f"touch started; curl -sS -i {BEARER} https://api.test/ok", verify=False,
                     creates=["started"])
    assert echo.accepted == 0 and echo.requests == [], done
    assert done.code == 2 and not (bench.ws / "started").exists(), done
    assert "audit" in done.error, done


def test_a_disk_that_fills_up_stops_the_egress(bench, echo):
    """The audit directory is a tiny tmpfs: when it is full, requests get 503 audit_unavailable and
    the origin sees none of them."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small tmpfs")
    audit = bench.ws / "audit"
    audit.mkdir(mode=0o700)
    os.system(f"mount -t tmpfs -o size=256k,mode=700 tmpfs {audit}")
    try:
        done = bench.python("""
seen = []
for i in range(1500):
    if i % 50 == 0:
        wire = Wire()
    wire.send(f"GET /sized/{i} HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
    reply = attempt(lambda: wire.reply())
    if isinstance(reply, str):
        seen.append(reply); break
    seen.append(reply.status)
    if reply.status != 200:
        show(reason=reply.get("warder-reason"))
        break
show(last=seen[-1], good=seen.count(200))
""", verify=False, timeout=60)
        last = done.lines[-1]
        assert last["last"] != 200, "the log was full and requests went on"
        assert len(echo.requests) in (last["good"], last["good"] + 1), (last, len(echo.requests))
        if last["last"] == 503:
            assert done.lines[0]["reason"] == "audit_unavailable", done
    finally:
        os.system(f"umount -l {audit}")
