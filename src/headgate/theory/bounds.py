"""The paper's upper bounds on regret, with its constants, for any law.

They are what the paper states, so that a figure can show them; where a constant as printed does not follow from the
proof, the docstring says so. On the paper's own setting they are far above the trivial K T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import UnsupportedError
from headgate.laws import Exponential, Floats, RateRange
from headgate.problem import Problem
from headgate.theory.surrogate import SurrogateConstants, rates_within, surrogate_constants


@dataclass(frozen=True, slots=True)
class _Terms:
    """What both upper bounds are made of: Lipschitz constants, and the arms that get something at the optimum."""

    budget: float
    constants: SurrogateConstants
    p: Floats
    """Activations of the arms that get something at the optimum; the sums are over these."""
    C: Floats
    """C* = G(x*, m/B), as in the lemma on p_hat."""
    q: Floats
    """q* = p G(x*, lambda): their success probabilities."""

    @classmethod
    def of(cls, problem: Problem, budget: float, rate_range: RateRange | None) -> Self:
        B = float(checks.numbers("budget", budget, open_least=True))
        low, high = rates_within(B, rate_range)
        if problem.batch != () or problem.kinds is not None:
            raise UnsupportedError(
                f"the paper's constants are those of a single problem whose rounds are alike: {problem}"
            )
        constants = surrogate_constants(problem.law, B, (low, high))
        if isinstance(problem.law, Exponential):
            constants = _exponential(B, low * B, high * B)
        x = problem.solve(B).x
        S = x > 0.0
        p, C = problem.activation[S], problem.law.cdf(x[S], low)
        return cls(B, constants, p, C, p * problem.law.cdf(x[S], problem.rate[S]))


def _exponential(B: float, m: float, M: float) -> SurrogateConstants:
    """The exponential law's constants as the paper has them, in closed form and somewhat larger than need be."""
    D = 1.0 / M**2 - 1.0 / (4.0 * np.sinh(M / 2.0) ** 2) if M < 700.0 else 1.0 / M**2  # |g'(M)|
    return SurrogateConstants(
        L_lambda=B,
        L_mu=B**2 * float(D),
        L_delta=B / m,
        L_tilde=M * B * (m + 1.0) / m**2,
        L_tilde_boosted=B / m,
        g_max=M / B,
        mu_G=float(m**2 * np.exp(-M) / B**2),
        L_G=M**2 / B**2,
        L_g=M,
        L_g_boosted=1.0,
        boosting=0.0,
    )


def sqrt_upper_bound(problem: Problem, budget: float, rounds: ArrayLike, rate_range: RateRange | None = None) -> Floats:
    """RA-UCB's bound C_sqrt sqrt(K T log T) + 3 K^2 log T + 8 K^2; Lambda is [1/B, 80/B] by default.

    C_sqrt = sqrt(96) (C_1 sum (1 + p) / (C* sqrt(q*)) + C_2 sum 1 / q*), sums over the arms with x* > 0,
    C_1 = sqrt(8) B L_lambda / L_mu, C_2 = sqrt(2) (B / L_mu) (L_~lambda + L_lambda + L_~lambda' + 2 L_Delta), for any
    law that `surrogate_constants` knows, the exponential one with the paper's closed forms. The two smaller terms are
    those that the paper prints for the exponential law. It needs B L_lambda / L_mu >= sqrt(8/3), see `check`; its
    second sum could be over 1 / sqrt(q*), which is smaller. The paper prints for the exponential law 14 instead of
    sqrt(192), M (m+1) / m instead of M (m+1) / m^2 (the same for m = 1), and C* = G(x*, lambda), where the lemma that
    it stands on has G(x*, m/B), which is smaller and used here.
    """
    terms, K = _Terms.of(problem, budget, rate_range), problem.arms
    T, c = checks.numbers("rounds", rounds, least=1.0), terms.constants
    first = np.sqrt(8.0) * terms.budget * c.L_lambda / c.L_mu
    second = np.sqrt(2.0) * terms.budget / c.L_mu * (c.L_tilde + c.L_lambda + c.L_tilde_boosted + 2.0 * c.L_delta)
    sums = np.sum((1.0 + terms.p) / (terms.C * np.sqrt(terms.q))), np.sum(1.0 / terms.q)
    grows = np.sqrt(96.0) * (first * sums[0] + second * sums[1]) * np.sqrt(K * T * np.log(T))
    return np.asarray(grows + 3.0 * K**2 * np.log(T) + 8.0 * K**2)


