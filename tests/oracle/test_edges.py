"""The edges: nothing to give, nothing to gain, nowhere to put it."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate.laws import Law
from headgate.oracle import Reward

from .references import EVERY

LAWS = [*EVERY.values(), hg.DiscreteWeibull(0.7), hg.DiscreteWeibull(1.8)]
every_law = pytest.mark.parametrize("law", LAWS, ids=[*EVERY, "discrete_0.7", "discrete_1.8"])
both_rewards = pytest.mark.parametrize("reward", ["sum", "cascade"])


def objective(law: Law, weight: np.ndarray, rate: np.ndarray, x: np.ndarray, reward: Reward) -> float:
    success = weight * law.cdf(x, rate)
    return float(np.sum(success) if reward == "sum" else 1.0 - np.prod(1.0 - success))


@every_law
@both_rewards
def test_no_budget(law: Law, reward: Reward) -> None:
    best = hg.solve(law, [0.5, 0.2], [1.0, 2.0], 0.0, reward=reward)
    assert best.x.tolist() == [0.0, 0.0]
    assert best.value <= 1e-9
    assert best.gap <= 1e-9 or best.bound <= 1e-9
    assert best.price >= 0.0


@every_law
@both_rewards
def test_all_weights_zero(law: Law, reward: Reward) -> None:
    best = hg.solve(law, [0.0, 0.0, 0.0], [1.0, 2.0, 3.0], 5.0, reward=reward)
    assert best.value == 0.0
    assert best.bound == 0.0
    assert best.gap == 0.0
    assert np.all(best.x >= 0.0)
    assert best.x.sum() <= 5.0


@every_law
@both_rewards
def test_an_arm_of_no_weight_gets_nothing(law: Law, reward: Reward) -> None:
    rate = np.array([1.1, 2.0, 3.0])
    best = hg.solve(law, [0.5, 0.0, 0.2], rate, 4.0, reward=reward)
    two = hg.solve(law, [0.5, 0.2], rate[[0, 2]], 4.0, reward=reward)
    assert best.x[1] == 0.0
    np.testing.assert_allclose(best.x[[0, 2]], two.x, rtol=1e-9)
    assert best.value == pytest.approx(two.value, rel=1e-12)


@every_law
@both_rewards
def test_one_arm_gets_all_and_its_price_is_its_marginal(law: Law, reward: Reward) -> None:
    best = hg.solve(law, [0.5], [1.5], 1.0, reward=reward)
    assert best.x.tolist() == [1.0]
    success = float(0.5 * law.cdf(1.0, 1.5))
    assert best.value == pytest.approx(success, rel=1e-9)
    assert best.bound == pytest.approx(success, rel=1e-9)
    if not law.integer:
        assert best.price == pytest.approx(0.5 * law.pdf(1.0, 1.5), rel=1e-6)


@every_law
@both_rewards
def test_no_room_at_all(law: Law, reward: Reward) -> None:
    best = hg.solve(law, [0.5, 0.3], [1.0, 2.0], 3.0, upper=0.0, reward=reward)
    assert best.x.tolist() == [0.0, 0.0]
    assert best.value <= 1e-9
    assert best.price == 0.0


@every_law
@both_rewards
def test_limits_that_leave_no_choice(law: Law, reward: Reward) -> None:
    weight, rate, fixed = np.array([0.5, 0.3, 0.9]), np.array([1.0, 2.0, 1.5]), np.array([1.0, 0.0, 2.0])
    best = hg.solve(law, weight, rate, 10.0, lower=fixed, upper=fixed, reward=reward)
    np.testing.assert_array_equal(best.x, fixed)
    assert best.value == pytest.approx(objective(law, weight, rate, fixed, reward), rel=1e-9)
    assert best.gap <= 1e-9


@every_law
@both_rewards
def test_lower_limits_that_use_the_budget_up(law: Law, reward: Reward) -> None:
    weight, rate, lower = np.array([0.5, 0.3, 0.9]), np.array([1.0, 2.0, 1.5]), np.array([1.0, 3.0, 0.0])
    best = hg.solve(law, weight, rate, 4.0, lower=lower, reward=reward)
    np.testing.assert_array_equal(best.x, lower)
    assert best.value == pytest.approx(objective(law, weight, rate, lower, reward), rel=1e-9)
    assert best.gap <= 1e-9


def test_lower_limits_that_add_up_to_the_budget_only_in_exact_arithmetic() -> None:
    lower = np.full(10, 0.1)  # their sum is 0.9999999999999999
    for law in (hg.Exponential(), hg.Weibull(2.0)):
        best = hg.solve(law, np.ones(10), np.ones(10), 1.0, lower=lower)
        np.testing.assert_allclose(best.x, lower, rtol=1e-12)
    three = hg.solve(hg.Weibull(2.0), np.ones(3), np.ones(3), 0.3, lower=[0.1, 0.1, 0.1])  # 0.30000000000000004
    np.testing.assert_allclose(three.x, 0.1, rtol=1e-12)


@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_more_than_enough(law: Law) -> None:
    """Upper limits below the budget: every arm is full, and more budget is worth nothing."""
    weight, rate, upper = np.array([0.5, 0.3, 0.9]), np.array([1.2, 2.0, 1.5]), np.array([0.5, 0.7, 0.2])
    best = hg.solve(law, weight, rate, 10.0, upper=upper)
    np.testing.assert_array_equal(best.x, upper)
    assert best.price == 0.0
    assert best.gap <= 1e-9


@pytest.mark.parametrize("rate", [0.3, 1.0, 1.0 + 1e-13, 1.0 + 1e-6, 4.0])
@pytest.mark.parametrize("budget", [0.5, 2.7, 6.0])
def test_beta_from_convex_through_linear_to_concave(rate: float, budget: float) -> None:
    """Thresholds that cannot exceed c: at rate 1 the curve is a straight line up to it."""
    rng = np.random.default_rng(2)
    weight = rng.random(8)
    best = hg.solve(hg.Beta(1.0), weight, np.full(8, rate), budget)
    assert best.x.sum() == pytest.approx(budget, rel=1e-12)
    assert np.all(best.x <= 1.0)
    assert best.gap <= 1e-9
    if rate <= 1.0 + 1e-6:  # whole arms, heaviest first, and what is left to the next
        order = np.argsort(-weight)
        expected = np.clip(budget - np.arange(8), 0.0, 1.0)
        value = float(np.sum(weight[order] * -np.expm1(rate * np.log1p(-np.minimum(expected, 1.0 - 1e-16)))))
        assert best.value >= value * (1.0 - 1e-12)


@pytest.mark.parametrize("weight", [1e-300, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_weights_at_the_ends_of_floats(law: Law, weight: float) -> None:
    rate = np.array([1.2, 1.5, 3.0])
    best = hg.solve(law, np.array([0.9, 0.5, 0.3]) * weight, rate, 2.0)
    plain = hg.solve(law, np.array([0.9, 0.5, 0.3]), rate, 2.0)
    np.testing.assert_allclose(best.x, plain.x, rtol=1e-6, atol=1e-9)
    assert best.value == pytest.approx(plain.value * weight, rel=1e-9)


STEEP = [
    hg.Weibull(300.0), hg.Weibull(3.0), hg.Gamma(60.0), hg.LogLogistic(150.0), hg.LogNormal(0.02), hg.LogNormal(0.3),
    hg.Nakagami(80.0), hg.Lomax(2.0), hg.Beta(2.0),
]  # fmt: skip


@pytest.mark.parametrize("law", STEEP, ids=str)
def test_values_that_are_almost_nothing_are_what_the_law_says(law: Law) -> None:
    """Down to 1e-290, at rates of 1e-100 to 1e100: sums of logarithms alone lose up to 1e-11 of such a value."""
    rng = np.random.default_rng(17)
    for scale in (1.0, 1e-12, 1e9, 1e-100, 1e100):
        rate, weight = np.exp(rng.normal(0.0, 0.3, (40, 2))) * scale, rng.random((40, 2))
        with np.errstate(all="ignore"):
            budget = np.min(law.quantile(10.0 ** rng.uniform(-290.0, -1.0, (40, 1)), rate), axis=-1)
        budget = np.where((budget > 0.0) & np.isfinite(budget), budget, 1e-3) * rng.uniform(1.0, 3.0, 40)
        best = hg.solve(law, weight, rate, budget)
        truth = np.sum(weight * law.cdf(best.x, rate), axis=-1)
        clear = best.value > 1e-290
        assert np.all(best.value[clear] <= truth[clear] * (1.0 + 1e-12))
        assert np.all(truth[clear] <= best.value[clear] * (1.0 + 1e-12))
        assert np.all(truth <= best.bound)
