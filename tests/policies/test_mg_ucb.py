"""Pouring: at every budget the allocation that RA-UCB gives, and in finite steps as close to it as the paper says."""

from __future__ import annotations

import json
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.datasets.paper import saved_instance
from headgate.errors import BudgetError, UnsupportedError
from headgate.laws import DiscreteWeibull, Exponential, Floats, Law, LogNormal, Lomax, Weibull
from headgate.oracle import solve
from headgate.policies import MGUCB, RAUCB, Oracle
from headgate.policies.base import Policy
from headgate.problem import Problem

B = 40.0
PROBLEM = saved_instance()


@cache
def _run() -> list[str]:
    """MG-UCB on the saved instance, after each round."""
    policy, rng = MGUCB(Exponential(), arms=10, max_budget=B, rounds=400, scale=1e-6), np.random.default_rng(0)
    texts = [policy.to_json()]
    for _ in range(333):
        x = policy.allocate(B)
        policy.observe(x, PROBLEM.play(x, rng))
        texts.append(policy.to_json())
    return texts


def learned(rounds: int) -> str:
    """MG-UCB after so many rounds on the saved instance."""
    return _run()[rounds]


def load(text: str, kind: type[Policy] = MGUCB) -> Policy:
    data = json.loads(text)
    if kind is RAUCB:
        del data["options"]["gain"]  # MG-UCB's own
    return kind.from_data(data)


def poured(policy: MGUCB | Oracle, budget: float, **how: float) -> Floats:
    """Pour until the money is gone; the last portion is cut to what is left."""
    x, left = np.zeros(policy.arms), budget
    for arm, amount in policy.pour(**how):
        x[arm] += min(amount, left)
        left -= amount
        if left <= 1e-12:
            break
    return x


@given(budget=st.floats(0.05, B), rounds=st.sampled_from([10, 50, 55, 60, 200, 333]))
@settings(max_examples=60, deadline=None)
def test_at_every_budget_pouring_is_ra_ucb(budget: float, rounds: int) -> None:
    known, unknown = load(learned(rounds), RAUCB), load(learned(rounds))
    assert isinstance(unknown, MGUCB)
    x = known.allocate(budget)
    assert np.array_equal(load(learned(rounds)).allocate(budget), x)
    # Blocks that end at the budget: exact. Blocks of the default size: but for what the last one lacks.
    assert poured(unknown, budget, resolution=budget / 7.0) == pytest.approx(x, abs=1e-9)
    assert poured(load(learned(rounds)), budget) == pytest.approx(x, abs=B / 1024.0)  # type: ignore[arg-type]  # MGUCB
    assert unknown.round == known.round


