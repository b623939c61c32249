"""Where G turns concave, and the Lipschitz constants of the paper's assumptions, against brute force."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

from headgate import laws as hl

from .references import BETAS, DISCRETE, SCALE, WRAPPED, Case, each

CURVES = [*SCALE, *WRAPPED]
RATE = 0.37
MODERATE = [case for case in CURVES if not str(case).endswith(("300.0", "200.0", "100.0"))]


def second_differences(law: hl.Law, x: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """G(x + h) - 2 G(x) + G(x - h), relative to the step's share of G."""
    h = 1e-3 * x
    rise, fall = law.cdf(x + h, rate) - law.cdf(x, rate), law.cdf(x, rate) - law.cdf(x - h, rate)
    return (rise - fall) / (rise + fall)


@each(CURVES)
def test_inflection(case: Case) -> None:
    """Convex just before it, concave just after it; concave from the start if it is 0."""
    law = case.law
    inflection = float(law.inflection(RATE))
    assert bool(law.is_concave(40.0, RATE)) == (inflection == 0.0)
    median = float(law.quantile(0.5, RATE))
    if inflection == 0.0:
        bend = second_differences(law, np.geomspace(1e-3, 1.0, 40) * median, RATE)
        assert np.all(bend < 1e-7)
        return
    width = min(0.5, 3.0 * abs(float(law.quantile(0.6, RATE)) / median - 1.0))
    around = inflection * (1.0 + width * np.array([-0.9, -0.5, -0.25, 0.25, 0.5, 0.9]))
    bend = second_differences(law, around[law.cdf(around, RATE) > 1e-12], RATE)
    assert np.all(bend[-3:] < 0.0)
    assert np.all(bend[:-3] > 0.0)
    assert law.inflection(2.0 * RATE) == pytest.approx(inflection / 2.0, rel=1e-14)


def test_which_laws_are_concave() -> None:
    """As their docstrings say."""
    concave = [
        hl.Exponential(), hl.HalfNormal(), hl.Weibull(1.0), hl.Weibull(0.5), hl.Gamma(1.0), hl.Nakagami(0.5),
        hl.Lomax(7.0), hl.LogLogistic(1.0), hl.DiscreteWeibull(1.0), hl.from_scipy("expon"),
        hl.from_scipy("halfcauchy"), hl.from_scipy("uniform"), hl.from_scipy("genpareto", 0.3),
    ]  # fmt: skip
    convex_first = [
        hl.Rayleigh(), hl.Maxwell(), hl.Weibull(1.01), hl.Gamma(1.01), hl.Nakagami(0.51), hl.LogLogistic(1.01),
        hl.LogNormal(0.3), hl.LogNormal(3.0), hl.DiscreteWeibull(1.3), hl.from_scipy("triang", 0.4),
    ]  # fmt: skip
    assert all(law.is_concave(5.0, 0.4) for law in concave)
    assert not any(law.is_concave(5.0, 0.4) for law in convex_first)
    np.testing.assert_array_equal(hl.Weibull((0.5, 2.0)).is_concave(np.ones((3, 2)), 1.0), [[True, False]] * 3)
    np.testing.assert_array_equal(hl.Beta(3.0).is_concave(2.0, [0.9, 1.0, 1.1]), [False, True, True])


@each(BETAS)
def test_inflection_of_beta(case: Case) -> None:
    """Convex up to c for rate < 1, concave for rate >= 1."""
    c = float(np.asarray(case.law.shapes()["c"]))
    x = c * np.linspace(0.05, 0.95, 19)
    assert np.all(second_differences(case.law, x, 0.6) > 0.0)
    assert np.all(second_differences(case.law, x, 1.4) < 0.0)
    np.testing.assert_array_equal(case.law.inflection([0.6, 1.4]), [c, 0.0])


@each(DISCRETE)
def test_marginals_of_whole_numbers(case: Case) -> None:
    """They fall from the start for shape <= 1; beyond, they rise up to the inflection and fall after it."""
    rate, n = 0.02, np.arange(1.0, 200.0)
    steps = np.diff(case.law.pdf(n, rate))
    inflection = float(case.law.inflection(rate))
    assert bool(case.law.is_concave(100.0, rate)) == bool(np.all(steps <= 0.0))
    assert np.all(steps[n[:-1] > inflection + 1.0] <= 0.0)
    assert np.all(steps[n[1:] < inflection] > 0.0)


def sensitivity(law: hl.Law, x: NDArray[np.float64], rate: NDArray[np.float64]) -> float:
    """The largest |dG/drate| on a grid, by central differences."""
    h = 1e-5 * rate
    return float(np.max(np.abs(law.cdf(x, rate + h) - law.cdf(x, rate - h)) / (2.0 * h)))


