"""What better allocation would gain: the logged, the even and the best allocation, by the model and by replay.

Intervals are of the worth of these very allocations: every row is resampled, the model fitted again, and each
allocation valued again by the model and by replay of the same resample. The best allocation was chosen on the rows it
is replayed on, which flatters it a little; `held_out` is free of that: chosen on one half of the rows and replayed on
the other, averaged over random halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.calibration.fitting.choose import ArmFit
from headgate.calibration.fitting.points import quantiles
from headgate.calibration.log import Log
from headgate.calibration.replay import Seen, replay, stops
from headgate.calibration.resample import Refit, halves, poisson, refit
from headgate.calibration.tally import tally
from headgate.errors import BudgetError
from headgate.laws import Floats
from headgate.problem import Problem

_SPLITS = 5
_CELLS = 4_000_000  # rows times resamples drawn at once
Interval = tuple[float, float]
_UNKNOWN: Interval = (float("nan"), float("nan"))


@dataclass(frozen=True, slots=True, eq=False)
class Worth:
    """An allocation, and the expected successes a round it brings."""

    x: Floats
    model: float
    model_interval: Interval
    replay: float
    """NaN if some arm gets more than the log can tell of."""
    replay_interval: Interval


@dataclass(frozen=True, slots=True, eq=False)
class Gain:
    """One budget: what the allocations are worth, and by which share the best is better than the even split."""

    budget: float
    even: Worth
    best: Worth
    logged: Worth | None
    """In the proportions of the log's mean allocations; None where the log does not say what was given."""
    bound: float
    """No allocation is worth more, by the model: the certificate of the best one."""
    gap: float
    model_gain: float
    model_gain_interval: Interval
    replay_gain: float
    replay_gain_interval: Interval
    held_out: float
    """The gain in replay, chosen on one half of the rows and replayed on the other."""
    beyond: tuple[str, ...]
    """The arms whose best allocation is more than the log can replay."""

    @property
    def replayed(self) -> bool:
        """Whether the log can tell what the even and the best allocation bring, be it nothing."""
        return not (np.isnan(self.even.replay) or np.isnan(self.best.replay))


@dataclass(frozen=True, slots=True, eq=False)
class WorthByBudget:
    """Worth by budget, for a figure."""

    budget: Floats
    even: Floats
    best: Floats
    replay_even: Floats
    replay_best: Floats


def in_proportion(budget: float, weights: Floats, *, whole: bool) -> Floats:
    """Split in proportion to weights; whole units by the largest remainder, and to the first of equal ones.

    >>> in_proportion(7.0, np.ones(3), whole=True)
    array([3., 2., 2.])
    """
    x = budget * weights / np.sum(weights)
    if not whole:
        return np.asarray(x)
    floor = np.floor(x + 1e-9)
    left = int(np.floor(budget + 1e-9) - floor.sum())
    floor[np.argsort(-(x - floor), kind="stable")[:left]] += 1.0
    return np.asarray(floor)


def mean_allocations(log: Log) -> Floats | None:
    """What each arm was given on average, or None if the log does not say of every arm."""
    rows = log.rows
    said = np.isfinite(rows.allocation)
    count = np.where(said, rows.count, 0).astype(np.float64)
    spent = tally(rows.arm, count * np.where(said, rows.allocation, 0.0), log.arms)
    total = tally(rows.arm, count, log.arms)
    return np.asarray(spent / total) if np.all(total > 0.0) else None


def usual_budgets(log: Log) -> tuple[float, ...]:
    """A quarter, a half and all of what a round usually had: the log's budgets, its mean allocations, or medians."""
    given = mean_allocations(log)
    if log.budgets is not None and log.budgets.size:
        total = float(np.median(log.budgets))
    elif given is not None:
        total = float(given.sum())
    else:
        total = 0.0
        for arm in range(log.arms):
            seen = Seen.of(log.rows, arm)
            shown = np.isfinite(seen.threshold)
            if shown.any():
                total += float(quantiles(seen.threshold[shown], seen.weights[shown], (0.5,))[0])
    budgets = [float(f"{total * part:.3g}") for part in (0.25, 0.5, 1.0)]
    if log.whole:
        budgets = [max(1.0, float(round(budget))) for budget in budgets]
    return tuple(dict.fromkeys(budgets))


