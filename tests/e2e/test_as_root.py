"""--as-root: uid 0 inside, the caller outside, and no capability anywhere."""

import os
import re

import pytest

from support.daemon import Daemon
from support.marks import both_users


def root(bench, cmd, **more):
    return bench.run(cmd, args=("--as-root",), **more)


@both_users
def test_it_is_uid_0_inside_and_the_caller_outside(bench):
    done = root(bench, 'id -u; id -g; id -un; echo "$HOME $USER"; cd ~ && pwd; touch made; touch "$OLDPWD/made";'
                       'stat -c %u "$OLDPWD/made"; getent passwd root | cut -d: -f6', creates=("made",))
    assert done.code == 0, done
    assert done.text.splitlines() == ["0", "0", "root", "/home/sandbox root", "/home/sandbox", "0", "/home/sandbox"], done
    made = (bench.ws / "made").stat()
    workspace = bench.ws.stat()
    assert (made.st_uid, made.st_gid) == (workspace.st_uid, workspace.st_gid)


@both_users
def test_attack_it_has_no_capability(bench):
    done = root(bench, "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; cat /proc/self/uid_map")
    lines = dict(re.findall(r"^(\w+):\t(\S+)$", done.text, re.M))
    for held in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(lines[held], 16) == 0, done
    assert lines["NoNewPrivs"] == "1" and lines["Seccomp"] == "2"
    assert done.text.splitlines()[-1].split()[0] == "0" and done.text.splitlines()[-1].split()[2] == "1"


@both_users
@pytest.mark.parametrize("cmd", [
    "ip link set lo down", "ip route del local default dev lo", "nft flush ruleset", "mount -t tmpfs none /tmp",
    "chroot / /bin/true", "unshare -U true", "unshare -r true", "unshare -n true",
    "python3 -c 'import os; os.setuid(1)'", "python3 -c 'import os; os.chown(\"t.yaml\", 1, 1)'",
    "mknod /tmp/disk b 8 0", "hostname other", "touch /usr/bin/mine", "cat /etc/shadow",
    "python3 -c 'import os; os.setgroups([])'"])
def test_attack_what_root_could_do_fails(bench, cmd):
    done = root(bench, f"{cmd}; code=$?; command -v {cmd.split()[0]} >/dev/null || echo missing; "
                       "echo code $code; ip link show lo 2>/dev/null | grep -c LOWER_UP")
    if "missing" in done.text:
        pytest.skip(f"no {cmd.split()[0]} on this machine")
    assert "code 0" not in done.text and "code " in done.text, done


@both_users
def test_a_tool_that_insists_on_uid_0_starts(bench):
    done = root(bench, '[ "$(id -u)" = 0 ] || exit 9; /usr/bin/python3 -c "import os; '
                       'print(os.geteuid(), os.access(os.path.expanduser(\'~\'), os.W_OK))"; '
                       'apt-config dump 2>/dev/null | grep Sandbox::User || true')
    assert done.code == 0 and done.text.splitlines()[0] == "0 True", done
    if os.path.exists("/usr/bin/apt-config"):
        assert 'APT::Sandbox::User "root";' in done.text, done


@both_users
def test_the_gateway_is_still_the_only_way(bench, echo):
    done = root(bench, "curl -sS https://api.test/ok -o /dev/null -w '%{http_code}'; "
                       "curl -sS https://evil.test/ || echo refused")
    assert done.text.splitlines() == ["200refused"], done


def test_without_it_the_user_is_the_callers(bench):
    done = bench.run('id -u; echo "$USER"')
    assert done.text.splitlines()[0] != "0" and done.text.splitlines()[1] == "sandbox", done


def test_it_is_uid_0_behind_another_gateway_too(bench, echo):
    with Daemon(bench, [{"type": "connect"}]) as gateway:
        done = bench.run('id -u; echo "$USER"', policy=None, config=None, verify=False, env={"REAL_TOKEN": None},
                         args=("--as-root", "--gateway", str(gateway.directory / "admin.sock")))
    assert done.text == "0\nroot\n", done
