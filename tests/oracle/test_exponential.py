"""The exponential law: the closed form by sorting, ties, and instances made to be slow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg

from .references import sorted_water_filling


@settings(deadline=None, derandomize=True, max_examples=150)
@given(seed=st.integers(0, 2**32 - 1), arms=st.integers(1, 200), spread=st.floats(0.0, 3.0))
def test_closed_form_by_sorting(seed: int, arms: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    weight, rate = rng.random(arms) + 1e-6, np.exp(spread * rng.normal(size=arms))
    budget = float(np.exp(rng.uniform(-3.0, 3.0)) * np.sum(1.0 / rate) / 10.0)
    best = hg.solve(hg.Exponential(), weight, rate, budget)
    expected = sorted_water_filling(weight, rate, budget)
    np.testing.assert_allclose(best.x, expected, rtol=1e-9, atol=1e-12 * budget)
    assert best.x.sum() == pytest.approx(budget, rel=1e-13)
    assert best.nodes == 1
    assert best.bound == pytest.approx(best.value, rel=1e-13)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), arms=st.integers(1, 40))
def test_both_kernels_agree(seed: int, arms: int) -> None:
    """An upper limit that no arm reaches sends the same problem through the general kernel."""
    rng = np.random.default_rng(seed)
    weight, rate, budget = rng.random(arms), np.exp(rng.normal(size=arms)), float(rng.exponential(arms))
    fast = hg.solve(hg.Exponential(), weight, rate, budget)
    general = hg.solve(hg.Exponential(), weight, rate, budget, upper=2.0 * budget)
    np.testing.assert_allclose(fast.x, general.x, rtol=1e-9, atol=1e-12 * budget)
    assert fast.value == pytest.approx(general.value, rel=1e-13)
    assert fast.price == pytest.approx(general.price, rel=1e-9)


def test_ties_are_shared_and_deterministic() -> None:
    first = hg.solve(hg.Exponential(), np.full(7, 0.3), np.full(7, 2.0), 3.5)
    np.testing.assert_allclose(first.x, 0.5, rtol=1e-14)
    again = hg.solve(hg.Exponential(), np.full(7, 0.3), np.full(7, 2.0), 3.5)
    assert first.x.tobytes() == again.x.tobytes()


@pytest.mark.parametrize("base", [0.5, 0.9, 1.1, 2.0])
def test_arms_that_drop_out_one_by_one(base: float) -> None:
    """Geometric rates make Newton drop few arms a step: it must be right none the less."""
    arms = 600
    rate = base ** np.linspace(-300.0, 300.0, arms)
    weight = np.minimum(1.0, np.exp(-np.linspace(0.0, 40.0, arms)) / rate)
    weight /= weight.max()
    budget = float(np.median(1.0 / rate))
    best = hg.solve(hg.Exponential(), weight, rate, budget)
    assert best.x.sum() == pytest.approx(budget, rel=1e-12)
    assert best.gap <= 1e-9
    assert np.all(best.x >= 0.0)


def test_many_arms_with_adversarial_rates() -> None:
    arms = 100_000
    rate = np.geomspace(1e-8, 1e8, arms)
    weight = np.clip(np.geomspace(1e8, 1e-8, arms), 1e-12, 1.0)
    best = hg.solve(hg.Exponential(), weight, rate, 1.0)
    assert best.gap <= 1e-9


@pytest.mark.parametrize("weight", [1e-300, 1e-150, 1.0, 1e150, 1e300])
@pytest.mark.parametrize("rate", [1e-300, 1e-150, 1.0, 1e150, 1e300])
def test_products_that_leave_the_range_of_floats(weight: float, rate: float) -> None:
    best = hg.solve(hg.Exponential(), [weight, weight / 2.0, 0.0], [rate, rate, rate], 3.0)
    assert np.all(np.isfinite(best.x))
    assert np.all(best.x >= 0.0)
    assert best.x.sum() <= 3.0 * (1.0 + 1e-12)
    assert best.x[2] == 0.0
    assert np.isfinite(best.value)


def test_a_budget_below_the_digits_of_the_price() -> None:
    """Rates 1e-8 and a budget of 1e-6: x is far below what log prices resolve, and must not turn negative."""
    best = hg.solve(hg.Exponential(), np.full(5, 0.7), np.full(5, 1e-8), 1e-6)
    assert np.all(best.x >= 0.0)
    assert best.x.sum() == pytest.approx(1e-6, rel=1e-12)
    assert best.value == pytest.approx(0.7e-14, rel=1e-9)
