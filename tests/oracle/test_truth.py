"""Problems on which an earlier oracle was wrong: false bounds, budgets left over, arms that hardly differ."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate.laws import Law
from headgate.oracle import REWARDS, Reward
from headgate.testing import ConformanceError, check_certificate

BOUNDED = {
    "beta": hg.from_scipy("beta", 2, 5),
    "truncexpon": hg.from_scipy("truncexpon", 2.0),
    "truncnorm": hg.from_scipy("truncnorm", 0.0, 2.0),
    "triang": hg.from_scipy("triang", 0.4),
    "shifted": hg.from_scipy("expon", 1.0),
    "pareto": hg.from_scipy("pareto", 2.0),
}


def test_the_end_of_a_support_is_the_end_of_the_hull() -> None:
    best = hg.solve(BOUNDED["beta"], [0.49, 0.6], [0.58, 0.51], 2.0)
    assert best.value == pytest.approx(1.009167, abs=1e-6)  # an earlier answer: .6159, "gap 1e-10"
    assert best.gap <= 1e-9


@pytest.mark.parametrize("reward", ["sum", "cascade"])
@pytest.mark.parametrize("law", BOUNDED.values(), ids=BOUNDED)
def test_bounded_and_shifted_laws_keep_their_bounds(law: Law, reward: Reward) -> None:
    """Every split of two arms, 4,001 of them, in 60 random problems."""
    rng = np.random.default_rng(11)
    for _ in range(60):
        weight, rate = rng.random(2), np.exp(rng.normal(0.0, 0.7, 2))
        budget = float(np.exp(rng.uniform(-1.5, 1.0)) * np.sum(1.0 / rate))
        best = hg.solve(law, weight, rate, budget, reward=reward)
        first = np.linspace(0.0, budget, 4001)
        success = weight * law.cdf(np.stack([first, budget - first], axis=-1), rate)
        worth = success.sum(axis=-1) if reward == "sum" else 1.0 - np.prod(1.0 - success, axis=-1)
        assert worth.max() <= best.bound
        assert worth.max() <= best.value * (1.0 + 1e-6) + 1e-12
        assert best.gap <= 1e-7 or best.bound <= 1e-9


@pytest.mark.parametrize("arms", [100, 1_000])
def test_steep_curves_are_bought_until_the_budget_is_spent(arms: int) -> None:
    rng = np.random.default_rng(0)
    best = hg.solve(hg.Weibull(50.0), rng.random(arms), rng.uniform(0.1, 2.0, arms), 0.4 * arms)
    assert best.x.sum() == pytest.approx(0.4 * arms, rel=1e-9)
    assert best.gap <= 1e-6


def test_a_budget_that_more_than_suffices_reaches_every_arm() -> None:
    best = hg.solve([hg.HalfNormal(), hg.Exponential()], [0.7, 0.3], [1.0, 1.0], 1e9)
    assert best.value == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("spread", [1e-6, 1e-5, 1e-4, 1e-2])
@pytest.mark.parametrize("arms", [5, 20, 50, 400])
def test_arms_that_differ_by_almost_nothing(arms: int, spread: float) -> None:
    rng = np.random.default_rng(arms)
    rate = 1.0 + spread * rng.random(arms)
    for share in (0.13, 0.37, 0.61):
        best = hg.solve(hg.Weibull(3.0), np.ones(arms), rate, share * arms)
        assert best.gap <= 1e-9
        assert best.nodes <= 200


@pytest.mark.parametrize("number", [34, 157, 224, 1108, 1420, 1604, 1680, 1954, 2483, 2536, 2741, 2962])
def test_the_number_of_arms_that_are_on_is_looked_at_on_both_sides(number: int) -> None:
    """Near-equal arms whose optimum has one more on than the first guess: the bound was up to 1.1% too low."""
    rng = np.random.default_rng([5, number])
    arms = int(rng.integers(3, 40))
    laws: list[Law] = [hg.Weibull(2.0), hg.Weibull(6.0), hg.Gamma(4.0), hg.LogNormal(0.3), hg.LogLogistic(5.0)]
    law = [*laws, hg.Weibull(rng.uniform(1.2, 9.0, arms))][rng.integers(6)]
    spread = 10.0 ** rng.uniform(-7.0, -0.3)
    rate = np.exp(spread * rng.normal(size=arms))
    weight = np.exp(spread * rng.normal(size=arms) * rng.choice([0, 1]))
    weight /= weight.max()
    budget = float(np.sum(law.quantile(0.6, rate))) * rng.uniform(0.05, 1.2)
    reward = REWARDS[int(rng.choice(2, p=[0.8, 0.2]))]
    best = hg.solve(law, weight, rate, budget, reward=reward)
    assert best.gap <= 1e-9
    with np.errstate(all="ignore"):
        ease = np.argsort(-weight / law.quantile(0.6, rate))
    for m in range(1, arms + 1):  # the m easiest arms on, each with the same amount
        on = np.isin(np.arange(arms), ease[:m])
        success = weight * law.cdf(np.where(on, budget / m, 0.0), rate)
        assert (success.sum() if reward == "sum" else 1.0 - np.prod(1.0 - success)) <= best.bound


@pytest.mark.parametrize("law", BOUNDED.values(), ids=BOUNDED)
def test_arms_of_a_table_that_differ_by_almost_nothing(law: Law) -> None:
    rng = np.random.default_rng(12)
    for spread in (1e-6, 1e-3):
        rate, weight = 1.0 + spread * rng.random((2, 20))
        best = hg.solve(law, weight, rate, 0.37 * float(np.sum(law.quantile(0.6, rate))))
        assert best.gap <= 1e-9


@pytest.mark.parametrize("law", [hg.Exponential(), hg.Weibull(0.7), hg.Weibull(1.6), hg.LogNormal(0.8), hg.Gamma(2.0)])
def test_no_sum_exceeds_the_budget_by_a_digit(law: Law) -> None:
    rng = np.random.default_rng(3)
    weight, rate = rng.random((2_000, 7)), rng.uniform(0.05, 3.0, (2_000, 7))
    budget = rng.uniform(0.1, 50.0, 2_000)
    best = hg.solve(law, weight, rate, budget)
    assert np.all(best.x.sum(axis=-1) <= budget)
    single = hg.solve(law, weight[0], rate[0], budget[0])
    assert single.x.tolist() == best.x[0].tolist()


TINY = [hg.Exponential(), hg.Weibull(0.7), hg.Weibull(2.0), hg.LogNormal(0.8), hg.HalfNormal(), hg.Gamma(0.4)]


@pytest.mark.parametrize("law", TINY, ids=[law.name for law in TINY])
def test_hardly_any_budget_at_all(law: Law) -> None:
    best = hg.solve(law, [0.7, 0.3], [1.0, 1.0], 1e-300)
    assert best.x.sum() <= 1e-300
    assert best.gap <= 1e-9
    assert np.sum([0.7, 0.3] * law.cdf(best.x, 1.0)) <= best.bound


def test_the_check_knows_values_and_who_takes_part() -> None:
    problem = hg.Problem(hg.Weibull(2.0), [0.9, 0.5, 0.4], [0.5, 1.0, 0.7], value=[1.0, 7.0, 3.0])
    assert check_certificate(problem.solve(2.5), problem) < 1.02
    some = problem.solve(2.5, eligible=[True, False, True])
    assert check_certificate(some, problem, eligible=[True, False, True]) < 1.02
    with pytest.raises(ConformanceError, match="leave the limits"):
        check_certificate(problem.solve(2.5), problem, eligible=[True, False, True])


def test_the_check_notices_what_is_false() -> None:
    problem = hg.Problem(hg.Weibull(2.0), [0.9, 0.5, 0.4], [0.5, 1.0, 0.7])
    best = problem.solve(2.5)
    assert 1.0 <= check_certificate(best, problem) < 1.02
    false = {
        "more than the budget": {"x": best.x * 1.01},
        "it says it is worth": {"value": best.value * 1.1, "bound": best.bound * 1.2},
        "more than its bound": {"bound": best.value * 0.999, "value": best.value * 0.999},
    }
    for reason, change in false.items():
        fields = {name: getattr(best, name) for name in ("x", "value", "bound", "price", "nodes", "budget")}
        with pytest.raises(ConformanceError, match=reason):
            check_certificate(hg.Allocation(**(fields | change)), problem)
    even = np.full(3, 2.5 / 3.0)
    worth = problem.expected_reward(even)
    poor = hg.Allocation(even, worth, worth, best.price, best.nodes, best.budget)
    with pytest.raises(ConformanceError, match="is worth"):
        check_certificate(poor, problem)
