"""Policies plan for budgets that nobody knows, from the budgets they have been told of."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.errors import HeadgateError, UnsupportedError
from headgate.evidence import budget_law
from headgate.testing.harness import MakePolicy

ARMS, MOST = 5, 20.0
PROBLEM = hg.Problem(hg.Weibull(1.4), [0.9, 0.4, 0.7, 0.6, 0.8], [0.3, 1.5, 0.6, 0.2, 1.0])
MODELS: list[MakePolicy] = [hg.Thompson, partial(hg.RAUCB, rounds=100), partial(hg.Greedy, rounds=100)]


def told(**options: Any) -> hg.Oracle:
    return hg.Oracle(PROBLEM.law, ARMS, MOST, activation=PROBLEM.activation, rate=PROBLEM.rate, **options)


def play(policy: hg.Policy, rounds: int, seed: int = 0) -> list[hg.Plan]:
    rng, plans = np.random.default_rng(seed), []
    for _ in range(rounds):
        plan, budget = policy.plan(), MOST * rng.beta(2.0, 3.0)
        plans.append(plan)
        x = plan.given(budget)
        policy.observe(x, PROBLEM.play(x, rng))
        if budget > plan.amounts.sum():
            policy.observe_budget(plan.amounts.sum(), censored=True)
        else:
            policy.observe_budget(budget)
    return plans


@pytest.mark.parametrize("make", MODELS)
def test_plans_are_feasible_rounds_count_and_json_goes_on(make: MakePolicy) -> None:
    policy = make(hg.Weibull(1.4), arms=ARMS, max_budget=MOST, seed=3)
    for plan in play(policy, 6):
        assert plan.amounts.shape == (ARMS,)
        assert plan.amounts.sum() <= MOST * (1.0 + 1e-12)
        assert set(plan.order.tolist()) == set(np.flatnonzero(plan.amounts).tolist())
        assert plan.value <= plan.bound
    assert policy.round == 6
    twin = hg.load_policy(policy.to_json())
    assert twin.to_json() == policy.to_json()
    for one, other in zip(play(policy, 3, seed=1), play(twin, 3, seed=1), strict=True):
        np.testing.assert_array_equal(one.amounts, other.amounts)
        np.testing.assert_array_equal(one.order, other.order)


def test_who_knows_the_arms_plans_as_the_problem_does() -> None:
    policy, budgets = told(), np.random.default_rng(0).gamma(4.0, 2.0, 60).clip(0.0, MOST)
    for budget in budgets:
        policy.observe_budget(budget)
    plan = policy.plan(upper=6.0, eligible=[True, True, True, True, False], value=[1.0, 2.0, 1.0, 1.0, 1.0])
    amounts, masses = budget_law(policy.state.budgets)
    often = np.repeat(amounts, np.rint(masses * 61 * 128).astype(int))  # the law has masses of 1 / (61 * 128)
    same = PROBLEM.plan(often, upper=6.0, eligible=[True] * 4 + [False], value=[1.0, 2.0, 1.0, 1.0, 1.0])
    np.testing.assert_array_equal(plan.order, same.order)
    assert plan.value == pytest.approx(same.value, rel=1e-6)
    assert plan.amounts[4] == 0.0
    assert plan.amounts.max() <= 6.0


def test_one_uniform_budget_beside_those_observed_saves_a_beginner() -> None:
    """After one short budget the raw empirical law would serve nobody beyond it."""
    policy = told()
    policy.observe_budget(2.0)
    rng = np.random.default_rng(0)
    budgets = MOST * rng.beta(2.0, 2.0, 500)
    best = PROBLEM.plan(budgets)

    def worth(plan: hg.Plan) -> float:
        return float(np.mean([PROBLEM.expected_reward(plan.given(budget)) for budget in budgets]))

    assert worth(best) == pytest.approx(best.value)
    assert worth(policy.plan()) > 0.9 * best.value
    assert worth(PROBLEM.plan([2.0])) < 0.75 * best.value


def test_budgets_are_state_that_older_json_does_without() -> None:
    policy = told()
    assert "budgets" not in policy.to_json()
    before = policy.to_json()
    policy.observe_budget(5.0)
    assert '"budgets"' in policy.to_json()
    copy = policy.state.copy()
    policy.observe_budget(6.0)
    assert copy.budgets.trials.tolist() == [1.0]
    assert hg.load_policy(before).state.budgets is None
    data = json.loads(policy.to_json())
    data["state"]["budgets"]["max_budget"] = 30.0
    with pytest.raises(HeadgateError, match="not the policy's"):
        hg.load_policy(json.dumps(data))


def test_budgets_fade_as_evidence_does() -> None:
    policy = told(discount=0.5)
    policy.observe_budget(5.0)
    policy.plan()
    assert policy.state.budgets.trials.tolist() == [0.5]


@pytest.mark.parametrize("amount", [-1.0, np.nan, np.inf, 20.1, "long", None])
def test_wrong_budgets_change_nothing(amount: Any) -> None:
    policy = told()
    before = policy.to_json()
    with pytest.raises(HeadgateError, match="budget"):
        policy.observe_budget(amount)
    assert policy.to_json() == before
    policy.observe_budget(3.0)
    before = policy.to_json()
    with pytest.raises(HeadgateError, match="budget"):
        policy.observe_budget(amount, censored=True)
    assert policy.to_json() == before


def test_who_cannot_plan_says_so() -> None:
    with pytest.raises(UnsupportedError, match="no curves"):
        hg.Uniform(hg.Exponential(), ARMS, MOST).plan()
    for policy in (told(seed=[0, 1]), told(reward="cascade"), told(lower=1.0)):
        before = policy.to_json()
        with pytest.raises(UnsupportedError, match="a plan is for a single learner"):
            policy.plan()
        assert policy.to_json() == before
    with pytest.raises(UnsupportedError, match="batch"):
        told(seed=[0, 1]).observe_budget(1.0)
    for wrong in ({"value": -1.0}, {"eligible": "all"}, {"upper": [1.0]}):
        with pytest.raises(HeadgateError):
            told().plan(**wrong)


def test_learned_shapes_are_planned_with() -> None:
    policy = hg.Thompson(hg.Weibull("learn"), ARMS, MOST, seed=0)
    plans = play(policy, 40)
    rng = np.random.default_rng(5)
    budgets = MOST * rng.beta(2.0, 3.0, 300)
    best = PROBLEM.plan(budgets)
    late = [np.mean([PROBLEM.expected_reward(plan.given(b)) for b in budgets]) for plan in plans[-10:]]
    assert np.mean(late) > 0.9 * best.value
