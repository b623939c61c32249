"""The table of a scale law that has no closed standard form: F0, q and q' on a grid of u = log(rate x).

The kernels interpolate it with cubic Hermite pieces. The step leaves an error of about 1e-12 for a law as
smooth as the usual ones; `Table.error` is measured, and the oracle adds it to its bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from headgate.errors import UnsupportedError
from headgate.laws.standard import TABLE_SIZE, TABLE_START, TABLE_STEP, Base, Standard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.laws.scale import ScaleLaw

_LOWEST = -1e4  # stands for log 0: far below any price, yet finite, so that interpolation stays finite


Curve = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]


@dataclass(frozen=True, eq=False)
class Table:
    """One row for each shape of the law: values (rows, [F0, q, q'], grid) and the largest error of F0.

    `peaks` are where the density is largest (0: at the origin), its height, and the largest z * density.
    """

    values: NDArray[np.float64]
    error: NDArray[np.float64]
    peaks: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
    per_arm: bool

    def standard(self) -> Standard:
        """Return the standard form; `a` numbers the rows, `b` is u where the curve bends."""
        rows = np.arange(len(self.values), dtype=np.float64)
        with np.errstate(divide="ignore"):
            bend = np.log(self.peaks[0])
        form = Standard.of(Base.TABLE, rows if self.per_arm else 0.0, bend)
        return Standard(form.base, form.a, form.b, form.shift, form.cap, self.values, self.error)


@lru_cache(maxsize=64)
def tabulate(law: ScaleLaw) -> Table:
    """Evaluate `law` on the grid, once."""
    grid = TABLE_START + TABLE_STEP * np.arange(TABLE_SIZE, dtype=np.float64)
    per_arm = law.arm_axis() != ()

    def cdf(u: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return law.cdf0(np.exp(u))

    def log_pdf(u: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.nan_to_num(law.log_pdf0(np.exp(u)), nan=-np.inf, neginf=-np.inf, posinf=-_LOWEST)

    F0, log_density = cdf(grid[:, None]).T, log_pdf(grid[:, None]).T
    _check_single_peak(law, log_density)
    q = np.maximum(log_density + grid, _LOWEST)
    values = np.stack([F0, q, _slope(q)], axis=1)
    height, at = _maximum(log_pdf, log_density, grid)
    top, _ = _maximum(lambda u: log_pdf(u) + u, q, grid)
    # No higher than at the origin: the peak is there, and of infinite height if still rising towards it.
    falls = log_density[:, 0] >= height - 1e-9
    diverges = falls & (log_density[:, 0] > log_density[:, 256] + 1e-6)
    peaks = np.where(falls, 0.0, np.exp(at)), np.where(diverges, np.inf, np.exp(height)), np.exp(top)
    error = _error(cdf, F0, np.exp(q), grid)
    if not per_arm:
        peaks = peaks[0][0], peaks[1][0], peaks[2][0]
    return Table(values, error, peaks, per_arm)


def _slope(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """q' by differences of fourth order: a second-order slope would spoil the cubic between the nodes."""
    slope = np.gradient(q, TABLE_STEP, axis=1)
    slope[:, 2:-2] = (8.0 * (q[:, 3:-1] - q[:, 1:-3]) - (q[:, 4:] - q[:, :-4])) / (12.0 * TABLE_STEP)
    return slope


def _maximum(
    f: Curve, values: NDArray[np.float64], grid: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest f by row and where it is: by golden section between the largest node's neighbours."""
    top = np.argmax(values, axis=1)
    best, at = np.max(values, axis=1), grid[top]
    low, high = grid[np.maximum(top - 1, 0)], grid[np.minimum(top + 1, len(grid) - 1)]
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    for _ in range(48):
        left, right = high - golden * (high - low), low + golden * (high - low)
        f_left, f_right = f(left), f(right)
        ahead = f_left <= f_right
        inner, f_inner = np.where(ahead, right, left), np.maximum(f_left, f_right)
        at, best = np.where(f_inner > best, inner, at), np.maximum(best, f_inner)
        low, high = np.where(ahead, left, low), np.where(ahead, high, right)
    return best, at


def _error(
    cdf: Curve, F0: NDArray[np.float64], density: NDArray[np.float64], grid: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Measure how far the interpolated F0 is from the law, between the nodes and beyond the grid."""
    worst = np.maximum(F0[:, 0], 1.0 - F0[:, -1])
    for t in np.arange(1, 8) / 8.0:
        between = (
            (1.0 + 2.0 * t) * (1.0 - t) ** 2 * F0[:, :-1]
            + t**2 * (3.0 - 2.0 * t) * F0[:, 1:]
            + TABLE_STEP * t * (1.0 - t) * ((1.0 - t) * density[:, :-1] - t * density[:, 1:])
        )
        gap = np.abs(between - cdf((grid[:-1] + t * TABLE_STEP)[:, None]).T)
        worst = np.maximum(worst, 2.0 * np.max(gap, axis=1))  # doubled for what lies between these points
    return worst


def _check_single_peak(law: ScaleLaw, log_density: NDArray[np.float64]) -> None:
    """The oracle needs curves that are convex and then concave: a density with one peak."""
    seen = log_density > -600.0
    with np.errstate(invalid="ignore"):
        slope = np.where(seen[:, 1:] & seen[:, :-1], np.diff(log_density, axis=1), 0.0)
    fallen = np.cumsum(slope < -1e-7, axis=1) > 0
    if np.any(fallen & (slope > 1e-7)):
        raise UnsupportedError(f"the density of {law} has more than one peak; Headgate needs at most one")
