"""Cases from the field (BR-...) about the sandbox itself: what programs need of it, and what must not come out of it."""

import hashlib
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from support import oracles, processes
from support.bench import PYTHON
from support.marks import both_users
from support.origin import Origin
from support.terminal import Terminal

WHO = {"PATH": "/usr/bin:/bin", "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t",
       "GIT_COMMITTER_EMAIL": "t@t", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1",
       "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


def git(where, *words):
    return subprocess.run(["git", *words], cwd=where, env={**WHO, "HOME": str(where)}, check=True,
                          capture_output=True, text=True).stdout


def bare(bench, cmd, cwd=None, **more):
    """`warder run -- CMD` without any configuration, in a directory that the test chooses."""
    argv = bench.as_user([bench.warder, "run", "--", *(["/bin/sh", "-c", cmd] if isinstance(cmd, str) else cmd)])
    return subprocess.Popen(argv, cwd=cwd or bench.ws, env=bench.environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


def bare_run(bench, cmd, cwd=None):
    process = bare(bench, cmd, cwd)
    out, err = process.communicate(timeout=30)
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


# -- BR-112 ----------------------------------------------------------------------------------------
@both_users
def test_br_112_dev_shm_and_the_devices_that_programs_need(bench, echo):
    host = Path("/dev/shm") / f"host-{secrets.token_hex(8)}"
    host.write_text("the host's")
    host.chmod(0o666)
    try:
        done = bench.python("""
import multiprocessing, pty, stat
from multiprocessing import shared_memory
multiprocessing.Lock()
shared = shared_memory.SharedMemory(create=True, size=1 << 20)
listed = os.listdir("/dev/shm")
shared.close(); shared.unlink()
master, slave = pty.openpty()
os.write(master, b"typed\\n")
kinds = {}
for base, dirs, files in os.walk("/dev"):
    for name in files:
        mode = os.lstat(os.path.join(base, name)).st_mode
        if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):
            kinds[os.path.join(base, name)] = "block" if stat.S_ISBLK(mode) else "char"
def opens(path):
    return attempt(lambda: os.close(os.open(path, os.O_RDWR | os.O_NOCTTY)) or "open")
mounted = [line.split() for line in open("/proc/self/mounts")]
show(listed=listed, host=os.path.exists(arguments()[0]), read=os.read(slave, 10).decode(),
     mode=oct(os.stat("/dev/shm").st_mode), type=[m[2] for m in mounted if m[1] == "/dev/shm"], kinds=kinds,
     usual={name: opens("/dev/" + name) for name in ("null", "zero", "full", "random", "urandom", "ptmx")},
     links={name: os.readlink("/dev/" + name) for name in ("fd", "stdin", "stdout", "stderr")},
     pts=os.path.isdir("/dev/pts"), tmp=oct(os.stat("/tmp").st_mode), run=os.path.isdir("/run"),
     memory=[name for name in ("mem", "kmem", "port", "kmsg", "vsock", "kvm", "fuse", "net") if os.path.exists("/dev/" + name)])
""", str(host))
        seen, = done.lines
        assert seen["listed"] and not seen["host"] and seen["mode"] == "0o41777" and seen["type"] == ["tmpfs"], seen
        assert set(seen["usual"].values()) == {"open"} and seen["read"] == "typed\n", seen
        assert seen["links"]["fd"].endswith("/fd") and seen["pts"] and seen["run"] and seen["tmp"] == "0o41777", seen
        assert "block" not in seen["kinds"].values() and seen["memory"] == [], seen
        assert not set(seen["listed"]) & set(os.listdir("/dev/shm")) and host.read_text() == "the host's"
    finally:
        host.unlink()


# -- BR-113 ----------------------------------------------------------------------------------------
INJECT = """
import ctypes, fcntl, os, termios
libc = ctypes.CDLL(None, use_errno=True)
def put(fd, request, data):
    try:
        fcntl.ioctl(fd, request, data)
        return "done"
    except OSError as error:
        return os.strerror(error.errno)
said = []
fds = [0, 1, 2]
for path in ("/dev/tty", "/proc/self/fd/0", "/dev/pts/0"):
    try:
        fds.append(os.open(path, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        pass
for fd in fds:
    for c in b"touch injected\\n":
        said.append(put(fd, termios.TIOCSTI, bytes([c])))
    libc.ioctl(fd, ctypes.c_ulong(termios.TIOCSTI | 1 << 32), b"\\n")     # the kernel looks at 32 bits
    said.append(put(fd, 0x541C, b"\\3"))                # TIOCLINUX, paste
    said.append(put(fd, termios.TIOCCONS, 0))
print("tried", sorted(set(said)), flush=True)
if os.fork():
    os.wait()
    os._exit(0)
os.setsid()                                             # as the leader of a session that takes the terminal
for fd in fds:
    put(fd, termios.TIOCSCTTY, 1)
    said.append(put(fd, termios.TIOCSTI, b"\\n"))
print("then", sorted(set(said)), flush=True)
"""


def injected(bench, argv):
    """Types `argv` into a shell on a terminal, and says what the shell had to read afterwards."""
    bench.write("inject.py", INJECT)
    bench.own()
    shell = Terminal(bench.as_user(["/bin/bash", "--norc", "--noprofile", "-i"]), bench.ws,
                     bench.environment({"PS1": "ready> "}))
    bench.running.append(shell.process)
    try:
        shell.expect("ready> ", 20)
        shell.send(" ".join(f"'{a}'" for a in argv) + "\n")
        tried = shell.expect(r"then (\[[^\r]*)\r", 20)[1].decode()
        shell.send("\n")
        shell.expect("ready> ", 20)
        shell.send("echo mar$((1))ker; exit\n")
        shell.expect("mar1ker\r", 20)
        shell.wait(20)
    finally:
        shell.close()
    left = bench.ws / "injected"
    was_there = left.exists()
    left.unlink(missing_ok=True)
    return was_there, tried


@both_users
def test_br_113_nothing_is_typed_into_the_shell_that_started_warder(bench):
    """The kernel's own switch is on here, or the control would say so: without Warder the command is typed."""
    if Path("/proc/sys/dev/tty/legacy_tiocsti").exists() and \
            Path("/proc/sys/dev/tty/legacy_tiocsti").read_text().strip() == "1":
        assert injected(bench, [PYTHON, "-B", "inject.py"])[0], "the control types nothing: the test is meaningless"
    else:
        print("this kernel refuses TIOCSTI to everybody: the control is left out")
    was_typed, tried = injected(bench, [bench.warder, "run", "--", PYTHON, "-B", "inject.py"])
    assert not was_typed, tried
    assert "done" not in tried and "Operation not permitted" in tried, tried


# -- BR-116 ----------------------------------------------------------------------------------------
DESCENDANTS = """cp /bin/sleep /tmp/sleep; cd /tmp
setsid ./sleep 1000.{0} & (./sleep 1000.{0} &) ; (setsid sh -c "trap '' HUP TERM INT; ./sleep 1000.{0}; :" &)
{1} -c 'import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000.5)
    os._exit(0)' {0} & sleep 0.5; echo up; """


def alive(nonce):
    return [line for line in processes.with_nonce(nonce) if " run " not in line]


@both_users
@pytest.mark.parametrize("how", ["exit", "kill"])
def test_br_116_no_descendant_survives_nor_keeps_the_pipe_open(bench, how):
    """By a normal end and by SIGKILL of the launcher; whoever reads its output sees the end of it."""
    nonce = str(secrets.randbelow(10 ** 12))
    bench.own()
    process = bare(bench, DESCENDANTS.format(nonce, PYTHON) + ("exit 0" if how == "exit" else "sleep 1000"))
    bench.running.append(process)
    assert process.stdout.readline() == b"up\n"
    if how == "kill":
        assert len(alive(nonce)) >= 3, "the descendants are not there: the test is meaningless"
        process.kill()
    ended = time.monotonic()
    assert process.stdout.read() == b""                 # the end of the pipe
    code = process.wait(10)
    assert code == (0 if how == "exit" else -signal.SIGKILL)
    oracles.assert_processes_gone(lambda: alive(nonce), 5)
    assert time.monotonic() - ended < 8
    processes.reap_orphans({process.pid})


# -- BR-118 ----------------------------------------------------------------------------------------
def listing(directory):
    found = subprocess.run(["find", ".", "-printf", "%p %y %s %m %u %l\n"], cwd=directory, check=True, capture_output=True)
    return hashlib.sha256(b"\n".join(sorted(found.stdout.splitlines()))).hexdigest(), found.stdout


@both_users
def test_br_118_nothing_is_left_in_the_project_directory(bench):
    """Before, during and after: of a command that succeeds, one that fails, and a launcher that is killed."""
    git(bench.ws, "init", "-q")
    git(bench.ws, "add", ".")
    git(bench.ws, "commit", "-qm", "all")
    bench.own()
    before = listing(bench.ws)
    status = "git -c safe.directory='*' status --porcelain && echo clean"
    for command, code in (("true", 0), ("exit 3", 3), (status, 0), ("/no/such/program", 127)):
        done = bare_run(bench, command)
        assert done[0] == code and (command != status or done[1] == "clean\n"), done
        assert listing(bench.ws) == before, (command, listing(bench.ws)[1])
    for number in (signal.SIGTERM, signal.SIGKILL):
        running = bare(bench, "echo up; find . | sort; sleep 1000")
        bench.running.append(running)
        running.stdout.readline()
        assert listing(bench.ws) == before
        running.send_signal(number)
        running.wait(20)
        assert listing(bench.ws) == before
    inside = bare_run(bench, "find . | LC_ALL=C sort")[1].split()
    assert inside == sorted("." if p == "." else p for p in
                            subprocess.run(["find", "."], cwd=bench.ws, capture_output=True, text=True).stdout.split())
    assert git(bench.ws, "status", "--porcelain") == ""


# -- BR-119 ----------------------------------------------------------------------------------------
@both_users
def test_br_119_links_in_the_project_hinder_nothing_and_lead_nowhere(bench):
    outside = bench.directory / "outside"
    outside.mkdir()
    (outside / "file").write_text("as it was")
    git(bench.ws, "init", "-q")
    hooks = bench.ws / ".git" / "hooks"
    shutil.rmtree(hooks)
    (bench.ws / "tracked-hooks").mkdir()
    hooks.symlink_to("../tracked-hooks")
    for name, target in {"passwd": "/etc/passwd", "state": bench.state, "out": outside, "out-file": outside / "file",
                         "nowhere": "/nix/store/missing", "around": "around", ".bashrc": "/nix/bashrc",
                         "own": "tracked-hooks"}.items():
        (bench.ws / name).symlink_to(target)
    (bench.home / ".bashrc").symlink_to("/nix/store/missing-bashrc")
    (bench.home / ".gitconfig").symlink_to("/nix/store/missing-gitconfig")
    bench.own()
    written = "written" + secrets.token_hex(4)
    code, out, err = bare_run(bench, f"""
for to in passwd out-file state/{written} out/{written} nowhere .bashrc; do (: >>"$to") 2>/dev/null && echo "opened $to"; done
(echo {written} >>out-file) 2>/dev/null
(echo own >own/x) 2>/dev/null || echo kept; (echo hook >.git/hooks/x) 2>/dev/null || echo kept
git -c safe.directory='*' status --porcelain >/dev/null && echo git; ls state out 2>/dev/null; echo over""")
    assert code == 0 and out.splitlines()[-1] == "over" and out.count("kept\n") == 2 and "git\n" in out, (code, out, err)
    assert (outside / "file").read_text() == "as it was" and sorted(os.listdir(outside)) == ["file"], out
    assert "opened" not in out and not Path("/nix").exists(), out
    assert not (bench.state / written).exists(), out
    assert "audit" not in out, "the state directory is seen through a link"


@both_users
@pytest.mark.parametrize("name", ["plain", "with space", "new\nline", b"not-utf8-\xff\xfe", "'\"$(x)`;*", "käse", "-rf"])
def test_br_119_the_working_directory_may_have_any_name_and_be_a_link(bench, name):
    made = os.path.join(os.fsencode(bench.ws), os.fsencode(name))
    os.mkdir(made)
    link = os.path.join(os.fsencode(bench.ws), b"a link")
    os.symlink(made, link)
    bench.own()
    for cwd, file in ((made, b"direct"), (link, b"by link")):
        code, out, err = bare_run(bench, ["/bin/sh", "-c", 'echo here >"$0" && ls && pwd -P >/dev/null && echo ok', file], cwd)
        assert code == 0 and out.endswith("ok\n"), (code, out, err)
        assert Path(os.fsdecode(os.path.join(made, file))).read_text() == "here\n"


@both_users
def test_br_119_a_working_directory_that_is_gone_is_said(bench):
    gone = bench.ws / "gone"
    gone.mkdir()
    bench.own()
    argv = ["/bin/sh", "-c", 'cd "$0" && rmdir "$0" && shift 0 && exec "$@"', str(gone), *bench.as_user(
        [bench.warder, "run", "--", "/bin/sh", "-c", "echo started"])]
    done = subprocess.run(argv, env=bench.environment(), capture_output=True, text=True, timeout=20, cwd=bench.ws)
    assert done.returncode in (2, 125) and "started" not in done.stdout, done
    assert "director" in done.stderr and len(done.stderr) < 500, done


# -- BR-122 ----------------------------------------------------------------------------------------
SOCKETS = r"""
import array, ctypes, mmap, struct, threading
libc = ctypes.CDLL(None, use_errno=True)
NONCE, *PATHS = arguments()

def address(name):
    return ("\0" + name[1:]) if name.startswith("@") else name

def by_socket(name):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(2)
        sock.connect(address(name))
        return "connected"

def by_ring(name):
    "IORING_OP_CONNECT"
    params = ctypes.create_string_buffer(120)
    ring = libc.syscall(425, 4, params)
    if ring < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "a ring"

def pair():
    left, right = socket.socketpair()
    reading, writing = os.pipe()
    socket.send_fds(left, [b"x"], [writing])
    _, fds, _, _ = socket.recv_fds(right, 1, 1)
    os.write(fds[0], b"by the passed descriptor")
    return os.read(reading, 100).decode()

def own(name):
    server = socket.socket(socket.AF_UNIX)
    server.bind(address(name))
    server.listen()
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address(name))
        server.accept()[0].sendall(b"own")
        return client.recv(10).decode()

show(direct={p: attempt(lambda: by_socket(p)) for p in PATHS}, ring=attempt(lambda: by_ring(PATHS[0])),
     pair=pair(), path=own("/tmp/own.sock"), abstract=own("@own-" + NONCE), work=own("own.sock"),
     inherited=[n for n in os.environ if "SOCK" in n or "DBUS" in n or "AGENT" in n or n in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DOCKER_HOST")])
"""


@both_users
def test_br_122_unix_sockets_of_the_host_are_out_of_reach_by_any_call(bench, echo):
    """And what a program does with sockets of its own works: pairs, paths, abstract names, descriptors passed."""
    nonce, uid = secrets.token_hex(8), bench.user.uid if bench.user else os.geteuid()
    runtime = Path(f"/run/user/{uid}")
    made_runtime = not runtime.exists() and os.geteuid() == 0
    if made_runtime:
        runtime.mkdir(parents=True, mode=0o700)
        os.chown(runtime, uid, -1)
    paths = [f"/tmp/{nonce}.sock", f"/var/tmp/{nonce}.sock", f"@{nonce}"]
    paths += [str(runtime / f"{nonce}.sock")] if os.access(runtime, os.W_OK) else []
    listeners = []
    try:
        for path in paths:
            one = socket.socket(socket.AF_UNIX)
            one.bind("\0" + path[1:] if path.startswith("@") else path)
            one.listen()
            one.setblocking(False)
            listeners.append(one)
            if not path.startswith("@"):
                os.chmod(path, 0o777)
        env = {"SSH_AUTH_SOCK": paths[0], "DBUS_SESSION_BUS_ADDRESS": f"unix:path={paths[0]}", "SSH_AGENT_PID": "1",
               "XDG_RUNTIME_DIR": str(runtime) if runtime.exists() else None, "DOCKER_HOST": f"unix://{paths[0]}", "DISPLAY": ":0",
               "GPG_AGENT_INFO": f"{paths[0]}:1:1"}
        done = bench.python(SOCKETS, nonce, *paths, env=env, creates=["own.sock"])
        assert done.code == 0, done
        seen, = done.lines
        assert "connected" not in seen["direct"].values(), seen
        assert seen["ring"] in ("OSError", "PermissionError"), seen
        assert seen["pair"] == "by the passed descriptor", seen
        assert (seen["path"], seen["abstract"], seen["work"]) == ("own",) * 3 and seen["inherited"] == [], seen
        for one in listeners:
            with pytest.raises(BlockingIOError):
                one.accept()
    finally:
        for one, path in zip(listeners, paths):
            one.close()
            if not path.startswith("@"):
                os.unlink(path)
        if made_runtime:
            shutil.rmtree(runtime)


# -- BR-123 ----------------------------------------------------------------------------------------
LOOPBACK = """
import threading
def served(family, bind, port, to, kind=socket.SOCK_STREAM):
    server = socket.socket(family, kind)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((bind, port))
    port = server.getsockname()[1]
    with socket.socket(family, kind) as client:
        client.settimeout(5)
        if kind == socket.SOCK_DGRAM:
            client.sendto(b"to itself", (to, port))
            server.settimeout(5)
            return server.recv(100).decode()
        server.listen()
        client.connect((to, port))
        got, peer = server.accept()
        got.sendall(b"to itself")
        return client.recv(100).decode()
V4, V6, UDP = socket.AF_INET, socket.AF_INET6, socket.SOCK_DGRAM
for name, args in {"127.0.0.1": (V4, "127.0.0.1", 0, "127.0.0.1"), "127.0.0.2": (V4, "127.0.0.2", 0, "127.0.0.2"),
                   "::1": (V6, "::1", 0, "::1"), "80": (V4, "127.0.0.1", 80, "127.0.0.1"), "443": (V4, "127.0.0.1", 443, "127.0.0.1"),
                   "80 by ::1": (V6, "::1", 80, "::1"), "443 by ::1": (V6, "::1", 443, "::1"),
                   "any": (V4, "0.0.0.0", 3000, "127.0.0.1"), "any 6": (V6, "::", 3001, "::1"), "both": (V6, "::", 3002, "::ffff:127.0.0.1"),
                   "localhost": (V4, "localhost", 3003, "localhost"), "udp": (V4, "127.0.0.1", 0, "127.0.0.1", UDP),
                   "udp 443": (V4, "127.0.0.1", 443, "127.0.0.1", UDP), "udp ::1": (V6, "::1", 0, "::1", UDP)}.items():
    show(name=name, got=attempt(lambda: served(*args)))
show(name="addresses", got=sorted({a[4][0] for f in (V4, V6) for a in socket.getaddrinfo("localhost", 80, f)}))
show(name="by name", got=sorted({a[4][0] for a in socket.getaddrinfo(socket.gethostname(), 80)})[:1])
"""


@both_users
def test_br_123_the_loopback_is_up_and_the_sandboxs_own(bench, echo):
    done = bench.python(LOOPBACK)
    seen = {line["name"]: line["got"] for line in done.lines}
    assert set(seen.pop("addresses")) >= {"127.0.0.1"}, seen
    assert len(seen.pop("by name")) == 1
    assert set(seen.values()) == {"to itself"}, {n: g for n, g in seen.items() if g != "to itself"}
    shown = bench.run("ip -br addr show lo").text
    assert "127.0.0.1/8" in shown and "::1/128" in shown and "UP" in bench.run("ip link show lo").text, shown
    assert [r for r in done.records if r["type"] == "intent"] == []


@both_users
def test_br_123_the_hosts_loopback_is_not_the_sandboxs(bench, echo):
    """A server of the host on 127.0.0.1, and one on every address: neither is met inside."""
    origin = Origin(lambda conn: conn.send(b"the host's"))
    bench.origins.append(origin)
    done = bench.python("""
for to in ("127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1", "localhost"):
    def reach():
        with socket.create_connection((to, int(arguments()[0])), 3) as sock:
            sock.sendall(b"hello there\\n")
            return sock.recv(100).decode("latin-1")
    show(to=to, got=attempt(reach))
""", origin.port)
    assert not any("host" in str(line["got"]) for line in done.lines) and origin.accepted == 0, done


# -- BR-125 ----------------------------------------------------------------------------------------
SEARCH = r"""
import re, stat
key = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY|openssh-key-v1")
looked, found = 0, []
for base, dirs, files in os.walk("/"):
    # What Debian itself ships (examples, tests of libraries) is no key of anybody's. testssl.sh has some, too.
    if base == "/etc/testssl":
        continue
    dirs[:] = [d for d in dirs if os.path.join(base, d) not in ("/usr", "/sys", "/proc", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/dev")
               and not os.path.islink(os.path.join(base, d))]
    for name in files:
        path = os.path.join(base, name)
        try:
            info = os.stat(path)
            if stat.S_ISREG(info.st_mode) and info.st_size < 64 << 20:
                data = open(path, "rb").read()
                looked += 1
                if key.search(data) and name != "client.py":
                    found.append(path)
        except OSError:
            pass
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ("environ", "cmdline"):
        data = attempt(lambda: open(f"/proc/{pid}/{name}", "rb").read())
        if isinstance(data, bytes) and key.search(data):
            found.append(f"/proc/{pid}/{name}")
show(looked=looked, found=found, parents=attempt(lambda: open("/proc/1/mem", "rb").read(1).hex()))
"""


@both_users
def test_br_125_no_private_key_can_be_found_inside(bench, echo):
    control = bench.write("mine.txt", "-----BEGIN PRIVATE KEY-----\nnot one\n")
    done = bench.python(SEARCH)
    seen, = done.lines
    assert seen["found"] == [str(control)] and seen["looked"] > 50, seen    # the search finds what is there
    assert seen["parents"] in ("PermissionError", "FileNotFoundError"), seen


def fingerprint(text):
    pem = re.search(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", text, re.S)[0]
    shown = subprocess.run(["openssl", "x509", "-noout", "-fingerprint", "-sha256"], input=pem, text=True, check=True,
                           capture_output=True)
    return shown.stdout.strip()


def keys_on_disk(bench):
    """Every file below the caller's directories that holds a private key, with its mode."""
    return {str(path): oct(path.stat().st_mode & 0o777) for top in (bench.home, bench.state, bench.ws)
            for path in top.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()}


@both_users
def test_br_125_two_sandboxes_have_two_authorities_and_leave_no_key(bench, echo):
    bench.config(gateway={"upstream": bench.gateway()["upstream"]})
    cmd = "cat /etc/ssl/certs/warder-ca.pem; curl -sS https://api.test/ok; echo; echo up; read line; true"
    running = [bench.start(cmd, stdin=subprocess.PIPE) for _ in range(2)]
    prints = []
    for process in running:
        text = ""
        while not text.endswith("up\n"):
            line = process.stdout.readline().decode()
            assert line, process.stderr.read()
            text += line
        assert "\nok\n" in text, text
        prints.append(fingerprint(text))
    assert prints[0] != prints[1]
    assert keys_on_disk(bench) == {}, "a key lies on the disk while it is used"
    running[0].kill()
    running[1].stdin.write(b"\n")
    running[1].stdin.close()
    for process in running:
        process.wait(20)
    oracles.assert_processes_gone(lambda: [line for line in processes.with_nonce(bench.nonce)], 5)
    assert keys_on_disk(bench) == {}, "a key is left behind"
    open_to_others = [str(p) for p in bench.state.rglob("*") if p.stat().st_mode & 0o077 and not p.is_symlink()
                      and p.is_file()]
    assert open_to_others == [], open_to_others
    processes.reap_orphans({p.pid for p in running})


def test_br_125_the_audit_key_that_others_may_read_is_refused_or_closed(bench, echo):
    """The one key that is kept: it signs the record."""
    bench.config(gateway={"upstream": bench.gateway()["upstream"]})
    assert bench.run("true", verify=False).code == 0
    kept = [p for p in bench.state.rglob("*.key")]
    assert kept and all(p.stat().st_mode & 0o077 == 0 for p in kept), kept
    for path in kept:
        path.chmod(0o644)
    done = bench.run("echo started", verify=False)
    closed = all(p.stat().st_mode & 0o077 == 0 for p in kept)
    assert closed or (done.code != 0 and "started" not in done.text), done
