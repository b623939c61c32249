"""What an allocator believes: the estimates of its arms, the best allocation by them, and how sure it is of that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sqlalchemy import Connection, RowMapping, select

from headgate.estimators import Estimate, Peak, likelihood, most_likely
from headgate.evidence import Evidence
from headgate.laws import Floats, Law
from headgate.oracle import Allocation, solve
from headgate.service.engine.features import ask_of_anybody
from headgate.service.engine.learner import Learner
from headgate.service.spec import AllocatorSpec
from headgate.service.store import schema

LEVEL = 0.9
"""The nominal coverage of every interval and band."""
Z = float(special.ndtri(0.5 + LEVEL / 2.0))
"""Their half width, in standard deviations."""
_H = 1e-3
_LATEST = 200  # decisions whose budgets are those that come
_GROUPS = 9


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """What is believed of the arms in use."""

    spec: AllocatorSpec
    names: list[str]
    law: Law
    """With learned shapes at their estimates."""
    evidence: Evidence
    """As far as it counts, where it fades."""
    positions: NDArray[np.intp]
    """Of the arms in use, among all."""
    trials: Floats
    """All there were, whatever counts of them: (K,)."""
    successes: Floats
    estimate: Estimate
    budget: float
    """The mean of complete decisions, or max_budget before there is one."""
    best: Allocation
    """By the estimates, at that budget."""
    value: float
    """Expected successes of the best allocation by the estimates, in the mean over the budgets that came lately."""
    value_interval: tuple[float, float]
    peak: Peak
    """The maximum of the likelihood that the estimates are read from."""

    def chance(self, arm: int, x: Floats) -> Floats:
        """Return p G(x) of an arm, by the estimates."""
        return np.asarray(self.estimate.activation[arm] * self.law.of_arm(arm).cdf(x, self.estimate.rate[arm]))


def believe(connection: Connection, row: RowMapping) -> Belief:
    """Return what an allocator believes, given its row."""
    learner = Learner(connection, row)
    law, evidence, budget = learner.law, learner.state.evidence, typical_budget(row, learner.spec.max_budget)
    with np.errstate(all="ignore"):  # arms of which nothing is known have infinite intervals
        estimate = likelihood(law, evidence, level=LEVEL)
        amounts, often = zip(*(_budgets(connection, row) or [(budget, 1)]), strict=True)
        value = float(np.average([_successes(learner, estimate, amount) for amount in amounts], weights=often))
        belief = Belief(
            learner.spec, learner.active_names, _at(estimate, law), evidence, learner.active,
            learner.evidence.trials[learner.active], learner.evidence.successes[learner.active], estimate, budget,
            best_by(learner, estimate, budget), value, (value, value), most_likely(law, evidence),
        )  # fmt: skip
        return replace(belief, value_interval=_value_interval(belief))


def best_by(learner: Learner, estimate: Estimate, budget: float) -> Allocation:
    """Return the best allocation of a budget to the arms in use, by their estimates."""
    ask = ask_of_anybody(learner.policy, budget)
    weight = estimate.activation if ask.value is None else estimate.activation * ask.value
    return solve(
        _at(estimate, learner.law), weight, estimate.rate, budget, lower=ask.limits.lower,
        upper=ask.limits.upper, reward=learner.spec.reward, tol=1e-6,
    )  # fmt: skip


def _successes(learner: Learner, estimate: Estimate, budget: float) -> float:
    """Return how many successes the best allocation lets expect: what it earns, where each is worth 1."""
    best = best_by(learner, estimate, budget)
    if ask_of_anybody(learner.policy, budget).value is None:
        return float(best.value)
    return float(np.sum(estimate.activation * _at(estimate, learner.law).cdf(best.x, estimate.rate)))


def _at(estimate: Estimate, law: Law) -> Law:
    """Return a law with learned shapes at their estimates."""
    return law if estimate.shape is None else law.with_shape(estimate.shape)


def typical_budget(row: RowMapping, max_budget: float) -> float:
    """Return the mean budget of complete decisions, or the largest there can be."""
    if not row["complete"] or not row["budget_units"]:
        return max_budget
    return float(min(row["budget_units"] * (max_budget / schema.BUDGET_UNITS) / row["complete"], max_budget))


def _budgets(connection: Connection, row: RowMapping) -> list[tuple[float, int]]:
    """Return the latest known budgets with how often each came; of many, groups of as many, each by its mean.

    What the best allocation promises at the mean budget is not what it promises in the mean over the budgets.
    """
    table = schema.decisions.c
    latest = select(table.budget).where(table.allocator_id == row["id"], table.round >= row["decisions"] - _LATEST)
    budgets = sorted(connection.execute(latest.where(table.budget.is_not(None))).scalars())
    values, often = np.unique(budgets, return_counts=True)
    if len(values) <= _GROUPS:
        return list(zip(values.tolist(), often.tolist(), strict=True))
    return [(float(np.mean(group)), len(group)) for group in np.array_split(budgets, _GROUPS)]


def _value_interval(belief: Belief) -> tuple[float, float]:
    """The delta method. By the envelope theorem the allocation need not be solved again: only the chances vary.

    They are independent, so the variances of what each arm adds are added up.
    """
    log_rate, logit = belief.peak.fit.theta[:, 0], belief.peak.fit.theta[:, 1]

    def chance(d_rate: Floats | float, d_logit: Floats | float, law: Law = belief.law) -> Floats:
        return np.asarray(special.expit(logit + d_logit) * law.cdf(belief.best.x, np.exp(log_rate + d_rate)))

    by_rate, by_logit = chance(_H, 0.0) - chance(-_H, 0.0), chance(0.0, _H) - chance(0.0, -_H)
    c11, c12, c22 = np.moveaxis(belief.peak.fit.covariance, -1, 0)
    variance = (by_rate**2 * c11 + 2.0 * by_rate * by_logit * c12 + by_logit**2 * c22) / (2.0 * _H) ** 2
    if belief.peak.shapes is not None:
        sides = []
        for h in (-_H, _H):
            moved = belief.law.with_shape(np.exp(belief.peak.shapes.log_shape + h))
            sides.append(chance(h * belief.peak.shapes.slope[:, 0], h * belief.peak.shapes.slope[:, 1], moved))
        variance = variance + ((sides[1] - sides[0]) / (2.0 * _H)) ** 2 * belief.peak.shapes.variance
    if belief.spec.reward == "cascade":  # 1 - prod(1 - q): an arm counts only where all others fail
        missed = np.maximum(1.0 - chance(0.0, 0.0), 1e-12)
        variance = variance * (missed.prod() / missed) ** 2
    cascade = belief.spec.reward == "cascade"
    at_best = float(belief.best.value) if cascade else float(np.sum(chance(0.0, 0.0)))
    half = Z * float(np.sqrt(np.nansum(variance))) * belief.value / max(at_best, 1e-300)
    return max(belief.value - half, 0.0), belief.value + half
