"""Plans for budgets that nobody knows: exact worth, nothing better found by slow searches, bounds that hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import headgate as hg
from headgate.errors import HeadgateError
from headgate.kernels import plan as kernel
from headgate.kernels import plan_order

from .plan_references import best_found, random_problem, slot_worths, subset_programme, value_of

TWENTY = 20


def quiz(seed: int, arms: int = TWENTY, law: Any = None) -> tuple[hg.Problem, np.ndarray]:
    """A problem whose budgets end, on the whole, when about half of what the arms would like is spent."""
    rng = np.random.default_rng(seed)
    rate = rng.uniform(0.2, 2.0, arms)
    problem = hg.Problem(law or hg.Weibull(1.6), rng.uniform(0.2, 1.0, arms), rate)
    return problem, 0.5 * np.sum(1.0 / rate) * rng.gamma(4.0, 0.25, 200)


@pytest.mark.parametrize("kind", ["one", "mixed", "whole"])
@pytest.mark.parametrize("seed", range(70))
def test_no_plan_is_better_and_none_exceeds_the_bound(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, len(kind)])
    problem, budgets = random_problem(rng, int(rng.integers(1, 4)), kind)
    plan = problem.plan(budgets)
    assert plan.value == pytest.approx(value_of(problem, plan.order, plan.amounts, budgets), rel=1e-9)
    best = best_found(problem, budgets, cells=8, levels=4)
    assert best * (1.0 - 1e-3) <= plan.value
    assert max(best, plan.value) <= plan.bound * (1.0 + 1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("law", [hg.Exponential(), hg.Weibull(2.0), hg.Weibull(0.6), hg.LogNormal(0.7)])
def test_the_order_is_that_of_dynamic_programming_over_subsets(law: Any, seed: int) -> None:
    problem, budgets = quiz(seed, 4 + seed, law)
    budgets = budgets[:40]
    best = subset_programme(slot_worths(problem, budgets, np.linspace(0.0, budgets.max(), 41)))
    plan = problem.plan(budgets)
    assert best * (1.0 - 1e-6) <= plan.value <= plan.bound
    assert best <= plan.bound


@pytest.mark.parametrize("law", [hg.Exponential(), hg.Weibull(1.6), hg.LogNormal(0.8), hg.Gamma(2.5)])
def test_twenty_arms_are_planned_to_a_fifth_of_a_percent(law: Any) -> None:
    gaps = []
    for seed in range(5):
        problem, budgets = quiz(seed, law=law)
        plan = problem.plan(budgets)
        assert plan.value == pytest.approx(value_of(problem, plan.order, plan.amounts, budgets), rel=1e-9)
        gaps.append(plan.gap)
    assert max(gaps) <= 2e-3


def test_orders_matter_and_static_optima_in_index_order_are_worse() -> None:
    problem, budgets = quiz(0)
    plan = problem.plan(budgets)
    rng = np.random.default_rng(0)
    static = problem.solve(float(budgets.max())).x
    shuffled = [value_of(problem, rng.permutation(TWENTY), plan.amounts, budgets[:50]) for _ in range(5)]
    assert max(shuffled) < 0.97 * value_of(problem, plan.order, plan.amounts, budgets[:50])
    index = np.argsort(-problem.success_probability(static) / np.maximum(static, 1e-300))
    assert value_of(problem, index, static, budgets) < plan.value


@pytest.mark.parametrize("law", [hg.Exponential(), hg.Weibull(1.6), hg.DiscreteWeibull(0.8)])
def test_a_single_budget_is_the_known_one(law: Any) -> None:
    problem = hg.Problem(law, [0.9, 0.5, 0.7], [0.1, 0.3, 0.05])
    plan, best = problem.plan([20.0]), problem.solve(20.0)
    assert plan.value == pytest.approx(best.value, rel=1e-4)
    assert plan.value <= best.bound <= plan.bound * (1.0 + 1e-12)


def test_longer_budgets_are_never_worth_less() -> None:
    for seed in range(8):
        problem, budgets = quiz(seed, 6, hg.LogNormal(0.9))
        plans = [problem.plan(budgets * longer + more) for longer, more in ((1.0, 0.0), (1.0, 0.5), (1.3, 0.5))]
        for short, long in pairwise(plans):
            assert short.value <= long.bound
            assert short.value <= long.value * (1.0 + 1e-3)


def test_units_of_the_budget_and_of_value_do_not_matter() -> None:
    problem, budgets = quiz(3, 7)
    scaled = hg.Problem(problem.law, problem.activation, problem.rate / 8.0, value=4.0)
    plan, other = problem.plan(budgets), scaled.plan(8.0 * budgets)
    np.testing.assert_array_equal(plan.order, other.order)
    np.testing.assert_allclose(other.amounts, 8.0 * plan.amounts, rtol=1e-9)
    np.testing.assert_allclose([other.value, other.bound], [4.0 * plan.value, 4.0 * plan.bound], rtol=1e-9)


def test_huge_and_tiny_values_and_budgets_that_hardly_ever_are() -> None:
    problem, budgets = quiz(5, 5)
    plan = problem.plan(budgets)
    for value in (1e60, 1e-60):
        other = problem.plan(budgets, value=value)
        np.testing.assert_array_equal(plan.order, other.order)
        assert other.value == pytest.approx(value * plan.value)
        assert other.gap == pytest.approx(plan.gap, rel=0.5, abs=1e-6)
    seldom = problem.plan([0.0] * 9_999 + [float(budgets.mean())])
    assert 0.0 < seldom.value <= seldom.bound < 1e-3
    assert seldom.gap < 0.05


def test_every_budget_counts_as_often_as_it_is_given() -> None:
    problem, budgets = quiz(4, 5)
    once, thrice = problem.plan(budgets), problem.plan(np.tile(budgets, 3)[::-1])
    np.testing.assert_array_equal(once.order, thrice.order)
    assert once.value == pytest.approx(thrice.value, rel=1e-12)


def test_limits_eligibility_and_values_are_kept() -> None:
    problem, budgets = quiz(1, 8)
    free = problem.plan(budgets)
    eligible = np.arange(8) != free.order[0]
    upper = np.full(8, 0.4)
    plan = problem.plan(budgets, eligible=eligible, upper=upper)
    assert plan.amounts[free.order[0]] == 0.0
    assert np.all(plan.amounts <= upper)
    assert plan.value < free.value
    dear = problem.plan(budgets, value=np.where(np.arange(8) == 5, 50.0, 1.0))
    assert dear.order[0] == 5
    assert problem.plan(budgets, eligible=False).order.size == 0


def test_whole_units_beside_others() -> None:
    laws = [hg.DiscreteWeibull(0.9), hg.Exponential(), hg.DiscreteWeibull(1.3)]
    problem = hg.Problem(laws, [0.8, 0.7, 0.9], [0.4, 0.5, 0.3])
    budgets = np.array([2.5, 6.0, 9.7, 14.2])
    plan = problem.plan(budgets)
    assert np.all(plan.amounts[[0, 2]] % 1.0 == 0.0)
    best = best_found(problem, budgets, cells=10)
    assert best * (1.0 - 5e-3) <= plan.value
    assert max(best, plan.value) <= plan.bound


@pytest.mark.parametrize("law", [hg.from_scipy("beta", 2.0, 5.0), hg.from_scipy("invgauss", 0.8), hg.Beta(2.0)])
def test_tabulated_and_bounded_laws(law: Any) -> None:
    problem = hg.Problem(law, [0.9, 0.6, 0.8], [1.0, 2.0, 0.5])
    budgets = np.random.default_rng(0).gamma(3.0, 0.4, 20)
    plan, best = problem.plan(budgets), best_found(problem, budgets, cells=8, levels=4)
    assert best * (1.0 - 1e-3) <= plan.value
    assert max(best, plan.value) <= plan.bound


def test_curves_by_points() -> None:
    problem = hg.Problem.from_curves(
        [0.0, 1.0, 2.0, 5.0], [[0.0, 0.0, 0.7, 0.8], [0.0, 0.4, 0.5, 0.6], [0.0, 0.1, 0.2, 0.9]]
    )
    budgets = np.array([1.0, 2.5, 4.0, 7.0])
    plan, best = problem.plan(budgets), best_found(problem, budgets)
    assert best * (1.0 - 1e-3) <= plan.value
    assert max(best, plan.value) <= plan.bound


def test_what_was_given_when_a_budget_ended() -> None:
    problem, budgets = quiz(2, 5)
    plan = problem.plan(budgets)
    whole = plan.amounts.sum()
    for budget in (0.0, 0.3 * whole, whole, 2.0 * whole, np.inf):
        given = plan.given(budget)
        assert given.sum() == pytest.approx(min(budget, whole))
        assert np.all((given >= 0.0) & (given <= plan.amounts))
    half = plan.given(plan.amounts[plan.order[0]])
    assert half[plan.order[0]] == plan.amounts[plan.order[0]]
    assert half.sum() == pytest.approx(plan.amounts[plan.order[0]])
    assert repr(plan).startswith("Plan(value=")


def test_nothing_to_plan() -> None:
    for problem, budgets in ((hg.Problem(hg.Exponential(), [0.5], [1.0]), [0.0]), (quiz(0)[0], 0.0),
                             (hg.Problem(hg.Exponential(), [0.0, 0.0], [1.0, 2.0]), [3.0])):  # fmt: skip
        plan = problem.plan(budgets)
        assert (plan.order.size, plan.amounts.sum(), plan.value, plan.bound, plan.gap) == (0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("budgets", "options", "message"),
    [
        ([], {}, "at least one number"), ([[1.0, 2.0]], {}, "at least one number"), ("much", {}, "'much'"),
        ([1.0, -2.0], {}, "-2.0 at index 1"), ([np.nan], {}, "nan at index 0"), ([np.inf], {}, "inf at index 0"),
        (None, {}, "None"), ([1.0], {"value": [1.0]}, "3 arms"), ([1.0], {"value": -1.0}, "-1.0"),
        ([1.0], {"eligible": [True]}, "3 arms"), ([1.0], {"eligible": 0.5}, "0.5"), ([1.0], {"upper": -1.0}, "-1.0"),
        ([1.0], {"upper": [1.0, 2.0]}, "3 arms"), ([1.0], {"value": [[1.0] * 3] * 2}, "3 arms"),
    ],
)  # fmt: skip
def test_wrong_input_is_named(budgets: Any, options: dict[str, Any], message: str) -> None:
    problem = hg.Problem(hg.Exponential(), [0.9, 0.5, 0.7], 1.0)
    with pytest.raises(HeadgateError, match=message):
        problem.plan(budgets, **options)


def test_a_batch_is_refused() -> None:
    with pytest.raises(HeadgateError, match="batch"):
        hg.Problem(hg.Exponential(), [[0.9, 0.5]], [[1.0, 1.0]]).plan([1.0])


def _table(rng: np.random.Generator, arms: int, cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    gain, survival = rng.random((arms, cells)), np.sort(rng.random(cells))[::-1]
    worth = np.zeros((arms, cells + 1, cells + 1))
    for a in range(cells + 1):
        for b in range(a, cells + 1):
            worth[:, a, b] = gain[:, : b - a] @ survival[a:b]
    return gain, survival, worth


@pytest.mark.parametrize("seed", range(20))
def test_kernels_against_tables(seed: int) -> None:
    """Orders, amounts and bounds of the kernels are those of the slots written out."""
    rng = np.random.default_rng(seed)
    gain, survival, worth = _table(rng, 4, 12)
    nodes, arms = np.arange(13), np.arange(4)
    table = plan_order.slot_worths(np.ascontiguousarray(gain.T), survival, nodes)
    np.testing.assert_allclose(np.swapaxes(table, 1, 2), worth, rtol=1e-6)
    best = subset_programme(worth)
    order = plan_order.order_by_subsets(table, arms)
    cells, value = kernel.amounts_in_order(gain, survival, order)
    assert value == pytest.approx(best, rel=1e-6)
    ends = np.cumsum(cells[order])
    np.testing.assert_allclose(sum(worth[i, b - cells[i], b] for i, b in zip(order, ends, strict=True)), value)
    searched, found = plan_order.order_by_search(table, arms, 20, 1)
    assert found == pytest.approx(kernel.amounts_in_order(gain, survival, searched)[1], rel=1e-6)
    price = rng.random(12) * 0.5
    paid = np.concatenate([[0.0], np.cumsum(price)])
    slots = np.triu(np.ones((13, 13))) > 0.0
    above = np.max(np.where(slots, worth - paid + paid[:, None], -np.inf), axis=(1, 2))
    none, zero = np.zeros(4), np.zeros(13)
    bound = kernel.bound_at_prices(gain, none, survival, zero, zero, price)
    assert bound == pytest.approx(paid[-1] + above.sum())
    assert bound >= best
    lower, least = kernel.prices_between_nodes(table, price, best, 0.0, 200)
    assert best * (1.0 - 1e-5) <= least <= bound
    again = kernel.bound_at_prices(gain, none, survival, zero, zero, lower)
    assert again == pytest.approx(least, rel=1e-5)
