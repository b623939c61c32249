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
_LOG = 3.0 * np.log(1e4) / 2.0  # r^2 n at t' = 10,000


def bias(runs: int = 400) -> dict[str, Any]:
    """What the paper's estimator tends to, and how often its interval for mu misses, at x = B/3 and at x = B.

    Arm (p, lambda) = (.5, .12) always gets x. The lemma's interval is mu_hat +- B sqrt(log(1/alpha) / 2n), which misses
    with probability at most 2 alpha if thresholds have mean mu(lambda). At x = B/3 the mean is another one, and from
    some n on the interval cannot hold the truth any more; each run has twice as many successes.
    """
    law, p, rate = hg.Exponential(), 0.5, 0.12
    assumed_mean, rng = float(law.truncated_mean(rate, BUDGET)), np.random.default_rng(6)
    third = float(law.truncated_mean(rate, BUDGET / 3.0))
    n = int(np.ceil(BUDGET**2 * np.log(1.0 / _ALPHA) / (2.0 * (assumed_mean - third) ** 2)))
    tends = {}
    for name, x in (("third", BUDGET / 3.0), ("whole", BUDGET)):
        G = float(law.cdf(x, rate))
        means = law.quantile(rng.random((runs, 2 * n)) * G, rate).mean(axis=1)  # thresholds below x
        rates = law.rate_of_truncated_mean(means, BUDGET)
        rounds = 2 * n + rng.negative_binomial(2 * n, p * G, runs)  # until so many successes
        activation = np.minimum(2 * n / (rounds * law.cdf(x, rates)), 1.0)
        missed = np.abs(means - assumed_mean) >= BUDGET * np.sqrt(np.log(1.0 / _ALPHA) / (4.0 * n))
        tends[name] = {"missed": int(missed.sum()), "runs": runs, "activation": activation.tolist()}
    rate_limit = float(law.rate_of_truncated_mean(third, BUDGET))
    activation_limit = p * float(law.cdf(BUDGET / 3.0, rate) / law.cdf(BUDGET / 3.0, rate_limit))
    return {
        "rate": rate, "activation": p, "found_rate": rate_limit, "found_activation": activation_limit,
        "seen_mean": third, "assumed_mean": assumed_mean, "successes": n, "alpha": _ALPHA, "at": tends,
    }  # fmt: skip


def radii() -> dict[str, Any]:
    """How wide the intervals are on the paper's setting, and how many successes make them say anything.

    Also for ranges of rates that are small: M is what makes 1/D large, and the activation's radius stays wide without.
    """
    law = hg.Exponential()
    slope, lipschitz = float(law.lipschitz_mean(BUDGET, RATES)), float(law.lipschitz_rate(BUDGET, RATES))
    M = RATES[1] * BUDGET
    D = 1.0 / M**2 - 1.0 / (4.0 * np.sinh(M / 2.0) ** 2)
    rate_n = _LOG * (BUDGET / slope / ((RATES[1] - RATES[0]) / 2.0)) ** 2
    grid = np.geomspace(1e-3, 1e3, 2001)
    with np.errstate(over="ignore"):
        steep = np.abs(1.0 / (4.0 * np.sinh(grid / 2.0) ** 2) - 1.0 / grid**2)
    return {
        "inverse_D": 1.0 / D,
        "lipschitz_error": abs(slope / (BUDGET**2 * D) - 1.0),
        "condition": BUDGET * lipschitz / slope,
        "least_condition": float(1.0 / steep.max()),  # over every M: |g'| is largest at 0
        "rate_successes": float(rate_n),
        "activation_successes": _successes(RATES, BUDGET / ARMS),
        "least_successes": min(_successes((RATES[0], M / BUDGET), BUDGET) for M in (1.01, 1.2, 2.0, 4.0, 8.0)),
    }


def _successes(rates: tuple[float, float], x: float) -> float:
    """Successes from which on the radius of p = 1/2 is below 1/2, at t' = 10,000 and the allocation x."""
    law = hg.Exponential()
    slope, lipschitz = float(law.lipschitz_mean(BUDGET, rates)), float(law.lipschitz_rate(BUDGET, rates))
    return float(_LOG * (lipschitz / slope * BUDGET * 1.5 / float(law.cdf(x, rates[0])) / 0.5) ** 2)


def kullback() -> dict[str, Any]:
    """KL of two censored exponential laws against the lemma's bound, on random pairs."""
    rng = np.random.default_rng(1)
    rate, eps, x = np.exp(rng.uniform(-4.0, 2.0, (3, 20_000)))
    # Exactly (1 - e^(-lambda x)) (eps / lambda - log(1 + eps / lambda)): the second term of the bound is not needed.
    exact = -np.expm1(-rate * x) * (eps / rate - np.log1p(eps / rate))
    first, bound = eps**2 / (2.0 * rate) * x, eps**2 / (2.0 * rate) * x + eps * rate / 2.0 * x**2
    return {"pairs": rate.size, "worst": float(np.max(exact / bound)), "worst_first": float(np.max(exact / first))}


def hard_instance(runs: int) -> dict[str, Any]:
    """The lower bound's own family: the constants there are, and what Thompson pays on the worst of its problems."""
    grid = [(arms, arms * 10.0**power) for arms in (2, 3, 10, 100) for power in (0, 1, 2, 4, 6)]
    least = min(float(theory.lower_bound(*at, "sharp") / theory.lower_bound(*at)) for at in grid)
    rounds, family = 1000, theory.hard_family(ARMS, 1000)
    played = hg.simulate(family.problem(), {"thompson": hg.Thompson}, budget=1.0, rounds=rounds, runs=runs, seed=0)
    eps = (ARMS / rounds) ** (2.0 / 3.0) / 12.0
    return {
        "eps": float(eps),
        "possible": bool(eps <= np.sqrt(eps / 2.0) - eps),
        "least_ratio": least,
        "thompson": played.regret["thompson"][:, -1].tolist(),
        "sharp": family.bound,
        "bound": float(theory.lower_bound(ARMS, rounds)),
        "one_arm": float(theory.lower_bound(1, rounds)),
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


def surrogate() -> dict[str, Any]:
    """The least and the largest value of G~ on the paper's setting, over x, lambda and lambda'."""
    law, rate = hg.Exponential(), np.geomspace(*RATES, 33)
    x = BUDGET * np.linspace(0.0, 1.0, 41)[:, None, None]
    values = 1.0 - law.boost(rate[:, None], rate) * np.exp(law.log_sf(x, rate[:, None]))
    return {"least": float(values.min()), "most": float(values.max())}


def means() -> dict[str, Any]:
    """mu(lambda) / B as lambda -> 0: a half for the exponential law, k / (k + 1) for Weibull."""
    laws: dict[str, Law] = {
        "exponential": hg.Exponential(),
        "Weibull 1.6": Weibull(shape=1.6),
        "Weibull 2": Weibull(shape=2.0),
    }
    return {name: float(law.truncated_mean(1e-6, 1.0)) for name, law in laws.items()}
