"""CUCB: Zuo and Joe-Wong's combinatorial UCB over a grid of amounts, which knows no law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import BudgetError
from headgate.feedback import Feedback
from headgate.laws import Floats, Law
from headgate.oracle import Limits
from headgate.policies.base import Common, Policy

_SURE = 1.0 - 1e-9


class CUCB(Policy):
    """An arm's success at each amount of a grid is a bandit arm of its own.

    Each round plays the best combination of cells for the upper bounds mean + sqrt(3 ln t / (2 n)), at most 1, and 1
    where a cell has not been played: found exactly, by dynamic programming, and of equal cells the cheapest. Cell j of
    an arm is its lower limit plus j steps; what is left of the budget below one step stays unspent.

    Parameters
    ----------
    step
        The width of a cell. Without it max_budget * T^(-1/3), as CUCB-CRA has it for continuous amounts, which needs
        `rounds`; and 1 for thresholds that are whole numbers (CUCB-DRA).
    """

    name = "cucb"
    needs_rounds = True
    state_names: ClassVar[tuple[str, ...]] = ("played", "succeeded")

    def __init__(
        self,
        law: Law | Sequence[Law],
        arms: int,
        max_budget: float,
        *,
        step: float | None = None,
        **common: Unpack[Common],
    ) -> None:
        integer = isinstance(law, Law) and law.integer
        self.needs_rounds = step is None and not integer
        super().__init__(law, arms, max_budget, options={"step": step}, **common)
        if step is None:
            step = 1.0 if self.whole.any() else self.max_budget * (self.rounds or 1) ** (-1.0 / 3.0)
        self.step = float(checks.numbers("step", step, BudgetError, open_least=True, most=self.max_budget))
        if self.whole.any() and self.step != np.floor(self.step):
            raise BudgetError(f"step must be whole for thresholds that are, got {step!r}")
        cells = int(self.max_budget / self.step * (1.0 + 1e-12)) + 1
        self.played = np.zeros((*self.batch, arms, cells))
        self.succeeded = np.zeros((*self.batch, arms, cells))

    def _upper_bounds(self) -> Floats:
        """What each cell may be worth: (..., K, cells)."""
        n = np.maximum(self.played, 1e-12)
        bound = self.succeeded / n + np.sqrt(3.0 * np.log(self.round + 1.0) / (2.0 * n))
        bound = np.where(self.played > 0.0, np.minimum(bound, 1.0), 1.0)
        nothing = np.broadcast_to(self._limits.lower <= 0.0, bound.shape[:-1])
        bound[..., 0] = np.where(nothing, 0.0, bound[..., 0])  # no amount, no success
        return -np.log1p(-np.minimum(bound, _SURE)) if self.reward == "cascade" else bound

    def _allocate(self, limits: Limits) -> Floats:
        from headgate.kernels.cells import best_cells  # noqa: PLC0415  # machine code loads on first use

        room = np.minimum(limits.upper - limits.lower, self.max_budget)
        spare = np.maximum(limits.budget - limits.lower.sum(axis=-1), 0.0)
        chosen = best_cells(self._upper_bounds(), self._cells_in(room), self._cells_in(spare))
        return np.asarray(limits.lower + self.step * chosen)

    def _cells_in(self, amount: Floats) -> NDArray[np.int64]:
        whole = np.floor(amount / self.step * (1.0 + 1e-12))
        return np.minimum(whole, self.played.shape[-1] - 1).astype(np.int64)

    def observe(self, x: ArrayLike, feedback: Feedback) -> None:
        """Count the round for the cell nearest to what each arm got."""
        super().observe(x, feedback)
        amount = self._played(x, feedback)
        cell = np.rint(np.maximum(amount - self._limits.lower, 0.0) / self.step).astype(np.int64)
        cell = np.minimum(cell, self.played.shape[-1] - 1)
        at = (*np.indices(cell.shape), cell)  # one cell of each arm, so no cell twice
        self.played[at] += feedback.reported
        self.succeeded[at] += feedback.success

    def _forget(self, factor: float) -> None:
        super()._forget(factor)
        self.played *= factor
        self.succeeded *= factor
