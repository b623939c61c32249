"""Stored evidence: a row of what was added for each `seq`, now and then all of it in one, and whoever reads has it all.

Here all of it is written much more often, so that few rounds cross it many times.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from sqlalchemy import Connection, select, text

from headgate.service.engine import learner, retractions
from headgate.service.engine.cells import read_evidence
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Change
from headgate.service.faults import UnavailableError
from headgate.service.record_bodies import RetractionRequest
from headgate.service.store import Database, schema
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import QUIZ, results

ARMS: list[str] = QUIZ["arms"]
EVERY, TRIM = 5, 2


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "_WHOLE_EVERY", EVERY)
    monkeypatch.setattr(learner, "_REPLACED_EVERY", TRIM)


def _rows(database: Database) -> list[tuple[int, bool]]:
    """The `seq` of each row, and whether it is all of it."""
    table = schema.evidence.c

    def read(connection: Connection) -> list[tuple[int, bool]]:
        return [(seq, whole) for seq, whole in connection.execute(select(table.seq, table.whole).order_by(table.seq))]

    return database.look(read)


def _stored(database: Database) -> list[np.ndarray]:
    return [one.bins for one in database.look(lambda c: read_evidence(c, 1, len(ARMS), QUIZ["max_budget"]))]


def test_rows_are_few_however_much_was_added(database: Database) -> None:
    """Those that all of it stands after go, a few at a time: never more are left than it takes to write that again."""
    ledger = Ledger(database)
    asking.create(ledger)
    for last in range(1, 4 * EVERY + 3):
        asking.play(ledger, 1, seed=last)  # each outcome is a batch
        gone = last // TRIM * TRIM - EVERY
        assert _rows(database) == [(seq, seq % EVERY == 0) for seq in range(max(gone, 0) + 1, last + 1)]
        assert np.array_equal(_stored(database)[0], ledger.memory.learners[1].evidence.bins)
    assert verify(database) == []


@pytest.mark.parametrize("most", [1, 3, 1_000])
def test_however_many_notes_are_kept_the_evidence_is_all_of_it(
    database: Database, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Cells of many reports in one transaction, added and taken back."""
    monkeypatch.setattr(learner, "_MOST_NOTES", most)
    ledger = Ledger(database)
    asking.create(ledger)
    made = [asking.decide(ledger, f"d{number}")["allocation"] for number in range(10)]
    reports = [asking.tell(f"d{number}", results(one, {"q1", "q2"})) for number, one in enumerate(made)]
    assert [type(answer) for answer in ledger.answer(reports)] == [str] * 10
    stored, (own,) = _stored(database)[0], ledger.memory.learners.values()
    assert stored.any()
    assert np.array_equal(stored, own.evidence.bins)
    assert verify(database) == []
    body = RetractionRequest(since=datetime(2020, 1, 1, tzinfo=UTC))
    (answer,) = ledger.answer([Change(lambda c: retractions.retract(c, "a test", "quiz", "r", body))])
    assert answer.reports == 10
    assert not _stored(database)[0].any()
    assert verify(database) == []


@pytest.mark.parametrize("behind", range(1, 2 * EVERY + 2))
def test_who_is_behind_has_all_of_it(database: Database, behind: int) -> None:
    """Wherever a worker stands, before a row of all of it or after, and however many of them there were since."""
    one, other = Ledger(database), Ledger(database)
    asking.create(one)
    asking.play(other, 3, seed=1)
    asking.play(one, behind, seed=2)
    assert other.memory.learners[1].seq == one.memory.learners[1].seq - behind
    asking.decide(other, "d")
    for name in ("everything", "evidence"):
        assert np.array_equal(getattr(one.memory.learners[1], name).bins, getattr(other.memory.learners[1], name).bins)
    assert np.array_equal(_stored(database)[0], other.memory.learners[1].evidence.bins)
    assert verify(database) == []


def test_all_of_it_is_written_whole_or_not_at_all(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that fails after its rows were written leaves those that it would have removed."""
    ledger, last = Ledger(database), 2 * EVERY
    asking.create(ledger)
    asking.play(ledger, last - 1)
    before, bins = _rows(database), _stored(database)[0]
    made = asking.decide(ledger, "d")["allocation"]
    report = asking.tell("d", {arm: {"success": False} for arm in made})
    driver = database.engine.dialect

    def broken(*_args: object, **_kwargs: object) -> None:
        raise driver.loaded_dbapi.OperationalError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(driver, "do_commit", broken)
        assert isinstance(ledger.answer([report])[0], UnavailableError)
    assert _rows(database) == before
    assert np.array_equal(_stored(database)[0], bins)
    assert isinstance(ledger.answer([report])[0], str)
    assert _rows(database)[0] == (last - EVERY + 1, False)
    assert _rows(database)[-1] == (last, True)
    assert before[0] == (last - TRIM - EVERY + 1, False)
    assert verify(database) == []


def test_a_worker_of_before_stores_nothing(database: Database) -> None:
    """One that still runs when the tables are new adds cells as it did: nothing of that is kept."""
    ledger = Ledger(database)
    asking.create(ledger)
    asking.play(ledger, 2)

    def as_before(connection: Connection) -> None:
        connection.execute(text("UPDATE allocators SET decisions = decisions + 1"))
        connection.execute(text("INSERT INTO evidence (allocator_id, position, number) VALUES (1, 0, 1)"))

    (refusal,) = ledger.answer([Change(as_before)])
    assert isinstance(refusal, UnavailableError)
    assert verify(database) == []
