"""A gRPC and a WebSocket origin by the libraries that people use: says on which ports, then prints
each credential that reached it.

usage: servers.py CERTIFICATE KEY
"""

import asyncio
import ssl
import sys

import grpc
import websockets

CERTIFICATE, KEY = sys.argv[1:3]


def bearer(kind, value):
    print(kind, value, flush=True)
    return value.rpartition(" ")[2]


# -- gRPC: messages as they are, no protoc -------------------------------------------------------------
async def say(request, context):
    name = bearer("grpc", dict(context.invocation_metadata())["authorization"])
    return f"you are {name}: ".encode() + request


async def talk(requests, context):
    async for request in requests:
        yield request


async def serve_grpc():
    server = grpc.aio.server()
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("warder.Echo", {
        "Say": grpc.unary_unary_rpc_method_handler(say),
        "Talk": grpc.stream_stream_rpc_method_handler(talk)})])
    pair = (open(KEY, "rb").read(), open(CERTIFICATE, "rb").read())
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    await server.start()
    return port, server


# -- WebSocket -----------------------------------------------------------------------------------------
async def echo(socket):
    headers = socket.request.headers
    offered = headers.get("Sec-WebSocket-Protocol", "")
    name = bearer("ws", headers.get("Authorization") or offered.replace("bearer.", "Bearer "))
    await socket.send(f"you are {name}")
    async for message in socket:
        await socket.send(message)


async def main():
    port, server = await serve_grpc()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    async with websockets.serve(echo, "127.0.0.1", 0, ssl=context,
                                select_subprotocol=lambda _, offered: (offered or [None])[0]) as ws:
        print(port, ws.sockets[0].getsockname()[1], flush=True)
        await server.wait_for_termination()


asyncio.run(main())
