"""An arm's curve p G(x, rate) at a few dozen points: what a live round is played on.

The points lie evenly in log x between the amount at which a thousandth of the thresholds has been reached and that at
which nearly all have been, or the most that the arm may get; before them comes 0. Straight lines between them are
within a few 1e-4 of the curve. An arm that counts in whole units has its points at whole numbers, every one of them
if there is room.
"""

import math

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.curves import BASE, CAP, COLUMNS, LOC, A, B, cdf, fill_row, position
from headgate.kernels.part import njit
from headgate.kernels.special import ndtri
from headgate.kernels.table import KNOT, REACHED
from headgate.laws.standard import TABLE_KNOTS, Base

_GAMMA, _BURR, _NORMAL = int(Base.GAMMA), int(Base.BURR), int(Base.NORMAL)
_EARLY = 1e-3  # the share of thresholds below the first point
_LATE = 1e-6  # and above the last one


@njit(error_model="numpy")
def _first(row, table):
    """u at which F0 is about _EARLY."""
    base, a, b = int(row[BASE]), row[A], row[B]
    if base == _GAMMA:
        return (math.log(_EARLY) + math.lgamma(a + 1.0)) / (a * b)
    if base == _BURR:
        return math.log(math.expm1(-math.log1p(-_EARLY) / a)) / b
    if base == _NORMAL:
        return ndtri(_EARLY) / b
    return table[int(a), KNOT, np.searchsorted(table[int(a), REACHED], _EARLY)]


@njit(error_model="numpy")
def _last(row, table):
    """u at which 1 - F0 is about _LATE, or less."""
    base, a, b = int(row[BASE]), row[A], row[B]
    if base == _GAMMA:
        return math.log(a + 5.0 * math.sqrt(a) - math.log(_LATE)) / b
    if base == _BURR:
        return math.log(math.expm1(-math.log(_LATE) / a)) / b
    if base == _NORMAL:
        return -ndtri(_LATE) / b
    return table[int(a), KNOT, min(np.searchsorted(table[int(a), REACHED], 1.0 - _LATE), TABLE_KNOTS - 1)]


@njit(error_model="numpy")
def _amount(row, u):
    """The allocation at which `position` is u."""
    if row[CAP] < np.inf:
        return -row[CAP] * math.expm1(-math.exp(u - row[LOC]))
    return math.exp(u - row[LOC])


@gufunc(
    [
        "void(int64, float64, float64, float64, float64, float64[:,:,:], float64, float64, boolean, float64, "
        "float64[:], float64[:], float64[:])"
    ],
    "(),(),(),(),(),(r,c,g),(),(),(),(),(n)->(n),(n)",
)
def curve_points(base, a, b, shift, cap, table, weight, rate, whole, most, like, x, y):
    """Write n points of weight * G(., rate) from 0 to `most`; `like` is any array of n numbers.

    Points that are not needed repeat the last amount.
    """
    n = like.size
    row = np.empty(COLUMNS)
    fill_row(row, base, a, b, math.log(rate) + shift, cap, weight, 0.0)
    most = min(most, cap)
    x[0] = y[0] = 0.0
    if most <= 0.0:
        for j in range(1, n):
            x[j] = y[j] = 0.0
        return
    end = position(row, most)
    low, high = _first(row, table), min(_last(row, table), end)
    if low >= high - 1e-9:  # the arm has hardly begun at the most that it may get
        low = high - 7.0
    inner = n - 2 if high < end else n - 1  # points with room for the end
    for j in range(1, n):
        u = low + (high - low) * (j - 1) / (inner - 1)
        x[j] = min(_amount(row, u), most) if j < inner else most
        if whole:
            x[j] = min(max(math.floor(x[j]), x[j - 1] + 1.0), math.floor(most))
        reached, _ = cdf(row, table, position(row, x[j]))
        y[j] = max(weight * reached, y[j - 1]) if x[j] > 0.0 else 0.0
