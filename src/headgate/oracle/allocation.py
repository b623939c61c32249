"""What the oracle returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headgate.extras import extra
from headgate.frames import Shown
from headgate.names import Amounts, usual_names

Reward: TypeAlias = Literal["sum", "cascade"]
"""What a round pays: the number of successes, or 1 if there is at least one."""
REWARDS: tuple[Reward, ...] = ("sum", "cascade")

ASSUMPTIONS = {
    "independent": "arms independent",
    "kinds": "arms share the round's kind",
    "rows": "rounds as they were",
}
"""What a certificate takes for granted about the arms of a round, for people to read."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Allocation(Shown):
    """The best allocation found, and the proof of how good it is.

    Leading axes are a batch; a single problem has scalars (arrays of no axes).
    """

    x: NDArray[np.float64]
    """How much each arm gets: (..., K), at least `lower`, at most `upper`, the sum at most the budget.

    Where arms have names, `x["q1"]` is that arm's (`headgate.names.Amounts`).
    """
    value: NDArray[np.float64]
    """The objective at `x`."""
    bound: NDArray[np.float64]
    """No allocation within the budget and the limits is worth more than this (the dual bound)."""
    price: NDArray[np.float64]
    """What a little more budget would be worth: the multiplier nu of the budget at `x`."""
    nodes: NDArray[np.int64]
    """How many nodes branch and bound solved; 1 if the concave hull was exact at once."""
    budget: NDArray[np.float64]
    """What there was to split: one number, or one per batch row."""
    reward: Reward = "sum"
    """What `value` is: "sum", the expected successes; "cascade", the chance of at least one."""
    assumes: str = "independent"
    """What `value` and `bound` take for granted about the arms of a round.

    "independent": they have nothing to do with each other, which matters to a cascade. "kinds": they share the round's
    hidden kind, and given that are independent. "rows": nothing, rounds are taken as they were.
    """
    units: str | None = None
    """What the budget is counted in, for people to read."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """The arms' names; None if they have none."""
        return self.x.names if isinstance(self.x, Amounts) else None

    def labelled(self, names: tuple[str, ...] | None, units: str | None) -> Self:
        """Put names and units on an allocation that nobody else holds yet, and return it."""
        if names is not None:
            object.__setattr__(self, "x", Amounts.of(self.x, names))
        object.__setattr__(self, "units", units)
        return self

    @property
    def gap(self) -> NDArray[np.float64]:
        """(bound - value) / bound: the share that a better allocation could at most gain."""
        bound = np.where(self.bound > 0.0, self.bound, 1.0)
        return np.maximum(self.bound - self.value, 0.0) / bound

    def columns(self) -> dict[str, Any]:
        """Return a tidy table as columns: a row for each arm, of a batch or a frontier for each row and arm.

        `share` is of the budget. A batch has its rows' number, budget, value, bound, gap and price too.
        """
        arms, rows = self.x.shape[-1], int(np.prod(self.value.shape, dtype=np.int64))
        x = np.asarray(self.x).reshape(rows, arms)
        budget = np.broadcast_to(self.budget, self.value.shape).reshape(rows, 1)
        names = self.names or usual_names(arms)
        with np.errstate(divide="ignore", invalid="ignore"):
            table = {"arm": list(names) * rows, "allocation": x.ravel(), "share": np.nan_to_num(x / budget).ravel()}
        if self.value.ndim == 0:
            return table
        each = {"budget": budget, "value": self.value, "bound": self.bound, "gap": self.gap, "price": self.price}
        row = {name: np.repeat(np.broadcast_to(v, (rows,)) if np.ndim(v) == 0 else np.ravel(v), arms)
               for name, v in each.items()}  # fmt: skip
        return {"row": np.repeat(np.arange(rows), arms), **row, **table}

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the amounts beside an even split; of a frontier, what budgets are worth and what a unit more would add.

        Returns a figure of matplotlib, or writes it to a .png, .pdf or .svg file and returns its path.
        """
        return extra("headgate.figures.results").draw_amounts(self, path)

    def __repr__(self) -> str:
        what = f", {ASSUMPTIONS[self.assumes]}" if self.reward == "cascade" else ""
        if self.value.ndim > 0:
            budgets = np.broadcast_to(self.budget, self.value.shape)
            low, high = (f"{end:.6g}" for end in (budgets.min(), budgets.max()))
            budget = low if low == high else f"{low}..{high}"
            worth = f"value={self.value.min():.6g}..{self.value.max():.6g}, gap<={np.max(self.gap):.1e}"
            return f"Allocation(batch={self.value.shape}, arms={self.x.shape[-1]}, budget={budget}, {worth}{what})"
        x, more = np.asarray(self.x)[:6].tolist(), ", ..." if self.x.size > 6 else ""
        if self.names is None:
            shown = "[" + ", ".join(f"{amount:.6g}" for amount in x) + more + "]"
        else:
            shown = "{" + ", ".join(f"{n}: {amount:.6g}" for n, amount in zip(self.names, x, strict=False)) + more + "}"
        return f"Allocation(value={self.value:.6g}, gap={self.gap:.1e}, price={self.price:.4g}, x={shown}{what})"
