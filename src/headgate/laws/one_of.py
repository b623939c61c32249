"""A law of which only candidates are known: which one it is is learned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NoReturn, final

from headgate.errors import ParameterError, UnsupportedError
from headgate.laws.base import Law, Members, RateRange
from headgate.laws.joined import Joined
from headgate.laws.per_arm import PerArm
from headgate.laws.shape import Floats
from headgate.laws.standard import Standard


@final
@dataclass(frozen=True)
class OneOf(Joined):
    """One of several laws, each arm's for itself; `law="auto"` stands for all that have a shape to learn.

    `law="auto-whole"` stands for those that count in whole units.

    Only a learner that weighs laws (Thompson) takes it. Candidates agree on whether thresholds are whole numbers.
    """

    laws: tuple[Law, ...]
    name: ClassVar[str] = "one-of"
    parts: ClassVar[str] = "candidates"

    def __post_init__(self) -> None:
        """Check that each is the law of any arm."""
        candidates: object = self.laws  # whatever the caller gave
        if not isinstance(candidates, Iterable):
            raise ParameterError(f"candidates must be a list of laws, got {candidates!r}")
        object.__setattr__(self, "laws", tuple(candidates))
        if not self.laws:
            raise ParameterError("there must be at least one candidate law")
        values: tuple[object, ...] = self.laws  # whatever the caller gave
        for law in values:
            if not isinstance(law, Law) or isinstance(law, PerArm | OneOf):
                raise ParameterError(f"a candidate must be a law, got {law!r}")
            if law.arm_axis() != ():
                raise ParameterError(f"a candidate must have one shape, got {law!r}")
        if len({law.integer for law in self.laws}) > 1:
            raise ParameterError(f"candidates must all count in whole units, or none, got {self.laws}")

    def check_known(self) -> None:
        """Raise UnsupportedError: which law it is is still to be learned."""
        self._unknown()

    def _unknown(self) -> NoReturn:
        raise UnsupportedError(f"{self} does not know which law it is: let Thompson learn it")

    def _each(self, method: str, *arguments: Floats | float) -> NoReturn:
        self._unknown()

    def _lipschitz_rate(self, upper: float, rate_range: RateRange) -> Floats:
        self._unknown()

    def _lipschitz_mean(self, upper: float, rate_range: RateRange) -> Floats:
        self._unknown()

    def _standard(self) -> Standard:
        self._unknown()

    def arm_axis(self) -> tuple[int, ...]:
        """Return (): every arm has the same candidates."""
        return ()

    def members(self) -> Members:
        """Return the first candidate for all arms: the others agree with it on whole units."""
        return ((self.laws[0], slice(None)),)
