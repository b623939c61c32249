"""An allocator is changed while it decides: what was seen stays, decisions say which version made them."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import select, update

from headgate.client import Client
from headgate.service import views
from headgate.service.engine import changes, versions
from headgate.service.engine.queue import Ledger
from headgate.service.engine.requests import Change
from headgate.service.faults import ConflictError, RefusedError
from headgate.service.spec import AllocatorChange, ArmSpec
from headgate.service.store import Database, schema
from headgate.service.verify import verify
from tests.service import asking


def _change(ledger: Ledger, **body: Any) -> Any:
    said = AllocatorChange.model_validate(body)
    (answer,) = ledger.answer([Change(lambda c: versions.change(c, "a test", "quiz", said))])
    return answer


def _cells(ledger: Ledger) -> Any:
    (learner,) = ledger.memory.learners.values()
    return learner.evidence.bins.copy()


def test_law_policy_and_arms_change_and_the_evidence_stays(database: Database) -> None:
    ledger, other = Ledger(database), Ledger(database)
    asking.create(ledger)
    asking.play(ledger, 6)
    asking.decide(other, "elsewhere")  # another worker, which hears of the change from the database
    before = _cells(ledger)
    assert _change(ledger, law={"name": "gamma", "shape": 2.0}, policy={"name": "lr-ucb"}) is True
    assert _change(ledger, arms=[{"name": "q1", "upper": 1.5, "value": 3.0}]) is True
    for place, worker in enumerate((ledger, other)):
        made = asking.decide(worker, f"after-{place}")
        assert (made["version"], made["allocation"]["q1"] <= 1.5) == (2, True)
        (learner,) = worker.memory.learners.values()
        assert (type(learner.policy).name, learner.policy.laws.name) == ("lr-ucb", "gamma")
        assert np.array_equal(np.broadcast_to(learner.policy.value, 3), [3.0, 1.0, 1.0])
        assert np.array_equal(learner.evidence.bins, before)
    asking.play(other, 3, seed=1)
    assert verify(database) == []
    assert asking.decide(ledger, "quiz-0-0")["version"] == 0, "a decision of before is answered as it was"


def test_the_same_again_is_no_version(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    assert _change(ledger, policy={"name": "thompson"}, arms=[{"name": "q2"}]) is False
    assert _change(ledger, policy={"name": "uniform"}) is True
    assert _change(ledger, policy={"name": "uniform"}) is False
    assert database.look(lambda c: views.allocator(c, "quiz")).version == 1


def test_every_change_is_written_down_with_its_version(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    _change(ledger, law="exponential")
    ledger.answer([Change(lambda c: changes.add_arm(c, "someone", "quiz", ArmSpec(name="q4", lower=0.5)))])
    ledger.answer([Change(lambda c: changes.retire_arm(c, "a test", "quiz", "q2"))])
    found = database.look(lambda c: versions.versions(c, "quiz")).versions
    assert [(one.version, one.action) for one in found] == [
        (0, "create allocator"), (1, "change allocator"), (2, "add arm"), (3, "retire arm")
    ]  # fmt: skip
    assert (found[0].law, found[1].law) == ({"name": "weibull", "shape": 1.6}, "exponential")
    assert ([arm.lower for arm in found[2].arms], found[2].actor, found[3].retired) == ([0.5], "someone", "q2")
    assert _change(ledger, arms=[{"name": "q4", "lower": 0.25}]) is True, "an arm that came later"
    assert asking.decide(ledger, "d")["version"] == 4


@pytest.mark.parametrize(
    ("body", "kind", "field", "words"),
    [
        ({"arms": [{"name": "q9"}]}, RefusedError, "arms", "no arm 'q9' in use"),
        ({"arms": [{"name": "q1"}, {"name": "q1", "value": 2.0}]}, RefusedError, "arms", "'q1' twice"),
        ({"arms": [{"name": "q1", "lower": 31.0}]}, RefusedError, "arms", ""),
        ({"law": {"name": "weibull", "shape": [1.0, 2.0, 3.0]}}, RefusedError, "law", "one shape for all arms"),
        ({"law": {"name": "weibull", "shape": -1.0}}, RefusedError, "law", "shape"),
        ({"law": {"name": "discrete-weibull", "shape": 1.0}}, RefusedError, "law", "whole units"),
        ({"policy": {"name": "oracle-of-delphi"}}, RefusedError, "policy", "policy.name"),
        ({"policy": {"name": "thompson", "discount": 0.9}}, ConflictError, "", "in their order"),
    ],
)
def test_a_change_that_cannot_be_changes_nothing(
    database: Database, body: dict[str, Any], kind: type[Exception], field: str, words: str
) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    before = database.look(lambda c: views.allocator(c, "quiz"))
    refusal = _change(ledger, **body)
    assert (type(refusal), words in str(refusal), getattr(refusal, "field", "")) == (kind, True, field), refusal
    assert database.look(lambda c: views.allocator(c, "quiz")) == before
    assert len(database.look(lambda c: versions.versions(c, "quiz")).versions) == 1


def test_one_that_is_archived_stays_as_it_is(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    ledger.answer([Change(lambda c: changes.archive(c, "a test", "quiz"))])
    assert isinstance(_change(ledger, law="exponential"), ConflictError)


def test_verify_notices_a_version_that_cannot_be(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    asking.play(ledger, 2)
    _change(ledger, law="exponential")
    asking.play(ledger, 2, seed=1)
    with database.transaction() as connection:
        table = schema.decisions
        said = connection.execute(select(table.c.answer).where(table.c.round == 0)).scalar_one()
        wrong = said.replace('"version":0', '"version":1')
        connection.execute(update(table).where(table.c.round == 0).values(answer=wrong))
    assert verify(database) == ["quiz: decision 'quiz-0-1' is of version 0, expected 1 to 1"]


def test_over_http_and_by_the_client(client: httpx.Client) -> None:
    with Client(str(client.base_url)) as ours:
        ours.put_allocator("shop", ["a", "b"], "exponential", 10.0)
        made = ours.change("shop", policy="uniform", arms=[{"name": "a", "value": 2.0}])
        assert (made.version, ours.decide("shop", 5.0).version) == (1, 1)
    path = "/v1/allocators/shop/versions"
    assert [one["version"] for one in client.get(path).json()["versions"]] == [0, 1]
    for body, field in (({}, "body"), ({"max_budget": 5.0}, "max_budget"), ({"arms": [{"name": ""}]}, "arms.0.name")):
        answer = client.post(path, json=body)
        assert (answer.status_code, answer.json()["error"]["fields"][0]["field"]) == (422, field)
    assert client.post("/v1/allocators/none/versions", json={"law": "exponential"}).status_code == 404
    assert client.get("/v1/allocators/shop").json()["version"] == 1
    key = client.post("/v1/allocators/shop/decisions", json={"budget": 4.0}).json()["decision_id"]
    assert client.get(f"/v1/decisions/{key}/why").status_code == 200
    client.post(path, json={"law": {"name": "gamma", "shape": 2.0}})
    assert client.get(f"/v1/decisions/{key}/why").status_code == 409, "it would explain it by another law"
