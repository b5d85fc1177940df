"""A network of one's own for the gateway and its origins, so that addresses other than loopback exist (needs root)."""

import ctypes
import os
import socket
import struct
import subprocess
import threading

import pytest

_CLONE_NEWNET = 0x40000000


class Net:
    """A namespace with lo, and a link that swallows what is sent to 10.77.0.0/24 and fd77::/64."""

    def __init__(self, addresses=()):
        if os.geteuid() != 0:
            pytest.skip("a network namespace of the test's own needs root")
        self._fd = self._thread(lambda: self._make(addresses))

    def _make(self, addresses):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWNET) != 0:
            pytest.skip(f"no network namespace here: {os.strerror(ctypes.get_errno())}")
        # Without ARP every packet is addressed to the sender itself, and the other end drops it.
        for words in ("link set lo up", "link add warder0 type veth peer name warder1",
                      "link set warder0 arp off up", "link set warder1 up",
                      "addr add 10.77.0.1/24 dev warder0", "addr add fd77::1/64 dev warder0 nodad",
                      *(f"addr add {a} dev warder0{' nodad' if ':' in a else ''}"
                        for a in addresses)):
            subprocess.run(["ip", *words.split()], check=True, capture_output=True)
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def run(self, function):
        """Calls it with this network as its own; sockets that it makes stay there."""
        def inside():
            libc = ctypes.CDLL(None, use_errno=True)
            assert libc.setns(self._fd, _CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
            return function()
        return self._thread(inside)

    @staticmethod
    def _thread(function):
        """In a thread of its own: a namespace belongs to a thread."""
        outcome = {}

        def body():
            try:
                outcome["value"] = function()
            except BaseException as error:      # pytest.skip included
                outcome["error"] = error
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        if "error" in outcome:
            raise outcome["error"]
        return outcome["value"]

    @property
    def prefix(self):
        return ["nsenter", f"--net=/proc/{os.getpid()}/fd/{self._fd}"]

    def host(self, bench):
        """Lets `bench` run warder here."""
        bench.as_user = lambda argv: [*self.prefix, *argv]
        return bench

    def close(self):
        os.close(self._fd)


class Packets:
    """Every IPv4 packet that leaves or stays in a network: (destination, protocol, port)."""

    def __init__(self, net):
        self.seen = []
        self._socket = net.run(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM,
                                                     socket.htons(3)))
        self._socket.settimeout(0.2)
        self._stop = False
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        while not self._stop:
            try:
                data, place = self._socket.recvfrom(65536)
            except TimeoutError:
                continue
            if place[1] == 0x0800 and len(data) >= 24:
                start = (data[0] & 15) * 4
                self.seen.append((socket.inet_ntoa(data[16:20]), data[9],
                                  struct.unpack(">H", data[start + 2:start + 4])[0]))

    def close(self):
        self._stop = True
        self._thread.join()
        self._socket.close()

    def resolvers_asked(self):
        return {(to, port) for to, protocol, port in self.seen
                if port in (53, 853) and protocol in (6, 17)}


class Listeners:
    """Clear-text HTTP on port 80 of some addresses: says which one was reached, and counts."""

    def __init__(self, net, addresses):
        self.reached = []
        self._sockets = net.run(lambda: [self._listen(a) for a in addresses])
        self._threads = [threading.Thread(target=self._accept, args=pair, daemon=True)
                         for pair in zip(self._sockets, addresses)]
        for thread in self._threads:
            thread.start()

    @staticmethod
    def _listen(address):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return socket.create_server((address, 80), family=family, backlog=256)

    def _accept(self, listener, address):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.reached.append(address)
            with connection:
                connection.settimeout(5)
                try:
                    while b"\r\n\r\n" not in (data := connection.recv(65536)) and data:
                        pass
                    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: "
                                       b"%d\r\n\r\n%s" % (len(address), address.encode()))
                except OSError:
                    pass

    def close(self):
        for listener in self._sockets:
            listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for listener in self._sockets:
            listener.close()


class NameServer:
    """`script(name, type)` gives the records [(owner, type, ttl, text)], a response code, or None."""

    A, CNAME, AAAA = 1, 5, 28

    def __init__(self, net, script, address="127.0.0.1"):
        self.script, self.questions = script, []
        self._socket = net.run(lambda: self._bind(address))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @staticmethod
    def _bind(address):
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((address, 53))
        return made

    def _serve(self):
        while True:
            packet, peer = self._socket.recvfrom(4096)
            if not packet:
                return
            name, at = [], 12
            while packet[at]:
                name.append(packet[at + 1:at + 1 + packet[at]].decode())
                at += packet[at] + 1
            kind = struct.unpack(">H", packet[at + 1:at + 3])[0]
            self.questions.append((".".join(name), kind))
            found = self.script(".".join(name), kind)
            if found is None:
                continue
            records, code = ([], found) if isinstance(found, int) else (found, 0)
            self._socket.sendto(
                packet[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0)
                + packet[12:at + 5] + b"".join(map(self._record, records)), peer)

    @staticmethod
    def _labels(name):
        return b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0"

    def _record(self, record):
        owner, kind, ttl, text = record
        data = {self.A: lambda: socket.inet_aton(text),
                self.AAAA: lambda: socket.inet_pton(socket.AF_INET6, text),
                self.CNAME: lambda: self._labels(text)}[kind]()
        return self._labels(owner) + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data

    def close(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)     # "not connected", and wakes the reader
        except OSError:
            pass
        self._thread.join()
        self._socket.close()
