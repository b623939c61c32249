"""Bands of response curves: at each x, every p G(x) that the likelihood does not rule out.

A pointwise likelihood-ratio band, the same kind of interval as the estimates have: from the maximum the likelihood is
followed in many directions of (log rate, logit activation) until twice its logarithm has dropped by the cut of one
degree of freedom, and the band is the hull of the curves there. Unlike a normal approximation it holds where an
activation is near 1, or only activation times rate is known. A direction in which nothing ever drops is followed for
twelve standard deviations. Where a shape is learned, the ends of its interval widen the band.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from headgate.estimators import maximum
from headgate.evidence import Evidence
from headgate.laws import Floats, PerArm
from headgate.oracle import standard_form
from headgate.service.beliefs import LEVEL, Belief

_DIRECTIONS = 40
_FAR = 12.0
_HALVINGS = 14
_Z = float(special.ndtri(0.5 + LEVEL / 2.0))


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
        return np.asarray(2.0 * (most - value) <= _Z**2)

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
        found = [special.expit(edge[:, 1]) * law.cdf(x[:, None], np.exp(edge[:, 0])), belief.chance(arm, x)[:, None]]
        shapes = belief.peak.shapes
        if shapes is not None:
            for side in (-_Z, _Z):
                step = side * float(np.sqrt(shapes.variance[arm]))
                log_rate, logit = belief.peak.fit.theta[arm] + step * shapes.slope[arm]
                moved = law.with_shape(float(np.exp(shapes.log_shape[arm] + step)))
                found.append((special.expit(logit) * moved.cdf(x, np.exp(log_rate)))[:, None])
        curves = np.nan_to_num(np.concatenate(found, axis=1), nan=0.0)
    return curves.min(axis=1), curves.max(axis=1)
