"""Runs a program for which the kernel refuses one thing that no plain filter can tell from others.

usage: refused.py WHAT UID GID PROGRAM [ARGS…]

  uid_map   write(2) to a uid_map: EPERM. A filter sees no paths, so a supervisor looks (seccomp_unotify(2)).
  newaddr   an RTM_NEWADDR to netlink: EPERM, as AppArmor's profile of Ubuntu 24.04 has it. A supervisor looks.
  nftables  netlink sockets of netfilter: EPROTONOSUPPORT, as where nf_tables is not built. A plain filter.
  listener  nothing; but system calls are supervised already, which they can be only once.
"""

import ctypes
import errno
import fcntl
import mmap
import os
import select
import struct
import sys
import time

_NR_WRITE, _NR_SOCKET, _NR_SENDTO, _NR_SENDMSG = 1, 41, 44, 46      # x86-64
_NR_SECCOMP, _NR_PIDFD_GETFD = 317, 438
_PR_SET_NO_NEW_PRIVS, _SET_MODE_FILTER, _NEW_LISTENER = 38, 1, 8
_ALLOW, _ERRNO, _NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
_RECEIVE, _SEND, _CONTINUE = 0xC0502100, 0xC0182101, 1
_AF_NETLINK, _NETLINK_NETFILTER, _RTM_NEWADDR = 16, 12, 20

_libc = ctypes.CDLL(None, use_errno=True)


def _statement(code, k, jt=0, jf=0):
    return struct.pack("HBBI", code, jt, jf, k)


_LOAD, _EQUAL, _GIVE = 0x20, 0x15, 0x06


def _notify(first, second):
    return [_statement(_LOAD, 0), _statement(_EQUAL, first, 1, 0),
            _statement(_EQUAL, second, 0, 1), _statement(_GIVE, _NOTIFY),
            _statement(_GIVE, _ALLOW)]


_NO_NETFILTER = [_statement(_LOAD, 0), _statement(_EQUAL, _NR_SOCKET, 0, 4),
                 _statement(_LOAD, 16), _statement(_EQUAL, _AF_NETLINK, 0, 2),
                 _statement(_LOAD, 32), _statement(_EQUAL, _NETLINK_NETFILTER, 1, 0),
                 _statement(_GIVE, _ALLOW), _statement(_GIVE, _ERRNO | errno.EPROTONOSUPPORT)]


def _install(program, flags):
    code = b"".join(program)
    buffer = ctypes.create_string_buffer(code)
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program),
                                                     ctypes.addressof(buffer)))
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    got = _libc.syscall(_NR_SECCOMP, _SET_MODE_FILTER, flags, header)
    if got < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return got


def _memory(pid, address, size):
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)


def _is_uid_map(pid, _, arguments):
    return os.readlink(f"/proc/{pid}/fd/{arguments[0]}").endswith("/uid_map")


def _is_new_address(pid, number, arguments):
    at = arguments[1]
    if number == _NR_SENDMSG:
        _, _, vectors = struct.unpack("QIxxxxQ", _memory(pid, at, 24))
        at, = struct.unpack("Q", _memory(pid, vectors, 8))
    length, kind = struct.unpack("IH", _memory(pid, at, 6))
    return kind == _RTM_NEWADDR and length < 256


def _nothing(*_):
    return False


def _supervise(listener, child, refuses):
    """Answers until the child is gone; what it starts stays under the filter, and dies with it."""
    gone = os.pidfd_open(child)
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    poll.register(gone, select.POLLIN)
    while True:
        ready = dict(poll.poll())
        if listener in ready and ready[listener] & select.POLLIN:
            request = bytearray(80)
            try:
                fcntl.ioctl(listener, _RECEIVE, request)
                what, pid, _, number, _, _, *arguments = struct.unpack("QIIiIQ6Q", request)
                try:
                    refused = refuses(pid, number, arguments)
                except (OSError, struct.error):     # closed to us, as warder itself is
                    refused = False
                answer = (0, -errno.EPERM, 0) if refused else (0, 0, _CONTINUE)
                fcntl.ioctl(listener, _SEND, bytearray(struct.pack("QqiI", what, *answer)))
            except OSError:                         # the caller has died meanwhile
                pass
        elif gone in ready:
            break
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _become(uid, gid):
    if os.geteuid() == 0 and uid:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)


def main():
    what, uid, gid, *argv = sys.argv[1:]
    if what == "nftables":
        _become(int(uid), int(gid))
        _install(_NO_NETFILTER, 0)
        os.execvp(argv[0], argv)
    program, refuses = {"uid_map": (_notify(_NR_WRITE, _NR_WRITE), _is_uid_map),
                        "newaddr": (_notify(_NR_SENDTO, _NR_SENDMSG), _is_new_address),
                         "listener": (_notify(_NR_SENDMSG, _NR_SENDMSG), _nothing)}[what]
    number = mmap.mmap(-1, 8)           # told without a system call: those may be under the filter
    child = os.fork()
    if child == 0:
        _become(int(uid), int(gid))
        number[:4] = struct.pack("I", _install(program, _NEW_LISTENER))
        while not number[4]:            # exec closes it
            time.sleep(0.001)
        os.execvp(argv[0], argv)
    while number[:4] == bytes(4):
        time.sleep(0.001)
    taken, = struct.unpack("I", number[:4])
    listener = _libc.syscall(_NR_PIDFD_GETFD, os.pidfd_open(child), taken, 0)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    number[4] = 1
    code = _supervise(listener, child, refuses)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