@each([*CURVES, *BETAS, *DISCRETE])
def test_lipschitz_rate_bounds(case: Case) -> None:
    upper, low, high = 40.0, 0.05, 2.0
    bound = float(case.law.lipschitz_rate(upper, (low, high)))
    amounts = np.geomspace(1e-6, upper, 400)
    if case in BETAS:
        amounts = np.linspace(0.0, 1.0, 400) * float(np.asarray(case.law.shapes()["c"]))
    largest = sensitivity(case.law, amounts, np.geomspace(low, high, 120)[:, None])
    assert largest <= bound * (1.0 + 1e-7)
    assert np.isfinite(bound)


def test_lipschitz_rate_is_tight_where_it_can_be() -> None:
    """The paper's B for the exponential; attained by a Beta, and by an unbounded density at the lowest rate."""
    assert hl.Exponential().lipschitz_rate(40.0, (0.025, 2.0)) == 40.0
    grid, rates = np.geomspace(1e-5, 40.0, 4000), np.geomspace(0.05, 2.0, 40)[:, None]
    law = hl.Weibull(0.6)
    assert law.lipschitz_rate(40.0, (0.05, 2.0)) == pytest.approx(sensitivity(law, grid, rates), rel=1e-4)
    beta = hl.Beta(3.0)
    assert beta.lipschitz_rate(1.0, (0.3, 2.0)) == pytest.approx(
        sensitivity(beta, np.linspace(0.0, 1.0, 50), np.array([[0.3]])), rel=1e-8
    )
    both = np.array([float(law.lipschitz_rate(40.0, (0.05, 2.0))), 40.0])
    np.testing.assert_allclose(hl.Weibull((0.6, 1.0)).lipschitz_rate(40.0, (0.05, 2.0)), both)


@pytest.mark.parametrize("m", [1e-6, 1e-3, 0.05, 0.1, 1.0, 80.0, 1e4])
def test_lipschitz_mean_of_the_exponential_is_the_papers(m: float) -> None:
    """B^2 |g'(M)|, g(v) = 1/v - 1/(e^v - 1), with 50 digits; 1/6400 at M = 80."""
    with mp.workdps(50):
        v, b = mp.mpf(m), mp.mpf(40)
        slope = -1 / v**2 + mp.exp(v) / mp.expm1(v) ** 2
        expected = float(b**2 * abs(slope))
    assert hl.Exponential().lipschitz_mean(40.0, (0.01 * m / 40.0, m / 40.0)) == pytest.approx(expected, rel=1e-10)


@each(MODERATE)
def test_lipschitz_mean(case: Case) -> None:
    """The smallest |dmu/drate|, against differences of 50-digit means on another grid."""
    upper, low, high = 40.0, 0.025, 2.0
    found = float(case.law.lipschitz_mean(upper, (low, high)))
    rates = np.append(np.linspace(low, high, 12), high)
    slopes = []
    for rate in rates:
        h = 1e-5 * rate
        slopes.append((case.truncated_mean(rate + h, upper) - case.truncated_mean(rate - h, upper)) / (2.0 * h))
    smallest = float(np.min(np.abs(slopes)))
    assert found <= smallest * (1.0 + 1e-4) + 1e-7
    at_grid = np.abs(np.asarray(case.law._truncated_mean_slope(rates, upper)))  # type: ignore[attr-defined]  # scale
    np.testing.assert_allclose(at_grid, np.abs(slopes), rtol=1e-4, atol=1e-6)
    assert found <= np.min(at_grid) * (1.0 + 1e-9)


@each([*BETAS, *DISCRETE])
def test_lipschitz_mean_by_differences(case: Case) -> None:
    upper, low, high = (0.15, 0.5, 9.0) if case in BETAS else (40.0, 0.025, 0.5)
    found = float(case.law.lipschitz_mean(upper, (low, high)))
    rates = np.linspace(low, high, 25)
    h = 1e-5 * rates
    above, below = (np.array([case.truncated_mean(float(r), upper) for r in rates + d]) for d in (h, -h))
    smallest = float(np.min(np.abs(above - below) / (2.0 * h)))
    assert found == pytest.approx(smallest, rel=0.02)
    assert found <= smallest * (1.0 + 1e-4)


def test_constants_by_arm() -> None:
    law = hl.LogLogistic((0.8, 2.5))
    for arm, shape in enumerate((0.8, 2.5)):
        one = hl.LogLogistic(shape)
        for method in ("lipschitz_rate", "lipschitz_mean"):
            value = getattr(one, method)(40.0, (0.025, 2.0))
            assert value.shape == ()
            np.testing.assert_allclose(getattr(law, method)(40.0, (0.025, 2.0))[arm], value, rtol=1e-12)
    for other in (hl.Beta((1.0, 2.0)), hl.DiscreteWeibull((1.0, 2.0))):
        assert other.lipschitz_mean(0.9 if other.name == "beta" else 9.0, (0.5, 2.0)).shape == (2,)
        assert other.lipschitz_rate(9.0, (0.5, 2.0)).shape == (2,)
