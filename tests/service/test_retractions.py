"""Reports that are taken back: evidence, counters and states are as if nobody had sent them, and the log still says it.

The other way to the same numbers is a twin: the same decisions, and only the reports that remain.
"""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import func, select, text

import headgate as hg
from headgate.cli.app import run
from headgate.errors import InputError
from headgate.service import clock, upkeep, views
from headgate.service.bodies import EvidenceBody, LiveRequest, Outcome, StepReport
from headgate.service.edge_bodies import Push
from headgate.service.engine import changes, pushes, retractions, versions
from headgate.service.engine.cells import read_evidence
from headgate.service.engine.learner import Learner
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Change, Decide, LiveStep, Report
from headgate.service.faults import ConflictError, RefusedError
from headgate.service.record_bodies import PushOf, RetractionAnswer, RetractionRequest
from headgate.service.spec import AllocatorChange
from headgate.service.store import Database, open_database, schema
from headgate.service.store.keys import Asker
from headgate.service.store.rows import row_of
from headgate.service.verify import verify
from headgate.service.why import why
from tests.service import asking, damage
from tests.service.harness import QUIZ, results

BAD, GOOD = Asker("bad"), Asker("good")
FIXED = {"name": "oracle", "activation": 0.5, "rate": [0.05, 0.1, 0.2]}
COUNTERS = ("decisions", "complete", "reward", "budget_units", "given_units", "late")


def _retract(ledger: Ledger, key: str = "r", name: str = "quiz", **said: Any) -> RetractionAnswer:
    body = RetractionRequest.model_validate(said or {"key": "bad"})
    (answer,) = ledger.answer([Change(lambda c: retractions.retract(c, "a test", name, key, body))])
    if isinstance(answer, Exception):
        raise answer
    assert isinstance(answer, RetractionAnswer)
    return answer


def _state(database: Database, name: str) -> list[Any]:
    """Counters, evidence of arms and of budgets, and how many decisions wait."""

    def read(connection: Any) -> Any:
        row, table = row_of(connection, name), schema.waiting
        arms, budgets = read_evidence(connection, row["id"], 3, 30.0)
        waiting = select(func.count()).select_from(table).where(table.c.allocator_id == row["id"])
        return [
            [row[one] for one in COUNTERS], arms.bins, budgets.bins, connection.execute(waiting).scalar_one()
        ]  # fmt: skip

    found: list[Any] = database.look(read)
    return found


def _same(database: Database) -> None:
    one, other = (_state(database, name) for name in ("quiz", "twin"))
    for had, has in zip(one, other, strict=True):
        assert np.array_equal(had, has)


def _mixed(ledger: Ledger, rounds: int = 24) -> dict[str, Report]:
    """Rounds of two keys in parts, schedules among them, to `quiz`; to `twin` only what the good one said.

    Splits do not depend on what was heard, so that the twin has the same. Return the last word of the bad key on each.
    """
    rng, last = random.Random(3), {}  # noqa: S311  # a shuffle for a test
    for name in ("quiz", "twin"):
        asking.create(ledger, name, policy=FIXED, feedback_deadline=1e-6)
    for i in range(rounds):
        plan = i % 4 == 3
        more = {"switching": False} if i == 3 else {}  # the first plan: later ones know how long budgets last
        made = [asking.decide(ledger, f"d{i}", None if plan else 20.0, name, **more) for name in ("quiz", "twin")]
        spent = 12.0 if plan else None
        given = {step["arm"]: 1.0 for step in made[0]["schedule"]} if plan else made[0]["allocation"]
        said = results({arm: x for arm, x in given.items() if x > 0.0}, {"q1"} if rng.random() < 0.6 else set())
        if plan:
            said = {arm: {"success": False} for arm in said}
        arms = rng.sample(sorted(said), len(said))
        parts = [arms[:1], arms[1:]]
        keys = [BAD, GOOD] if i == 3 else [rng.choice((BAD, GOOD)) for _ in parts]
        for place, (part, key) in enumerate(zip(parts, keys, strict=True)):
            outcome = Outcome.model_validate({"results": {arm: said[arm] for arm in part}, "spent": spent})
            ledger.answer([Report(f"d{i}", outcome, allocator="quiz", asker=key)])
            # Without the word on what was spent, which came first, later ones mean nothing.
            if key is GOOD and not (plan and keys[0] is BAD):
                ledger.answer([Report(f"d{i}", outcome, allocator="twin", asker=key)])
            elif place == 0 or not plan:
                last[f"d{i}"] = Report(f"d{i}", outcome, allocator="quiz", asker=GOOD)
    return last


