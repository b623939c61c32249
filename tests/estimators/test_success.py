"""The chance of success at an allocation: its interval's coverage, on ridges too, and what it says of nothing."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate.estimators import likelihood
from headgate.estimators.success import success as chance_of_success
from headgate.evidence import Evidence
from headgate.laws import Law


@pytest.mark.long
@pytest.mark.parametrize(
    ("law", "activation", "rate", "most", "rounds", "at"),
    [
        (hg.Exponential(), 0.6, 0.15, 12.0, 100, 6.0),
        (hg.Exponential(), 0.9, 0.08, 3.0, 300, 3.0),  # a ridge: p and rate cannot be told apart
        (hg.Weibull(3.0), 0.9, 0.15, 4.0, 300, 4.0),
    ],
)
def test_coverage(law: Law, activation: float, rate: float, most: float, rounds: int, at: float) -> None:
    rng, runs, hits = np.random.default_rng(0), 300, 0
    truth = activation * float(law.cdf(at, rate))
    x = rng.uniform(0.2 * most, most, (runs, rounds))
    threshold = law.sample(np.full((runs, rounds), rate), rng)
    success = (rng.random((runs, rounds)) < activation) & (threshold <= x)
    for r in range(runs):
        seen = np.where(success[r], threshold[r], np.nan)
        rows = Evidence.of_rows(np.zeros(rounds, int), x[r], success[r], seen, arms=1, max_budget=40.0)
        low, high = chance_of_success(law, rows, np.array([at]), 0.9).interval[0]
        hits += low <= truth <= high
    assert chance_of_success(law, rows, np.array([at]), 0.9).interval == pytest.approx(
        likelihood(law, rows).success(at).interval
    )
    # Nominal 90%: 300 runs have a standard error of 1.7%; three of them miss once in 400 times.
    assert hits / runs == pytest.approx(0.9, abs=0.052)


def test_what_is_not_known_may_be_anything() -> None:
    chance, interval = hg.Thompson(hg.Exponential(), 2, 40.0).estimate().success([3.0, 0.0])
    assert interval[0].tolist() == pytest.approx([0.0, 1.0], abs=1e-3)
    assert interval[1].tolist() == [0.0, 0.0]  # nothing comes of nothing
    assert chance.shape == (2,)


def test_a_wider_level_is_a_wider_interval_around_the_maximum() -> None:
    problem, rng = hg.Problem(hg.Weibull(2.0), [0.8, 0.5], [0.2, 0.3]), np.random.default_rng(1)
    policy = hg.Thompson(hg.Weibull("learn"), 2, 20.0)
    for _ in range(100):
        x = policy.allocate(20.0)
        policy.observe(x, problem.play(x, rng))
    narrow, wide = (policy.estimate(level=level).success(5.0) for level in (0.5, 0.95))
    assert np.all(wide.interval[:, 0] < narrow.interval[:, 0])
    assert np.all(wide.interval[:, 1] > narrow.interval[:, 1])
    assert np.all((narrow.interval[:, 0] <= narrow.chance) & (narrow.chance <= narrow.interval[:, 1]))
    assert np.all(np.abs(wide.chance - problem.activation * problem.law.cdf(5.0, problem.rate)) < 0.2)


def test_an_amount_that_is_none_is_refused() -> None:
    estimate = hg.Thompson(hg.Exponential(), 2, 40.0).estimate()
    with pytest.raises(hg.errors.HeadgateError, match="x"):
        estimate.success(-1.0)
