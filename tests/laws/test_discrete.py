"""The discrete Weibull law: means of up to 1e8 whole numbers, their inverse, quantiles and draws."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from headgate.laws import DiscreteWeibull, Weibull

from .references import DISCRETE, Case, each


def summed_mean(shape: float, rate: float, n: int) -> float:
    """E[X | X <= n], term by term: sum of S(j) - S(n), added without rounding."""
    z = (rate * np.arange(n + 1, dtype=np.float64)) ** shape
    gaps = np.exp(-z[:-1]) * -np.expm1(z[:-1] - z[-1])
    return math.fsum(gaps) / -math.expm1(-z[-1])


def geometric_mean(rate: float, n: int) -> float:
    """Shape 1 is geometric, and has a closed form."""
    with mp.workdps(60):
        q = mp.exp(-mp.mpf(rate))
        return float(1 / (1 - q) - n * q**n / (1 - q**n))


@each(DISCRETE)
@pytest.mark.parametrize("rate", [1e-8, 1e-3, 0.1, 2.0, 1e3])
def test_mean_of_few(case: Case, rate: float) -> None:
    for n in (1, 2, 17, 80):
        assert case.law.truncated_mean(rate, n + 0.5) == pytest.approx(case.truncated_mean(rate, n), rel=1e-12)


@pytest.mark.parametrize("shape", [0.1, 0.5, 1.6, 5.0, 20.0, 60.0])
@pytest.mark.parametrize("n", [4096, 4097, 200_000])
def test_mean_of_many(shape: float, n: int) -> None:
    law = DiscreteWeibull(shape)
    for z in (1e-8 if shape < 30.0 else 1e-4, 1e-2, 0.5, 0.9, 1.1, 30.0, 3e4):
        assert law.truncated_mean(z / n, n) == pytest.approx(summed_mean(shape, z / n, n), rel=1e-11), z


@pytest.mark.parametrize("n", [10**4, 10**6, 10**8])
def test_mean_of_very_many(n: int) -> None:
    rates = np.geomspace(1e-8, 1e8, 17) / n
    expected = [geometric_mean(rate, n) for rate in rates]
    np.testing.assert_allclose(DiscreteWeibull(1.0).truncated_mean(rates, float(n)), expected, rtol=1e-11)
    # For n this large the law is a Weibull rounded up: half a unit more, but for terms of order 1/n.
    for shape in (1.6, 3.0):
        whole = DiscreteWeibull(shape).truncated_mean(3.0 / n, n)
        assert whole == pytest.approx(Weibull(shape).truncated_mean(3.0 / n, n) + 0.5, abs=1.0 / np.sqrt(n))


def test_mean_where_probabilities_underflow() -> None:
    """As rate -> 0 the mean tends to a sum of powers; nothing is 0/0."""
    law, n = DiscreteWeibull(20.0), 50
    limit = math.fsum(1.0 - (j / n) ** 20 for j in range(n))
    assert law.truncated_mean(1e-40, n) == pytest.approx(limit, rel=1e-13)
    assert law.truncated_mean(1e200, n) == 1.0
    assert np.isnan(law.truncated_mean(1.0, 0.9))


@each(DISCRETE)
def test_inverse(case: Case) -> None:
    for n in (2, 30, 5000, 10**7):
        rates = np.geomspace(0.1, 3.0, 5) / (n if n < 5000 else n / 10)
        found = case.law.rate_of_truncated_mean(case.law.truncated_mean(rates, n), float(n))
        np.testing.assert_allclose(found, rates, rtol=1e-8)


def test_inverse_at_its_edges() -> None:
    """A mean of 1 is an infinite rate, also where the law is truncated at 1 and nothing else can be."""
    law = DiscreteWeibull((0.7, 1.0, 2.0))
    np.testing.assert_array_equal(law.rate_of_truncated_mean(1.0, 9.0), np.inf)
    np.testing.assert_array_equal(law.rate_of_truncated_mean([1.0, 1.0, 1.0], 1.7), np.inf)
    np.testing.assert_array_equal(law.rate_of_truncated_mean(8.9, 9.0), 0.0)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(1, 10**6), st.floats(0.2, 5.0), st.floats(0.01, 5.0))
def test_quantile_is_the_smallest_whole_number(n: int, shape: float, z: float) -> None:
    """By its own cdf; near 1, where doubles give several n the same cdf, any of them is right."""
    law, rate = DiscreteWeibull(shape), z / n
    q = law.cdf(n, rate)
    assume(q < 0.999)
    found = law.quantile(q, rate)
    assert found == np.floor(found) >= 1.0
    assert law.cdf(found, rate) >= q
    assert found == 1.0 or law.cdf(found - 1.0, rate) < q
    if law.pdf(n, rate) > 1e-12:
        assert found == n


def test_quantile_ends() -> None:
    law = DiscreteWeibull(1.5)
    np.testing.assert_array_equal(law.quantile([0.0, 1.0], 0.3), [1.0, np.inf])


@pytest.mark.parametrize("shape", [0.7, 1.0, 2.5])
def test_draws(shape: float) -> None:
    """Chi-square over cells of at least 50 expected draws; each fails by chance once in 10,000 seeds."""
    law, rate, draws = DiscreteWeibull(shape), 0.15, 20_000
    x = law.sample(rate, np.random.default_rng(20250801), draws)
    cells = int(law.quantile(1.0 - 50.0 / draws, rate)) - 1
    chance = np.append(law.pdf(np.arange(1, cells + 1), rate), np.exp(law.log_sf(cells, rate)))
    counts = np.append([np.sum(x == n) for n in range(1, cells + 1)], np.sum(x > cells))
    keep = chance * draws >= 5.0
    counts, expected = (np.append(v[keep], v[~keep].sum()) for v in (counts, chance * draws))
    filled = expected > 0.0
    assert counts.sum() == draws
    assert stats.chisquare(counts[filled], expected[filled]).pvalue > 1e-4


@each(DISCRETE)
def test_probabilities_sum_to_the_cdf(case: Case) -> None:
    n = np.arange(1, 400)
    np.testing.assert_allclose(np.cumsum(case.law.pdf(n, 0.05)), case.law.cdf(n, 0.05), rtol=1e-12)
    np.testing.assert_array_equal(case.law.log_pdf([0.0, 0.5, 2.5, -3.0, np.inf], 0.05), -np.inf)
