"""Checks of what the paper says about estimating, by exact numbers: bias, radii, and the lemmas behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize

import headgate as hg
from headgate import theory
from headgate.experiments.synthetic.exponential import ARMS, BUDGET, RATES, draw_problem
from headgate.laws import Law, Weibull
from headgate.simulation import Draws

_ALPHA = 0.05


def bias() -> dict[str, Any]:
    """What the paper's estimator tends to if arm (p, lambda) = (.5, .12) always gets a third of the budget."""
    law, p, rate, x = hg.Exponential(), 0.5, 0.12, BUDGET / 3.0
    seen, meant = float(law.truncated_mean(rate, x)), float(law.truncated_mean(rate, BUDGET))
    found = float(law.rate_of_truncated_mean(seen, BUDGET))
    activation = p * float(law.cdf(x, rate) / law.cdf(x, found))
    # The lemma's interval for mu is B sqrt(log(1/alpha) / 2n); beyond this n it cannot hold the truth any more.
    n = BUDGET**2 * np.log(1.0 / _ALPHA) / (2.0 * (meant - seen) ** 2)
    return {
        "rate": rate, "activation": p, "found_rate": found, "found_activation": activation,
        "seen_mean": seen, "assumed_mean": meant, "successes": int(np.ceil(n)), "alpha": _ALPHA,
    }  # fmt: skip


def radii() -> dict[str, Any]:
    """How wide the intervals are on the paper's setting, and how many successes make them say anything."""
    law = hg.Exponential()
    slope, lipschitz = float(law.lipschitz_mean(BUDGET, RATES)), float(law.lipschitz_rate(BUDGET, RATES))
    M = RATES[1] * BUDGET
    D = 1.0 / M**2 - 1.0 / (4.0 * np.sinh(M / 2.0) ** 2)
    log = 3.0 * np.log(1e4) / 2.0  # r^2 n at t' = 10,000
    rate_n = log * (BUDGET / slope / ((RATES[1] - RATES[0]) / 2.0)) ** 2
    reach = float(law.cdf(BUDGET / ARMS, RATES[0]))
    p_n = log * (lipschitz / slope * BUDGET * 1.5 / reach / 0.5) ** 2
    grid = np.geomspace(1e-3, 1e3, 2001)
    with np.errstate(over="ignore"):
        steep = np.abs(1.0 / (4.0 * np.sinh(grid / 2.0) ** 2) - 1.0 / grid**2)
    return {
        "inverse_D": 1.0 / D,
        "lipschitz_error": abs(slope / (BUDGET**2 * D) - 1.0),
        "condition": BUDGET * lipschitz / slope,
        "least_condition": float(1.0 / steep.max()),  # over every M: |g'| is largest at 0
        "rate_successes": float(rate_n),
        "activation_successes": float(p_n),
    }


def kullback() -> dict[str, Any]:
    """KL of two censored exponential laws against the lemma's bound, on random pairs."""
    rng = np.random.default_rng(1)
    rate, eps, x = np.exp(rng.uniform(-4.0, 2.0, (3, 20_000)))
    # Exactly (1 - e^(-lambda x)) (eps / lambda - log(1 + eps / lambda)): the second term of the bound is not needed.
    exact = -np.expm1(-rate * x) * (eps / rate - np.log1p(eps / rate))
    first, bound = eps**2 / (2.0 * rate) * x, eps**2 / (2.0 * rate) * x + eps * rate / 2.0 * x**2
    return {"pairs": rate.size, "worst": float(np.max(exact / bound)), "worst_first": float(np.max(exact / first))}


def hard_instance(arms: int = ARMS, rounds: int = 10_000) -> dict[str, Any]:
    """The lower bound's own problem: an even split there, and whether the proof's eps has its lambda."""
    eps = (arms / rounds) ** (2.0 / 3.0) / 12.0
    rate = np.sqrt(eps / 2.0) - eps
    rates = np.full(arms, rate)
    rates[0] += eps
    problem = hg.Problem(hg.Exponential(), activation=np.ones(arms), rate=rates)
    even = float(problem.solve(1.0).value - problem.expected_reward(np.full(arms, 1.0 / arms)))
    return {
        "eps": float(eps),
        "possible": bool(eps <= rate),
        "limit": 0.125,
        "even": even * rounds,
        "bound": float(theory.lower_bound(arms, rounds)),
        "rounds": rounds,
    }


def upper_bounds() -> dict[str, Any]:
    """From which horizon on the upper bounds are below the trivial K T; the median of 15 problems."""
    problems = [Draws(draw_problem).problem(0, run) for run in range(15)]
    from_rounds = []
    for problem in problems:

        def above(log_rounds: float, problem: hg.Problem = problem) -> float:
            T = float(np.exp(log_rounds))
            return float(np.log(theory.sqrt_upper_bound(problem, BUDGET, T)) - np.log(ARMS * T))

        from_rounds.append(float(np.exp(optimize.brentq(above, np.log(1e3), np.log(1e30)))))
    logs = [float(theory.log_upper_bound(problem, BUDGET, 1e5)) for problem in problems]
    return {"sqrt_rounds": float(np.median(from_rounds)), "log_bound": float(np.median(logs))}


def means() -> dict[str, Any]:
    """mu(lambda) / B as lambda -> 0: a half for the exponential law, k / (k + 1) for Weibull."""
    laws: dict[str, Law] = {
        "exponential": hg.Exponential(),
        "Weibull 1.6": Weibull(shape=1.6),
        "Weibull 2": Weibull(shape=2.0),
    }
    return {name: float(law.truncated_mean(1e-6, 1.0)) for name, law in laws.items()}