def test_it_is_as_if_nobody_had_sent_them(database: Database) -> None:
    ledger, other = Ledger(database), Ledger(database)
    last = _mixed(ledger)
    asking.decide(other, "warm")  # a worker that has seen the bad reports
    asking.decide(other, "warm", name="twin")
    answer = _retract(ledger)
    assert answer.reports >= 8
    assert verify(database) == []
    _same(database)
    again = _retract(other)
    assert (again.repeated, again.reports) == (True, answer.reports)
    _same(database)
    with pytest.raises(ConflictError, match="with another body"):
        _retract(ledger, key="r", since="2020-01-01T00:00:00Z")
    for worker, report in zip((ledger, other) * len(last), last.values(), strict=False):  # corrected ones, by either
        first, repeat = worker.answer([report]), worker.answer([report])
        assert json.loads(first[0])["accepted"]
        assert not json.loads(repeat[0])["accepted"]
        worker.answer([Report(report.decision_id, report.outcome, allocator="twin")])
    _same(database)
    assert _retract(ledger, "r2").reports == 0, "corrected reports came with another key"
    assert verify(database) == []


def test_a_time_takes_back_what_was_heard_in_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    asking.play(ledger, 4, seed=1)
    middle = datetime.now(UTC)
    before = _state(database, "quiz")[1]
    asking.play(ledger, 4, seed=2)
    assert _retract(ledger, until=middle - timedelta(days=1)).reports == 0
    answer = _retract(ledger, "r2", since=middle)
    assert answer.reports == 4
    assert np.array_equal(_state(database, "quiz")[1], before)
    assert verify(database) == []
    (item, late) = database.look(lambda c: retractions.retractions(c, "quiz")).retractions
    assert (item.reports, late.reports, late.request.since) == (0, 4, middle)


@pytest.mark.parametrize("statement", ["DELETE FROM reports WHERE retracts IS NOT NULL AND round = {0}",
                                    "UPDATE reports SET results = '{{}}' WHERE retracts IS NOT NULL AND round = {0}",
                                    "UPDATE retractions SET reports = reports - 1"])  # fmt: skip
def test_verify_finds_a_retraction_that_is_not_whole(database: Database, statement: str) -> None:
    ledger = Ledger(database)
    _mixed(ledger, 6)
    _retract(ledger)
    with database.transaction() as connection:
        first = select(func.min(schema.reports.c.round)).where(schema.reports.c.retracts.is_not(None))
        connection.execute(text(statement.format(connection.execute(first).scalar_one())))
    assert verify(database)


def test_verify_finds_evidence_that_did_not_follow_a_retraction(database: Database) -> None:
    ledger = Ledger(database)
    _mixed(ledger, 6)
    _retract(ledger)
    assert verify(database) == []
    with database.transaction() as connection:
        damage.change_first(connection, damage.more("number", 1, row=2, kind=1))
    assert verify(database)


def test_silence_that_is_taken_back_is_waited_for_again(database: Database) -> None:
    """Where silence counts as failure, the deadline begins anew: it would be counted again at once."""
    ledger = Ledger(database)
    asking.create(ledger, on_expiry="failure", feedback_deadline=1e-6)
    asking.decide(ledger, "d")
    for _, _, key, name in database.look(lambda c: upkeep.silent(c, (-1, -1))):
        ledger.answer([Report(key, None, allocator=name)])
    with database.transaction() as connection:
        connection.execute(text("UPDATE allocators SET spec = replace(spec, '1e-6', '1000.0')"))
        connection.execute(text("UPDATE allocators SET config = config + 1"))
    assert _retract(ledger, since="2020-01-01T00:00:00Z").reports == 1
    assert database.look(lambda c: upkeep.silent(c, (-1, -1))) == []
    assert database.look(lambda c: c.execute(select(schema.waiting.c.expires_at)).scalar_one()) > clock.now() + 10**8
    assert verify(database) == []