def log_upper_bound(
    problem: Problem,
    budget: float,
    rounds: ArrayLike,
    rate_range: RateRange | None = None,
    least_activation: float | None = None,
) -> Floats:
    """RA-UCB's bound C_log (log T)^2 + (C_log + 3 K^2) log T + 8 K^2; p_min is the least activation by default.

    C_log = sum 15 K Gamma / q* over the arms with x* > 0, mu = p_min mu_G,
    Gamma = L_G (B / (mu L_mu))^2 (G_max L_lambda (1 + p) / C* + L_g,lambda + L_g,lambda')^2,
    for any law that `surrogate_constants` knows. The theorem prints 5 where
    the exponential case has 15: alpha = t^-3 makes log(1 / alpha) = 3 log t. Infinite where the surrogate is not
    strongly concave and smooth: S-shaped laws, and densities with a pole at 0. At M = 80 the exponential law's mu_G has
    e^-80, and enters squared.
    """
    terms, K = _Terms.of(problem, budget, rate_range), problem.arms
    T, c = checks.numbers("rounds", rounds, least=1.0), terms.constants
    p_min = float(problem.activation.min()) if least_activation is None else least_activation
    if c.mu_G <= 0.0 or not np.isfinite(c.L_G) or p_min <= 0.0:
        return np.full(T.shape, np.inf)
    with np.errstate(divide="ignore", over="ignore"):
        near = c.g_max * c.L_lambda * (1.0 + terms.p) / terms.C + c.L_g + c.L_g_boosted
        gamma = c.L_G * (terms.budget / (np.float64(p_min) * c.mu_G * c.L_mu)) ** 2 * near**2
        C_log = 15.0 * K * np.sum(gamma / terms.q)
    log = np.log(T)
    return np.asarray(C_log * log**2 + (C_log + 3.0 * K**2) * log + 8.0 * K**2)


def problem_independent_bound(arms: int, rounds: ArrayLike, rho: float) -> Floats:
    """K rho^(3/5) T^(4/5), for problems whose arms differ by at most a factor `rho` in u = lambda x*.

    Without constants and logarithms, which the paper drops on the way.
    """
    T = checks.numbers("rounds", rounds, least=1.0)
    ratio = float(checks.numbers("rho", rho, least=1.0))
    return np.asarray(arms * ratio**0.6 * T**0.8)


def rho(problem: Problem, budget: float) -> float:
    """max u / min u, u = lambda x*, over the arms that get something at the optimum: of this very problem."""
    _single_exponential(problem)
    u = problem.rate * problem.solve(budget).x
    u = u[u > 0.0]
    return float(u.max() / u.min())


def rho_bound(budget: float, price: float, least_activation: float, rate_range: RateRange) -> float:
    """Bound rho for all problems with rates in the range, p >= p_min and the price nu at the optimum.

    As printed: M^2/m^2 log(M / nu B) / log(p_min m / nu B). It says nothing (infinite) unless p_min m > nu B; and the
    factor M^2/m^2 is not needed, since u = log(p lambda / nu).
    """
    m, M = (float(v) * budget for v in checks.numbers("rate_range", rate_range, open_least=True))
    weakest = least_activation * m / (price * budget)
    if weakest <= 1.0:
        return float("inf")
    return float((M / m) ** 2 * np.log(M / (price * budget)) / np.log(weakest))


def discretisation_loss(arms: int, g_max: float, delta: float, rounds: ArrayLike) -> Floats:
    """(K + 1) G_max Delta T: what MG-UCB-Delta may lose to MG-UCB by pouring in steps of Delta.

    `g_max` bounds the slope of every surrogate curve. The lemma's other term, twice the sum of the parameters'
    mismatch, is not about the steps and not included.
    """
    T = checks.numbers("rounds", rounds, least=1.0)
    steep = checks.numbers("g_max", g_max) * checks.numbers("delta", delta)
    return np.asarray((arms + 1.0) * steep * T)


def _single_exponential(problem: Problem) -> None:
    if not isinstance(problem.law, Exponential) or problem.batch != () or problem.kinds is not None:
        raise UnsupportedError(f"the paper has constants for a single problem with the exponential law, got {problem}")
