"""`kill -9` under load, again and again: nothing acknowledged is lost, nothing is counted twice."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from headgate.client import AsyncClient, Client, ConflictError, Retry, UnavailableError
from tests.soak.conftest import Postgres, short_or_long
from tests.soak.journal import ARMS, MAX_BUDGET, Journal
from tests.soak.servers import Server, verified

pytestmark = pytest.mark.soak

T = TypeVar("T")
QUIZ = "quiz"
KILLS = short_or_long(6, 100)
TASKS = 24


class Load:
    """Clients that decide and report until told to stop; what is not acknowledged they ask again, of any server."""

    def __init__(self, servers: list[Server], seed: int) -> None:
        self.servers = servers
        self.journal = Journal()
        self.random = random.Random(seed)  # noqa: S311  # not a secret
        self.asked_again = 0
        self.stopping = False
        self._numbers = count()

    async def run(self, kills: int) -> None:
        """Play while servers are killed."""
        patience = Retry(first=0.1, most=0.5, attempt=5.0, deadline=0.5)
        self._clients = [AsyncClient(server.url, retry=patience) for server in self.servers]
        playing = [asyncio.create_task(self._play()) for _ in range(TASKS)]
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
        known = list(self.journal.decisions)
        for key in self.random.sample(known, min(len(known), 10)):
            self.journal.decided(await self._ask(lambda client, key=key: client.decide(QUIZ, 30.0, decision_id=key)))  # type: ignore[misc]  # key is bound at once

    async def _play(self) -> None:
        while not self.stopping:
            key = f"round-{next(self._numbers)}"
            decision = await self._ask(lambda client, key=key: client.decide(QUIZ, 30.0, decision_id=key))  # type: ignore[misc]  # bound as a default
            self.journal.decided(decision)
            amounts = decision.allocation or {}
            results = {
                arm: amount * self.random.random() if amount > 0.0 and self.random.random() < 0.5 else None
                for arm, amount in amounts.items()
            }
            some = self.random.sample(ARMS, self.random.randrange(len(ARMS) + 1))
            for part in ({arm: results[arm] for arm in some}, results):
                answer = await self._ask(lambda client, key=key, part=part: client.report(key, part))  # type: ignore[misc]  # bound as a default
                assert {*answer.accepted, *answer.repeated} == part.keys()
                self.journal.heard(key, part)
            if self.random.random() < 0.05:
                wrong = {arm: None if value is not None else 0.0 for arm, value in results.items()}
                with pytest.raises(ConflictError):
                    await self._ask(lambda client, key=key, wrong=wrong: client.report(key, wrong))  # type: ignore[misc]  # bound as a default

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
            client.put_allocator(QUIZ, ARMS, {"name": "weibull", "shape": 1.6}, MAX_BUDGET)
        load = Load(servers, seed=KILLS)
        asyncio.run(load.run(KILLS))
        with Client(servers[0].url) as client:
            load.journal.compare(client, QUIZ)
        checked = verified(servers[0].database)
    finally:
        for server in servers:
            server.kill()
    known = load.journal
    say(
        f"{KILLS} kills in {time.monotonic() - began:.0f} s, {len(known.decisions):,} decisions and "
        f"{len(known.results):,} outcomes acknowledged, {load.asked_again:,} calls asked again: "
        f"0 lost, 0 counted twice ({checked})"
    )


def test_kill_sqlite(tmp_path: Path, figure: Callable[[str], None]) -> None:
    kill_and_compare([Server(f"sqlite:///{tmp_path / 'headgate.db'}")], figure)


def test_kill_postgresql_with_3_workers(postgres: Postgres, figure: Callable[[str], None]) -> None:
    database = postgres.new()
    kill_and_compare([Server(database) for _ in range(3)], figure)
