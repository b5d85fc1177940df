"""What programs outside run or believe, in a tree that the sandbox writes: BR-118, BR-119, BR-121, BR-138."""

import os
import subprocess
import time

import pytest

from support.marks import both_users
from support.trees import Canary, held, host_git, repository, state_of


@both_users
def test_br_121_attack_repository_metadata_does_not_run_outside(bench, echo):
    repository(bench)
    canary = Canary(bench)
    bench.write("x", canary.script, 0o755)
    host_git(bench, "add", "x")
    host_git(bench, "commit", "-qm", "x")
    before = (bench.ws / ".git/config").read_bytes()
    done = bench.run("""
cp x .git/hooks/post-checkout; ln -s ../../x .git/hooks/pre-commit; rm -rf .git/hooks
git config core.fsmonitor ./x; git config core.hooksPath .h; git config alias.st '!./x'
echo '[core] fsmonitor=./x' >> .git/config; rm -f .git/config; chmod 777 .git/config
(echo '[core] fsmonitor=./x' > n; mv n .git/config)
mkdir -p .h; cp x .h/post-checkout
mkdir -p .git/info; echo '* filter=x' > .git/info/attributes
mv .git gone && git init -q . && git config core.fsmonitor ./x
mkdir evil; printf '[core]\\n\\tfsmonitor = ./x\\n' > evil/config; echo ../evil > .git/commondir
echo '[core] fsmonitor=./x' > .git/config.worktree
echo ran""", creates=["n", ".h", "evil", ".git"])
    assert done.text.endswith("ran\n"), done
    assert (bench.ws / ".git/config").read_bytes() == before
    assert not (bench.ws / "gone").exists()
    assert sorted(p.name for p in (bench.ws / ".git/hooks").iterdir() if p.suffix != ".sample") == []
    assert not (bench.ws / ".git/commondir").exists() and "--unprotect .git/commondir" in done.error, done
    assert "ws/.git/commondir" in held(bench) and "ws/.git/config.worktree" in held(bench)
    canary.assert_silent()


@both_users
def test_br_121_git_still_works(bench, echo):
    repository(bench)
    done = bench.run("""
set -e
git config --global user.name me; git config --global user.email me@test
echo two >> file; git add file; git commit -qm two
git branch side; git checkout -q side; echo three > other; git add other; git commit -qm three
git checkout -q main; echo four > fourth; git add fourth; git commit -qm four
git rebase -q side; git checkout -q -b tracked main; git checkout -q main
echo five >> file; git stash -q; git stash pop -q; git checkout -q -- file
git branch -D tracked >/dev/null 2>&1 || true
git merge -q --no-edit side; git tag v1; git status --porcelain; git log --oneline | wc -l""",
                     creates=[".git", "other", "fourth"])
    assert done.code == 0 and done.text.split() == ["4"], done
    assert host_git(bench, "status", "--porcelain").stdout == b""
    assert host_git(bench, "log", "-1", "--format=%s").stdout == b"four\n"
    assert held(bench) == []


@both_users
def test_br_121_attack_hooks_that_were_not_there(bench, echo):
    """No hooks at the start, and a hooks directory that the configuration names and that does not exist."""
    repository(bench)
    canary = Canary(bench)
    subprocess.run(["rm", "-rf", bench.ws / ".git/hooks"], check=True)
    host_git(bench, "config", "core.hooksPath", ".githooks")
    done = bench.run(["/bin/sh", "-c", "mkdir -p .git/hooks .githooks .husky/_; for d in .git/hooks .githooks .husky/_; do "
                      "printf \"$1\" > $d/post-checkout; chmod 755 $d/post-checkout; done; "
                      "mkdir -p .GIT/hooks; printf \"$1\" > .GIT/hooks/post-checkout", "sh",
                      canary.script.replace("\n", "\\n")], creates=[".git", ".GIT"])
    assert done.code == 0, done
    for gone in (".git/hooks/post-checkout", ".githooks", ".husky"):
        assert not (bench.ws / gone).exists(), gone
    assert {"ws/.git/hooks/post-checkout", "ws/.githooks/post-checkout"} <= set(held(bench))
    assert done.error.count("taken back from the sandbox") >= 3, done
    canary.assert_silent()


