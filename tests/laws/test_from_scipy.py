"""`from_scipy`: what it reads, what it refuses, and what it adds to scipy."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from headgate.errors import ParameterError, UnsupportedError
from headgate.laws import Exponential, FromScipy, LogLogistic, LogNormal, Weibull, from_dict, from_scipy

# Name, parameters, and the density's peak at rate 1 in closed form.
PEAKS: list[tuple[str, tuple[float, ...], float]] = [
    ("invgauss", (0.5,), 0.5 * (np.sqrt(1 + 2.25 * 0.25) - 0.75)),
    ("invgamma", (3.0,), 0.25),
    ("genextreme", (-0.5, 2.0, 1.0), 2.0 * (1.5**-0.5)),
    ("burr12", (2.0, 1.5), np.sqrt(1.0 / 4.0)),
    ("fisk", (2.0,), np.sqrt(1.0 / 3.0)),
    ("lognorm", (0.05,), np.exp(-0.0025)),
    ("triang", (0.4,), 0.4),
    ("beta", (2.0, 3.0), 1.0 / 3.0),
    ("levy", (), 1.0 / 3.0),
    ("pareto", (2.0,), 1.0),
    ("halfcauchy", (), 0.0),
    ("uniform", (), 0.0),
    ("expon", (), 0.0),
    ("gengamma", (0.5, 0.7), 0.0),
]


@pytest.mark.parametrize(("name", "parameters", "peak"), PEAKS, ids=[p[0] for p in PEAKS])
def test_peaks(name: str, parameters: tuple[float, ...], peak: float) -> None:
    law = from_scipy(name, *parameters)
    assert float(law.inflection(0.5)) == pytest.approx(2.0 * peak, rel=1e-6)
    _, height, top = law.peaks()
    frozen = getattr(stats, name)(*parameters)
    z = np.append(np.geomspace(1e-8, 50.0, 20_000), max(peak, 1e-8))
    assert np.max(frozen.pdf(z)) <= height * (1.0 + 1e-9)
    assert np.max(z * frozen.pdf(z)) <= top * (1.0 + 1e-9)
    assert top <= np.max(z * frozen.pdf(z)) * 1.001
    if peak > 0.0:
        assert height <= np.max(frozen.pdf(z)) * (1.0 + 1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: from_scipy("weibull_min", 1.6),
        lambda: from_scipy("weibull_min", c=1.6),
        lambda: from_scipy(stats.weibull_min, 1.6),
        lambda: from_scipy(stats.weibull_min, c=1.6, scale=1.0),
        lambda: from_scipy(stats.weibull_min(1.6)),
        lambda: from_scipy(stats.weibull_min(c=1.6, loc=0.0)),
        lambda: FromScipy("weibull_min", (1.6, 0.0, 1.0)),
        lambda: from_dict({"name": "scipy", "distribution": "weibull_min", "parameters": [1.6, 0.0, 1.0]}),
    ],
)
def test_every_way_to_name_a_distribution(make: Any) -> None:
    law = make()
    assert law == from_scipy("weibull_min", 1.6)
    assert hash(law) == hash(from_scipy("weibull_min", 1.6))
    assert law.arm_axis() == ()


def test_equals_the_law_it_wraps() -> None:
    """With scale and location: G(x, rate) = F(rate x)."""
    x, rate = np.geomspace(1e-3, 20.0, 30), 0.7
    for wrapped, known in (
        (from_scipy("weibull_min", 1.6), Weibull(1.6)),
        (from_scipy("fisk", 2.5), LogLogistic(2.5)),
        (from_scipy("lognorm", 0.4), LogNormal(0.4)),
        (from_scipy(stats.expon()), Exponential()),
    ):
        np.testing.assert_allclose(wrapped.log_sf(x, rate), known.log_sf(x, rate), rtol=1e-11)
        np.testing.assert_allclose(wrapped.log_pdf(x, rate), known.log_pdf(x, rate), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(wrapped.truncated_mean(rate, x), known.truncated_mean(rate, x), rtol=1e-11)
        np.testing.assert_allclose(wrapped.inflection(rate), known.inflection(rate), rtol=1e-6)
        np.testing.assert_allclose(wrapped.lipschitz_rate(9.0, (0.1, 2)), known.lipschitz_rate(9.0, (0.1, 2)))
        np.testing.assert_allclose(wrapped.lipschitz_mean(9.0, (0.1, 2)), known.lipschitz_mean(9.0, (0.1, 2)))
    shifted = from_scipy("expon", loc=1.0, scale=2.0)
    assert shifted.cdf(4.0, 0.5) == pytest.approx(-np.expm1(-0.5))
    assert shifted.cdf(1.9, 0.5) == 0.0


def test_tails_where_scipy_gives_up() -> None:
    """scipy.stats.fisk's survival is 1 - cdf, and 0 from 1e-17 on; ours is integrated from its density."""
    x = np.geomspace(1e3, 1e30, 10)
    with np.errstate(divide="ignore"):
        assert np.all(np.isneginf(stats.fisk(4.0).logsf(x[2:])))
    np.testing.assert_allclose(from_scipy("fisk", 4.0).log_sf(x, 1.0), -4.0 * np.log(x), rtol=1e-10)
    halfcauchy = [float(mp.log(2 * mp.acot(v) / mp.pi)) for v in x]
    np.testing.assert_allclose(from_scipy("halfcauchy").log_sf(x, 1.0), halfcauchy, rtol=1e-12)


