"""CUCB: Zuo and Joe-Wong's combinatorial UCB over a grid of amounts, which knows no law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import BudgetError, ParameterError
from headgate.evidence import Evidence
from headgate.feedback import Feedback
from headgate.laws import Floats
from headgate.policies.ask import Ask
from headgate.policies.base import Policy
from headgate.policies.state import State

_SURE = 1.0 - 1e-9


@dataclass(slots=True, eq=False)
class CellState(State):
    """How often each cell of an arm was played, and with success: (..., K, cells)."""

    played: Floats
    succeeded: Floats


@final
class CUCB(Policy):
    """An arm's success at each amount of a grid is a bandit arm of its own.

    Each round t plays the best combination of cells for the upper bounds mean + sqrt(3 ln t / (2 n)), at most 1, and 1
    where a cell has not been played: found exactly, by dynamic programming, and of equal cells the cheapest. Cell j of
    an arm is its lower limit plus j steps; what is left of the budget below one step stays unspent.

    Zuo and Joe-Wong (2021), "Combinatorial multi-armed bandits for resource allocation".

    Parameters
    ----------
    rounds : int, needed where `step` is not given and arms do not count in whole units
        The horizon T.
    step : float in (0, max_budget]
        The width of a cell. Without it max_budget * T^(-1/3), as CUCB-CRA has it for continuous amounts; and 1 for
        thresholds that are whole numbers (CUCB-DRA).
    """

    name = "cucb"

    rounds: int | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        """Check."""
        super().__post_init__()
        if self.rounds is not None:
            vars(self).update(rounds=checks.whole("rounds", self.rounds))
        vars(self).update(width=self.width)  # raises here, if it does

    @cached_property
    def width(self) -> float:
        """The width of a cell."""
        if self.step is None and self.rounds is None and not self._any_whole:
            raise ParameterError("CUCB needs the horizon or the width of a cell: give rounds= or step=")
        width = 1.0 if self._any_whole else self.max_budget * (self.rounds or 1) ** (-1.0 / 3.0)
        if self.step is not None:
            width = float(checks.numbers("step", self.step, BudgetError, open_least=True, most=self.max_budget))
        if self._any_whole and width != np.floor(width):
            raise BudgetError(f"step must be whole for thresholds that are, got {self.step!r}")
        return width

    def start(self, evidence: Evidence | None = None) -> CellState:
        """Return the state before any cell was played."""
        cells = int(self.max_budget / self.width * (1.0 + 1e-12)) + 1
        played, succeeded = np.zeros((2, *self.batch, self.arms, cells))
        return CellState(self.evidence_or_none(evidence), 0, played, succeeded)

    def upper_bounds(self, state: CellState) -> Floats:
        """Return the upper bound on each cell's success: (..., K, cells)."""
        n = np.maximum(state.played, 1e-12)
        bound = state.succeeded / n + np.sqrt(3.0 * np.log(state.round + 1.0) / (2.0 * n))
        return np.where(state.played > 0.0, np.minimum(bound, 1.0), 1.0)

    def split(self, state: CellState, ask: Ask) -> Floats:
        """Return the best combination of cells."""
        from headgate.kernels.cells import best_cells  # noqa: PLC0415  # machine code loads on first use

        limits, bound = ask.limits, self.upper_bounds(state)
        if ask.limits.lower is not self._limits.lower:  # cells begin at this round's lower limits
            first = self._cell(limits.lower)[..., None] + np.arange(bound.shape[-1])
            first = np.broadcast_to(np.minimum(first, bound.shape[-1] - 1), bound.shape)
            bound = np.take_along_axis(bound, first, axis=-1)
        bound[..., 0] = np.where(limits.lower <= 0.0, 0.0, bound[..., 0])  # no amount, no success
        worth = -np.log1p(-np.minimum(bound, _SURE)) if self.reward == "cascade" else bound
        worth = worth if ask.value is None else worth * ask.value[..., None]
        room = np.minimum(limits.upper - limits.lower, self.max_budget)
        spare = np.maximum(limits.budget - limits.lower.sum(axis=-1), 0.0)
        most = bound.shape[-1] - 1
        chosen = best_cells(worth, self._cells_in(room, most), self._cells_in(spare, most))
        return np.asarray(limits.lower + self.width * chosen)

    def _cells_in(self, amount: Floats, most: int) -> NDArray[np.int64]:
        return np.minimum(np.floor(amount / self.width * (1.0 + 1e-12)), most).astype(np.int64)

    def _cell(self, amount: Floats) -> NDArray[np.int64]:
        """The cell nearest to an amount."""
        return np.rint(np.maximum(amount - self._limits.lower, 0.0) / self.width).astype(np.int64)

    def absorb(self, state: Any, x: ArrayLike, feedback: Feedback, features: Any = None) -> Any:
        """Count the round for the cell nearest to what each arm got."""
        super().absorb(state, x, feedback, features)
        cell = np.minimum(self._cell(self.played(x, feedback)), state.played.shape[-1] - 1)
        at = (*np.indices(cell.shape), cell)  # one cell of each arm, so no cell twice
        state.played[at] += feedback.reported
        state.succeeded[at] += feedback.success
        return state

    def fade(self, state: CellState, factor: float) -> None:
        """Let cells fade as evidence does."""
        super().fade(state, factor)
        state.played *= factor
        state.succeeded *= factor
