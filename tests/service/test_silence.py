"""Deadlines: what silence is, when it is over, and clocks that jump."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest
from sqlalchemy import select

from headgate.service import clock, upkeep, views
from headgate.service.engine.queue import Ledger, Queue
from headgate.service.engine.requests import Change, Report
from headgate.service.faults import ConflictError
from headgate.service.service import Service
from headgate.service.settings import Settings
from headgate.service.store import Database, schema
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import results

HOUR = 3_600_000_000
SPAN = 180_000_000
STRICT: dict[str, Any] = {"on_expiry": "failure", "feedback_deadline": 180.0, "policy": {"name": "uniform"}}


@pytest.fixture
def clock_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set the clock, in microseconds from its first reading."""
    start = clock.now()
    return lambda later: monkeypatch.setattr(time, "time_ns", lambda: (start + later) * 1000)


def _run_for(ledger: Ledger, clock_at: Callable[[int], None], start: int, span: int) -> None:
    """Let the service run for some time, as its upkeep does, with what it finds."""
    for moment in accumulate([start] + [5_000_000] * (span // 5_000_000)):
        clock_at(moment)
        assert ledger.answer([Change(upkeep.beat)]) == [None]
        for _, _, key, _ in ledger.database.look(lambda c: upkeep.silent(c, (-1, -1))):
            ledger.answer([Report(key, None)])


def _counts(database: Database) -> tuple[int, int]:
    counts = database.look(lambda c: views.allocator(c, "quiz")).counts
    return counts.complete, counts.expired


def test_silence_that_was_heard_is_failure(database: Database, clock_at: Callable[[int], None]) -> None:
    """After the deadline, while the service runs; what is said then contradicts it, and is refused."""
    ledger = Ledger(database)
    asking.create(ledger, **STRICT)
    made = asking.decide(ledger, "d")["allocation"]
    _run_for(ledger, clock_at, 0, SPAN - 60_000_000)
    assert _counts(database) == (0, 0)
    _run_for(ledger, clock_at, SPAN - 60_000_000, 120_000_000)
    assert _counts(database) == (1, 0)
    won, lost = (ledger.answer([asking.tell("d", results(made, wins))])[0] for wins in ({"q1"}, set()))
    assert isinstance(won, ConflictError), "the failure was the first word"
    assert json.loads(lost)["repeated"] == ["q1", "q2", "q3"]
    assert verify(database) == []


@pytest.mark.parametrize("jump", [24 * HOUR, 30 * 24 * HOUR, -24 * HOUR])
def test_a_clock_that_jumps_makes_no_failures(database: Database, clock_at: Callable[[int], None], jump: int) -> None:
    """Neither forwards nor backwards; after it, deadlines come when as much time has passed as they had left."""
    ledger = Ledger(database)
    asking.create(ledger, **STRICT)
    asking.decide(ledger, "d")
    _run_for(ledger, clock_at, 0, SPAN // 2)
    _run_for(ledger, clock_at, SPAN // 2 + jump, SPAN // 2 - 60_000_000)
    assert _counts(database) == (0, 0)
    if jump > 0:
        _run_for(ledger, clock_at, SPAN + jump - 60_000_000, 90_000_000)
        assert _counts(database) == (1, 0)
    assert verify(database) == []


def test_what_is_late_counts_where_silence_is_nothing(database: Database, clock_at: Callable[[int], None]) -> None:
    ledger = Ledger(database)
    asking.create(ledger, **STRICT | {"on_expiry": "ignore"})
    made = asking.decide(ledger, "d")["allocation"]
    _run_for(ledger, clock_at, 0, 2 * SPAN)
    assert _counts(database) == (0, 1)
    answer = json.loads(ledger.answer([asking.tell("d", results(made, {"q1"}))])[0])
    assert (answer["late"], answer["complete"]) == (True, True)
    assert verify(database) == []


def test_time_in_which_nobody_could_report_is_no_silence(database: Database, clock_at: Callable[[int], None]) -> None:
    """The service is down for a week, and starts as others of it do: two workers at once."""
    ledger = Ledger(database)
    asking.create(ledger, **STRICT)
    asking.decide(ledger, "d")
    _run_for(ledger, clock_at, 0, 20_000_000)
    clock_at(7 * 24 * HOUR)

    async def two() -> None:
        queues = [Queue(Ledger(database)) for _ in range(2)]
        services = [Service(Settings(), database, queue) for queue in queues]
        await asyncio.gather(*(upkeep.count_silence(service) for service in services))
        for queue in queues:
            await queue.stop()

    asyncio.run(two())
    assert _counts(database) == (0, 0)
    waiting = database.look(lambda c: c.execute(select(schema.waiting.c.expires_at)).scalars().all())
    left = [expires - clock.now() for expires in waiting]
    assert left == [pytest.approx(SPAN - 20_000_000, abs=5_000_000)], "once, and as much as was left"
    assert verify(database) == []
