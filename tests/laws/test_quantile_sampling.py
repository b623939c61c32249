"""Quantiles invert the cdf; draws follow the law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from headgate import laws as hl
from headgate.laws import Floats
from headgate.laws.roots import bracketed_root

from .references import CONTINUOUS, SHAPED_SCALE, WRAPPED, Case, each

CASES = [*CONTINUOUS, *WRAPPED]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.sampled_from(CASES), st.floats(1e-10, 0.99), st.floats(1e-3, 1e3))
def test_quantile_inverts_the_cdf(case: Case, q: float, rate: float) -> None:
    """x -> q -> x, as far as q knows x: its error is rounding times dx/dq."""
    x = float(case.law.quantile(q, rate))
    q = float(case.law.cdf(x, rate))
    density = float(case.law.pdf(x, rate))
    again = float(case.law.quantile(q, rate))
    slack = 1e-13 * q / density if density > 0.0 else np.inf
    assert again == pytest.approx(x, rel=1e-11, abs=slack)


@each(CASES)
def test_cdf_inverts_the_quantile(case: Case) -> None:
    q = np.concatenate([np.geomspace(1e-12, 0.5, 20), 1.0 - np.geomspace(1e-12, 0.5, 20)])
    rate = 2.0 if case.law.name == "beta" else 0.37
    np.testing.assert_allclose(case.law.cdf(case.law.quantile(q, rate), rate), q, rtol=1e-10)


@each(CASES)
def test_ends(case: Case) -> None:
    low, high = case.law.quantile(np.array([0.0, 1.0]), 2.0)
    assert low == 0.0
    assert high == (case.law.shapes()["c"] if isinstance(case.law, hl.Beta) else np.inf)


class Plain(hl.ScaleLaw):
    """An exponential law that says nothing of itself but its survival and density."""

    name = "plain"

    def log_sf0(self, z: Floats) -> Floats:
        return np.negative(z)

    def log_pdf0(self, z: Floats) -> Floats:
        return np.negative(z)

    def shapes(self) -> dict[str, float]:
        return {}


def test_what_a_law_of_two_methods_inherits() -> None:
    """A user's own law needs `log_sf0` and `log_pdf0` alone."""
    law, known = Plain(), hl.Exponential()
    q, rate = np.array([0.0, 1e-9, 0.3, 0.999, 1.0]), 0.7
    np.testing.assert_allclose(law.quantile(q, rate), known.quantile(q, rate), rtol=1e-12)
    upper = np.geomspace(1e-8, 1e8, 20)
    np.testing.assert_allclose(law.truncated_mean(rate, upper), known.truncated_mean(rate, upper), rtol=1e-12)
    np.testing.assert_allclose(law.rate_of_truncated_mean(3.0, 10.0), known.rate_of_truncated_mean(3.0, 10.0))
    np.testing.assert_allclose(law.lipschitz_rate(40.0, (0.1, 2.0)), 40.0)
    assert law.inflection(rate) == 0.0
    assert law.standard().error < 1e-11


def chance(law: hl.Law, x: Floats, rate: float) -> float:
    """The p-value of Kolmogorov and Smirnov: G(X) is uniform if X ~ G."""
    return float(stats.kstest(law.cdf(x, rate), "uniform").pvalue)


@each(CASES)
def test_draws_follow_the_law(case: Case) -> None:
    """Kolmogorov and Smirnov at 1e-5 for each of some 45 laws: by chance one seed in 2,000 fails."""
    rate = 0.8
    x = case.law.sample(rate, np.random.default_rng(7), 4000)
    assert x.shape == (4000,)
    assert chance(case.law, x, rate) > 1e-5


def test_a_wrong_law_fails_that_test() -> None:
    """The test above has power: a rate 10% off is seen."""
    x = hl.Weibull(1.6).sample(0.8, np.random.default_rng(7), 4000)
    assert chance(hl.Weibull(1.6), x, 0.88) < 1e-5


def test_shape_of_draws() -> None:
    rng = np.random.default_rng(0)
    rate = np.array([0.5, 1.0, 2.0])
    assert hl.Exponential().sample(rate, rng).shape == (3,)
    assert hl.Weibull((0.5, 1.0, 2.0)).sample(1.0, rng).shape == (3,)
    assert hl.Weibull((0.5, 1.0, 2.0)).sample(rate, rng, (7, 3)).shape == (7, 3)
    assert hl.from_scipy("invgauss", 0.5).sample(rate, rng).shape == (3,)
    first, second = (hl.Gamma(2.0).sample(rate, np.random.default_rng(3), (5, 3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.floats(0.2, 8.0), min_size=1, max_size=4), st.sampled_from(SHAPED_SCALE), st.floats(1e-6, 0.999))
def test_quantiles_with_one_shape_per_arm(shapes: list[float], family: Any, q: float) -> None:
    law = family(shapes)
    np.testing.assert_allclose(law.cdf(law.quantile(q, 0.5), 0.5), q, rtol=1e-11)


def test_bracketed_root() -> None:
    """It keeps elements in place, finds roots at the ends, and says NaN where there is none."""
    low, high = np.full(5, -3.0), np.full(5, 5.0)
    target = np.array([-27.0, 0.0, 1e-9, 125.0, 1000.0])
    found = bracketed_root(lambda x: x**3 - target, low, high)
    np.testing.assert_allclose(found[[0, 2, 3]], [-3.0, 1e-3, 5.0], rtol=1e-9)
    assert abs(found[1]) < 1e-4
    assert np.isnan(found[4])
