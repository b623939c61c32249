"""Terms of one decision, values of arms, laws that are learned, many arms: the policy of the library decides alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from headgate.policies import Policy
from headgate.service import snapshots, views
from headgate.service.bodies import DecisionRequest
from headgate.service.engine import changes
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Change, Decide
from headgate.service.settings import Settings
from headgate.service.spec import AllocatorSpec, ArmSpec, build_policy, resolved_arms, seed_of
from headgate.service.store import Database, open_database
from headgate.service.verify import verify
from tests.service import asking
from tests.service.harness import QUIZ, results, running


def plain(**change: Any) -> Policy:
    """The policy of a new allocator, as an object of its own."""
    spec = AllocatorSpec.model_validate(QUIZ | change)
    return build_policy(spec, resolved_arms(spec), seed_of(spec, "quiz"))


def decide(ledger: Ledger, key: str, **body: Any) -> Any:
    request = DecisionRequest.model_validate({"budget": 20.0, "decision_id": key} | body)
    (answer,) = ledger.answer([Decide("quiz", request)])
    return json.loads(answer)["allocation"] if isinstance(answer, str) else answer


@pytest.fixture(scope="module")
def quiz(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A service with one allocator, whose requests are all refused."""
    place = tmp_path_factory.mktemp("terms") / "headgate.db"
    with running(Settings(database=f"sqlite:///{place}", keys=False)) as client:
        client.put("/v1/allocators/quiz", json=QUIZ)
        yield client


@pytest.mark.parametrize(
    ("body", "terms"),
    [
        ({"value": {"q2": 3.0}}, {"value": [1.0, 3.0, 1.0]}),
        ({"eligible": ["q1", "q3"]}, {"eligible": [True, False, True]}),
        ({"lower": {"q3": 9.0}, "upper": {"q1": 2.0}}, {"lower": [0, 0, 9.0], "upper": [2.0, np.inf, np.inf]}),
        ({"value": {"q1": 0.0}, "eligible": ["q1", "q2"], "upper": {"q2": 7.0}},
         {"value": [0.0, 1.0, 1.0], "eligible": [True, True, False], "upper": [np.inf, 7.0, np.inf]}),
    ],
)  # fmt: skip
def test_terms_are_the_policys(database: Database, body: dict[str, Any], terms: dict[str, Any]) -> None:
    """For one decision: the next is as it would be, and the same id with other terms is a conflict."""
    ledger, policy = Ledger(database), plain()
    asking.create(ledger)
    assert list(decide(ledger, "d", **body).values()) == policy.allocate(20.0, **terms).tolist()
    assert list(decide(ledger, "e").values()) == policy.allocate(20.0).tolist()
    assert "another body" in str(decide(ledger, "d"))
    for worker in (ledger, Ledger(database)):
        assert decide(worker, "d", **body) == decide(ledger, "d", **body)
    assert verify(database) == []


def test_values_of_arms_are_the_policys(database: Database) -> None:
    arms = ["q1", {"name": "q2", "value": 5.0}, "q3"]
    ledger, policy = Ledger(database), plain(arms=arms)
    asking.create(ledger, arms=arms)
    assert policy.value == [1.0, 5.0, 1.0]
    assert list(decide(ledger, "d").values()) == policy.allocate(20.0).tolist()
    assert list(decide(ledger, "e", value={"q1": 2.0}).values()) == policy.allocate(20.0, value=[2, 5, 1]).tolist()
    (added,) = ledger.answer([Change(lambda c: changes.add_arm(c, "a test", "quiz", ArmSpec(name="q4", value=9.0)))])
    assert added is True
    assert list(decide(ledger, "f")) == ["q1", "q2", "q3", "q4"]
    found = database.look(lambda c: views.estimates(c, "quiz", 20.0, 0.9))
    assert found.value > database.look(lambda c: snapshots.take(c, "quiz")).value, "worth, and successes"
    assert verify(database) == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"value": {"q9": 1.0}}, "value"),
        ({"eligible": ["q1", "nobody"]}, "eligible"),
        ({"value": {"q1": -1.0}}, "value.q1"),
        ({"upper": {"q1": "3"}}, "upper.q1"),
        ({"lower": {"q1": 21.0}}, "budget"),
        ({"lower": {"q1": 5.0}, "upper": {"q1": 4.0}}, "budget"),
        ({"lower": {"q1": 5.0}, "eligible": ["q2"]}, "budget"),
    ],
)
def test_terms_that_cannot_be_are_refused(quiz: httpx.Client, body: dict[str, Any], field: str) -> None:
    refused = quiz.post("/v1/allocators/quiz/decisions", json={"budget": 20.0} | body)
    assert refused.status_code == 422, refused.text
    assert refused.json()["error"]["fields"][0]["field"] == field
    assert quiz.get("/v1/allocators/quiz").json()["counts"]["decisions"] == 0


def test_a_schedule_has_terms_too(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    request = DecisionRequest(budget=None, step=1.0, eligible=["q2"])
    (answer,) = ledger.answer([Decide("quiz", request)])
    assert {step["arm"] for step in json.loads(answer)["schedule"]} == {"q2"}


@pytest.mark.parametrize("law", ["auto", "auto-whole"])
def test_a_law_that_is_learned_is_served(sqlite_url: str, law: str) -> None:
    """With estimates, snapshots and whole numbers where the law has them."""
    ledger = Ledger(open_database(sqlite_url))
    asking.create(ledger, law=law)
    asking.play(ledger, 4)
    given = decide(ledger, "d")
    assert sum(given.values()) == pytest.approx(20.0)
    if law == "auto-whole":
        assert all(amount == int(amount) for amount in given.values())
    found = ledger.database.look(lambda c: views.estimates(c, "quiz", None, 0.9))
    assert all(arm.shape is not None for arm in found.arms)
    assert ledger.database.look(lambda c: snapshots.take(c, "quiz")).value > 0.0
    assert verify(ledger.database) == []
    ledger.database.close()


@pytest.mark.long
def test_ten_thousand_arms(sqlite_url: str) -> None:
    """Decided, reported and verified; only the cells of arms that were reported are written."""
    ledger, names = Ledger(open_database(sqlite_url)), [f"a{i}" for i in range(10_000)]
    asking.create(ledger, arms=names, law="exponential", policy={"name": "uniform"})
    given = decide(ledger, "d")
    said = results({name: given[name] for name in names[:5000:50]}, set(names[::100]))
    (told,) = ledger.answer([asking.tell("d", said)])
    assert len(json.loads(told)["accepted"]) == 100
    (learner,) = ledger.memory.learners.values()
    assert learner.evidence.trials.sum() == 100
    assert verify(ledger.database) == []
    ledger.database.close()
