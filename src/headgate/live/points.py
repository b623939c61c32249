"""The curves of arms by points, fine enough to play a live round on."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import ParameterError, ShapeError
from headgate.laws import Floats, Law
from headgate.laws.standard import Standard
from headgate.oracle import Limits, standard_form
from headgate.oracle.curves import maximise_points, points_of
from headgate.oracle.terms import Terms

POINTS = 97
"""How many points a curve has: straight lines between them are within a few 1e-4 of it."""
_FAR = 1.0 - 1e-6  # where no budget says how far a curve goes, it goes until this share of thresholds is reached


def checked_curves(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Check curves that somebody gives by points, as `headgate.LiveRound` takes them: return x and y, (K, n) each."""
    amounts, heights = checks.numbers("x", x), checks.numbers("y", y, most=1.0)
    if heights.ndim != 2 or 0 in heights.shape:
        raise ShapeError(f"y must be of shape (K, n), one curve for each arm, got {heights.shape}")
    if amounts.shape not in {heights.shape, heights.shape[-1:]}:
        raise ShapeError(f"x must have {heights.shape[-1]} points, or so many for each arm, got shape {amounts.shape}")
    amounts = np.ascontiguousarray(np.broadcast_to(amounts, heights.shape))
    if np.any(amounts[:, 0] != 0.0) or np.any(heights[:, 0] != 0.0):
        raise ParameterError("curves must begin at (0, 0): nothing succeeds with nothing")
    for name, points in (("x", amounts), ("y", heights)):
        if np.any(np.diff(points) < 0.0):
            arm, at = (int(i) for i in np.argwhere(np.diff(points) < 0.0)[0])
            raise ParameterError(f"{name} must not fall, got {points[arm, at]:g} and then {points[arm, at + 1]:g}")
    return amounts, np.ascontiguousarray(heights)


def curve_points(
    law: Law, weight: Floats, rate: Floats, most: Floats, whole: NDArray[np.bool_], form: Standard | None = None
) -> tuple[Floats, Floats]:
    """Return the curves w_i G(x, rate_i) up to `most` by points: x and y, (..., K, n) each.

    A law that is given by points keeps its own; of every other its standard form (`form`, if that is at hand) is looked
    at in `POINTS` places (`headgate.kernels.knots`).
    """
    if form is None:
        own = points_of(law, weight, rate)
        if own is not None:
            x, y = (np.ascontiguousarray(points) for points in np.broadcast_arrays(*own))
            return x, y
        form = standard_form(law, weight.shape[-1])
    from headgate.kernels.knots import curve_points as points  # noqa: PLC0415  # machine code loads on first use

    with np.errstate(all="ignore"):  # a logarithm of 0 inside a kernel is no news to the caller
        x, y = points(
            form.base, form.a, form.b, form.shift, form.cap, form.table, weight, rate, whole, most, np.empty(POINTS)
        )
    return x, y


def cascade_plan(x: Floats, y: Floats, limits: Limits, whole: NDArray[np.bool_]) -> Floats:
    """Return the most that each arm gets in a cascade of a known budget, (..., K).

    Until its first success, which ends it, a cascade learns nothing: its amounts are those of a planned round.
    """
    planned = maximise_points(x, y, Terms(limits, "cascade", 1e-6, 200)).x
    return np.where(whole, np.floor(planned), planned)


def reach_of(law: Law, rate: Floats) -> Floats:
    """Return the amounts beyond which arms have next to nothing to gain, (..., K)."""
    return np.asarray(law.quantile(_FAR, rate))
