"""Every law is found where it is, and where scipy, lifelines, SurPyval and a slow search of the likelihood put it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import headgate as hg
from headgate.calibration.fitting.choose import fit_arms
from headgate.calibration.fitting.climb import log_inside, log_likelihood
from headgate.calibration.fitting.family import candidates
from headgate.calibration.fitting.fit import fit_law
from headgate.calibration.fitting.points import of_rows, quantiles
from headgate.calibration.log import Rows
from headgate.errors import ParameterError, UnsupportedError
from headgate.laws import Law

from .logs import censored, observed, rows_of

RATE = 0.13
END = 20.0  # of a law whose thresholds cannot exceed it


def example(law: type[Law]) -> Law:
    """A law at a shape near the one that is expected."""
    if law.free is None:
        return law()
    return law(**{law.free.name: 1.2 * law.free.start if law.free.learnable else END})


LAWS = [example(hg.laws.LAWS[name]) for whole in (False, True) for name in candidates(whole=whole)]


def rate_of(law: Law) -> float:
    return 2.5 if isinstance(law, hg.Beta) else RATE


def test_a_truncated_law_of_whole_numbers_has_both_ends() -> None:
    """P(low <= X <= high) is a sum of probabilities, those of low and high among them."""
    law, rate = hg.DiscreteWeibull(1.3), 0.2
    for low, high in ((1.0, 4.0), (3.0, 9.0), (2.0, 2.0), (2.5, 7.5)):
        numbers = np.arange(np.ceil(low), np.floor(high) + 1.0)
        expected = np.log(np.sum(law.pdf(numbers, rate)))
        inside = log_inside(law, np.array(rate), np.array(low), np.array(high))
        assert float(inside) == pytest.approx(float(expected))


def test_trimmed_counts_are_fitted_by_the_truncated_law() -> None:
    """The law of all counts is found again from those within two quantiles; 4 standard errors or so."""
    rows = observed(hg.Problem(hg.DiscreteWeibull(1.4), [0.5], [0.08]), 20_000, 3)
    points = of_rows(rows, 1, "all", trim=(0.1, 0.9), whole=True)
    inside = (rows.threshold >= points.low[0]) & (rows.threshold <= points.high[0])
    assert points.trials[0] == inside.sum()  # rows at the quantiles themselves are kept
    found = fit_law("discrete-weibull", points)
    assert float(np.exp(found.theta[0, 1])) == pytest.approx(1.4, abs=0.12)
    assert float(found.rate[0]) == pytest.approx(0.08, rel=0.06)


def test_every_law_is_a_candidate_somewhere() -> None:
    assert {*candidates(whole=False), *candidates(whole=True)} == set(hg.laws.LAWS) - {"scipy", "points"}


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_the_cure_model_finds_law_and_activation(law: Law) -> None:
    rate = rate_of(law)
    found = fit_law(law.name, of_rows(censored(law, 0.6, rate, 3000, 5, arms=8), 8, "censored", whole=law.integer))
    # Eight arms of 3,000 rows: the mean of an estimate is within 4 standard errors of the truth (1 seed in 16,000).
    scatter = np.sqrt(np.einsum("...ii->...i", found.covariance)).mean(axis=0) / np.sqrt(8.0)
    truth = [np.log(rate), *([np.log(found_shape(law))] if law.shapes() else []), np.log(0.6 / 0.4)]
    if isinstance(law, hg.Beta):
        largest = found.family.largest
        truth[1] = float(np.mean(np.log(law.shapes()["c"] / largest - 1.0)))
    off = np.abs(found.theta.mean(axis=0) - truth)
    assert np.all(off < 4.0 * scatter + 0.03)
    assert np.all(found.rate_known)


def found_shape(law: Law) -> float:
    return float(next(iter(law.shapes().values())))


SCIPY: list[tuple[str, Any, Any]] = [
    ("exponential", stats.expon, lambda p: (None, 1 / p[1])),
    ("weibull", stats.weibull_min, lambda p: (p[0], 1 / p[2])),
    ("gamma", stats.gamma, lambda p: (p[0], 1 / p[2])),
    ("half-normal", stats.halfnorm, lambda p: (None, 1 / p[1])),
    ("rayleigh", stats.rayleigh, lambda p: (None, 1 / p[1])),
    ("maxwell", stats.maxwell, lambda p: (None, 1 / p[1])),
    ("log-logistic", stats.fisk, lambda p: (p[0], 1 / p[2])),
    ("log-normal", stats.lognorm, lambda p: (p[0], 1 / p[2])),
    ("nakagami", stats.nakagami, lambda p: (p[0], 1 / p[2])),
]


@pytest.mark.parametrize(("name", "family", "read"), SCIPY, ids=[case[0] for case in SCIPY])
def test_fully_observed_it_is_scipys_fit(name: str, family: Any, read: Any) -> None:
    rows = observed(hg.Problem(hg.Gamma(2.0), [0.4], [0.2]), 2000, 3)
    found = fit_law(name, of_rows(rows, 1, "all"))
    shape, rate = read(family.fit(rows.threshold, floc=0.0))
    assert found.rate[0] == pytest.approx(rate, rel=2e-3)
    ours = found.family.shape(found.theta)
    assert (ours is None) == (shape is None)
    if ours is not None:
        assert ours[0] == pytest.approx(shape, rel=2e-3)
    # At least as likely as scipy's, whose search stops a little early.
    logs = family.logpdf(rows.threshold, *([] if shape is None else [shape]), loc=0.0, scale=1.0 / rate).sum()
    bernoulli = np.sum(stats.bernoulli.logpmf(rows.success, rows.success.mean()))
    assert found.log_likelihood[0] >= logs + bernoulli - 1e-6
    assert found.activation[0] == rows.success.mean()


def test_the_shape_of_successes_alone() -> None:
    rows = observed(hg.Problem(hg.Weibull(1.7), [0.4], [0.2]), 3000, 3)
    found = fit_law("weibull", of_rows(rows, 1, "successes"))
    shape, _, scale = stats.weibull_min.fit(rows.threshold[rows.success], floc=0.0)
    assert np.asarray(found.family.shape(found.theta))[0] == pytest.approx(shape, rel=1e-3)
    assert 1.0 / found.rate[0] == pytest.approx(scale, rel=1e-3)


def slow_truncated(times: Any, low: float, high: float) -> tuple[float, float]:
    def loss(theta: Any) -> float:
        law = stats.weibull_min(np.exp(theta[0]), scale=np.exp(theta[1]))
        return float(times.size * np.log(law.cdf(high) - law.cdf(low)) - law.logpdf(times).sum())

    best = optimize.minimize(loss, [0.3, np.log(times.mean())], method="Nelder-Mead", options={"xatol": 1e-8})
    return float(np.exp(best.x[0])), float(np.exp(best.x[1]))


def test_trimmed_it_is_the_truncated_law_on_what_is_kept() -> None:
    rows = observed(hg.Problem(hg.Weibull(1.5), [0.4], [0.02]), 4000, 8)
    points = of_rows(rows, 1, "all", trim=(0.025, 0.975))
    low, high = np.quantile(rows.threshold, [0.025, 0.975])
    assert (points.low[0], points.high[0]) == pytest.approx((low, high))
    kept = (rows.threshold >= low) & (rows.threshold <= high)
    found = fit_law("weibull", points)
    shape, scale = slow_truncated(rows.threshold[kept], float(low), float(high))
    assert np.asarray(found.family.shape(found.theta))[0] == pytest.approx(shape, rel=1e-4)
    assert 1.0 / found.rate[0] == pytest.approx(scale, rel=1e-4)
    assert found.activation[0] == pytest.approx(rows.success[kept].mean())


@pytest.mark.parametrize("law", [hg.Weibull(1.6), hg.LogNormal(0.8), hg.Lomax(1.7), hg.DiscreteWeibull(0.9)], ids=str)
def test_the_maximum_is_that_of_a_slow_search(law: Law) -> None:
    rows = censored(law, 0.5, RATE, 800, 11)
    points = of_rows(rows, 1, "censored", whole=law.integer)
    found = fit_law(law.name, points)

    def loss(theta: Any) -> float:
        p, at = 1.0 / (1.0 + np.exp(-theta[2])), law.with_shape(float(np.exp(theta[1])))
        won = np.log(p) + at.log_pdf(rows.threshold[rows.success], np.exp(theta[0]))
        lost = np.log(1.0 - p * at.cdf(rows.allocation[~rows.success], np.exp(theta[0])))
        return -float(won.sum() + lost.sum())

    options: Any = {"xatol": 1e-7, "fatol": 1e-9, "maxiter": 4000}
    best = optimize.minimize(loss, [np.log(RATE), 0.1, 0.3], method="Nelder-Mead", options=options)
    assert found.log_likelihood[0] == pytest.approx(-best.fun, abs=1e-4)
    np.testing.assert_allclose(found.theta[0], best.x, atol=3e-3)


def test_lifelines_and_surpyval_agree() -> None:
    rows = censored(hg.Weibull(1.6), 0.6, 0.12, 10_000, 3)
    time = np.where(rows.success, rows.threshold, rows.allocation)
    found = fit_law("weibull", of_rows(rows, 1, "censored"))
    shape = np.asarray(found.family.shape(found.theta))[0]
    lifelines = pytest.importorskip("lifelines")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their own
        surpyval = pytest.importorskip("surpyval")
        theirs = lifelines.MixtureCureFitter(base_fitter=lifelines.WeibullFitter()).fit(time, rows.success)
        others = surpyval.Weibull.fit(x=time, c=(~rows.success).astype(int), lfp=True)
    for rho, scale, p in (
        (theirs.rho_, theirs.lambda_, 1.0 - theirs.cured_fraction_),
        (others.params[1], others.params[0], others.lfp_p),
    ):
        assert shape == pytest.approx(rho, rel=1e-3)
        assert 1.0 / found.rate[0] == pytest.approx(scale, rel=1e-3)
        assert found.activation[0] == pytest.approx(p, rel=1e-3)


def repeated(rows: Rows, times: int) -> Rows:
    columns: Any = (np.tile(v, times) for v in (rows.arm, rows.allocation, rows.success, rows.threshold, rows.count))
    return Rows(*columns)


def test_joined_rows_tell_the_same() -> None:
    rows = censored(hg.Weibull(1.6), 0.6, 0.12, 20_000, 3)
    exact = fit_law("weibull", of_rows(rows, 1, "censored"))
    many = repeated(rows, 15)
    fine = of_rows(many, 1, "censored")
    assert fine.thresholds.shape[0] < 12_000 < many.arm.size
    joined = fit_law("weibull", fine)
    np.testing.assert_allclose(joined.theta, exact.theta, atol=1e-5)
    # Akaike's criterion of 300,000 rows is off by less than a hundredth.
    assert joined.log_likelihood[0] == pytest.approx(15.0 * exact.log_likelihood[0], abs=0.02)


def test_counts_are_rows_written_out() -> None:
    rows = censored(hg.Gamma(2.0), 0.6, 0.12, 300, 3)
    thrice = repeated(rows, 3)
    counted = Rows(rows.arm, rows.allocation, rows.success, rows.threshold, 3 * rows.count)
    one, other = (fit_law("gamma", of_rows(r, 1, "censored")) for r in (thrice, counted))
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-9)
    assert one.log_likelihood[0] == pytest.approx(other.log_likelihood[0])


@pytest.mark.parametrize("law", [hg.Weibull(1.6), hg.LogLogistic(2.0), hg.DiscreteWeibull(0.9)], ids=str)
def test_intervals_cover(law: Law) -> None:
    arms = 300
    found = fit_law(law.name, of_rows(censored(law, 0.6, RATE, 500, 2, arms=arms), arms, "censored", whole=law.integer))
    ends = found.intervals(0.9)
    for name, truth in (("rate", RATE), ("shape", found_shape(law)), ("activation", 0.6)):
        covered = (ends[name][:, 0] <= truth) & (truth <= ends[name][:, 1])
        # The standard error of a coverage of 90% among 300 is 1.7 points; normal intervals may fall a little short.
        assert 0.84 <= covered.mean() <= 0.96, name


def test_arms_do_not_disturb_each_other() -> None:
    rows = censored(hg.LogNormal(0.8), 0.5, RATE, 400, 4, arms=5)
    points = of_rows(rows, 5, "censored")
    together = fit_law("log-normal", points)
    for arm in range(5):
        alone = fit_law("log-normal", points.only([arm]))
        np.testing.assert_allclose(alone.theta[0], together.theta[arm], atol=1e-6)


def test_a_threshold_of_0_counts_as_half_of_the_smallest() -> None:
    rows = rows_of([0] * 4, np.full(4, np.inf), [True] * 4, np.array([0.0, 2.0, 3.0, 4.0]))
    points = of_rows(rows, 1, "all")
    assert points.thresholds[0, 0] == 1.0
    assert np.isfinite(fit_law("weibull", points).log_likelihood[0])


def test_quantiles_are_numpys() -> None:
    rng = np.random.default_rng(0)
    value, count = rng.random(20), rng.integers(1, 6, 20).astype(np.float64)
    levels = (0.0, 0.025, 0.3, 0.5, 0.975, 1.0)
    expected = np.quantile(np.repeat(value, count.astype(int)), levels)
    np.testing.assert_allclose(quantiles(value, count, levels), expected)


def test_trimming_is_checked() -> None:
    rows = censored(hg.Exponential(), 0.5, 0.1, 50, 0)
    with pytest.raises(UnsupportedError, match="trim needs thresholds that are not censored"):
        of_rows(rows, 1, "censored", trim=(0.1, 0.9))
    with pytest.raises(ParameterError, match="trim must be two quantiles"):
        of_rows(rows, 1, "all", trim=(0.9, 0.1))


def test_an_arm_without_a_success_does_no_harm() -> None:
    rows = censored(hg.Exponential(), 0.5, 0.1, 200, 0, arms=2)
    none = Rows(rows.arm, rows.allocation, rows.success & (rows.arm == 0), rows.threshold, rows.count)
    points = of_rows(none, 2, "censored")
    found = fit_law("exponential", points)
    assert np.isfinite(log_likelihood(found.family, points, found.theta)).all()
    assert found.rate_known.tolist() == [True, False]


@pytest.mark.parametrize(("n", "reach"), [(60, 1.2), (400, 0.9), (3000, 3.0)])
def test_the_interval_of_an_activation_is_its_profiles(n: int, reach: float) -> None:
    """Against SciPy: p on a fine grid, the rate at its best for each, and where the drop is that of chi-square."""
    rng = np.random.default_rng(n)
    given, threshold = rng.uniform(0.2, reach, n) * 10.0, rng.exponential(10.0, n)
    won = (rng.random(n) < 0.7) & (threshold <= given)
    rows = Rows(np.zeros(n, dtype=np.int64), given, won, np.where(won, threshold, np.nan), np.ones(n, dtype=np.int64))
    (found,) = fit_arms(of_rows(rows, 1, "censored"), ["a"], law="exponential", level=0.9)

    def profile(p: float) -> float:
        def lost(log_rate: float) -> float:
            rate = np.exp(log_rate)
            seen = np.log(p) + log_rate - rate * threshold[won]
            return -float(seen.sum() + np.log1p(-p * -np.expm1(-rate * given[~won])).sum())

        return -float(optimize.minimize_scalar(lost, bounds=(-8.0, 4.0), method="bounded").fun)

    grid = np.linspace(0.02, 0.9999, 1500)
    value = np.array([profile(p) for p in grid])
    inside = grid[value >= value.max() - stats.chi2.ppf(0.9, 1) / 2.0]
    low, high = found.activation_interval
    assert low == pytest.approx(inside[0], abs=0.004)
    assert high == pytest.approx(inside[-1], abs=0.004)
