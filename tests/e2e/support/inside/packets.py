"""Packets of every kind that could leave a sandbox, each with its own tag; says how each attempt ended.

Arguments: a nonce, and the neighbour's addresses of both families."""

from wire import *
import struct
NONCE, THERE, THERE6 = arguments()
TCP, UDP, ICMP, ICMP6, UDPLITE, MPTCP = 6, 17, 1, 58, 136, 262
attempts = {}

def attempting(function):
    attempts[function.__name__] = function

def tag(name):
    return (NONCE + "-" + name).encode()

def say(family, kind, protocol, port, flags=0):
    "A datagram, a raw packet or a stream to the neighbour."
    def send(name, data=None):
        with socket.socket(family, kind, protocol) as sock:
            data, to = data or tag(name), THERE if family == socket.AF_INET else THERE6
            sock.settimeout(None if flags else 1.5)         # what cannot wait is not opened fast
            if kind == socket.SOCK_STREAM and not flags:
                sock.connect((to, port))
                sock.sendall(data + b"\n")
                return sock.recv(100).decode("latin-1")
            sock.sendto(data, flags, (to, port))
    return send

for six, family in (("", socket.AF_INET), ("6", socket.AF_INET6)):
    for port in (53, 123, 443, 5353, 4500, 51820):
        attempts[f"udp{six}-{port}"] = say(family, socket.SOCK_DGRAM, 0, port)
    for port in (53, 443, 7777):
        attempts[f"tcp{six}-{port}"] = say(family, socket.SOCK_STREAM, 0, port)
    attempts[f"fast-open{six}"] = say(family, socket.SOCK_STREAM, 0, 7777, flags=socket.MSG_FASTOPEN)
    attempts[f"mptcp{six}"] = say(family, socket.SOCK_STREAM, MPTCP, 7777)
    attempts[f"udplite{six}"] = say(family, socket.SOCK_DGRAM, UDPLITE, 53)
    attempts[f"sctp{six}"] = say(family, socket.SOCK_STREAM, 132, 7777)
    attempts[f"dccp{six}"] = say(family, 6, 33, 7777)
    for protocol in (ICMP, 4, 41, 47, 50, 89, 132, 33, 253):
        attempts[f"raw{six}-{protocol}"] = say(family, socket.SOCK_RAW, protocol, 0)

def echo(kind, family, protocol, number):
    def send(name):
        say(family, kind, protocol, 0)(name, struct.pack(">BBHHH", number, 0, 0, 1, 1) + tag(name))
    return send

attempts["ping-socket"] = echo(socket.SOCK_DGRAM, socket.AF_INET, ICMP, 8)
attempts["ping-socket6"] = echo(socket.SOCK_DGRAM, socket.AF_INET6, ICMP6, 128)

@attempting
def own_header(name):
    to, sender = socket.inet_aton(THERE), socket.inet_aton("10.99.0.66")
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tag(name)), 1, 0, 64, 17, 0) + sender + to
    say(socket.AF_INET, socket.SOCK_RAW, 255, 0)(name, head + tag(name))

def interfaces():
    return [n for _, n in socket.if_nameindex() if n != "lo"] or ["lo"]

@attempting
def packet(name):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((interfaces()[0], 0))
        sock.send(b"\xff" * 6 + b"\2\0\0\0\0\1" + b"\x08\0" + tag(name).ljust(60))

@attempting
def bound_to_device(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interfaces()[0].encode())
        sock.sendto(tag(name), (THERE, 123))

@attempting
def broadcast(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sock.sendto(tag(name), ("255.255.255.255", 9))

@attempting
def multicast(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(tag(name), ("224.0.0.251", 5353))

@attempting
def multicast6(name):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sock:
        sock.sendto(tag(name), ("ff02::fb", 5353, 0, socket.if_nametoindex(interfaces()[0])))

@attempting
def from_another_address(name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_IP, 19, 1)            # IP_TRANSPARENT
        sock.bind(("10.99.0.77", 0))
        sock.sendto(tag(name), (THERE, 123))

def question(name, kind):
    labels = b"".join(bytes([len(p)]) + p for p in (tag(name), b"tunnel", b"test")) + b"\0"
    return struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + labels + struct.pack(">HH", kind, 1)

def asks(kind, tcp):
    def send(name):
        data = question(name, kind)
        say(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM, 0, 53)(
            name, (struct.pack(">H", len(data)) if tcp else b"") + data)
    return send

for kind, number in (("A", 1), ("TXT", 16), ("NULL", 10), ("CNAME", 5), ("MX", 15), ("SRV", 33), ("KEY", 25),
                     ("PRIVATE", 65399)):
    attempts["dns-udp-" + kind], attempts["dns-tcp-" + kind] = asks(number, False), asks(number, True)

@attempting
def vsock(name):
    with socket.socket(40, socket.SOCK_STREAM) as sock:
        sock.settimeout(1)
        sock.connect((2, 7777))
        sock.sendall(tag(name))

@attempting
def tun(name):
    os.close(os.open("/dev/net/tun", os.O_RDWR))
    return "opened"

@attempting
def another_interface(name):
    "RTM_NEWLINK of a dummy, and of a veth whose other end is in another process's network"
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.bind((0, 0))
        info = struct.pack("HH", 12, 1) + b"dummy\0\0\0"                     # IFLA_INFO_KIND
        body = struct.pack("BxHiII", 0, 0, 0, 0, 0xffffffff) + struct.pack("HH", 4 + len(info), 18) + info
        sock.send(struct.pack("IHHII", 16 + len(body), 16, 0x605, 1, 0) + body)
        error = struct.unpack("i", sock.recv(4096)[16:20])[0]
        if error:
            raise OSError(-error, os.strerror(-error))
    return "made"

import threading
said = {}
def run(name, function):
    got = attempt(lambda: function(name))
    said[name] = got
threads = [threading.Thread(target=run, args=item) for item in attempts.items()]
[t.start() for t in threads]
[t.join() for t in threads]
show(said=said)
