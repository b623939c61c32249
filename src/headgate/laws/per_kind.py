"""Arms that follow other laws in other kinds of rounds, as one law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from headgate.errors import ParameterError, ShapeError, UnsupportedError
from headgate.laws.base import Law, RateRange
from headgate.laws.joined import Joined
from headgate.laws.per_arm import PerArm
from headgate.laws.shape import Floats
from headgate.laws.standard import Standard


@final
@dataclass(frozen=True)
class PerKind(Joined):
    """One law for each kind of rounds and arm; made by giving Q sequences of K laws where a law is wanted.

    Every array it is given ends in axes of kinds and arms, (..., Q, K).
    """

    laws: tuple[PerArm, ...]
    name: ClassVar[str] = "per-kind"
    parts: ClassVar[str] = "one 'per-arm' law for each kind"

    def __post_init__(self) -> None:
        """Check that every kind has as many arms, and that an arm counts in whole units in all of them or in none."""
        kinds: tuple[object, ...] = self.laws  # whatever the caller gave
        if not kinds or not all(isinstance(law, PerArm) for law in kinds):
            raise ParameterError(f"law 'per-kind' takes 'laws', a list of {self.parts}, got {kinds!r}")
        arms = {len(law.laws) for law in self.laws}
        if len(arms) != 1:
            raise ShapeError(
                f"every kind must have a law for each arm, got {[len(law.laws) for law in self.laws]} laws"
            )
        whole = np.array([law.whole_arms(*arms) for law in self.laws])
        if np.any(whole != whole[0]):
            arm = int(np.argwhere(whole != whole[0])[0][-1])
            raise ParameterError(f"arm {arm} must count in whole units in every kind or in none, got {self.laws}")

    def arm_axis(self) -> tuple[int, ...]:
        """Return (Q, K): there is one law for each kind and arm."""
        return len(self.laws), len(self.laws[0].laws)

    def whole_arms(self, arms: int) -> NDArray[np.bool_]:
        """Return which of the K arms have whole-number thresholds, (K,): the same in every kind."""
        return self.laws[0].whole_arms(arms)

    def of_kind(self, kind: int) -> Law:
        """Return the laws of one kind's arms."""
        return self.laws[kind]

    def of_arm(self, arm: int) -> Law:
        """Refuse: an arm has a law in each kind."""
        raise UnsupportedError(f"arm {arm} has one law in each kind of rounds: ask for `of_kind` first")

    def _each(self, method: str, *arguments: Floats | float) -> Floats:
        """Call the method of each kind's laws; the arguments end in (Q, K), or they are scalars."""
        shape = np.broadcast_shapes(self.arm_axis(), *(np.shape(v) for v in arguments))
        if shape[-2:] != self.arm_axis():
            raise ShapeError(f"arrays must end in axes of kinds and arms {self.arm_axis()}, got {shape}")
        arrays = [np.broadcast_to(v, shape) for v in arguments]
        return np.stack(
            [getattr(law, method)(*(v[..., q, :] for v in arrays)) for q, law in enumerate(self.laws)], axis=-2
        )

    def _lipschitz_rate(self, upper: float, rate_range: RateRange) -> NoReturn:
        del upper, rate_range
        raise UnsupportedError("rounds of hidden kinds have no Lipschitz constant of the paper's")

    def _lipschitz_mean(self, upper: float, rate_range: RateRange) -> NoReturn:
        del upper, rate_range
        raise UnsupportedError("rounds of hidden kinds have no Lipschitz constant of the paper's")

    def _standard(self) -> Standard:
        raise UnsupportedError("a law in each kind of rounds has no standard form: give a learner one law")


def law_of_kind(law: Law, kind: int) -> Law:
    """Return the law of the arms in one kind: its own, or that of all kinds."""
    return law.of_kind(kind) if isinstance(law, PerKind) else law
