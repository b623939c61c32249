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


def even_split(budget: float, arms: int, *, whole: bool) -> Floats:
    """Split evenly; whole units one by one to the first arms.

    >>> even_split(7.0, 3, whole=True)
    array([3., 2., 2.])
    """
    return in_proportion(budget, np.ones(arms), whole=whole)


def in_proportion(budget: float, weights: Floats, *, whole: bool) -> Floats:
    """Split in proportion to weights; whole units by the largest remainder."""
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
    wanted = np.atleast_1d(checks.numbers("budget", budgets, BudgetError, open_least=True))
    given = mean_allocations(log)
    plans: list[Floats] = []  # (K,) each: even, best and perhaps logged, budget after budget
    solved = [problem.solve(float(budget)) for budget in wanted]
    for budget, best in zip(wanted, solved, strict=True):
        plans += [even_split(float(budget), log.arms, whole=log.whole), best.x]
        if given is not None:
            plans.append(in_proportion(float(budget), given, whole=log.whole))
    x = np.stack(plans)
    rng = np.random.default_rng(seed)
    refits, parts, model, replayed = _resampled(log, arms, x, bootstrap, rng, progress)
    now_model, now_replay = (
        problem.success_probability(x).sum(axis=-1),
        replay(log.rows, log.arms, x, stopped=stops(log)),
    )
    found, each = [], len(plans) // len(wanted)
    for number, (budget, best) in enumerate(zip(wanted, solved, strict=True)):
        places = [each * number + i for i in range(each)]
        worth = [
            Worth(
                x[i], float(now_model[i]), _ends(model[:, i], level),
                float(now_replay[i].sum()), _ends(replayed[:, i], level),
            )
            for i in places
        ]  # fmt: skip
        even, top = places[:2]
        missing = np.isnan(now_replay[top])
        found.append(
            Gain(
                budget=float(budget), even=worth[0], best=worth[1], logged=worth[2] if each == 3 else None,
                bound=float(best.bound), gap=float(best.gap),
                model_gain=_ratio(worth[1].model, worth[0].model),
                model_gain_interval=_ends(_ratios(model[:, top], model[:, even]), level),
                replay_gain=_ratio(worth[1].replay, worth[0].replay),
                replay_gain_interval=_ends(_ratios(replayed[:, top], replayed[:, even]), level),
                held_out=_held_out(refits, parts, float(budget), x[even]),
                beyond=tuple(name for name, lost in zip(log.names, missing, strict=True) if lost),
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
    model, replayed = np.zeros((bootstrap, len(x))), np.zeros((bootstrap, len(x)))
    stopped = stops(log)
    for arm in range(log.arms):
        seen = Seen.of(log.rows, arm, stopped=stopped)
        part = halves(seen, _SPLITS, rng)
        parts.append(part)
        refits.append(refit(arms[arm], part, whole=log.whole))
        size = max(1, _CELLS // max(seen.weights.size, 1))
        for start in range(0, bootstrap, size):
            some = slice(start, min(start + size, bootstrap))
            drawn = poisson(seen, some.stop - start, rng)
            model[some] += refit(arms[arm], drawn, whole=log.whole).success(x[:, arm])
            replayed[some] += drawn.replay(x[:, arm])
        progress(arm + 1)
    return refits, parts, model, replayed


def _held_out(refits: Sequence[Refit], parts: Sequence[Seen], budget: float, even: Floats) -> float:
    """Choose on one half, replay on the other, both ways, over all splits."""
    best, plain = 0.0, 0.0
    for half in range(2 * _SPLITS):
        other = half ^ 1
        laws = [fit.law_of(half) for fit in refits]
        rate, activation = (np.array([getattr(f, name)[half] for f in refits]) for name in ("rate", "activation"))
        chosen = Problem(laws, activation, rate).solve(budget, tol=1e-6).x
        for arm, part in enumerate(parts):
            test = part._replace(weights=part.weights[other])
            share = test.replay(np.array([chosen[arm], even[arm]]))
            best, plain = best + share[0], plain + share[1]
    return _ratio(float(best), float(plain))


def worth_by_budget(log: Log, problem: Problem, budgets: Sequence[float], count: int = 33) -> WorthByBudget:
    """Worth of the even and of the best allocation for budgets up to a little more than those given."""
    most, stopped = 1.25 * max(budgets), stops(log)
    budget = np.linspace(0.0, most, count)[1:]
    if max(budgets) > 20.0 * min(budgets):
        budget = np.geomspace(0.5 * min(budgets), most, count)
    if log.whole:
        budget = np.unique(np.maximum(np.round(budget), 1.0))
    even = np.stack([even_split(float(b), log.arms, whole=log.whole) for b in budget])
    best = np.stack([problem.solve(float(b), tol=1e-6).x for b in budget])
    return WorthByBudget(
        budget,
        problem.expected_reward(even),
        problem.expected_reward(best),
        replay(log.rows, log.arms, even, stopped=stopped).sum(axis=-1),
        replay(log.rows, log.arms, best, stopped=stopped).sum(axis=-1),
    )


def _ratio(better: float, than: float) -> float:
    return better / than - 1.0 if than > 0.0 else float("nan")


def _ratios(better: Floats, than: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(than > 0.0, better / than - 1.0, np.nan)


def _ends(values: Floats, level: float) -> Interval:
    """The middle `level` of the resamples; NaN if any resample cannot be valued."""
    if not values.size or np.isnan(values).any():
        return _UNKNOWN
    low, high = np.quantile(values, [0.5 - level / 2.0, 0.5 + level / 2.0])
    return float(low), float(high)
