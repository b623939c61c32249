"""One request's trouble is its own: a bug, a held lock, a crowd of readers, more work than a call may ask for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, text

from headgate.service import upkeep, views
from headgate.service.bodies import DecisionRequest
from headgate.service.engine import changes
from headgate.service.engine.decide import MOST_WORK
from headgate.service.engine.learner import Learner
from headgate.service.engine.modes import Split
from headgate.service.engine.queue import Ledger, Queue
from headgate.service.engine.requests import Busy, Change, Decide, Request
from headgate.service.faults import InternalError, RefusedError, UnavailableError
from headgate.service.service import Service
from headgate.service.settings import Settings
from headgate.service.spec import AllocatorSpec
from headgate.service.store import Database, open_database
from headgate.service.store.keys import create_key
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import QUIZ, results, running

EVEN: dict[str, Any] = {"policy": {"name": "uniform"}}


def _broken(_connection: Connection) -> None:
    raise ZeroDivisionError("a bug")


def test_a_change_that_fails_fails_alone(database: Database) -> None:
    """Decisions of its batch have committed: they are answered."""
    ledger = Ledger(database)
    asking.create(ledger)
    first, broken, second = ledger.answer([asking.ask("a"), Change(_broken), asking.ask("b")])
    assert isinstance(broken, InternalError)
    assert [json.loads(answer)["decision_id"] for answer in (first, second)] == ["a", "b"]
    assert verify(database) == []


def test_a_decision_that_fails_fails_alone(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is said not to be stored is not."""
    ledger = Ledger(database)
    asking.create(ledger)
    made = asking.decide(ledger, "d")["allocation"]
    works = Learner.allocate

    def sometimes(self: Learner, request: DecisionRequest, turn: int) -> Split:
        if request.budget == 13.0:
            raise ZeroDivisionError("a bug")
        return works(self, request, turn)

    monkeypatch.setattr(Learner, "allocate", sometimes)
    batch: list[Request] = [
        asking.ask("a"),
        asking.ask("b", 13.0),
        asking.tell("d", results(made, {"q1"})),
        asking.ask("c"),
    ]
    one, broken, told, other = ledger.answer(batch)
    assert isinstance(broken, InternalError)
    assert "bug" not in str(broken)
    assert json.loads(told)["complete"]
    assert {json.loads(answer)["decision_id"] for answer in (one, other)} == {"a", "c"}
    assert {item.decision.decision_id for item in database.look(lambda c: views.history(c, "quiz", None, 9)).items} == {
        "a", "c", "d",
    }  # fmt: skip
    assert verify(database) == []


def test_a_call_asks_for_so_much_work_and_no_more(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger, arms=[f"q{i}" for i in range(100)], **EVEN)
    most = MOST_WORK // 100
    for together, good in ((1, True), (most, True), (most + 1, False)):
        (answer,) = ledger.answer([Decide("quiz", asking.ask(f"d{together}").request, together)])
        assert isinstance(answer, str) == good
    assert isinstance(answer, RefusedError)
    assert answer.field == "decisions"


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_allocators_do_not_wait_for_each_other(database: Database) -> None:
    """One row is held by a stranger: its requests wait, in their order, and nobody else's do."""
    ledger = Ledger(database)
    for name in ("held", "free"):
        asking.create(ledger, name, **EVEN)
    made = asking.decide(ledger, "held-0", name="held")["allocation"]

    async def crowd() -> list[Any]:
        queue = Queue(ledger)
        with database.engine.connect() as stranger:
            stranger.execute(text("SELECT id FROM allocators WHERE name = 'held' FOR UPDATE"))
            late = [
                queue.ask_all([asking.ask("held-1", name="held"), asking.ask("free-0", name="free")]),
                queue.ask_all([asking.tell("held-0", results(made, {"q1"}))]),
                queue.ask_all(
                    [Change(lambda c: c.execute(text("UPDATE allocators SET seed = 1 WHERE name = 'held'")))]
                ),
            ]
            for i in range(1, 30):
                assert isinstance(await queue.ask(asking.ask(f"free-{i}", name="free")), str)
            await upkeep.ready(Service(Settings(), database, queue))
            assert not any(future.done() for future in late)
            stranger.rollback()
        answers = [answer for future in late for answer in await future]
        await queue.stop()
        return answers

    both, free, told, _ = asyncio.run(crowd())
    assert json.loads(both)["allocator"] == "held"
    assert json.loads(free)["allocator"] == "free"
    assert json.loads(told)["complete"]
    assert verify(database) == []


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_lock_that_is_held_for_long_is_503(database: Database) -> None:
    """After `lock_timeout`, and nothing was stored; a batch that does not wait says at once who must."""
    ledger = Ledger(database)
    asking.create(ledger, **EVEN)
    with database.engine.connect() as stranger:
        stranger.execute(text("SELECT id FROM allocators FOR UPDATE"))
        assert [type(answer) for answer in ledger.answer([asking.ask("d")], patient=False)] == [Busy]
        (refused,) = ledger.answer([asking.ask("d")])
        stranger.rollback()
    assert isinstance(refused, UnavailableError)
    assert "lock timeout" in str(refused)
    assert isinstance(ledger.answer([asking.ask("d")])[0], str)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_connections_have_their_timeouts(database: Database) -> None:
    for name, value in {"lock_timeout": "3s", "statement_timeout": "20s"}.items():
        show = text(f"SHOW {name}")
        for slow, expected in ((False, value), (True, "0")):
            with database.readers.connect() as connection:
                if slow:
                    database.be_patient(connection)
                assert connection.execute(show).scalar() == expected


