"""How a claim is decided: tests with a stated error rate, on numbers that could have come out otherwise.

Every interval has level 95%. A claim about a number is decided if the interval lies on one side of the bar, and is left
undecided otherwise: so one that is true is called false in at most 2.5% of all reproductions, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from headgate.experiments.base import LEVEL
from headgate.laws import Floats

_RESAMPLES = 2000
_SUBLINEAR = -0.25  # exponent of regret per round, halfway between that of T (0) and that of sqrt(T) (-1/2)


class Verdict(StrEnum):
    """What can be said of a claim."""

    HOLDS = "holds"
    ONLY = "holds only with …"
    FAILS = "does not hold"
    UNDECIDED = "not decided"
    OPEN = "not tested here"


class Interval(NamedTuple):
    """An estimate and its confidence interval."""

    value: float
    low: float
    high: float

    def show(self, form: str = ",.0f") -> str:
        """Write it for people: 12 [10, 15]."""
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"

    def below(self, bar: float) -> Verdict:
        """Decide whether the number is below the bar."""
        if self.high < bar:
            return Verdict.HOLDS
        return Verdict.FAILS if self.low > bar else Verdict.UNDECIDED

    def above(self, bar: float) -> Verdict:
        """Decide whether the number is above the bar."""
        return Interval(-self.value, -self.high, -self.low).below(-bar)


def mean_of(values: ArrayLike) -> Interval:
    """Return the mean over runs or problems, by Student's t; a single one has no interval."""
    runs = np.asarray(values, dtype=np.float64)
    centre = float(runs.mean())
    if runs.size < 2:
        return Interval(centre, -np.inf, np.inf)
    half = float(stats.t.ppf(0.5 + LEVEL / 2.0, runs.size - 1)) * float(runs.std(ddof=1)) / runs.size**0.5
    return Interval(centre, centre - half, centre + half)


def share_of(count: int, total: int) -> Interval:
    """Return a share, by Clopper and Pearson."""
    interval = stats.binomtest(count, total).proportion_ci(LEVEL, "exact")
    return Interval(count / total, float(interval.low), float(interval.high))


def ratio_of_variances(first: ArrayLike, second: ArrayLike) -> Interval:
    """Return var(first) / var(second) of paired runs, by resampling the pairs."""
    pairs = np.stack([np.asarray(v, dtype=np.float64) for v in (first, second)])
    spread = pairs.var(axis=1, ddof=1) if pairs.shape[1] > 1 else np.ones(2)
    return _resampled(
        float(spread[0] / max(spread[1], 1e-300)),
        pairs.shape[1],
        lambda who: np.divide(*np.maximum(pairs[:, who].var(axis=-1), 1e-12 * np.maximum(spread[1], 1e-300))),
    )


def paid_in(rounds: ArrayLike, runs: ArrayLike, window: tuple[float, float]) -> Floats:
    """Return regret per round of each run within a window of rounds; `runs` is cumulative, (runs, checkpoints)."""
    at, regret = np.asarray(rounds), np.asarray(runs, dtype=np.float64)
    return np.asarray([np.diff(np.interp(window, at, run))[0] / (window[1] - window[0]) for run in regret])


def growth_of(rounds: ArrayLike, runs: ArrayLike) -> Interval:
    """Return the exponent with which regret per round changes between the windows (T/4, T/2] and (T/2, T].

    0 if regret grows linearly, -1/2 as sqrt(T), about -1 as log T; `runs` is cumulative regret, (runs, checkpoints).
    Whole runs are resampled. Cumulative regret itself would hide a floor behind what the first rounds have cost.
    """
    last = float(np.asarray(rounds)[-1])
    windows = ((last / 4.0, last / 2.0), (last / 2.0, last))
    paid = np.stack([paid_in(rounds, runs, window) for window in windows], axis=1)

    def exponent(mean: Floats) -> Floats:
        earlier, later = np.maximum(mean, 1e-12)
        return np.asarray(np.log(later / earlier) / np.log(2.0))

    return _resampled(float(exponent(paid.mean(axis=0))), len(paid), lambda who: exponent(paid.T[:, who].mean(axis=-1)))


def _resampled(value: float, size: int, statistic: Callable[[NDArray[np.int64]], Floats]) -> Interval:
    """An interval by resampling runs, with a seed of its own; fewer than 5 runs decide nothing."""
    if size < 5:
        return Interval(value, -np.inf, np.inf)
    who = np.random.default_rng(7).integers(0, size, (_RESAMPLES, size))
    tails = (0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0)
    low, high = np.quantile(statistic(who), tails)
    return Interval(value, float(low), float(high))


def sublinear(growth: Interval) -> Verdict:
    """Decide whether regret grows clearly less than linearly."""
    return growth.below(_SUBLINEAR)


def linear(growth: Interval) -> Verdict:
    """Decide whether regret grows about linearly."""
    return growth.above(_SUBLINEAR)


def all_of(*verdicts: Verdict) -> Verdict:
    """A claim of several parts: it fails with any of them, and holds with all."""
    for worst in (Verdict.FAILS, Verdict.UNDECIDED, Verdict.OPEN):
        if worst in verdicts:
            return worst
    return Verdict.HOLDS


def or_only(as_written: Verdict, with_condition: Verdict) -> Verdict:
    """A claim that may hold as written, or with a condition only."""
    if as_written is Verdict.HOLDS:
        return Verdict.HOLDS
    if with_condition is Verdict.HOLDS:
        return Verdict.ONLY if as_written is Verdict.FAILS else Verdict.UNDECIDED
    return as_written if as_written is with_condition else Verdict.UNDECIDED
