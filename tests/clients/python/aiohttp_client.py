"""`trust_env` or nothing: whether it heeds the proxy variables is the program's choice."""

import asyncio
import sys

import aiohttp

from checks import API, BODY, DIGEST, HEADERS, TOKEN, expect, report

print("version", aiohttp.__version__)


def with_session(check):
    async def run():
        async with aiohttp.ClientSession(headers=HEADERS, raise_for_status=True,
                                         timeout=aiohttp.ClientTimeout(20),
                                         trust_env="trust_env" in sys.argv) as session:
            return await check(session)
    return lambda: asyncio.run(run())


@with_session
async def get(session):
    async with session.get(f"{API}/whoami") as answer:
        expect((await answer.text()).strip(), f"you are {TOKEN}")
        return f"HTTP/{answer.version.major}.{answer.version.minor}"


@with_session
async def post(session):
    async with session.post(f"{API}/digest", data=BODY) as answer:
        expect(await answer.text(), DIGEST)


@with_session
async def stream(session):
    async with session.get(f"{API}/events") as answer:
        _, number, name = (await answer.content.readuntil(b"\n\n")).decode().split()
        expect(name, TOKEN)
        async with session.get(f"{API}/go-on/{number}"):
            pass
        expect((await answer.content.read()).strip(), b"data: done")


@with_session
async def ws(session):
    async with session.ws_connect("wss://ws.test/") as socket:
        expect(await socket.receive_str(), f"you are {TOKEN}")
        await socket.send_bytes(BODY[:200000])
        expect(await socket.receive_bytes(), BODY[:200000])


report(get=get, post=post, stream=stream, ws=ws)
