"""What better allocation would gain: the logged, the even and the best allocation, by the model and by replay.

Intervals are of the worth of these very allocations: rows are resampled (whole rounds, where the log says which rows
share one), the model fitted again, and each allocation valued again by the model and by replay of the same resample.
The best allocation was chosen on the rows it is replayed on, which flatters it a little; `held_out` is free of that:
chosen on one half of the rows and replayed on the other, averaged over random halves. What to do follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.calibration.fitting.choose import ArmFit
from headgate.calibration.log import Log
from headgate.calibration.replay import ArmLog, replay, stops
from headgate.calibration.resample import Refit, Refits, Resampler, refit
from headgate.calibration.splits import in_proportion, mean_allocations
from headgate.errors import BudgetError
from headgate.laws import Floats
from headgate.problem import Problem

_CELLS = 4_000_000  # rows times resamples drawn at once
_IDENTIFIED = 0.5  # the share of what the best allocation earns that must come from arms which the log identifies
Interval = tuple[float, float]
_UNKNOWN: Interval = (float("nan"), float("nan"))
Advice = Literal["change", "keep", "try"]
"""What to do with a budget: take the best allocation, keep what you do, or try it, since the log cannot tell."""


@dataclass(frozen=True, slots=True, eq=False)
class Worth:
    """An allocation, and the expected successes a round it brings."""

    x: Floats
    """By arm, (K,)."""
    model: float
    model_interval: Interval
    replay: float
    """NaN if some arm gets more than the log can tell of."""
    replay_interval: Interval
    model_by_arm: Floats
    """p G(x) of each arm, (K,)."""
    replay_by_arm: Floats
    """The share of successes of each arm that replay counts, (K,)."""


@dataclass(frozen=True, slots=True, eq=False)
class Gain:
    """One budget: what the allocations are worth, and by which share the best is better than the even split."""

    budget: float
    even: Worth
    best: Worth
    logged: Worth | None
    """In the proportions of the log's mean allocations; None where the log does not say what was given, or these are
    equal, and so the even split."""
    bound: float
    """No allocation is worth more, by the model: the certificate of the best one."""
    gap: float
    model_gain: float
    """NaN where it is withheld."""
    model_gain_interval: Interval
    replay_gain: float
    replay_gain_interval: Interval
    held_out: float
    """The gain in replay, chosen on one half of the rows and replayed on the other."""
    held_out_logged: float
    """The same over what was logged; NaN where the log does not say."""
    beyond: tuple[str, ...]
    """The arms whose best allocation is more than the log can replay."""
    withheld: bool = False
    """Whether the model's gain is not told: less than half of what the best allocation earns comes from arms of which
    the log tells activation and rate apart."""

    @property
    def replayed(self) -> bool:
        """Whether the log can tell what the even and the best allocation bring, be it nothing."""
        return not (np.isnan(self.even.replay) or np.isnan(self.best.replay))

    @property
    def advice(self) -> Advice:
        """What to do: change only for what beats the even split, and what was logged, in held-out replay.

        A gain whose interval by replay reaches 0 is not enough. Where nothing can be replayed: try, unless the model's
        gain is withheld too, or is none.
        """
        if np.isnan(self.held_out):
            return "try" if self.model_gain > 0.0 else "keep"
        if self.held_out <= 0.0 or self.held_out_logged <= 0.0 or self.replay_gain_interval[0] <= 0.0:
            return "keep"
        return "change"


def gains(
    log: Log,
    arms: Sequence[ArmFit],
    problem: Problem,
    budgets: Sequence[float],
    resampler: Resampler,
    *,
    level: float = 0.9,
    progress: Callable[[int], None] = lambda _: None,
) -> tuple[list[Gain], tuple[Refits, ...]]:
    """Value the allocations at each budget, and return each arm's fits to the resamples too.

    `progress` is called with the number of arms resampled.
    """
    budgets = np.atleast_1d(checks.numbers("budget", budgets, BudgetError, open_least=True)).tolist()
    means, stopped = mean_allocations(log), stops(log)
    solved = [problem.solve(budget) for budget in budgets]
    apart = means is not None and float(np.ptp(means)) > 1e-9 * float(np.max(means))
    splits = [np.ones(log.arms), means] if means is not None and apart else [np.ones(log.arms)]
    x = np.stack([  # (budgets, [even, best, perhaps logged], K)
        np.insert([in_proportion(budget, split, whole=log.whole) for split in splits], 1, best.x, axis=0)
        for budget, best in zip(budgets, solved, strict=True)
    ])  # fmt: skip
    halves, parts, refits, model, replayed = _resampled(log, arms, x, resampler, progress)
    now_model = problem.success_probability(x)
    now_replay = replay(log.rows, log.arms, x, stopped=stopped)
    identified = np.array([arm.identified for arm in arms])
    results = []
    for i, (budget, solution) in enumerate(zip(budgets, solved, strict=True)):
        even, best, *logged = (
            Worth(
                x[i, j], float(now_model[i, j].sum()), _ends(model[:, i, j], level),
                float(now_replay[i, j].sum()), _ends(replayed[:, i, j], level), now_model[i, j], now_replay[i, j],
            )
            for j in range(x.shape[1])
        )  # fmt: skip
        withheld = bool(now_model[i, 1][identified].sum() < _IDENTIFIED * best.model)
        over_even, over_logged = _held_out(halves, parts, budget, np.delete(x[i], 1, axis=0))
        results.append(
            Gain(
                budget, even, best, logged[0] if logged else None,
                bound=float(solution.bound), gap=float(solution.gap),
                model_gain=np.nan if withheld else float(_ratio(best.model, even.model)),
                model_gain_interval=_UNKNOWN if withheld else _ends(_ratio(model[:, i, 1], model[:, i, 0]), level),
                replay_gain=float(_ratio(best.replay, even.replay)),
                replay_gain_interval=_ends(_ratio(replayed[:, i, 1], replayed[:, i, 0]), level),
                held_out=over_even, held_out_logged=over_logged,
                beyond=tuple(np.array(log.names, dtype=object)[np.isnan(now_replay[i, 1])].tolist()),
                withheld=withheld,
            )
        )  # fmt: skip
    return results, refits


def _resampled(
    log: Log, arms: Sequence[ArmFit], x: Floats, resampler: Resampler, progress: Callable[[int], None]
) -> tuple[list[Refit], list[ArmLog], tuple[Refits, ...], Floats, Floats]:
    """Fits to random halves, the halves, fits to resamples, and the worth of every allocation in each of these."""
    halves, parts, refits = [], [], []
    model, replayed = np.zeros((2, resampler.count, *x.shape[:-1]))
    for arm, fit in enumerate(arms):
        rows = resampler.rows(arm)
        part = rows.halves()
        parts.append(part)
        halves.append(refit(fit, part, whole=log.whole))
        amounts, size = x[..., arm].ravel(), max(1, _CELLS // max(rows.size, 1))
        again = []
        for start in range(0, resampler.count, size):
            some = slice(start, min(start + size, resampler.count))
            drawn = rows.drawn(some)
            again.append(refit(fit, drawn, whole=log.whole))
            model[some] += again[-1].success(amounts).reshape(model[some].shape)
            replayed[some] += drawn.replay(amounts).reshape(model[some].shape)
        refits.append(Refits(tuple(again)))
        progress(arm + 1)
    return halves, parts, tuple(refits), model, replayed


def _held_out(refits: Sequence[Refit], parts: Sequence[ArmLog], budget: float, others: Floats) -> tuple[float, float]:
    """Choose on one half, replay on the other, both ways, over all splits: the gain over each of two other splits.

    `others` are the even one and, where the log says it, the logged one; NaN over what is not there.
    """
    total = np.zeros(1 + len(others))
    for half in range(parts[0].weights.shape[0]):
        laws, activation, rate = zip(*(fit.of(half) for fit in refits), strict=True)
        chosen = Problem(laws, activation, rate).solve(budget, tol=1e-6).x
        for arm, part in enumerate(parts):
            test = part._replace(weights=part.weights[half ^ 1])
            total += test.replay(np.array([chosen[arm], *others[:, arm]]))
    over = [float(_ratio(total[0], plain)) for plain in total[1:]]
    return over[0], over[1] if len(over) > 1 else float("nan")


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
