"""Budgets, and the splits of them that are compared: even, as logged, and best; with what they earn by budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headgate.calibration.fitting.points import quantiles
from headgate.calibration.log import Log
from headgate.calibration.replay import ArmLog, replay, stops
from headgate.calibration.tally import tally
from headgate.laws import Floats
from headgate.problem import Problem


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
    rest = int(np.floor(budget + 1e-9) - floor.sum())
    floor[np.argsort(-(x - floor), kind="stable")[:rest]] += 1.0
    return np.asarray(floor)


def mean_allocations(log: Log) -> Floats | None:
    """What each arm was given on average, or None if the log does not say of every arm."""
    rows = log.rows
    known = np.isfinite(rows.allocation)
    count = np.where(known, rows.count, 0).astype(np.float64)
    spent = tally(rows.arm, count * np.where(known, rows.allocation, 0.0), log.arms)
    total = tally(rows.arm, count, log.arms)
    return np.asarray(spent / total) if np.all(total > 0.0) else None


def usual_budgets(log: Log) -> tuple[float, ...]:
    """A quarter, a half and all of what a round usually had: the log's budgets, its mean allocations, or medians."""
    means = mean_allocations(log)
    if log.budgets is not None and log.budgets.size:
        total = float(np.median(log.budgets))
    elif means is not None:
        total = float(means.sum())
    else:
        total = 0.0
        for arm in range(log.arms):
            arm_log = ArmLog.of(log.rows, arm)
            shown = np.isfinite(arm_log.threshold)
            if shown.any():
                total += float(quantiles(arm_log.threshold[shown], arm_log.weights[shown], (0.5,))[0])
    budgets = [float(f"{total * part:.3g}") for part in (0.25, 0.5, 1.0)]
    if log.whole:
        budgets = [max(1.0, float(round(budget))) for budget in budgets]
    return tuple(dict.fromkeys(budgets))


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
