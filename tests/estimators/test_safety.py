"""Estimates exist, and say what they do not know, whatever the evidence."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from headgate.errors import ParameterError, ShapeError
from headgate.estimators import likelihood, maximum, weak_prior
from headgate.evidence import Evidence
from headgate.laws import (
    Exponential,
    Law,
    LogNormal,
    Weibull,
    from_scipy,
)  # fmt: skip
from headgate.oracle import standard_form
from tests.laws.every import every_law

LAWS: list[Law] = [
    *every_law(1.5, end=30.0), Weibull(shape=20.0), LogNormal(sigma=0.5), from_scipy("invgauss", mu=0.5),
]  # fmt: skip
KINDS: tuple[Literal["fisher"], Literal["likelihood-ratio"]] = ("fisher", "likelihood-ratio")


def rows(x: Any, threshold: Any, max_budget: float = 40.0) -> Evidence:
    """One arm's log: NaN for a failure."""
    amount, seen = np.broadcast_arrays(np.asarray(x, float), np.asarray(threshold, float))
    return Evidence.of_rows(np.zeros(amount.size, int), amount, ~np.isnan(seen), seen, arms=1, max_budget=max_budget)


def check(law: Law, evidence: Evidence) -> None:
    """Finite estimates within their intervals, and no floating-point complaint on the way."""
    for kind in KINDS:
        with np.errstate(all="raise", under="ignore"):
            arm = standard_form(law, 1), law.whole_arms(1), evidence, weak_prior(evidence)
            fit = maximum(*arm)
            again = maximum(*arm, start=fit.theta)
        # It has converged, on long ridges too: to go on moves neither the rate nor the activation.
        rate_deviation = np.sqrt(fit.covariance[..., 0])
        assert (np.abs(again.theta[..., 0] - fit.theta[..., 0]) < 1e-3 * rate_deviation + 1e-8).all()
        assert special.expit(again.theta[..., 1]) == pytest.approx(special.expit(fit.theta[..., 1]), abs=1e-7)
        found = likelihood(law, evidence, interval=kind)
        assert np.isfinite(fit.theta).all()
        assert np.isfinite(fit.value).all()
        assert (fit.covariance[..., [0, 2]] > 0.0).all()
        assert 0.0 <= found.activation[0] <= 1.0
        assert 0.0 < found.rate[0] < np.inf
        for low, high in (found.activation_interval[0], found.rate_interval[0]):
            assert low <= high
        assert 0.0 <= found.activation_interval[0, 0] <= found.activation_interval[0, 1] <= 1.0
        assert found.rate_interval[0, 0] >= 0.0
        assert found.product_identified[0] or not found.identified[0]


HARD = {
    "nothing": ([], []),
    "one failure": ([5.0], [np.nan]),
    "one success": ([5.0], [2.0]),
    "no success": (np.full(500, 5.0), np.nan),
    "all successes": (np.full(500, 25.0), np.linspace(1.0, 20.0, 500)),
    "all at the allocation": (np.full(200, 5.0), 5.0),
    "thresholds of 0": (np.full(50, 5.0), 0.0),
    "tiny allocations": (np.full(500, 1e-5), np.where(np.arange(500) % 50 == 0, 1e-6, np.nan)),
    "below the lowest bin": (np.full(50, 1e-12), np.nan),
    "everything": (np.full(50, 40.0), np.nan),
    "the largest threshold": (np.full(50, 40.0), 30.0),
}


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("case", HARD)
def test_hard_cases(law: Law, case: str) -> None:
    check(law, rows(*HARD[case]))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_huge_counts(law: Law) -> None:
    evidence = rows(np.full(40, 12.0), np.where(np.arange(40) % 2 == 0, np.linspace(1.0, 12.0, 40).round(), np.nan))
    evidence.bins[:] *= 1e12
    check(law, evidence)
    found = likelihood(law, evidence)
    assert found.identified[0]
    assert np.ptp(np.log(found.rate_interval[0])) < 1e-4


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    st.sampled_from(LAWS),
    st.lists(st.tuples(st.floats(1e-9, 30.0), st.floats(0.0, 1.0), st.booleans()), max_size=12),
    st.sampled_from([1.0, 0.01, 1e6]),
)
def test_any_evidence(law: Law, played: list[tuple[float, float, bool]], weight: float) -> None:
    x = np.array([amount for amount, _, _ in played])
    if law.integer:
        x = np.ceil(x)
    seen = np.array([share * amount if won else np.nan for (_, share, won), amount in zip(played, x, strict=True)])
    evidence = rows(x, np.ceil(seen) if law.integer else seen)
    evidence.bins[:] *= weight
    check(law, evidence)


def test_small_allocations_tell_only_the_product() -> None:
    rng = np.random.default_rng(0)
    x = np.full(200_000, 0.02)  # rate * x = 0.01: a straight line, whatever the activation
    seen = rng.exponential(2.0, x.size)
    success = (rng.random(x.size) < 0.6) & (seen <= x)
    evidence = rows(x, np.where(success, seen, np.nan))
    found = likelihood(Exponential(), evidence)
    assert found.describe() == ["only activation * rate"]
    assert found.activation[0] * found.rate[0] == pytest.approx(0.3, rel=0.15)
    assert np.ptp(found.activation_interval[0]) > 0.8
    assert found.activation_interval[0, 1] == 1.0


def test_what_is_known_is_said() -> None:
    silent = likelihood(Exponential(), rows(np.full(50, 5.0), np.nan))
    assert silent.describe() == ["not yet"]
    assert silent.activation_interval[0].tolist() == [0.0, 1.0]
    assert silent.rate_interval[0].tolist() == [0.0, np.inf]
    seen = np.where(np.arange(200) % 2 == 0, np.linspace(0.5, 9.0, 200), np.nan)
    assert likelihood(Exponential(), rows(np.full(200, 20.0), seen)).describe() == ["known"]


def test_a_prior_holds_where_the_evidence_is_silent() -> None:
    prior = np.array([[np.log(0.3), -1.0, 100.0, 25.0]])
    found = likelihood(Exponential(), Evidence.empty(1, 40.0), prior=prior, interval="fisher")
    assert found.rate[0] == pytest.approx(0.3)
    assert np.log(found.rate_interval[0]) == pytest.approx(np.log(0.3) + np.array([-1, 1]) * 1.6449 / 10.0, abs=1e-4)
    ratio = likelihood(Exponential(), Evidence.empty(1, 40.0), prior=prior)
    assert ratio.rate_interval == pytest.approx(found.rate_interval, rel=1e-5)  # a normal is its own likelihood


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, np.nan])
def test_level_must_be_a_probability(level: float) -> None:
    with pytest.raises(ParameterError, match="level"):
        likelihood(Exponential(), Evidence.empty(1, 40.0), level=level)


def test_bad_interval_and_law_are_refused() -> None:
    with pytest.raises(ParameterError, match="interval must be one of fisher"):
        likelihood(Exponential(), Evidence.empty(1, 40.0), interval="bayes")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="does not fit 3 arms"):
        likelihood(Weibull(shape=(1.0, 2.0)), Evidence.empty(3, 40.0))
