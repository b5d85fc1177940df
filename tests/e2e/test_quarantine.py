"""`tripwire: quarantine`: a sandbox that sends a placeholder where it must not reaches nothing any more."""

import pytest

from support.bench import BEARER, SECRET
from support.h2bench import asked, event_origin
from support.marks import both_users


def config(bench, **more):
    path = bench.config(**more)
    text = path.read_text()
    assert '"rules":' in text
    path.write_text(text.replace('"rules":', '"tripwire": "quarantine", "rules":', 1))


@both_users
@pytest.mark.parametrize("version", ["--http1.1", "--http2"])
def test_after_a_tripwire_nothing_passes_and_what_runs_is_cut_off(bench, pki, version):
    origin = event_origin(bench, pki, version)
    config(bench)
    done = bench.run(f"curl -sS -N {version} {BEARER} 'https://api.test/stream?n=2000&gap=0.05' -o /tmp/s & "
                     "until [ -s /tmp/s ]; do sleep 0.05; done; "
                     f"curl -sS -i {version} {BEARER} https://other.test/steal; wait $!; echo \"code $?\"; "
                     f"curl -sS -i {version} https://api.test/ok; curl -sS -i {version} https://other.test/ok; "
                     "curl -sS https://never.test/ || echo none")
    text = done.text.lower()
    assert text.count("warder-reason: placeholder_wrong_host") == 1, done
    assert text.count("warder-reason: quarantined") == 2 and text.count(" 503 ") == 2, done
    assert "code 0" not in text and "none" in text, done
    assert asked(origin) == [f"Bearer {SECRET}"]
    protocols = {r["protocol"] for r in done.records if r["type"] == "intent" and r["decision"] == "allow"}
    assert protocols == {"h2" if version == "--http2" else "http/1.1"}, protocols
    assert "quarantine: " in done.error, done
    ended = [(r["reason"], r["side"]) for r in done.records if r["type"] == "receipt"]
    assert ended == [("quarantined", "warder")], done.records


def test_another_run_is_none_the_worse(bench, echo):
    config(bench)
    assert "placeholder_wrong_host" in bench.run(f"curl -sS {BEARER} https://other.test/").text
    assert bench.run("curl -sS -o /dev/null -w '%{http_code}' https://api.test/ok").text == "200"


def test_without_it_only_the_request_is_refused(bench, echo):
    done = bench.run(f"curl -sS -o /dev/null {BEARER} https://other.test/; "
                     "curl -sS -o /dev/null -w '%{http_code}' https://api.test/ok")
    assert done.text == "200", done
