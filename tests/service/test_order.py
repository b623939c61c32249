"""Policies that depend on the order of their feedback: each is a fold of the log, for workers and for `verify`."""

from __future__ import annotations

import json
import random
from typing import Any

import httpx
import numpy as np
import pytest

import headgate as hg
from headgate.policies import POLICIES, Policy
from headgate.service import views
from headgate.service.bodies import DecisionRequest
from headgate.service.engine import changes, learner
from headgate.service.engine.queue import Ledger
from headgate.service.engine.records import LoggedDecision
from headgate.service.engine.requests import Change
from headgate.service.faults import ConflictError, ServiceError
from headgate.service.spec import AllocatorSpec, ArmSpec, build_policy, resolved_arms, seed_of
from headgate.service.store import Database, open_database
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import QUIZ, results

OPTIONS: dict[str, dict[str, Any]] = {
    "ra-ucb": {"rounds": 100}, "mg-ucb": {"rounds": 100}, "greedy": {"rounds": 100},
    "explore-then-commit": {"rounds": 100}, "cucb": {"rounds": 100}, "mara": {}, "thompson": {"discount": 0.98},
    "portfolio": {"memory": 20, "kinds": 2},
}  # fmt: skip
ARMS: list[str] = QUIZ["arms"]


def _spec(name: str) -> dict[str, Any]:
    return {"policy": {"name": name} | OPTIONS[name], "law": "exponential"}


def _play(ledgers: list[Ledger], rounds: int, tag: str, seed: int = 1) -> list[tuple[str, Any]]:
    """Decide and report out of order, in parts, through several workers; return what happened, in its order."""
    rng = random.Random(seed)  # noqa: S311  # a shuffle for a test
    events: list[tuple[str, Any]] = []
    owed: list[tuple[str, dict[str, Any]]] = []
    for i in range(rounds):
        key = f"{tag}{i}"
        given = asking.decide(rng.choice(ledgers), key)["allocation"]
        events.append(("decide", given))
        said = results(given, {arm for arm in ARMS if rng.random() < 0.5})
        owed += [(key, {arm: result}) for arm, result in said.items()] + [(key, said)]
        rng.shuffle(owed)
        for _ in range(min(len(owed), 3)):
            key, part = owed.pop()
            (answer,) = rng.choice(ledgers).answer([asking.tell(key, part)])
            accepted = json.loads(answer)["accepted"]
            if accepted:
                events.append((key, {arm: part[arm] for arm in accepted}))
    return events


def _fold(policy: Policy, events: list[tuple[str, Any]], tag: str) -> None:
    """The same with the object that people hold."""
    made: dict[str, dict[str, float]] = {}
    for what, data in events:
        if what == "decide":
            made[f"{tag}{len(made)}"] = data
            assert dict(zip(ARMS, policy.allocate(20.0).tolist(), strict=True)) == data
        else:
            told = [arm in data for arm in ARMS]
            won = [data.get(arm, {"success": False})["success"] for arm in ARMS]
            seen = [data[arm]["threshold"] if w else np.nan for arm, w in zip(ARMS, won, strict=True)]
            x = [made[what][arm] if arm in data else 0.0 for arm in ARMS]
            policy.observe(x, hg.Feedback(won, seen, told))


def test_every_policy_is_served(refusing: httpx.Client) -> None:
    """The one that needs features is in `test_named_features.py`; without names for them it is refused."""
    in_order = {name for name, policy in POLICIES.items() if not policy.additive}
    assert in_order - set(OPTIONS) == {"contextual"}
    refused = refusing.put("/v1/allocators/quiz", json=QUIZ | {"policy": {"name": "contextual", "features": 2}})
    assert refused.status_code == 422, refused.text
    assert refused.json()["error"]["fields"][0]["field"] == "policy"
    assert "must declare columns by name" in refused.text


@pytest.mark.filterwarnings("ignore::headgate.errors.AssumptionWarning")
@pytest.mark.parametrize("name", OPTIONS)
def test_decisions_are_those_of_the_library(sqlite_url: str, name: str) -> None:
    database = open_database(sqlite_url)
    asking.create(Ledger(database), **_spec(name))
    events = _play([Ledger(database) for _ in range(2)], 12, "d")
    spec = AllocatorSpec.model_validate(QUIZ | _spec(name))
    _fold(build_policy(spec, resolved_arms(spec), seed_of(spec, "quiz")), events, "d")
    assert verify(database) == []
    database.close()


@pytest.mark.parametrize("name", ["cucb", "thompson"])
def test_a_restart_goes_on_from_a_kept_state(database: Database, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """After a restart a few entries of the log are followed, not all; and the next decision is the same."""
    monkeypatch.setattr(learner, "_KEEP_EVERY", 10)
    old = Ledger(database)
    asking.create(old, **_spec(name))
    _play([old], 12, "d")
    followed: list[int] = []
    works = learner.Learner.again

    def again(self: learner.Learner, decision: LoggedDecision) -> Any:
        followed.append(decision.round)
        return works(self, decision)

    monkeypatch.setattr(learner.Learner, "again", again)
    new = Ledger(database)
    assert asking.decide(new, "next")["allocation"] == _after(old, database)
    assert 0 < len(followed) + 1 < 12
    assert verify(database) == []
    found = database.look(lambda c: views.estimates(c, "quiz", None, 0.9))
    assert sum(arm.trials for arm in found.arms) > 0


def _after(old: Ledger, database: Database) -> Any:
    """What the old worker's learner would have decided as the last decision of the log."""
    (one,) = old.memory.learners.values()
    last = database.look(lambda c: views.history(c, "quiz", None, 1)).items[0]
    return one.allocate(DecisionRequest(budget=20.0), last.round).allocation


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE states SET data = REPLACE(data, '\"round\":', '\"round\":1')", "state"),
        ("UPDATE reports SET after = 0 WHERE place < 30", "not what its policy decides"),
        ("UPDATE allocators SET reports = reports + 1", "reports"),
    ],
)
def test_damage_to_the_order_is_found(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, damage: str, words: str
) -> None:
    monkeypatch.setattr(learner, "_KEEP_EVERY", 10)
    database = open_database(sqlite_url)
    ledger = Ledger(database)
    asking.create(ledger, **_spec("thompson"))
    _play([ledger], 12, "d")
    assert verify(database) == []
    with database.transaction() as connection:
        connection.exec_driver_sql(damage)
    assert any(words in line for line in verify(database)), verify(database)
    database.close()


def test_what_a_policy_in_order_cannot_do_is_refused(sqlite_url: str) -> None:
    """Its arms stay, and it cannot begin with evidence: that has no order."""
    database = open_database(sqlite_url)
    ledger = Ledger(database)
    asking.create(ledger, **_spec("cucb"))
    body = database.look(lambda c: views.evidence(c, "quiz"))
    for change in (
        lambda c: changes.add_arm(c, "a test", "quiz", ArmSpec(name="q4")),
        lambda c: changes.retire_arm(c, "a test", "quiz", "q1"),
        lambda c: changes.import_evidence(c, "a test", "quiz", "i", body),
    ):
        (refused,) = ledger.answer([Change(change)])
        assert isinstance(refused, ConflictError)
        assert "in their order" in str(refused)
    assert not isinstance(ledger.answer([asking.ask("d")])[0], ServiceError)
    database.close()
