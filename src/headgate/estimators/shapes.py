"""Learning each arm's shape by penalised likelihood, for laws given with a shape to "learn"."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.estimators.maximum import Fit, maximum
from headgate.evidence import Evidence
from headgate.laws import Floats, Law
from headgate.laws.learned import ShapePrior
from headgate.laws.standard import Standard
from headgate.oracle import standard_form

_REACH = 1.8  # log shapes are looked for within so much of the prior's mean: a factor of 6 either way
_GRID = 25
_NUDGE = 0.02


class ShapeFit(NamedTuple):
    """The shapes with the largest penalised profile likelihood, and what they do to the rest."""

    form: Standard
    log_shape: Floats
    variance: Floats
    """Of the log shape: the inverse curvature of the penalised profile."""
    slope: Floats
    """d(log rate, logit activation) / d log shape along the profile: (..., K, 2)."""


def learn_shapes(
    law: Law, learned: ShapePrior, evidence: Evidence, prior: Floats, whole: NDArray[np.bool_]
) -> ShapeFit:
    """Maximise over (log rate, logit activation) at each shape of a grid, then place the best shape by a parabola."""
    known = standard_form(law.with_shape(np.exp(learned.mean)), evidence.arms)
    arms = (*evidence.batch, evidence.arms)

    def at(log_shape: Floats, start: Floats | None = None) -> Fit:
        form = known.with_shape(learned.slot, np.exp(np.broadcast_to(log_shape, arms)))
        return maximum(form, whole, evidence, prior, start)

    def penalised(log_shape: Floats, found: Fit) -> Floats:
        return np.asarray(found.value - (log_shape - learned.mean) ** 2 / (2.0 * learned.variance))

    grid = learned.mean + np.linspace(-_REACH, _REACH, _GRID)
    values = np.stack([penalised(s, at(s)) for s in grid])
    centre = grid[np.clip(np.argmax(values, axis=0), 1, _GRID - 2)]
    width = grid[1] - grid[0]
    for _ in range(3):  # parabolas through three points, ever closer
        below, here, above = (penalised(s, at(s)) for s in (centre - width, centre, centre + width))
        bend = np.minimum(below - 2.0 * here + above, -1e-12)
        centre = centre + np.clip(0.5 * width * (below - above) / bend, -width, width)
        width = max(width / 3.0, _NUDGE)
    below, here, above = (penalised(s, at(s)) for s in (centre - _NUDGE, centre, centre + _NUDGE))
    curvature = np.maximum(-(below - 2.0 * here + above) / _NUDGE**2, 1.0 / learned.variance)
    slope = (at(centre + _NUDGE).theta - at(centre - _NUDGE).theta) / (2.0 * _NUDGE)
    return ShapeFit(known.with_shape(learned.slot, np.exp(centre)), centre, 1.0 / curvature, slope)
