"""Kaplan and Meier's estimate: how much of a law has been reached by each amount, whatever was censored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from headgate.calibration.tally import tally
from headgate.laws import Floats


def product_limit(
    amount: Floats, is_event: NDArray[np.bool_], weights: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the amounts at which rows ended and, at each, successes, rows still open and the share that survives.

    `weights` may be a stack of resamples, (..., rows); then so are all but the amounts.
    """
    grid, place = np.unique(amount, return_inverse=True)
    ended, events = (tally(place, w, grid.size) for w in (weights, weights * is_event))
    open_rows = np.cumsum(ended[..., ::-1], axis=-1)[..., ::-1]  # a row censored at x was still open at x
    with np.errstate(invalid="ignore", divide="ignore"):
        kept = np.where(open_rows > 0.0, 1.0 - events / open_rows, 1.0)
    return grid, events, open_rows, np.asarray(np.cumprod(kept, axis=-1), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class KaplanMeier:
    """P(success within x) = 1 - product of (1 - d / n) over the amounts up to x at which d of n still open succeed.

    For an arm that is not always active this curve levels off below 1: it estimates p G(x) itself, without a law.
    """

    amounts: Floats
    """Where successes were seen, increasing."""
    at_risk: Floats
    """How many rows were given at least so much and had not succeeded below it."""
    reached: Floats
    """The estimate at each amount, and up to the next."""
    variance: Floats
    """Greenwood's, of `reached`."""
    last: float
    """The largest amount anyone was given: beyond it nothing is known."""

    @classmethod
    def of(cls, amount: ArrayLike, is_event: ArrayLike, count: ArrayLike = 1.0) -> Self:
        """Estimate from where each row ended, whether by success, and how many such rows there were.

        >>> KaplanMeier.of([1.0, 2.0, 3.0], [True, False, True]).reached.round(3)
        array([0.333, 1.   ])
        """
        x = np.asarray(amount, dtype=np.float64)
        w = np.broadcast_to(np.asarray(count, dtype=np.float64), x.shape)
        grid, events, open_rows, survives = product_limit(x, np.asarray(is_event, dtype=np.bool_), w)
        some = events > 0.0
        d, n, survival = events[some], open_rows[some], survives[some]
        with np.errstate(divide="ignore", invalid="ignore"):
            greenwood = np.cumsum(np.where(n > d, d / (n * (n - d)), np.inf))
            variance = np.where(survival > 0.0, survival**2 * greenwood, 0.0)
        return cls(grid[some], n, 1.0 - survival, variance, float(grid[-1]) if grid.size else 0.0)

    def at(self, x: ArrayLike) -> Floats:
        """Return the estimate at x; NaN beyond the largest amount given."""
        x = np.asarray(x, dtype=np.float64)
        steps = np.concatenate([[0.0], self.reached])
        return np.where(x <= self.last, steps[np.searchsorted(self.amounts, x, side="right")], np.nan)

    def band(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """Return pointwise limits at each amount, normal in log(-log S): within [0, 1], as is usual."""
        z = float(special.ndtri(0.5 + level / 2.0))
        survival = 1.0 - self.reached
        with np.errstate(divide="ignore", invalid="ignore"):
            log_s = np.log(survival)
            spread = z * np.sqrt(self.variance) / (survival * -log_s)
            low, high = (1.0 - survival ** np.exp(sign * spread) for sign in (-1.0, 1.0))
        whole = ~(survival > 0.0)
        return np.where(whole, np.nan, low), np.where(whole, np.nan, high)
