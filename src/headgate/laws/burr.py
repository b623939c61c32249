"""The Burr family: S(x) = (1 + (rate x)^b)^-a, thresholds with power tails."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from headgate.laws.base import Floats, shape_of
from headgate.laws.scale import ScaleLaw
from headgate.laws.standard import Base, Standard


class BurrFamily(ScaleLaw):
    """Log S = -a log(1 + z^b). Concave if and only if b <= 1."""

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
        with np.errstate(invalid="ignore"):
            power = np.where(np.asarray(b) == 1.0, 0.0, (b - 1.0) * log_z)
        return np.asarray(np.log(a * b) + power - (a + 1.0) * np.logaddexp(0.0, b * log_z))

    def quantile0(self, q: Floats) -> Floats:
        """Invert 1 - (1 + z^b)^-a = q."""
        a, b = self.ab
        with np.errstate(divide="ignore"):
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

    def standard(self) -> Standard:
        """(rate x)^b = exp(b u)."""
        a, b = self.ab
        return Standard.of(Base.BURR, a, b)

    def peaks(self) -> tuple[Floats, Floats, Floats]:
        """Density's peak where z^b = (b - 1) / (ab + 1); z * density peaks where z^b = 1/a."""
        a, b = (np.asarray(v, dtype=np.float64) for v in self.ab)
        peak = (np.maximum(b - 1.0, 0.0) / (a * b + 1.0)) ** (1.0 / b)
        with np.errstate(divide="ignore"):
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
    """S(x) = (1 + rate x)^-shape: an exponential whose rate varies from round to round. Concave."""

    shape: ArrayLike = 1.0
    name: ClassVar[str] = "lomax"

    def __post_init__(self) -> None:
        """Check the shape."""
        object.__setattr__(self, "shape", shape_of("shape", self.shape))

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

    def __post_init__(self) -> None:
        """Check the shape."""
        object.__setattr__(self, "shape", shape_of("shape", self.shape))

    @property
    def ab(self) -> tuple[float, Floats]:
        """The constants a and b."""
        return 1.0, np.asarray(self.shape)
