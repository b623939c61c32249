"""Whole-number thresholds: greedy and dynamic programming against every allocation there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.laws import Law
from headgate.oracle import Reward

from .references import whole_allocations

shapes = pytest.mark.parametrize("shape", [0.5, 1.0, 1.4, 3.0])


def enumerate_best(
    law: Law, weight: np.ndarray, rate: np.ndarray, budget: int, low: np.ndarray, high: np.ndarray, reward: Reward
) -> float:
    every = np.array(list(whole_allocations(budget, low, high)))
    success = weight * law.cdf(every, rate)
    return float(np.max(success.sum(axis=-1) if reward == "sum" else 1.0 - np.prod(1.0 - success, axis=-1)))


@settings(deadline=None, derandomize=True, max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), budget=st.floats(0.0, 9.99), limits=st.booleans())
@pytest.mark.parametrize("reward", ["sum", "cascade"])
@shapes
def test_against_every_allocation(shape: float, reward: Reward, seed: int, budget: float, limits: bool) -> None:
    rng = np.random.default_rng(seed)
    law, weight, rate = hg.DiscreteWeibull(shape), rng.random(4), np.exp(rng.normal(-1.0, 0.8, 4))
    whole = int(budget)
    low, high = np.zeros(4, dtype=int), np.full(4, whole)
    if limits:
        low = rng.multinomial(rng.integers(whole + 1), np.full(4, 0.25))
        high = low + rng.integers(0, 5, 4)
    best = hg.solve(law, weight, rate, budget, lower=low, upper=high, reward=reward)
    np.testing.assert_array_equal(best.x, np.floor(best.x))
    assert best.x.sum() <= whole
    assert np.all((best.x >= low) & (best.x <= high))
    success = weight * law.cdf(best.x, rate)
    value = success.sum() if reward == "sum" else 1.0 - np.prod(1.0 - success)
    assert best.value == pytest.approx(value, rel=1e-12, abs=1e-15)
    assert best.value == pytest.approx(
        enumerate_best(law, weight, rate, whole, low, high, reward), rel=1e-12, abs=1e-15
    )
    assert best.gap <= 1e-12


@pytest.mark.parametrize("shape", [0.6, 2.0])
def test_a_shape_per_arm_and_fractional_limits(shape: float) -> None:
    law = hg.DiscreteWeibull([shape, 1.0, 1.5])
    weight, rate = np.array([0.9, 0.5, 0.8]), np.array([0.3, 0.6, 0.25])
    best = hg.solve(law, weight, rate, 9.9, lower=[0.2, 0.0, 0.0], upper=[3.7, 8.0, np.inf])
    expected = enumerate_best(law, weight, rate, 9, np.array([1, 0, 0]), np.array([3, 8, 9]), "sum")
    assert best.value == pytest.approx(expected, rel=1e-12)
    assert 1.0 <= best.x[0] <= 3.0


def test_the_price_is_what_the_last_unit_brought() -> None:
    weight, rate = np.array([0.9, 0.5, 0.8]), np.array([0.3, 0.6, 0.25])
    for shape in (0.7, 1.8):
        law = hg.DiscreteWeibull(shape)
        values = [float(hg.solve(law, weight, rate, n).value) for n in range(12)]
        prices = [float(hg.solve(law, weight, rate, n).price) for n in range(12)]
        np.testing.assert_allclose(prices[1:], np.diff(values), atol=1e-14)


@shapes
def test_large_budgets_end(shape: float) -> None:
    """Arms saturate long before the budget does: neither time nor memory may grow with its square."""
    rng = np.random.default_rng(0)
    weight, rate = rng.random(30), rng.uniform(0.05, 0.5, 30)
    best = hg.solve(hg.DiscreteWeibull(shape), weight, rate, 20_000.0)
    assert best.value == pytest.approx(weight.sum(), rel=1e-4)  # a shape of 1/2 has a long tail
    assert best.x.sum() <= 20_000


def test_an_integer_batch_equals_its_rows() -> None:
    rng = np.random.default_rng(3)
    weight, rate = rng.random((2, 5, 4))
    budgets = np.array([0.0, 3.0, 7.9, 12.0, 30.0])
    for shape in (0.7, 2.2):
        law = hg.DiscreteWeibull(shape)
        batch = hg.solve(law, weight, rate, budgets)
        for r, budget in enumerate(budgets):
            one = hg.solve(law, weight[r], rate[r], budget)
            assert batch.x[r].tobytes() == one.x.tobytes()
            assert batch.value[r] == one.value
            assert batch.price[r] == one.price


@settings(deadline=None, derandomize=True, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), budget=st.floats(0.5, 7.0), limits=st.booleans())
@pytest.mark.parametrize("reward", ["sum", "cascade"])
@pytest.mark.parametrize("smooth", [hg.Exponential(), hg.Weibull(2.5)], ids=str)
def test_integer_and_continuous_arms_together(
    smooth: Law, reward: Reward, seed: int, budget: float, limits: bool
) -> None:
    rng = np.random.default_rng(seed)
    laws = [hg.DiscreteWeibull(0.8), smooth, hg.DiscreteWeibull(2.0), smooth]
    weight, rate = rng.random(4), np.exp(rng.normal(-0.7, 0.7, 4))
    low, high = np.zeros(4), np.full(4, budget)
    if limits:
        high = np.array([2.0, rng.random() * budget, 5.0, budget])
    best = hg.solve(laws, weight, rate, budget, lower=low, upper=high, reward=reward)
    np.testing.assert_array_equal(best.x[[0, 2]], np.floor(best.x[[0, 2]]))
    assert best.x.sum() <= budget * (1.0 + 1e-12)
    assert np.all(best.x <= high)
    whole = np.array(list(whole_allocations(int(budget), np.zeros(2, int), np.floor(high[[0, 2]]).astype(int))))
    share = np.linspace(0.0, 1.0, 401)
    left = (budget - whole.sum(axis=-1))[:, None]
    first = np.minimum(share * left, high[1])
    second = np.minimum(left - first, high[3])
    x = np.stack(np.broadcast_arrays(whole[:, :1], first, whole[:, 1:], second), axis=-1)
    success = weight * np.stack([law.cdf(x[..., i], rate[i]) for i, law in enumerate(laws)], axis=-1)
    values = success.sum(axis=-1) if reward == "sum" else 1.0 - np.prod(1.0 - success, axis=-1)
    assert np.max(values) <= best.bound * (1.0 + 1e-12)
    assert best.value == pytest.approx(np.max(values), rel=1e-3, abs=1e-12)
    assert best.value >= np.max(values) * (1.0 - 1e-9)
    assert best.gap <= 1e-9


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("shape", [0.25, 0.8, 1.0])
@pytest.mark.parametrize("arms", [1, 7, 900])
def test_falling_units_are_the_largest_there_are(arms: int, shape: float, limits: bool) -> None:
    """Every unit of every arm, sorted: the best so many. Some arms are worth nothing, some are limited."""
    rng, most = np.random.default_rng([arms, int(limits)]), 60
    law = hg.DiscreteWeibull(shape if arms != 7 else shape * rng.uniform(0.5, 1.0, arms))
    for spread in (1e-6, 0.5, 3.0):
        weight, rate = rng.random(arms) * (rng.random(arms) < 0.9), np.exp(rng.normal(-1.0, spread, arms))
        lower = np.floor(3.0 * rng.random(arms)) * limits
        upper = lower + np.floor(most * rng.random(arms)) if limits else np.full(arms, float(most))
        steps = np.arange(most + 4.0)[:, None]
        units = np.diff(weight * law.cdf(steps, rate), axis=0)
        allowed = np.where((steps[:-1] >= lower) & (steps[:-1] < upper), units, 0.0)
        least, largest = float(np.sum(weight * law.cdf(lower, rate))), np.sort(allowed.ravel())[::-1]
        for share in (0.001, 0.03, 0.4, 0.99, 1.5):
            spare = int(share * np.sum(upper - lower))
            best = hg.solve(law, weight, rate, float(lower.sum()) + spare, lower=lower, upper=upper)
            assert best.value == pytest.approx(least + largest[:spare].sum(), rel=1e-12)
            assert best.value == pytest.approx(np.sum(weight * law.cdf(best.x, rate)), rel=1e-13)
            assert np.all((best.x >= lower) & (best.x <= upper) & (best.x == np.floor(best.x)))
            assert best.x.sum() <= lower.sum() + spare
            assert best.gap <= 1e-12
