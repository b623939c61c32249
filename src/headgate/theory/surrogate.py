"""The constants of the paper's assumptions for any law: what G, mu and the surrogate G~ cost a bound.

G~(x, lambda, lambda') = 1 - s(lambda, lambda') (1 - G(x, lambda)), s the law's `boost`, so that its slope is g~ = s g
(paper, section "How to build G~"). The suprema are taken over a grid of x in [0, B] and lambda, lambda' in Lambda, and
so are slightly too small where they are not attained at an end; the exponential law's are attained at the ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from headgate import checks
from headgate.errors import ParameterError, UnsupportedError
from headgate.laws import Floats, Law, RateRange

_RATES, _AMOUNTS = 49, 161
_NUDGE = 1e-4  # the step in log lambda and log x of derivatives by central differences
_LEAST = 1e-9  # the smallest share of the budget at which a density without bound at 0 is looked at


class SurrogateConstants(NamedTuple):
    """What the paper's assumptions call Lipschitz, for one law, on [0, B] and Lambda; infinite where there is none."""

    L_lambda: float
    """|dG/dlambda| is at most this."""
    L_mu: float
    """|dmu/dlambda| is at least this; 0 where mu does not tell the rate."""
    L_delta: float
    """|G~ - G| is at most this times |lambda - lambda'| (uniform bias control)."""
    L_tilde: float
    """|dG~/dlambda|"""
    L_tilde_boosted: float
    """|dG~/dlambda'|"""
    g_max: float
    """g~ is at most this: infinite for densities with a pole at 0."""
    mu_G: float  # noqa: N815  # the paper's symbol
    """-dg~/dx is at least this; 0 or less where G~ is not strongly concave."""
    L_G: float
    """-dg~/dx is at most this."""
    L_g: float
    """|dg~/dlambda|"""
    L_g_boosted: float
    """|dg~/dlambda'|"""
    boosting: float
    """The largest d log g~ / dlog lambda, at most 0 if boosting is monotone."""


def rates_within(budget: float, rate_range: RateRange | None) -> RateRange:
    """Return Lambda, checked: [1/B, 80/B] by default, as in the paper's experiments."""
    if rate_range is None:
        return 1.0 / budget, 80.0 / budget
    ends = checks.numbers("rate_range", rate_range, open_least=True)
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ParameterError(f"rate_range must be (low, high) with 0 < low < high, got {rate_range!r}")
    return float(ends[0]), float(ends[1])


def surrogate_constants(law: Law, budget: float, rate_range: RateRange | None = None) -> SurrogateConstants:
    """Compute the constants of the paper's assumptions for one law, budget B and Lambda, [1/B, 80/B] by default.

    >>> from headgate.laws import Exponential
    >>> c = surrogate_constants(Exponential(), 40.0)
    >>> round(c.L_delta, 3), round(c.L_tilde_boosted, 3), round(c.g_max, 3)      # B/m, B/m, M/B
    (40.0, 40.0, 2.0)
    """
    B = float(checks.numbers("budget", budget, open_least=True))
    low, high = rates_within(B, rate_range)
    if law.arm_axis() != () or law.integer:
        raise UnsupportedError(f"the paper's constants are those of one smooth law, the same for every arm, got {law}")
    rate = np.geomspace(low, high, _RATES)[:, None]
    x = B * np.append(0.0, np.geomspace(_LEAST, 1.0, _AMOUNTS))
    up, down = rate * np.exp(_NUDGE), rate * np.exp(-_NUDGE)
    ends = np.array([low, high])  # s is monotone in lambda': its largest values are at the ends
    boost = law.boost(rate, ends)  # (rates, 2)
    slope_of_boost = (law.boost(rate, ends * np.exp(_NUDGE)) - law.boost(rate, ends * np.exp(-_NUDGE))) / (
        ends * (np.exp(_NUDGE) - np.exp(-_NUDGE))
    )
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        survival, density = np.exp(law.log_sf(x, rate)), law.pdf(x, rate)
        by_rate = 1.0 / (up - down)[..., None]
        tilde, dense = (
            (_boosted(law, f, x, up, ends) - _boosted(law, f, x, down, ends)) * by_rate
            for f in (lambda x, r: np.exp(law.log_sf(x, r)), law.pdf)
        )
        bend = -_slope(law, x[1:], rate)
        pole = bool(np.isinf(density[:, 0]).any())  # then the slope has no bound either
        largest, smallest = boost.max(axis=1, keepdims=True), boost.min(axis=1, keepdims=True)
        log_g = [np.log(law.boost(r, high)) + law.log_pdf(x[1:], r) for r in (up, down)]
        return SurrogateConstants(
            L_lambda=float(np.max(law.lipschitz_rate(B, (low, high)))),
            L_mu=float(np.min(law.lipschitz_mean(B, (low, high)))),
            L_delta=float(np.max(_bias(law, rate, low, high))),
            L_tilde=_largest(tilde),
            L_tilde_boosted=float(np.max(np.abs(slope_of_boost) * survival.max(axis=1, keepdims=True))),
            g_max=_largest(largest * density),
            mu_G=float(np.min(np.where(bend > 0.0, smallest, largest) * bend)),
            L_G=np.inf if pole else _largest(largest * bend),
            L_g=_largest(dense),
            L_g_boosted=_largest(np.abs(slope_of_boost)[:, None, :] * density[..., None]),
            boosting=float(np.nanmax((log_g[0] - log_g[1]) / (2.0 * _NUDGE))),
        )


def _boosted(law: Law, f: Callable[[Floats, Floats], Floats], x: Floats, rate: Floats, boosted: Floats) -> Floats:
    """s(lambda, lambda') f(x, lambda): (rates, amounts, boosted)."""
    return np.asarray(law.boost(rate, boosted)[:, None, :] * f(x, rate)[..., None])


def _bias(law: Law, rate: Floats, low: float, high: float) -> Floats:
    """|1 - s(lambda, lambda')| / |lambda - lambda'|, the bias where it is largest, at x = 0; all pairs."""
    other = np.geomspace(low, high, 2 * _RATES)  # never equal to a rate but at the ends
    apart = np.abs(rate - other)
    return np.where(apart > 1e-9 * high, np.abs(1.0 - law.boost(rate, other)) / np.maximum(apart, 1e-300), 0.0)


def _slope(law: Law, x: Floats, rate: Floats) -> Floats:
    """dg/dx, by central differences of the density; at B from below."""
    h = np.exp(_NUDGE)
    top = np.minimum(x * h, x[-1])
    return np.asarray((law.pdf(top, rate) - law.pdf(x / h, rate)) / (top - x / h))


def _largest(values: Floats) -> float:
    """The largest size; what is infinity less infinity at a pole does not count."""
    sizes = np.abs(values)
    return float(np.max(np.where(np.isnan(sizes), 0.0, sizes)))
