"""Locks, and what a failed commit leaves: nothing, in the database or in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from headgate.service import snapshots
from headgate.service.bodies import EvidenceBody
from headgate.service.engine import changes
from headgate.service.engine.queue import Ledger, Queue
from headgate.service.faults import NotFoundError, RefusedError, UnavailableError
from headgate.service.spec import ArmSpec
from headgate.service.store import Database, open_database, statements
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import QUIZ, results
from tests.service.test_exactly_once import stored

ARMS: list[str] = QUIZ["arms"]


def _lock_as_a_batch_does(connection: Connection) -> None:
    assert len(statements.LOCK.rows(connection, ids=[1], names=[])) == 1


def _add_an_arm_that_is_there(connection: Connection) -> None:
    assert not changes.add_arm(connection, "a test", "quiz", ArmSpec(name="q1"))


def _retire_an_arm_that_is_not_there(connection: Connection) -> None:
    with pytest.raises(NotFoundError):
        changes.retire_arm(connection, "a test", "quiz", "nobody")


def _import_what_cannot_be(connection: Connection) -> None:
    body = EvidenceBody(max_budget=1.0, bins=[1, 1], arms=[])
    with pytest.raises(RefusedError):
        changes.import_evidence(connection, "a test", "quiz", "i", body)


def _keep_a_snapshot_that_is_not_due(connection: Connection) -> None:
    assert not snapshots.keep(connection, "quiz", snapshots.take(connection, "quiz"))


LOCKS = [  # whatever reads before it writes, without having written anything that would lock by itself
    _lock_as_a_batch_does, _add_an_arm_that_is_there, _retire_an_arm_that_is_not_there, _import_what_cannot_be,
    _keep_a_snapshot_that_is_not_due,
]  # fmt: skip


@pytest.mark.parametrize("lock", LOCKS)
@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_postgresql_locks_the_allocator(database: Database, lock: Callable[[Connection], None]) -> None:
    """While one transaction has an allocator, nobody else gets it; afterwards they do."""
    asking.create(Ledger(database))
    with database.engine.connect() as other:
        with database.transaction() as connection:
            lock(connection)
            other.execute(text("SET lock_timeout = '100ms'"))
            with pytest.raises(OperationalError, match="lock timeout"):
                other.execute(text("SELECT id FROM allocators WHERE id = 1 FOR UPDATE"))
            other.rollback()
        assert other.execute(text("SELECT id FROM allocators WHERE id = 1 FOR UPDATE NOWAIT")).scalar() == 1


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_sqlite_is_locked_before_anything_is_read(database: Database) -> None:
    """A transaction that writes takes the one write lock when it begins, so that what it read cannot change."""
    for at_once in (False, True):
        transaction = database.begin(at_once=at_once)
        assert transaction is not None
        assert database.begin(at_once=True) is None, "two transactions that may write were open at once"
        database.end(transaction)
    after = database.begin(at_once=True)
    assert after is not None
    database.end(after)


def _broken_commit(database: Database, patch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object) -> None:
        raise database.engine.dialect.loaded_dbapi.OperationalError("disk full")

    patch.setattr(database.engine.dialect, "do_commit", broken)


def _memory(ledger: Ledger) -> Any:
    """What the one learner in memory has learned, after its next decision."""
    asking.decide(ledger, "look")
    (learner,) = ledger.memory.learners.values()
    return learner.state.evidence.bins


def test_memory_is_the_database_after_a_commit_that_failed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    asking.play(ledger, 5)
    made = asking.decide(ledger, "d")["allocation"]
    with monkeypatch.context() as patch:
        _broken_commit(database, patch)
        (refused,) = ledger.answer([asking.tell("d", results(made, set(ARMS)))])
    assert isinstance(refused, UnavailableError)
    assert np.array_equal(_memory(ledger), stored(database))
    assert verify(database) == []


def test_a_decision_whose_commit_failed_is_made_when_it_is_asked_for_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody remembers the one that was lost: the answer to its id is a decision that is stored."""
    ledger = Ledger(database)
    asking.create(ledger)
    with monkeypatch.context() as patch:
        _broken_commit(database, patch)
        (refused,) = ledger.answer([asking.ask("d")])
    assert isinstance(refused, UnavailableError)
    made = asking.decide(ledger, "d")
    assert asking.decide(Ledger(database), "d") == made
    assert verify(database) == []


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_memory_is_the_database_after_a_commit_that_failed_beside_the_loop(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same through the writer, which on SQLite lets a thread wait for the commit alone."""
    database = open_database(url)
    ledger = Ledger(database)
    asking.create(ledger)
    asking.play(ledger, 5)
    made = asking.decide(ledger, "d")["allocation"]

    async def report_and_fail() -> None:
        queue = Queue(ledger)
        with monkeypatch.context() as patch:
            _broken_commit(database, patch)
            with pytest.raises(UnavailableError):
                await queue.ask(asking.tell("d", results(made, set(ARMS))))
        await queue.stop()

    asyncio.run(report_and_fail())
    assert np.array_equal(_memory(ledger), stored(database))
    assert verify(database) == []
    database.close()
