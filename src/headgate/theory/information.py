"""The information limit: regret ~ c* ln T, for a learner that estimates as well as can be.

Near the optimum the problem is a smooth estimation problem. A learner that plays about x* every round knows
theta = (log p, log rate) of each arm after t rounds with covariance (t I)^-1, I the Fisher information of one round of
the cure model at x*; it plays x*(theta_hat), off by J (theta_hat - theta), J = dx*/dtheta; and it pays the curvature H
of the reward times that squared, (1/2) tr(J' H J I^-1) / t on average. Added up: c* ln T.

What this assumes
- The law is smooth, and known but for p and lambda.
- Every arm that matters gets something at the optimum, within (0, B), and keeps getting it. Arms with x* = 0 are
  left out: to learn that they deserve nothing costs a regret of its own, which is not in c*.
- T is large. As x* of an arm goes to 0 so does what a round tells about it, and c* grows without bound, but only a
  T that grows with it gets there. Averages of c* over random problems are ruled by such arms: show the median.
- p < 1: at p = 1 the estimate has nowhere to err to, and c* is too large.
- The optimum is unique and strict. S-shaped laws may have several that are nearly as good; telling them apart is not
  in c* either.
It is what efficient estimation pays, not a proved lower bound: a learner that knows the arms to be alike (a pooled
prior) may do better for a long time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headgate.errors import UnsupportedError
from headgate.laws import Floats, Law
from headgate.problem import Problem

_NUDGE = 1e-3  # the step, in a logarithm, of derivatives of fourth order: errors of 1e-12 and of 1e-16 / 1e-3
# Gauss and Legendre for the mean over q in (0, 1), graded towards 0, where the score may have a logarithm.
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_GRADE = (1.0 + _POINTS) / 2.0
_Q, _QW = _GRADE**4, 2.0 * _GRADE**3 * _WEIGHTS


class Information(NamedTuple):
    """The Fisher information of one round about theta = (log p, log rate) of each arm: (..., K) each."""

    activation: Floats
    mixed: Floats
    rate: Floats


def fisher_information(problem: Problem, x: ArrayLike) -> Information:
    """Return the Fisher information of one round of the cure model at the allocation `x`, arm by arm."""
    _smooth(problem)
    amount = np.asarray(x, dtype=np.float64)
    law, p, rate = problem.law, problem.activation, problem.rate
    G = law.cdf(amount, rate)
    fails = 1.0 - p * G
    dG = -np.exp(law.log_sf(amount, rate)) * _rate_slope(law.log_sf, amount, rate)  # dG/dlog(rate)
    # Successes: the mean of the squared score over thresholds below x, that is over G^-1(q G(x)), q ~ U(0, 1).
    lead = (-1, *(1,) * G.ndim)
    with np.errstate(divide="ignore", invalid="ignore"):
        thresholds = law.quantile(_Q.reshape(lead) * G, rate)
        score = _rate_slope(law.log_pdf, thresholds, rate)
    squared = np.sum(_QW.reshape(lead) * score**2, axis=0)
    return Information(p * G / fails, p * dG / fails, p * G * squared + (p * dG) ** 2 / fails)


def information_limit(problem: Problem, budget: ArrayLike) -> Floats:
    """Return c*, so that regret ~ c* ln T: one number, or one for each problem of a batch.

    See the module for what it assumes.

    >>> from headgate.laws import Exponential
    >>> information_limit(Problem(Exponential(), [0.9, 0.5], [0.5, 1.0]), 6.0).round(4).item()
    0.5097
    """
    _smooth(problem)
    x = np.asarray(problem.solve(budget).x)
    # An arm at the law's largest threshold, or where the price has underflowed, does not move with its parameters.
    law, p, rate = problem.law, problem.activation, problem.rate
    active = (x > 0.0) & (p * law.pdf(x, rate) > 1e-300) & (law.log_sf(x, rate) > -500.0)
    # Arms that get nothing are given something, so that nothing divides by 0, and then do not count.
    at = np.where(active, x, law.quantile(0.5, rate))
    slope = p * law.pdf(at, rate)  # the price nu, the same for all active arms
    H = -slope * _amount_slope(law, at, rate) / at  # curvature -p g'
    bend = _rate_slope(law.log_pdf, at, rate)  # d log g / d log rate, so d slope / d theta = slope (1, bend)
    I = fisher_information(problem, at)  # noqa: E741  # the paper's and everybody's symbol
    with np.errstate(divide="ignore", invalid="ignore"):
        determinant = I.activation * I.rate - I.mixed**2
        variance = slope**2 * (I.rate - 2.0 * bend * I.mixed + bend**2 * I.activation) / determinant
        give = np.where(active, 1.0 / H, 0.0)  # how far an arm moves per unit of slope
        # dx = (s - dnu) / H with sum dx = 0, and (1/2) sum H dx^2 on average over s with these variances.
        share = give / np.sum(give, axis=-1, keepdims=True)
        loss = np.where(active, variance * give * (1.0 - share), 0.0)
    return np.asarray(0.5 * np.sum(loss, axis=-1))


def _rate_slope(f: Callable[[Floats, Floats], Floats], x: Floats, rate: Floats) -> Floats:
    """d f(x, rate) / d log(rate)."""
    h = _NUDGE
    first = f(x, rate * np.exp(h)) - f(x, rate * np.exp(-h))
    second = f(x, rate * np.exp(2.0 * h)) - f(x, rate * np.exp(-2.0 * h))
    return np.asarray((8.0 * first - second) / (12.0 * h))


def _amount_slope(law: Law, x: Floats, rate: Floats) -> Floats:
    """d log g(x, rate) / d log(x)."""
    return _rate_slope(lambda r, amount: law.log_pdf(amount, r), rate, x)


def _smooth(problem: Problem) -> None:
    if problem.kinds is not None:
        raise UnsupportedError(f"the information limit takes rounds to be alike, got {problem}")
    if problem.law.whole_arms(problem.arms).any():
        raise UnsupportedError(f"the information limit needs a smooth law, got {problem.law}")
