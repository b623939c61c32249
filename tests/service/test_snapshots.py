"""Snapshots: spaced geometrically, kept once whoever takes them, and true to what the estimates said."""

from __future__ import annotations

import asyncio
import math
from functools import partial
from itertools import count

import pytest
from sqlalchemy import Connection, func, select

from headgate.service import clock, snapshots, views
from headgate.service.engine.queue import Ledger, Queue
from headgate.service.service import Service
from headgate.service.settings import Settings
from headgate.service.snapshots import Snapshot, due, history, keep, take
from headgate.service.store import Database, schema
from tests.service.asking import create, decide, play


def test_a_million_decisions_leave_few() -> None:
    last, taken, rows, now = 0, 0, 0, 10**12
    complete = 0
    while complete < 1_000_000:
        complete = max(complete + 1, math.floor(1.02 * last))
        now += 10_000_000
        if due(complete, now, last, taken):
            last, taken, rows = complete, now, rows + 1
    assert 300 < rows < 700


@pytest.mark.parametrize(
    ("complete", "last", "seconds", "wanted"),
    [(1, 0, 2.0, True), (0, 0, 2.0, False), (5, 4, 0.5, False), (100, 99, 9.0, False), (103, 100, 9.0, True),
     (103_000, 100_000, 3.0, False), (103_000, 100_000, 6.0, True)],
)  # fmt: skip
def test_when_one_is_due(complete: int, last: int, seconds: float, wanted: bool) -> None:
    assert due(complete, round((100.0 + seconds) * 1e6), last, 100_000_000) is wanted


def test_it_says_what_the_estimates_say(database: Database) -> None:
    ledger = Ledger(database)
    create(ledger)
    play(ledger, 25)
    found = database.look(lambda c: take(c, "quiz"))
    stated = database.look(lambda c: views.estimates(c, "quiz", 20.0))
    counts = database.look(lambda c: views.allocator(c, "quiz")).counts
    assert (found.complete, found.reward, found.decisions) == (25, counts.reward, 25)
    assert found.typical == pytest.approx(20.0, rel=1e-4)
    assert found.value == pytest.approx(stated.value, rel=1e-4)
    assert found.value_interval[0] < found.value < found.value_interval[1]
    for arm in stated.arms:
        values = found.arms[arm.arm]
        assert values[0] == pytest.approx(arm.activation, rel=1e-4)
        assert values[1:3] == pytest.approx(arm.activation_interval, rel=1e-4)
        assert values[3] == pytest.approx(arm.rate, rel=1e-4)
        assert values[6] == pytest.approx(stated.best[arm.arm], rel=1e-4)
    assert Snapshot.of_row(found.taken_at, found.to_json()).to_json() == found.to_json()


def test_the_optimum_is_for_the_budgets_that_came(database: Database) -> None:
    ledger = Ledger(database)
    create(ledger, law="exponential")
    play(ledger, 40)
    at_twenty = database.look(lambda c: take(c, "quiz"))
    for i in range(200):
        decide(ledger, f"more-{i}", budget=[2.0, 30.0][i % 2])
    mixed = database.look(lambda c: take(c, "quiz"))
    few, many = (database.look(partial(views.estimates, name="quiz", budget=budget)).value for budget in (2.0, 30.0))
    assert mixed.value == pytest.approx((few + many) / 2.0, rel=1e-4)
    assert mixed.value < at_twenty.value


def test_two_workers_keep_one(database: Database) -> None:
    ledger = Ledger(database)
    create(ledger)
    play(ledger, 10)

    async def both() -> None:
        services = [Service(Settings(), database, Queue(Ledger(database))) for _ in range(2)]
        await asyncio.gather(*(snapshots.keep_due(service, {}) for service in services))
        await snapshots.keep_due(services[0], {})
        for service in services:
            await service.queue.stop()

    asyncio.run(both())
    assert database.look(_rows) == 1


def test_requests_have_most_of_the_time_however_many_allocators(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a snapshot there is none of any other allocator for many times as long as it took."""
    ledger, rests = Ledger(database), list[float]()
    for name in ("one", "two"):
        create(ledger, name)
        play(ledger, 10, name=name)
    sleep, clock_of = asyncio.sleep, count()

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        await sleep(0.0)

    async def keep_all() -> None:
        service = Service(Settings(), database, Queue(Ledger(database)))
        with monkeypatch.context() as patch:
            patch.setattr("time.perf_counter", lambda: float(next(clock_of)))
            patch.setattr("asyncio.sleep", rest)
            await snapshots.keep_due(service, {})
        await service.queue.stop()

    asyncio.run(keep_all())
    assert database.look(_rows) == 2
    long = [seconds for seconds in rests if seconds > 1.0]  # the queue's own are shorter
    assert len(long) == 2
    assert min(long) >= 10.0, "by a clock that moves on by a second whenever it is looked at"


def test_the_same_again_is_not_kept(database: Database) -> None:
    ledger = Ledger(database)
    create(ledger)
    play(ledger, 10)
    found = database.look(lambda c: take(c, "quiz"))
    for wanted in (True, False, False):
        with database.transaction() as connection:
            assert keep(connection, "quiz", found) is wanted
    assert database.look(_rows) == 1


def test_many_are_thinned(database: Database) -> None:
    ledger = Ledger(database)
    create(ledger)
    start = clock.now()
    values = {"decisions": 0, "reward": 0, "budget": 0.0, "given": 0.0, "typical": 1.0, "value": 1.0}
    with database.transaction() as connection:
        for i in range(50):
            row = Snapshot(taken_at=start + i, complete=i, value_interval=(0.0, 1.0), arms={}, **values)  # type: ignore[arg-type]
            connection.execute(
                schema.snapshots.insert().values(allocator_id=1, taken_at=row.taken_at, data=row.to_json())
            )
    found = [then.complete for then in database.look(lambda c: history(c, 1, 10))]
    assert len(found) == 10
    assert (found[0], found[-1]) == (0, 49)
    assert len(database.look(lambda c: history(c, 1, 100))) == 50


def test_of_many_arms_those_that_got_most_are_kept(database: Database) -> None:
    ledger = Ledger(database)
    create(ledger, arms=[f"a{i}" for i in range(130)], max_budget=200.0)
    play(ledger, 2)
    assert len(database.look(lambda c: take(c, "quiz")).arms) == snapshots.MOST_ARMS


def _rows(connection: Connection) -> int:
    return int(connection.execute(select(func.count()).select_from(schema.snapshots)).scalar_one())
