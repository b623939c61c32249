"""The test of fit has its size, censored or not, and its power; the distance is Kolmogorov and Smirnov's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import headgate as hg
from headgate.calibration.fitting import fit_law, goodness, of_rows
from headgate.calibration.fitting.points import Basis
from headgate.laws import Law

from .logs import censored, observed

RUNS = 250


def p_values(law: Law, fitted: str, basis: Basis, n: int, trim: tuple[float, float] | None = None) -> list[float]:
    if basis == "censored":
        rows = censored(law, 0.6, 0.12, n, 7, arms=RUNS)
    else:
        rows = observed(hg.Problem(law, np.full(RUNS, 0.5), np.full(RUNS, 0.12)), n, 7)
    points = of_rows(rows, RUNS, basis, trim=trim, whole=law.integer)
    found = fit_law(fitted, points)
    return [goodness(found.only([arm]), points.only([arm])).p_value for arm in range(RUNS)]


CASES: list[tuple[Law, str, Basis, int, tuple[float, float] | None]] = [
    (hg.Weibull(1.6), "weibull", "censored", 200, None),
    (hg.Weibull(1.6), "weibull", "censored", 1000, None),
    (hg.LogNormal(0.7), "log-normal", "censored", 500, None),
    (hg.Exponential(), "exponential", "censored", 500, None),
    (hg.Gamma(2.0), "gamma", "censored", 500, None),
    (hg.DiscreteWeibull(0.9), "discrete-weibull", "censored", 500, None),
    (hg.Weibull(1.6), "weibull", "all", 400, None),
    (hg.LogLogistic(2.0), "log-logistic", "all", 400, None),
    (hg.Weibull(1.6), "weibull", "all", 400, (0.025, 0.975)),
]


@pytest.mark.parametrize(("law", "fitted", "basis", "n", "trim"), CASES, ids=str)
def test_a_true_law_is_rejected_as_often_as_it_says(
    law: Law, fitted: str, basis: Basis, n: int, trim: tuple[float, float] | None
) -> None:
    p = np.array(p_values(law, fitted, basis, n, trim))
    # 250 runs at 10%: 25 expected, standard deviation 4.7; 0.04 to 0.17 leaves 3 of them on either side and a little
    # for n being finite.
    assert 0.03 <= np.mean(p < 0.1) <= 0.17
    assert np.mean(p < 0.01) <= 0.04
    assert 0.4 <= np.mean(p) <= 0.6


@pytest.mark.parametrize(
    ("law", "fitted", "basis", "n", "power"),
    [
        (hg.Weibull(1.6), "exponential", "censored", 500, 0.9),
        (hg.Weibull(1.6), "log-normal", "censored", 1000, 0.9),
        (hg.LogNormal(0.7), "weibull", "censored", 1500, 0.9),
        (hg.LogLogistic(2.0), "weibull", "all", 500, 0.9),
        (hg.Gamma(3.0), "exponential", "all", 200, 0.95),
    ],
    ids=str,
)
def test_a_wrong_law_is_rejected(law: Law, fitted: str, basis: Basis, n: int, power: float) -> None:
    assert np.mean(np.array(p_values(law, fitted, basis, n)) < 0.05) >= power


def test_the_distance_is_that_of_scipys_ks() -> None:
    rows = observed(hg.Problem(hg.Gamma(2.0), [0.4], [0.2]), 500, 3)
    points = of_rows(rows, 1, "all")
    found = fit_law("weibull", points)
    shape = np.asarray(found.family.shape(found.theta))[0]
    theirs = stats.kstest(rows.threshold, stats.weibull_min(shape, scale=1.0 / found.rate[0]).cdf).statistic
    assert goodness(found, points).ks == pytest.approx(theirs, rel=1e-9)


def test_the_distance_of_a_cure_model_vanishes_with_rows() -> None:
    far = []
    for n in (300, 3000, 30_000):
        points = of_rows(censored(hg.Weibull(1.4), 0.5, 0.1, n, 4), 1, "censored")
        far.append(goodness(fit_law("weibull", points), points).distance)
    assert far[0] > far[1] > far[2]
    assert far[2] < 0.01
