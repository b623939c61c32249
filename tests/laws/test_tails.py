"""`log_sf` and `log_pdf` against 50 digits, from x -> 0 to survival 1e-300 and far beyond."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

from headgate import laws as hl
from headgate.errors import ParameterError

from .references import ALL, BETAS, CONTINUOUS, DIGITS, DISCRETE, SCALE, SHAPED, WRAPPED, Case, Curve, each

RATE = 0.37
TINY = 1e-296  # below, doubles themselves lose digits
EVERYWHERE = np.concatenate(
    [np.geomspace(1e-300, 1e-10, 12), np.geomspace(1e-9, 1e9, 60), np.geomspace(1e10, 1e299, 8)]
)


def amounts(case: Case) -> NDArray[np.float64]:
    if case in BETAS:
        c = float(np.asarray(case.law.shapes()["c"]))
        return np.concatenate([np.geomspace(1e-300, 0.4, 30), 1.0 - np.geomspace(1e-15, 0.5, 20)]) * c
    if case in DISCRETE:
        return np.floor(np.geomspace(1.0, 1e9, 50))
    if case in WRAPPED:  # as far as scipy's own densities reach
        return np.geomspace(1e-60, 1e9, 50) / RATE
    return EVERYWHERE / RATE


def error(values: NDArray[np.float64], curve: Curve, x: NDArray[np.float64], rate: float, floor: float) -> float:
    """The largest relative error; `floor` is what an error is relative to at least."""
    worst = 0.0
    with mp.workdps(DIGITS):
        for value, at in zip(values, x, strict=True):
            truth = curve(mp.mpf(at), mp.mpf(rate))
            if truth < -1e300:
                assert value < -1e299
            else:
                gap = abs(mp.mpf(value) - truth) / max(abs(truth), floor)
                assert mp.isfinite(gap), f"{value} at {at}, not {mp.nstr(truth)}"
                worst = max(worst, float(gap))
    return worst


@each(ALL)
def test_log_survival(case: Case) -> None:
    x = amounts(case)
    assert error(case.law.log_sf(x, RATE), case.log_sf, x, RATE, TINY) < 1e-11


@each(ALL)
def test_log_density(case: Case) -> None:
    x = amounts(case)
    assert error(case.law.log_pdf(x, RATE), case.log_pdf, x, RATE, 1.0) < 1e-12


@each(DISCRETE)
@pytest.mark.parametrize("rate", [1e-80, 1e-3, 5.0])
def test_log_probability_of_whole_numbers_at_any_rate(case: Case, rate: float) -> None:
    x = np.floor(np.geomspace(1.0, 1e6, 30))
    assert error(case.law.log_sf(x, rate), case.log_sf, x, rate, TINY) < 1e-12
    assert error(case.law.log_pdf(x, rate), case.log_pdf, x, rate, 1.0) < 1e-12


def test_the_grid_reaches_survival_1e_300() -> None:
    """The claims above are about tails: see that the grid goes there, but where doubles end before."""
    light = [case for case in SCALE if case.log_sf(mp.mpf("1e299"), 1) < -690]
    assert len(light) > 0.8 * len(SCALE)
    for case in light:
        log_sf = case.law.log_sf(amounts(case), RATE)
        assert np.any(log_sf < -690.0), str(case)
        assert np.min(np.abs(log_sf)) < 1e-29 or "0.1" in str(case), str(case)


@each(ALL)
def test_edges(case: Case) -> None:
    """Below 0, at 0, at infinity, and where rate * x overflows: no NaN, and warnings are errors."""
    law = case.law
    x = np.array([-np.inf, -1.0, -0.0, 0.0, 1e300, np.inf])
    rate = 1e200
    np.testing.assert_array_equal(law.cdf(x, rate), [0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(law.log_sf(x, rate)[:4], 0.0)
    np.testing.assert_array_equal(law.log_sf(x, rate)[[4, 5]], -np.inf)
    density = law.log_pdf(x, rate)
    assert not np.isnan(density).any()
    np.testing.assert_array_equal(density[[0, 1, 4, 5]], -np.inf)
    with pytest.raises(ParameterError, match="x must be a number, got nan"):
        law.cdf(np.nan, 1.0)


@each(CONTINUOUS)
def test_density_is_the_derivative_of_the_cdf(case: Case) -> None:
    x = case.law.quantile(np.array([0.05, 0.3, 0.6, 0.9]), RATE)
    step = 1e-5 * x
    slope = (case.law.cdf(x + step, RATE) - case.law.cdf(x - step, RATE)) / (2.0 * step)
    np.testing.assert_allclose(case.law.pdf(x, RATE), slope, rtol=1e-5)


def test_meaning_of_the_rate() -> None:
    """The larger, the easier; a log-normal has median 1/rate; the others are as the issue writes them."""
    for case in ALL:
        upper = 0.1 if case in BETAS else 3.0
        grid = np.geomspace(0.05, 5.0, 9)
        assert np.all(np.diff(case.law.cdf(upper, grid)) >= 0.0), str(case)
    assert hl.LogNormal(sigma=2.0).cdf(1 / 0.3, 0.3) == pytest.approx(0.5, rel=1e-14)
    assert hl.Beta(c=4.0).cdf(1.0, 2.5) == pytest.approx(1.0 - 0.75**2.5, rel=1e-14)
    discrete = hl.DiscreteWeibull(1.5)
    assert discrete.cdf(3.9, 0.2) == discrete.cdf(3.0, 0.2) == pytest.approx(1.0 - np.exp(-(0.6**1.5)), rel=1e-14)


def test_one_shape_per_arm() -> None:
    """A law with K shapes is K laws."""
    shapes, x, rate = (
        np.array([0.3, 1.0, 4.0]),
        np.array([[0.2, 1.0, 3.0], [1e-5, 9.0, 0.0]]),
        np.array([0.5, 1, 2]),
    )
    for family in SHAPED:
        law = family(shapes)
        assert law.arm_axis() == (3,)
        for arm, shape in enumerate(shapes):
            one = family(shape)
            for method in ("log_sf", "log_pdf", "truncated_mean"):
                first = (x, rate) if method != "truncated_mean" else (rate, x + 1.0)
                one_first = tuple(v[..., arm] for v in first)
                np.testing.assert_allclose(
                    getattr(law, method)(*first)[..., arm], getattr(one, method)(*one_first), rtol=1e-13
                )
