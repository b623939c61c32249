"""The paper's lower bound on regret: as printed, as its proof gives it, and as sharp as its argument allows.

The hard family (paper, section "Problem-Independent Lower Bound"): a budget of 1, K exponential arms that are always
active, all of rate lambda but one, of rate lambda + eps, and nobody knows which. To earn much the better arm must get
nearly everything, and to find it out something must be given to it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.laws import Exponential, Floats
from headgate.problem import Problem

_CONSTANTS = {"printed": 48.0, "proved": 96.0}
_ZOOMS, _POINTS = 7, 41  # of the search for lambda and eps, each zoom to a quarter of the range


def lower_bound(arms: int, rounds: ArrayLike, constant: Literal["printed", "proved", "sharp"] = "printed") -> Floats:
    """Regret that no algorithm avoids on every problem of K arms within T rounds, K <= T: c K^(2/3) T^(1/3).

    With one arm there is nothing to learn, and the bound is 0; the theorem forgets to say K >= 2.

    Parameters
    ----------
    arms : int
        K, at least 1.
    rounds : float or array
        T, at least K.
    constant : "printed", "proved" or "sharp", default "printed"
        c = 1/48 as the theorem has it; 1/96, which is what its proof gives, (eps / 2)(T / 4) with
        eps = (K / T)^(2/3) / 12; or the largest that the same argument gives with the exact divergence and the best
        lambda and eps (`hard_family`), a c that depends on K and T: .14 to .21 at K = 10.

    Examples
    --------
    >>> lower_bound(10, 10_000).round(2).item(), lower_bound(10, 10_000, "proved").round(2).item()
    (2.08, 1.04)
    """
    count = checks.whole("arms", arms)
    T = checks.numbers("rounds", rounds, least=count)
    checks.choice("constant", constant, ("printed", "proved", "sharp"))
    if count == 1:
        return np.zeros(T.shape)
    if constant == "sharp":
        return np.array([hard_family(count, float(t)).bound for t in T.ravel()]).reshape(T.shape)
    return np.asarray(count ** (2.0 / 3.0) * T ** (1.0 / 3.0) / _CONSTANTS[constant])


class HardFamily(NamedTuple):
    """The two rates of a hard family, and the regret that no algorithm avoids on all of its problems."""

    arms: int
    rate: float
    """lambda"""
    eps: float
    bound: float

    def problem(self, better: int = 0) -> Problem:
        """Return the problem in which this arm is the better one; its budget is 1."""
        rates = np.full(self.arms, self.rate)
        rates[better] += self.eps
        return Problem(Exponential(), np.ones(self.arms), rates)


def hard_family(arms: int, rounds: float) -> HardFamily:
    """Return the hard family for K >= 2 arms and T rounds whose bound is the largest.

    Where no arm is better, some arm gets at most T/K in all. Making it better changes what is seen by a divergence of
    at most T kl(1/K), kl(x) = (1 - e^(-lambda x)) (eps / lambda - log(1 + eps / lambda)), which is exact and concave in
    the amount x; so it then gets at most x = 1/K + TV of each budget on average, TV the total variation that this
    divergence allows (Pinsker; Bretagnolle and Huber), and T times what x loses to the best split is a bound, because
    the reward is concave in x.
    """
    K, T = checks.whole("arms", arms, least=2), float(checks.numbers("rounds", rounds, least=arms))
    centre, width = np.array([-0.5, -0.5]) * np.log(T / K), np.array([0.5, 0.5]) * np.log(T / K) + 6.0
    for _ in range(_ZOOMS):
        log_rate, log_ratio = (c + w * np.linspace(-1.0, 1.0, _POINTS) for c, w in zip(centre, width, strict=True))
        rate, ratio = np.meshgrid(np.exp(log_rate), np.exp(log_ratio), indexing="ij")
        bound = _bound(K, T, rate, ratio)
        at = np.unravel_index(np.argmax(bound), bound.shape)
        centre, width = np.array([log_rate[at[0]], log_ratio[at[1]]]), width / 4.0
    return HardFamily(K, float(rate[at]), float(rate[at] * ratio[at]), float(bound[at]))


def _bound(K: int, T: float, rate: Floats, ratio: Floats) -> Floats:
    """The bound for lambda = `rate` and eps = `rate` times `ratio`."""
    better = rate * (1.0 + ratio)
    divergence = -T * np.expm1(-rate / K) * (ratio - np.log1p(ratio))
    variation = np.minimum(np.sqrt(divergence / 2.0), np.sqrt(-np.expm1(-divergence)))
    best = np.minimum((np.log1p(ratio) + rate / (K - 1.0)) / (better + rate / (K - 1.0)), 1.0)  # slopes are equal
    x = np.minimum(1.0 / K + variation, best)

    def reward(x: Floats) -> Floats:
        return np.asarray(-(K - 1.0) * np.expm1(-rate * (1.0 - x) / (K - 1.0)) - np.expm1(-better * x))

    return T * (reward(best) - reward(x))
