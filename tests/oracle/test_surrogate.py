"""The paper's boosted surrogate P~: the same call with other weights, and Oracle Monotonicity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.laws import Floats, Law

from .references import CONCAVE, EVERY, Instance, dynamic_program


def surrogate(law: Law, p: Floats, rate: Floats, boosted: Floats, x: Floats) -> Floats:
    """Sum of p G~, G~ = 1 - s(lambda, lambda') (1 - G(x, lambda))."""
    return np.asarray(np.sum(p * (1.0 - law.boost(rate, boosted) * (1.0 - law.cdf(x, rate))), axis=-1))


@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_weights_times_boost_maximise_the_surrogate(law: Law) -> None:
    rng = np.random.default_rng(8)
    p, rate, boosted = rng.random(4), rng.uniform(1.1, 3.0, 4), rng.uniform(1.1, 3.0, 4)
    weight = p * law.boost(rate, boosted)
    best = hg.solve(law, weight, rate, 2.0)
    top = surrogate(law, p, rate, boosted, best.x)
    problem = Instance(law, weight, rate, 2.0, np.zeros(4), np.full(4, np.inf))
    _, x = dynamic_program(problem, 200)
    assert surrogate(law, p, rate, boosted, x) <= top + 1e-9
    for _ in range(200):
        assert surrogate(law, p, rate, boosted, problem.random_allocation(rng)) <= top + 1e-9


@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_consistency(law: Law) -> None:
    """With lambda' = lambda the surrogate is the problem itself."""
    rate = np.array([1.5, 2.0, 3.0])
    p = np.array([0.3, 0.8, 0.5])
    same = hg.solve(law, p * law.boost(rate, rate), rate, 1.5)
    np.testing.assert_array_equal(same.x, hg.solve(law, p, rate, 1.5).x)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1), arms=st.integers(2, 12), width=st.floats(0.01, 1.0), budget=st.floats(0.05, 20.0)
)
@pytest.mark.parametrize("law", CONCAVE.values(), ids=CONCAVE)
def test_oracle_monotonicity(law: Law, seed: int, arms: int, width: float, budget: float) -> None:
    """Boost arm i (lambda^-, lambda^+, p^+) and be pessimistic about the others: i gets at least its optimum.

    The paper's assumption follows from Boosting Monotonicity and concavity; intervals contain the truth.
    """
    rng = np.random.default_rng(seed)
    p, rate = rng.random(arms), 1.0 + rng.random(arms) * 2.0
    low, high = rate * np.exp(-width * rng.random(arms)), rate * np.exp(width * rng.random(arms))
    if isinstance(law, hg.Beta):
        low = np.maximum(low, 1.0)
    p_low, p_high = p * rng.random(arms), p + (1.0 - p) * rng.random(arms)
    truth = hg.solve(law, p, rate, budget).x
    for i in range(min(arms, 3)):
        chosen = np.arange(arms) == i
        at, boosted = np.where(chosen, low, high), np.where(chosen, high, low)
        weight = np.where(chosen, p_high, p_low) * law.boost(at, boosted)
        assert hg.solve(law, weight, at, budget).x[i] >= truth[i] - 1e-6 * budget
