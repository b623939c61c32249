"""The interval of an activation that is estimated as 0 or 1, where the curvature says nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from headgate.calibration.fitting.climb import Likelihood, climb
from headgate.calibration.fitting.fit import KNOWN, LawFit
from headgate.calibration.fitting.points import Points
from headgate.laws import Floats

_SURE = 9.0  # a logit from which on an activation counts as 1
_GRID = 41


def at_an_end(fit: LawFit) -> bool:
    """Whether the activation of a single arm is estimated as 0 or 1."""
    return fit.family.cure and abs(float(fit.theta[0, -1])) > _SURE


class Ends(NamedTuple):
    """The ends of the activation, and of what the other parameters are along the way: (d, 2) in theta's terms."""

    activation: tuple[float, float]
    theta: Floats


def profile_ends(fit: LawFit, points: Points, level: float) -> Ends:
    """Invert the likelihood-ratio test of the activation of a single arm, over a grid of its logit."""
    rough = points.coarse().only([0] * _GRID)
    family = fit.family.only([0] * _GRID)
    logit = np.linspace(-_SURE, _SURE, _GRID)
    lower, upper = family.lower.copy(), family.upper.copy()
    lower[:, -1] = upper[:, -1] = logit
    start = np.repeat(fit.theta, _GRID, axis=0)
    start[:, -1] = logit
    theta, value, _ = climb(Likelihood(family, rough), start, lower, upper)
    drop = float(special.ndtri(0.5 + level / 2.0)) ** 2 / 2.0
    excess = value - (max(float(np.max(value)), float(fit.log_likelihood[0])) - drop)
    inside = np.flatnonzero(excess >= 0.0)
    if not inside.size:  # only the end itself is likely enough
        sure = fit.theta[0, -1] > 0.0
        return Ends((1.0, 1.0) if sure else (0.0, 0.0), np.repeat(fit.theta.T, 2, axis=1))
    first, last = int(inside[0]), int(inside[-1])
    low, high = 0.0, 1.0
    if first > 0:
        low = float(special.expit(np.interp(0.0, excess[first - 1 : first + 1], logit[first - 1 : first + 1])))
    if last < _GRID - 1:
        high = float(special.expit(np.interp(0.0, excess[last : last + 2][::-1], logit[last : last + 2][::-1])))
    along = np.concatenate([theta[inside], fit.theta])
    return Ends((low, high), np.stack([along.min(axis=0), along.max(axis=0)], axis=-1))


def told_apart(ends: Ends, level: float) -> bool:
    """Whether the activation is known to within a factor, as elsewhere: half the interval of log p is short."""
    low, high = ends.activation
    z = float(special.ndtri(0.5 + level / 2.0))
    return low > 0.0 and float(np.log(high / low)) < 2.0 * z * KNOWN
