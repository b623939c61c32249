"""S-shaped laws: the optimum is global, and the certificate holds against every other allocation tried."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.laws import Law

from .references import S_SHAPED, Instance, dynamic_program, instance, per_arm, projected_ascent


def scarce() -> Instance:
    """Forty arms that are nearly alike, and a budget for a few of them: hard to tell apart."""
    rng = np.random.default_rng(12)
    weight, rate = 1.0 + 0.02 * rng.random((2, 40))
    return Instance(hg.Weibull(2.5), weight, rate, 8.3, np.zeros(40), np.full(40, np.inf))


MIXED = per_arm(hg.Weibull(2.0), hg.LogNormal(0.5), hg.Exponential(), hg.Gamma(3.0), hg.LogLogistic(2.5))


def check(problem: Instance, best: hg.Allocation, tol: float = 1e-9) -> None:
    assert np.all(best.x >= problem.lower)
    assert np.all(best.x <= problem.upper)
    assert best.x.sum() <= problem.budget * (1.0 + 1e-12)
    assert best.value == pytest.approx(problem.value(best.x), rel=1e-9)
    assert 0.0 <= best.gap <= tol
    assert best.bound >= best.value


@settings(deadline=None, derandomize=True, max_examples=12)
@given(seed=st.integers(0, 2**32 - 1), arms=st.integers(1, 5), limits=st.booleans())
@pytest.mark.parametrize("law", S_SHAPED.values(), ids=S_SHAPED)
def test_against_dynamic_programming(law: Law, seed: int, arms: int, limits: bool) -> None:
    """Limits that fall anywhere, also into the convex part."""
    problem = instance(law, arms, seed, limits=limits)
    best = problem.solve()
    check(problem, best)
    coarse, x = dynamic_program(problem, 250)
    assert coarse == pytest.approx(problem.value(x), rel=1e-9)
    assert coarse <= best.value * (1.0 + 1e-9)
    polished = projected_ascent(problem, x)
    assert best.value * 0.95 <= polished <= best.value * (1.0 + 1e-9)


@settings(deadline=None, derandomize=True, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), limits=st.booleans())
def test_against_dynamic_programming_with_a_law_per_arm(seed: int, limits: bool) -> None:
    problem = instance(MIXED, 5, seed, limits=limits)
    best = problem.solve()
    check(problem, best)
    coarse, _ = dynamic_program(problem, 250)
    assert coarse <= best.value * (1.0 + 1e-9)


@pytest.mark.long
@pytest.mark.parametrize("law", S_SHAPED.values(), ids=S_SHAPED)
def test_no_worse_than_restarts_of_a_local_search(law: Law) -> None:
    problem = instance(law, 8, 5, limits=False)
    best, rng = problem.solve(), np.random.default_rng(1)
    check(problem, best)
    found = [projected_ascent(problem, problem.random_allocation(rng), steps=40) for _ in range(20)]
    assert max(found) <= best.bound * (1.0 + 1e-12)
    assert max(found) <= best.value * (1.0 + 1e-9)


@pytest.mark.long
@settings(deadline=None, derandomize=True, max_examples=10)
@given(seed=st.integers(0, 2**32 - 1), arms=st.sampled_from([30, 200, 1000]), limits=st.booleans())
@pytest.mark.parametrize("law", S_SHAPED.values(), ids=S_SHAPED)
def test_many_arms(law: Law, seed: int, arms: int, limits: bool) -> None:
    problem = instance(law, arms, seed, limits=limits)
    best = problem.solve()
    check(problem, best)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        assert problem.value(problem.random_allocation(rng)) <= best.bound
    # Nor does moving a little between any two arms help.
    i, j = rng.integers(arms, size=(2, 200))
    amount = np.minimum(rng.random(200) * (best.x[i] - problem.lower[i]), problem.upper[j] - best.x[j])
    for k in range(200):
        moved = best.x.copy()
        moved[i[k]] -= amount[k]
        moved[j[k]] += amount[k]
        assert problem.value(moved) <= best.bound * (1.0 + 1e-13)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(
    seed=st.integers(0, 2**32 - 1),
    log_budget=st.floats(-6.0, 6.0),
    log_rate=st.floats(-8.0, 8.0),
    width=st.floats(0.0, 8.0),
)
@pytest.mark.parametrize("law", [hg.Weibull(1.5), hg.Gamma(4.0), hg.LogNormal(0.7), hg.LogLogistic(2.0)], ids=str)
def test_far_out(law: Law, seed: int, log_budget: float, log_rate: float, width: float) -> None:
    """Rates from 1e-8 to 1e8 and budgets from 1e-6 to 1e6: feasible, finite and certified."""
    rng = np.random.default_rng(seed)
    rate = 10.0 ** np.clip(log_rate + width * rng.uniform(-1.0, 1.0, 6), -8.0, 8.0)
    problem = Instance(law, rng.random(6), rate, 10.0**log_budget, np.zeros(6), np.full(6, np.inf))
    best = problem.solve()
    check(problem, best)
    for _ in range(20):
        assert problem.value(problem.random_allocation(rng)) <= best.bound * (1.0 + 1e-12)


@pytest.mark.parametrize("law", [hg.Weibull(3.0), hg.LogNormal(0.4), hg.Gamma(6.0)], ids=str)
@pytest.mark.parametrize("budget", [0.7, 3.0, 8.3, 14.0])
def test_identical_arms_are_solved_in_few_nodes(law: Law, budget: float) -> None:
    best = hg.solve(law, np.full(20, 0.4), np.full(20, 1.0), budget)
    assert best.nodes <= 60
    assert best.gap <= 1e-9
    # With equal arms the optimum is n equal shares, and perhaps a smaller one.
    share = np.array([budget / n for n in range(1, 21)])
    equal = np.max(0.4 * np.arange(1, 21) * law.cdf(share, 1.0))
    assert best.value >= equal * (1.0 - 1e-12)
    again = hg.solve(law, np.full(20, 0.4), np.full(20, 1.0), budget)
    assert best.x.tobytes() == again.x.tobytes()


@pytest.mark.parametrize("limits", [False, True])
def test_arms_that_differ_in_weight_alone_are_solved_in_few_nodes(limits: bool) -> None:
    """The heavier arm gets at least as much; without that rule this takes all of 10,000 nodes."""
    rng = np.random.default_rng(4)
    weight = 1.0 + 0.01 * rng.random(20)
    lower, upper = (0.05, 1.3) if limits else (0.0, np.inf)
    best = hg.solve(hg.Weibull(3.0), weight, np.ones(20), 8.3, lower=lower, upper=upper)
    assert best.gap <= 1e-9
    assert best.nodes <= 100
    assert np.all(np.diff(best.x[np.argsort(-weight)]) <= 1e-9)


def test_twins_with_different_limits_are_no_twins() -> None:
    """A limit on one of two equal arms breaks their symmetry: brute force agrees."""
    upper = np.array([0.6, np.inf, np.inf, 0.3])
    lower = np.array([0.0, 0.2, 0.0, 0.1])
    problem = Instance(hg.Weibull(3.0), np.full(4, 0.5), np.ones(4), 2.3, lower, upper)
    best = problem.solve()
    check(problem, best)
    assert dynamic_program(problem, 600)[0] <= best.value * (1.0 + 1e-12)


@pytest.mark.parametrize("law", S_SHAPED.values(), ids=S_SHAPED)
def test_one_node_gives_a_valid_bound_and_says_its_gap(law: Law) -> None:
    stopped = 0
    for seed in range(12):
        problem = instance(law, 3, seed, limits=seed % 2 == 1)
        first, best = problem.solve(max_nodes=1), problem.solve()
        assert first.nodes == 1
        assert first.value <= best.value * (1.0 + 1e-12)
        assert first.bound >= best.value * (1.0 - 1e-12)
        assert first.gap == pytest.approx((first.bound - first.value) / first.bound, abs=1e-15)
        assert first.x.sum() <= problem.budget * (1.0 + 1e-12)
        stopped += int(first.gap > 1e-9)
    assert stopped > 0


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 9, 17, 33])
def test_more_nodes_never_loosen_the_bound(nodes: int) -> None:
    problem = scarce()
    fewer, more = problem.solve(max_nodes=nodes), problem.solve(max_nodes=2 * nodes + 1)
    assert fewer.nodes <= nodes
    assert more.bound <= fewer.bound
    assert more.value >= fewer.value
    assert fewer.bound >= more.value


def test_a_wider_tolerance_stops_earlier() -> None:
    problem = scarce()
    fine, rough = problem.solve(tol=1e-4, max_nodes=1000), problem.solve(tol=1e-2)
    assert rough.nodes < fine.nodes
    assert rough.gap <= 1e-2
    assert rough.bound >= fine.value
