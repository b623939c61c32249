"""The likelihood of a law with an open shape, and its maximum, for many arms at once.

Everything is a handful of array operations on (points, arms); derivatives are central differences of the whole
likelihood, so one code serves every law, censored, truncated or not. The compiled kernels do this for known shapes
and evidence alone; here the shape is free and nothing pulls it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.calibration.fitting.family import Family
from headgate.calibration.fitting.points import Points
from headgate.laws import Floats, Law
from headgate.laws.gamma import GammaFamily

_NUDGE = 1e-4
_STEPS = 60
_LONGEST = 1.5  # the longest step, in a log or a logit

_SHRINK = 0.7  # a share of arms that is worth copying their points

Objective = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """The log likelihood of each arm as a function of theta."""

    family: Family
    points: Points

    def __call__(self, theta: Floats) -> Floats:
        """Return it at theta, (A,)."""
        return log_likelihood(self.family, self.points, theta)

    def only(self, arms: NDArray[np.int64]) -> Likelihood:
        """Return that of some of the arms."""
        return Likelihood(self.family.only(arms), self.points.only(arms))


def log_likelihood(family: Family, points: Points, theta: Floats) -> Floats:
    """Return the log likelihood of each arm at theta, (A,), in the units of the thresholds."""
    law, rate = family.law(theta), np.exp(theta[..., 0])
    with np.errstate(all="ignore"):
        density = law.log_pdf(points.thresholds, rate)
        total = _weighted(density, points.threshold_weight)
        if points.cure:
            log_p, log_q = special.log_expit(theta[..., -1]), special.log_expit(-theta[..., -1])
            total = total + points.successes * log_p
            if points.cut.shape[0]:
                log_failure = np.log(np.exp(log_q) + np.exp(log_p) * _survival(law, points.cut, rate))  # log(1 - p G)
                total = total + _weighted(log_failure, points.cut_weight)
        else:
            share = points.successes / np.maximum(points.trials, 1.0)
            missed = points.trials - points.successes
            total = total + special.xlogy(points.successes, share) + special.xlog1py(missed, -share)
        if points.truncated:
            total = total - np.sum(points.threshold_weight, axis=0) * log_inside(law, rate, points.low, points.high)
    return np.where(np.isfinite(total), total, -np.inf)


def _survival(law: Law, x: Floats, rate: Floats) -> Floats:
    """P(X > x), without the care for its tail that log_sf takes: it is added to 1 - p, which is above 1e-6."""
    if not isinstance(law, GammaFamily):
        return np.exp(law.log_sf(x, rate))
    a, b, c = law.abc
    w = c * (rate * x) ** b
    return np.exp(-w) if np.all(np.asarray(a) == 1.0) else np.asarray(special.gammaincc(a, w))


def log_inside(law: Law, rate: Floats, low: Floats, high: Floats) -> Floats:
    """log P(low <= X <= high)."""
    below = law.log_sf(np.ceil(low) - 1.0 if law.integer else low, rate)
    with np.errstate(all="ignore"):
        return np.asarray(below + np.log(-np.expm1(np.minimum(law.log_sf(high, rate) - below, 0.0))))


def _weighted(values: Floats, weights: Floats) -> Floats:
    """Sum over points; what has no weight does not count, be it infinite."""
    return np.asarray(np.sum(np.where(weights > 0.0, values, 0.0) * weights, axis=0))


def gradient(f: Objective, theta: Floats) -> Floats:
    """First derivatives, (A, d)."""
    with np.errstate(invalid="ignore"):
        columns = [(f(theta + step) - f(theta - step)) / (2.0 * _NUDGE) for step in _nudges(theta)]
    return np.stack(columns, axis=-1)


def hessian(f: Objective, theta: Floats, here: Floats) -> tuple[Floats, Floats]:
    """First and second derivatives, (A, d) and (A, d, d)."""
    steps = _nudges(theta)
    d = len(steps)
    above, below = [f(theta + step) for step in steps], [f(theta - step) for step in steps]
    second = np.zeros((*theta.shape, d))
    with np.errstate(invalid="ignore"):  # an arm that no parameters explain has no slope either
        first = np.stack([(a - b) / (2.0 * _NUDGE) for a, b in zip(above, below, strict=True)], axis=-1)
        for i in range(d):
            second[..., i, i] = (above[i] - 2.0 * here + below[i]) / _NUDGE**2
            for j in range(i):
                both = f(theta + steps[i] + steps[j]) + f(theta - steps[i] - steps[j])
                mixed = (both - above[i] - below[i] - above[j] - below[j] + 2.0 * here) / (2.0 * _NUDGE**2)
                second[..., i, j] = second[..., j, i] = mixed
    return first, second


def _nudges(theta: Floats) -> list[Floats]:
    return [_NUDGE * row for row in np.eye(theta.shape[-1])]


def climb(
    f: Likelihood, theta: Floats, lower: Floats, upper: Floats, worth: NDArray[np.bool_] | None = None
) -> tuple[Floats, Floats, Floats]:
    """Newton's method with step halving, every arm by itself; returns theta, the values and the Hessian.

    Arms that are not `worth` it, without a single success, stay where they are. An arm that reaches a bound stays on it
    while the slope points outwards. Arms that have arrived are not looked at again: a few are slow, most are not.
    """
    theta = np.clip(theta, lower, upper)
    value = f(theta)
    active = np.isfinite(value) if worth is None else np.isfinite(value) & worth
    arms, near = np.arange(value.size), f
    for _ in range(_STEPS):
        if not active.any():
            break
        if np.count_nonzero(active[arms]) < _SHRINK * arms.size:
            arms = np.flatnonzero(active)
            near = f.only(arms)
        here, low, high = value[arms], lower[arms], upper[arms]
        step = newton(*hessian(near, theta[arms], here), theta[arms], low, high)
        step *= np.minimum(1.0, _LONGEST / np.maximum(np.max(np.abs(step), axis=-1, keepdims=True), 1e-300))
        there, reached = _search(near, theta[arms], here, step, low, high, active[arms])
        moved = np.max(np.abs(there - theta[arms]), axis=-1)
        theta[arms], value[arms] = there, reached
        with np.errstate(invalid="ignore"):  # a ridge is not walked to its end
            active[arms] &= (moved > 1e-6) & (reached - here > 1e-9 + 1e-13 * np.abs(reached))
    _, bend = hessian(f, theta, value)
    return theta, value, bend


def _search(
    f: Likelihood, theta: Floats, value: Floats, step: Floats, lower: Floats, upper: Floats, active: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Go a step, or the first half, quarter, ... of it that is no worse; arms that are not active stay."""
    theta, value = theta.copy(), value.copy()
    arms, near = np.arange(value.size), f
    pending = active.copy()
    for half in range(25):
        if not pending.any():
            break
        if np.count_nonzero(pending[arms]) < _SHRINK * arms.size:
            arms = np.flatnonzero(pending)
            near = f.only(arms)
        trial = np.clip(theta[arms] + 0.5**half * step[arms], lower[arms], upper[arms])
        there = near(trial)
        better = pending[arms] & (there >= value[arms] - 1e-12 * np.abs(value[arms]))
        theta[arms[better]], value[arms[better]] = trial[better], there[better]
        pending[arms[better]] = False
    return theta, value


