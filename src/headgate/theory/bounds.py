"""The paper's bounds on regret, with its constants.

They are what the paper states, so that a figure can show them; where a constant as printed does not follow from the
proof, the docstring says so. On the paper's own setting the upper bounds are far above the trivial K T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import ParameterError, UnsupportedError
from headgate.laws import Exponential, Floats, RateRange
from headgate.problem import Problem


def lower_bound(arms: int, rounds: ArrayLike) -> Floats:
    """K^(2/3) T^(1/3) / 48: no algorithm guarantees less for every problem (K <= T).

    >>> lower_bound(10, 10_000).round(2).item()
    2.08
    """
    T = checks.numbers("rounds", rounds, least=arms)
    return np.asarray(arms ** (2.0 / 3.0) * T ** (1.0 / 3.0) / 48.0)


@dataclass(frozen=True, slots=True)
class _Exponential:
    """What the exponential bounds are made of."""

    budget: float
    m: float
    M: float
    D: float
    """|g'(M)|, the least slope of mu on Lambda, in units of B^2."""
    p: Floats
    """Activations of the arms that get something at the optimum; the sums are over these."""
    C: Floats
    """C* = 1 - exp(-lambda x*)"""

    @property
    def q(self) -> Floats:
        """q* = p C*: their success probabilities."""
        return self.p * self.C

    @classmethod
    def of(cls, problem: Problem, budget: float, rate_range: RateRange | None) -> Self:
        _single_exponential(problem)
        B = float(checks.numbers("budget", budget, open_least=True))
        low, high = (1.0 / B, 80.0 / B) if rate_range is None else rate_range
        if not 0.0 < low < high:
            raise ParameterError(f"rate_range must be (low, high) with 0 < low < high, got {rate_range!r}")
        m, M = low * B, high * B
        D = 1.0 / M**2 - 1.0 / (4.0 * np.sinh(M / 2.0) ** 2) if M < 700.0 else 1.0 / M**2
        x = problem.solve(B).x
        S = x > 0.0
        C = -np.expm1(-problem.rate[S] * x[S])
        return cls(B, m, M, float(D), problem.activation[S], C)


def sqrt_upper_bound(problem: Problem, budget: float, rounds: ArrayLike, rate_range: RateRange | None = None) -> Floats:
    """RA-UCB's bound of order sqrt(K T log T) for the exponential law; Lambda is [1/B, 80/B] by default.

    As printed. Two constants do not follow from the proof: M (m+1) / m should be M (m+1) / m^2 (the same for m = 1),
    and the second sum could be over 1 / sqrt(q*), which is smaller.
    """
    e = _Exponential.of(problem, budget, rate_range)
    K, T = problem.arms, checks.numbers("rounds", rounds, least=1.0)
    first = 2.0 * np.sum((1.0 + e.p) / (e.C * np.sqrt(e.q)))
    second = (3.0 + e.m + e.M * (e.m + 1.0)) / e.m * np.sum(1.0 / e.q)
    grows = 14.0 / e.D * (first + second) * np.sqrt(K * T * np.log(T))
    return np.asarray(grows + 3.0 * K**2 * np.log(T) + 8.0 * K**2)


def log_upper_bound(
    problem: Problem,
    budget: float,
    rounds: ArrayLike,
    rate_range: RateRange | None = None,
    least_activation: float | None = None,
) -> Floats:
    """RA-UCB's bound of order (log T)^2 for the exponential law; p_min is the problem's least activation by default.

    The strong concavity mu = p_min m^2 e^-M / B^2 enters squared: at M = 80 the bound is of the order of 1e80. As
    printed, but with the sum over the arms that get something, without which it is infinite.
    """
    e = _Exponential.of(problem, budget, rate_range)
    K, T, B, M = problem.arms, checks.numbers("rounds", rounds, least=1.0), e.budget, e.M
    p_min = float(problem.activation.min()) if least_activation is None else least_activation
    with np.errstate(divide="ignore", over="ignore"):
        mu = np.float64(p_min) * e.m**2 * np.exp(-M) / B**2
        near = (M * (1.0 + e.p) / e.C + M + 1.0) ** 2  # the three terms of beta are a square
        beta = near / (B * e.D) ** 2
        C_log = 15.0 * K * M**2 / (mu * B) ** 2 * np.sum(beta / e.q)
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
    if not isinstance(problem.law, Exponential) or problem.batch != ():
        raise UnsupportedError(f"the paper has constants for a single problem with the exponential law, got {problem}")
