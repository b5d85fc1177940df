"""Cases from the field (BR-...) at a size that takes its time."""

import subprocess

from support.bench import SECRET
from support.git_origin import git_origin, make_repository
from support.talk import Talk

MIB = 1 << 20


def test_br047_a_git_push_of_60_megabytes_in_chunks(bench, pki):
    """Push, clone and fetch with the token in Basic; the gateway holds none of it."""
    root = bench.directory / "git"
    make_repository(root)
    origin = git_origin(pki.good, root, SECRET)
    origin.patience = 60.0
    bench.map("git.test:443", origin)
    bench.config(rules=[{"name": "git", "hosts": ["git.test"], "action": "allow"}],
                 grants=[{"secret": "tok", "hosts": ["git.test"], "at": ["basic"]}])
    talk = Talk(bench, """
import random, subprocess
url = f"https://x-access-token:{TOKEN}@git.test/r.git"
home = os.environ["HOME"]
def git(*words, cwd=home):
    done = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c",
                           "http.postBuffer=65536", *words], cwd=cwd, capture_output=True)
    if done.returncode:
        show(failed=words, error=done.stderr.decode()[-500:].replace(TOKEN, "mine"))
    return done.stdout.decode().strip()
git("clone", "-q", url, "one")
pause()
for i in range(6):
    with open(f"{home}/one/blob{i}", "wb") as file:
        file.write(random.Random(i).randbytes(10_000_000))
git("add", ".", cwd=f"{home}/one")
git("commit", "-q", "-m", "large", cwd=f"{home}/one")
git("push", "-q", "origin", "main", cwd=f"{home}/one")
show(pushed=git("rev-parse", "HEAD", cwd=f"{home}/one"))
git("clone", "-q", url, "two")
git("fetch", "-q", cwd=f"{home}/two")
git("fsck", "--full", cwd=f"{home}/two")
pause(cloned=git("rev-parse", "HEAD", cwd=f"{home}/two"))
""")
    talk.hear(60)
    before = talk.memory()
    talk.go()
    pushed, cloned = talk.hear(300), talk.hear(300)
    grown = talk.memory("VmHWM") - before
    talk.end(60)
    there = subprocess.run(["git", "-c", "safe.directory=*", "-C", f"{root}/r.git", "rev-parse",
                            "main"], capture_output=True, text=True, check=True).stdout.strip()
    assert pushed == {"pushed": there} and cloned == {"cloned": there}, (pushed, cloned, there)
    posts = [r for r in origin.requests if r.method == "POST" and "receive-pack" in r.target]
    assert any(r.get("transfer-encoding") == "chunked" and len(r.body) > 59_000_000 for r in posts)
    assert bench.sanitized or grown < 16 * MIB, f"grown by {grown / MIB:.1f} MiB"
