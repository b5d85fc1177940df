"""Many connections, idle ones and broken ones: nothing is lost, slow, or left open."""

import pytest

from support.talk import Talk

SPARE = 5                # descriptors that may come and go between two looks

MANY = """
import threading
AUTHORISED = f"GET /whoami HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n"
WANTED = f"you are {TOKEN}\\n".encode()

def ask(wire, times, failed):
    start = time.monotonic()
    try:
        answer = wire().send(AUTHORISED).reply()
        if answer.status != 200 or answer.body != WANTED:
            failed.append(f"{answer.status} {answer.body[:200]!r}")
    except (OSError, Broken, ValueError) as error:
        failed.append(f"{type(error).__name__}: {error}")
    times.append(time.monotonic() - start)

def report(times, failed):
    times.sort()
    pause(count=len(times), failed=len(failed), examples=failed[:5], worst=times[-1],
          p99=times[int(len(times) * 0.99)], median=times[len(times) // 2])

def once():
    opened.append(Wire())
    return opened[-1]
"""

SEQUENTIAL = MANY + """
times, failed, opened = [], [], []
ask(once, times, failed)
opened.pop().close()
pause(warm=True)
for _ in range(int(arguments()[0])):
    ask(once, times, failed)
    while opened:
        opened.pop().close()
report(times, failed)
"""

PARALLEL = MANY + """
times, failed, opened = [], [], []
ask(once, times, failed)
opened.pop().close()
pause(warm=True)
threads, requests = map(int, arguments())
ready = threading.Barrier(threads)

def worker():
    try:
        wire = Wire(timeout=60)
    except OSError as error:
        failed.append(f"connecting: {error}")
        ready.wait()
        return
    ready.wait()
    for _ in range(requests):
        ask(lambda: wire, times, failed)
    wire.close()

started = [threading.Thread(target=worker) for _ in range(threads)]
for each in started:
    each.start()
for each in started:
    each.join()
report(times, failed)
"""


def told(result, count):
    print(result)                      # pytest shows it when the test fails, and with -s
    assert result["failed"] == 0, result
    assert result["count"] >= count and result["p99"] < 1.0, result


@pytest.mark.parametrize("script,args,count", [
    (SEQUENTIAL, [20000], 20000), (PARALLEL, [200, 100], 20000),
], ids=["20,000 one after another", "200 at once, 100 each"])
def test_every_request_is_answered_in_time(bench, echo, script, args, count):
    talk = Talk(bench, script, *args)
    talk.hear()
    baseline = talk.descriptors()
    talk.go()
    told(talk.hear(1200), count)
    assert talk.descriptors_settled(baseline + SPARE) <= baseline + SPARE
    done = talk.end()
    receipts = sum(record.get("status") == 200 for record in done.records)
    assert receipts == count + 1, f"{receipts} receipts"


IDLE = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
fetch("/ok")
pause(warm=True)
idle = []
for n in range(int(arguments()[0])):
    if n % 4 == 0:                     # not a byte
        idle.append(socket.create_connection(("api.test", 443), 10))
        continue
    wire = Wire(timeout=20)            # a handshake, and then nothing
    if n % 4 == 2:                     # a head that never ends
        wire.send("GET /ok HTTP/1.1\\r\\nHost: api.test\\r\\nX-Slow: ")
    if n % 4 == 3:                     # a body that never ends
        wire.send("POST /echo HTTP/1.1\\r\\nHost: api.test\\r\\n"
                  f"{AUTH}Content-Length: 999\\r\\n\\r\\nx")
    idle.append(wire)
pause(idle=len(idle))
for second in range(10):
    start = time.monotonic()
    for slow in idle[2::4]:
        attempt(lambda: slow.send("x"))
    began = time.monotonic()
    status = attempt(lambda: fetch("/whoami", headers=AUTH).status)
    show(status=status, seconds=time.monotonic() - began)
    time.sleep(max(0, 1 - (time.monotonic() - start)))
for each in idle:
    each.close()
pause(closed=True)
"""


def test_two_thousand_idle_connections_do_not_slow_another(bench, echo):
    echo.patience = 120
    talk = Talk(bench, IDLE, 2000)
    talk.hear()
    baseline = talk.descriptors()
    talk.go()
    assert talk.hear(300) == {"idle": 2000}
    assert talk.descriptors() > baseline + 1500, "the idle ones were not held at all"
    talk.go()
    for _ in range(10):
        answer = talk.hear()
        assert answer["status"] == 200 and answer["seconds"] < 1, answer
    talk.hear()
    assert talk.descriptors_settled(baseline + SPARE) <= baseline + SPARE
    talk.end()


RESETS = """
import struct
fetch("/ok")
pause(warm=True)

def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()

def at(n):
    if n % 5 == 0:                     # before a byte
        return reset(socket.create_connection(("api.test", 443), 10))
    if n % 5 == 1:                     # within the handshake
        sock = socket.create_connection(("api.test", 443), 10)
        sock.sendall(b"\\x16\\x03\\x01\\x02\\x00\\x01\\x00")
        return reset(sock)
    wire = Wire()
    if n % 5 == 2:                     # within a head
        wire.send("GET /ok HTTP/1.1\\r\\nHost: ap")
    elif n % 5 == 3:                   # within an upload
        wire.send("POST /echo HTTP/1.1\\r\\nHost: api.test\\r\\n"
                  f"{AUTH}Content-Length: 99999\\r\\n\\r\\nx")
    else:                              # within a download
        wire.send(f"GET /sized/3000000 HTTP/1.1\\r\\nHost: api.test\\r\\n{AUTH}\\r\\n")
        wire.fill()
    reset(wire.sock)

for n in range(int(arguments()[0])):
    at(n)
answer = fetch("/whoami", headers=AUTH)
pause(status=answer.status, body=answer.body == f"you are {TOKEN}\\n".encode())
"""


def test_a_thousand_resets_leave_nothing_open(bench, echo):
    talk = Talk(bench, RESETS, 1000)
    talk.hear()
    baseline = talk.descriptors()
    talk.go()
    assert talk.hear(300) == {"status": 200, "body": True}
    assert talk.descriptors_settled(baseline + SPARE) <= baseline + SPARE
    talk.end()
