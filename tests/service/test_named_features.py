"""Features over HTTP: named, checked against what the policy declares, learned from in the order of the log."""

from __future__ import annotations

import json
from typing import Any

import httpx
import numpy as np
import pytest

import headgate as hg
from headgate.service import views
from headgate.service.bodies import LiveRequest, StepReport
from headgate.service.engine import learner
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Decide, LiveStep
from headgate.service.spec import AllocatorSpec, build_policy, resolved_arms, seed_of
from headgate.service.store import Database, open_database
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import QUIZ, results

DECLARED = {"numbers": ["age"], "categories": {"job": ["cook", "nurse"]}, "missing": ["age"]}
KNOWN: dict[str, Any] = {"policy": {"name": "contextual", "features": DECLARED}, "law": "exponential"}
ARMS: list[str] = QUIZ["arms"]


def _round(i: int) -> dict[str, Any]:
    """What is known of a round, and of one of its arms."""
    rng = np.random.default_rng(i)
    said: dict[str, Any] = {"features": {"age": float(rng.integers(20, 60)), "job": str(rng.choice(["cook", "pilot"]))}}
    if i % 2:
        said["arm_features"] = {"q2": {"job": "nurse", "age": None}}
    return said


def _records(said: dict[str, Any]) -> list[dict[str, Any]]:
    return [said["features"] | said.get("arm_features", {}).get(arm, {}) for arm in ARMS]


def test_decisions_are_those_of_the_library(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers, reports in parts and out of order; a restart goes on from a kept state; the log is verified."""
    monkeypatch.setattr(learner, "_KEEP_EVERY", 10)
    database = open_database(sqlite_url)
    asking.create(Ledger(database), **KNOWN)
    spec = AllocatorSpec.model_validate(QUIZ | KNOWN)
    policy = build_policy(spec, resolved_arms(spec), seed_of(spec, "quiz"))
    ledgers, made, owed = [Ledger(database) for _ in range(2)], [], []
    for i in range(14):
        given = asking.decide(ledgers[i % 2], f"d{i}", **_round(i))["allocation"]
        assert given == dict(zip(ARMS, policy.allocate(20.0, features=_records(_round(i))).tolist(), strict=True))
        made.append(given)
        owed.append(i)
        if i % 3 == 2:  # the last first, each arm by itself
            while owed:
                j = owed.pop()
                for arm, result in results(made[j], {ARMS[j % 3]}).items():
                    ledgers[j % 2].answer([asking.tell(f"d{j}", {arm: result})])
                    told = [name == arm for name in ARMS]
                    won = [name == arm and result["success"] for name in ARMS]
                    x = [made[j][name] if name == arm else 0.0 for name in ARMS]
                    seen = [result["threshold"] if w else np.nan for w in won]
                    policy.observe(x, hg.Feedback(won, seen, told), features=_records(_round(j)))
    fresh = asking.decide(Ledger(database), "next", **_round(99))["allocation"]
    assert fresh == dict(zip(ARMS, policy.allocate(20.0, features=_records(_round(99))).tolist(), strict=True))
    assert verify(database) == []
    found = database.look(lambda c: views.estimates(c, "quiz", None, 0.9))
    assert sum(arm.trials for arm in found.arms) > 0
    database.close()


def test_features_are_learned_from(sqlite_url: str) -> None:
    """Nurses succeed at once, cooks never: after some rounds the budget goes to the nurse's arm."""
    database = open_database(sqlite_url)
    ledger = Ledger(database)
    asking.create(ledger, **KNOWN)
    rng = np.random.default_rng(0)
    share = []
    for i in range(40):
        lucky = str(rng.choice(ARMS))
        known = {arm: {"job": "nurse" if arm == lucky else "cook", "age": 30} for arm in ARMS}
        given = asking.decide(ledger, f"d{i}", arm_features=known)["allocation"]
        share.append(given[lucky] / 20.0)
        ledger.answer([asking.tell(f"d{i}", results(given, {lucky}))])
    assert np.mean(share[:3]) < 0.5
    assert np.mean(share[-10:]) > 0.6
    database.close()


def test_a_live_round_takes_features(sqlite_url: str) -> None:
    database = open_database(sqlite_url)
    ledger = Ledger(database)
    asking.create(ledger, **KNOWN)
    for i in range(3):
        request = LiveRequest(budget=20.0, decision_id=f"l{i}", **_round(i))
        (answer,) = ledger.answer([Decide("quiz", request)])
        state = json.loads(answer)
        while state["step"] is not None:
            step = LiveStep(f"l{i}", state["step"]["number"], StepReport(success=state["step"]["number"] % 2 == 0))
            (answer,) = ledger.answer([step])
            state = json.loads(answer)
    assert verify(database) == []
    (one,) = ledger.memory.learners.values()
    assert one.state.evidence.counts("played").sum() > 0
    assert np.abs(one.state.vector).sum() > 0.0
    database.close()


@pytest.mark.parametrize(
    ("more", "field", "rule"),
    [
        ({}, "features", "job is missing, and was not declared to be"),
        ({"features": {"job": 7}}, "features", "job must be a category"),
        ({"features": {"job": "cook", "age": "old"}}, "features", "age must be a number"),
        ({"features": {"job": "cook", "height": 1}}, "features", "height was not declared"),
        ({"features": {"job": "cook"}, "arm_features": {"q9": {}}}, "arm_features", "no arm 'q9'"),
        ({"features": {"job": "cook"}, "arm_features": {"q2": {"job": 1}}}, "arm_features.q2", "arm 'q2': job must be"),
    ],
)
def test_wrong_features_are_refused_by_name(refusing: httpx.Client, more: Any, field: str, rule: str) -> None:
    created = refusing.put("/v1/allocators/known", json=QUIZ | KNOWN)
    assert created.status_code in {200, 201}, created.text
    for path in ("decisions", "live"):
        answer = refusing.post(f"/v1/allocators/known/{path}", json={"budget": 20.0} | more)
        assert answer.status_code == 422, answer.text
        (told,) = answer.json()["error"]["fields"]
        assert told["field"] == field
        assert rule in told["rule"]
    fine = refusing.post("/v1/allocators/known/decisions", json={"budget": 20.0, "features": {"job": "pilot"}})
    assert fine.status_code == 200, fine.text  # a category that was never declared is unknown, and safe


def test_others_take_no_features(refusing: httpx.Client) -> None:
    refusing.put("/v1/allocators/plain", json=QUIZ)
    answer = refusing.post("/v1/allocators/plain/decisions", json={"budget": 20.0, "features": {"age": 3}})
    assert answer.status_code == 422
    assert answer.json()["error"]["fields"][0] == {
        "field": "features", "rule": "policy 'thompson' takes no features: 'contextual' does",
    }  # fmt: skip


def test_a_declaration_that_is_none_is_refused(refusing: httpx.Client) -> None:
    for wrong in ({"numbers": "age"}, {"number": ["age"]}, {"numbers": ["age", "age"]}):
        body = QUIZ | {"policy": {"name": "contextual", "features": wrong}}
        answer = refusing.put("/v1/allocators/wrong", json=body)
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["fields"][0]["field"] == "policy"


def test_a_learned_law_is_shown(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger, **(KNOWN | {"law": "auto"}))
    for i in range(3):
        given = asking.decide(ledger, f"d{i}", **_round(i))["allocation"]
        ledger.answer([asking.tell(f"d{i}", results(given, {"q1"}))])
    found = database.look(lambda c: views.estimates(c, "quiz", None, 0.9))
    assert len(found.arms) == 3
