"""The paper's extended pseudocode of RA-UCB, line by line: plain Python, bisection, sums over the whole history.

Exponential law, one learner, the whole budget B every round. It is the slow reference: of `RAUCB` in the tests, and of
every policy's speed in the benchmarks. Where the pseudocode is silent it does what `RAUCB` says it does: before a first
success, and after a boost that got nothing, an arm's interval is the whole range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from headgate.feedback import Feedback


class Arm(NamedTuple):
    """What is known of an arm."""

    n: int
    mu: float
    lam: float
    p: float
    x: float


def bisect(f: Callable[[float], float], low: float, high: float) -> float:
    """Find the root of a falling function."""
    for _ in range(200):
        middle = 0.5 * (low + high)
        if f(middle) > 0.0:
            low = middle
        else:
            high = middle
        if high - low <= 1e-15 * abs(middle):
            break
    return 0.5 * (low + high)


class PaperRAUCB:
    """Input: T, K, B; and m, M, which the paper takes as known."""

    def __init__(self, T: int, K: int, B: float, m: float = 1.0, M: float = 80.0, scale: float = 1.0) -> None:
        self.T, self.K, self.B, self.m, self.M, self.scale = T, K, B, m, M, scale
        self.t, self.t_prime, self.i = 1, 1, 0
        self.initial = int(math.log(T))
        # Of each arm: n, mu_hat, lambda_hat, p_hat and the last x, as updated; and the copy of t' that bounds use.
        self.now = [Arm(0, 0.0, m / B, 0.0, B) for _ in range(K)]
        self.copy = list(self.now)
        self.history: list[list[tuple[float, int]]] = [[] for _ in range(K)]  # (x_u, f_u) of each update
        # L_lambda = B and L_mu = B^2 |g'(M)|, g(z) = 1/z - 1/(e^z - 1).
        self.L_lambda = B
        self.L_mu = B**2 * abs(-1.0 / M**2 + math.exp(-M) / (1.0 - math.exp(-M)) ** 2)

    @property
    def n(self) -> list[int]:
        return [arm.n for arm in self.now]

    def allocate(self) -> list[float]:
        """Play x_t."""
        if self.t <= self.K * self.initial:
            return [self.B if k == self.i else 0.0 for k in range(self.K)]
        lam, other, p = [], [], []
        for k in range(self.K):  # boost arm i and penalise the others
            lam_low, lam_high, p_low, p_high = self._bounds(self.copy[k])
            lam.append(lam_low if k == self.i else lam_high)
            other.append(lam_high if k == self.i else lam_low)
            p.append(p_high if k == self.i else p_low)
        return self._surrogate_oracle(lam, other, p)

    def _bounds(self, arm: Arm) -> tuple[float, float, float, float]:
        """lambda-, lambda+, p-, p+."""
        B, C = self.B, 1.0 - math.exp(-self.m / self.B * arm.x)
        r_lam = r_p = math.inf
        if arm.n > 0:
            r = self.scale * math.sqrt(3.0 * math.log(self.t_prime) / (2.0 * arm.n))
            r_lam = B / self.L_mu * r
            r_p = self.L_lambda / self.L_mu * B * (1.0 + arm.p) / C * r if C > 0.0 else math.inf
        lam_low, lam_high = (min(self.M / B, max(self.m / B, arm.lam + sign * r_lam)) for sign in (-1, 1))
        p_low, p_high = (min(1.0, max(0.0, arm.p + sign * r_p)) for sign in (-1, 1))
        return lam_low, lam_high, p_low, p_high

    def _surrogate_oracle(self, lam: list[float], other: list[float], p: list[float]) -> list[float]:
        """P~: the price nu at which the demands log(p_k lambda'_k / nu) / lambda_k spend the budget, by bisection."""
        top = [p[k] * other[k] for k in range(self.K)]  # the surrogate's marginal at 0

        def demand(log_nu: float) -> list[float]:
            return [max(0.0, math.log(a) - log_nu) / b if a > 0.0 else 0.0 for a, b in zip(top, lam, strict=True)]

        high = math.log(max(top))  # demand is 0 there, and at least B one M lower
        return demand(bisect(lambda log_nu: sum(demand(log_nu)) - self.B, high - self.M - 1.0, high))

    def observe(self, x: list[float], feedback: Feedback) -> None:
        """Update only arm i."""
        i, f, F = self.i, bool(feedback.success[self.i]), float(feedback.threshold[self.i])
        self.history[i].append((float(x[i]), int(f)))
        n, mu, lam, p, _ = self.now[i]
        if f:
            n, mu = n + 1, (mu * n + F) / (n + 1)
        if n > 0:
            lam = self._mu_inverse(mu)
            reached = sum(1.0 - math.exp(-lam * x_u) for x_u, _ in self.history[i])
            p = min(1.0, sum(f_u for _, f_u in self.history[i]) / reached)
        self.now[i] = Arm(n, mu, lam, p, float(x[i]))
        self.t += 1
        if self.t <= self.K * self.initial:
            self.i = (self.t - 1) // self.initial
        elif self.t == self.K * self.initial + 1:
            self.i, self.copy = 0, list(self.now)
        else:
            self.i += 1
            if self.i == self.K:
                self.i, self.t_prime, self.copy = 0, self.t_prime + 1, list(self.now)

    def _mu_of(self, lam: float) -> float:
        """E[X | X <= B] = 1/lambda - B / (e^(lambda B) - 1)."""
        z = lam * self.B
        if z < 0.01:
            return self.B * (0.5 - z / 12.0 + z**3 / 720.0)
        return 1.0 / lam - self.B * math.exp(-z) / (1.0 - math.exp(-z))

    def _mu_inverse(self, mean: float) -> float:
        low, high = math.exp(-12.0) / self.B, math.exp(12.0) / self.B
        return bisect(lambda lam: self._mu_of(lam) - mean, low, high)
