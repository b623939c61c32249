"""Scale laws: G(x, rate) = F0(rate * x), so that everything follows from one law at rate 1."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from headgate.laws.base import Floats, Law, RateRange
from headgate.laws.roots import bracketed_root
from headgate.laws.tabulated import tabulate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from headgate.laws.standard import Standard

# Gauss and Legendre on 128 panels of [0, 1].
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_POINTS = ((np.arange(128)[:, None] + (1.0 + _NODES) / 2.0) / 128.0).ravel()
_WEIGHTS = np.tile(_WEIGHTS / 256.0, 128)
_MOST = 512  # means taken at once, for each 2048 points


class ScaleLaw(Law):
    """A law that is given by `log_sf0` and `log_pdf0` at rate 1; the rest is derived.

    A subclass overrides `quantile0`, `truncated_mean0`, `peaks` and `standard` where it has a closed form.
    """

    __slots__ = ()

    @abstractmethod
    def log_sf0(self, z: Floats) -> Floats:
        """log P(Z > z) at rate 1, for z >= 0."""

    @abstractmethod
    def log_pdf0(self, z: Floats) -> Floats:
        """Log density at rate 1, for z >= 0."""

    def cdf0(self, z: Floats) -> Floats:
        """P(Z <= z) at rate 1."""
        return -np.expm1(self.log_sf0(z))

    def cdf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """G(x, rate) = P(X <= x)."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return self.cdf0(np.multiply(rate, np.maximum(x, 0.0)))

    def log_sf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """log P(X > x), exact in both tails."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return self.log_sf0(np.multiply(rate, np.maximum(x, 0.0)))

    def log_pdf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """Log density at x."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            z = np.multiply(rate, np.maximum(x, 0.0))
            density = np.log(rate) + self.log_pdf0(z)
        return np.where((np.asarray(x) < 0.0) | (z == np.inf), -np.inf, density)

    def quantile(self, q: ArrayLike, rate: ArrayLike) -> Floats:
        """Return the smallest x with P(X <= x) >= q."""
        return np.asarray(self.quantile0(np.asarray(q, dtype=np.float64)) / np.asarray(rate))

    def quantile0(self, q: Floats) -> Floats:
        """Invert F0 by a bracketed root search in log z."""
        shape = np.broadcast_shapes(q.shape, self.arm_axis())
        found = bracketed_root(
            lambda log_z: self.cdf0(np.exp(log_z)) - q,
            np.full(shape, -690.0),
            np.full(shape, 690.0),
        )
        return np.where(q <= 0.0, 0.0, np.where(q >= 1.0, np.inf, np.exp(found)))

    def truncated_mean(self, rate: ArrayLike, upper: ArrayLike) -> Floats:
        """E[X | X <= upper], the paper's mu(rate); 0 for upper = 0."""
        rate = np.asarray(rate, dtype=np.float64)
        z = np.multiply(rate, upper, dtype=np.float64)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
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

    def standard(self) -> Standard:
        """Tabulate a law that is none of the closed bases."""
        return tabulate(self).standard()

    def peaks(self) -> tuple[Floats, Floats, Floats]:
        """Return where the density at rate 1 peaks, its height there, and the largest z * density."""
        return tabulate(self).peaks

    def inflection(self, rate: ArrayLike) -> Floats:
        """Where G turns from convex to concave: the peak of the density; 0 if G is concave."""
        return np.asarray(self.peaks()[0] / np.asarray(rate, dtype=np.float64))

    @property
    def boost_power(self) -> float | Floats:
        """The power of lambda'/lambda in the boost.

        d log g / d log rate = 1 + x g'/g, at most 1 where G is concave: so the power 1 boosts
        monotonically there for every scale law. Laws that admit it on all of [0, B] give a larger power.
        """
        return 1.0

    def boost(self, rate: ArrayLike, boosted: ArrayLike) -> Floats:
        """Return the paper's s(lambda, lambda') = (lambda'/lambda)^power."""
        with np.errstate(over="ignore"):
            return np.asarray(np.divide(boosted, rate) ** self.boost_power)

    def lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats:
        """Bound |dG/drate| = x f0(rate x) for x <= upper: the paper's L_lambda.

        That is upper * sup f0 (the paper's B for the exponential) or, where the density is unbounded,
        sup(z f0(z)) / lowest rate.
        """
        _, height, log_height = self.peaks()
        return np.where(np.isfinite(height), upper * height, log_height / rate_range[0])

    def truncated_mean_slope(self, rate: ArrayLike, upper: ArrayLike) -> Floats:
        """dmu/drate, negative: mu = m0(z) / rate with m0' = (z - m0) f0 / F0 at z = rate * upper."""
        z = np.multiply(rate, upper, dtype=np.float64)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            mean = self.truncated_mean0(z)
            hazard = z * np.exp(self.log_pdf0(z) - np.log(self.cdf0(z)))
        return np.asarray(((z - mean) * hazard - mean) / np.square(rate))

    def lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        """Return the smallest |dmu/drate| over the range, the paper's L_mu: mu^-1 is 1/L_mu-Lipschitz.

        Its ends are evaluated exactly (the exponential has its minimum there); between them, a fine grid.
        """
        grid = np.geomspace(*rate_range, 129)[:, None]
        slopes = self.truncated_mean_slope(grid, upper)
        return np.asarray(np.min(np.abs(slopes), axis=0)).reshape(self.arm_axis())