@both_users
def test_br_121_attack_a_hooks_path_of_the_repository(bench, echo):
    repository(bench)
    canary = Canary(bench)
    bench.write(".githooks/post-checkout", "#!/bin/sh\nexit 0\n", 0o755)
    bench.write("tools/pre-commit", "#!/bin/sh\nexit 0\n", 0o755)
    (bench.ws / ".githooks/pre-commit").symlink_to("../tools/pre-commit")
    host_git(bench, "config", "core.hooksPath", ".githooks")
    done = bench.run("for f in .githooks/post-checkout .githooks/pre-commit tools/pre-commit; do "
                     "(echo 'touch x' >> $f) 2>/dev/null && echo wrote $f; done; mv .githooks h; mv tools t; "
                     "rm -rf .githooks; echo ran")
    assert done.text == "ran\n", done
    canary.assert_silent()


@both_users
def test_br_121_attack_a_repository_that_the_sandbox_makes(bench, echo):
    canary = Canary(bench)
    bench.config()
    bench.write("x", canary.script, 0o755)
    done = bench.run("""
git init -q .; cp x .git/hooks/post-checkout; git config core.fsmonitor ./x; git config user.name kept
git init -q sub; cp x sub/x; git -C sub config core.fsmonitor ./x; git -C sub config alias.st '!./x'
git init -q --bare sub/bare; cp x sub/bare/x; git -C sub/bare config core.fsmonitor ./x
git init -q fine; echo ran""", creates=[".git", "sub", "fine"])
    assert done.text == "ran\n", done
    for directory in (bench.ws, bench.ws / "sub", bench.ws / "sub/bare"):
        canary.assert_silent(directory)
    assert host_git(bench, "config", "user.name").stdout == b"kept\n"
    assert (bench.ws / "fine/.git/hooks").exists() and "fine" not in "".join(held(bench))
    assert "ws/.git/hooks/post-checkout" in held(bench) and "ws/sub/bare/config" in held(bench)


@both_users
def test_br_118_the_tree_is_identical_before_during_and_after(bench, echo):
    repository(bench)
    before = state_of(bench.ws)
    for command, code in (("git status --porcelain", 0), ("exit 7", 7)):
        done = bench.run(command)
        assert done.code == code and done.out == b"", done
        assert state_of(bench.ws) == before
    process = bench.start("git status --porcelain; echo up; sleep 60")
    assert process.stdout.readline() == b"up\n"
    assert state_of(bench.ws) == before, "a mount point was made on the host"
    assert host_git(bench, "status", "--porcelain").stdout == b""
    process.kill()
    process.wait()
    bench.check_end(verify=False, seconds=10)
    assert state_of(bench.ws) == before
    assert host_git(bench, "status", "--porcelain").stdout == b""


@both_users
def test_br_118_attack_what_a_killed_run_left_is_taken_back_by_the_next(bench, echo):
    repository(bench)
    process = bench.start("mkdir .vscode; echo '{}' > .vscode/tasks.json; echo up; sleep 60")
    assert process.stdout.readline() == b"up\n"
    process.kill()
    process.wait()
    bench.check_end(verify=False, seconds=10, creates=[".vscode"])
    assert (bench.ws / ".vscode").exists()
    elsewhere = bench.directory / "elsewhere"
    elsewhere.mkdir()
    bench.own()
    done = subprocess.run(bench.argv("true"), cwd=elsewhere, env=bench.environment(), capture_output=True, timeout=30)
    assert done.returncode == 0 and b"which was killed: taken back" in done.stderr, done
    assert not (bench.ws / ".vscode").exists() and held(bench) == ["ws/.vscode/tasks.json"]


