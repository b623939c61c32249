"""Four workers on one PostgreSQL, and outcomes in the worst order: the evidence is that of a single process."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import pytest

from headgate.client import AsyncClient, Client, ConflictError, Decision, OutcomeAnswer
from tests.soak.conftest import Postgres, short_or_long
from tests.soak.journal import ARMS, MAX_BUDGET, Journal
from tests.soak.servers import Server, verified

pytestmark = pytest.mark.soak

T = TypeVar("T")
QUIZ = "quiz"
DECISIONS = short_or_long(4_000, 50_000)
WORKERS = 4
TASKS = 16  # each with connections of its own, so that all workers are asked
BATCH = 50
WINDOW = 2_000  # decisions whose outcomes are shuffled together, and come after the decisions of the next window


@dataclass(frozen=True, slots=True)
class Said:
    """Something that is said of a decision."""

    key: str
    results: dict[str, float | None]


def truth_and_lies(decision: Decision, chance: random.Random) -> Iterator[Said]:
    """What is said of a decision: the truth three times, now and then in parts, and sometimes something else."""
    amounts = decision.allocation or {}
    truth = {
        arm: amount * chance.random() if amount > 0.0 and chance.random() < 0.5 else None
        for arm, amount in amounts.items()
    }
    yield Said(decision.decision_id, truth)
    yield Said(decision.decision_id, truth)
    half = chance.sample(ARMS, 3)
    yield Said(decision.decision_id, {arm: truth[arm] for arm in half})
    yield Said(decision.decision_id, {arm: truth[arm] for arm in ARMS if arm not in half})
    if chance.random() < 0.05:
        given = [arm for arm, amount in amounts.items() if amount > 0.0]
        yield Said(decision.decision_id, truth | {arm: None if truth[arm] is not None else 0.0 for arm in given})


class Crowd:
    """Clients that decide and report in batches of any size, all at once."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.journal = Journal()
        self.chance = random.Random(6)  # noqa: S311  # not a secret
        self.reports = self.refused = 0

    async def run(self) -> None:
        """Decide a window, then the next one while the outcomes of the first come in, and so on."""
        self._clients = [AsyncClient(self.url) for _ in range(TASKS)]
        late: list[Said] = []
        for start in range(0, DECISIONS, WINDOW):
            size = min(WINDOW, DECISIONS - start)
            fresh: list[Said] = []
            await asyncio.gather(self._decide(start, size, fresh), self._report(late))
            late = fresh
        await self._report(late)
        for client in self._clients:
            await client.close()

    async def _decide(self, start: int, size: int, said: list[Said]) -> None:
        keys = iter([f"round-{number}" for number in range(start, start + size)])

        async def work(client: AsyncClient) -> None:
            for batch in self._batches(keys):
                for found in await client.decide_many(QUIZ, [30.0] * len(batch), decision_ids=batch):
                    assert isinstance(found, Decision)
                    self.journal.decided(found)
                    said.extend(truth_and_lies(found, self.chance))

        await asyncio.gather(*(work(client) for client in self._clients[: TASKS // 2]))

    async def _report(self, said: list[Said]) -> None:
        self.chance.shuffle(said)
        queue = iter(said)

        async def work(client: AsyncClient) -> None:
            for batch in self._batches(queue):
                answers = await client.report_many([(one.key, one.results) for one in batch])
                self.reports += len(batch)
                for one, answer in zip(batch, answers, strict=True):
                    if isinstance(answer, OutcomeAnswer):
                        self.journal.heard(one.key, {arm: one.results[arm] for arm in answer.accepted})
                    else:
                        assert isinstance(answer, ConflictError)
                        self.refused += 1

        await asyncio.gather(*(work(client) for client in self._clients[TASKS // 2 :]))

    def _batches(self, items: Iterable[T]) -> Iterator[list[T]]:
        source = iter(items)
        while batch := list(islice(source, self.chance.randrange(1, BATCH))):
            yield batch


def test_four_workers_on_postgresql(postgres: Postgres, figure: Callable[[str], None]) -> None:
    database = postgres.new()
    with Server(database, workers=WORKERS) as server:
        while postgres.connections() < WORKERS:  # one that answers is not yet all of them
            time.sleep(0.1)
        with Client(server.url) as client:
            client.put_allocator(QUIZ, ARMS, {"name": "weibull", "shape": 1.6}, MAX_BUDGET)
        crowd, began = Crowd(server.url), time.monotonic()
        asyncio.run(crowd.run())
        seconds = time.monotonic() - began
        with Client(server.url) as client:
            crowd.journal.compare(client, QUIZ)
            counts = client.allocator(QUIZ).counts
    assert counts.complete == DECISIONS
    assert counts.contradictions == crowd.refused > 0
    figure(
        f"{DECISIONS:,} decisions and {crowd.reports:,} reports in {seconds:.0f} s, {crowd.refused:,} contradictions "
        f"refused, evidence equal to a single process's ({verified(database)})"
    )
