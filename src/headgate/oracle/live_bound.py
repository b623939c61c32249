"""What no way of playing a live round can exceed.

However arms are served and whatever is learned on the way, arm i is served up to some amount x that does not depend on
its own threshold: then it succeeds with probability F_i(x) and takes m_i(x) = integral of S_i over (0, x) in
expectation, S_i = 1 - F_i. Both are mixtures over the x that may come, and the expected spends add up to at most the
budget. So

    max  sum_i v_i Fhat_i(m_i)   subject to   sum_i m_i <= budget,

with Fhat_i the concave hull of the points (m_i(x), F_i(x)), bounds every adaptive way. The curve is looked at in a few
thousand places; between two of them it lies below F at the right one and beyond m at the left one, and m is summed from
the S at the right ends: nothing between the places is missed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headgate.errors import UnsupportedError
from headgate.laws import Floats, Law
from headgate.oracle.allocation import Allocation
from headgate.oracle.best import standard_form
from headgate.oracle.curves import maximise_points, points_of
from headgate.oracle.limits import Limits
from headgate.oracle.terms import Terms

_PLACES = 8192
_ROUNDING = 1e-9


def live_bound(
    law: Law, activation: Floats, value: Floats, rate: Floats, limits: Limits, whole: NDArray[np.bool_]
) -> Allocation:
    """Return the bound for one problem whose arms, values and limits have been checked.

    `value` and `bound` of the answer are the same number. `x` is up to where each arm is served in the relaxed problem,
    `price` what a little more budget would be worth there.
    """
    if activation.ndim != 1:
        raise UnsupportedError(f"a live bound is for one problem, this is a batch of shape {activation.shape[:-1]}")
    budget = float(limits.budget)
    most = np.minimum(limits.upper, budget)
    points = points_of(law, activation, rate)
    x, reached, exact = _places(law, activation, rate, most, whole) if points is None else _own_places(*points, most)
    m, height = _corners(x, reached, exact, whole)
    least = np.array([np.interp(low, row, spend) for low, row, spend in zip(limits.lower, x, m, strict=True)])
    spends = Limits(limits.budget, least, np.full_like(least, np.inf), free=False)
    relaxed = maximise_points(m, value[:, None] * height, Terms(spends, max_nodes=0))
    amount = np.array([np.interp(spend, row, place) for spend, row, place in zip(relaxed.x, m, x, strict=True)])
    bound = relaxed.bound * (1.0 + _ROUNDING)
    return Allocation(amount, bound, bound, relaxed.price, relaxed.nodes, limits.budget)


def _places(
    law: Law, activation: Floats, rate: Floats, most: Floats, whole: NDArray[np.bool_]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Amounts and F there; and of which arms nothing lies between: those that are looked at in every whole unit."""
    from headgate.kernels.knots import curve_points  # noqa: PLC0415  # machine code loads on first use

    form = standard_form(law, activation.size)
    with np.errstate(all="ignore"):  # a logarithm of 0 inside a kernel is no news to the caller
        x, reached = curve_points(
            form.base, form.a, form.b, form.shift, form.cap, form.table, activation, rate, whole, most,
            np.empty(_PLACES),
        )  # fmt: skip
    reached = np.minimum(reached + (activation * form.error)[:, None] * (x > 0.0), activation[:, None])
    return x, reached, whole & np.all(np.diff(x) <= 1.0, axis=-1)


def _own_places(x: Floats, reached: Floats, most: Floats) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The points of laws that are given by points, cut off at the most; on straight pieces F lies below its chord."""
    cut = np.minimum(x, most[:, None])
    heights = np.array([np.interp(c, row, y) for c, row, y in zip(cut, x, reached, strict=True)])
    return cut, heights, np.ones(len(x), dtype=np.bool_)


def _corners(x: Floats, reached: Floats, exact: NDArray[np.bool_], whole: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Points (m, F) whose hull lies above the arm's, each arm's in a row, m growing."""
    width, left, right = np.diff(x), 1.0 - reached[:, :-1], 1.0 - reached[:, 1:]
    paid = np.where(
        whole[:, None], left, 0.5 * (left + right)
    )  # for each unit: a whole one is begun before it succeeds
    spend = width * np.where(exact[:, None], paid, right)
    least = 1e-15 * np.max(x, initial=0.0) + np.finfo(np.float64).tiny
    m = np.append(np.zeros((len(x), 1)), np.cumsum(np.maximum(spend, least), axis=-1), axis=-1)
    between = np.append(reached[:, 1:], reached[:, -1:], axis=-1)
    height = np.where(exact[:, None], reached, between)
    return m, height