@both_users
def test_br_119_a_protected_path_is_a_link(bench, echo):
    repository(bench)
    canary = Canary(bench)
    subprocess.run(["rm", "-rf", bench.ws / ".git/hooks"], check=True)
    bench.write("tracked-hooks/post-checkout", "#!/bin/sh\nexit 0\n", 0o755)
    (bench.ws / ".git/hooks").symlink_to("../tracked-hooks")
    (bench.ws / ".vscode").symlink_to("/nix/store/missing")
    (bench.ws / ".idea").symlink_to(".")
    bench.write("evil/post-checkout", canary.script, 0o755)
    (bench.ws / "out").symlink_to("/etc/passwd")
    passwd = open("/etc/passwd").read()
    done = bench.run("(echo x >> tracked-hooks/post-checkout); (echo x >> .git/hooks/n); (echo x >> out); "
                     "rm .git/hooks && ln -s ../evil .git/hooks; rm .vscode && mkdir .vscode && touch .vscode/t; "
                     "echo ran")
    assert done.code == 0 and done.text == "ran\n", done
    assert "Read-only file system" in done.error
    assert os.readlink(bench.ws / ".git/hooks") == "../tracked-hooks"
    assert os.readlink(bench.ws / ".vscode") == "/nix/store/missing"
    assert open("/etc/passwd").read() == passwd
    canary.assert_silent()


@both_users
@pytest.mark.parametrize("name", ["with space", "new\nline", os.fsdecode(b"\xff\xfe")])
def test_br_119_odd_working_directories(bench, echo, name):
    bench.config()
    odd = bench.directory / name
    odd.mkdir()
    bench.own()
    assert host_git(bench, "init", "-q", cwd=odd).returncode == 0
    (odd / ".env").write_text("A=1\n")
    link = bench.directory / "link"
    link.symlink_to(odd)
    bench.own()
    for cwd in (odd, link):
        done = subprocess.run(bench.argv("cat .env; (echo x >> .git/config) 2>/dev/null && echo wrote; mkdir .vscode; pwd -P"),
                              cwd=cwd, env=bench.environment(), capture_output=True, timeout=30)
        assert done.returncode == 0 and done.stdout == os.fsencode(odd) + b"\n", done
        assert not (odd / ".vscode").exists(), done


@both_users
def test_br_138_attack_other_names_of_what_the_next_run_believes(bench, echo):
    """The configuration by a hard link; Warder's own state in a tree that is given."""
    bench.config()
    os.link(bench.ws / "t.yaml", bench.ws / "other.yaml")
    before = (bench.ws / "t.yaml").read_bytes()
    done = bench.run("for f in t.yaml other.yaml; do (echo '# mine' >> $f) 2>/dev/null && echo wrote $f; "
                     "rm -f $f && echo removed $f; done; "
                     f"ls -A {bench.state}/warder 2>/dev/null; (echo x > {bench.state}/warder/watched/x.json) && echo planted; "
                     "cat audit/* 2>/dev/null; echo ran", args=["--rw", bench.state])
    assert done.text == "ran\n", done
    assert (bench.ws / "t.yaml").read_bytes() == before == (bench.ws / "other.yaml").read_bytes()


@both_users
def test_editors_agents_and_ci_files_are_read_only_unless_asked(bench, echo):
    names = [".vscode/tasks.json", ".claude/settings.json", ".mcp.json", ".github/workflows/ci.yml", ".envrc",
             ".gitlab-ci.yml", ".husky/pre-commit", ".devcontainer/devcontainer.json", ".pre-commit-config.yaml"]
    for name in names:
        bench.write(name, "{}\n")
    attempt = "for f in " + " ".join(names) + "; do (echo x >> $f) 2>/dev/null && echo $f; done; mv .github g; mv .vscode v; true"
    assert bench.run(attempt).text == ""
    done = bench.run(attempt, args=["--unprotect", ".vscode", "--unprotect", ".envrc"], creates=["v"])
    assert done.text.split() == [".vscode/tasks.json", ".envrc"], done


