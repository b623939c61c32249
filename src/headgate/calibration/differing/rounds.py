"""At least one success a round, from a log that says which rows shared one: nothing is assumed about their arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate import checks
from headgate.calibration.log import Log
from headgate.errors import BudgetError, InputError
from headgate.rounds import Choice, Rounds, choose

_PARTS = (0.1, 0.3, 1.0)  # the budgets by default, as shares of the most that an arm was given
_SHUFFLES = 999
Interval = tuple[float, float]
_UNKNOWN: Interval = (float("nan"), float("nan"))


@dataclass(frozen=True, slots=True, eq=False)
class RoundGain:
    """One budget: the allocation chosen, what to expect of it, and by how much it is better than the even split."""

    choice: Choice
    gain: float
    claim_interval: Interval
    gain_interval: Interval

    correlation: float
    """Mean correlation of two arms' successes within a round, each given the whole budget; 0 if independent."""
    p_value: float
    """How often it would be as far from 0 if arms were independent, by shuffling each arm's rounds."""

    @property
    def lost(self) -> float:
        """What independent arms would promise beyond what these rounds kept, with the same allocation."""
        return self.choice.independent - self.choice.fitted


@dataclass(frozen=True, slots=True, eq=False)
class RoundsFit:
    """What whole rounds say about the chance of at least one success."""

    names: tuple[str, ...]
    rounds: int
    gains: tuple[RoundGain, ...]
    held_out: Mapping[int, float]
    """Of rounds that were completed by kinds: mean log-likelihood of a round that was held out, by the number of kinds,
    of which the best is used; empty where all rounds were known."""
    level: float

    @property
    def kinds(self) -> int | None:
        """How many hidden kinds of rounds were used to complete rounds."""
        return max(self.held_out, key=lambda kinds: self.held_out[kinds]) if self.held_out else None


def rounds_of(log: Log) -> Rounds:
    """Return the log's rounds as a table; an arm that a round has twice is an error that names both."""
    records = log.records
    if records is None or records.round is None:
        raise InputError(
            "reward 'cascade' needs to know which rows share a round: read the log with "
            "Columns(round=..., keep_rounds=True), or give --round"
        )
    won = records.success & np.isnan(records.threshold)  # told too late: it had succeeded with what it was given
    reach = np.where(records.success, np.where(won, records.allocation, records.threshold), np.inf)
    names = [log.names[arm] for arm in records.arm]
    table = Rounds.from_rows(records.round.tolist(), names, reach, np.maximum(records.allocation, 0.0))
    order = [table.names.index(name) for name in log.names]
    return Rounds(table.thresholds[:, order], table.given[:, order], log.names)


def fit_rounds(
    log: Log, budgets: Sequence[float] | None = None, *, level: float = 0.9, bootstrap: int = 200, seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> RoundsFit:  # fmt: skip
    """Choose an allocation for each budget and claim what it will be worth, cross-fitted, with intervals by round.

    Rounds that are known up to the budget are optimised as they were; others are completed by kinds (EM over rounds).
    """
    table = rounds_of(log)
    budgets = np.atleast_1d(
        checks.numbers("budget", budgets or _usual(table), BudgetError, open_least=True)
    ).tolist()  # fmt: skip
    short = [budget for budget in budgets if not table.is_complete(budget)]
    held_out = table.kinds_held_out(max(short), seed=seed) if short else {}
    rng = np.random.default_rng(seed)
    gains = []
    for number, budget in enumerate(budgets):
        choice = choose(table, budget, seed=seed)
        claim, gain = choice.interval(level, bootstrap, seed) if bootstrap else (_UNKNOWN, _UNKNOWN)
        better = choice.claim / choice.even - 1.0 if choice.even > 0.0 else float("nan")
        rows = table.thresholds if choice.complete else table.completed(budget, copies=1, seed=seed)
        gains.append(RoundGain(choice, better, claim, gain, *dependence(rows <= budget, rng)))
        progress(number + 1)
    return RoundsFit(log.names, table.rounds, tuple(gains), held_out, level)


def dependence(won: NDArray[np.bool_], rng: np.random.Generator) -> tuple[float, float]:
    """Return the mean correlation of two arms' successes (N, K), and how often shuffled rounds have one as large.

    How much the number of successes a round varies beyond what independent arms would: the sum of the arms'
    covariances over that of the products of their standard deviations.
    """
    share = won.mean(axis=0)
    spread = np.sqrt(share * (1.0 - share))
    most = float(spread.sum() ** 2 - np.sum(spread**2))
    if most <= 0.0:
        return 0.0, 1.0
    alone = float(np.sum(spread**2))
    correlation = (float(won.sum(axis=1).var()) - alone) / most
    shuffled = np.array([rng.permuted(won, axis=0).sum(axis=1).var() - alone for _ in range(_SHUFFLES)]) / most
    return correlation, float(1 + np.count_nonzero(np.abs(shuffled) >= abs(correlation))) / (1 + _SHUFFLES)


def _usual(table: Rounds) -> list[float]:
    """A tenth, three tenths and all of the most that an arm was given, or needed where the log does not say."""
    amounts = table.given[np.isfinite(table.given)]
    reach = table.thresholds[np.isfinite(table.thresholds)]
    most = float(amounts.max() if amounts.size and amounts.max() > 0.0 else reach.max(initial=1.0))
    return [float(f"{part * most:.3g}") for part in _PARTS]
