"""`kill -9` under load, again and again: nothing acknowledged is lost, counted twice or taken back by half."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from headgate.client import AsyncClient, Client, ConflictError, Decision, Retry, UnavailableError
from tests.soak.conftest import Postgres, short_or_long
from tests.soak.journal import ARMS, MAX_BUDGET, Journal
from tests.soak.servers import Server, verified

pytestmark = pytest.mark.soak

T = TypeVar("T")
QUIZ = "quiz"
CORRECTED = "corrected"
"""An allocator whose reports are taken back every few rounds, and made anew in part, and whose evidence fades."""
HALF_LIFE = 4.0
"""Seconds: a window of time ends twice a second."""
KILLS = short_or_long(6, 100)
TASKS = 24
TAKEN_BACK = 10
"""Rounds whose reports are taken back together."""


class Load:
    """Clients that decide and report until told to stop; what is not acknowledged they ask again, of any server."""

    def __init__(self, servers: list[Server], seed: int) -> None:
        self.servers = servers
        self.journals = {QUIZ: Journal(), CORRECTED: Journal()}
        self.random = random.Random(seed)  # noqa: S311  # not a secret
        self.retractions = 0
        self.asked_again = 0
        self.stopping = False
        self._numbers = count()

    async def run(self, kills: int) -> None:
        """Play while servers are killed."""
        patience = Retry(first=0.1, most=0.5, attempt=5.0, deadline=0.5)
        self._clients = [AsyncClient(server.url, retry=patience) for server in self.servers]
        playing = [asyncio.create_task(work()) for work in (*[self._play] * TASKS, self._correct)]
        try:
            await self._kill(kills)
            self.stopping = True
            await asyncio.gather(*playing)
        finally:
            for task in playing:
                task.cancel()
            for client in self._clients:
                await client.close()

    async def _kill(self, kills: int) -> None:
        for _ in range(kills):
            await asyncio.sleep(self.random.uniform(0.1, 1.0))
            everyone = self.random.random() < 0.2
            chosen = self.servers if everyone else [self.random.choice(self.servers)]
            for server in chosen:
                server.kill()
            for server in chosen:
                server.start()
            if self.random.random() < 0.2:  # it may die while it starts, too
                await asyncio.sleep(self.random.uniform(0.5, 3.0))
                chosen[0].kill()
                chosen[0].start()
            for server in chosen:
                await asyncio.to_thread(server.wait)
            await self._again()

    async def _again(self) -> None:
        """What was acknowledged before the kill is acknowledged after it, word for word."""
        for name, journal in self.journals.items():
            known = list(journal.decisions)
            for key in self.random.sample(known, min(len(known), 10)):
                await self._decide(name, key)

    async def _play(self) -> None:
        while not self.stopping:
            key = f"round-{next(self._numbers)}"
            results = self._outcome(await self._decide(QUIZ, key))
            await self._report(QUIZ, key, {arm: results[arm] for arm in self._some()})
            await self._report(QUIZ, key, results)
            if self.random.random() < 0.05:
                wrong = {arm: None if value is not None else 0.0 for arm, value in results.items()}
                with pytest.raises(ConflictError):
                    await self._ask(lambda client: client.report(key, wrong))  # noqa: B023  # awaited at once

    async def _correct(self) -> None:
        """Report some rounds, take all of that back, and report some of it again, otherwise."""
        journal = self.journals[CORRECTED]
        while not self.stopping:
            since = datetime.now(UTC)
            keys = [f"round-{next(self._numbers)}" for _ in range(TAKEN_BACK)]
            for key in keys:
                results = self._outcome(await self._decide(CORRECTED, key))
                await self._report(CORRECTED, key, {arm: results[arm] for arm in self._some()})
                await self._report(CORRECTED, key, results)
            number = f"retraction-{self.retractions}"
            answer = await self._ask(lambda client: client.retract(CORRECTED, number, since=since))  # noqa: B023  # awaited at once
            assert len(keys) <= answer.reports <= 2 * len(keys)
            self.retractions += 1
            for key in keys:
                del journal.results[key]
            for key in keys[::2]:
                results = self._outcome(journal.decisions[key])
                await self._report(CORRECTED, key, {arm: results[arm] for arm in self._some()})

    def _outcome(self, decision: Decision) -> dict[str, float | None]:
        """Draw what comes of a decision."""
        return {
            arm: amount * self.random.random() if amount > 0.0 and self.random.random() < 0.5 else None
            for arm, amount in (decision.allocation or {}).items()
        }

    def _some(self) -> list[str]:
        return self.random.sample(ARMS, self.random.randrange(len(ARMS) + 1))

    async def _decide(self, name: str, key: str) -> Decision:
        decision = await self._ask(lambda client: client.decide(name, 30.0, decision_id=key))
        self.journals[name].decided(decision)
        return decision

    async def _report(self, name: str, key: str, results: dict[str, float | None]) -> None:
        answer = await self._ask(lambda client: client.report(key, results))
        assert {*answer.accepted, *answer.repeated} == results.keys()
        self.journals[name].heard(key, results)

    async def _ask(self, call: Callable[[AsyncClient], Awaitable[T]]) -> T:
        while True:
            try:
                return await call(self.random.choice(self._clients))
            except UnavailableError:
                self.asked_again += 1


def kill_and_compare(servers: list[Server], say: Callable[[str], None]) -> None:
    began = time.monotonic()
    for server in servers:
        server.start()
    try:
        for server in servers:
            server.wait()
        with Client(servers[0].url) as client:
            for name, half_life in ((QUIZ, None), (CORRECTED, HALF_LIFE)):
                client.put_allocator(name, ARMS, {"name": "weibull", "shape": 1.6}, MAX_BUDGET, half_life=half_life)
        load = Load(servers, seed=KILLS)
        asyncio.run(load.run(KILLS))
        with Client(servers[0].url) as client:
            for name, journal in load.journals.items():
                journal.compare(client, name)
        checked = verified(servers[0].database)
    finally:
        for server in servers:
            server.kill()
    assert load.retractions > 0
    decisions, outcomes = (
        sum(len(getattr(one, kind)) for one in load.journals.values()) for kind in ("decisions", "results")
    )
    say(
        f"{KILLS} kills in {time.monotonic() - began:.0f} s, {decisions:,} decisions, {outcomes:,} outcomes and "
        f"{load.retractions:,} retractions acknowledged, {load.asked_again:,} calls asked again: "
        f"0 lost, 0 counted twice ({checked})"
    )


def test_kill_sqlite(tmp_path: Path, figure: Callable[[str], None]) -> None:
    kill_and_compare([Server(f"sqlite:///{tmp_path / 'headgate.db'}")], figure)


def test_kill_postgresql_with_3_workers(postgres: Postgres, figure: Callable[[str], None]) -> None:
    database = postgres.new()
    kill_and_compare([Server(database) for _ in range(3)], figure)
