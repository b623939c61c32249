"""Scale laws: G(x, rate) = F0(rate * x), so that everything follows from one law at rate 1."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from headgate.laws.base import Law, RateRange
from headgate.laws.roots import bracketed_root
from headgate.laws.shape import Floats
from headgate.laws.tabulated import tabulate

if TYPE_CHECKING:
    from headgate.laws.standard import Standard

# Gauss and Legendre on 128 panels of [0, 1].
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_POINTS = ((np.arange(128)[:, None] + (1.0 + _NODES) / 2.0) / 128.0).ravel()
_WEIGHTS = np.tile(_WEIGHTS / 256.0, 128)
_MOST = 512  # means that are taken at once, where each takes 2048 points


class ScaleLaw(Law):
    """A law that is given by `log_sf0` and `log_pdf0` at rate 1; the rest is derived.

    A subclass overrides `cdf0`, `quantile0`, `truncated_mean0`, `peaks` and `_standard` where it has a closed form. All
    of them are called with floating-point warnings off: they may divide by 0 and overflow on the way to the limit.
    """

    __slots__ = ()

    @abstractmethod
    def log_sf0(self, z: Floats) -> Floats:
        """log P(Z > z) at rate 1, for z >= 0."""

    @abstractmethod
    def log_pdf0(self, z: Floats) -> Floats:
        """Log density at rate 1, for z >= 0."""

    def support0(self) -> tuple[float, float]:
        """Return the ends of the thresholds at rate 1: there the curve begins and ends. (0, infinity) by default."""
        return 0.0, np.inf

    def cdf0(self, z: Floats) -> Floats:
        """P(Z <= z) at rate 1."""
        return -np.expm1(self.log_sf0(z))

    def _cdf(self, x: Floats, rate: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return self.cdf0(rate * np.maximum(x, 0.0))

    def _log_sf(self, x: Floats, rate: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return self.log_sf0(rate * np.maximum(x, 0.0))

    def _log_pdf(self, x: Floats, rate: Floats) -> Floats:
        with np.errstate(all="ignore"):
            z = rate * np.maximum(x, 0.0)
            density = np.log(rate) + self.log_pdf0(z)
        return np.where((x < 0.0) | (z == np.inf), -np.inf, density)

    def _quantile(self, q: Floats, rate: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(self.quantile0(q) / rate)

    def _rate_of_quantile(self, x: Floats, q: Floats) -> Floats:
        return self._quantile(q, x)

    def quantile0(self, q: Floats) -> Floats:
        """Invert F0 by a bracketed root search in log z."""
        shape = np.broadcast_shapes(q.shape, self.arm_axis())
        log_x = bracketed_root(
            lambda log_z: self.cdf0(np.exp(log_z)) - q,
            np.full(shape, -690.0),
            np.full(shape, 690.0),
        )
        return np.where(q <= 0.0, 0.0, np.where(q >= 1.0, np.inf, np.exp(log_x)))

    def _truncated_mean(self, rate: Floats, upper: Floats) -> Floats:
        with np.errstate(all="ignore"):
            z = rate * upper
            return np.where(z > 0.0, self.truncated_mean0(z) / rate, 0.0)

    def truncated_mean0(self, z: Floats) -> Floats:
        """E[Z | Z <= z] at rate 1, by quadrature in s = log(z / Z), scaled so that nothing underflows."""
        if z.ndim > 0 and z.shape[0] > 1 and z.size > _MOST:
            halves = np.array_split(z, 2)
            return np.concatenate([self.truncated_mean0(half) for half in halves])
        reach = self.reach(z)
        lead = (-1, *(1,) * max(np.ndim(z), len(self.arm_axis())))
        s = reach * _POINTS.reshape(lead)
        log_mass = self.log_pdf0(z * np.exp(-s)) + np.log(z) - s
        top = np.max(log_mass, axis=0)
        mass = reach * _WEIGHTS.reshape(lead) * np.exp(log_mass - top)
        log_total = np.log(self.cdf0(z))
        total = np.where(log_total > -600.0, np.exp(log_total - top), np.sum(mass, axis=0))
        return np.asarray(z * np.sum(mass * np.exp(-s), axis=0) / total)

    def reach(self, z: Floats) -> Floats:
        """How far below log z to integrate: beyond, Z < 1e-17 of both z and the law's own scale."""
        return 40.0 + np.maximum(np.log(z), 0.0)

    def _standard(self) -> Standard:
        return tabulate(self).standard()

    def peaks(self) -> tuple[Floats, Floats, Floats]:
        """Return where the density at rate 1 peaks, its height there, and the largest z * density."""
        return tabulate(self).peaks

    def _inflection(self, rate: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(self.peaks()[0] / rate)

    @property
    def boost_power(self) -> float | Floats:
        """The power of lambda'/lambda in the boost.

        d log g / d log rate = 1 + x g'/g, at most 1 where G is concave: so the power 1 boosts
        monotonically there for every scale law. Laws that admit it on all of [0, B] give a larger power.
        """
        return 1.0

    def _boost(self, rate: Floats, boosted: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray((boosted / rate) ** self.boost_power)

    def _lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats:
        # |dG/drate| = x f0(rate x): upper * sup f0 (the paper's B for the exponential) or, where the density is
        # unbounded, sup(z f0(z)) / lowest rate.
        with np.errstate(all="ignore"):
            _, height, log_height = self.peaks()
        return np.where(np.isfinite(height), upper * height, log_height / rate_range[0])

    def _truncated_mean_slope(self, rate: Floats, upper: float) -> Floats:
        """dmu/drate, negative: mu = m0(z) / rate with m0' = (z - m0) f0 / F0 at z = rate * upper."""
        z = rate * upper
        with np.errstate(all="ignore"):
            mean = self.truncated_mean0(z)
            hazard = z * np.exp(self.log_pdf0(z) - np.log(self.cdf0(z)))
        return np.asarray(((z - mean) * hazard - mean) / np.square(rate))

    def _lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        # The ends are evaluated exactly (the exponential has its minimum there); between them, a fine grid.
        slopes = self._truncated_mean_slope(np.geomspace(*rate_range, 129)[:, None], upper)
        return np.asarray(np.min(np.abs(slopes), axis=0)).reshape(self.arm_axis())
