"""The walls themselves: who CMD is, what it sees, which doors of the kernel are shut."""

import os
import socket
import subprocess

import pytest

from support.marks import both_users


@both_users
def test_identity_and_privileges(bench, echo):
    """Never root inside, no capability, no way to get one back."""
    done = bench.run("id -u; grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' "
                     "/proc/self/status; hostname; ls /proc | grep -c '^[0-9]'")
    uid, *fields = done.text.split("\n")
    assert uid != "0", done
    values = dict(line.split(":\t") for line in fields if ":\t" in line)
    assert {values[k] for k in values if k.startswith("Cap")} == {"0" * 16}, done
    assert values["NoNewPrivs"] == "1" and values["Seccomp"] == "2", done
    assert fields[7] != socket.gethostname(), "the UTS namespace is the host's"
    assert int(fields[8]) < 10, "the host's processes are seen"


@both_users
def test_what_cmd_writes_belongs_to_the_owner_of_the_workspace(bench, echo):
    done = bench.run("echo text > made && mkdir made-dir && chmod 700 made-dir && ls -ln made",
                     creates=["made", "made-dir"])
    assert done.code == 0, done
    assert (bench.ws / "made").stat().st_uid == bench.ws.stat().st_uid
    assert (bench.ws / "made").read_text() == "text\n"


def test_a_workspace_below_a_private_directory(bench, echo):
    """As under /root: 0700 above, and all the same CMD works in it."""
    bench.directory.chmod(0o700)
    done = bench.run("pwd; cat t.yaml | head -1; curl -sS https://api.test/ok")
    assert done.text.splitlines() == [str(bench.ws), "version: 1", "ok"], done


@both_users
def test_the_file_view_is_an_allow_list(bench, echo):
    bench.home.joinpath("private").write_text("mine")
    done = bench.python("""
def seen(path):
    try:
        return sorted(os.listdir(path)) if os.path.isdir(path) else open(path).read(20)
    except OSError as error:
        return error.__class__.__name__
show(**{p: seen(p) for p in ("/root", "/srv", "/mnt", "/media", "/etc/shadow", "/run/docker.sock",
                             "/var/run/docker.sock", "/etc/ssh/ssh_host_ed25519_key",
                             *arguments())},
     passwd=os.path.exists("/etc/passwd"), usr=os.path.isdir("/usr/bin"),
     user_home=os.environ["HOME"])
""", bench.home, bench.state)
    view, = done.lines
    empty = ([], "FileNotFoundError", "PermissionError")
    for path in ("/root", "/srv", "/mnt", "/media", "/etc/shadow", "/run/docker.sock",
                 "/var/run/docker.sock", "/etc/ssh/ssh_host_ed25519_key", str(bench.home),
                 str(bench.state)):
        assert view[path] in empty, (path, view[path])
    assert view["user_home"] != str(bench.home) and view["passwd"] and view["usr"], view


@both_users
def test_only_the_workspace_home_and_tmp_can_be_written(bench, echo):
    done = bench.python("""
def writes(directory):
    try:
        with open(directory + "/e2e-probe", "w"):
            return True
    except OSError:
        return False
show(**{d: writes(d) for d in (os.getcwd(), os.environ["HOME"], "/tmp", "/", "/usr/bin", "/etc",
                               "/etc/ssl/certs", "/opt", "/dev", "/proc/sys/kernel", "/sys",
                               arguments()[0])})
""", bench.build, creates=["e2e-probe"])
    view, = done.lines
    writable = {d for d in view if view[d]}
    assert str(bench.ws) in writable and "/tmp" in writable, view
    assert not writable & {"/", "/usr/bin", "/etc", "/etc/ssl/certs", "/opt", "/proc/sys/kernel",
                           "/sys", str(bench.build)}, view


