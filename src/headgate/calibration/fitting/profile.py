"""Intervals of activations by profile likelihood, where the curvature at the maximum says little.

The profile of an activation p is the likelihood maximised over rate and shape with p held. The interval is of those p
whose profile is within half the chi-square quantile of the maximum: unlike a normal interval in the logit it is short
on the side where the rows tell p apart, and long on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from headgate.calibration.fitting.climb import Likelihood, climb
from headgate.calibration.fitting.fit import KNOWN, LawFit
from headgate.calibration.fitting.points import Points
from headgate.laws import Floats

_SURE = 9.0  # a logit from which on an activation counts as 1
_EVERYWHERE = np.linspace(-_SURE, _SURE, 19)
_NEAR = np.array([0.4, 0.7, 0.9, 1.0, 1.15, 1.4, 2.0, 3.0])  # in half-widths of the normal interval
_NEAR = np.concatenate([-_NEAR[::-1], [0.0], _NEAR])
_BETWEEN = np.linspace(0.0, 1.0, 6)[1:-1]
_CELLS = 4_000_000  # points times logits that are climbed at once


def at_an_end(fit: LawFit) -> bool:
    """Whether the activation of a single arm is estimated as 0 or 1."""
    return fit.family.cure and abs(float(fit.theta[0, -1])) > _SURE


class Ends(NamedTuple):
    """The ends of the activation, and of what the other parameters are along the way: (d, 2) in theta's terms."""

    activation: tuple[float, float]
    theta: Floats


def profile_ends(fit: LawFit, points: Points, level: float) -> list[Ends]:
    """Invert the likelihood-ratio test of each arm's activation, over logits around its estimate and far from it."""
    z = float(special.ndtri(0.5 + level / 2.0))
    rough = points.coarse()
    ends: list[Ends] = []
    for arms, first in _logits(fit, rough, z):
        theta, value = _climbed(fit, rough, arms, first)
        second = _closer(first, value, fit.log_likelihood[arms], z)
        more_theta, more_value = _climbed(fit, rough, arms, second)
        logit = np.concatenate([first, second], axis=1)
        order = np.argsort(logit, axis=1, kind="stable")
        logit, value = (np.take_along_axis(v, order, 1) for v in (logit, np.concatenate([value, more_value], axis=1)))
        theta = np.take_along_axis(np.concatenate([theta, more_theta], axis=1), order[..., None], 1)
        ends += [_between(logit[i], theta[i], value[i], fit.only([arm]), z) for i, arm in enumerate(arms.tolist())]
    return ends


def _logits(fit: LawFit, points: Points, z: float) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Some arms at a time, and the logits at which their profiles are taken, increasing: (arms, G)."""
    middle = np.clip(fit.theta[:, -1], -_SURE, _SURE)
    half = z * np.sqrt(np.maximum(fit.covariance[:, -1, -1], 1e-12))
    near = np.clip(middle[:, None] + np.clip(half, 1e-6, _SURE)[:, None] * _NEAR, -_SURE, _SURE)
    logit = np.sort(np.concatenate([near, np.broadcast_to(_EVERYWHERE, (middle.size, _EVERYWHERE.size))], axis=1))
    deep = points.thresholds.shape[0] + points.cut.shape[0]
    size = max(1, _CELLS // max(deep * logit.shape[1], 1))
    for start in range(0, middle.size, size):
        arms = np.arange(start, min(start + size, middle.size))
        yield arms, logit[arms]


def _climbed(fit: LawFit, points: Points, arms: NDArray[np.int64], logit: Floats) -> tuple[Floats, Floats]:
    """The other parameters at their best with each logit held, and the likelihood there: (arms, G, d), (arms, G)."""
    each = np.repeat(arms, logit.shape[1])
    family = fit.family.only(each)
    lower, upper, start = family.lower.copy(), family.upper.copy(), fit.theta[each]
    lower[:, -1] = upper[:, -1] = start[:, -1] = logit.ravel()
    theta, value, _ = climb(Likelihood(family, points.only(each)), start, lower, upper)
    return theta.reshape(*logit.shape, -1), value.reshape(logit.shape)


def _root(value: Floats, best: Floats) -> Floats:
    """The root of the deviance, twice what the likelihood has fallen: nearly a straight line on either side."""
    best = np.maximum(np.max(value, axis=-1), best)[..., None]
    return np.sqrt(2.0 * np.maximum(best - np.where(np.isfinite(value), value, best - 1e6), 0.0))


def _closer(logit: Floats, value: Floats, best: Floats, z: float) -> Floats:
    """Logits between those around each end: (arms, 2 n)."""
    inside = _root(value, best) <= z
    inside |= ~inside.any(axis=1, keepdims=True)
    last = logit.shape[1] - 1
    first, final = np.argmax(inside, axis=1), last - np.argmax(inside[:, ::-1], axis=1)
    grids = []
    for within, beyond in ((first, np.maximum(first - 1, 0)), (final, np.minimum(final + 1, last))):
        a, b = (np.take_along_axis(logit, place[:, None], 1) for place in (within, beyond))
        grids.append(a + (b - a) * _BETWEEN)
    return np.concatenate(grids, axis=1)


def _between(logit: Floats, theta: Floats, value: Floats, fit: LawFit, z: float) -> Ends:
    """The logits at which the root of the deviance is z; 0 or 1 where it never is."""
    root = _root(value, fit.log_likelihood[0])
    inside = np.flatnonzero(root <= z)
    if not inside.size:  # only the estimate itself is likely enough: an end, or a very sharp maximum
        sure = float(special.expit(fit.theta[0, -1]))
        sure = float(round(sure)) if at_an_end(fit) else sure
        return Ends((sure, sure), np.repeat(fit.theta.T, 2, axis=1))
    first, last = int(inside[0]), int(inside[-1])
    low, high = 0.0, 1.0
    if first > 0:
        low = float(special.expit(np.interp(-z, -root[first - 1 : first + 1], logit[first - 1 : first + 1])))
    if last < root.size - 1:
        high = float(special.expit(np.interp(z, root[last : last + 2], logit[last : last + 2])))
    along = np.concatenate([theta[inside], fit.theta])
    return Ends((low, high), np.stack([along.min(axis=0), along.max(axis=0)], axis=-1))


def told_apart(ends: Ends, level: float) -> bool:
    """Whether the activation is known to within a factor, as elsewhere: half the interval of log p is short."""
    low, high = ends.activation
    z = float(special.ndtri(0.5 + level / 2.0))
    return low > 0.0 and float(np.log(high / low)) < 2.0 * z * KNOWN
