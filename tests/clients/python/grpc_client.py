import queue

import grpc

from checks import TOKEN, expect, report

print("version", grpc.__version__)
channel = grpc.secure_channel("grpc.test:443", grpc.ssl_channel_credentials())
METADATA = [("authorization", f"Bearer {TOKEN}")]


def unary():
    say = channel.unary_unary("/warder.Echo/Say")    # messages as they are: no protoc is needed
    answer = say(b"hello", metadata=METADATA, timeout=15)
    expect(answer.decode(), f"you are {TOKEN}: hello")
    return "HTTP/2"


def bidi():
    said = queue.Queue()
    talk = channel.stream_stream("/warder.Echo/Talk")(iter(said.get, None), metadata=METADATA,
                                                      timeout=15)
    for i in range(3):
        said.put(b"message %d" % i)
        expect(next(talk), b"message %d" % i)
    said.put(None)
    expect(list(talk), [])


report(unary=unary, bidi=bidi)
