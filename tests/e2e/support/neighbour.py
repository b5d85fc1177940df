"""Two networks joined by a link: whatever leaves the client's arrives at the neighbour, who sees and answers it (needs root)."""

import ctypes
import os
import secrets
import signal
import socket
import struct
import subprocess
import threading
import time
from dataclasses import dataclass

import pytest

from .bench import CLEAN
from .nets import Net

_CLONE_NEWNET = 0x40000000
_PACKET_OUTGOING = 4
_TIME_WAIT, _LISTEN = "06", "0A"
HERE, THERE = "10.99.0.1", "10.99.0.2"
HERE6, THERE6 = "fd99::1", "fd99::2"
COLLECTED = (53, 443, 7777)


class Place(Net):
    """A namespace with lo, and nothing else yet."""

    def __init__(self):
        if os.geteuid() != 0:
            pytest.skip("a network namespace of the test's own needs root")
        self._fd = self._thread(self._bare)

    def _bare(self):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNET) != 0:
            pytest.skip(f"no network namespace here: {os.strerror(ctypes.get_errno())}")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    @property
    def path(self):
        return f"/proc/{os.getpid()}/fd/{self._fd}"

    def ip(self, *commands):
        for words in commands:
            subprocess.run([*self.prefix, "ip", *words.split()], check=True, capture_output=True)

    def host(self, bench):
        """Lets `bench` run warder here, as its own user."""
        user = bench.user.prefix if bench.user else []
        bench.as_user = lambda argv: [*self.prefix, *user, *argv]
        return bench

    def start(self, argv, **more):
        """A process of this network in a session of its own, so that `end` gets its children too."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
        return subprocess.Popen([*self.prefix, *map(str, argv)], start_new_session=True, env=CLEAN,
                                **{**options, **more})

    def wait_for_socket_of(self, process, seconds=10.0):
        deadline = time.monotonic() + seconds
        while f"pid={process.pid}," not in subprocess.run([*self.prefix, "ss", "-anptuw"], check=True,
                                                          capture_output=True, text=True).stdout:
            assert time.monotonic() < deadline and process.poll() is None, f"no server: {process.args}"
            time.sleep(0.05)


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@dataclass(frozen=True)
class Packet:
    """`protocol`: of IPv4 and IPv6 alike; `port`: TCP's, UDP's and their like's; what is no IP has -1."""
    source: str
    to: str
    protocol: int
    port: int
    data: bytes

    def __str__(self):
        return f"{self.source} -> {self.to} protocol {self.protocol} port {self.port} {self.data[:90]!r}"


class Capture:
    """Every packet that arrives at an interface, in order."""

    def __init__(self, place, interface):
        self.packets = []
        self._socket = place.run(lambda: self._open(interface))
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._stop = False
        self._thread.start()

    @staticmethod
    def _open(interface):
        made = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        made.bind((interface, 3))
        made.settimeout(0.2)
        return made

    def _listen(self):
        while not self._stop:
            try:
                data, place = self._socket.recvfrom(65536)
            except TimeoutError:
                continue
            if place[2] != _PACKET_OUTGOING and (packet := self._read(place[1], data)):
                self.packets.append(packet)

    @staticmethod
    def _read(kind, data):
        if kind == 0x0800 and len(data) >= 20:
            start, protocol = (data[0] & 15) * 4, data[9]
            source, to = socket.inet_ntoa(data[12:16]), socket.inet_ntoa(data[16:20])
        elif kind == 0x86DD and len(data) >= 40:
            start, protocol = 40, data[6]
            source, to = (socket.inet_ntop(socket.AF_INET6, data[i:i + 16]) for i in (8, 24))
            if to == "ff02::16":                # the kernel's own report of its groups
                return None
        else:
            return Packet("", hex(kind), -1, 0, data)
        has_port = protocol in (6, 17, 33, 132, 136) and len(data) >= start + 4
        return Packet(source, to, protocol, struct.unpack_from(">H", data, start + 2)[0] if has_port else 0, data)

    def close(self):
        self._stop = True
        self._thread.join()
        self._socket.close()


