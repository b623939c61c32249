"""The demo: a classroom that plays through the engine, as unreliable as a real one."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from headgate.service import clock, demo, views
from headgate.service.engine.queue import Ledger, Queue
from headgate.service.service import Service
from headgate.service.settings import Settings
from headgate.service.store import Database, open_database
from headgate.service.view_bodies import Counts
from tests.service.asking import create


async def lesson(database: Database, world: demo.World, students: int) -> None:
    """Many students at once, none of whom keeps anyone waiting."""
    service = Service(Settings(demo=True), database, Queue(Ledger(database)))
    rng = np.random.default_rng(0)
    await demo.play(service, world, rng, rounds=1)
    await asyncio.gather(*(demo.student(service, world, rng, hurry=0.0) for _ in range(students)))
    await service.queue.stop()


@pytest.mark.long
@pytest.mark.parametrize("world", demo.worlds(), ids=lambda world: world.name)
def test_every_counter_lives(world: demo.World, sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_OFTEN", ((float("inf"), 0.0),))
    database = open_database(sqlite_url)
    asyncio.run(lesson(database, world, 400))
    counts: Counts = database.look(lambda c: views.allocator(c, world.name)).counts
    assert counts.decisions == 401
    assert 370 < counts.complete < 401
    assert counts.pending == 401 - counts.complete
    assert counts.duplicates > 3
    assert counts.contradictions >= 1
    assert counts.reward > 0
    late = clock.now() + 10**9
    monkeypatch.setattr(clock, "now", lambda: late)
    assert database.look(lambda c: views.allocator(c, world.name)).counts.expired == 401 - counts.complete
    database.close()


def test_somebody_elses_classroom_is_left_alone(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    create(Ledger(database), "classroom")
    asyncio.run(lesson_of_others(database))
    assert database.look(lambda c: views.allocator(c, "classroom")).counts.decisions == 0
    database.close()


async def lesson_of_others(database: Database) -> None:
    service = Service(Settings(demo=True), database, Queue(Ledger(database)))
    await demo.play(service, demo.worlds()[0], np.random.default_rng(0), rounds=5)
    await service.queue.stop()
