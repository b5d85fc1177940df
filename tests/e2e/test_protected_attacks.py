"""What a sandbox hides from the look that is taken at the end, and what a user of the host must not lose by it."""

import os
import stat

import pytest

from support.marks import both_users
from support.trees import Canary, held, host_git, repository

MAKE_EVIL = r"""
evil() { mkdir -p $1/objects $1/refs; echo 'ref: refs/heads/main' > $1/HEAD
         printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "CANARY; false"\n' > $1/config; }
mkdir sub
"""
HIDDEN = {
    "in a directory that cannot be listed": "evil sub/.git; chmod 0111 sub",
    "in a directory that nobody can enter": "evil sub/.git; chmod 0 sub",
    "by a .git file, in a directory that is passed over":
        "evil node_modules/e; echo 'gitdir: ../node_modules/e' > sub/.git",
    "by a .git file, among git's objects": "evil .git/objects/e; echo 'gitdir: ../.git/objects/e' > sub/.git",
    "by a .git file, through a link and back":
        "mkdir -p node_modules/d good; ln -s node_modules/d link; evil node_modules/good; "
        "echo 'gitdir: ../link/../good' > sub/.git",
    "by a .git file with a blank at its end":
        "mkdir -p node_modules/e; evil 'node_modules/e '; echo 'gitdir: ../node_modules/e ' > sub/.git",
    "by a .git file with a NUL in it":
        r"mkdir good; evil node_modules/e; printf 'gitdir: ../node_modules/e\0/../../good' > sub/.git",
    "as the common directory of a linked work tree":
        "evil c; rm c/HEAD; mkdir -p c/worktrees/x; cd c/worktrees/x; echo 'ref: refs/heads/main' > HEAD; "
        "echo ../.. > commondir; cd ../../..; echo $PWD/sub/.git > c/worktrees/x/gitdir; "
        "echo 'gitdir: ../c/worktrees/x' > sub/.git",
}


@both_users
@pytest.mark.parametrize("how", HIDDEN)
def test_br_121_attack_a_repository_that_is_hidden(bench, echo, how):
    repository(bench)
    canary = Canary(bench)
    canary_script = bench.directory / "sing"
    canary_script.write_text(canary.script)
    canary_script.chmod(0o755)
    made = MAKE_EVIL.replace("CANARY", str(canary_script)).replace("$1", '"$1"') + HIDDEN[how] + "; echo ran"
    done = bench.run(made, creates=["sub", "node_modules", "link", "good", "c", ".git"])
    assert done.text == "ran\n", done
    if "listed" in how:
        assert stat.S_IMODE((bench.ws / "sub").stat().st_mode) == 0o111
    if "enter" in how:
        assert stat.S_IMODE((bench.ws / "sub").stat().st_mode) == 0
        (bench.ws / "sub").chmod(0o755)
    canary.assert_silent(bench.ws / "sub")
    assert held(bench) != [], done


@both_users
def test_attack_lines_about_what_is_still_there_are_not_drowned(bench, echo):
    repository(bench)
    deep = "/".join("d" * 20)
    done = bench.run(f"git init -q sub; for i in $(seq 60); do echo > sub/.git/hooks/h$i; done; mkdir -p {deep}",
                     creates=["sub", "d"])
    assert done.code == 0 and "more such lines" in done.error, done
    assert "too large to be looked through for git repositories" in done.error, done


@both_users
def test_attack_lines_do_not_turn_the_terminal(bench, echo):
    repository(bench)
    done = bench.run(r"""n=$(printf 'a\302\233[31m\342\200\256\033x\nwarder: ok'); git init -q "$n"; echo x > "$n/.git/hooks/y"; echo "$n" """,
                     creates=["a\x9b[31m\u202e\x1bx\nwarder: ok"])
    assert done.code == 0 and "taken back" in done.error, done
    assert not any(c in done.error for c in "\x9b\u202e\x1b") and "\nwarder: ok" not in done.error, done


@both_users
def test_attack_many_files_do_not_hide_a_repository(bench, echo):
    repository(bench)
    canary = Canary(bench)
    done = bench.run(f"git init -q deep/er; git -C deep/er config core.fsmonitor 'touch {canary.directory}/x; false'; "
                     "mkdir a; cd a; seq 100100 | xargs touch", creates=["a", "deep"], timeout=120)
    assert done.code == 0, done
    canary.assert_silent(bench.ws / "deep/er")


