"""Learning each arm's shape by penalised likelihood, for laws given with a shape to "learn"."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.estimators.fit import Fit, maximum
from headgate.evidence import Evidence
from headgate.laws import Floats
from headgate.laws.learned import OpenForm
from headgate.laws.standard import Standard

_GRID = 25
_NUDGE = 0.02


class ShapeFit(NamedTuple):
    """The shapes with the largest penalised profile likelihood, and what they do to the rest."""

    form: Standard
    log_shape: Floats
    """NaN for an arm whose shape is known; its variance and slope are 0."""
    variance: Floats
    """Of the log shape: the inverse curvature of the penalised profile."""
    slope: Floats
    """d(log rate, logit activation) / d log shape along the profile: (..., K, 2)."""


def learn_shapes(learned: OpenForm, evidence: Evidence, prior: Floats, whole: NDArray[np.bool_]) -> ShapeFit:
    """Maximise over (log rate, logit activation) at each shape of a grid, then place the best shape by a parabola.

    What is maximised is the log likelihood less (t - mean)^2 / (2 variance), the prior of the coordinate t in which
    `learned` has every arm's log shape.
    """
    arms = (*evidence.batch, evidence.arms)

    def at(t: Floats) -> Fit:
        return maximum(learned.at(np.broadcast_to(t, arms)), whole, evidence, prior)

    def penalised(t: Floats) -> Floats:
        return np.asarray(at(t).value - (t - learned.mean) ** 2 / (2.0 * learned.variance))

    grid = np.linspace(learned.limits[:, 0], learned.limits[:, 1], _GRID)
    values = np.stack([penalised(t) for t in grid])
    best = np.clip(np.argmax(values, axis=0), 1, _GRID - 2)
    width = grid[1] - grid[0]
    centre = grid[0] + best * width
    for _ in range(3):  # parabolas through three points, ever closer
        below, here, above = (penalised(t) for t in (centre - width, centre, centre + width))
        bend = np.minimum(below - 2.0 * here + above, -1e-12)
        centre = centre + np.clip(0.5 * width * (below - above) / bend, -width, width)
        width = np.maximum(width / 3.0, _NUDGE)
    below, here, above = (penalised(t) for t in (centre - _NUDGE, centre, centre + _NUDGE))
    curvature = np.maximum(-(below - 2.0 * here + above) / _NUDGE**2, 1.0 / learned.variance)
    slope = (at(centre + _NUDGE).theta - at(centre - _NUDGE).theta) / (2.0 * _NUDGE)
    wide = learned.scale  # d log shape / dt, 0 for a known shape
    slope = np.divide(slope, wide[:, None], out=np.zeros_like(slope), where=wide[:, None] > 0.0)
    return ShapeFit(learned.at(centre), learned.log_shape(centre), wide**2 / curvature, slope)