def gains(
    log: Log,
    arms: Sequence[ArmFit],
    problem: Problem,
    budgets: Sequence[float],
    *,
    level: float = 0.9,
    bootstrap: int = 200,
    seed: int = 0,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Gain]:
    """Value the allocations at each budget; `progress` is called with the number of arms resampled."""
    wanted = np.atleast_1d(checks.numbers("budget", budgets, BudgetError, open_least=True)).tolist()
    given, stopped = mean_allocations(log), stops(log)
    solved = [problem.solve(budget) for budget in wanted]
    splits = [np.ones(log.arms)] if given is None else [np.ones(log.arms), given]
    x = np.stack([  # (budgets, [even, best, perhaps logged], K)
        np.insert([in_proportion(budget, split, whole=log.whole) for split in splits], 1, best.x, axis=0)
        for budget, best in zip(wanted, solved, strict=True)
    ])  # fmt: skip
    refits, parts, model, replayed = _resampled(log, arms, x, bootstrap, np.random.default_rng(seed), progress)
    now_model = problem.success_probability(x).sum(axis=-1)
    now_replay = replay(log.rows, log.arms, x, stopped=stopped)
    found = []
    for i, (budget, solution) in enumerate(zip(wanted, solved, strict=True)):
        even, best, *logged = (
            Worth(
                x[i, j], float(now_model[i, j]), _ends(model[:, i, j], level),
                float(now_replay[i, j].sum()), _ends(replayed[:, i, j], level),
            )
            for j in range(x.shape[1])
        )  # fmt: skip
        found.append(
            Gain(
                budget, even, best, logged[0] if logged else None,
                bound=float(solution.bound), gap=float(solution.gap),
                model_gain=float(_ratio(best.model, even.model)),
                model_gain_interval=_ends(_ratio(model[:, i, 1], model[:, i, 0]), level),
                replay_gain=float(_ratio(best.replay, even.replay)),
                replay_gain_interval=_ends(_ratio(replayed[:, i, 1], replayed[:, i, 0]), level),
                held_out=_held_out(refits, parts, budget, even.x),
                beyond=tuple(np.array(log.names, dtype=object)[np.isnan(now_replay[i, 1])].tolist()),
            )
        )  # fmt: skip
    return found


def _resampled(
    log: Log,
    arms: Sequence[ArmFit],
    x: Floats,
    bootstrap: int,
    rng: np.random.Generator,
    progress: Callable[[int], None],
) -> tuple[list[Refit], list[Seen], Floats, Floats]:
    """Fits to random halves, the halves, and the worth of every allocation in every resample by model and replay."""
    refits, parts = [], []
    model, replayed = np.zeros((2, bootstrap, *x.shape[:-1]))
    stopped = stops(log)
    for arm, fit in enumerate(arms):
        seen = Seen.of(log.rows, arm, stopped=stopped)
        part = halves(seen, _SPLITS, rng)
        parts.append(part)
        refits.append(refit(fit, part, whole=log.whole))
        amounts, size = x[..., arm].ravel(), max(1, _CELLS // max(seen.weights.size, 1))
        for start in range(0, bootstrap, size):
            some = slice(start, min(start + size, bootstrap))
            drawn = poisson(seen, some.stop - start, rng)
            model[some] += refit(fit, drawn, whole=log.whole).success(amounts).reshape(model[some].shape)
            replayed[some] += drawn.replay(amounts).reshape(model[some].shape)
        progress(arm + 1)
    return refits, parts, model, replayed


def _held_out(refits: Sequence[Refit], parts: Sequence[Seen], budget: float, even: Floats) -> float:
    """Choose on one half, replay on the other, both ways, over all splits."""
    best, plain = 0.0, 0.0
    for half in range(2 * _SPLITS):
        other = half ^ 1
        laws, activation, rate = zip(*(fit.of(half) for fit in refits), strict=True)
        chosen = Problem(laws, activation, rate).solve(budget, tol=1e-6).x
        for arm, part in enumerate(parts):
            test = part._replace(weights=part.weights[other])
            share = test.replay(np.array([chosen[arm], even[arm]]))
            best, plain = best + share[0], plain + share[1]
    return float(_ratio(best, plain))


def worth_by_budget(log: Log, problem: Problem, budgets: Sequence[float], count: int = 33) -> WorthByBudget:
    """Worth of the even and of the best allocation for budgets up to a little more than those given."""
    most, stopped = 1.25 * max(budgets), stops(log)
    budget = np.linspace(0.0, most, count)[1:]
    if max(budgets) > 20.0 * min(budgets):
        budget = np.geomspace(0.5 * min(budgets), most, count)
    if log.whole:
        budget = np.unique(np.maximum(np.round(budget), 1.0))
    even = np.stack([in_proportion(float(b), np.ones(log.arms), whole=log.whole) for b in budget])
    best = np.stack([problem.solve(float(b), tol=1e-6).x for b in budget])
    return WorthByBudget(
        budget,
        problem.expected_reward(even),
        problem.expected_reward(best),
        replay(log.rows, log.arms, even, stopped=stopped).sum(axis=-1),
        replay(log.rows, log.arms, best, stopped=stopped).sum(axis=-1),
    )


def _ratio(better: ArrayLike, than: ArrayLike) -> Floats:
    """The gain of one worth over another; NaN over nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.asarray(than) > 0.0, np.divide(better, than) - 1.0, np.nan)


def _ends(values: Floats, level: float) -> Interval:
    """The middle `level` of the resamples; NaN if any resample cannot be valued."""
    if not values.size or np.isnan(values).any():
        return _UNKNOWN
    low, high = np.quantile(values, [0.5 - level / 2.0, 0.5 + level / 2.0])
    return float(low), float(high)
