"""Arms that follow different laws, as one law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from headgate.errors import ParameterError, ShapeError
from headgate.laws.base import Law, Members, RateRange
from headgate.laws.joined import Joined
from headgate.laws.shape import AUTO, AUTO_WHOLE, Floats
from headgate.laws.standard import Standard


@final
@dataclass(frozen=True)
class PerArm(Joined):
    """One law for each arm; made by giving a sequence of laws where a law is wanted."""

    laws: tuple[Law, ...]
    name: ClassVar[str] = "per-arm"
    parts: ClassVar[str] = "one per arm"

    def __post_init__(self) -> None:
        """Check that each is the law of a single arm."""
        if not self.laws:
            raise ParameterError("a sequence of laws must not be empty")
        laws: tuple[object, ...] = self.laws  # whatever the caller gave
        for arm, law in enumerate(laws):
            if not isinstance(law, Law) or isinstance(law, PerArm):
                raise ParameterError(f"the law of arm {arm} must be a law, got {law!r}")
            if law.arm_axis() != ():
                raise ParameterError(f"the law of arm {arm} must have one shape, got {law!r}")

    @cached_property
    def _members(self) -> Members:
        members: dict[Law, list[int]] = {}
        for arm, law in enumerate(self.laws):
            members.setdefault(law, []).append(arm)
        return tuple((law, np.array(arms)) for law, arms in members.items())

    def members(self) -> Members:
        """Return the distinct laws with the arms that follow each, so that each is evaluated once."""
        return self._members

    def with_shape(self, value: ArrayLike) -> Law:
        """Return the laws with these shapes, (K,), in place of those they have or have yet to learn; NaN keeps one."""
        shapes = np.broadcast_to(np.asarray(value, dtype=np.float64), len(self.laws))
        return PerArm(tuple(law.with_shape(shape) for law, shape in zip(self.laws, shapes.tolist(), strict=True)))

    def arm_axis(self) -> tuple[int, ...]:
        """Return (K,): there is one law for each of K arms."""
        return (len(self.laws),)

    def of_arm(self, arm: int) -> Law:
        """Return the law of one arm."""
        return self.laws[arm]

    def _each(self, method: str, *arguments: Floats | float) -> Floats:
        """Call the method of each law on its arms; the arguments' last axis is arms, or they are scalars."""
        arms = len(self.laws)
        arrays = [np.asarray(v) for v in arguments]
        for array in arrays:
            if array.ndim > 0 and array.shape[-1] not in {1, arms}:
                raise ShapeError(f"the last axis must have {arms} arms, got shape {array.shape}")
        result = np.empty(np.broadcast_shapes((arms,), *(v.shape for v in arrays)))
        whole = [np.broadcast_to(v, result.shape) for v in arrays]
        for law, who in self._members:
            result[..., who] = getattr(law, method)(*(v[..., who] for v in whole))
        return result

    def _lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats:
        return np.array([float(law.lipschitz_rate(upper, rate_range)) for law in self.laws])

    def _lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        return np.array([float(law.lipschitz_mean(upper, rate_range)) for law in self.laws])

    def _standard(self) -> Standard:
        return Standard.stack([(law.standard(), who) for law, who in self._members], len(self.laws))


def as_law(law: Law | Sequence[Law] | str) -> Law:
    """Return one law: as it is, a sequence of one per arm joined, or the candidates that "auto" stands for."""
    if isinstance(law, Law):
        return law
    value: object = law  # whatever the caller gave
    if value in (AUTO, AUTO_WHOLE):
        from headgate.laws import automatic  # noqa: PLC0415  # it asks the registry, which holds this class

        return automatic(whole=value == AUTO_WHOLE)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ParameterError(f'law must be a law, a sequence of one per arm, or "auto", got {value!r}')
    return PerArm(tuple(value))


def simplest(law: Law) -> Law:
    """Return an equal law: one shape where all arms share it, one family with a shape per arm where all share that."""
    first, columns = law, law.shapes()
    if isinstance(law, PerArm):
        first = law.laws[0]
        columns = {k: tuple(one.shapes().get(k) for one in law.laws) for k in first.shapes()}
        plain = all(isinstance(v, float) for column in columns.values() for v in column)
        if len(law.members()) == 1:
            return first
        if not plain or any(type(one) is not type(first) for one in law.laws):
            return law
    elif law.arm_axis() == ():
        return law
    return type(first)(**{k: v[0] if isinstance(v, tuple) and len(set(v)) == 1 else v for k, v in columns.items()})
