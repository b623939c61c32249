"""The discrete Weibull law: impressions before a click, calls before a sale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from headgate.laws.base import Law, RateRange
from headgate.laws.shape import Floats, Shape
from headgate.laws.standard import Base, Standard

_DIRECT = 4096  # terms summed one by one; beyond, Euler and Maclaurin
_BLOCK = 512  # terms that are summed at once


def _gap(lower: Floats, upper: Floats) -> Floats:
    """e^-lower - e^-upper without cancellation."""
    return -np.exp(-lower) * np.expm1(lower - upper)


def _gap_integral(rate: Floats, start: float, end: Floats, shape: Floats) -> Floats:
    """Integrate S(x) - S(end) over [start, end], S(x) = exp(-(rate x)^shape).

    While S(end) > 1/2 as a power series in z = (rate end)^shape, which keeps its digits as z -> 0;
    beyond, by the incomplete gamma function.
    """
    with np.errstate(over="ignore"):
        z, first = (rate * end) ** shape, (rate * start) ** shape
    share, near = start / end, np.minimum(z, 0.7)
    series, term = np.zeros_like(z), np.ones_like(z)
    for i in range(1, 24):  # 1 - S(x) = -sum of (-z (x/end)^k)^i / i!
        term = -term * near / i
        power = shape * i + 1.0
        series -= term * ((1.0 - share) - (1.0 - share**power) / power)
    whole = special.gamma(1.0 + 1.0 / shape) / rate
    area = whole * (special.gammainc(1.0 / shape, z) - special.gammainc(1.0 / shape, first))
    return np.where(z < 0.7, end * series, area - (end - start) * np.exp(-z))


@final
@dataclass(frozen=True, slots=True)
class DiscreteWeibull(Law):
    """P(X <= n) = 1 - exp(-(rate n)^shape) on n = 1, 2, ...: a Weibull threshold rounded up (Nakagawa and Osaki, 1975).

    Marginals fall, and greedy is exact, for shape <= 1.
    """

    shape: ArrayLike = 1.0
    name: ClassVar[str] = "discrete-weibull"
    integer: ClassVar[bool] = True
    free: ClassVar[Shape | None] = Shape(least=0.05, most=20.0, start=1.0, variance=0.1)

    def _log_sf(self, x: Floats, rate: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(-((rate * np.maximum(np.floor(x), 0.0)) ** np.asarray(self.shape)))

    def _log_pdf(self, x: Floats, rate: Floats) -> Floats:
        # log S(n - 1) + log(1 - S(n) / S(n - 1)), the exponents' difference uncancelled
        n, shape = x, np.asarray(self.shape)
        allowed = (n >= 1.0) & (n == np.floor(n)) & (n < np.inf)
        n = np.where(allowed, n, 1.0)
        with np.errstate(divide="ignore", over="ignore"):
            # step = (rate n)^k - (rate (n - 1))^k, through its logarithm: it may underflow
            log_step = shape * np.log(rate * n) + np.log(-np.expm1(shape * np.log1p(-1.0 / n)))
            step = np.exp(log_step)
            log_hit = np.where(step < 1e-17, log_step, np.log(-np.expm1(-step)))
        return np.where(allowed, self._log_sf(n - 1.0, rate) + log_hit, -np.inf)

    def _quantile(self, q: Floats, rate: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            n = np.ceil((-np.log1p(-q)) ** (1.0 / np.asarray(self.shape)) / rate)
        # Rounding may have missed by one.
        n = np.where((n < np.inf) & (self._cdf(n, rate) < q), n + 1.0, n)
        n = np.where((n < np.inf) & (self._cdf(n - 1.0, rate) >= q), n - 1.0, n)
        return np.asarray(np.maximum(n, 1.0))

    def _rate_of_quantile(self, x: Floats, q: Floats) -> Floats:
        return np.asarray((-np.log1p(-q)) ** (1.0 / np.asarray(self.shape)) / np.maximum(np.floor(x), 1.0))

    def _truncated_mean(self, rate: Floats, upper: Floats) -> Floats:
        # Sum over j < n of (S(j) - S(n)) / G(n), n = floor(upper); NaN for n < 1, where nothing can be.
        rate, n, shape = np.broadcast_arrays(rate, np.floor(upper), np.asarray(self.shape))
        possible = n >= 1.0
        n = np.where(possible, n, 1.0)
        # Below (rate n)^k = 1e-18 the law given X <= n no longer changes.
        least: Floats = np.maximum(rate, 1e-18 ** (1.0 / shape) / n)

        def exponent(x: Floats) -> Floats:
            with np.errstate(over="ignore"):
                return np.asarray(np.minimum((least * x) ** shape, 1e4))  # e^-10000 is 0

        z, total = exponent(n), np.zeros(n.shape)
        terms = int(min(_DIRECT, np.max(n, initial=1.0)))
        for start in range(0, terms, _BLOCK):
            j = np.arange(start, min(start + _BLOCK, terms)).reshape(-1, *(1,) * n.ndim)
            total += np.sum(_gap(exponent(np.minimum(j, n)), z), axis=0)
        if np.any(n > _DIRECT):
            # Euler and Maclaurin: the integral, half the first term, and the slopes at the ends.
            first = exponent(np.full(n.shape, float(_DIRECT)))
            slopes = shape * (first / _DIRECT * np.exp(-first) - z / n * np.exp(-z))
            rest = _gap_integral(least, float(_DIRECT), n, shape) + _gap(first, z) / 2.0 + slopes / 12.0
            total = total + np.where(n > _DIRECT, rest, 0.0)
        return np.where(possible, total / -np.expm1(-z), np.nan)

    def _inflection(self, rate: Floats) -> Floats:
        # Where the Weibull that it rounds turns concave.
        inner = np.maximum(1.0 - 1.0 / np.asarray(self.shape), 0.0)
        return np.asarray(inner ** (1.0 / np.asarray(self.shape)) / rate)

    def _boost(self, rate: Floats, boosted: Floats) -> Floats:
        # (lambda'/lambda)^k: P(X = n) / lambda^k integrates exp(-lambda^k t), which falls.
        with np.errstate(over="ignore"):
            return np.asarray((boosted / rate) ** np.asarray(self.shape))

    def _lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats:
        del upper  # |dG/drate| = k z e^-z / rate with z = (rate n)^k is at most k / (e rate)
        return np.asarray(self.shape) / (np.e * rate_range[0])

    def _lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        grid = np.geomspace(*rate_range, 129)[:, None]
        above, below = (self._truncated_mean(grid * (1.0 + d), np.asarray(upper)) for d in (1e-5, -1e-5))
        smallest = np.min(np.abs(above - below) / (2e-5 * grid), axis=0)
        return np.asarray(smallest).reshape(self.arm_axis())

    def _standard(self) -> Standard:
        return Standard.of(Base.GAMMA, 1.0, np.asarray(self.shape))  # the kernels floor the allocation