@both_users
def test_what_the_user_made_outside_meanwhile_is_never_moved_in_silence(bench, echo):
    repository(bench)
    process = bench.start("echo up; until [ -e go ]; do sleep 0.1; done", args=["--quiet"])
    assert process.stdout.readline() == b"up\n"
    bench.write(".vscode/settings.json", "mine\n")
    bench.own()
    (bench.ws / "go").touch()
    out, err = process.communicate(timeout=60)
    assert b"taken back" in err and b"--unprotect .vscode" in err, err
    assert held(bench) == ["ws/.vscode/settings.json"]
    bench.check_end(verify=False, seconds=10, creates=["go"])


@both_users
@pytest.mark.parametrize("how", ["renamed", "removed first"])
@pytest.mark.parametrize("tree", ["ws", "ro"])
def test_attack_a_secret_that_is_replaced_outside_meanwhile_is_said(bench, echo, tree, how):
    """An editor's save by rename takes the mount along, and so does git's, which may get the same inode again."""
    other = bench.directory / "ro"
    other.mkdir()
    bench.config()
    secret = (bench.ws if tree == "ws" else other) / ".env"
    secret.write_text("KEY=old-value\n")
    bench.own()
    process = bench.start(f"cat {secret}; echo up; until [ -e go ]; do sleep 0.1; done", args=["--ro", other])
    assert process.stdout.readline() == b"up\n"
    if how == "renamed":
        secret.with_name(".new").write_text("KEY=new-value\n")
        os.rename(secret.with_name(".new"), secret)
    else:
        secret.unlink()
        secret.write_text("KEY=new-value\n")
    (bench.ws / "go").touch()
    out, err = process.communicate(timeout=60)
    assert f"LOOK AT {secret}".encode() in err and b"could read it" in err, err
    bench.check_end(verify=False, seconds=10, creates=["go", ".env"])


@both_users
def test_attack_what_the_sandbox_makes_where_something_was_removed_outside_is_said(bench, echo):
    """As a checkout outside does; the new file may get the inode of the old one."""
    bench.write(".envrc", "old\n")
    process = bench.start("echo up; while [ -e .envrc ]; do sleep 0.1; done; echo evil > .envrc")
    assert process.stdout.readline() == b"up\n"
    (bench.ws / ".envrc").unlink()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and b"LOOK AT" in err and b".envrc" in err, err
    bench.check_end(verify=False, seconds=10, creates=[".envrc"])


@both_users
def test_attack_a_secret_under_the_name_of_a_link(bench, echo):
    bench.config()
    bench.write("conf/prod", "KEY=value-one\n")
    (bench.ws / ".env").symlink_to("conf/prod")
    bench.write(".envrc", "export STRIPE_API_KEY=value-two\n")
    done = bench.run("cat .env conf/prod .envrc; echo ran")
    assert done.text == "ran\n" and "conf/prod" in done.error, done


@both_users
def test_attack_a_clone_is_not_applied_where_the_hosts_own_configuration_leads(bench, echo):
    """core.hooksPath of the user, an include of the repository, a bare repository of any name."""
    repository(bench)
    bench.home.joinpath(".gitconfig").write_text("[core]\n\thooksPath = .my\n")
    bench.own()
    assert host_git(bench, "config", "include.path", "../shared").returncode == 0
    assert host_git(bench, "init", "-q", "--bare", "bare", cwd=bench.ws).returncode == 0
    os.system(f"rm -rf {bench.ws}/bare/hooks")
    done = bench.run("mkdir .my bare/hooks; echo x | tee .my/post-commit shared bare/hooks/post-update "
                     "bare/config.worktree > new", args=["--clone"])
    assert done.code == 0, done
    applied = bench.warder_command("apply", creates=["new"])
    assert applied.code == 0 and "kept back" in applied.error, applied
    assert (bench.ws / "new").exists()
    for name in (".my", "shared", "bare/hooks", "bare/config.worktree"):
        assert not (bench.ws / name).exists(), name
        assert name in applied.error, applied
