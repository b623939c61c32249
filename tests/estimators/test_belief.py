"""Belief against what is seen: hazards by hand, warnings that name what is wrong, and none where the law is right."""

from __future__ import annotations

import numpy as np
import pytest

import headgate as hg
from headgate.estimators.hazards import ALPHAS, STARTS, hazards
from headgate.laws import Floats, Law
from headgate.oracle import standard_form
from tests.estimators import hazards_reference as reference

LAWS = [hg.Exponential(), hg.Gamma(2.5), hg.LogNormal(0.7), hg.LogLogistic(2.0), hg.Lomax(1.5), hg.DiscreteWeibull(1.3)]


def rows(law: Law, count: int, seed: int, silent: float = 0.0) -> hg.Evidence:
    """Two arms with p = .7 and rate .3, given U(.2, 12); a share of successes does not tell its threshold."""
    rng = np.random.default_rng(seed)
    x, threshold = rng.uniform(0.2, 12.0, count), law.sample(np.full(count, 0.3), rng)
    x = np.ceil(x) if law.integer else x
    success = (rng.random(count) < 0.7) & (threshold <= x)
    told = success & (rng.random(count) >= silent)
    return hg.Evidence.of_rows(
        rng.integers(0, 2, count), x, success, np.where(told, threshold, np.nan), arms=2, max_budget=12.0
    )


@pytest.mark.parametrize("silent", [0.0, 0.6])
@pytest.mark.parametrize("law", [*LAWS, hg.Beta(12.0), hg.laws.from_scipy("invgauss", 0.5)], ids=str)
def test_the_kernel_does_what_the_arrays_do(law: Law, silent: float) -> None:
    """Three learners with 2, 40 and 2,000 rounds; curves other than the truth too."""
    form, whole = standard_form(law, 2), law.whole_arms(2)
    each = [rows(law, count, seed=count, silent=silent) for count in (2, 40, 2000)]
    evidence = hg.Evidence(12.0, np.stack([one.bins for one in each]), each[0].edges)
    rate, p = np.array([[0.3, 0.5], [0.1, 0.3], [0.25, 0.3]]), np.array([[0.7, 0.2], [0.999, 0.5], [0.7, 0.7]])
    found = hazards(form, whole, rate, p, evidence)
    seen, expected, cumulative = reference.hazards(form, whole, rate, p, evidence)
    assert np.array_equal(found.activation, p)
    assert found.observed == pytest.approx(seen, rel=1e-6, abs=1e-6)
    assert found.expected == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert found.cumulative == pytest.approx(cumulative, rel=1e-6, abs=1e-7)
    assert found.gain == pytest.approx(reference.gains(seen, expected, ALPHAS), rel=1e-5, abs=1e-5)
    played = evidence.counts("played")
    hoped = p[..., None] * played * reference.reached(form, whole, rate, evidence.means("played"))
    assert found.expected_by_allocation == pytest.approx(np.add.reduceat(hoped, STARTS, axis=-1), rel=1e-6, abs=1e-9)
    likeliest = hazards(form, whole, rate, np.nan, evidence).activation
    assert likeliest == pytest.approx(reference.likeliest_activation(form, whole, rate, evidence), rel=1e-5)


def test_expected_successes_by_hand() -> None:
    """Three rounds: failed at 8, succeeded at 3 with threshold 2, failed at 1; H of each, region by region."""
    law, p, rate = hg.Exponential(), 0.6, 0.25
    evidence = hg.Evidence.of_rows(
        [0, 0, 0], [8.0, 3.0, 1.0], [False, True, False], [np.nan, 2.0, np.nan], max_budget=8.0
    )
    found = hazards(standard_form(law, 1), np.array([False]), np.array([rate]), np.array([p]), evidence)

    def cumulative(x: Floats) -> Floats:
        return -np.log1p(-p * law.cdf(x, rate))

    edges = np.append(evidence.edges[STARTS], 8.0)
    expected = sum(np.diff(cumulative(np.minimum(edges, end))) for end in (8.0, 2.0, 1.0))
    assert found.expected[0] == pytest.approx(expected, abs=2e-6)
    assert found.observed[0].sum() == 1.0
    assert edges[np.argmax(found.observed[0])] <= 2.0 < edges[np.argmax(found.observed[0]) + 1]


@pytest.mark.parametrize("silent", [0.0, 0.6])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_truth_expects_what_is_seen(law: Law, silent: float) -> None:
    """10,000 rounds: sum (seen - expected)^2 / expected is about chi^2; 5 standard deviations allowed."""
    evidence = rows(law, 10_000, seed=3, silent=silent)
    rate, p = np.full(2, 0.3), np.full(2, 0.7)
    found = hazards(standard_form(law, 2), law.whole_arms(2), rate, p, evidence)
    some = found.expected > 5.0
    score = np.sum((found.observed - found.expected)[some] ** 2 / found.expected[some])
    assert score < some.sum() + 5.0 * np.sqrt(2.0 * some.sum())
    likeliest = hazards(standard_form(law, 2), law.whole_arms(2), rate, np.nan, evidence).activation
    assert likeliest == pytest.approx(p, abs=0.05)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_right_law_is_not_warned_of(law: Law) -> None:
    """100 estimates, each warned of with probability below .01: more than 5 with probability below .001."""
    warned = 0
    for seed in range(100):
        warned += bool(hg.estimators.likelihood(law, rows(law, 600, seed), interval="fisher").warnings)
    assert warned <= 5


def test_a_wrong_law_is_named_with_arm_region_and_numbers() -> None:
    found = hg.estimators.likelihood(hg.Exponential(), rows(hg.LogNormal(0.4), 2000, seed=1))
    first = found.misfits[0]
    assert first.chance < 1e-6
    assert {misfit.by for misfit in found.misfits} == {"threshold", "allocation"}
    text = found.warnings[0]
    assert f"arm {first.arm} " in text
    assert f"{first.seen:.0f} successes" in text
    assert f"{first.low:.4g} to {first.high:.4g}" in text
    assert f"{first.expected:.1f} are expected" in text


def test_a_batch_says_which_learner() -> None:
    right, wrong = rows(hg.Exponential(), 2000, seed=1), rows(hg.LogNormal(0.3), 2000, seed=1)
    both = hg.Evidence(12.0, np.stack([right.bins, wrong.bins]), right.edges)
    found = hg.estimators.likelihood(hg.Exponential(), both, interval="fisher").misfits
    assert found
    assert all(misfit.arm[0] == 1 for misfit in found)  # type: ignore[index]
