"""What an allocator believes: the estimates of its arms, the best allocation by them, and how sure it is of that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import special
from sqlalchemy import Connection, RowMapping, select

from headgate.estimators import Estimate, Fit, likelihood, maximum, weak_prior, whole_arms
from headgate.estimators.shapes import ShapeFit, learn_shapes
from headgate.evidence import Evidence
from headgate.laws import Floats, Law
from headgate.oracle import Allocation, solve, standard_form
from headgate.service.engine.learner import Learner
from headgate.service.spec import AllocatorSpec
from headgate.service.store import schema

LEVEL = 0.9
"""The nominal coverage of every interval and band."""
_Z = float(special.ndtri(0.5 + LEVEL / 2.0))
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
    found: Estimate
    budget: float
    """The mean of complete decisions, or max_budget before there is one."""
    best: Allocation
    """By the estimates, at that budget."""
    value: float
    """The expected reward of the best allocation by the estimates, in the mean over the budgets that came lately."""
    value_interval: tuple[float, float]
    fit: Fit
    """The maximum itself, in (log rate, logit activation)."""
    prior: Floats
    """Of almost no weight, so that the maximum exists where nothing was seen."""
    shapes: ShapeFit | None
    """If the law's shape is learned."""

    def chance(self, arm: int, x: Floats) -> Floats:
        """Return p G(x) of an arm, by the estimates."""
        return np.asarray(self.found.activation[arm] * self.law.of_arm(arm).cdf(x, self.found.rate[arm]))


def believe(connection: Connection, row: RowMapping) -> Belief:
    """Return what an allocator believes, given its row."""
    learner = Learner(connection, row)
    policy, spec = learner.policy, learner.spec
    budget = typical_budget(row, spec.max_budget)
    with np.errstate(all="ignore"):  # arms of which nothing is known have infinite intervals
        found = likelihood(policy.laws, learner.state.evidence, level=LEVEL)
        law = policy.laws if found.shape is None else policy.laws.with_shape(found.shape)

        def best_of(amount: float) -> Allocation:
            limits = policy.ask(amount).limits
            return solve(
                law, found.activation, found.rate, amount, lower=limits.lower, upper=limits.upper, reward=spec.reward,
                tol=1e-6,
            )  # fmt: skip

        best = best_of(budget)
        came, often = zip(*(_budgets(connection, row) or [(budget, 1)]), strict=True)
        value = float(np.average([best_of(amount).value for amount in came], weights=often))
        fit, prior, shapes = _maximum(policy.laws, learner.state.evidence)
        believed = Belief(
            spec, learner.active_names, law, learner.state.evidence, found, budget, best, value, (value, value), fit,
            prior, shapes,
        )  # fmt: skip
        return replace(believed, value_interval=_value_interval(believed))


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
    known = sorted(connection.execute(latest.where(table.budget.is_not(None))).scalars())
    values, often = np.unique(known, return_counts=True)
    if len(values) <= _GROUPS:
        return list(zip(values.tolist(), often.tolist(), strict=True))
    return [(float(np.mean(group)), len(group)) for group in np.array_split(known, _GROUPS)]


def _maximum(law: Law, evidence: Evidence) -> tuple[Fit, Floats, ShapeFit | None]:
    integer, learned, shapes = whole_arms(law, evidence.arms), law.shape_prior, None
    if learned is not None:
        shapes = learn_shapes(law, learned, evidence, weak_prior(evidence), integer)
    form = standard_form(law, evidence.arms) if shapes is None else shapes.form
    prior = weak_prior(evidence, form)
    return maximum(form, integer, evidence, prior), prior, shapes


def _value_interval(belief: Belief) -> tuple[float, float]:
    """The delta method. By the envelope theorem the allocation need not be solved again: only the chances vary.

    They are independent, so the variances of what each arm adds are added up.
    """
    log_rate, logit = belief.fit.theta[:, 0], belief.fit.theta[:, 1]

    def chance(d_rate: Floats | float, d_logit: Floats | float, law: Law = belief.law) -> Floats:
        return np.asarray(special.expit(logit + d_logit) * law.cdf(belief.best.x, np.exp(log_rate + d_rate)))

    by_rate, by_logit = chance(_H, 0.0) - chance(-_H, 0.0), chance(0.0, _H) - chance(0.0, -_H)
    c11, c12, c22 = np.moveaxis(belief.fit.covariance, -1, 0)
    variance = (by_rate**2 * c11 + 2.0 * by_rate * by_logit * c12 + by_logit**2 * c22) / (2.0 * _H) ** 2
    if belief.shapes is not None:
        sides = []
        for h in (-_H, _H):
            moved = belief.law.with_shape(np.exp(belief.shapes.log_shape + h))
            sides.append(chance(h * belief.shapes.slope[:, 0], h * belief.shapes.slope[:, 1], moved))
        variance = variance + ((sides[1] - sides[0]) / (2.0 * _H)) ** 2 * belief.shapes.variance
    if belief.spec.reward == "cascade":  # 1 - prod(1 - q): an arm counts only where all others fail
        missed = np.maximum(1.0 - chance(0.0, 0.0), 1e-12)
        variance = variance * (missed.prod() / missed) ** 2
    half = _Z * float(np.sqrt(np.nansum(variance))) * belief.value / max(float(belief.best.value), 1e-300)
    return max(belief.value - half, 0.0), belief.value + half
