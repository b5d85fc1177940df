"""Proofs of single records, and two checkers that are not ours: Go's sumdb packages and docs/verify_audit.py."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.bench import BEARER, PYTHON, REPO, SECRET

SCRIPT = REPO / "docs/verify_audit.py"
GO_SOURCE = Path("/usr/share/gocode/src/golang.org/x/mod/sumdb/tlog")


@pytest.fixture(scope="session")
def tlog(tmp_path_factory):
    go = shutil.which("go", path=os.environ.get("PATH", "") + ":/usr/local/go/bin")
    if not go or not GO_SOURCE.exists():
        pytest.skip("needs go and golang-golang-x-mod-dev: tools/install-deps tests clients")
    out = tmp_path_factory.mktemp("go")
    env = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOFLAGS": "",
           "GOCACHE": str(out / "cache")}
    done = subprocess.run([go, "build", "-o", str(out / "tlog"), "."], capture_output=True, text=True, timeout=500,
                          cwd=REPO / "tests/e2e/support/tlog", env=env)
    assert done.returncode == 0, done.stderr
    return str(out / "tlog")


def checked(*argv):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=60)


def key_of(bench):
    """The key as a person would hand it to an auditor."""
    done = bench.verify(bench.audit, "--json")
    return json.loads(done.stdout)["files"][0]["key"].split(" ")[0]


@pytest.fixture
def log(bench, echo):
    bench.run(f"for i in 1 2 3; do curl -sS -o /dev/null {BEARER} https://api.test/sized/$i; done; "
              "curl -sS https://evil.test/; true")
    return bench.audit


def prove(bench, seq, *args):
    return bench.warder_command("audit", "prove", seq, bench.audit, *args)


def flipped(path, needle):
    data = path.read_bytes()
    at = data.index(needle) + len(needle) // 2
    bad = path.with_name("bad-" + path.name)
    bad.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
    return bad


def test_a_record_is_proved_without_the_others(bench, log):
    intent = next(r for r in bench.records() if r["type"] == "intent")
    done = prove(bench, intent["seq"])
    assert done.code == 0, done
    (bench.directory / "p").write_bytes(done.out)
    assert json.loads(done.text.splitlines()[1]) == intent
    assert done.text.count('"seq"') == 1 and "evil.test" not in done.text
    good = bench.warder_command("audit", "verify", "--proof", bench.directory / "p")
    assert good.code == 0 and good.text.startswith("proved") and "api.test" in good.text, good
    bad = bench.warder_command("audit", "verify", "--json", "--proof", flipped(bench.directory / "p", b"api.test"))
    assert bad.code == 1 and bad.json["outcome"] == "wrong", bad


def test_out_writes_a_new_file_and_no_other(bench, log):
    out = bench.directory / "out.proof"
    assert prove(bench, 1, "--out", out).code == 0
    assert out.read_text().startswith("warder-audit-proof 1\n")
    before = out.read_bytes()
    assert prove(bench, 2, "--out", out).code == 2 and out.read_bytes() == before


@pytest.mark.parametrize("seq, code", [("99999", 1), ("-1", 2), ("x", 2)])
def test_there_is_no_proof_of_what_is_not_there(bench, log, seq, code):
    done = prove(bench, seq)
    assert done.code == code and not done.out, done


def test_a_changed_file_proves_nothing(bench, log):
    bad = flipped(log, b"api.test")
    done = bench.warder_command("audit", "prove", "1", bad, creates=["audit"])
    assert done.code == 1 and not done.out, done


def test_the_key_is_not_taken_from_the_proof(bench, log):
    """Another host's key, given or its own, does not believe it."""
    assert prove(bench, 1, "--out", bench.directory / "p").code == 0
    key = key_of(bench)
    name, _, text = key.split("+", 2)
    for bad in (f"{name}+00000000+{text}", "nonsense"):
        done = bench.warder_command("audit", "verify", "--proof", bench.directory / "p", "--key", bad)
        assert done.code == 2, done
    other = {"XDG_STATE_HOME": str(bench.directory / "elsewhere")}
    done = bench.warder_command("audit", "verify", "--proof", bench.directory / "p", env=other)
    assert done.code == 2, done
    done = bench.warder_command("audit", "verify", "--proof", bench.directory / "p", "--key", key, env=other)
    assert done.code == 0, done


def test_a_script_of_a_hundred_lines_says_the_same(bench, log):
    assert len(SCRIPT.read_text().splitlines()) <= 100
    key = key_of(bench)
    assert prove(bench, 3, "--out", bench.directory / "p").code == 0
    good = checked(PYTHON, SCRIPT, key, log, bench.directory / "p")
    assert good.returncode == 0 and "intact" in good.stdout and "proved, record 3" in good.stdout, good
    for bad in (flipped(log, b"api.test"), flipped(log, b"root"[:0] + b'"checkpoint"'),
                flipped(bench.directory / "p", b'"seq"'), flipped(bench.directory / "p", b"tlog-proof")):
        assert checked(PYTHON, SCRIPT, key, bad).returncode == 1, bad
    lines = log.read_bytes().splitlines(keepends=True)
    for cut in (lines[:-1], lines[:-2], lines[:2] + lines[3:], lines[:2] + [lines[3], lines[2]] + lines[4:]):
        (bench.directory / "cut.jsonl").write_bytes(b"".join(cut))
        assert checked(PYTHON, SCRIPT, key, bench.directory / "cut.jsonl").returncode == 1


def test_go_reads_our_checkpoints_and_proofs(bench, log, tlog):
    key = key_of(bench)
    count = sum(r["type"] == "checkpoint" for r in bench.records())
    done = checked(tlog, "log", key, log)
    assert done.returncode == 0 and done.stdout == f"checkpoints {count}\n", done
    last = bench.records()[-1]["seq"]
    for seq in range(last):
        path = bench.directory / f"{seq}.proof"
        assert prove(bench, seq, "--out", path).code == 0
        done = checked(tlog, "proof", key, path)
        assert done.returncode == 0 and done.stdout == f"proved {seq} of {last}\n", done
    assert checked(tlog, "proof", key, flipped(path, b'"type"')).returncode == 1
    assert checked(tlog, "log", key, flipped(log, b"api.test")).returncode == 1
    assert SECRET not in path.read_text()
