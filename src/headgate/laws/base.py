"""What a law is: the interface, its validation, and everything that follows from `log_sf` and `log_pdf`.

A public method checks what it is given and calls the method of the same name with an underscore, which a law defines:
so no law validates anything, and loops within the package may skip the checks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import UnsupportedError
from headgate.laws.roots import bracketed_root
from headgate.laws.shape import LEARN, Floats, Shape, checked_shape

if TYPE_CHECKING:
    from headgate.laws.standard import Standard

RateRange: TypeAlias = tuple[float, float]
Members: TypeAlias = tuple[tuple["Law", "slice | NDArray[np.int64]"], ...]

_REACH = 690.0  # rates, and rate * upper, are looked for between exp(-690) and exp(690)


def _points(x: ArrayLike) -> Floats:
    return checks.numbers("x", x, least=-np.inf, infinite=True)


class Law(ABC):
    """A distribution of thresholds with a rate: the larger the rate, the easier the threshold.

    Arrays broadcast; the last axis is arms. A law is a frozen dataclass whose fields are its shapes: each is one
    positive number, or a tuple of one per arm. Rates are finite and > 0. What breaks a rule raises ParameterError.
    """

    __slots__ = ()

    #: What files, the command line and the service call the law.
    name: ClassVar[str]
    #: Thresholds are whole numbers: an allocation counts only up to its floor.
    integer: ClassVar[bool] = False
    #: The shape that a fit may choose, and that may be given as "learn"; None if there is none.
    free: ClassVar[Shape | None] = None

    def __post_init__(self) -> None:
        """Check the shapes."""
        for name in self.shape_names():
            learnable = self.free is not None and self.free.learnable and self.free.name == name
            object.__setattr__(self, name, checked_shape(name, getattr(self, name), learnable=learnable))

    # What a law defines; `x`, `rate` and the others are arrays that have been checked.

    @abstractmethod
    def _log_sf(self, x: Floats, rate: Floats) -> Floats: ...

    @abstractmethod
    def _log_pdf(self, x: Floats, rate: Floats) -> Floats: ...

    @abstractmethod
    def _quantile(self, q: Floats, rate: Floats) -> Floats: ...

    @abstractmethod
    def _truncated_mean(self, rate: Floats, upper: Floats) -> Floats: ...

    @abstractmethod
    def _inflection(self, rate: Floats) -> Floats: ...

    @abstractmethod
    def _boost(self, rate: Floats, boosted: Floats) -> Floats: ...

    @abstractmethod
    def _rate_of_quantile(self, x: Floats, q: Floats) -> Floats: ...

    @abstractmethod
    def _lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats: ...

    @abstractmethod
    def _lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats: ...

    @abstractmethod
    def _standard(self) -> Standard: ...

    def _cdf(self, x: Floats, rate: Floats) -> Floats:
        return -np.expm1(self._log_sf(x, rate))

    # What everybody calls.

    def log_sf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """log P(X > x), exact in both tails; x may be any number, or infinite."""
        return self._log_sf(_points(x), self._rates(rate))

    def log_pdf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """Log density at x (log probability for a law of integers)."""
        return self._log_pdf(_points(x), self._rates(rate))

    def cdf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """G(x, rate) = P(X <= x)."""
        return self._cdf(_points(x), self._rates(rate))

    def pdf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """Density at x (probability for a law of integers)."""
        return np.exp(self.log_pdf(x, rate))

    def quantile(self, q: ArrayLike, rate: ArrayLike) -> Floats:
        """Return the smallest x with P(X <= x) >= q, for q within [0, 1]."""
        return self._quantile(checks.numbers("q", q, most=1.0), self._rates(rate))

    def truncated_mean(self, rate: ArrayLike, upper: ArrayLike) -> Floats:
        """E[X | X <= upper], the paper's mu(rate), for upper >= 0."""
        return self._truncated_mean(self._rates(rate), checks.numbers("upper", upper))

    def inflection(self, rate: ArrayLike) -> Floats:
        """Where G turns from convex to concave: the peak of the density; 0 if G is concave."""
        return self._inflection(self._rates(rate))

    def boost(self, rate: ArrayLike, boosted: ArrayLike) -> Floats:
        """Return the paper's s(lambda, lambda'): what multiplies the marginal in the surrogate G~."""
        return self._boost(self._rates(rate), self._rates(boosted, "boosted"))

    def lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats:
        """Bound |dG/drate| for x in [0, upper] and rates in the range: the paper's L_lambda."""
        checks.numbers("upper", upper, open_least=True)
        return self._lipschitz_rate(upper, tuple(self._rates(rate_range, "rate_range").tolist()))

    def lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        """Return the smallest |dmu/drate| over the range, the paper's L_mu: mu^-1 is 1/L_mu-Lipschitz."""
        checks.numbers("upper", upper, open_least=True)
        return self._lipschitz_mean(upper, tuple(self._rates(rate_range, "rate_range").tolist()))

    def rate_of_quantile(self, x: ArrayLike, q: ArrayLike) -> Floats:
        """Return the rate at which P(X <= x) = q, for x > 0 and q within (0, 1)."""
        self.check_known()
        amount = checks.numbers("x", x, open_least=True)
        return self._rate_of_quantile(amount, checks.numbers("q", q, open_least=True, most=1.0))

    def rate_of_truncated_mean(self, mean: ArrayLike, upper: ArrayLike) -> Floats:
        """Return the rate at which E[X | X <= upper] = mean: the paper's mu^-1.

        It is 0 where the mean is so large that no rate gives it, infinite where the mean is the least
        there is: 0, or 1 for whole-number thresholds (so also where these are truncated at 1, and the mean,
        always 1, says nothing about the rate).
        """
        self.check_known()
        mean, upper = checks.numbers("mean", mean), checks.numbers("upper", upper, open_least=True)
        shape = np.broadcast_shapes(mean.shape, upper.shape, self.arm_axis())
        log_upper = np.broadcast_to(np.log(upper), shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_mean = np.broadcast_to(np.log(mean), shape)
            log_rate = bracketed_root(
                lambda log_rate: np.log(self._truncated_mean(np.exp(log_rate), upper)) - log_mean,
                np.maximum(-_REACH - log_upper, -_REACH),
                np.minimum(_REACH - log_upper, _REACH),
            )
        rate = np.nan_to_num(np.exp(log_rate), nan=0.0)
        return np.where(mean > self.whole_arms(*shape[-1:] or (1,)), rate, np.inf).reshape(shape)

    def sample(self, rate: ArrayLike, rng: np.random.Generator, size: int | tuple[int, ...] | None = None) -> Floats:
        """Draw thresholds by inversion: X = G^-1(U), U ~ U(0, 1).

        `size` is the shape of the result, arms last; without it, one draw for each rate and shape.
        """
        rates = self._rates(rate)
        if size is None:
            size = np.broadcast_shapes(rates.shape, self.arm_axis())
        return self._quantile(rng.random(size), rates)

    def is_concave(self, upper: ArrayLike, rate: ArrayLike) -> NDArray[np.bool_]:
        """Whether G(., rate) is concave on [0, upper], so that water-filling is exact."""
        return np.broadcast_arrays(self.inflection(rate) <= 0.0, checks.numbers("upper", upper, infinite=True))[0]

    def standard(self) -> Standard:
        """Return the law as a base curve on a shifted logarithmic axis, for the compiled kernels."""
        self.check_known()
        return self._standard()

    # The law as a value: its shapes, its arms, plain data.

    @classmethod
    def shape_names(cls) -> tuple[str, ...]:
        """Return the names of the law's own parameters: everything but the rate."""
        return tuple(f.name for f in fields(cls))  # type: ignore[arg-type]  # a dataclass

    def shapes(self) -> dict[str, Any]:
        """Return the law's own parameters by name."""
        return {name: getattr(self, name) for name in self.shape_names()}

    @property
    def is_open(self) -> bool:
        """Whether a shape is still to be learned."""
        return self.free is not None and getattr(self, self.free.name) == LEARN

    def check_known(self) -> None:
        """Raise UnsupportedError if a shape is still to be learned."""
        if self.is_open:
            raise UnsupportedError(
                f"{self} does not know its shape: give a number, or let Thompson or an estimator learn it"
            )

    def _rates(self, rate: ArrayLike, name: str = "rate") -> Floats:
        """Return the rates as clean floats, if the law has its shapes."""
        self.check_known()
        return checks.numbers(name, rate, open_least=True)

    def with_shape(self, value: ArrayLike) -> Law:
        """Return the law with this shape in place of the one it has, or has yet to learn; NaN leaves it as it is."""
        if self.free is None or np.all(np.isnan(value)):
            return self
        return type(self)(**self.shapes() | {self.free.name: value})

    def arm_axis(self) -> tuple[int, ...]:
        """Return (K,) if the law has one shape for each of K arms, () if it fits any number of arms."""
        return np.broadcast_shapes(*((len(v),) for v in self.shapes().values() if isinstance(v, tuple)))

    def of_arm(self, arm: int) -> Law:
        """Return the law of one arm."""
        if self.arm_axis() == ():
            return self
        return type(self)(**{k: v[arm] if isinstance(v, tuple) else v for k, v in self.shapes().items()})

    def members(self) -> Members:
        """Return the distinct laws of different families, with the arms that follow each: here, one for all."""
        return ((self, slice(None)),)

    def whole_arms(self, arms: int) -> NDArray[np.bool_]:
        """Return which of the K arms have whole-number thresholds, (K,)."""
        whole = np.empty(arms, dtype=np.bool_)
        for law, who in self.members():
            whole[who] = law.integer
        return whole

    def to_dict(self) -> dict[str, Any]:
        """Return the law as plain data, for JSON and TOML; `headgate.laws.from_dict` reads it back."""
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in self.shapes().items()}
        return {"name": self.name} | plain