@given(
    rates=st.lists(st.floats(0.02, 2.0), min_size=2, max_size=6),
    budget=st.floats(1.0, 20.0),
    step=st.floats(0.05, 2.0),
    law=st.sampled_from([Exponential(), Lomax(2.0), Weibull(1.0)]),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_the_loss_at_a_step_respects_the_papers_bound(
    rates: list[float], budget: float, step: float, law: Law, data: st.DataObject
) -> None:
    lam = np.array(rates)
    p = np.array(data.draw(st.lists(st.floats(0.05, 1.0), min_size=lam.size, max_size=lam.size)))
    problem = Problem(law, p, lam)
    policy = Oracle(law, arms=lam.size, max_budget=20.0, activation=p, rate=lam)
    x = poured(policy, budget, step=step)
    steepest = float(np.max(problem.marginal(np.zeros(lam.size))))  # G_max: these laws are concave
    loss = problem.solve(budget).value - problem.expected_reward(x)
    assert -1e-9 <= loss <= (lam.size + 1) * steepest * step
    assert x.sum() == pytest.approx(budget)


def best_in_steps(problem: Problem, step: float, count: int) -> float:
    """The optimum over every way to give `count` steps, by enumeration."""
    ways = (n for n in product(range(count + 1), repeat=problem.arms) if sum(n) <= count)
    return max(float(problem.expected_reward(step * np.array(n, dtype=float))) for n in ways)


@given(
    rates=st.lists(st.floats(0.05, 2.0), min_size=3, max_size=3),
    weights=st.lists(st.floats(0.05, 1.0), min_size=3, max_size=3),
    law=st.sampled_from([Exponential(), Weibull(0.7), Lomax(1.5)]),
    count=st.integers(1, 7),
)
@settings(max_examples=40, deadline=None)
def test_greedy_steps_are_the_discretised_optimum(
    rates: list[float], weights: list[float], law: Law, count: int
) -> None:
    # The paper's lemma: equivalence of the oracle and the procedure in steps.
    problem, step = Problem(law, weights, rates), 0.8
    policy = Oracle(law, arms=3, max_budget=8.0, activation=weights, rate=rates)
    x = poured(policy, count * step, step=step)
    assert float(problem.expected_reward(x)) == pytest.approx(best_in_steps(problem, step, count), rel=1e-9)


@pytest.mark.parametrize("law", [Weibull(1.6), LogNormal(0.8), DiscreteWeibull(1.7)])
def test_s_shaped_arms_are_taken_to_their_tangency_one_after_the_other(law: Law) -> None:
    p, rate = [0.9, 0.5, 0.7, 0.3], [0.3, 0.25, 0.12, 0.5]
    policy = Oracle(law, arms=4, max_budget=B, activation=p, rate=rate)
    step = 1.0 if law.integer else 0.25
    order = list(policy.pour(step=step))
    problem, x = Problem(law, p, rate), np.zeros(4)
    spent, worth = [0.0], [0.0]
    for arm, amount in order:
        x[arm] += amount
        spent.append(float(x.sum()))
        worth.append(float(problem.expected_reward(x)))
    assert spent[-1] == pytest.approx(B)
    # On the hulls each step is worth no more than the one before. The curve meets its hull after every whole chord:
    # there what was poured is the best in such steps, and between two such points the hull is above.
    best = _best_in_steps(problem, step, len(order))
    at = np.array(worth)
    meets = np.flatnonzero(at >= best - 1e-9)
    assert len(meets) >= len(order) // 3
    hull = np.interp(spent, np.array(spent)[meets], at[meets])
    assert np.all(np.diff(at[meets]) / np.diff(np.array(spent)[meets]) >= 0.0)
    assert np.all(hull >= at - 1e-9)
    # An arm is left alone only at a point where pouring is optimal: never half-way.
    switches = [n for n in range(1, len(order)) if order[n][0] != order[n - 1][0]]
    assert all(at[n] >= best[n] - 1e-9 for n in switches)


def _best_in_steps(problem: Problem, step: float, count: int) -> Floats:
    """The optimum of 0, 1, ..., `count` steps, by dynamic programming."""
    best = np.zeros(count + 1)
    for arm in range(problem.arms):
        x = np.zeros((count + 1, problem.arms))
        x[:, arm] = step * np.arange(count + 1)
        f = problem.success_probability(x)[:, arm]
        best = np.array([max(best[n - j] + f[j] for j in range(n + 1)) for n in range(count + 1)])
    return best


def test_integer_laws_pour_single_units_and_lead_to_the_oracle() -> None:
    p, rate = [0.9, 0.5, 0.7], [0.3, 0.25, 0.12]
    policy = Oracle(DiscreteWeibull(0.8), arms=3, max_budget=20.0, activation=p, rate=rate)
    x = np.zeros(3)
    for units, (arm, amount) in enumerate(policy.pour(), start=1):
        assert amount == 1.0
        x[arm] += amount
        assert x.tolist() == solve(DiscreteWeibull(0.8), p, rate, units).x.tolist()
    assert x.sum() == 20.0


def test_limits_are_poured_first_and_kept() -> None:
    lower, upper = np.array([0.0, 2.0, 1.0]), np.array([3.3, 4.0, np.inf])
    for law, how in product((Exponential(), Weibull(1.6)), ({}, {"step": 0.7})):
        policy = Oracle(
            law, arms=3, max_budget=12.0, activation=[0.9, 0.2, 0.5], rate=[1.0, 0.2, 0.4], lower=lower, upper=upper
        )
        portions = list(policy.pour(**how))
        assert portions[:2] == [(1, 2.0), (2, 1.0)]
        x = np.zeros(3)
        for arm, amount in portions:
            x[arm] += amount
        assert np.all(x >= lower)
        assert np.all(x <= upper + 1e-12)
        assert x.sum() == pytest.approx(12.0)


def test_whole_steps_and_single_learners_only() -> None:
    whole = MGUCB(DiscreteWeibull(1.0), arms=3, max_budget=10.0, rounds=50)
    with pytest.raises(BudgetError, match="whole"):
        whole.pour(step=0.5)
    with pytest.raises(BudgetError, match="step must be finite and > 0"):
        whole.pour(step=-1.0)
    with pytest.raises(BudgetError, match="not both"):
        whole.pour(step=1.0, resolution=1.0)
    assert whole.round == 0
    with pytest.raises(UnsupportedError, match="batch of shape"):
        MGUCB(Exponential(), arms=3, max_budget=10.0, rounds=50, seed=[0, 1]).pour()


def test_a_whole_run_poured_equals_a_run_that_knows_the_budgets() -> None:
    """The same estimates after every round: also when the money is gone before the boosted arm gets any."""
    problem = hg.datasets.saved_instance()
    told, pouring = (hg.MGUCB(problem.law, 10, 40.0, rounds=400, scale=1e-6, seed=0) for _ in range(2))
    rng = np.random.default_rng(0)
    idle = 0
    for _ in range(120):
        budget, world = float(rng.choice([1.0, 40.0])), int(rng.integers(2**32))
        x = told.allocate(budget)
        idle += int(x[told.arm_of(told.round) - 1] <= 0.0)
        told.observe(x, problem.play(x, np.random.default_rng(world)))
        y, left = np.zeros(10), budget
        for arm, amount in pouring.pour():
            y[arm] += min(amount, left)
            left -= min(amount, left)
            if left <= 0.0:
                break
        pouring.observe(y, problem.play(y, np.random.default_rng(world)))
        np.testing.assert_array_equal(pouring.state.owed, told.state.owed)
    assert idle > 0  # it did happen
    np.testing.assert_allclose(pouring.evidence.trials, told.evidence.trials, atol=2.0)


def as_written(policy: MGUCB, budget: float, delta: float) -> Floats:
    """Within-round allocation of MG-UCB-Delta, line by line: delta to the arm with the largest marginal there."""
    rate, p = (np.asarray(v) for v in (policy.curves(policy.state).rate, policy.curves(policy.state).weight))
    x, s = np.zeros(policy.arms), 0.0
    while s < budget - 1e-12:
        step = min(delta, budget - s)
        x[np.argmax(p * rate * np.exp(-rate * x))] += step
        s += step
    return x


@pytest.mark.parametrize("delta", [0.25, 1.0, 5.0])
def test_the_pseudocodes_marginal_is_there_and_not_the_better_one(delta: float) -> None:
    """On the same beliefs: equal to the transcription, and never worth more than steps chosen by their gain."""
    differs = 0
    for rounds in range(100, 130):
        data = json.loads(learned(rounds))
        data["options"]["gain"] = "marginal"
        policy, better = MGUCB.from_data(data), load(learned(rounds))
        believed = policy.curves(policy.state)
        x = poured(policy, B, step=delta)
        assert x == pytest.approx(as_written(MGUCB.from_data(data), B, delta), abs=1e-9)
        steps = poured(better, B, step=delta)  # type: ignore[arg-type]  # MGUCB
        worth, at_most = (float(np.sum(believed.weight * -np.expm1(-believed.rate * y))) for y in (x, steps))
        assert worth <= at_most + 1e-9
        differs += not np.allclose(x, steps)
    assert differs >= 10


def test_the_pseudocodes_marginal_needs_a_density() -> None:
    with pytest.raises(UnsupportedError, match="densities"):
        MGUCB(DiscreteWeibull(1.0), arms=3, max_budget=10.0, rounds=50, gain="marginal")
    with pytest.raises(hg.errors.ParameterError, match="gain"):
        MGUCB(Exponential(), arms=3, max_budget=10.0, rounds=50, gain="slope")  # type: ignore[arg-type]  # that is the point
