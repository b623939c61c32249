"""The Burr family: S(x) = (1 + (rate x)^b)^-a, thresholds with power tails."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from headgate.laws.scale import ScaleLaw
from headgate.laws.shape import Floats, Shape
from headgate.laws.standard import Base, Standard


class BurrFamily(ScaleLaw):
    """Log S = -a log(1 + z^b), with density a b z^(b - 1) (1 + z^b)^(-a - 1): Burr's type XII. Concave iff b <= 1."""

    __slots__ = ()

    @property
    @abstractmethod
    def ab(self) -> tuple[float | Floats, float | Floats]:
        """The constants a and b."""

    def log_sf0(self, z: Floats) -> Floats:
        """Log of (1 + z^b)^-a, without overflow."""
        a, b = self.ab
        return -a * np.logaddexp(0.0, b * np.log(z))

    def log_pdf0(self, z: Floats) -> Floats:
        """Log of a b z^(b - 1) (1 + z^b)^(-a - 1)."""
        a, b = self.ab
        log_z = np.log(z)
        power = np.where(np.asarray(b) == 1.0, 0.0, (b - 1.0) * log_z)
        return np.asarray(np.log(a * b) + power - (a + 1.0) * np.logaddexp(0.0, b * log_z))

    def quantile0(self, q: Floats) -> Floats:
        """Invert 1 - (1 + z^b)^-a = q."""
        a, b = self.ab
        return np.asarray(np.expm1(-np.log1p(-q) / a) ** (1.0 / np.asarray(b)))

    def truncated_mean0(self, z: Floats) -> Floats:
        """E[Z | Z <= z] at rate 1, by quadrature; if the mean is finite, from where it stops growing."""
        a, b = (np.asarray(v, dtype=np.float64) for v in self.ab)
        excess = np.where(a * b > 1.0, a * b - 1.0, 1e-3)  # E[Z; Z > z] falls as z^-excess
        return super().truncated_mean0(np.minimum(z, np.exp(np.minimum(45.0 / excess, 690.0))))

    def reach(self, z: Floats) -> Floats:
        """How far below log z to integrate: z * density falls as z^b once z^b < 1/a."""
        a, b = (np.asarray(v, dtype=np.float64) for v in self.ab)
        return np.maximum(np.log(z) + np.log1p(a) / b, 0.0) + 40.0 / (1.0 + b)

    def _standard(self) -> Standard:
        a, b = self.ab  # (rate x)^b = exp(b u)
        return Standard.of(Base.BURR, a, b)

    def peaks(self) -> tuple[Floats, Floats, Floats]:
        """Density's peak where z^b = (b - 1) / (ab + 1); z * density peaks where z^b = 1/a."""
        a, b = (np.asarray(v, dtype=np.float64) for v in self.ab)
        peak = (np.maximum(b - 1.0, 0.0) / (a * b + 1.0)) ** (1.0 / b)
        height = np.where(b < 1.0, np.inf, np.exp(self.log_pdf0(np.asarray(peak))))
        top = b * (a / (a + 1.0)) ** (a + 1.0)
        return np.asarray(peak), height, np.asarray(top)

    @property
    def boost_power(self) -> float | Floats:
        """lambda^-b times the density falls in lambda, so s = (lambda'/lambda)^b."""
        return self.ab[1]


@final
@dataclass(frozen=True, slots=True)
class Lomax(BurrFamily):
    """G(x, rate) = 1 - (1 + rate x)^-shape: an exponential law whose rate is Gamma(shape) from round to round. Concave.

    Its mean is finite for shape > 1 alone: 1 / (rate (shape - 1)).
    """

    shape: ArrayLike = 1.0
    name: ClassVar[str] = "lomax"
    free: ClassVar[Shape | None] = Shape(least=0.05, most=50.0, start=2.0, variance=0.5)

    @property
    def ab(self) -> tuple[Floats, float]:
        """The constants a and b."""
        return np.asarray(self.shape), 1.0


@final
@dataclass(frozen=True, slots=True)
class LogLogistic(BurrFamily):
    """G(x, rate) = (rate x)^shape / (1 + (rate x)^shape): median 1/rate. Concave for shape <= 1."""

    shape: ArrayLike = 1.0
    name: ClassVar[str] = "log-logistic"
    free: ClassVar[Shape | None] = Shape(least=0.1, most=50.0, start=1.5, variance=0.15)

    @property
    def ab(self) -> tuple[float, Floats]:
        """The constants a and b."""
        return 1.0, np.asarray(self.shape)