@pytest.mark.parametrize("policy", [{"name": "thompson", "discount": 0.95}, {"name": "mara"}])
def test_policies_that_are_folds_of_the_log_learn_again(database: Database, policy: dict[str, Any]) -> None:
    """A worker that has learned the bad reports, and one that begins, decide alike; `verify` makes all decisions."""
    ledger = Ledger(database)
    asking.create(ledger, policy=policy, law="exponential")
    made = {}
    for i in range(12):
        made[i] = asking.decide(ledger, f"d{i}")["allocation"]
        said = asking.tell(f"d{i}", results(made[i], {"q1", "q3"} if i % 3 else {"q2"})).outcome
        ledger.answer([Report(f"d{i}", said, asker=BAD if i % 2 else GOOD)])
        if i == 8:
            assert _retract(ledger).reports == 4
    assert _retract(ledger, "r2").reports == 2
    row = database.look(lambda c: dict(row_of(c, "quiz")))
    states = []
    for worker in (ledger, Ledger(database)):
        asking.decide(worker, "same")
        states.append(worker.memory.learners[row["id"]].state.to_dict())
    assert states[0] == states[1]
    assert database.look(lambda c: Learner(c, row_of(c, "quiz"))).state.to_dict() == states[0]
    assert verify(database) == []
    with database.transaction() as connection:
        connection.execute(text("UPDATE retractions SET after = after - 3 WHERE number = 0"))
    assert any("is not what its policy decides" in line for line in verify(database)), "it knows when that was"


@pytest.mark.parametrize("later", [False, True], ids=["from the start", "begun later"])
def test_a_guard_goes_on_after_a_retraction(database: Database, later: bool) -> None:
    """Its state is a fold of the log: workers that knew the bad reports, and one that begins, are guarded alike."""
    guard = {"share": 0.95, "delta": 0.1}
    one, other = Ledger(database), Ledger(database)
    begins: dict[str, Any] = {} if later else {"guard": guard}
    asking.create(one, baseline="even", holdout=0.2, **begins)

    def play(worker: Ledger, rounds: range) -> None:
        for i in rounds:
            made = asking.decide(worker, f"d{i}")["allocation"]
            said = asking.tell(f"d{i}", results(made, {"q1", "q3"} if i % 3 else {"q2"})).outcome
            worker.answer([Report(f"d{i}", said, asker=BAD if i % 2 else GOOD)])

    play(one, range(8))
    if later:
        change = AllocatorChange.model_validate({"guard": guard})
        assert one.answer([Change(lambda c: versions.change(c, "a test", "quiz", change))]) == [True]
    play(other, range(8, 14))
    assert _retract(one).reports == 7
    assert verify(database) == []
    play(other, range(14, 20))
    play(one, range(20, 24))
    assert _retract(other, "r2").reports == 5
    row = database.look(lambda c: dict(row_of(c, "quiz")))
    states = []
    for worker in (one, other, Ledger(database)):
        asking.decide(worker, "same")
        states.append(worker.memory.learners[row["id"]].state.to_dict())
    assert states[0] == states[1] == states[2]
    assert verify(database) == []


