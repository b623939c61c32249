"""The log-normal law: what times to solve, to answer or to sell often look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from headgate.laws.scale import ScaleLaw
from headgate.laws.shape import Floats, Shape
from headgate.laws.standard import Base, Standard

_LOG_ROOT_TAU = 0.5 * np.log(2.0 * np.pi)


@final
@dataclass(frozen=True, slots=True)
class LogNormal(ScaleLaw):
    """G(x, rate) = Phi(log(rate x) / sigma), so log(rate X) ~ N(0, sigma^2) and the median is 1/rate.

    Never concave near 0.

    Its boost is monotone where G is concave, x >= exp(-sigma^2) / rate, and nowhere else: as x -> 0 the
    density's sensitivity to the rate grows without bound, so no factor s(lambda, lambda') can offset it.
    """

    sigma: ArrayLike = 1.0
    name: ClassVar[str] = "log-normal"
    free: ClassVar[Shape | None] = Shape("sigma", least=0.02, most=10.0, start=0.8, variance=0.15)

    def log_sf0(self, z: Floats) -> Floats:
        """Log Phi(-log(z) / sigma)."""
        return np.asarray(special.log_ndtr(-np.log(z) / np.asarray(self.sigma)))

    def log_pdf0(self, z: Floats) -> Floats:
        """Log density at rate 1."""
        sigma, log_z = np.asarray(self.sigma), np.log(z)
        density = -log_z - np.log(sigma) - _LOG_ROOT_TAU - 0.5 * (log_z / sigma) ** 2
        return np.where(z > 0.0, density, -np.inf)

    def quantile0(self, q: Floats) -> Floats:
        """Invert Phi(log(z) / sigma) = q."""
        return np.exp(np.asarray(self.sigma) * special.ndtri(q))

    def truncated_mean0(self, z: Floats) -> Floats:
        """e^(sigma^2/2) Phi(l - sigma) / Phi(l), l = log(z) / sigma; below the median as a ratio of erfcx."""
        sigma = np.asarray(self.sigma)
        scaled = np.log(z) / sigma
        low, high = np.minimum(scaled, 0.0), np.maximum(scaled, 0.0)
        root2 = np.sqrt(2.0)
        below = z * special.erfcx((sigma - low) / root2) / special.erfcx(-low / root2)
        above = np.exp(0.5 * sigma**2 + special.log_ndtr(high - sigma) - special.log_ndtr(high))
        return np.asarray(np.where(scaled < 0.0, below, above))

    def _standard(self) -> Standard:
        return Standard.of(Base.NORMAL, 1.0, 1.0 / np.asarray(self.sigma))

    def peaks(self) -> tuple[Floats, Floats, Floats]:
        """Density's peak at exp(-sigma^2); z * density is the normal density of log z."""
        sigma = np.asarray(self.sigma)
        top = np.exp(-np.log(sigma) - _LOG_ROOT_TAU)
        return np.exp(-(sigma**2)), top * np.exp(0.5 * sigma**2), top
