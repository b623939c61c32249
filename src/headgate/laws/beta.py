"""The beta law on [0, c]: thresholds that cannot exceed a known amount."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from headgate.laws.base import Floats, Law, RateRange, shape_of
from headgate.laws.standard import Base, Standard

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@final
@dataclass(frozen=True, slots=True)
class Beta(Law):
    """G(x, rate) = 1 - (1 - x/c)^rate on [0, c]: the minimum of `rate` uniform draws.

    It is the exponential law on the axis phi(x) = -log(1 - x/c). Concave for rate >= 1.
    """

    c: ArrayLike = 1.0
    name: ClassVar[str] = "beta"

    def __post_init__(self) -> None:
        """Check the largest threshold."""
        object.__setattr__(self, "c", shape_of("c", self.c))

    def _axis(self, x: ArrayLike) -> Floats:
        """phi(x) = -log(1 - x/c); near c through c - x, which is exact."""
        c = np.asarray(self.c)
        x = np.clip(x, 0.0, c)
        with np.errstate(divide="ignore"):
            log = np.where(x < 0.5 * c, np.log1p(-np.minimum(x / c, 0.5)), np.log((c - x) / c))
        return np.asarray(-log)

    def log_sf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """log P(X > x) = rate log(1 - x/c)."""
        return np.negative(np.multiply(rate, self._axis(x)))

    def log_pdf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """Log density at x."""
        x, c, rate = np.asarray(x, dtype=np.float64), np.asarray(self.c), np.asarray(rate, dtype=np.float64)
        with np.errstate(invalid="ignore"):  # 0 * infinity, where rate = 1 and x = c
            power = np.where(rate == 1.0, 0.0, (1.0 - rate) * self._axis(x))
        return np.where((x >= 0.0) & (x <= c), np.log(rate / c) + power, -np.inf)

    def quantile(self, q: ArrayLike, rate: ArrayLike) -> Floats:
        """Return the smallest x with P(X <= x) >= q."""
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(np.log1p(-np.asarray(q, dtype=np.float64)) / rate) * self.c)

    def truncated_mean(self, rate: ArrayLike, upper: ArrayLike) -> Floats:
        """E[X | X <= upper] = c E[1 - e^-Y | Y <= v], Y exponential and v = phi(upper).

        In closed form (1 - r share / (e^(r v) - 1)) / (r + 1); by quadrature where that cancels.
        """
        rate, share = np.broadcast_arrays(
            np.asarray(rate, dtype=np.float64), np.clip(np.divide(upper, self.c), 0.0, 1.0)
        )
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            v = np.broadcast_to(self._axis(upper), share.shape)
            closed = (1.0 - rate * share / np.expm1(rate * v)) / (rate + 1.0)
        small = (rate + 1.0) * v < 1.0
        half = np.where(small, v, 0.5)[..., None] / 2.0
        y = half * (1.0 + _NODES)
        mass = half * _WEIGHTS * np.exp(-rate[..., None] * y)
        near = np.sum(mass * -np.expm1(-y), axis=-1) / np.sum(mass, axis=-1)
        return np.asarray(np.where(small, near, closed) * self.c)

    def inflection(self, rate: ArrayLike) -> Floats:
        """Convex up to c for rate < 1, concave from 0 on otherwise."""
        return np.where(np.asarray(rate) < 1.0, self.c, 0.0)

    def boost(self, rate: ArrayLike, boosted: ArrayLike) -> Floats:
        """Return s = lambda'/lambda: the density is lambda/c exp((lambda - 1) log(1 - x/c))."""
        return np.divide(boosted, rate)

    def lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats:
        """Return the largest phi exp(-rate phi): |dG/drate| with phi = -log(1 - x/c)."""
        phi = np.minimum(self._axis(upper), 1.0 / rate_range[0])
        return phi * np.exp(-rate_range[0] * phi)

    def lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        """Return the smallest |dmu/drate| over a fine grid of the range, the paper's L_mu."""
        grid = np.geomspace(*rate_range, 513)[:, None]
        step = grid * np.array([1.0 - 1e-5, 1.0 + 1e-5])
        slope = np.diff(self.truncated_mean(step[..., None], upper), axis=1)[:, 0] / (2e-5 * grid)
        return np.asarray(np.min(np.abs(slope), axis=0)).reshape(self.arm_axis())

    def standard(self) -> Standard:
        """Return an exponential with phi(x) = -log(1 - x/c)."""
        return Standard.of(Base.GAMMA, cap=np.asarray(self.c))
