"""Rows that go, after their time or with their subject: sums stay what they were, and what waits is not lost."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import func, select, text

import headgate as hg
from headgate.cli.app import run
from headgate.service import upkeep, views
from headgate.service.backup import backup, restore
from headgate.service.bodies import EvidenceBody, LiveRequest, StepReport
from headgate.service.edge_bodies import Push
from headgate.service.engine import pushes, removals
from headgate.service.engine.cells import read_evidence
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Change, Decide, LiveStep, Report
from headgate.service.faults import ConflictError, NotFoundError
from headgate.service.settings import Settings
from headgate.service.store import Database, open_database, schema
from headgate.service.store.keys import ANYBODY
from headgate.service.store.rows import row_of
from headgate.service.verify import verify
from headgate.service.why import why
from tests.service import asking
from tests.service.harness import QUIZ, results
from tests.service.test_retractions import BAD, FIXED, _retract

DAY = 86_400_000_000
COUNTERS = ("decisions", "reports", "complete", "reward", "budget_units", "given_units", "late")


def _state(database: Database, name: str = "quiz") -> tuple[list[int], list[Any], int]:
    """Counters, evidence of arms and of budgets, and how many rows of decisions there are."""

    def read(connection: Any) -> Any:
        row, table = row_of(connection, name), schema.decisions
        seen = [one.bins.tolist() for one in read_evidence(connection, row["id"], 3, 30.0)]
        rows = select(func.count()).select_from(table).where(table.c.allocator_id == row["id"])
        return [row[one] for one in COUNTERS], seen, connection.execute(rows).scalar_one()

    found: tuple[list[int], list[Any], int] = database.look(read)
    return found


def _older(database: Database, days: float) -> None:
    """Let everything so far have happened so many days earlier."""
    with database.transaction() as connection:
        for table, column in (("decisions", "created_at"), ("pushes", "pushed_at"), ("waiting", "expires_at")):
            connection.execute(text(f"UPDATE {table} SET {column} = {column} - {round(days * DAY)}"))  # noqa: S608  # ours


def _fold(ledger: Ledger) -> int:
    (answer,) = ledger.answer([Change(lambda c: removals.fold(c, "quiz"))])
    assert isinstance(answer, int), answer
    return answer


def _every_kind(ledger: Ledger) -> None:
    """Decisions that are over, of every kind, one of them late and one taken back and said again."""
    asking.play(ledger, 8)
    plan = asking.decide(ledger, "plan", None, switching=False)["schedule"]
    said = {step["arm"]: {"success": False} for step in plan}
    ledger.answer([asking.tell("plan", said, spent=sum(step["amount"] for step in plan))])
    ledger.answer([Decide("quiz", LiveRequest(budget=20.0, decision_id="live"))])
    ledger.answer([LiveStep("live", 0, StepReport(success=True, last=True))])
    made = asking.decide(ledger, "again")["allocation"]
    outcome = asking.tell("again", results(made, {"q1", "q2", "q3"})).outcome
    ledger.answer([Report("again", outcome, asker=BAD)])
    assert _retract(ledger).reports == 1
    ledger.answer([Report("again", outcome)])
    asking.decide(ledger, "nothing", 0.0)


def test_what_is_over_becomes_its_sum(database: Database, tmp_path: Path) -> None:
    ledger, other = Ledger(database), Ledger(database)
    asking.create(ledger, keep_days=1.0, feedback_deadline=1e-6)
    _every_kind(ledger)
    with database.transaction() as connection:  # a deadline that is yet to come, and one that has long passed
        connection.execute(text("UPDATE allocators SET spec = replace(spec, '1e-6', '600000.0'), config = config + 1"))
    waits = asking.decide(other, "waits")["allocation"]
    asking.decide(other, "expired")
    with database.transaction() as connection:
        long_ago = schema.waiting.update().where(schema.waiting.c.round == 13)
        connection.execute(long_ago.values(expires_at=schema.waiting.c.expires_at - 7 * DAY))
    _older(database, 2.0)
    part = asking.decide(ledger, "young")["allocation"]
    before = _state(database)
    assert _fold(ledger) == 13
    after = _state(database)
    assert after[:2] == before[:2]
    assert after[2] == 2, "the one that waits, and the young one"
    assert verify(database) == []
    assert _fold(ledger) == 0
    assert database.look(lambda c: views.allocator(c, "quiz")).counts.pending == 2
    for worker in (other, ledger, Ledger(database)):  # one of them remembers what is gone
        for report in (Report("quiz-0-1", asking.tell("x", {}).outcome, allocator="quiz"), asking.tell("expired", {})):
            assert isinstance(worker.answer([report])[0], NotFoundError)
    with pytest.raises(ConflictError, match="reports from after decision 'waits' are gone"):
        _explain_after_one_more(database, ledger)
    file = tmp_path / "backup.db"
    backup(database, file)
    moved = open_database(f"sqlite:///{tmp_path / 'moved.db'}")
    restore(file, moved)
    for place in (database, moved):
        worker = Ledger(place)
        told = worker.answer([asking.tell("waits", results(waits, {"q1"})), asking.tell("young", results(part, set()))])
        assert [json.loads(one)["complete"] for one in told] == [True, True]
        asking.play(worker, 2, seed=7)
        assert verify(place) == []
    moved.close()


def _explain_after_one_more(database: Database, ledger: Ledger) -> None:
    """A decision that waits and was made before a report that is gone."""
    asking.play(ledger, 1, seed=5)
    with database.transaction() as connection:
        connection.execute(text("UPDATE sums SET after = 100"))
    database.look(lambda c: why(c, "waits"))


@pytest.mark.parametrize("damage", ["UPDATE sums SET decisions = decisions - 1", "UPDATE sums SET reward = reward + 1",
                                    "UPDATE sums SET evidence = replace(evidence, '1,', '2,')", "DELETE FROM sums",
                                    "UPDATE sums SET retracted = 0", "DELETE FROM reasons;DELETE FROM decisions",
                                    ])  # fmt: skip
def test_verify_finds_a_sum_that_is_not_right(database: Database, damage: str) -> None:
    ledger = Ledger(database)
    asking.create(ledger, keep_days=1.0)
    _every_kind(ledger)
    _older(database, 2.0)
    asking.decide(ledger, "empty", 0.0)
    _fold(ledger)
    assert verify(database) == []
    with database.transaction() as connection:
        for statement in damage.split(";"):
            connection.execute(text(statement))
    assert verify(database)


def test_it_goes_page_by_page(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removals, "PAGE", 3)
    ledger = Ledger(database)
    asking.create(ledger, keep_days=1.0)
    asking.play(ledger, 7)
    _older(database, 2.0)
    before = _state(database)

    class Service:
        settings = Settings()

        async def glance(self, read: Any, *args: Any) -> Any:
            return database.look(lambda c: read(c, *args))

        async def change(self, make: Any, *args: Any) -> Any:
            return ledger.answer([Change(lambda c: make(c, *args))])[0]

    asyncio.run(upkeep.let_go(Service()))  # type: ignore[arg-type]  # as much of a service as it needs
    assert (*before[:2], 0) == _state(database)
    assert database.look(lambda c: row_of(c, "quiz")["removals"]) == 3
    assert verify(database) == []


def test_the_server_has_a_time_for_allocators_that_do_not_say(database: Database) -> None:
    """Their own counts before it; a fold of the whole log has none."""
    ledger = Ledger(database)
    asking.create(ledger)
    asking.create(ledger, "longer", keep_days=9.0)
    asking.create(ledger, "ordered", policy={"name": "thompson", "discount": 0.9})
    for name in ("quiz", "longer", "ordered"):
        asking.play(ledger, 3, name=name)
    _older(database, 5.0)
    assert database.look(removals.kept_for_a_time) == ["longer"]
    assert database.look(lambda c: removals.kept_for_a_time(c, 4.0)) == ["longer", "quiz"]
    for name, gone in (("quiz", 3), ("longer", 0)):
        (answer,) = ledger.answer([Change(partial(removals.fold, name=name, usual=4.0))])
        assert answer == gone
    assert _fold(ledger) == 0
    assert verify(database) == []


def test_pushes_are_emptied_and_still_counted(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger, keep_days=1.0)
    seen = hg.Evidence.of_rows([0], [8.0], [True], [3.1], arms=3, max_budget=30.0)
    made = {"decision_id": "e.0", "budget": 8.0, "allocation": {"q1": 8.0}, "made_at": "2026-01-01T12:00:00Z",
            "results": {"q1": {"success": True, "threshold": 3.1}}}  # fmt: skip
    body = EvidenceBody.model_validate(seen.to_dict(QUIZ["arms"]))
    pushed = Push.model_validate({"evidence": body.model_dump(), "decisions": [made]})
    push = Change(lambda c: pushes.push(c, "quiz", "e", 0, pushed))
    ledger.answer([push])
    before = _state(database)
    _older(database, 2.0)
    _fold(ledger)
    assert database.look(lambda c: c.execute(select(schema.pushes.c.decisions)).scalar_one()) == "[]"
    assert ledger.answer([push])[0].repeated
    assert _state(database) == before
    assert verify(database) == []


@pytest.mark.parametrize("evidence", ["keep", "subtract"])
def test_a_subject_is_forgotten(database: Database, evidence: Any) -> None:
    """Subtracted, all is as with a twin whose subject was never heard of; kept, as it was."""
    ledger, other = Ledger(database), Ledger(database)
    for name in ("quiz", "twin"):
        asking.create(ledger, name, policy=FIXED)
        for i in range(6):
            subject = "ann" if i % 2 else "bob"
            made = asking.decide(other, f"d{i}", 20.0, name, subject=subject)["allocation"]
            if i < 4 and (name, subject) != ("twin", "ann"):  # the last ones wait
                said = asking.tell("d", results(made, {"q2"})).outcome
                other.answer([Report(f"d{i}", said, allocator=name)])
    before = _state(database)

    def forget() -> Any:
        return ledger.answer([Change(lambda c: removals.forget(c, "a test", "quiz", "ann", evidence))])[0]

    assert forget().decisions == 3
    assert forget().decisions == 0
    expected = before if evidence == "keep" else _state(database, "twin")
    counters, seen, rows = _state(database)
    assert seen == expected[1]
    assert counters[2:] == expected[0][2:]
    assert rows == 3
    assert database.look(lambda c: views.allocator(c, "quiz")).counts.pending == 1
    for worker in (ledger, other):
        assert isinstance(
            worker.answer([Report("d1", asking.tell("d", {}).outcome, allocator="quiz")])[0], NotFoundError
        )
    everything = database.look(lambda c: [str(c.execute(one.select()).all()) for one in schema.metadata.sorted_tables])
    assert sum(shown.count("ann") for shown in everything) == database.look(
        lambda c: str(c.execute(schema.decisions.select().where(schema.decisions.c.allocator_id == 2)).all()).count(
            "ann"
        )
    ), "it is nowhere but with the twin"
    assert verify(database) == []
    asking.play(ledger, 2)
    assert verify(database) == []


@pytest.mark.parametrize("evidence", ["keep", "subtract", None])
def test_what_is_compared_follows(database: Database, evidence: Any) -> None:
    """Sums by mode, of decisions that are taken back, that go after their time, or with their subject."""
    ledger = Ledger(database)
    asking.create(ledger, baseline="even", holdout=0.4, keep_days=1.0)
    for i in range(12):
        made = asking.decide(ledger, f"d{i}", subject="ann" if i % 2 else "bob")["allocation"]
        said = asking.tell(f"d{i}", results(made, {"q1", "q2"})).outcome
        ledger.answer([Report(f"d{i}", said, asker=BAD if i % 3 == 0 else ANYBODY)])

    def modes() -> dict[str, tuple[int, int]]:
        table = schema.modes
        rows = database.look(lambda c: c.execute(select(table.c.mode, table.c.decisions, table.c.complete)).all())
        return {mode: (decisions, complete) for mode, decisions, complete in rows}

    assert _retract(ledger).reports == 4
    before = modes()
    assert sum(complete for _, complete in before.values()) == 8
    assert verify(database) == []
    if evidence is None:
        _older(database, 3.0)
        assert _fold(ledger) == 12, "and those that were taken back: their deadline is as long ago"
    else:
        ledger.answer([Change(lambda c: removals.forget(c, "a test", "quiz", "ann", evidence))])
    assert (modes() == before) == (evidence != "subtract")
    assert sum(made for made, _ in modes().values()) == 12
    assert verify(database) == []
    asking.play(ledger, 3)
    assert verify(database) == []


def test_on_the_command_line(sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    database = open_database(sqlite_url)
    asking.create(Ledger(database))
    asking.decide(Ledger(database), "d", subject="ann")
    assert run(["forget", "*", "ann", "--subtract", "-d", sqlite_url]) == 0
    assert run(["forget", "quiz", "ann", "-d", sqlite_url]) == 0
    assert capsys.readouterr().out == "quiz: 1 decisions are gone\nquiz: 0 decisions are gone\n"
    assert verify(database) == []
    database.close()


def test_over_http(client: httpx.Client) -> None:
    for wrong in (0, -1, "90", 1e9):
        refused = client.put("/v1/allocators/quiz", json=QUIZ | {"keep_days": wrong})
        assert (refused.status_code, refused.json()["error"]["fields"][0]["field"]) == (422, "keep_days")
    ordered = QUIZ | {"policy": {"name": "thompson", "discount": 0.9}}
    refused = client.put("/v1/allocators/quiz", json=ordered | {"keep_days": 90})
    assert (refused.status_code, refused.json()["error"]["fields"][0]["field"]) == (422, "keep_days")
    client.put("/v1/allocators/ordered", json=ordered).raise_for_status()
    assert client.delete("/v1/allocators/ordered/subjects/ann").status_code == 409
    assert client.get("/v1/allocators").json()["allocators"][0]["name"] == "ordered", "nothing was stored of the others"
    with hg.Client(str(client.base_url)) as caller:
        caller.put_allocator("quiz", QUIZ["arms"], QUIZ["law"], 30.0, keep_days=90.0)
        made = caller.decide("quiz", 20.0, subject="ann")
        assert caller.change("quiz", keep_days=30.0).version == 1
        assert caller.why(made).decision_id == made.decision_id, "how long it is kept explains nothing"
        assert client.delete("/v1/allocators/quiz/subjects/ann?evidence=maybe").status_code == 422
        assert caller.forget("quiz", "ann") == 1
        assert caller.forget("quiz", "ann", evidence="subtract") == 0
        assert client.get(f"/v1/decisions/{made.decision_id}").status_code == 404
    assert np.isclose(client.get("/v1/allocators/quiz").json()["spec"]["keep_days"], 30.0)
