"""The laws again, in mpmath with 50 digits: textbook formulas that share nothing with `headgate.laws`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import mpmath as mp
import pytest

from headgate import laws as hl

Number: TypeAlias = Any  # an mpmath mpf; mpmath has no stubs
Curve: TypeAlias = Callable[[Number, Number], Number]
DIGITS = 50


@dataclass(frozen=True)
class Case:
    """A law, and the same law by hand: each curve takes (x, rate)."""

    law: hl.Law
    log_sf: Curve
    log_pdf: Curve
    partial_mean: Curve  # E[X; X <= x]

    def truncated_mean(self, rate: float, upper: float) -> float:
        with mp.workdps(DIGITS):
            below = -mp.expm1(self.log_sf(mp.mpf(upper), mp.mpf(rate)))
            return float(self.partial_mean(mp.mpf(upper), mp.mpf(rate)) / below)

    def __str__(self) -> str:
        shapes = "_".join(str(v) for v in self.law.shapes().values())
        return f"{self.law.name}_{shapes}".rstrip("_")


def _scale(log_sf0: Any, log_pdf0: Any, partial0: Any, law: hl.Law) -> Case:
    return Case(
        law,
        lambda x, r: log_sf0(r * x),
        lambda x, r: mp.log(r) + log_pdf0(r * x),
        lambda x, r: partial0(r * x) / r,
    )


def _log_sf_of(cdf: Number, sf: Callable[[], Number]) -> Number:
    """Take the tail that keeps its digits."""
    return mp.log1p(-cdf) if cdf < 0.5 else mp.log(sf())


def generalised_gamma(law: hl.Law, a: float, b: float, c: float) -> Case:
    """c Z^b ~ Gamma(a)."""
    a, b, c = mp.mpf(a), mp.mpf(b), mp.mpf(c)

    def log_sf(z: Number) -> Number:
        w = c * z**b
        if a == 1:
            return -w
        return _log_sf_of(
            mp.gammainc(a, 0, w, regularized=True) if w < 10 * (a + 10) else mp.mpf(1),
            lambda: mp.gammainc(a, w, mp.inf, regularized=True),
        )

    def log_pdf(z: Number) -> Number:
        return mp.log(b) + a * mp.log(c) + (a * b - 1) * mp.log(z) - c * z**b - mp.loggamma(a)

    def partial(z: Number) -> Number:
        w = c * z**b
        top = a + 1 / b
        whole = mp.gamma(top) if w > 20 * (top + 20) else mp.gammainc(top, 0, w)
        return whole / (mp.gamma(a) * c ** (1 / b))

    return _scale(log_sf, log_pdf, partial, law)


def burr(law: hl.Law, a: float, b: float) -> Case:
    """S(z) = (1 + z^b)^-a."""
    a, b = mp.mpf(a), mp.mpf(b)

    def partial(z: Number) -> Number:
        series = mp.hyp2f1(a + 1, 1 + 1 / b, 2 + 1 / b, -(z**b))
        return a * b / (b + 1) * z ** (b + 1) * series

    return _scale(
        lambda z: -a * mp.log1p(z**b),
        lambda z: mp.log(a * b) + (b - 1) * mp.log(z) - (a + 1) * mp.log1p(z**b),
        partial,
        law,
    )


def _phi(t: Number) -> Number:
    return mp.erfc(-t / mp.sqrt(2)) / 2


def log_normal(sigma: float) -> Case:
    s = mp.mpf(sigma)

    def log_sf(z: Number) -> Number:
        t = mp.log(z) / s
        return _log_sf_of(_phi(t), lambda: _phi(-t))

    return _scale(
        log_sf,
        lambda z: -((mp.log(z) / s) ** 2) / 2 - mp.log(z) - mp.log(s) - mp.log(2 * mp.pi) / 2,
        lambda z: mp.exp(s**2 / 2) * _phi(mp.log(z) / s - s),
        hl.LogNormal(sigma=sigma),
    )


def beta(c: float) -> Case:
    def partial(x: Number, r: Number) -> Number:
        with mp.workdps(90):  # it cancels for small x
            t = 1 - x / c
            return c * ((1 - t**r) - r / (r + 1) * (1 - t ** (r + 1)))

    return Case(
        hl.Beta(c=c),
        lambda x, r: r * mp.log1p(-x / c),
        lambda x, r: mp.log(r / mp.mpf(c)) + (r - 1) * mp.log1p(-x / c),
        partial,
    )


def inverse_gaussian(mu: float) -> Case:
    """scipy's invgauss(mu), whose shape parameter is 1."""
    m = mp.mpf(mu)

    def cdf(z: Number) -> Number:
        r = mp.sqrt(1 / z)
        return _phi(r * (z / m - 1)) + mp.exp(2 / m) * _phi(-r * (z / m + 1))

    def sf(z: Number) -> Number:
        r = mp.sqrt(1 / z)
        return _phi(-r * (z / m - 1)) - mp.exp(2 / m) * _phi(-r * (z / m + 1))

    def partial(z: Number) -> Number:
        r = mp.sqrt(1 / z)
        return m * (_phi(r * (z / m - 1)) - mp.exp(2 / m) * _phi(-r * (z / m + 1)))

    return _scale(
        lambda z: _log_sf_of(cdf(z), lambda: sf(z)),
        lambda z: -mp.log(2 * mp.pi * z**3) / 2 - (z - m) ** 2 / (2 * m**2 * z),
        partial,
        hl.from_scipy("invgauss", mu),
    )


