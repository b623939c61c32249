"""Arms that follow different laws, as one law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate.errors import ParameterError, ShapeError
from headgate.laws.base import Floats, Law, RateRange
from headgate.laws.standard import Standard


@final
@dataclass(frozen=True)
class PerArm(Law):
    """One law for each arm; made by giving a sequence of laws where a law is wanted."""

    laws: tuple[Law, ...]
    name: ClassVar[str] = "per-arm"

    def __post_init__(self) -> None:
        """Check that each is the law of a single arm."""
        if not self.laws:
            raise ParameterError("a sequence of laws must not be empty")
        given: tuple[object, ...] = self.laws  # whatever the caller gave
        for arm, law in enumerate(given):
            if not isinstance(law, Law) or isinstance(law, PerArm):
                raise ParameterError(f"the law of arm {arm} must be a law, got {law!r}")
            if law.arm_axis() != ():
                raise ParameterError(f"the law of arm {arm} must have one shape, got {law!r}")

    @cached_property
    def groups(self) -> tuple[tuple[Law, NDArray[np.int64]], ...]:
        """The distinct laws with the arms that follow each, so that each is evaluated once."""
        members: dict[Law, list[int]] = {}
        for arm, law in enumerate(self.laws):
            members.setdefault(law, []).append(arm)
        return tuple((law, np.array(arms)) for law, arms in members.items())

    def of_arm(self, arm: int) -> Law:
        """Return the law of one arm."""
        return self.laws[arm]

    def integer_arms(self) -> NDArray[np.bool_]:
        """Which arms have whole-number thresholds."""
        return np.array([law.integer for law in self.laws])

    def _each(self, method: Callable[..., ArrayLike], *arguments: ArrayLike) -> Floats:
        """Call `method(law, *arguments)` group by group; the arguments' last axis is arms, or they are scalars."""
        arms = len(self.laws)
        arrays = [np.asarray(v, dtype=np.float64) for v in arguments]
        for array in arrays:
            if array.ndim > 0 and array.shape[-1] not in {1, arms}:
                raise ShapeError(f"the last axis must have {arms} arms, got shape {array.shape}")
        shape = np.broadcast_shapes((arms,), *(v.shape for v in arrays))
        result = np.empty(shape)
        whole = [np.broadcast_to(v, shape) for v in arrays]
        for law, who in self.groups:
            result[..., who] = method(law, *(v[..., who] for v in whole))
        return result

    def log_sf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """log P(X > x), by arm."""
        return self._each(lambda law, *v: law.log_sf(*v), x, rate)

    def log_pdf(self, x: ArrayLike, rate: ArrayLike) -> Floats:
        """Log density at x, by arm."""
        return self._each(lambda law, *v: law.log_pdf(*v), x, rate)

    def quantile(self, q: ArrayLike, rate: ArrayLike) -> Floats:
        """Return the smallest x with P(X <= x) >= q, by arm."""
        return self._each(lambda law, *v: law.quantile(*v), q, rate)

    def arm_axis(self) -> tuple[int, ...]:
        """Return (K,): there is one law for each of K arms."""
        return (len(self.laws),)

    def truncated_mean(self, rate: ArrayLike, upper: ArrayLike) -> Floats:
        """E[X | X <= upper], by arm."""
        return self._each(lambda law, *v: law.truncated_mean(*v), rate, upper)

    def rate_of_truncated_mean(self, mean: ArrayLike, upper: ArrayLike) -> Floats:
        """Return the rate at which E[X | X <= upper] = mean, by arm."""
        return self._each(lambda law, *v: law.rate_of_truncated_mean(*v), mean, upper)

    def inflection(self, rate: ArrayLike) -> Floats:
        """Where each arm's G turns from convex to concave."""
        return self._each(lambda law, *v: law.inflection(*v), rate)

    def boost(self, rate: ArrayLike, boosted: ArrayLike) -> Floats:
        """Return the paper's s(lambda, lambda'), by arm."""
        return self._each(lambda law, *v: law.boost(*v), rate, boosted)

    def lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats:
        """Return the paper's L_lambda, by arm."""
        return self._each(lambda law: law.lipschitz_rate(upper, rate_range))

    def lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        """Return the paper's L_mu, by arm."""
        return self._each(lambda law: law.lipschitz_mean(upper, rate_range))

    def standard(self) -> Standard:
        """Join the standard forms of the arms."""
        laws, members = zip(*self.groups, strict=True)
        return Standard.stack(laws, members, len(self.laws))

    def to_dict(self) -> dict[str, Any]:
        """Return the laws as plain data."""
        return {"name": self.name, "laws": [law.to_dict() for law in self.laws]}


def as_law(law: Law | Sequence[Law]) -> Law:
    """Return one law: as it is, or a sequence of one per arm joined."""
    if isinstance(law, Law):
        return law
    given: object = law  # whatever the caller gave
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ParameterError(f"law must be a law or a sequence of one per arm, got {given!r}")
    return PerArm(tuple(given))
