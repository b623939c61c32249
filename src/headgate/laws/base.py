"""What a law is: the interface, and everything that follows from `log_sf` and `log_pdf`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import ParameterError
from headgate.laws.learned import LEARN, ShapePrior, is_learned
from headgate.laws.roots import bracketed_root

if TYPE_CHECKING:
    from headgate.laws.standard import Standard

Floats: TypeAlias = NDArray[np.float64]
Shape: TypeAlias = float | tuple[float, ...]
RateRange: TypeAlias = tuple[float, float]

_REACH = 690.0  # rates, and rate * upper, are looked for between exp(-690) and exp(690)


def shape_of(name: str, value: ArrayLike, *, learnable: bool = False) -> Shape | str:
    """Return a positive shape as one float or a tuple of one per arm, so that laws compare and hash."""
    if learnable and is_learned(value):
        return LEARN
    array = checks.numbers(name, value, open_least=True)
    if array.ndim > 1 or array.size == 0:
        raise ParameterError(f"{name} must be one number or one per arm, got an array of shape {array.shape}")
    return float(array) if array.ndim == 0 else tuple(array.tolist())


class Law(ABC):
    """A distribution of thresholds with a rate: the larger the rate, the easier the threshold.

    Arrays broadcast; the last axis is arms. A law is a frozen dataclass whose fields are its shapes.
    """

    __slots__ = ()

    name: ClassVar[str]
    #: Thresholds are whole numbers: an allocation counts only up to its floor.
    integer: ClassVar[bool] = False

    @abstractmethod
    def log_sf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """log P(X > x), exact in both tails."""

    @abstractmethod
    def log_pdf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """Log density at x (log probability for a law of integers)."""

    @abstractmethod
    def standard(self) -> Standard:
        """Return the law as a base curve on a shifted logarithmic axis, for the compiled kernels."""

    @abstractmethod
    def quantile(self, q: ArrayLike, rate: ArrayLike) -> Floats:
        """Return the smallest x with P(X <= x) >= q."""

    @abstractmethod
    def truncated_mean(self, rate: ArrayLike, upper: ArrayLike) -> Floats:
        """E[X | X <= upper], the paper's mu(rate)."""

    @abstractmethod
    def inflection(self, rate: ArrayLike) -> Floats:
        """Where G turns from convex to concave: the peak of the density; 0 if G is concave."""

    @abstractmethod
    def boost(self, rate: ArrayLike, boosted: ArrayLike) -> Floats:
        """Return the paper's s(lambda, lambda'): what multiplies the marginal in the surrogate G~."""

    @abstractmethod
    def lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats:
        """Bound |dG/drate| for x in [0, upper] and rates in the range: the paper's L_lambda."""

    def cdf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """G(x, rate) = P(X <= x)."""
        return -np.expm1(self.log_sf(x, rate))

    def pdf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """Density at x (probability for a law of integers)."""
        return np.exp(self.log_pdf(x, rate))

    def sample(self, rate: ArrayLike, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Floats:
        """Draw thresholds by inversion: X = G^-1(U), U ~ U(0, 1).

        `size` is the shape of the result, arms last; without it, one draw for each rate and shape.
        """
        if size is None:
            size = np.broadcast_shapes(np.shape(rate), self.arm_axis())
        return self.quantile(rng.random(size), rate)

    def is_concave(self, upper: ArrayLike, rate: ArrayLike) -> NDArray[np.bool_]:
        """Whether G(., rate) is concave on [0, upper], so that water-filling is exact."""
        return np.broadcast_arrays(self.inflection(rate) <= 0.0, upper)[0]

    def rate_of_truncated_mean(self, mean: ArrayLike, upper: ArrayLike) -> Floats:
        """Return the rate at which E[X | X <= upper] = mean: the paper's mu^-1.

        It is 0 where the mean is so large that no rate gives it, infinite where the mean is the least
        there is: 0, or 1 for whole-number thresholds (so also where these are truncated at 1, and the mean,
        always 1, says nothing about the rate).
        """
        mean, upper = checks.numbers("mean", mean), checks.numbers("upper", upper, open_least=True)
        shape = np.broadcast_shapes(mean.shape, upper.shape, self.arm_axis())
        log_upper = np.broadcast_to(np.log(upper), shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_mean = np.broadcast_to(np.log(mean), shape)
            found = bracketed_root(
                lambda log_rate: np.log(self.truncated_mean(np.exp(log_rate), upper)) - log_mean,
                np.maximum(-_REACH - log_upper, -_REACH),
                np.minimum(_REACH - log_upper, _REACH),
            )
        rate = np.nan_to_num(np.exp(found), nan=0.0)
        return np.where(mean > float(self.integer), rate, np.inf)

    @abstractmethod
    def lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        """Return the smallest |dmu/drate| over the range, the paper's L_mu: mu^-1 is 1/L_mu-Lipschitz."""

    def shapes(self) -> dict[str, Any]:
        """Return the law's own parameters by name: everything but the rate."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]  # a dataclass

    @property
    def shape_prior(self) -> ShapePrior | None:
        """How to learn the law's shape, if it was given as "learn"; None if it is known."""
        return None

    def with_shape(self, value: ArrayLike) -> Law:
        """Return the law with this shape in place of the one it has, or has yet to learn."""
        (name,) = self.shapes()
        return type(self)(**{name: value})

    def arm_axis(self) -> tuple[int, ...]:
        """Return (K,) if the law has one shape for each of K arms, () if it fits any number of arms."""
        return np.broadcast_shapes(*(np.shape(v) for v in self.shapes().values() if isinstance(v, tuple)))

    def of_arm(self, arm: int) -> Law:
        """Return the law of one arm."""
        shapes = {k: v[arm] if isinstance(v, tuple) else v for k, v in self.shapes().items()}
        return self if self.arm_axis() == () else type(self)(**shapes)

    def to_dict(self) -> dict[str, Any]:
        """Return the law as plain data, for JSON and TOML; `headgate.laws.from_dict` reads it back."""
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in self.shapes().items()}
        return {"name": self.name} | plain
