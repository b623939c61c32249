"""Replay: what another policy or law would have earned, read off an allocator's log, for `headgate replay`.

The policy goes through the log in its order (`headgate.service.replay_log`). It decides what was asked for, and learns
what was really given and came of it, as a shadow would. What its amounts would have brought:

- An arm that succeeded at its threshold succeeds with every amount from there on, and fails with less: known.
- An arm that failed with what it got fails with less, too: known. With more, nobody knows. `bounds` count all of these
  as failures, or all as successes: that holds whatever the law.
- `value` fills them in: P(success within x | not within a) = (F(x) - F(a)) / (1 - F(a)), with F Kaplan and Meier's
  estimate of the arm, without a law. That holds if an arm's threshold in a round does not depend on what it is given
  there, as where amounts are decided before anything of the round is seen, and if rounds are alike all over the log.
- Amounts at which fewer than `LEAST` rounds of an arm were still open are not identified: `value` counts no success
  beyond them, and the upper end of `interval` counts all.

`interval` is the bootstrap's, over decisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.calibration.replay import LEAST, ArmLog
from headgate.errors import InputError
from headgate.laws import Floats

_MOST_NUMBERS = 2_000_000
"""Weights of resamples that are held at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """Arms in decisions, one row each, by decision: what they got and brought, and what they would have got."""

    decision: NDArray[np.int64]
    """From 0 on, in order."""
    arm: NDArray[np.int64]
    amount: Floats
    """0 for an arm that got nothing."""
    success: NDArray[np.bool_]
    threshold: Floats
    """NaN: not a success, or one whose threshold nobody knows."""
    policy_amount: Floats
    """What it would have got."""
    value: Floats
    """Of a success."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a policy would have earned, per decision."""

    decisions: int
    """Complete ones that split a budget at once; these are compared."""
    left_out: int
    """Decisions that are not complete, schedules and live rounds."""
    earned: float
    """What was really earned."""
    value: float
    """The estimate of what would have been."""
    interval: tuple[float, float]
    bounds: tuple[float, float]
    """Without any assumption on laws."""
    difference: float
    """`value` less `earned`."""
    difference_interval: tuple[float, float]
    known: float
    """The share of amounts whose outcome the log tells for certain."""
    beyond: float
    """The share of amounts that are larger than what the log can tell of, even by Kaplan and Meier."""
    level: float


