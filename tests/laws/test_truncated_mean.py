"""E[X | X <= upper] against 50 digits for rate * upper from 1e-8 to 1e8, and its inverse."""

from __future__ import annotations

from functools import partial
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import laws as hl

from .references import BETAS, BURRS, LOG_NORMALS, SCALE, SHAPED_SCALE, WRAPPED, Case, Number, each

Z = np.concatenate([np.geomspace(1e-8, 1e8, 33), [0.9, 0.99, 1.01, 1.1, 30.0, 300.0]])
RATE = 0.37


@each(SCALE)
def test_scale_laws(case: Case) -> None:
    expected = [case.truncated_mean(RATE, z / RATE) for z in Z]
    np.testing.assert_allclose(case.law.truncated_mean(RATE, Z / RATE), expected, rtol=1e-12)


@each(WRAPPED)
def test_wrapped_laws(case: Case) -> None:
    """The inverse Gaussian's log density at 1e-8 is -5e7, so 1e-8 is as good as doubles allow there."""
    expected = [case.truncated_mean(RATE, z / RATE) for z in Z]
    np.testing.assert_allclose(case.law.truncated_mean(RATE, Z / RATE), expected, rtol=1e-8)
    above = Z > 1e-6
    np.testing.assert_allclose(case.law.truncated_mean(RATE, Z[above] / RATE), np.array(expected)[above], rtol=1e-10)


@each(BETAS)
@pytest.mark.parametrize("rate", [1e-6, 0.37, 1.0, 20.0, 1e5])
def test_beta(case: Case, rate: float) -> None:
    c = float(np.asarray(case.law.shapes()["c"]))
    upper = c * np.concatenate([np.geomspace(1e-8, 0.999, 25), [1.0]])
    expected = [case.truncated_mean(rate, u) for u in upper]
    np.testing.assert_allclose(case.law.truncated_mean(rate, upper), expected, rtol=1e-12)
    assert case.law.truncated_mean(rate, 2.0 * c) == case.law.truncated_mean(rate, c)


def test_references_agree_with_direct_quadrature() -> None:
    """The closed forms in `references` are themselves right: integrate x * density once for each family."""
    cuts = [0, 0.01, 0.1, 0.5, 1, 2]
    with mp.workdps(30):
        for case in (SCALE[4], SCALE[7], BURRS[1], BURRS[10], LOG_NORMALS[1], BETAS[1], WRAPPED[0]):
            density = partial(direct_density, case)
            moment = mp.quad(lambda x, f=density: x * f(x), cuts)
            expected = float(moment / mp.quad(density, cuts))
            assert case.truncated_mean(RATE, 2.0) == pytest.approx(expected, rel=1e-9), str(case)


def direct_density(case: Case, x: Number) -> Number:
    return mp.exp(case.log_pdf(x, mp.mpf(RATE))) if x > 0 else mp.mpf(0)


def test_limits() -> None:
    """As rate * upper -> 0 the mean is k/(k+1) of upper (not 1/2, as the paper says); it grows with upper."""
    for k in (0.3, 1.0, 3.0):
        assert hl.Weibull(k).truncated_mean(1e-60, 7.0) == pytest.approx(7.0 * k / (k + 1.0), rel=1e-12)
    assert hl.Weibull(50.0).truncated_mean(1.0, 1e8) == pytest.approx(float(mp.gamma(1.02)), rel=1e-12)
    assert hl.Lomax(3.0).truncated_mean(2.0, 1e150) == pytest.approx(0.25, rel=1e-12)
    for case in [*SCALE, *WRAPPED]:
        assert case.law.truncated_mean(1.0, 0.0) == 0.0
        mean = case.law.truncated_mean(1.0, np.geomspace(1e-3, 1e3, 50))
        assert np.all(np.diff(mean) > -1e-13 * mean[1:]), str(case)


@each([*SCALE, *WRAPPED])
def test_inverse(case: Case) -> None:
    """The rate comes back wherever the mean still depends on it."""
    upper, z = 13.0, np.geomspace(1e-2, 1e8, 15)
    mean = case.law.truncated_mean(z / upper, upper)
    # How many digits of the rate the mean keeps: d log mean / d log rate.
    slope = np.abs(np.log(case.law.truncated_mean(1.001 * z / upper, upper) / mean)) / 1e-3
    found = case.law.rate_of_truncated_mean(mean, upper)
    known = slope > 1e-6
    assert known.sum() >= 10
    tolerance = 1e-12 / slope[known] + 1e-12
    assert np.all(np.abs(found[known] / (z[known] / upper) - 1.0) < tolerance)


@each(BETAS)
def test_inverse_of_beta(case: Case) -> None:
    c, rates = float(np.asarray(case.law.shapes()["c"])), np.geomspace(1e-3, 1e4, 12)
    for upper in (0.3 * c, c):
        mean = case.law.truncated_mean(rates, upper)
        np.testing.assert_allclose(case.law.rate_of_truncated_mean(mean, upper), rates, rtol=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.floats(0.2, 5.0), st.floats(0.05, 50.0), st.floats(1e-3, 1e3)), min_size=1, max_size=5),
    st.sampled_from(SHAPED_SCALE),
)
def test_inverse_with_one_shape_per_arm(arms: list[tuple[float, float, float]], family: Any) -> None:
    shape, z, upper = np.array(arms).T
    law = family(shape)
    rate = z / upper
    found = law.rate_of_truncated_mean(law.truncated_mean(rate, upper), upper)
    np.testing.assert_allclose(found, rate, rtol=1e-8)


@pytest.mark.parametrize("upper", [1e-200, 1e-5, 1.0, 1e200])
def test_inverse_at_its_edges(upper: float) -> None:
    """A mean of 0 is an infinite rate; one that no rate gives is rate 0; tiny ones are found."""
    law = hl.Exponential()
    mean = upper * np.array([0.0, 1e-60, 0.25, 0.5, 0.7, 1.0])
    found = law.rate_of_truncated_mean(mean, upper)
    assert found[0] == np.inf
    np.testing.assert_allclose(found[1], 1e60 / upper, rtol=1e-10)
    assert law.truncated_mean(found[2], upper) == pytest.approx(mean[2], rel=1e-13)
    assert found[3] * upper < 1e-11
    np.testing.assert_array_equal(found[4:], 0.0)


def test_inverse_where_the_limit_is_slow() -> None:
    """Small shapes approach their limits over hundreds of orders of magnitude."""
    for law, ratio in ((hl.LogNormal(5.0), 0.9), (hl.Lomax(0.1), 1e-6), (hl.Weibull(0.1), 0.0909)):
        rate = law.rate_of_truncated_mean(2.0 * ratio, 2.0)
        assert 0.0 < rate < np.inf
        assert law.truncated_mean(rate, 2.0) == pytest.approx(2.0 * ratio, rel=1e-10)


def test_many_rates_at_once() -> None:
    """The quadrature splits large batches; the result does not show it."""
    law, rate = hl.LogLogistic((0.5, 2.0)), np.geomspace(0.01, 10.0, 1500).reshape(750, 2)
    whole = law.truncated_mean(rate, 3.0)
    np.testing.assert_array_equal(whole[[0, 400, 749]], [law.truncated_mean(rate[i], 3.0) for i in (0, 400, 749)])
