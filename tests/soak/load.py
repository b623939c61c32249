"""A load of decision-and-outcome pairs, from as little client as will do: the server must be what is measured.

Outcomes are those of real arms: each is active or not and has a threshold of the law that the allocators are told,
drawn anew. A learner whose law does not fit looks closer, and that costs it something of its own.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, cycle

import numpy as np
import uvloop

ARMS = 20
BUDGET = 40.0
_SHAPE = 1.6
LAW = {"name": "weibull", "shape": _SHAPE}
_AT_ONCE = 100
"""Rounds that are drawn together."""
_loads = count()


def arms(number: int = ARMS) -> list[str]:
    """The names of so many arms."""
    return [f"q{place}" for place in range(number)]


def quiz(place: int = 0) -> str:
    """The name of an allocator."""
    return "quiz" if place == 0 else f"quiz-{place}"


def _thresholds(number: int) -> Iterator[list[float]]:
    """Draw what each arm needs in a round, infinity where it is not active, again and again; no load like another."""
    rng = np.random.default_rng(number)
    p, mean = rng.uniform(0.3, 0.95, number), rng.uniform(0.3, 2.0, number) * BUDGET / number
    rng = np.random.default_rng([next(_loads), time.time_ns()])
    while True:
        need = mean * rng.weibull(_SHAPE, (_AT_ONCE, number))
        yield from np.where(rng.random(need.shape) < p, need, np.inf).tolist()


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


def load(
    port: int,
    prefix: str,
    seconds: float,
    connections: int = 64,
    rate: float | None = None,
    number: int = ARMS,
    allocators: int = 1,
) -> Measured:
    """Send pairs for some time: each connection its next one at once, or all together `rate` a second.

    Each pair goes to the next of so many allocators, each of which has `number` arms.
    """
    work = _Load(port, prefix, seconds, connections, rate, number, allocators)
    gc.collect()
    gc.disable()
    try:
        return uvloop.run(work.run())
    finally:
        gc.enable()


class _Load:
    def __init__(
        self, port: int, prefix: str, seconds: float, connections: int, rate: float | None, number: int, allocators: int
    ) -> None:
        self.arms, self._quizzes = arms(number), cycle([quiz(place) for place in range(allocators)])
        self._even = dict.fromkeys(self.arms, BUDGET / number)
        self._thresholds = _thresholds(number)
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
            path = f"{self.prefix}/allocators/{next(self._quizzes)}/decisions"
            answer = json.loads(await self._post(reader, writer, path, {"budget": BUDGET, "decision_id": key}, due))
            amounts = answer.get("allocation") or self._even
            results = {
                arm: {"success": True, "threshold": needed} if needed <= amounts[arm] else {"success": False}
                for arm, needed in zip(self.arms, next(self._thresholds), strict=True)
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