def discrete_weibull(shape: float) -> Case:
    k = mp.mpf(shape)

    def log_pdf(n: Number, r: Number) -> Number:
        below = (r * (n - 1)) ** k if n > 1 else mp.mpf(0)
        return -below + mp.log(-mp.expm1(below - (r * n) ** k))

    def partial(n: Number, r: Number) -> Number:
        return mp.fsum(j * mp.exp(log_pdf(mp.mpf(j), r)) for j in range(1, int(n) + 1))

    return Case(hl.DiscreteWeibull(shape), lambda n, r: -((r * n) ** k), log_pdf, partial)


def scipy_fisk(shape: float) -> Case:
    return burr(hl.from_scipy("fisk", shape), 1.0, shape)


#: Of every law that the package brings, by its name.
CASES: dict[str, list[Case]] = {
    "exponential": [generalised_gamma(hl.Exponential(), 1, 1, 1)],
    "weibull": [generalised_gamma(hl.Weibull(k), 1, k, 1) for k in (0.3, 0.8, 1.6, 5.0)],
    "gamma": [generalised_gamma(hl.Gamma(k), k, 1, 1) for k in (0.1, 0.7, 2.5, 40.0, 300.0)],
    "half-normal": [generalised_gamma(hl.HalfNormal(), 0.5, 2, 0.5)],
    "rayleigh": [generalised_gamma(hl.Rayleigh(), 1, 2, 0.5)],
    "maxwell": [generalised_gamma(hl.Maxwell(), 1.5, 2, 0.5)],
    "nakagami": [generalised_gamma(hl.Nakagami(k), k, 2, k) for k in (0.2, 0.5, 3.0, 60.0)],
    "lomax": [burr(hl.Lomax(k), k, 1) for k in (0.1, 0.7, 1.0, 3.0, 20.0, 200.0)],
    "log-logistic": [burr(hl.LogLogistic(k), 1, k) for k in (0.1, 0.8, 1.0, 1.01, 2.5, 20.0, 100.0)],
    "log-normal": [log_normal(s) for s in (0.05, 0.4, 1.0, 2.0, 5.0)],
    "beta": [beta(c) for c in (0.2, 3.0)],
    "scipy": [inverse_gaussian(0.5), inverse_gaussian(3.0), scipy_fisk(0.7), scipy_fisk(4.0)],
    "discrete-weibull": [discrete_weibull(k) for k in (0.3, 1.0, 1.6, 5.0)],
}
ALL = [case for cases in CASES.values() for case in cases]
BETAS, WRAPPED, LOG_NORMALS = CASES["beta"], CASES["scipy"], CASES["log-normal"]
BURRS = [*CASES["lomax"], *CASES["log-logistic"]]
DISCRETE = [case for case in ALL if case.law.integer]
CONTINUOUS = [case for case in ALL if not case.law.integer and case not in WRAPPED]
SCALE = [case for case in CONTINUOUS if isinstance(case.law, hl.ScaleLaw)]

#: The laws that the package brings: a test may have registered others. Curves by points are no formula to compare with.
BUILT_IN = [law for law in hl.LAWS.values() if law.__module__.startswith("headgate.") and law is not hl.Points]
#: Those of them that have a shape, and may learn it.
SHAPED: list[Any] = [law for law in BUILT_IN if law.free is not None and law.free.learnable]
SHAPED_SCALE: list[Any] = [law for law in SHAPED if issubclass(law, hl.ScaleLaw)]


def each(cases: list[Case]) -> pytest.MarkDecorator:
    """Run a test for each case, under its name."""
    return pytest.mark.parametrize("case", cases, ids=str)