def newton(slope: Floats, bend: Floats, theta: Floats, lower: Floats, upper: Floats) -> Floats:
    """Return the step of each arm, with the curvature made positive and what is held by a bound left alone."""
    held = ((theta <= lower) & (slope <= 0.0)) | ((theta >= upper) & (slope >= 0.0))
    good = np.asarray(np.isfinite(slope).all(axis=-1) & np.isfinite(bend).all(axis=(-2, -1)))
    slope = np.where(held | ~good[..., None], 0.0, slope)
    curve = without(np.where(good[..., None, None], -bend, np.eye(theta.shape[-1])), held)
    values, vectors = np.linalg.eigh(curve)
    floor = np.maximum(1e-8 * np.max(np.abs(values), axis=-1, keepdims=True), 1e-8)
    turned = np.einsum("...ji,...j->...i", vectors, slope)
    return np.asarray(np.einsum("...ij,...j->...i", vectors, turned / np.maximum(np.abs(values), floor)))


def without(matrix: Floats, held: NDArray[np.bool_]) -> Floats:
    """Return the matrix with the rows and columns that are held replaced by those of the identity."""
    free = ~held
    kept = np.where(free[..., :, None] & free[..., None, :], matrix, 0.0)
    return np.asarray(kept + held[..., None] * np.eye(matrix.shape[-1]))


def polish(f: Objective, theta: Floats, bend: Floats, lower: Floats, upper: Floats, steps: int = 3) -> Floats:
    """Walk the rest of the way with a curvature from nearby: each step leaves about a thousandth of what was left."""
    for _ in range(steps):
        step = newton(gradient(f, theta), bend, theta, lower, upper)
        theta = np.clip(theta + np.clip(step, -_LONGEST, _LONGEST), lower, upper)
    return theta