class Collector:
    """Keeps what TCP brings to some ports of the neighbour, at whatever address; answers nothing."""

    def __init__(self, place):
        self.got = b""
        self._listeners = place.run(lambda: [self._listen(port) for port in COLLECTED])
        self._threads = [threading.Thread(target=self._accept, args=(one,), daemon=True) for one in self._listeners]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _listen(port):
        return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._keep, args=(connection,), daemon=True).start()

    def _keep(self, connection):
        with connection:
            connection.settimeout(20)
            try:
                while data := connection.recv(65536):
                    self.got += data
            except OSError:
                pass

    def close(self):
        for listener in self._listeners:
            listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for listener in self._listeners:
            listener.close()


class Neighbourhood:
    """`client` has a default route to `server`, who has `addresses` besides and catches everything."""

    def __init__(self, addresses=()):
        self.client, self.server = Place(), Place()
        self.client.ip("link add c0 type veth peer name s0", f"link set s0 netns {self.server.path}")
        self.server.ip("link set s0 addrgenmode none", "link set s0 up", f"addr add {THERE}/24 dev s0", f"addr add {THERE6}/64 dev s0 nodad",
                       *(f"addr add {a}/24 dev s0" for a in addresses))
        self.client.ip("link set c0 addrgenmode none", "link set c0 up", f"addr add {HERE}/24 dev c0", f"addr add {HERE6}/64 dev c0 nodad",
                       f"route add default via {THERE}", f"-6 route add default via {THERE6}")
        self.capture = Capture(self.server, "s0")
        self.collector = Collector(self.server)
        self._introduce(addresses)

    def _introduce(self, addresses):
        """Each knows the other's link address for good: a question for one (ARP) is then somebody's attempt."""
        link = {}
        for place, name in ((self.client, "c0"), (self.server, "s0")):
            shown = subprocess.run([*place.prefix, "ip", "-br", "link", "show", name], check=True,
                                   capture_output=True, text=True).stdout
            link[name] = shown.split()[2]
        for there in (THERE, THERE6, *addresses):
            self.client.ip(f"neigh replace {there} lladdr {link['s0']} dev c0 nud permanent")
        for here in (HERE, HERE6):
            self.server.ip(f"neigh replace {here} lladdr {link['c0']} dev s0 nud permanent")

    def packets_of(self, action):
        """(what `action` returned, the packets that arrived from its beginning to its end)"""
        self._quiet()
        first = self._sentinel()
        returned = action()
        last = self._sentinel()
        return returned, self.capture.packets[first + 1:last]

    def _quiet(self, seconds=10.0):
        """Until no connection of an earlier action is still being ended."""
        deadline = time.monotonic() + seconds
        while open_now := self.client.run(self._unfinished):
            assert time.monotonic() < deadline, f"connections stay open: {open_now}"
            time.sleep(0.02)

    @staticmethod
    def _unfinished():
        lines = [line for family in ("tcp", "tcp6")
                 for line in open(f"/proc/thread-self/net/{family}").read().splitlines()[1:]]
        return [line for line in lines if line.split()[3] not in (_TIME_WAIT, _LISTEN)]

    def _sentinel(self):
        """The index of a packet sent now: everything sent before it stands before it."""
        mark = secrets.token_bytes(16)

        def send():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.sendto(mark, (THERE, 9))
        start, deadline = len(self.capture.packets), time.monotonic() + 10
        self.client.run(send)
        while time.monotonic() < deadline:
            for index, packet in enumerate(self.capture.packets[start:], start):
                if mark in packet.data:
                    return index
            time.sleep(0.01)
        raise AssertionError("the capture does not see what arrives")

    def wait_for(self, address, port, seconds=10.0):
        """Until something listens there."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.client.run(lambda: socket.create_connection((address, port), 2).close())
            except OSError:
                assert time.monotonic() < deadline, f"nothing listens at {address}:{port}"
                time.sleep(0.05)

    def arrived(self, text: bytes, packets):
        return text in self.collector.got or any(text in packet.data for packet in packets)

    def close(self):
        self.capture.close()
        self.collector.close()
        self.client.close()
        self.server.close()
