"""The gamma family: S(x) = Q(a, c (rate x)^b), Q the upper incomplete gamma function. Seven laws of three constants."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from headgate.laws.base import RateRange
from headgate.laws.scale import ScaleLaw
from headgate.laws.shape import Floats, Shape
from headgate.laws.special import log_gammaincc
from headgate.laws.standard import Base, Standard


class GammaFamily(ScaleLaw):
    """(c Z^b) ~ Gamma(a) at rate 1, with density b c^a z^(ab - 1) exp(-c z^b) / Gamma(a). Concave iff a b <= 1.

    It is Stacy's generalised gamma law (1962); a law of the family says its constants.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def abc(self) -> tuple[float | Floats, float | Floats, float | Floats]:
        """The constants a, b and c."""

    def log_sf0(self, z: Floats) -> Floats:
        """Log Q(a, c z^b); as z -> 0 from P = (c z^b)^a / Gamma(a + 1), since z^b alone may underflow."""
        a, b, c = self.abc
        w = c * z**b
        small = w < 1e-18
        log_z = np.log(np.where(small, z, 0.0))
        leading = np.exp(a * (np.log(c) + b * log_z) - special.gammaln(a + 1.0))
        return np.where(small, np.log1p(-leading), log_gammaincc(a, w))

    def log_pdf0(self, z: Floats) -> Floats:
        """Log of b c^a z^(ab - 1) exp(-c z^b) / Gamma(a)."""
        a, b, c = self.abc
        constant = np.log(b) + a * np.log(c) - special.gammaln(a)
        return np.asarray(constant + special.xlogy(a * b - 1.0, z) - c * z**b)

    def quantile0(self, q: Floats) -> Floats:
        """Invert P(a, c z^b) = q."""
        a, b, c = self.abc
        return np.asarray((special.gammaincinv(a, q) / c) ** (1.0 / np.asarray(b)))

    def truncated_mean0(self, z: Floats) -> Floats:
        """E[Z; Z <= z] / F0(z), both incomplete gamma functions of w = c z^b.

        For w < a, where they may underflow, their ratio is taken in Kummer's series,
        P(a, w) = w^a e^-w M(1, a + 1, w) / Gamma(a + 1).
        """
        a, b, c = self.abc
        w, root = c * z**b, a + 1.0 / np.asarray(b)
        turn = np.maximum(a, 1.0)
        near, beyond = np.minimum(w, turn), np.maximum(w, turn)
        series = z * (a / root) * special.hyp1f1(1.0, root + 1.0, near) / special.hyp1f1(1.0, a + 1.0, near)
        moment = np.exp(special.gammaln(root) - special.gammaln(a) - np.log(c) / b)
        far = moment * special.gammainc(root, beyond) / special.gammainc(a, beyond)
        return np.where(w < turn, series, far)

    def _standard(self) -> Standard:
        a, b, c = self.abc  # c (rate x)^b = exp(b u) with u = log(rate x) + log(c) / b
        return Standard.of(Base.GAMMA, a, b, np.log(c) / b)

    def peaks(self) -> tuple[Floats, Floats, Floats]:
        """Density's peak where c z^b = a - 1/b; z * density peaks where c z^b = a."""
        a, b, c = (np.asarray(v, dtype=np.float64) for v in self.abc)
        inner = np.maximum(a - 1.0 / b, 0.0)
        peak = (inner / c) ** (1.0 / b)
        height = np.where(a * b < 1.0, np.inf, np.exp(self.log_pdf0(np.asarray(peak))))
        top = np.exp(np.log(b) - special.gammaln(a) + a * np.log(a) - a)
        return np.asarray(peak), height, np.asarray(top)

    @property
    def boost_power(self) -> float | Floats:
        """g(lambda) = lambda^(ab) in the paper's exponential form, so s = (lambda'/lambda)^(ab)."""
        a, b, _ = self.abc
        return a * b


