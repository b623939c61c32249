"""`headgate verify` finds whatever was changed behind the log's back; backups carry everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from headgate.errors import InputError
from headgate.service import upkeep
from headgate.service.backup import backup, restore
from headgate.service.engine import changes
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Change
from headgate.service.spec import AllocatorSpec
from headgate.service.store import Database, open_database, schema
from headgate.service.verify import verify
from tests.service import asking, damage
from tests.service.conftest import new_database
from tests.service.harness import QUIZ, results


@pytest.fixture
def played(database: Database) -> Database:
    """A database with decisions of every kind: complete, partial, silent, scheduled, empty."""
    ledger = Ledger(database)
    asking.create(ledger)
    asking.create(ledger, "pair", reward="cascade", law={"name": "discrete-weibull", "shape": 1.2})
    asking.play(ledger, 12)
    asking.play(ledger, 5, name="pair")
    asking.decide(ledger, "silent")
    part = asking.decide(ledger, "part")["allocation"]
    arm = max(part, key=lambda name: part[name])
    ledger.answer([asking.tell("part", results({arm: part[arm]}, {arm}))])
    asking.decide(ledger, "nothing", 0.0)
    plan = asking.decide(ledger, "plan", None)["schedule"]
    ledger.answer([asking.tell("plan", {plan[0]["arm"]: {"success": False}}, spent=0.5 * plan[0]["amount"])])
    for key, share in (("slots", 0.4), ("done", 1.0), ("none", 0.0)):
        slots = asking.decide(ledger, key, None, switching=False)["schedule"]
        spent = share * sum(slot["amount"] for slot in slots)
        ledger.answer([asking.tell(key, {slots[0]["arm"]: {"success": False}} if spent else {}, spent=spent)])
    return database


def test_an_untouched_state_is_right(played: Database) -> None:
    assert verify(played) == []


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ("DELETE FROM evidence WHERE seq = 3", "evidence"),
        ("UPDATE allocators SET reward = reward + 1 WHERE id = 2", "reward"),
        ("UPDATE allocators SET complete = complete - 1", "complete"),
        ("UPDATE allocators SET given_units = given_units + 1", "given_units"),
        ("DELETE FROM waiting", "waiting"),
        ("DELETE FROM reports WHERE round = 3 AND allocator_id = 1", "evidence"),
        ("DELETE FROM reports WHERE round = 4; DELETE FROM waiting WHERE round = 4;"
         "DELETE FROM reasons WHERE round = 4;DELETE FROM decisions WHERE round = 4 AND allocator_id = 1", "round"),
    ],
)  # fmt: skip
def test_damage_is_found(played: Database, statements: str, words: str) -> None:
    with played.transaction() as connection:
        for statement in statements.split(";"):
            connection.execute(text(statement))
    assert any(words in line for line in verify(played))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (damage.more("number", 1, row=1, kind=1), "evidence"),
        (damage.more("total", -1, kind=2), "evidence"),
        (damage.without(row=0), "evidence"),
        (damage.without(row=schema.BUDGETS, kind=0), "how long budgets lasted"),
        (damage.more("total", 1, row=schema.BUDGETS, kind=2), "how long budgets lasted"),
    ],
)
def test_damage_of_the_evidence_is_found(
    played: Database, change: Callable[[damage.Cells], damage.Cells], words: str
) -> None:
    with played.transaction() as connection:
        damage.change_first(connection, change)
    assert any(words in line for line in verify(played))


@pytest.mark.parametrize(("part", "said"), [(1, '{"q1":null}'), (2, "{}")])
def test_reports_that_overlap_or_have_gaps_are_found(database: Database, part: int, said: str) -> None:
    """One more row in the log, which changes no sum: the same said again, or a part after one that is not there."""
    ledger = Ledger(database)
    asking.create(ledger, policy={"name": "uniform"})
    asking.decide(ledger, "d")
    ledger.answer([asking.tell("d", results(dict.fromkeys(("q1", "q2", "q3"), 1.0), set()))])
    assert verify(database) == []
    with database.transaction() as connection:
        again = {"allocator_id": 1, "round": 0, "part": part, "results": said, "recorded_at": 0, "by_expiry": False}
        connection.execute(schema.reports.insert().values(again))
    assert verify(database) == ["quiz: the reports of decision 'd' overlap or have gaps"]


def _rows(database: Database) -> dict[str, list[str]]:
    def read(connection: Connection) -> dict[str, list[str]]:
        return {t.name: sorted(map(str, connection.execute(t.select()))) for t in schema.metadata.sorted_tables}

    return database.look(read)


def test_a_backup_is_restored_and_goes_on(played: Database, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    rows = backup(played, file)
    with pytest.raises(InputError, match="never overwrites"):
        backup(played, file)
    other = open_database(f"sqlite:///{tmp_path / 'other.db'}")
    Ledger(other).answer([Change(upkeep.beat)])  # a service has run there, and nobody has asked it anything
    assert restore(file, other) == rows
    assert verify(other) == []
    assert _rows(played) == _rows(other)
    ledger = Ledger(other)
    asking.play(ledger, 3, seed=9)
    asking.create(ledger, "new")
    assert verify(other) == []
    with pytest.raises(InputError, match="not empty"):
        restore(file, other)
    other.close()


def test_a_backup_moves_to_the_other_kind(played: Database, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """From SQLite into PostgreSQL and from PostgreSQL into SQLite, through the file; there it goes on."""
    file = tmp_path / "backup.db"
    rows = backup(played, file)
    kind = "postgresql" if played.is_sqlite else "sqlite"
    other = open_database(new_database(request, kind, tmp_path / "moved.db"))
    assert other.is_sqlite != played.is_sqlite
    assert restore(file, other) == rows
    assert _rows(other) == _rows(played)
    with other.transaction() as connection:  # not by the ledger, which tries again: its number follows the copied ones
        assert changes.create(connection, "a test", "after", AllocatorSpec.model_validate(QUIZ))
    asking.play(Ledger(other), 3, seed=9)
    assert verify(other) == []
    other.close()
