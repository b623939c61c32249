"""The paper's boost s(lambda, lambda'): G~ = 1 - s (1 - G), whose marginal is s(lambda, lambda') g(x, lambda)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headgate import laws as hl

from .references import ALL, BETAS, DISCRETE, LOG_NORMALS, WRAPPED, Case, each

RATES = np.geomspace(0.02, 5.0, 60)
ANYWHERE = [case for case in ALL if case not in LOG_NORMALS and case not in WRAPPED]
CONCAVE_PART = [*LOG_NORMALS, *WRAPPED]


def amounts(case: Case) -> NDArray[np.float64]:
    if case in BETAS:
        return float(np.asarray(case.law.shapes()["c"])) * np.linspace(0.001, 0.999, 40)
    return np.arange(1.0, 60.0) if case in DISCRETE else np.geomspace(1e-4, 100.0, 60)


def log_marginal(law: hl.Law, x: float, rate: NDArray[np.float64], boosted: float) -> NDArray[np.float64]:
    """Log of d/dx G~(x, rate, boosted)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(law.boost(rate, boosted)) + law.log_pdf(x, rate)


@each(ALL)
def test_consistency(case: Case) -> None:
    """s(lambda, lambda) = 1, so that G~(x, lambda, lambda) = G(x, lambda)."""
    np.testing.assert_array_equal(case.law.boost(RATES, RATES), 1.0)


@each(ALL)
def test_monotone_in_the_boosted_rate(case: Case) -> None:
    """Strictly, but where the factor leaves the range of doubles, which shape 300 makes it do."""
    boost = case.law.boost(RATES[:, None], RATES[None, :])
    below, above = boost[:, :-1], boost[:, 1:]
    assert np.all((below < above) | (below == np.inf) | (above == 0.0))
    assert np.all(np.isfinite(boost)) or "300" in str(case)


@each(ANYWHERE)
def test_monotone_in_the_rate(case: Case) -> None:
    for x in amounts(case):
        marginal = log_marginal(case.law, x, RATES, 0.7)
        marginal = marginal[np.isfinite(marginal)]
        assert marginal.size > 20
        assert np.all(np.diff(marginal) <= 1e-12 * (1.0 + np.abs(marginal[1:]))), x


@each(CONCAVE_PART)
def test_monotone_in_the_rate_where_concave(case: Case) -> None:
    """For these laws it is claimed only for x >= inflection(rate)."""
    seen = 0
    for x in amounts(case):
        rates = RATES[case.law.inflection(RATES) <= x]
        seen += rates.size
        marginal = log_marginal(case.law, x, rates, 0.7)
        assert np.all(np.diff(marginal) <= 1e-9), x
    assert seen > 500


def test_log_normal_fails_below_its_inflection() -> None:
    """As its docstring says: no power of lambda'/lambda can offset the density's sensitivity as x -> 0."""
    law = hl.LogNormal(1.0)
    rate = np.array([1.0, 1.1])
    x = law.inflection(1.1) / 3.0
    assert np.diff(log_marginal(law, float(x), rate, 0.7))[0] > 0.0
    for power in (1.0, 2.0, 5.0):
        tiny = np.exp(-10.0 * power)
        assert np.diff(-power * np.log(rate) + law.log_pdf(tiny, rate))[0] > 0.0


def test_powers_are_the_papers() -> None:
    """g(lambda) of the exponential family: lambda^k for Weibull and gamma, lambda^(2m) for Nakagami."""
    for law, power in (
        (hl.Exponential(), 1.0), (hl.Weibull(1.6), 1.6), (hl.Gamma(2.5), 2.5), (hl.HalfNormal(), 1.0),
        (hl.Rayleigh(), 2.0), (hl.Maxwell(), 3.0), (hl.Nakagami(3.0), 6.0), (hl.Lomax(3.0), 1.0),
        (hl.LogLogistic(2.5), 2.5), (hl.Beta(3.0), 1.0), (hl.DiscreteWeibull(1.6), 1.6),
    ):  # fmt: skip
        np.testing.assert_allclose(law.boost(0.5, 2.0), 4.0**power, rtol=1e-14)


def test_a_larger_power_is_needed_nowhere() -> None:
    """The test above can fail: with half the power the marginal of a Maxwell law rises in lambda."""
    law, rates = hl.Maxwell(), RATES[:10]
    assert np.any(np.diff(0.5 * np.log(law.boost(rates, 0.7)) + law.log_pdf(0.01, rates)) > 0.0)


def test_boost_broadcasts_over_arms() -> None:
    law = hl.Weibull((0.5, 2.0))
    np.testing.assert_allclose(law.boost([1.0, 1.0], [4.0, 4.0]), [2.0, 16.0])
    assert law.boost(np.ones((3, 2)), 2.0).shape == (3, 2)
