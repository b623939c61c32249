"""Concave laws: the optimum is where KKT's conditions hold, and other solvers find no better."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import headgate as hg
from headgate.laws import Law

from .references import CONCAVE, Instance, instance, per_arm

cp: Any = import_module("cvxpy")  # its types are incomplete
minimize: Any = optimize.minimize  # its types know fewer ways to call it
MIXED = per_arm(hg.Exponential(), hg.Weibull(0.5), hg.Lomax(1.2), hg.HalfNormal(), hg.LogLogistic(0.8), hg.Gamma(0.7))


def check_kkt(problem: Instance, best: hg.Allocation, slack: float = 1e-7) -> None:
    x, budget = best.x, problem.budget
    assert np.all(x >= problem.lower)
    assert np.all(x <= problem.upper)
    assert x.sum() <= budget * (1.0 + 1e-12)
    assert best.value == pytest.approx(problem.value(x), rel=1e-9, abs=1e-300)
    assert best.bound >= best.value
    assert best.gap <= 1e-9
    marginal, price = problem.marginal(x), float(best.price)
    room = x < problem.upper
    allowed = np.full(x.size, slack)
    if isinstance(problem.law, hg.Beta):
        room &= x < np.asarray(problem.law.c) * (1.0 - 1e-13)
        with np.errstate(divide="ignore"):  # near c the last digit of x moves the marginal
            allowed += 1e-15 * problem.rate / (1.0 - x / np.asarray(problem.law.c))
    if np.any(marginal[room] > 1e-290):
        assert x.sum() == pytest.approx(budget, rel=1e-12)
    if price < 1e-290:  # more than enough for all
        return
    above = x > problem.lower
    assert np.all(marginal[room] <= price * (1.0 + allowed[room]))
    assert np.all(marginal[above] >= price * (1.0 - allowed[above]))


@settings(deadline=None, derandomize=True, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), arms=st.integers(1, 30), limits=st.booleans())
@pytest.mark.parametrize("law", CONCAVE.values(), ids=CONCAVE)
def test_kkt(law: Law, seed: int, arms: int, limits: bool) -> None:
    problem = instance(law, arms, seed, limits=limits)
    best = problem.solve()
    check_kkt(problem, best, slack=1e-6 if isinstance(law, hg.laws.FromScipy) else 1e-7)
    rng = np.random.default_rng(seed)
    for _ in range(10):
        assert problem.value(problem.random_allocation(rng)) <= best.bound * (1.0 + 1e-12)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), limits=st.booleans())
def test_kkt_with_a_law_per_arm(seed: int, limits: bool) -> None:
    problem = instance(MIXED, 6, seed, limits=limits)
    check_kkt(problem, problem.solve())


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("law", CONCAVE.values(), ids=CONCAVE)
def test_kkt_with_a_thousand_arms(law: Law, limits: bool) -> None:
    problem = instance(law, 1000, 3, limits=limits, spread=2.0)
    check_kkt(problem, problem.solve(), slack=1e-4 if isinstance(law, hg.laws.FromScipy) else 1e-7)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    log_budget=st.floats(-6.0, 6.0),
    log_rate=st.floats(-8.0, 8.0),
    width=st.floats(0.0, 8.0),
)
@pytest.mark.parametrize(
    "law", [hg.Exponential(), hg.Weibull(1.0), hg.Weibull(0.5), hg.Gamma(0.7), hg.Lomax(1.0), hg.HalfNormal()], ids=str
)
def test_far_out(law: Law, seed: int, log_budget: float, log_rate: float, width: float) -> None:
    """Rates from 1e-8 to 1e8 and budgets from 1e-6 to 1e6: feasible, finite and certified."""
    rng = np.random.default_rng(seed)
    rate = 10.0 ** np.clip(log_rate + width * rng.uniform(-1.0, 1.0, 8), -8.0, 8.0)
    free = np.full(8, np.inf)
    problem = Instance(law, rng.random(8), rate, 10.0**log_budget, np.zeros(8), free)
    best = problem.solve()
    assert np.all(best.x >= 0.0)
    assert best.x.sum() <= problem.budget * (1.0 + 1e-12)
    assert best.value == pytest.approx(problem.value(best.x), rel=1e-9)
    assert best.value <= best.bound
    assert best.gap <= 1e-9
    for _ in range(20):
        assert problem.value(problem.random_allocation(rng)) <= best.bound * (1.0 + 1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_exponential_against_cvxpy(seed: int) -> None:
    problem = instance(hg.Exponential(), 15, seed, limits=seed % 2 == 1)
    x = cp.Variable(15)
    ones = [x >= problem.lower, cp.sum(x) <= problem.budget]
    capped = np.flatnonzero(np.isfinite(problem.upper))
    if capped.size:
        ones.append(x[capped] <= problem.upper[capped])
    objective = cp.sum(cp.multiply(problem.weight, 1.0 - cp.exp(-cp.multiply(problem.rate, x))))
    reference = cp.Problem(cp.Maximize(objective), ones)
    reference.solve(solver=cp.CLARABEL, tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    best = problem.solve()
    assert best.value == pytest.approx(reference.value, rel=1e-8)
    assert best.value >= reference.value - 1e-8
    np.testing.assert_allclose(best.x, x.value, atol=2e-4 * problem.budget)


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("law", CONCAVE.values(), ids=CONCAVE)
def test_against_scipy(law: Law, limits: bool) -> None:
    problem = instance(law, 5, 11, limits=limits)
    lower = np.maximum(problem.lower, 1e-9 * problem.budget)  # slopes are infinite at 0
    top = problem.law.c if isinstance(problem.law, hg.Beta) else problem.budget
    upper = np.maximum(np.minimum(problem.upper, top), lower)
    spare = problem.budget - lower.sum()
    start = np.minimum(lower + spare / 10.0, upper)
    found = minimize(
        lambda x: -problem.value(x),
        start,
        jac=lambda x: -problem.marginal(x),
        bounds=list(zip(lower, upper, strict=True)),
        constraints=optimize.LinearConstraint(np.ones((1, 5)), -np.inf, problem.budget),
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    best = problem.solve()
    assert -found.fun <= best.bound * (1.0 + 1e-9)
    assert best.value == pytest.approx(-found.fun, rel=2e-6)
