"""A load of decision-and-outcome pairs, from as little client as will do: the server must be what is measured."""

from __future__ import annotations

import asyncio
import gc
import json
import time
from dataclasses import dataclass
from itertools import count

import uvloop

ARMS = [f"q{place}" for place in range(10)]
BUDGET = 40.0
QUIZ = "quiz"
_EVEN = dict.fromkeys(ARMS, BUDGET / len(ARMS))


@dataclass(frozen=True, slots=True)
class Measured:
    """What a load found."""

    pairs: int
    seconds: float
    latencies: list[float]

    @property
    def rate(self) -> float:
        """Pairs a second."""
        return self.pairs / self.seconds

    @property
    def p99(self) -> float:
        """Seconds that 99% of the requests took at most."""
        return sorted(self.latencies)[int(len(self.latencies) * 0.99)]


def load(port: int, prefix: str, seconds: float, connections: int = 64, rate: float | None = None) -> Measured:
    """Send pairs for some time: each connection its next one at once, or all together `rate` a second."""
    gc.collect()
    gc.disable()
    try:
        return uvloop.run(_Load(port, prefix, seconds, connections, rate).run())
    finally:
        gc.enable()


class _Load:
    def __init__(self, port: int, prefix: str, seconds: float, connections: int, rate: float | None) -> None:
        self.port, self.prefix, self.seconds, self.connections = port, prefix, seconds, connections
        self.pause = None if rate is None else connections / rate
        self.latencies: list[float] = []
        self.pairs = 0
        self._numbers = count()
        self._tag = f"{time.time_ns() // 1000:014x}"  # as the client's ids: later ones are larger

    async def run(self) -> Measured:
        began = time.perf_counter()
        await asyncio.gather(*(self._connection(place) for place in range(self.connections)))
        return Measured(self.pairs, time.perf_counter() - began, self.latencies)

    async def _connection(self, place: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        due = time.perf_counter()
        end = due + self.seconds
        if self.pause is not None:
            due += self.pause * place / self.connections
        while (now := time.perf_counter()) < end:
            if self.pause is None:
                due = now
            else:
                await asyncio.sleep(max(due - now, 0.0))  # what is late is measured from when it was due
            key = f"{self._tag}-{next(self._numbers):08d}"
            path = f"{self.prefix}/allocators/{QUIZ}/decisions"
            answer = json.loads(await self._post(reader, writer, path, {"budget": BUDGET, "decision_id": key}, due))
            amounts = answer.get("allocation") or _EVEN
            results = {
                arm: {"success": True, "threshold": amounts[arm] / 2}
                if odd % 2 and amounts[arm] > 0.0
                else {"success": False}
                for odd, arm in enumerate(ARMS)
            }
            path = f"{self.prefix}/decisions/{key}/outcome"
            await self._post(reader, writer, path, {"results": results}, time.perf_counter())
            self.pairs += 1
            if self.pause is not None:
                due += self.pause
        writer.close()

    async def _post(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: object, since: float
    ) -> bytes:
        content = json.dumps(body).encode()
        writer.write(
            b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
            % (path.encode(), len(content), content)
        )
        head = await reader.readuntil(b"\r\n\r\n")
        size = head.lower().index(b"content-length:") + 15
        answer = await reader.readexactly(int(head[size : head.index(b"\r\n", size)]))
        self.latencies.append(time.perf_counter() - since)
        if head[9:12] != b"200":
            raise RuntimeError(f"{path}: {head!r} {answer!r}")
        return answer
