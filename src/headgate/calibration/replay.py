"""Replay: what other allocations would have brought, read off the log itself, without a law.

A row that was given x tells what happens at every smaller amount: it succeeds if and only if it did, at a threshold
within that amount. So the share of successes of an arm at amount y is counted among the rows that were given at least
y. Where too few were given so much nothing is known, and the answer is NaN.

Some logs say only what was spent: calling stops at the first success, so a success was "given" its threshold, and those
given at least y are mostly failures. Then the share is Kaplan and Meier's, which asks at each amount only the rows
still open there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.calibration.kaplan_meier import product_limit
from headgate.calibration.log import Log, Rows
from headgate.laws import Floats

LEAST = 20  # a share is not counted where fewer rows than this were given enough


class ArmLog(NamedTuple):
    """One arm's rows; `weights` may be a stack of resamples, (..., rows)."""

    allocation: Floats
    success: NDArray[np.bool_]
    threshold: Floats
    weights: Floats
    stopped: bool = False
    """Allocations are what was spent: of a success, its threshold."""
    least: float = LEAST

    @classmethod
    def of(cls, rows: Rows, arm: int, *, stopped: bool = False) -> ArmLog:
        """Pick the rows of one arm; what a log does not say was given was enough."""
        own = slice(*np.searchsorted(rows.arm, [arm, arm + 1]))
        count = rows.count[own].astype(np.float64)
        return cls(rows.allocation[own], rows.success[own], rows.threshold[own], count, stopped)

    def replay(self, amounts: Floats) -> Floats:
        """Return the share of successes at each amount, (..., amounts): 0 at 0, NaN where it cannot be known."""
        amounts = np.asarray(amounts, dtype=np.float64)
        rows, share = self._counted(amounts)
        share = np.where(rows >= self.least, share, np.nan)
        return np.where(amounts <= 0.0, 0.0, share)

    def row_counts(self, amounts: Floats) -> Floats:
        """Return how many rows tell of each amount, (..., amounts): of what was spent, those still open there."""
        return self._counted(np.asarray(amounts, dtype=np.float64))[0]

    def _counted(self, amounts: Floats) -> tuple[Floats, Floats]:
        return self._of_times(amounts) if self.stopped else self._of_allocations(amounts)

    def _of_allocations(self, amounts: Floats) -> tuple[Floats, Floats]:
        """How many rows were given each amount, and the share of them that succeeds within it."""
        enough = self.allocation[:, None] >= amounts * (1.0 - 1e-12)  # (rows, amounts)
        within = np.zeros(enough.shape, dtype=np.bool_)
        np.less_equal(self.threshold[:, None], amounts, out=within, where=self.success[:, None])
        rows = self.weights @ enough
        with np.errstate(invalid="ignore", divide="ignore"):
            return rows, np.asarray((self.weights @ (enough & within)) / rows)

    def _of_times(self, amounts: Floats) -> tuple[Floats, Floats]:
        """How many rows were still open at the last amount that ended one, and Kaplan and Meier's curve."""
        ended = np.where(self.success, self.threshold, self.allocation)
        grid, _, open_rows, survives = product_limit(ended, self.success, self.weights)
        at = np.searchsorted(grid, amounts * (1.0 + 1e-12), side="right") - 1
        beyond = amounts > grid[-1] * (1.0 + 1e-12)
        rows = np.where(beyond, 0.0, np.where(at >= 0, open_rows[..., np.maximum(at, 0)], open_rows[..., [0]]))
        return rows, np.where(at >= 0, 1.0 - survives[..., np.maximum(at, 0)], 0.0)


def stops(log: Log) -> bool:
    """Whether the log's allocations are what was spent: a success was given just what it took, always."""
    rows = log.rows
    if log.kind != "censored" or not rows.success.any():
        return False
    exact = rows.allocation[rows.success] <= rows.threshold[rows.success] * (1.0 + 1e-9)
    return bool(np.average(exact, weights=rows.count[rows.success]) > 0.99)


def replay(rows: Rows, arms: int, x: Floats, *, stopped: bool = False) -> Floats:
    """Return the share of successes of each arm at each of some allocations, (..., K) as `x`.

    >>> rows = Rows(np.zeros(3, int), np.array([4.0, 4.0, 2.0]), np.array([True, True, False]),
    ...             np.array([1.0, 3.0, np.nan]), np.array([10, 20, 10]))
    >>> replay(rows, 1, np.array([[0.0], [2.0], [4.0], [5.0]])).ravel()
    array([0.  , 0.25, 1.  ,  nan])
    """
    x = np.asarray(x, dtype=np.float64)
    shares = np.empty(x.shape)
    for arm in range(arms):
        shares[..., arm] = ArmLog.of(rows, arm, stopped=stopped).replay(x[..., arm].ravel()).reshape(x.shape[:-1])
    return shares
