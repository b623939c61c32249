"""Why: the draw that is stored explains the decision; estimates are of the evidence that there was then."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest

import headgate as hg
from headgate.service.engine.queue import Ledger
from headgate.service.faults import ConflictError, NotFoundError
from headgate.service.store import Database
from headgate.service.why import why
from tests.service import asking
from tests.service.harness import QUIZ, results

ARMS: list[str] = QUIZ["arms"]


def reasons(database: Database, key: str) -> Any:
    return database.look(lambda c: why(c, key))


@pytest.mark.parametrize(
    ("spec", "law"),
    [
        ({}, hg.Weibull(1.6)),
        ({"law": "exponential"}, hg.Exponential()),
        ({"law": "exponential", "reward": "cascade"}, hg.Exponential()),
        ({"law": {"name": "discrete-weibull", "shape": 1.2}}, hg.DiscreteWeibull(1.2)),
    ],
    ids=["weibull", "exponential", "cascade", "whole units"],
)
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_the_draw_explains_the_decision(database: Database, spec: dict[str, Any], law: hg.laws.Law) -> None:
    """The best allocation for the draw is the decision; an arm that may have more or less has the price as marginal."""
    ledger = Ledger(database)
    asking.create(ledger, **spec)
    interior = 0
    for place in range(8):
        asking.play(ledger, 3, seed=place)
        value: dict[str, Any] = {} if "reward" in spec else {"value": {"q2": 2.5}}
        made = asking.decide(ledger, f"d{place}", 18.0, **value)["allocation"]
        found = reasons(database, f"d{place}")
        assert [arm.amount for arm in found.arms] == list(made.values())
        p, rate = (np.array([getattr(arm.draw, name) for arm in found.arms]) for name in ("activation", "rate"))
        worth = np.array([arm.value for arm in found.arms])
        assert worth.tolist() == ([1.0] * 3 if "reward" in spec else [1.0, 2.5, 1.0])
        problem = hg.Problem(law, p, rate, value=worth)
        best = problem.solve(18.0, reward=spec.get("reward", "sum"))
        x = np.array(list(made.values()))
        assert float(problem.solve(18.0, reward=spec.get("reward", "sum")).value) == pytest.approx(float(best.value))
        np.testing.assert_allclose(x, best.x, atol=0.02)
        for arm, amount in zip(found.arms, x, strict=True):
            if 0.05 < amount < 17.9 and "discrete" not in law.name:
                assert arm.marginal == pytest.approx(found.price, rel=0.02)
                interior += 1
            elif amount == 0.0 and law == hg.Exponential():
                assert arm.marginal <= found.price * 1.01
    assert interior > 3 or "discrete" in law.name


@pytest.mark.parametrize("law", ["auto", {"name": "weibull", "shape": "learn"}])
@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_learned_shapes_are_stored_with_the_draw(database: Database, law: Any) -> None:
    ledger = Ledger(database)
    asking.create(ledger, law=law)
    checked = 0
    for place in range(6):
        asking.play(ledger, 2, seed=place)
        asking.decide(ledger, f"d{place}", 18.0)
        found = reasons(database, f"d{place}")
        for arm in found.arms:
            if 0.5 < arm.amount < 17.5:
                assert arm.marginal == pytest.approx(found.price, rel=0.05)
                checked += 1
    assert checked > 3


def test_estimates_are_of_the_evidence_then(client: httpx.Client) -> None:
    """Whatever comes later, reports of it and of others, imports and pushes: why says the same."""
    client.put("/v1/allocators/quiz", json=QUIZ)
    rng = np.random.default_rng(2)
    open_rounds: list[tuple[str, dict[str, float]]] = []
    expected: dict[str, Any] = {}
    log = hg.Evidence.of_rows([0, 1], [8.0, 9.0], [True, False], [3.1, np.nan], arms=3, max_budget=30.0).to_dict(ARMS)
    for place in range(12):
        before = client.get("/v1/allocators/quiz/estimates").json()["arms"]
        key = f"d{place}"
        made = client.post("/v1/allocators/quiz/decisions", json={"budget": 20.0, "decision_id": key}).json()
        expected[key] = before
        open_rounds.append((key, made["allocation"]))
        if place == 4:
            client.put("/v1/allocators/quiz/evidence/log", json=log)
        if place == 7:
            client.put("/v1/allocators/quiz/edges/e/pushes/0", json={"evidence": log}).raise_for_status()
        while len(open_rounds) > 3:
            late, given = open_rounds.pop(int(rng.integers(0, 3)))
            said = {"results": results(given, {arm for arm in given if rng.random() < 0.5})}
            client.post(f"/v1/decisions/{late}/outcome", json=said).raise_for_status()
    for key, before in expected.items():
        found = client.get(f"/v1/decisions/{key}/why").json()
        assert found["price"] >= 0.0
        for arm, known in zip(found["arms"], before, strict=True):
            assert (arm["trials"], arm["successes"]) == (known["trials"], known["successes"])
            assert arm["estimate"] == {name: known[name] for name in arm["estimate"]}


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_what_has_no_reasons_says_so(database: Database) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    asking.create(ledger, "even", policy={"name": "uniform"})
    asking.decide(ledger, "plan", None)
    asking.decide(ledger, "even", name="even")
    with pytest.raises(NotFoundError):
        reasons(database, "nobody")
    with pytest.raises(ConflictError, match="no split at once"):
        reasons(database, "plan")
    found = reasons(database, "even")
    assert (found.price, found.arms[0].draw, found.arms[0].marginal) == (None, None, None)
    assert found.arms[0].estimate.rate > 0.0


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_curves_that_were_corrected_are_marked(database: Database) -> None:
    """Thresholds that the law cannot have: the net corrects it, and the price is that of the corrected curves."""
    ledger = Ledger(database)
    asking.create(ledger, law="exponential", policy={"name": "thompson", "seed": 1})
    rng = np.random.default_rng(0)
    for place in range(130):
        made = asking.decide(ledger, f"r{place}", 30.0, lower=dict.fromkeys(ARMS, 4.0))["allocation"]
        won = {arm for arm in made if rng.random() < 0.6 and made[arm] > 4.0}
        said = {
            arm: {"success": arm in won, "threshold": 3.9 + 0.1 * rng.random() if arm in won else None} for arm in made
        }
        ledger.answer([asking.tell(f"r{place}", said)])
    asking.decide(ledger, "d", 25.0)
    found = reasons(database, "d")
    assert found.arms[0].corrected
    assert all(arm.marginal is not None for arm in found.arms)
