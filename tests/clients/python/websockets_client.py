import asyncio

import websockets

from checks import BODY, HEADERS, TOKEN, expect, report

print("version", websockets.__version__)


async def talk():
    async with websockets.connect("wss://ws.test/", additional_headers=HEADERS,
                                  open_timeout=20) as socket:
        expect(await socket.recv(), f"you are {TOKEN}")
        for said in ("hello", BODY[:200000]):
            await socket.send(said)
            expect(await socket.recv(), said)


report(ws=lambda: asyncio.run(talk()))
