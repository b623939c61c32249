"""Measured coverage of the nominal 90% intervals after about 50 successes.

2,000 arms a setting, seeded, in one call: the Monte Carlo standard error is 0.7 points, so a true 90% falls outside
[87%, 93%] with a chance of 1e-5.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
import pytest

from headgate.estimators import Estimate, likelihood
from headgate.evidence import Evidence
from headgate.laws import Exponential, Gamma, Law, LogNormal, Weibull

ARMS, SUCCESSES, RATE = 2000, 50, 0.25
LAWS: list[Law] = [Exponential(), Weibull(shape=1.6), LogNormal(sigma=0.8), Gamma(shape=2.0)]
#: Activation, and the chance that a middling allocation reaches the threshold.
SETTINGS = [(0.6, 0.8), (0.3, 0.7), (0.6, 0.5)]


@lru_cache
def estimated(law: Law, activation: float, reach: float, interval: Literal["fisher", "likelihood-ratio"]) -> Estimate:
    rng = np.random.default_rng(7)
    rounds = int(SUCCESSES / (activation * reach))
    x = law.quantile(reach, RATE) * np.exp(0.5 * rng.standard_normal((ARMS, rounds)))
    threshold = law.sample(RATE, rng, x.shape)
    success = (rng.random(x.shape) < activation) & (threshold <= x)
    arm = np.repeat(np.arange(ARMS), rounds)
    evidence = Evidence.of_rows(arm, x.ravel(), success.ravel(), threshold.ravel())
    assert abs(evidence.successes.mean() - SUCCESSES) < 4.0
    return likelihood(law, evidence, interval=interval)


def covered(interval: np.ndarray[tuple[int, ...], np.dtype[np.float64]], truth: float) -> float:
    return float(np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1])))


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize(("activation", "reach"), SETTINGS)
def test_likelihood_ratio_intervals_cover(law: Law, activation: float, reach: float) -> None:
    found = estimated(law, activation, reach, "likelihood-ratio")
    assert 0.87 <= covered(found.rate_interval, RATE) <= 0.93
    assert 0.87 <= covered(found.activation_interval, activation) <= 0.93


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_fisher_intervals_cover_where_arms_are_known(law: Law) -> None:
    found = estimated(law, 0.6, 0.8, "fisher")
    assert found.identified.mean() > 0.99
    assert 0.87 <= covered(found.rate_interval, RATE) <= 0.93
    assert 0.87 <= covered(found.activation_interval, 0.6) <= 0.93


def test_an_activation_next_to_1_is_covered_by_the_likelihood_ratio_only() -> None:
    """Half of the time the likelihood peaks at 1: its interval is then one-sided and covers more, Fisher's less."""
    law = Weibull(shape=1.6)
    ratio, fisher = (estimated(law, 0.95, 0.5, kind) for kind in ("likelihood-ratio", "fisher"))
    assert 0.93 <= covered(ratio.activation_interval, 0.95) <= 0.98
    assert covered(fisher.activation_interval, 0.95) < 0.88
    assert np.mean(ratio.activation_interval[:, 1] == 1.0) > 0.3