@both_users
def test_doors_of_the_kernel_are_shut(bench, echo):
    """AF_VSOCK and io_uring are not held by a network namespace; the rest widens the attack."""
    done = bench.python("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    ctypes.set_errno(0)
    got = libc.syscall(number, *args)
    return "open" if got >= 0 else os.strerror(ctypes.get_errno())
def family(number):
    try:
        socket.socket(number, socket.SOCK_STREAM).close()
        return "open"
    except OSError as error:
        return error.strerror
buffer = ctypes.create_string_buffer(256)
show(vsock=family(40), packet=attempt(lambda: socket.socket(17, 3, 3).close() or "open"),
     raw=attempt(lambda: socket.socket(2, 3, 1).close() or "open"),
     uring=call(425, 8, buffer), userns=call(272, 0x10000000), mount=call(165, 0, 0, 0, 0, 0),
     setns=call(308, -1, 0x40000000), bpf=call(321, 0, buffer, 64),
     reopen=attempt(lambda: open("/proc/1/environ", "rb").read().decode()))
""")
    doors, = done.lines
    still_open = {name: how for name, how in doors.items() if how == "open"}
    assert not still_open, doors
    assert "REAL_TOKEN" not in doors["reopen"]


@both_users
def test_no_descriptor_is_inherited(bench, echo):
    """Neither one of warder's own (a control socket, a listener) nor one of the user's shell."""
    bench.config()
    bench.own()
    with open("/etc/hostname") as extra:
        done = subprocess.run(bench.argv("ls -l /proc/self/fd"), cwd=bench.ws, capture_output=True,
                              env=bench.environment(), timeout=20, pass_fds=[extra.fileno()])
    lines = [line.split(" -> ") for line in done.stdout.decode().splitlines() if " -> " in line]
    extra = [f"{left.split()[-1]} -> {target}" for left, target in lines
             if left.split()[-1] not in "012" and not target.endswith("/fd")]
    assert len(lines) >= 4 and extra == [], extra


def test_32_bit_system_calls_are_killed(bench, echo):
    """int 0x80 goes around a filter that looks at 64-bit numbers only."""
    done = bench.python("""
import ctypes, mmap
code = b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3"     # mov eax, 20 (getpid); int 0x80; ret
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
print("result", ctypes.CFUNCTYPE(ctypes.c_int)(address)() == os.getpid(), flush=True)
""")
    assert "result True" not in done.text, done


def test_sockets_in_the_workspace_are_masked(bench, echo):
    """A path socket is not cut by a network namespace: an agent's, left in the project."""
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(bench.ws)              # the path is short enough only relatively
    server.bind("agent.sock")
    server.listen()
    os.chdir(here)
    (bench.ws / "agent.sock").chmod(0o777)
    try:
        done = bench.python("""
sock = socket.socket(socket.AF_UNIX)
show(got=attempt(lambda: sock.connect("agent.sock") or "connected"))
""")
    finally:
        server.close()
    assert done.lines[0]["got"] != "connected", done


def test_ro_and_rw_flags(bench, echo):
    for name in ("shared", "writable"):
        (bench.directory / name).mkdir()
        (bench.directory / name / "file").write_text("text")
        (bench.directory / name).chmod(0o777)
    shared, writable = bench.directory / "shared", bench.directory / "writable"
    done = bench.run(f"cat {shared}/file {writable}/file; touch {shared}/x {writable}/x; true",
                     args=["--ro", shared, "--rw", writable])
    assert done.text == "texttext", done
    assert not (shared / "x").exists() and (writable / "x").exists(), done


def test_signals_do_not_leave(bench, echo):
    """Nothing outside has a pid inside."""
    done = bench.run("kill -9 -1 2>/dev/null; echo alive")
    assert done.code in (0, 137), done
    assert os.getpid() > 0


@pytest.mark.parametrize("flag", ["--ro", "--rw"])
def test_a_path_that_does_not_exist_is_an_error(bench, flag):
    bench.config()
    done = bench.run("touch started", args=[flag, "/no/such/path"], verify=False)
    assert done.code == 2 and "/no/such/path" in done.error, done
    assert not (bench.ws / "started").exists()