@final
@dataclass(frozen=True, slots=True)
class Exponential(GammaFamily):
    """G(x, rate) = 1 - exp(-rate x): the paper's main example, concave, water-filled in closed form."""

    name: ClassVar[str] = "exponential"
    abc: ClassVar = (1.0, 1.0, 1.0)

    def log_sf0(self, z: Floats) -> Floats:
        """Log survival at rate 1."""
        return np.negative(z)

    def quantile0(self, q: Floats) -> Floats:
        """Invert 1 - exp(-z) = q."""
        return -np.log1p(-q)

    def _lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        # B^2 |g'(M)|, g'(v) = 1 / (4 sinh^2(v/2)) - 1 / v^2: |g'| falls, so M = rate_max B.
        v = rate_range[1] * upper
        if v < 0.1:  # where the closed form cancels
            return np.asarray(upper**2 * (1 / 12 - v**2 / 240 + v**4 / 6048 - v**6 / 172800))
        decay = np.exp(-v) / np.expm1(-v) ** 2  # 1 / (4 sinh^2(v/2)) without its overflow
        return np.asarray(upper**2 * (1.0 / v**2 - decay))


@final
@dataclass(frozen=True, slots=True)
class Weibull(GammaFamily):
    """G(x, rate) = 1 - exp(-(rate x)^shape): response times, waiting times.

    Its hazard is shape rate (rate x)^(shape - 1), falling for shape < 1, rising for shape > 1. Concave, and so exactly
    water-filled, only for shape <= 1.
    """

    shape: ArrayLike = 1.0
    name: ClassVar[str] = "weibull"
    free: ClassVar[Shape | None] = Shape(least=0.05, most=20.0, start=1.3, variance=0.1)

    @property
    def abc(self) -> tuple[float, Floats, float]:
        """The constants a, b and c."""
        return 1.0, np.asarray(self.shape), 1.0

    def log_sf0(self, z: Floats) -> Floats:
        """Log survival at rate 1."""
        return np.asarray(-(z ** np.asarray(self.shape)))

    def quantile0(self, q: Floats) -> Floats:
        """Invert 1 - exp(-z^shape) = q."""
        return np.asarray((-np.log1p(-q)) ** (1.0 / np.asarray(self.shape)))


@final
@dataclass(frozen=True, slots=True)
class Gamma(GammaFamily):
    """rate X ~ Gamma(shape), G(x, rate) = P(shape, rate x): the sum of `shape` exponential stages.

    The density is rate (rate x)^(shape - 1) exp(-rate x) / Gamma(shape). Concave for shape <= 1.
    """

    shape: ArrayLike = 1.0
    name: ClassVar[str] = "gamma"
    free: ClassVar[Shape | None] = Shape(least=0.02, most=100.0, start=1.5, variance=0.25)

    @property
    def abc(self) -> tuple[Floats, float, float]:
        """The constants a, b and c."""
        return np.asarray(self.shape), 1.0, 1.0


@final
@dataclass(frozen=True, slots=True)
class HalfNormal(GammaFamily):
    """rate X = |N(0, 1)|, G(x, rate) = erf(rate x / sqrt 2): the most probable threshold is 0. Concave."""

    name: ClassVar[str] = "half-normal"
    abc: ClassVar = (0.5, 2.0, 0.5)


@final
@dataclass(frozen=True, slots=True)
class Rayleigh(GammaFamily):
    """rate X is the length of a standard normal vector in the plane: G(x, rate) = 1 - exp(-(rate x)^2 / 2)."""

    name: ClassVar[str] = "rayleigh"
    abc: ClassVar = (1.0, 2.0, 0.5)


@final
@dataclass(frozen=True, slots=True)
class Maxwell(GammaFamily):
    """rate X is the length of a standard normal vector in space: G(x, rate) = P(3/2, (rate x)^2 / 2)."""

    name: ClassVar[str] = "maxwell"
    abc: ClassVar = (1.5, 2.0, 0.5)


@final
@dataclass(frozen=True, slots=True)
class Nakagami(GammaFamily):
    """(rate X)^2 ~ Gamma(shape) / shape, so that E[X^2] = 1 / rate^2: fading channels.

    G(x, rate) = P(shape, shape (rate x)^2). Concave for shape <= 1/2.
    """

    shape: ArrayLike = 1.0
    name: ClassVar[str] = "nakagami"
    free: ClassVar[Shape | None] = Shape(least=0.02, most=50.0, start=0.7, variance=0.25)

    @property
    def abc(self) -> tuple[Floats, float, Floats]:
        """The constants a, b and c."""
        shape = np.asarray(self.shape)
        return shape, 2.0, shape