def test_truncated_means_with_kinks_and_ends() -> None:
    """A density with a corner or a jump, bounded support, and support that starts above 0."""
    uniform, triangle, pareto = from_scipy("uniform"), from_scipy("triang", 0.4), from_scipy("pareto", 2.0)
    upper = np.array([1e-8, 0.2, 0.4, 0.7, 1.0, 3.0])
    np.testing.assert_allclose(uniform.truncated_mean(1.0, upper), np.minimum(upper, 1.0) / 2.0, rtol=1e-12)
    u = 0.7
    moment = 0.4**3 / 3 / 0.2 + ((u**2 - 0.4**2) / 2 - (u**3 - 0.4**3) / 3) / 0.3
    np.testing.assert_allclose(triangle.truncated_mean(1.0, u), moment / (1 - 0.3**2 / 0.6), rtol=1e-11)
    np.testing.assert_allclose(triangle.truncated_mean(1.0, upper[:3]), upper[:3] * 2.0 / 3.0, rtol=1e-11)
    np.testing.assert_allclose(pareto.truncated_mean(1.0, [0.5, 1.0]), [0.5, 1.0], rtol=1e-12)
    np.testing.assert_allclose(pareto.truncated_mean(1.0, 4.0), 2 * (1 - 0.25) / (1 - 1 / 16), rtol=1e-12)
    for law in (uniform, triangle, pareto, from_scipy("loguniform", 1.0, 10.0)):
        rate = law.rate_of_truncated_mean(0.3, 1.5)
        assert law.truncated_mean(rate, 1.5) == pytest.approx(0.3, rel=1e-12)
    with mp.workdps(30):
        mean = float(mp.quad(lambda v: 2 * v / mp.pi / (1 + v**2), [0, 1, 10, 1e8]) / (2 * mp.atan(1e8) / mp.pi))
    np.testing.assert_allclose(from_scipy("halfcauchy").truncated_mean(1.0, 1e8), mean, rtol=1e-11)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: from_scipy("norm"), ["norm", "positive", "-inf"]),
        (lambda: from_scipy("expon", loc=-1.0), ["expon", "positive", "-1"]),
        (lambda: from_scipy("no_such_law", 2.0), ["no_such_law", "continuous"]),
        (lambda: from_scipy("poisson", 2.0), ["poisson", "continuous"]),
        (lambda: from_scipy(stats.poisson(2.0)), ["poisson", "continuous"]),
        (lambda: from_scipy("kstest"), ["kstest", "continuous"]),
        (lambda: from_scipy(3.0), ["3.0"]),
        (lambda: from_scipy("gamma"), ["gamma", "missing"]),
        (lambda: from_scipy("gamma", wrong=2.0), ["gamma", "wrong"]),
        (lambda: from_scipy("gamma", -2.0), ["gamma", "-2.0", "does not allow"]),
        (lambda: from_scipy("gamma", float("nan")), ["gamma", "nan"]),
        (lambda: from_scipy("gamma", [1.0, 2.0]), ["gamma", "[1.0, 2.0]"]),  # type: ignore[arg-type]  # on purpose
        (lambda: from_scipy(stats.gamma(2.0), 3.0), ["frozen", "3.0"]),
        (lambda: FromScipy("gamma", ()), ["gamma", "()"]),
        (lambda: FromScipy("gamma", ("x",)), ["numbers", "x"]),  # type: ignore[arg-type]  # on purpose
        (lambda: from_dict({"name": "scipy", "distribution": 3, "parameters": []}), ["3"]),
    ],
)
def test_refusals(make: Any, words: list[str]) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_several_peaks() -> None:
    """Its cdf and quantiles are fine; what needs one peak says so."""
    law = from_scipy("arcsine")
    assert law.cdf(0.5, 1.0) == pytest.approx(0.5)
    for ask in (law.standard, lambda: law.inflection(1.0), lambda: law.lipschitz_rate(1.0, (0.1, 1.0))):
        with pytest.raises(UnsupportedError, match=r"arcsine.*more than one peak"):
            ask()