def test_readers_take_turns_and_deciders_do_not_wait_for_them(database: Database) -> None:
    """As many as there are wait in line; keys, decisions and readiness pass them."""
    ledger = Ledger(database)
    asking.create(ledger, **EVEN)

    async def crowd() -> tuple[int, int]:
        queue = Queue(ledger)
        service = Service(Settings(), database, queue)
        free, at_once, most = asyncio.Event(), 0, 0
        loop = asyncio.get_running_loop()

        def slow(connection: Connection) -> None:
            nonlocal at_once, most
            at_once += 1
            most = max(most, at_once)
            connection.execute(text("SELECT 1"))
            asyncio.run_coroutine_threadsafe(free.wait(), loop).result()
            at_once -= 1

        readers = [asyncio.create_task(service.look(slow)) for _ in range(45)]
        for i in range(20):
            assert isinstance(await queue.ask(asking.ask(f"d{i}")), str)
        assert await service.glance(lambda c: c.execute(text("SELECT 1")).scalar()) == 1
        await upkeep.ready(service)
        done = sum(reader.done() for reader in readers)
        free.set()
        await asyncio.gather(*readers)
        await queue.stop()
        return most, done

    assert asyncio.run(crowd()) == (2, 0)


def test_readiness_writes_in_tables_of_its_own_version(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with running(Settings(database=url, keys=False)) as client:
        assert client.get("/readyz").json() == {"status": "ok"}
        other = open_database(url)
        with other.transaction() as connection:  # as a worker of a later version does when it starts
            connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        assert client.get("/readyz").status_code == 503
        assert "a newer Headgate has upgraded the tables to version 9999" in caplog.text
        with other.transaction() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": other.version})
        assert client.get("/readyz").status_code == 200
        other.close()


@pytest.mark.parametrize("law", [
    {"name": "weibull", "shape": 1e300}, {"name": "gamma", "shape": 1e-300}, {"name": "log-normal", "sigma": 1e308},
    {"name": "lomax", "shape": 5e-324}, {"name": "nakagami", "shape": 1e200}, {"name": "log-logistic", "shape": 1e300},
    {"name": "discrete-weibull", "shape": 1e300}, {"name": "beta", "a": 1e300, "b": 1e-300},
])  # fmt: skip
@pytest.mark.parametrize("max_budget", [1e-15, 1.0, 1e15])
def test_a_law_is_refused_in_words_or_can_be_played(sqlite_url: str, law: dict[str, Any], max_budget: float) -> None:
    """Never an error of ours: neither when it is made nor when it has learned something."""
    ledger = Ledger(open_database(sqlite_url))
    spec = AllocatorSpec.model_validate(QUIZ | {"law": law, "max_budget": max_budget})
    (answer,) = ledger.answer([Change(lambda c: changes.create(c, "a test", "quiz", spec))])
    if isinstance(answer, RefusedError):
        return
    assert answer is True
    for i in range(3):
        (made,) = ledger.answer([asking.ask(f"d{i}", max_budget)])
        assert isinstance(made, str), made
        given = json.loads(made)["allocation"]
        assert np.isfinite(list(given.values())).all()
        (told,) = ledger.answer([asking.tell(f"d{i}", results(given, {"q1"} if i else set()))])
        assert isinstance(told, str), told
    assert verify(ledger.database) == []
    ledger.database.close()


def test_many_decisions_are_charged_as_many(sqlite_url: str) -> None:
    """A key's rate counts decisions and reports, not calls."""
    database = open_database(sqlite_url)
    asking.create(Ledger(database), **EVEN)
    with database.transaction() as connection:
        secret = create_key(connection, "a test", "shop", "decide", 50.0)
    database.close()
    with running(Settings(database=sqlite_url, keys=True)) as client:
        client.headers["authorization"] = f"Bearer {secret}"
        many = {"decisions": [{"budget": 1.0}] * 90}
        statuses = [client.post("/v1/allocators/quiz/decisions/batch", json=many).status_code for _ in range(3)]
    assert statuses == [200, 429, 429], "100 at once: for the second call there are not enough left"
