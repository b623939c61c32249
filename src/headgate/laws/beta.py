"""The beta law on [0, c]: thresholds that cannot exceed a known amount."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from headgate.laws.base import Law, RateRange
from headgate.laws.shape import EndPoint, Floats, Shape
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
    free: ClassVar[Shape | None] = EndPoint("c")

    def _axis(self, x: Floats | float) -> Floats:
        """phi(x) = -log(1 - x/c); near c through c - x, which is exact."""
        c = np.asarray(self.c)
        x = np.clip(x, 0.0, c)
        with np.errstate(divide="ignore"):
            log = np.where(x < 0.5 * c, np.log1p(-np.minimum(x / c, 0.5)), np.log((c - x) / c))
        return np.asarray(-log)

    def _log_sf(self, x: Floats, rate: Floats) -> Floats:
        return np.negative(rate * self._axis(x))

    def _log_pdf(self, x: Floats, rate: Floats) -> Floats:
        c = np.asarray(self.c)
        with np.errstate(invalid="ignore"):  # 0 * infinity, where rate = 1 and x = c
            power = np.where(rate == 1.0, 0.0, (1.0 - rate) * self._axis(x))
        return np.where((x >= 0.0) & (x <= c), np.log(rate / c) + power, -np.inf)

    def _quantile(self, q: Floats, rate: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(-np.expm1(np.log1p(-q) / rate) * self.c)

    def _rate_of_quantile(self, x: Floats, q: Floats) -> Floats:
        return np.asarray(-np.log1p(-q) / self._axis(np.minimum(x, (1.0 - 1e-9) * np.asarray(self.c))))

    def _truncated_mean(self, rate: Floats, upper: Floats) -> Floats:
        # c E[1 - e^-Y | Y <= v], Y exponential and v = phi(upper): in closed form
        # (1 - r share / (e^(r v) - 1)) / (r + 1), by quadrature where that cancels.
        rate, share = np.broadcast_arrays(rate, np.clip(np.divide(upper, self.c), 0.0, 1.0))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            v = np.broadcast_to(self._axis(upper), share.shape)
            closed = (1.0 - rate * share / np.expm1(rate * v)) / (rate + 1.0)
        small = (rate + 1.0) * v < 1.0
        half = np.where(small, v, 0.5)[..., None] / 2.0
        y = half * (1.0 + _NODES)
        mass = half * _WEIGHTS * np.exp(-rate[..., None] * y)
        near = np.sum(mass * -np.expm1(-y), axis=-1) / np.sum(mass, axis=-1)
        return np.asarray(np.where(small, near, closed) * self.c)

    def _inflection(self, rate: Floats) -> Floats:
        return np.where(rate < 1.0, self.c, 0.0)  # convex up to c for rate < 1, concave from 0 on otherwise

    def _boost(self, rate: Floats, boosted: Floats) -> Floats:
        return np.asarray(boosted / rate)  # the density is lambda/c exp((lambda - 1) log(1 - x/c))

    def _lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats:
        phi = np.minimum(self._axis(upper), 1.0 / rate_range[0])  # |dG/drate| = phi exp(-rate phi)
        return np.asarray(phi * np.exp(-rate_range[0] * phi))

    def _lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        grid = np.geomspace(*rate_range, 513)[:, None]
        step = grid * np.array([1.0 - 1e-5, 1.0 + 1e-5])
        slope = np.diff(self._truncated_mean(step[..., None], np.asarray(upper)), axis=1)[:, 0] / (2e-5 * grid)
        return np.asarray(np.min(np.abs(slope), axis=0)).reshape(self.arm_axis())

    def _standard(self) -> Standard:
        return Standard.of(Base.GAMMA, cap=np.asarray(self.c))  # an exponential on the axis phi
