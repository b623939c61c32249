"""After an outage the next call gets through, however many calls timed out or were cancelled during it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

pytest.importorskip("httpx")

from headgate.client import AsyncClient, Retry, UnavailableError

CALLS = 150  # at once: more than a client makes
ANSWER = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{"status":"ok"}'


class Moody:
    """A server that takes requests and says nothing, until it feels like it."""

    def __init__(self) -> None:
        self.answering = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            try:
                while True:
                    await reader.readuntil(b"\r\n\r\n")
                    await self.answering.wait()
                    writer.write(ANSWER)
            finally:
                writer.close()


async def give_up(client: AsyncClient, steps: int | None) -> None:
    """Ask in vain: until the client gives up, or the caller does after so many steps of the loop."""
    call = asyncio.create_task(client.health())
    if steps is not None:
        for _ in range(steps):
            await asyncio.sleep(0)
        call.cancel()
    with suppress(UnavailableError, asyncio.CancelledError):
        await call


@pytest.mark.long
@pytest.mark.parametrize("cancelled", [False, True], ids=["timed out", "cancelled by the caller"])
def test_an_outage_leaves_nothing_behind(cancelled: bool) -> None:
    async def play() -> None:
        server = Moody()
        patience = Retry(first=0.01, most=0.01, attempt=0.1, deadline=0.1)
        async with server as url, AsyncClient(url, retry=patience) as client:
            for _ in range(4):
                await asyncio.gather(*(give_up(client, place if cancelled else None) for place in range(CALLS)))
            server.answering.set()
            client.retry = Retry(deadline=30.0)
            assert set(await asyncio.gather(*(client.health() for _ in range(CALLS)))) == {"ok"}
            pool = client._http._transport._pool
            assert len(pool.connections) <= 100
            assert all(one.is_idle() for one in pool.connections)

    asyncio.run(play())
