"""What an arm really got: evidence is censored there, whatever was asked for it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import numpy as np
import pytest

import headgate as hg
from headgate.service import views
from headgate.service.engine.queue import Ledger
from headgate.service.faults import ConflictError, RefusedError, ServiceError
from headgate.service.settings import Settings
from headgate.service.store import Database, open_database
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import QUIZ, running

EVEN: dict[str, Any] = {"policy": {"name": "uniform"}}


def _told(answer: Any) -> Any:
    return answer if isinstance(answer, Exception) else json.loads(answer)["accepted"]


def test_evidence_is_of_what_was_delivered(database: Database) -> None:
    """Less, more and nothing; counters and evidence are those of a learner that was told the same."""
    ledger = Ledger(database)
    asking.create(ledger, **EVEN)
    asking.decide(ledger, "d", 30.0)
    said = {
        "q1": {"success": False, "amount": 3.0},
        "q2": {"success": True, "threshold": 14.0, "amount": 15.0},
        "q3": {"success": False, "amount": 0.0},
    }
    assert _told(ledger.answer([asking.tell("d", said)])[0]) == ["q1", "q2", "q3"]
    expected = hg.Evidence.empty(3, 30.0)
    expected.record([3.0, 15.0, 0.0], hg.Feedback([False, True, False], [np.nan, 14.0, np.nan]))
    (learner,) = ledger.memory.learners.values()
    assert np.array_equal(learner.evidence.bins, expected.bins)
    counts = database.look(lambda c: views.allocator(c, "quiz")).counts
    assert (counts.complete, counts.reward, counts.budget) == (1, 1, 30.0)
    assert counts.given == pytest.approx(18.0, rel=1e-5)
    heard = database.look(lambda c: views.decision(c, "d"))
    assert heard.results["q2"] == {"success": True, "threshold": 14.0, "amount": 15.0}
    assert verify(database) == []


def test_of_what_an_arm_got_its_whole_units_count(sqlite_url: str) -> None:
    """2.7 calls are 2 calls, for the engine and for those who count again."""
    database = open_database(sqlite_url)
    ledger = Ledger(database)
    asking.create(ledger, law={"name": "discrete-weibull", "shape": 0.8}, **EVEN)
    asking.decide(ledger, "d", 30.0)
    assert _told(ledger.answer([asking.tell("d", {"q1": {"success": False, "amount": 2.7}})])[0]) == ["q1"]
    expected = hg.Evidence.empty(3, 30.0)
    expected.record([2.0, 0.0, 0.0], hg.Feedback([False] * 3, [np.nan] * 3, [True, False, False]))
    (learner,) = ledger.memory.learners.values()
    assert np.array_equal(learner.evidence.bins, expected.bins)
    assert verify(database) == []
    database.close()


@pytest.mark.parametrize(
    ("first", "again", "error"),
    [
        ({"success": False, "amount": 3.0}, {"success": False, "amount": 3.0}, None),
        ({"success": False, "amount": 3.0}, {"success": False}, ConflictError),
        ({"success": False, "amount": 3.0}, {"success": False, "amount": 4.0}, ConflictError),
        ({"success": False}, {"success": False, "amount": 10.0}, None),  # which is what it was given
        ({"success": False}, {"success": False, "amount": 9.0}, ConflictError),
    ],
)
def test_the_first_word_about_an_amount_wins(database: Database, first: Any, again: Any, error: Any) -> None:
    ledger = Ledger(database)
    asking.create(ledger, **EVEN)
    asking.decide(ledger, "d", 30.0)
    assert _told(ledger.answer([asking.tell("d", {"q1": first})])[0]) == ["q1"]
    for worker in (ledger, Ledger(database)):
        second = _told(worker.answer([asking.tell("d", {"q1": again})])[0])
        assert second == [] if error is None else isinstance(second, error)
    assert verify(database) == []


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"success": False, "amount": 30.1}, "results.q1.amount"),
        ({"success": True, "amount": 0.0}, "results.q1"),
        ({"success": True, "threshold": 4.0, "amount": 3.0}, "results.q1.threshold"),
    ],
)
def test_an_amount_that_cannot_be_is_refused(database: Database, said: Any, field: str) -> None:
    ledger = Ledger(database)
    asking.create(ledger, **EVEN)
    asking.decide(ledger, "d", 30.0)
    (refused,) = ledger.answer([asking.tell("d", {"q1": said})])
    assert isinstance(refused, RefusedError)
    assert refused.field == field
    assert verify(database) == []


def test_an_arm_that_was_given_nothing_may_have_got_something(database: Database) -> None:
    """Also after the decision was complete: reward and evidence follow, and `verify` agrees."""
    ledger = Ledger(database)
    asking.create(ledger, arms=["q1", {"name": "q2", "upper": 0.0}, "q3"], **EVEN)
    asking.decide(ledger, "d", 20.0)
    failed = {arm: {"success": False} for arm in ("q1", "q3")}
    assert json.loads(ledger.answer([asking.tell("d", failed)])[0])["complete"]
    (more,) = ledger.answer([asking.tell("d", {"q2": {"success": True, "threshold": 1.0, "amount": 2.0}})])
    assert json.loads(more)["complete"]
    asking.decide(ledger, "nothing", 0.0)
    assert not isinstance(
        ledger.answer([asking.tell("nothing", {"q1": {"success": True, "amount": 2.0}})])[0], ServiceError
    )
    counts = database.look(lambda c: views.allocator(c, "quiz")).counts
    assert (counts.complete, counts.reward) == (2, 2)
    assert counts.given == pytest.approx(24.0, rel=1e-5)
    assert verify(database) == []


def test_a_tenth_that_is_delivered_does_not_pass_for_the_whole(sqlite_url: str) -> None:
    """Asked 10, delivered 3: p = .9 is not known from that; said without amounts it would be, and wrong."""
    rng, p, rate = np.random.default_rng(8), 0.9, 0.2
    with running(Settings(database=sqlite_url, keys=False)) as client:
        put = QUIZ | {"arms": ["a"], "law": "exponential", "max_budget": 10.0} | EVEN
        assert client.put("/v1/allocators/ad", json=put).status_code == 201
        outcomes = []
        asked = [{"budget": 10.0, "decision_id": f"d{i}"} for i in range(1000)]
        assert client.post("/v1/allocators/ad/decisions/batch", json={"decisions": asked}).is_success
        for i in range(1000):
            threshold = rng.exponential(1.0 / rate) if rng.random() < p else np.inf
            said: dict[str, Any] = {"success": bool(threshold <= 3.0), "amount": 3.0}
            if said["success"]:
                said["threshold"] = threshold
            outcomes.append({"decision_id": f"d{i}", "results": {"a": said}})
        assert client.post("/v1/outcomes", json={"outcomes": outcomes}).is_success
        (arm,) = client.get("/v1/allocators/ad/estimates").json()["arms"]
        low, high = arm["activation_interval"]
        assert low < p < high, "the interval, which covers in nine of ten samples, covers here"


def test_allocators_with_one_body_do_not_explore_alike(database: Database) -> None:
    """Each has a seed of its own, stored; the same in every worker; and a policy's own seed counts."""
    ledger = Ledger(database)
    names = [f"quiz-{i}" for i in range(5)]
    for name in names:
        asking.create(ledger, name)
    first = {tuple(asking.decide(ledger, f"{name}-0", name=name)["allocation"].values()) for name in names}
    assert len(first) == 5
    asking.create(ledger, "seeded", policy={"name": "thompson", "seed": 7})
    seeds = {row.name: row.seed for row in database.look(views.allocators)}
    assert seeds["seeded"] == 7
    assert len(set(seeds.values())) == 6
    old, new = ledger, Ledger(database)
    asking.decide(old, "next", name="quiz-3")
    asking.decide(new, "after", name="quiz-3")
    assert new.memory.learners[4].policy.seed == old.memory.learners[4].policy.seed == seeds["quiz-3"]


def test_amounts_are_described(refusing: httpx.Client) -> None:
    fields = refusing.get("/openapi.json").json()["components"]["schemas"]["ArmResult"]["properties"]
    assert "really got" in fields["amount"]["description"]
