"""A service's log, played again by a plain policy object: every allocation to the bit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

import headgate as hg
from headgate.policies import Policy
from headgate.service.engine.queue import Ledger
from headgate.service.spec import AllocatorSpec, build_policy, resolved_arms, seed_of
from headgate.service.store import Database, schema
from tests.service import asking
from tests.service.harness import QUIZ, results

ARMS: list[str] = QUIZ["arms"]
Said = dict[str, Any]


def plain(spec: dict[str, Any]) -> Policy:
    """The policy that the service runs, as an object of its own."""
    body = AllocatorSpec.model_validate(spec)
    return build_policy(body, resolved_arms(body), seed_of(body, "quiz"))


def observe(policy: Policy, allocation: dict[str, float], said: Said) -> None:
    """Tell the policy what a report says."""
    heard = [said.get(arm) for arm in ARMS]
    won = [h is not None and h["success"] for h in heard]
    seen = [h["threshold"] if h is not None and w else np.nan for h, w in zip(heard, won, strict=True)]
    x = [allocation.get(arm, 0.0) for arm in ARMS]
    policy.observe(x, hg.Feedback(won, seen, [h is not None for h in heard]))


@pytest.mark.parametrize("change", [{}, {"law": {"name": "weibull", "shape": "learn"}}, {"reward": "cascade"}], ids=str)
def test_a_log_played_again_gives_the_same_allocations(database: Database, change: dict[str, Any]) -> None:
    """One worker; decisions and reports in batches of any size, reports late, in parts, or never."""
    spec = QUIZ | change
    ledger, policy, rng = Ledger(database), plain(spec), np.random.default_rng(5)
    asking.create(ledger, **change)
    waiting: list[tuple[str, dict[str, float], Said]] = []
    again: list[dict[str, float]] = []
    number = 0
    while number < 150:
        reports = [waiting.pop(int(rng.integers(len(waiting)))) for _ in range(min(len(waiting), int(rng.integers(4))))]
        budgets = [float(b) for b in rng.uniform(1.0, QUIZ["max_budget"], int(rng.integers(1, 4)))]
        keys = [f"d{number + i}" for i in range(len(budgets))]
        requests = [asking.tell(key, said) for key, _, said in reports]
        requests += [asking.ask(key, b) for key, b in zip(keys, budgets, strict=True)]  # type: ignore[misc]  # both are
        answers = ledger.answer(requests)
        # What was heard counts for the decisions of its batch; each begins a round.
        for _, allocation, said in reports:
            observe(policy, allocation, said)
        for key, budget, text in zip(keys, budgets, answers[len(reports) :], strict=True):
            allocation = json.loads(text)["allocation"]
            again.append(dict(zip(ARMS, policy.allocate(budget).tolist(), strict=True)))
            said = results(allocation, {arm for arm in ARMS if rng.random() < 0.5})
            first = set(ARMS[: int(rng.integers(0, len(ARMS) + 1))])
            parts = [{arm: said[arm] for arm in said if (arm in first) is part} for part in (True, False)]
            waiting += [(key, allocation, part) for part in parts if part and rng.random() < 0.9]
        number += len(budgets)

    def log(connection: Any) -> list[dict[str, float]]:
        rows = connection.execute(select(schema.decisions).order_by(schema.decisions.c.round)).mappings()
        return [json.loads(row["answer"])["allocation"] for row in rows]

    assert database.look(log) == again
    assert number > 100
