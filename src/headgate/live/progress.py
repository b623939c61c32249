"""How far a live round has come: what changes while it is played, and all of it that is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from headgate import checks
from headgate.laws import Floats


class Step(NamedTuple):
    """What to do next: serve `arm` until it succeeds, with at most `amount`."""

    arm: int
    amount: float

    @property
    def name(self) -> str | None:
        """The arm's name; None if the arms have none."""
        return None


class NamedStep(Step):
    """A step of an arm that has a name: still a pair of arm and amount."""

    def __new__(cls, arm: int, amount: float, name: str) -> Self:
        """Make one."""
        step = super().__new__(cls, arm, amount)
        vars(step)["_name"] = name
        return step

    @property
    def name(self) -> str:
        """The arm's name."""
        return str(vars(self)["_name"])

    def __getnewargs__(self) -> tuple[int, float, str]:  # for copies
        return self.arm, self.amount, self.name

    def __repr__(self) -> str:
        return f"Step(arm={self.arm}, name={self.name!r}, amount={self.amount!r})"


def step_of(arm: int, amount: float, names: Sequence[str] | None) -> Step:
    """Return a step, with the arm's name if it has one."""
    return Step(arm, amount) if names is None else NamedStep(arm, amount, names[arm])


@dataclass(slots=True, eq=False)
class Progress:
    """What each arm has had and what came of it, and the step that is being served."""

    spent: Floats
    """What each arm has had: (K,)."""
    won: NDArray[np.bool_]
    told: NDArray[np.bool_]
    """Whether the success of an arm, if it had one, was reported with its threshold: (K,)."""
    gone: float = 0.0
    """What all arms have had."""
    ended: bool = False
    step: Step | None = None
    """The step that was asked for and not reported yet."""
    order: list[int] | None = None
    """Without switching: the arms that may still be served, in their order; None before the first step."""

    @classmethod
    def start(cls, arms: int) -> Self:
        """Return the progress of a round that has just begun."""
        return cls(np.zeros(arms), np.zeros(arms, dtype=np.bool_), np.ones(arms, dtype=np.bool_))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for JSON."""
        return {
            "spent": self.spent.tolist(), "won": self.won.tolist(), "told": self.told.tolist(), "gone": self.gone,
            "ended": self.ended, "step": self.step, "order": self.order,
        }  # fmt: skip

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], upper: Floats, whole: NDArray[np.bool_], names: Sequence[str] | None = None
    ) -> Self:
        """Read what `to_dict` wrote; raise ValueError, TypeError or KeyError if no round can have come to it."""
        spent, arms = checks.numbers("spent", data["spent"]), upper.size
        won, told = (np.array(data[name]) for name in ("won", "told"))
        gone, step, order = float(checks.numbers("gone", data["gone"])), data["step"], data["order"]
        if not all(one.shape == (arms,) for one in (spent, won, told)) or {won.dtype, told.dtype} != {np.dtype(bool)}:
            raise ValueError(f"spent, won and told must have an entry for each of {arms} arms")
        if np.any(spent > upper * (1.0 + 1e-9)) or np.any(spent[whole] % 1.0 != 0.0) or np.any(won & (spent <= 0.0)):
            raise ValueError(f"no arm can have had what it is said to have had, {data['spent']}")
        if abs(gone - spent.sum()) > 1e-9 * max(gone, 1.0):
            raise ValueError(f"gone must be the sum of what arms have had, {spent.sum():g}, got {gone:g}")
        if not isinstance(data["ended"], bool):
            raise TypeError(f"ended must be true or false, got {data['ended']!r}")
        if step is not None:
            arm, amount = checks.whole("step", step[0], least=0, most=arms - 1), float(checks.numbers("step", step[1]))
            if won[arm] or data["ended"] or not 0.0 < amount <= (upper[arm] - spent[arm]) * (1.0 + 1e-9):
                raise ValueError(f"step must serve an arm that may still get so much, got {step}")
            step = step_of(arm, amount, names)
        if order is not None:
            order = [checks.whole("order", arm, least=0, most=arms - 1) for arm in order]
            if len(set(order)) < len(order):
                raise ValueError(f"order must have each arm once at most, got {order}")
        return cls(spent.copy(), won, told, gone, data["ended"], step, order)
