"""Success curves by kind and arm, at places that are close enough to prove a bound from.

At its places a curve is exact. Between two of them it lies below the straight line through the *raised* heights:
a distribution function whose density has one peak is convex before it, where the line itself is above it, and concave
after it, where it stays below both tangents and so at most (g_a - s)(s - g_b) / (g_a - g_b) times the width above the
line of slope s (g_a, g_b: the densities at both ends). Where that is not known the rise of the curve is taken instead,
which always holds. More places are put where the distance is largest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.laws import Floats, Law, PerKind, Points, law_of_kind
from headgate.oracle.limits import Limits

_CLOSE = 1e-8  # a line that misses its curve by less is not split
_PLACES = 3000  # the most amounts at which an arm is looked at
_UNITS = 4096  # an arm that counts in whole units is looked at in every one of them, if it may get at most so many
_QUANTILES = np.concatenate([[1e-6, 1e-4], np.linspace(0.0, 1.0, 25)[1:-1], [1.0 - 1e-3, 1.0 - 1e-6]])


@dataclass(frozen=True, slots=True, eq=False)
class KindCurves:
    """The curves of one problem within its limits."""

    share: Floats
    """pi: how frequent each kind is, (Q,)."""
    law: Law
    activation: Floats
    """(Q, K)."""
    rate: Floats
    """(Q, K)."""
    whole: NDArray[np.bool_]
    """Which arms count in whole units, (K,)."""
    lower: Floats
    upper: Floats
    """The least and the most that an arm can get within the budget, finite: (K,) each."""
    budget: float

    @classmethod
    def of(cls, law: Law, share: Floats, activation: Floats, rate: Floats, limits: Limits) -> KindCurves:
        """Take one problem (Q, K) and the limits of one budget; kinds that never come or are alike are joined."""
        law, share, activation, rate = different_kinds(law, share, activation, rate)
        arms, budget = rate.shape[-1], float(limits.budget)
        whole = law.whole_arms(arms)
        lower, upper = (np.broadcast_to(v, arms).astype(np.float64) for v in (limits.lower, limits.upper))
        lower, upper = np.where(whole, np.ceil(lower), lower), np.where(whole, np.floor(upper), upper)
        upper = np.clip(upper, lower, lower + max(budget - lower.sum(), 0.0))
        upper = np.where(whole, np.floor(upper * (1.0 + 1e-15)), upper)
        return cls(share, law, activation, rate, whole, lower, np.maximum(upper, lower), budget)

    @property
    def arms(self) -> int:
        """K."""
        return int(self.rate.shape[-1])

    def success(self, x: Floats) -> Floats:
        """p G(x) of every kind and arm at allocations (..., K): (..., Q, K)."""
        return np.asarray(self.activation * self.law.cdf(x[..., None, :], self.rate))

    def success_of(self, arm: int, x: Floats) -> Floats:
        """p G(x) of one arm in every kind at amounts (n,): (n, Q)."""
        chances = np.empty((x.size, self.share.size))
        for q in range(self.share.size):
            one = law_of_kind(self.law, q).of_arm(arm)
            chances[:, q] = self.activation[q, arm] * one.cdf(x, self.rate[q, arm])
        return chances

    def places(self, arm: int) -> tuple[Floats, Floats, Floats]:
        """Return amounts (n,), the heights of each kind's curve there and the raised heights, (Q, n) each."""
        low, high = self.lower[arm], self.upper[arm]
        if self.whole[arm]:
            units = np.arange(low, high + 1.0)
            if units.size > _UNITS:
                units = np.unique(np.round(np.append(np.geomspace(1.0, units.size, _UNITS) - 1.0 + low, high)))
            heights = self.success_of(arm, units).T
            raised = heights.copy()
            skipped = np.flatnonzero(np.diff(units) > 1.0)
            raised[:, skipped] = heights[:, skipped + 1]  # nothing is known of the units between but that they rise
            return units, heights, raised
        first = [np.array([low, high]), np.linspace(low, high, 17)]
        for q in range(self.share.size):
            one, rate = law_of_kind(self.law, q).of_arm(arm), self.rate[q, arm]
            if isinstance(one, Points):
                first.append(np.array(one.x) / rate)
            else:
                first += [one.quantile(_QUANTILES, rate), np.atleast_1d(one.inflection(rate))]
        x = np.concatenate(first)
        x = np.unique(x[(x >= low) & (x <= high)])
        while True:
            heights, far, apart = self._heights(arm, x)
            worst = np.max(self.share[:, None] * apart, axis=0, initial=0.0)
            split = np.flatnonzero((worst > _CLOSE) & (np.diff(x) > 1e-12 * high))
            split = split[np.argsort(-worst[split], kind="stable")[: max(_PLACES - x.size, 0)]]
            if split.size == 0:
                break
            # Where a curve starts with a pole its places crowd together, so halves in logarithm where that is nearer.
            a, b = x[split], x[split + 1]
            middle = np.where((a > 0.0) & (b > 4.0 * a), np.sqrt(a * b), 0.5 * (a + b))
            middle = np.where((a == 0.0) & (b > 1e-9 * high), 0.1 * b, middle)
            x = np.unique(np.append(x, middle))
        lift = np.maximum(np.append(far, np.zeros((len(far), 1)), axis=1), np.insert(far, 0, 0.0, axis=1))
        return x, heights, np.minimum(heights + lift, heights[:, -1:])

    def _heights(self, arm: int, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Heights (Q, n); how far each curve may be above the line between two places, and how far on either side."""
        heights = np.empty((self.share.size, x.size))
        far, apart = np.zeros((2, self.share.size, x.size - 1))
        width = np.diff(x)
        for q in range(self.share.size):
            one, rate, p = law_of_kind(self.law, q).of_arm(arm), self.rate[q, arm], self.activation[q, arm]
            heights[q] = np.maximum.accumulate(p * one.cdf(x, rate))
            if isinstance(one, Points):
                continue
            rise = np.diff(heights[q])
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                slope, density = rise / width, p * one.pdf(x, rate)
                left, right = density[:-1], density[1:]
                above = width * (left - slope) * (slope - right) / (left - right)
            above = np.where(np.isfinite(above), np.maximum(np.abs(above), 0.0) * (1.0 + 1e-9) + 1e-16, rise)
            above = np.where(left != right, np.minimum(above, rise), 1e-16)  # level, or rounding
            bend = float(one.inflection(rate))
            before, after = x[1:] <= bend, x[:-1] >= bend * (1.0 - 1e-12)
            apart[q] = np.where(before | after, above, rise)
            far[q] = np.where(before, 0.0, apart[q])
        return heights, far, apart


def different_kinds(law: Law, share: Floats, activation: Floats, rate: Floats) -> tuple[Law, Floats, Floats, Floats]:
    """Leave out kinds that never come, and join those that are alike: rates of arms that are never active are alike."""
    rows: dict[object, int] = {}
    total: list[float] = []
    for q in range(share.size):
        if share[q] <= 0.0:
            continue
        key = law_of_kind(law, q), activation[q].tobytes(), np.where(activation[q] > 0.0, rate[q], 1.0).tobytes()
        if key not in rows:
            rows[key] = q
            total.append(0.0)
        total[list(rows).index(key)] += float(share[q])
    kept = list(rows.values())
    if isinstance(law, PerKind):
        law = law.laws[kept[0]] if len(kept) == 1 else PerKind(tuple(law.laws[q] for q in kept))
    return law, np.array(total), activation[kept], rate[kept]
