"""Learned shapes: found where they are, with intervals that cover them, and left to the prior without evidence."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate.estimators import likelihood
from headgate.laws import Law
from headgate.oracle import standard_form

CASES = [
    (hg.Weibull(shape="learn"), hg.Weibull(1.6)),
    (hg.Weibull(shape="learn"), hg.Weibull(0.8)),
    (hg.Gamma(shape="learn"), hg.Gamma(2.5)),
    (hg.LogNormal(sigma="learn"), hg.LogNormal(0.6)),
]


def seen(law: Law, arms: int, rounds: int, seed: int) -> hg.Evidence:
    """Evidence of arms with activation .6 and median threshold 3, at allocations up to 16."""
    rng = np.random.default_rng(seed)
    rate = float(law.quantile(0.5, 1.0)) / 3.0
    problem = hg.Problem(law, np.full(arms, 0.6), np.full(arms, rate))
    evidence = hg.Evidence.empty(arms, 40.0)
    for _ in range(rounds):
        x = rng.uniform(2.0, 16.0, arms)
        evidence.record(x, problem.play(x, rng))
    return evidence


@pytest.mark.parametrize(("law", "truth"), CASES, ids=lambda law: f"{law.name}-{next(iter(law.shapes().values()))}")
def test_the_shape_is_found_and_its_interval_covers_it(law: Law, truth: Law) -> None:
    arms = 600
    found = likelihood(law, seen(truth, arms, 600, seed=1))
    assert found.shape is not None
    assert found.shape_interval is not None
    (shape,) = truth.shapes().values()
    assert np.median(found.shape) == pytest.approx(shape, rel=0.05)
    covered = (found.shape_interval[:, 0] <= shape) & (shape <= found.shape_interval[:, 1])
    # 600 arms: the standard error of a coverage of 90% is 1.2 points, and the prior pulls a little.
    assert 0.84 <= covered.mean() <= 0.97
    rate = float(truth.quantile(0.5, 1.0)) / 3.0
    inside = (found.rate_interval[:, 0] <= rate) & (rate <= found.rate_interval[:, 1])
    assert 0.84 <= inside.mean() <= 0.97


def test_it_is_the_penalised_maximum_of_a_fine_grid() -> None:
    law, evidence = hg.Weibull(shape="learn"), seen(hg.Weibull(2.0), 3, 200, seed=2)
    found, prior = likelihood(law, evidence), law.free
    assert found.shape is not None
    assert prior is not None
    grid = np.linspace(-0.3, 1.3, 801)
    values = []
    for log_shape in grid:
        at = hg.estimators.maximum(
            standard_form(hg.Weibull(float(np.exp(log_shape))), 3),
            np.zeros(3, dtype=np.bool_),
            evidence,
            hg.estimators.weak_prior(evidence),
        )
        values.append(at.value - (log_shape - np.log(prior.start)) ** 2 / (2.0 * prior.variance))
    best = grid[np.argmax(values, axis=0)]
    np.testing.assert_allclose(np.log(found.shape), best, atol=0.004)


def test_without_evidence_it_is_the_prior_and_says_so() -> None:
    law = hg.Gamma(shape="learn")
    found = likelihood(law, hg.Evidence.empty(2, 40.0))
    assert found.shape is not None
    np.testing.assert_allclose(found.shape, 1.5, rtol=1e-6)
    assert found.describe() == ["not yet", "not yet"]


def test_a_policy_that_learns_shapes_shows_them() -> None:
    policy = hg.Thompson(hg.Weibull(shape="learn"), arms=2, max_budget=40.0, seed=np.arange(3))
    problem = hg.Problem(hg.Weibull(1.8), [0.7, 0.9], [0.1, 0.2])
    rng = np.random.default_rng(3)
    for _ in range(400):
        x = policy.allocate(40.0)
        policy.observe(x, problem.play(x, rng))
    found = policy.estimate()
    assert found.shape is not None
    assert found.shape.shape == (3, 2)
    np.testing.assert_allclose(found.shape, 1.8, rtol=0.3)
