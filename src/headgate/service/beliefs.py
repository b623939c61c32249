"""What an allocator believes: the estimates of its arms, the best allocation by them, and how sure it is of both.

Uncertainty of anything that is computed from an estimate is found from draws of (log rate, logit activation) from the
normal distribution around the maximum of the likelihood, with its curvature: what Thompson sampling draws from, too,
before it pools and calms. The draws' noise is fixed, so the same evidence always gives the same bands. A very weak
prior makes the curvature exist where nothing has been seen: there the bands are as wide as they can be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sqlalchemy import Connection, RowMapping

from headgate.estimators import Estimate, likelihood, maximum, weak_prior, whole_arms
from headgate.estimators.shapes import learn_shapes
from headgate.evidence import Evidence
from headgate.laws import Floats, Law
from headgate.oracle import Allocation, solve, standard_form
from headgate.service.engine.learner import Learner
from headgate.service.engine.transaction import UNITS
from headgate.service.spec import AllocatorSpec

LEVEL = 0.9
"""The nominal coverage of every interval and band."""
_Z = float(special.ndtri(0.5 + LEVEL / 2.0))
_DRAWS = 256


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
    value_interval: tuple[float, float]
    """Of the best allocation's expected reward."""
    theta: Floats
    """Draws of (log rate, logit activation), (draws, K, 2)."""
    shapes: Floats | None
    """Draws of a learned shape, (draws, K)."""

    def chance(self, arm: int, x: Floats) -> Floats:
        """Return p G(x) by the estimates."""
        law = self.law.of_arm(arm)
        return np.asarray(self.found.activation[arm] * law.cdf(x, self.found.rate[arm]))

    def chance_draws(self, arm: int, x: Floats) -> Floats:
        """Return p G(x) by every draw: (x, draws)."""
        law = self.law.of_arm(arm)
        if self.shapes is not None:
            law = law.with_shape(self.shapes[:, arm])  # the draws in place of the arms
        rate, activation = np.exp(self.theta[:, arm, 0]), special.expit(self.theta[:, arm, 1])
        with np.errstate(all="ignore"):  # rates of which nothing is known
            drawn = np.nan_to_num(activation * law.cdf(x[:, None], rate), nan=0.0)
        return np.asarray(drawn)

    def chance_band(self, arm: int, x: Floats) -> tuple[Floats, Floats]:
        """Return the band of p G(x), at each x by itself."""
        tail = (1.0 - LEVEL) / 2.0
        low, high = np.quantile(self.chance_draws(arm, x), [tail, 1.0 - tail], axis=1)
        return low, high


def believe(connection: Connection, row: RowMapping) -> Belief:
    """Return what an allocator believes, given its row."""
    learner = Learner(connection, row)
    policy, spec = learner.policy, learner.spec
    budget = typical_budget(row, spec.max_budget)
    with np.errstate(all="ignore"):  # arms of which nothing is known have infinite intervals
        found = likelihood(policy.law, policy.evidence, level=LEVEL)
        law = policy.law if found.shape is None else policy.law.with_shape(found.shape)
        limits = policy.limits(budget)
        best = solve(
            law, found.activation, found.rate, budget, lower=limits.lower, upper=limits.upper, reward=spec.reward,
            tol=1e-6,
        )  # fmt: skip
        theta, shapes = _draws(policy.law, policy.evidence)
    believed = Belief(
        spec, learner.active_names, law, policy.evidence, found, budget, best, (0.0, 0.0), theta, shapes
    )
    return replace(believed, value_interval=_value_interval(believed))


def typical_budget(row: RowMapping, max_budget: float) -> float:
    """Return the mean budget of complete decisions, or the largest there can be."""
    if not row["complete"] or not row["budget_units"]:
        return max_budget
    return float(min(row["budget_units"] * (max_budget / UNITS) / row["complete"], max_budget))


def _value_interval(belief: Belief) -> tuple[float, float]:
    """By the envelope theorem the allocation need not be solved again: to first order only the chances vary.

    They are independent, so the variances of what each arm adds are added up.
    """
    x = belief.best.x
    given = np.flatnonzero(x > 0.0)
    chances = np.array([belief.chance(arm, x[arm : arm + 1])[0] for arm in given])
    spread = np.array([belief.chance_draws(arm, x[arm : arm + 1]).std() for arm in given])
    if belief.spec.reward == "cascade":  # 1 - prod(1 - q): an arm counts only where all others fail
        missed = np.maximum(1.0 - chances, 1e-12)
        spread = spread * missed.prod() / missed
    half = _Z * float(np.sqrt(np.sum(spread**2)))
    value = float(belief.best.value)
    return max(value - half, 0.0), value + half


@cache
def _noise() -> NDArray[np.float64]:
    """Standard normal numbers, (draws, 3): Latin hypercubes, so that few of them do."""
    from scipy.stats import qmc  # noqa: PLC0415  # slow to import

    cube = qmc.LatinHypercube(3, rng=np.random.default_rng(6)).random(_DRAWS)
    return np.asarray(special.ndtri(cube))


def _draws(law: Law, evidence: Evidence) -> tuple[Floats, Floats | None]:
    noise, integer = _noise(), whole_arms(law, evidence.arms)
    learned, shape = law.shape_prior, None
    if learned is not None:
        shape = learn_shapes(law, learned, evidence, weak_prior(evidence), integer)
    form = standard_form(law, evidence.arms) if shape is None else shape.form
    fit = maximum(form, integer, evidence, weak_prior(evidence, form))
    c11, c12, c22 = np.moveaxis(fit.covariance, -1, 0)
    first = np.sqrt(c11)
    second = np.sqrt(np.maximum(c22 - c12**2 / c11, 0.0))
    theta = fit.theta + np.stack(
        [noise[:, :1] * first, noise[:, :1] * (c12 / first) + noise[:, 1:2] * second], axis=-1
    )  # ~ N(theta_hat, I^-1), by Cholesky
    if shape is None:
        return theta, None
    step = noise[:, 2:] * np.sqrt(shape.variance)
    return theta + shape.slope * step[..., None], np.exp(np.clip(shape.log_shape + step, -3.0, 3.0))
