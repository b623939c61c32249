"""The test of fit has its size, censored or not, and its power; the distance is Kolmogorov and Smirnov's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import headgate as hg
from headgate.calibration.fitting.cautions import cautions, grid_of
from headgate.calibration.fitting.choose import fit_arms
from headgate.calibration.fitting.fit import fit_law
from headgate.calibration.fitting.goodness import goodness
from headgate.calibration.fitting.points import Basis, of_rows
from headgate.calibration.log import Rows
from headgate.laws import Floats, Law

from .logs import censored, log_of, observed

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


@pytest.mark.long
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


@pytest.mark.long
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


def seconds(values: Floats) -> Floats:
    return np.maximum(np.round(values), 1.0)


def bits(values: Floats) -> Floats:
    """As `read_log` rounds what is too much: 7 bits after the leading one."""
    step = 2.0 ** (np.floor(np.log2(values)) - 7.0)
    return np.asarray(np.floor(values / step + 0.5) * step)


@pytest.mark.parametrize(
    ("rounded", "basis", "rate", "n"),
    [(seconds, "all", 1.0 / 30.0, 1000), (seconds, "all", 1.0 / 30.0, 5000), (bits, "censored", 0.12, 20_000)],
)
def test_a_true_law_of_rounded_times_is_rejected_as_often(
    rounded: Callable[[Floats], Floats], basis: Basis, rate: float, n: int
) -> None:
    runs = 150 if n < 10_000 else 60
    law = hg.Weibull(1.6)
    if basis == "censored":
        rows = censored(law, 0.6, rate, n, 7, arms=runs)
    else:
        rows = observed(hg.Problem(law, np.full(runs, 0.5), np.full(runs, rate)), n, 7)
    rows = Rows(rows.arm, rounded(rows.allocation), rows.success, rounded(rows.threshold), rows.count)
    points = of_rows(rows, runs, basis)
    found = fit_law("weibull", points)
    judged = [goodness(found.only([arm]), points.only([arm])) for arm in range(runs)]
    p = np.array([one.p_value for one in judged])
    assert np.mean(p < 0.1) <= (0.18 if runs == 150 else 0.22)  # 10% and 3 standard deviations
    assert np.mean(p < 0.01) <= 0.05
    assert 0.38 <= np.mean(p) <= 0.62
    # The distance shrinks as without rounding: sqrt(n) D is about 0.6 with two parameters fitted.
    assert np.mean([one.distance for one in judged]) * np.sqrt(n) < 0.9


def test_a_log_too_large_for_exact_rows_is_not_rejected() -> None:
    rows = censored(hg.Weibull(1.6), 0.6, 0.12, 1_000_000, 2)
    rows = Rows(rows.arm, bits(rows.allocation), rows.success, bits(rows.threshold), rows.count, 2.0**-7)
    points = of_rows(rows, 1, "censored")
    judged = goodness(fit_law("weibull", points), points)
    assert judged.p_value > 1e-3
    assert judged.distance < 0.004


def test_times_rounded_up_are_named() -> None:
    rows = observed(hg.Problem(hg.Weibull(1.6), [0.5], [0.2]), 4000, 1)
    up = Rows(rows.arm, rows.allocation, rows.success, np.ceil(rows.threshold), rows.count)
    fit = fit_arms(of_rows(up, 1, "all"), ["a"], law="weibull")[0]
    said = cautions(fit, log_of(up, "observed"), 0)
    assert any("times look rounded to multiples of 1 s" in found.text for found in said)
    exact = fit_arms(of_rows(rows, 1, "all"), ["a"], law="exponential")[0]
    assert not any("rounded" in found.text for found in cautions(exact, log_of(rows, "observed"), 0))
    assert grid_of(np.array([0.1, 0.7, 12.3])) == 0.1


def test_the_distance_is_that_of_scipys_ks() -> None:
    rows = observed(hg.Problem(hg.Gamma(2.0), [0.4], [0.2]), 500, 3)
    points = of_rows(rows, 1, "all")
    found = fit_law("weibull", points)
    shape = np.asarray(found.family.shape(found.theta))[0]
    theirs = stats.kstest(rows.threshold, stats.weibull_min(shape, scale=1.0 / found.rate[0]).cdf).statistic
    assert goodness(found, points).distance == pytest.approx(theirs, rel=1e-9)


def test_the_distance_of_a_cure_model_vanishes_with_rows() -> None:
    far = []
    for n in (300, 3000, 30_000):
        points = of_rows(censored(hg.Weibull(1.4), 0.5, 0.1, n, 4), 1, "censored")
        far.append(goodness(fit_law("weibull", points), points).distance)
    assert far[0] > far[1] > far[2]
    assert far[2] < 0.01