def test_a_live_round_that_is_taken_back_is_corrected_by_an_outcome(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    ledger.answer([Decide("quiz", LiveRequest(budget=20.0, decision_id="l"))])
    ledger.answer([LiveStep("l", 0, StepReport(success=True, last=True), asker=BAD)])
    ledger.answer([Decide("quiz", LiveRequest(budget=20.0, decision_id="open"))])
    before = database.look(lambda c: views.live(c, "open"))
    assert _retract(ledger).reports == 1
    assert not _state(database, "quiz")[1].any()
    assert database.look(lambda c: views.live(c, "open")) == before, "a round that is under way goes on"
    assert not database.look(lambda c: views.decision(c, "l")).complete
    ends = select(schema.waiting.c.expires_at).where(schema.waiting.c.round == 0)
    assert database.look(lambda c: c.execute(ends).scalar_one()) is None, "no deadline ends it again"
    for said, words in (({"q1": {"success": False}}, "what the arm got"), ({"x": {"success": False}}, "no arm 'x'")):
        (refused,) = ledger.answer([asking.tell("l", said)])
        assert isinstance(refused, RefusedError)
        assert words in str(refused)
    (answer,) = Ledger(database).answer([asking.tell("l", {"q1": {"success": False, "amount": 6.0}})])
    assert json.loads(answer)["complete"]
    (over,) = ledger.answer([asking.tell("l", {"q2": {"success": False, "amount": 6.0}})])
    assert isinstance(over, ConflictError), "a live round has one report"
    assert verify(database) == []


def test_imports_and_pushes_are_taken_back_for_good(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    asking.play(ledger, 3)
    before = _state(database, "quiz")[1]
    seen = hg.Evidence.of_rows([0, 1], [8.0, 3.0], [True, False], [3.1, np.nan], arms=3, max_budget=30.0)
    body = EvidenceBody.model_validate(seen.to_dict(QUIZ["arms"]))
    push = Change(lambda c: pushes.push(c, "quiz", "e", 0, Push(evidence=body), BAD))
    ledger.answer([push])
    ledger.answer([Change(lambda c: changes.import_evidence(c, "a test", "quiz", "i", body, asker=BAD))])
    asking.decide(ledger, "between")
    answer = _retract(ledger)
    assert (answer.imports, answer.pushes, answer.trials) == (["i"], [PushOf(edge="e", number=0)], 4)
    assert np.array_equal(_state(database, "quiz")[1], before)
    (again,) = ledger.answer([push])
    assert again.repeated, "the edge is told that it was heard, and it counts no more"
    assert np.array_equal(_state(database, "quiz")[1], before)
    assert _retract(ledger, "r2").trials == 0
    assert verify(database) == []
    asking.decide(ledger, "after")
    known = {key: database.look(lambda c, key=key: why(c, key)) for key in ("between", "after")}  # type: ignore[misc]
    trials = {key: sum(arm.trials for arm in found.arms) for key, found in known.items()}
    assert trials["between"] == trials["after"] + 4, "what was known then is not what is known now"


def test_on_the_command_line(sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    database = open_database(sqlite_url)
    for name in ("shop-1", "shop-2", "bank"):
        asking.create(Ledger(database), name)
        asking.play(Ledger(database), 2, name=name)
    command = ["retract", "shop-*", "--since", "2020-01-01T00:00:00Z", "-d", sqlite_url]
    assert run(command) == 0
    line = "2 reports, 0 imports and 0 pushes taken back"
    assert [words.startswith(f"shop-{i}: {line}") for i, words in enumerate(capsys.readouterr().out.splitlines(), 1)]
    run(command)
    assert capsys.readouterr().out.count("(it had been before)") == 2
    for wrong, words in ((["retract", "bank"], "must say what to take back"), (["retract", "x", "--key", "a"], "'x'")):
        with pytest.raises(InputError, match=words):
            run([*wrong, "-d", sqlite_url])
    assert database.look(lambda c: views.allocator(c, "bank")).counts.complete == 2
    assert verify(database) == []
    database.close()


def test_over_http(client: httpx.Client) -> None:
    client.put("/v1/allocators/quiz", json=QUIZ).raise_for_status()
    made = client.post("/v1/allocators/quiz/decisions", json={"budget": 20.0, "decision_id": "d"}).json()
    client.post("/v1/decisions/d/outcome", json={"results": results(made["allocation"], {"q1"})}).raise_for_status()
    with hg.Client(str(client.base_url)) as caller:
        for wrong, field in (({}, "body"), ({"key": ""}, "key"), ({"since": "soon"}, "since"), ({"keys": "a"}, "keys"),
                             ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "body")):  # fmt: skip
            refused = client.put("/v1/allocators/quiz/retractions/r", json=wrong)
            assert refused.status_code == 422
            assert [one["field"] for one in refused.json()["error"]["fields"]] == [field]
        assert caller.retractions("quiz") == []
        answer = caller.retract("quiz", "r", since=datetime(2026, 1, 1, tzinfo=UTC), reason="a test")
        assert (answer.reports, answer.repeated) == (1, False)
        assert caller.retract("quiz", "r", since=datetime(2026, 1, 1, tzinfo=UTC), reason="a test").repeated
        assert [one.retraction_id for one in caller.retractions("quiz")] == ["r"]
        assert caller.allocator("quiz").counts.complete == 0
        assert caller.report("d", {arm: None for arm, x in made["allocation"].items() if x > 0.0}).complete
