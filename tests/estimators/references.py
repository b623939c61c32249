"""The cure model from the whole history: every round on its own, SciPy's optimiser, no bins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from headgate.evidence import Evidence
from headgate.laws import Floats, Law


class History(NamedTuple):
    """What each of N rounds gave and told, for one arm."""

    x: Floats
    success: NDArray[np.bool_]
    threshold: Floats

    def evidence(self, max_budget: float) -> Evidence:
        return Evidence.of_rows(np.zeros(self.x.size, dtype=np.int64), *self, arms=1, max_budget=max_budget)


def play(law: Law, activation: float, rate: float, x: Floats, rng: np.random.Generator) -> History:
    """Play the allocations `x` with one arm."""
    threshold = law.sample(rate, rng, x.shape)
    success = (rng.random(x.shape) < activation) & (threshold <= x)
    return History(x, success, np.where(success, threshold, np.nan))


def log_likelihood(law: Law, history: History, theta: Floats) -> float:
    """Sum of log(1 - p + p S(x)) over the failures and log p + log g(X) over the successes."""
    rate, p = np.exp(theta[0]), special.expit(theta[1])
    failed = history.x[~history.success]
    missing = np.exp(law.log_sf(failed, rate))
    lost = np.sum(np.log((1.0 - p) + p * missing))
    won = np.sum(np.log(p) + law.log_pdf(history.threshold[history.success], rate))
    return float(lost + won)


def maximum(law: Law, history: History, start: Floats) -> Floats:
    """The maximum likelihood theta = (log rate, logit activation)."""

    def lost(theta: Floats) -> float:
        return -log_likelihood(law, history, theta)

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.asarray(optimize.fmin(lost, start, xtol=1e-9, ftol=1e-10, maxiter=4000, disp=False))