@both_users
def test_a_tree_that_holds_the_workspace_is_protected_too(bench, echo):
    """--rw of a parent: the same files, and those of a repository beside it."""
    repository(bench)
    other = bench.directory / "other"
    other.mkdir()
    bench.own()
    assert host_git(bench, "init", "-q", cwd=other).returncode == 0
    (other / ".env").write_text("A=1\n")
    bench.own()
    done = bench.run(f"cd {bench.directory}; for f in ws/.git/config ws/.git/hooks/n other/.git/config other/.git/hooks/n; do "
                     "(echo x >> $f) 2>/dev/null && echo wrote $f; done; cat other/.env; mv other gone 2>/dev/null && echo moved; "
                     "mv ws gone 2>/dev/null && echo moved; true", args=["--rw", bench.directory])
    assert done.code == 0 and done.text == "", done
    refused = bench.run("true", args=["--rw", bench.ws / ".git/hooks"], verify=False)
    assert refused.code == 2 and "--unprotect" in refused.error, refused


@both_users
def test_profiles_of_files(bench, echo):
    repository(bench)
    bench.write(".vscode/tasks.json", "{}\n")
    bench.home.joinpath(".gitconfig").write_text("[user]\n\tname = Somebody\n")
    bench.home.joinpath(".local/bin").mkdir(parents=True)
    bench.home.joinpath(".local/bin/tool").write_text("#!/bin/sh\necho tool\n")
    bench.home.joinpath(".local/bin/tool").chmod(0o755)
    path = {"PATH": f"{bench.home}/.local/bin:/usr/bin:/bin"}
    script = ("(echo x >> file) 2>/dev/null && echo wrote; (echo >> .vscode/tasks.json) 2>/dev/null && echo vscode; "
              "(echo >> .git/config) 2>/dev/null && echo config; tool 2>/dev/null; git config user.name; echo ran")
    runs = {files: bench.run(script, args=["--files", files] if files else [], env=path).text.split()
            for files in ("strict", "default", "dev")}
    assert runs["strict"] == ["ran"], runs
    assert runs["default"] == ["wrote", "tool", "Somebody", "ran"], runs
    assert runs["dev"] == ["wrote", "vscode", "tool", "Somebody", "ran"], runs
    assert (bench.home / ".cache/warder/packages/CACHEDIR.TAG").exists()


def test_attack_a_file_that_is_replaced_outside_meanwhile_is_said(bench, echo):
    """A mount goes with the file that it lies on: what the sandbox then writes into git's configuration is taken back."""
    repository(bench)
    canary = Canary(bench)
    bench.write("x", canary.script, 0o755)
    process = bench.start("echo up; until grep -q marker .git/config; do sleep 0.1; done; "
                          "printf '[core]\\n\\tfsmonitor = ./x\\n' >> .git/config; echo done")
    assert process.stdout.readline() == b"up\n"
    assert host_git(bench, "config", "user.marker", "marker").returncode == 0
    out, err = process.communicate(timeout=60)
    assert out == b"done\n" and b"LOOK AT" in err and b"replaced outside" in err, (out, err)
    bench.check_end(verify=False, seconds=10, creates=[".git"])
    assert b"fsmonitor" not in (bench.ws / ".git/config").read_bytes()
    canary.assert_silent()


def test_take_back_waits_for_the_last_process(bench, echo):
    """Ended by a signal to Warder: nothing of the sandbox plants once more behind its back."""
    repository(bench)
    process = bench.start("trap '' TERM HUP INT; echo up; while :; do mkdir -p .vscode; touch .vscode/t; done")
    assert process.stdout.readline() == b"up\n"
    time.sleep(0.5)
    process.terminate()
    process.communicate(timeout=60)
    bench.check_end(verify=False, seconds=10)
    assert not (bench.ws / ".vscode").exists()
