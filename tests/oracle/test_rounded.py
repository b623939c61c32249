"""Many S-shaped arms: the one that the hulls leave on its chord is rounded, and nothing has to be searched."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate.laws import Law
from headgate.oracle.allocation import Reward

ARMS, TOLERANCE = 600, 1e-6
LAWS = {
    "weibull": hg.Weibull(1.6),
    "gamma": hg.Gamma(3.0),
    "lognormal": hg.LogNormal(0.8),
    "loglogistic": hg.LogLogistic(2.0),
}


def draw(law: Law, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(seed)
    weight, rate = rng.uniform(0.3, 1.0, ARMS), np.exp(rng.normal(0.0, 0.5, ARMS))
    return weight, rate, float(rng.uniform(0.2, 0.8) * law.quantile(0.5, rate).sum())


@pytest.mark.parametrize("reward", ["sum", "cascade"])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_one_node_is_enough_and_the_answer_is_what_it_says(law: Law, reward: Reward) -> None:
    """Of twelve problems half or more end at the root, where the hulls alone leave a gap many times the tolerance."""
    nodes, hulls = [], []
    for seed in range(12):
        weight, rate, budget = draw(law, seed)
        if reward == "cascade":
            weight = weight / 50.0  # else the chance is 1 up to the last digit
        best = hg.solve(law, weight, rate, budget, tol=TOLERANCE, reward=reward)
        exact = hg.solve(law, weight, rate, budget, tol=1e-12, reward=reward)
        root = hg.solve(law, weight, rate, budget, tol=TOLERANCE, max_nodes=1, reward=reward)
        reached = weight * law.cdf(best.x, rate)
        value = reached.sum() if reward == "sum" else -np.expm1(np.log1p(-reached).sum())
        assert best.value == pytest.approx(value, rel=1e-12)
        assert best.x.sum() <= budget * (1.0 + 1e-12)
        assert best.x.min() >= 0.0
        assert 0.0 <= best.gap <= TOLERANCE
        assert exact.value * (1.0 - TOLERANCE) <= best.value <= exact.bound
        nodes.append(int(best.nodes))
        hulls.append(float(root.gap))
    assert np.median(hulls) > TOLERANCE
    assert np.sum(np.array(nodes) == 1) >= 6


@pytest.mark.parametrize("seed", range(5))
def test_within_limits(seed: int) -> None:
    law, rng = LAWS["weibull"], np.random.default_rng(seed)
    weight, rate, budget = draw(law, seed)
    lower = np.where(rng.random(ARMS) < 0.2, 0.1, 0.0)
    upper = np.where(rng.random(ARMS) < 0.3, rng.uniform(0.2, 1.5, ARMS), np.inf)
    best = hg.solve(law, weight, rate, budget, lower=lower, upper=upper, tol=TOLERANCE)
    exact = hg.solve(law, weight, rate, budget, lower=lower, upper=upper, tol=1e-12)
    assert np.all((best.x >= lower) & (best.x <= upper))
    assert best.x.sum() <= budget * (1.0 + 1e-12)
    assert exact.value * (1.0 - TOLERANCE) <= best.value <= exact.bound


def test_a_tolerance_of_nothing_is_kept() -> None:
    weight, rate, budget = draw(LAWS["weibull"], 0)
    assert hg.solve(LAWS["weibull"], weight, rate, budget, tol=1e-12).gap <= 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_nobody_takes_up_more_than_there_is_room_for(seed: int) -> None:
    """Every arm in use is within 1e-6 of what it may get: the others cannot make up for the one that is rounded."""
    law = LAWS["weibull"]
    weight, rate, budget = draw(law, seed)
    free = hg.solve(law, weight, rate, budget, tol=TOLERANCE)
    upper = np.where(free.x > 0.0, free.x * (1.0 + 1e-6), np.inf)
    best = hg.solve(law, weight, rate, budget, upper=upper, tol=1e-4)
    assert np.all(best.x <= upper)
    assert best.value == pytest.approx((weight * law.cdf(best.x, rate)).sum(), rel=1e-12)
    assert 0.0 <= best.gap <= 1e-4
