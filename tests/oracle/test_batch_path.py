"""Batches equal their rows to the last bit; paths never take back what they gave."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate.errors import BudgetError, UnsupportedError
from headgate.laws import Law
from headgate.oracle import Reward, path

from .references import CONCAVE, EVERY, S_SHAPED, per_arm

BUDGETS = np.concatenate([[0.0], np.geomspace(1e-3, 60.0, 60)])
OTHERS: dict[str, Law] = {
    "discrete": hg.DiscreteWeibull(1.6),
    "shape_per_arm": hg.Weibull([0.7, 1.0, 1.4, 2.0, 5.0]),
    "law_per_arm": per_arm(hg.Exponential(), hg.Gamma(2.0), hg.LogNormal(), hg.Beta(3.0), hg.Lomax(2.0)),
    "mixed": per_arm(hg.Exponential(), hg.DiscreteWeibull(1.5), hg.Weibull(2.0), hg.DiscreteWeibull(), hg.Gamma(0.5)),
}
LAWS = EVERY | OTHERS


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("reward", ["sum", "cascade"])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_a_row_of_a_batch_equals_the_single_call(law: Law, reward: Reward, limits: bool) -> None:
    rng = np.random.default_rng(6)
    weight, rate = rng.random((3, 4, 5)), rng.uniform(1.05, 3.0, (4, 5))
    budget = rng.uniform(1.0, 8.0, (3, 1))
    lower, upper = (0.0, np.inf) if not limits else (np.array([0, 0, 1, 0, 0]), np.array([2.0, 9, 3, 1, 9]))
    batch = hg.solve(law, weight, rate, budget, reward=reward, lower=lower, upper=upper)
    assert batch.x.shape == (3, 4, 5)
    assert batch.value.shape == batch.bound.shape == batch.price.shape == batch.nodes.shape == (3, 4)
    for i in range(3):
        for j in range(4):
            one = hg.solve(law, weight[i, j], rate[j], budget[i, 0], reward=reward, lower=lower, upper=upper)
            assert one.x.tobytes() == batch.x[i, j].tobytes()
            assert (one.value, one.bound, one.price) == (batch.value[i, j], batch.bound[i, j], batch.price[i, j])
            assert one.value.shape == ()


def test_limits_per_row() -> None:
    upper = np.array([[1.0, 1.0], [0.1, 5.0]])
    batch = hg.solve(hg.Weibull(2.0), [0.5, 0.6], [1.0, 1.1], [1.5, 2.0], upper=upper)
    for r in range(2):
        one = hg.solve(hg.Weibull(2.0), [0.5, 0.6], [1.0, 1.1], [1.5, 2.0][r], upper=upper[r])
        assert one.x.tobytes() == batch.x[r].tobytes()


@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_no_share_shrinks_along_a_path(law: Law) -> None:
    rng = np.random.default_rng(5)
    weight, rate = rng.random(7), rng.uniform(1.05, 4.0, 7)
    steps = path(law, weight, rate, BUDGETS)
    assert steps.x.shape == (61, 7)
    assert np.all(np.diff(steps.x, axis=0) >= -1e-9 * BUDGETS[1:, None])
    assert np.all(steps.x.sum(axis=-1) <= BUDGETS * (1.0 + 1e-12))
    for at, budget in enumerate(BUDGETS[1:], start=1):
        best = hg.solve(law, weight, rate, budget)
        assert steps.value[at] <= best.bound * (1.0 + 1e-12)
        assert steps.bound[at] >= best.value * (1.0 - 1e-12)


@pytest.mark.parametrize("law", CONCAVE.values(), ids=CONCAVE)
def test_a_path_of_concave_laws_is_optimal(law: Law) -> None:
    rng = np.random.default_rng(7)
    weight, rate = rng.random(7), rng.uniform(1.05, 4.0, 7)
    steps = path(law, weight, rate, BUDGETS[10:])
    for at, budget in enumerate(BUDGETS[10:]):
        best = hg.solve(law, weight, rate, budget)
        np.testing.assert_allclose(steps.x[at], best.x, rtol=1e-7, atol=1e-9 * budget)
    assert np.all(steps.gap <= 1e-9)


@pytest.mark.parametrize("law", S_SHAPED.values(), ids=S_SHAPED)
def test_a_path_of_s_shaped_laws_says_how_far_it_is(law: Law) -> None:
    rng = np.random.default_rng(9)
    weight, rate = rng.random(5), rng.uniform(1.05, 4.0, 5)
    steps = path(law, weight, rate, BUDGETS[1:])
    value = np.sum(weight * law.cdf(steps.x, rate), axis=-1)
    np.testing.assert_allclose(steps.value, value, rtol=1e-9, atol=1e-11)
    assert np.any(steps.gap > 1e-6)  # an arm is on its way to its tangent somewhere
    assert np.any(steps.gap < 1e-7)  # and nowhere on its way elsewhere


def test_a_path_of_a_batch_has_the_budgets_first() -> None:
    rng = np.random.default_rng(1)
    weight, rate = rng.random((3, 4)), rng.random((3, 4)) + 0.5
    steps = path(hg.Exponential(), weight, rate, [1.0, 2.0])
    assert steps.x.shape == (2, 3, 4)
    one = hg.solve(hg.Exponential(), weight[1], rate[1], 2.0)
    assert steps.x[1, 1].tobytes() == one.x.tobytes()


def test_a_path_within_limits() -> None:
    lower, upper = np.array([0.1, 0.0, 0.2]), np.array([0.5, np.inf, 2.0])
    steps = path(hg.Weibull(2.0), [0.5, 0.3, 0.9], [1.0, 2.0, 0.5], BUDGETS[40:], lower=lower, upper=upper)
    assert np.all(steps.x >= lower)
    assert np.all(steps.x <= upper)
    assert np.all(np.diff(steps.x, axis=0) >= -1e-9)


def test_a_path_of_whole_numbers_where_marginals_fall() -> None:
    law = hg.DiscreteWeibull(0.8)
    steps = path(law, [0.9, 0.5, 0.7], [0.3, 0.9, 0.2], np.arange(20.0))
    np.testing.assert_array_equal(np.diff(steps.x.sum(axis=-1)), 1.0)
    assert np.all(np.diff(steps.x, axis=0) >= 0.0)
    with pytest.raises(UnsupportedError, match="no path"):
        path(hg.DiscreteWeibull(1.5), [0.9, 0.5], [0.3, 0.9], [1.0, 2.0])


@pytest.mark.parametrize("budgets", [[2.0, 1.0], [], [[1.0, 2.0]], [1.0, np.nan], [-1.0, 1.0], 3.0])
def test_budgets_of_a_path_must_grow(budgets: object) -> None:
    with pytest.raises(BudgetError, match="budgets must be"):
        path(hg.Exponential(), [0.5], [1.0], budgets)  # type: ignore[arg-type]
