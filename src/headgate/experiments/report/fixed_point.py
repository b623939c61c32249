"""Where RA-UCB ends if its radii vanish: the allocation that its own biased estimates lead back to, and what it loses.

The paper inverts mu(lambda) = E[X | X <= B], but a threshold that is seen lies below the allocation x. An arm that
always gets x is estimated at mu^-1(E[X | X <= x]) > lambda and p G(x, lambda) / G(x, lambda_hat) < p, however long it
is played; the best allocation for these estimates is another one, and so on, to a fixed point. What that loses to the
optimum is lost in every round: a floor under regret per round, that no T gets below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate.experiments.synthetic.exponential import BUDGET, RATES, draw_problem
from headgate.laws import Floats
from headgate.oracle import solve
from headgate.problem import Problem
from headgate.simulation import Draws

_STEPS = 60


def limits(problem: Problem, x: Floats, corrected: bool) -> tuple[Floats, Floats]:
    """Return what lambda_hat and p_hat tend to where each arm always gets x > 0: (K,) each.

    The corrected estimator solves E[X | X <= x] for the rate with the same truncation, and tends to the truth.
    """
    law = problem.law
    mean = law.truncated_mean(problem.rate, x)
    rate = np.clip(law.rate_of_truncated_mean(mean, x if corrected else np.full_like(x, BUDGET)), *RATES)
    return rate, np.minimum(problem.activation * law.cdf(x, problem.rate) / law.cdf(x, rate), 1.0)


def floor_of(problem: Problem, corrected: bool) -> float:
    """Return the regret per round at the fixed point, beginning at the optimum; idle arms keep their estimates."""
    best = problem.solve(BUDGET)
    x, rate, activation = best.x.copy(), problem.rate.copy(), problem.activation.copy()
    for step in range(_STEPS):
        on = x > 1e-9 * BUDGET
        estimates = limits(problem, np.where(on, x, BUDGET), corrected)
        rate, activation = (np.where(on, new, old) for new, old in zip(estimates, (rate, activation), strict=True))
        keep = 0.5 if step < _STEPS // 2 else 0.8  # damped, and more so towards the end
        x = keep * x + (1.0 - keep) * solve(problem.law, activation, rate, BUDGET).x
    return float(best.value - problem.expected_reward(x))


def floors(problems: int) -> dict[str, Any]:
    """Return the floors of so many problems of the paper's setting, by the paper's estimator and the corrected one."""
    drawn = [Draws(draw_problem).problem(0, run) for run in range(problems)]
    return {
        name: [floor_of(problem, corrected) for problem in drawn]
        for name, corrected in (("paper", False), ("corrected", True))
    }
