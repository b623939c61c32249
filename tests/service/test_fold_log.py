"""SQLite's write-ahead log is folded into the file, and begins anew: it does not grow, and nobody waits for it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import select

from headgate.service import upkeep
from headgate.service.engine.queue import Ledger
from headgate.service.store import Database, open_database, opening, schema
from headgate.service.verify import verify
from tests.service import asking

MOST = 100_000
LONG = 5.0
"""Seconds that are much more than to fold such a log takes, and less than a connection waits for another."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(upkeep, "_FOLD_BYTES", 0)
    return tmp_path / "headgate.db"


def _playing(file: Path) -> tuple[Database, Ledger]:
    database = open_database(f"sqlite:///{file}")
    ledger = Ledger(database)
    asking.create(ledger)
    asking.play(ledger, 5)
    return database, ledger


def test_the_log_begins_anew(file: Path) -> None:
    """It is as long after many folds as after the first."""
    database, ledger = _playing(file)
    log, sizes = file.with_name(f"{file.name}-wal"), []
    for seed in range(1, 6):
        asking.play(ledger, 10, seed)
        upkeep.fold_log(database)
        sizes.append(log.stat().st_size)
    assert sizes[-1] == max(sizes)
    assert sizes[-1] < 2 * sizes[0]
    assert verify(database) == []
    database.close()


def test_nobody_waits_where_somebody_reads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads for long keeps the log from beginning anew, and neither the fold nor a writer waits for that.

    How long it has become is soon forgotten.
    """
    monkeypatch.setattr(opening, "_LOG_BYTES", MOST)
    database, ledger = _playing(file)
    with database.readers.connect().execution_options(looking=True) as reader:
        before = reader.execute(select(schema.allocators.c.decisions)).scalar_one()
        asking.play(ledger, 5, seed=1)
        fold = threading.Thread(target=upkeep.fold_log, args=(database,))
        fold.start()
        asking.play(ledger, 5, seed=2)
        fold.join(LONG)
        assert not fold.is_alive()
        assert reader.execute(select(schema.allocators.c.decisions)).scalar_one() == before, "the state it began with"
    log = file.with_name(f"{file.name}-wal")
    assert log.stat().st_size > MOST
    upkeep.fold_log(database)
    asking.play(ledger, 1, seed=3)
    assert log.stat().st_size <= MOST
    assert verify(database) == []
    database.close()