def estimate(
    trials: Trials,
    count: int,
    *,
    cascade: bool = False,
    left_out: int = 0,
    level: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> Replayed:
    """Return what the policy's amounts would have earned in `count` decisions, of which some may have no row."""
    if not 0.0 < level < 1.0:
        raise InputError(f"level must be within (0, 1), got {level!r}")
    if resamples < 2:
        raise InputError(f"resamples must be at least 2, got {resamples!r}")
    if not trials.decision.size:
        raise InputError("there is no complete decision that splits a budget at once: nothing can be replayed")
    sure, low, high = _certain(trials)
    open_rows = ~sure & (trials.policy_amount > 0.0)
    reach = _reach(trials)
    beyond = open_rows & (trials.policy_amount > reach[trials.arm])
    per = _Worth(trials, count, cascade)
    filled = _filled(trials, open_rows, np.ones(count), reach)
    at_least = np.where(open_rows, filled, low)
    at_most = np.where(beyond, 1.0, at_least)
    earned, value, top = per.of(trials.success), per.of(at_least), per.of(at_most)
    ends = []
    for weights in _weights(trials, count, resamples, seed):
        for fill, w in zip(_filled(trials, open_rows, weights, reach), weights, strict=True):
            under = np.where(open_rows, fill, low)
            both = [per.of(q) for q in (under, np.where(beyond, 1.0, under))]
            ends.append([float(w @ v / count) for v in (*both, both[0] - earned, both[1] - earned)])
    outer = np.quantile(np.array(ends), [0.5 - level / 2.0, 0.5 + level / 2.0], axis=0)
    total = max(int(np.sum(trials.policy_amount > 0.0)), 1)
    return Replayed(
        decisions=count,
        left_out=left_out,
        earned=float(earned.mean()),
        value=float(value.mean()),
        interval=(float(min(outer[0, 0], value.mean())), float(max(outer[1, 1], top.mean()))),
        bounds=(float(per.of(low).mean()), float(per.of(high).mean())),
        difference=float((value - earned).mean()),
        difference_interval=(float(outer[0, 2]), float(max(outer[1, 3], (top - earned).mean()))),
        known=1.0 - float(open_rows.sum()) / total,
        beyond=float(beyond.sum()) / total,
        level=level,
    )


def _certain(trials: Trials) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Return which outcomes the log tells, and the least and the most that each may be."""
    exact = trials.success & ~np.isnan(trials.threshold)
    within = np.zeros(len(exact), dtype=np.bool_)
    np.less_equal(trials.threshold, trials.policy_amount * (1.0 + 1e-12), out=within, where=exact)
    enough = trials.policy_amount >= trials.amount * (1.0 - 1e-12)
    less = trials.policy_amount <= trials.amount * (1.0 + 1e-12)
    sure = exact | np.where(trials.success, enough, less) | (trials.policy_amount <= 0.0)
    won = np.where(exact, within, trials.success & (trials.policy_amount > 0.0))
    return sure, np.where(sure, won, 0.0).astype(np.float64), np.where(sure, won, 1.0).astype(np.float64)


def _rows_of_arm(trials: Trials, arm: int, weights: Floats) -> ArmLog:
    """Return the rows of an arm that got something; a success of unknown threshold counts at its amount."""
    mine = (trials.arm == arm) & (trials.amount > 0.0)
    at = np.where(np.isnan(trials.threshold), trials.amount, trials.threshold)
    rows = trials.amount[mine], trials.success[mine], at[mine], weights[..., trials.decision[mine]]
    return ArmLog(*rows, stopped=True, least=0.0)


def _reach(trials: Trials) -> Floats:
    """Return the largest amount of each arm at which `LEAST` rows were still open; 0: none was."""
    reach = np.zeros(int(trials.arm.max()) + 1)
    for arm in range(reach.size):
        mine = (trials.arm == arm) & (trials.amount > 0.0)
        ends = np.where(trials.success & ~np.isnan(trials.threshold), trials.threshold, trials.amount)[mine]
        if ends.size >= LEAST:
            reach[arm] = np.sort(ends)[-LEAST]
    return reach


def _filled(trials: Trials, rows: NDArray[np.bool_], weights: Floats, reach: Floats) -> Floats:
    """Return the chance of success of these rows by Kaplan and Meier, as far as it is known: (..., rows), else 0."""
    chances = np.zeros((*weights.shape[:-1], len(rows)))
    for arm in np.unique(trials.arm[rows]):
        rows_of_arm = _rows_of_arm(trials, int(arm), weights)
        if reach[arm] <= 0.0:
            continue
        place = np.flatnonzero(rows & (trials.arm == arm))
        x, a = (np.minimum(v[place], reach[arm]) for v in (trials.policy_amount, trials.amount))
        points, back = np.unique(np.concatenate([x, a]), return_inverse=True)
        curve = np.nan_to_num(rows_of_arm.replay(points))[..., back]
        at_x, at_a = curve[..., : len(place)], curve[..., len(place) :]
        with np.errstate(invalid="ignore", divide="ignore"):
            more = np.where(at_a < 1.0, (at_x - at_a) / (1.0 - at_a), 0.0)
            less = np.where(at_a > 0.0, at_x / at_a, 0.0)
        chances[..., place] = np.clip(np.where(trials.success[place], less, more), 0.0, 1.0)
    return chances


class _Worth:
    """What decisions are worth, given the chance of success of each row."""

    def __init__(self, trials: Trials, count: int, cascade: bool) -> None:
        self._decision, self._value, self._count, self._cascade = trials.decision, trials.value, count, cascade

    def of(self, chance: Floats | NDArray[np.bool_]) -> Floats:
        """Return the worth of each decision: (decisions,)."""
        if not self._cascade:
            return np.asarray(np.bincount(self._decision, self._value * chance, self._count), dtype=np.float64)
        with np.errstate(divide="ignore"):
            missed = np.bincount(self._decision, np.log1p(-np.asarray(chance, dtype=np.float64)), self._count)
        return np.asarray(-np.expm1(missed), dtype=np.float64)


def _weights(trials: Trials, count: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Draw how often each decision is in a resample of as many, some resamples at a time: (n, decisions)."""
    rng, at_once = np.random.default_rng(seed), max(1, min(resamples, _MOST_NUMBERS // max(len(trials.arm), 1)))
    for first in range(0, resamples, at_once):
        times = rng.multinomial(count, np.full(count, 1.0 / count), min(at_once, resamples - first))
        yield times.astype(np.float64)
