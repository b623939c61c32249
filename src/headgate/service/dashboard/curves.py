"""What is drawn of an arm: its response curve p G(x), the band of it, and what was seen.

The band is, at each x, every p G(x) that the likelihood does not rule out: a pointwise likelihood-ratio band, the same
kind of interval as the estimates have. From the maximum the likelihood is followed in many directions of (log rate,
logit activation) until twice its logarithm has dropped by the cut of one degree of freedom; the band is the hull of the
curves there. Unlike a normal approximation it holds where an activation is near 1, or only activation times rate is
known. A direction in which nothing ever drops is followed for twelve standard deviations. Where a shape is learned, the
ends of its interval widen the band.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from headgate.estimators import maximum
from headgate.evidence import Evidence
from headgate.laws import Floats, PerArm
from headgate.oracle import standard_form
from headgate.service.beliefs import Belief, Z

_POINTS = 41  # at which a curve is drawn
_DIRECTIONS = 40  # in which the likelihood is followed
_FAR = 12.0  # standard deviations
_HALVINGS = 14
_GROUPS = 10
_ENOUGH = 8  # trials, below which a share says nothing


def reach(belief: Belief, arms: Sequence[int]) -> float:
    """Return how far the curves of these arms are drawn, the same for all so that they can be compared.

    Half as far again as the largest part of the best allocation, and as far as nearly all that was played.
    """
    most = belief.spec.max_budget
    far = 1.5 * max((float(belief.best.x[arm]) for arm in arms), default=0.0)
    for arm in arms:
        counts = belief.evidence.counts("played")[arm]
        if counts.sum() > 0.0:
            place = int(np.searchsorted(np.cumsum(counts), 0.97 * counts.sum()))
            far = max(far, float(belief.evidence.means("played")[arm, place]))
    if far <= 0.0:
        far = 3.0 * most / len(belief.names)
    return min(far, most)


def curve(belief: Belief, arm: int, edge: Floats, far: float) -> dict[str, Any]:
    """Return an arm's curve with its band, and the shares of success that were seen."""
    whole = bool(belief.law.of_arm(arm).integer)
    x = np.linspace(0.0, far, _POINTS)
    if whole:
        x = np.unique(np.round(x))
    low, high = band(belief, arm, edge, x)
    return {
        "x": _short(x),
        "y": _short(belief.chance(arm, x)),
        "low": _short(low),
        "high": _short(high),
        "whole": whole,
        "seen": seen(belief.evidence, arm, far),
    }


def seen(evidence: Evidence, arm: int, far: float) -> dict[str, Any]:
    """Return shares of success by what was given, in up to ten groups of neighbouring bins of as many trials.

    An arm's successes are known by their thresholds; how many there were at an allocation is what did not fail there.
    """
    played, failed = evidence.counts("played")[arm], evidence.counts("failed")[arm]
    total = played.sum()
    columns: dict[str, list[float]] = {"x": [], "share": [], "trials": []}
    if total <= 0.0:
        return columns
    amounts = played * evidence.means("played")[arm]
    group = np.minimum((np.cumsum(played) - played / 2.0) / total * _GROUPS, _GROUPS - 1).astype(int)
    for place in range(_GROUPS):
        inside = group == place
        trials = float(played[inside].sum())
        if trials < _ENOUGH or float(amounts[inside].sum()) / trials > far:
            continue
        columns["x"].append(float(amounts[inside].sum()) / trials)
        columns["share"].append(1.0 - float(failed[inside].sum()) / trials)
        columns["trials"].append(trials)
    return {key: _short(np.array(values)) for key, values in columns.items()}


def rim(belief: Belief, arms: Sequence[int]) -> Floats:
    """Return the rim of each arm's region of (log rate, logit activation): (directions, arms, 2)."""
    here = list(arms)
    evidence = Evidence(belief.evidence.max_budget, belief.evidence.bins[here], belief.evidence.edges)
    law = PerArm(tuple(belief.law.of_arm(arm) for arm in here))
    form, integer = standard_form(law, len(here)), belief.peak.whole[here]
    top, prior = belief.peak.fit.theta[here], belief.peak.prior[here]
    c11, c12, c22 = np.moveaxis(belief.peak.fit.covariance[here], -1, 0)
    angle = 2.0 * np.pi * np.arange(_DIRECTIONS)[:, None] / _DIRECTIONS
    first, second = np.cos(angle), np.sin(angle)
    way = np.stack(  # by Cholesky a circle becomes the ellipse of the curvature
        [first * np.sqrt(c11), first * c12 / np.sqrt(c11) + second * np.sqrt(np.maximum(c22 - c12**2 / c11, 0.0))],
        axis=-1,
    )

    def inside(distance: Floats) -> Floats:
        value = maximum(form, integer, evidence, prior, top + distance[..., None] * way, steps=0).value
        return np.asarray(2.0 * (most - value) <= Z**2)

    most = maximum(form, integer, evidence, prior, top, steps=0).value
    near, far = np.zeros(way.shape[:2]), np.full(way.shape[:2], _FAR)
    near = np.where(inside(far), far, near)
    for _ in range(_HALVINGS):
        middle = (near + far) / 2.0
        within = inside(middle)
        near, far = np.where(within, middle, near), np.where(within, far, middle)
    return np.asarray(top + near[..., None] * way)


def band(belief: Belief, arm: int, edge: Floats, x: Floats) -> tuple[Floats, Floats]:
    """Return the least and the largest p G(x) on an arm's rim, (directions, 2), and at its estimate."""
    law = belief.law.of_arm(arm)
    with np.errstate(all="ignore"):  # rates of which nothing is known
        curves_of_rim = [
            special.expit(edge[:, 1]) * law.cdf(x[:, None], np.exp(edge[:, 0])),
            belief.chance(arm, x)[:, None],
        ]
        shapes = belief.peak.shapes
        if shapes is not None:
            for side in (-Z, Z):
                step = side * float(np.sqrt(shapes.variance[arm]))
                log_rate, logit = belief.peak.fit.theta[arm] + step * shapes.slope[arm]
                moved = law.with_shape(float(np.exp(shapes.log_shape[arm] + step)))
                curves_of_rim.append((special.expit(logit) * moved.cdf(x, np.exp(log_rate)))[:, None])
        curves = np.nan_to_num(np.concatenate(curves_of_rim, axis=1), nan=0.0)
    return curves.min(axis=1), curves.max(axis=1)


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
