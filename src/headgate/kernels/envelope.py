"""Upper envelopes as curves by points, and what no curve asks for: `LRUCB`'s two steps around the oracle of curves."""

import math

from headgate.kernels.compiled import gufunc
from headgate.kernels.part import njit


@njit(error_model="numpy")
def height(curve, log_x, x):
    """An envelope at x: straight to 0 below its first place, cubic with the given slopes between, never falling."""
    if x <= 0.0:
        return 0.0
    y, last = math.log(x), log_x.size - 1
    if y <= log_x[0]:
        return curve[0, 0] * math.exp(y - log_x[0])
    h = (log_x[last] - log_x[0]) / last
    cell = min(int((y - log_x[0]) / h), last - 1)
    t = min((y - log_x[cell]) / h, 1.0)
    left, right = curve[cell, 0], curve[cell + 1, 0]
    rise = right - left
    start, stop = min(h * curve[cell, 1], 3.0 * rise), min(h * curve[cell + 1, 1], 3.0 * rise)
    c2, c3 = 3.0 * rise - 2.0 * start - stop, start + stop - 2.0 * rise
    return left + t * (start + t * (c2 + t * c3))


@gufunc(
    ["void(float64[:,:,:], float64[:], float64[:], boolean[:], float64[:], float64[:,:], float64[:,:])"],
    "(k,m,u),(m),(k),(k),(n)->(k,n),(k,n)",
)
def envelope_points(curve, log_x, weight, whole, amounts, x, y):
    """Write weight * envelope at `amounts`, which grow from 0 on; an arm in whole units is known at whole numbers.

    `curve` holds values and slopes in log x at the places `log_x`. Points that whole numbers leave over lie beyond
    the last one, as high as it.
    """
    for i in range(curve.shape[0]):
        x[i, 0] = y[i, 0] = 0.0
        last = 0.0  # the height of the last point that counts
        for j in range(1, amounts.size):
            x[i, j] = max(math.floor(amounts[j] + 1e-9), x[i, j - 1] + 1.0) if whole[i] else amounts[j]
            if x[i, j] <= amounts[amounts.size - 1] * (1.0 + 1e-12):
                last = max(last, min(height(curve[i], log_x, x[i, j]), 1.0))
            y[i, j] = weight[i] * last


@gufunc(
    ["void(float64[:], float64[:], float64[:], float64[:], boolean[:], float64, float64[:])"],
    "(k),(k),(k),(k),(k),()->(k)",
)
def hand_out(x, lower, upper, weight, whole, budget, out):
    """Round the amounts of arms in whole units down, and give what is left evenly to all that may have it."""
    spare, room = budget, 0
    for i in range(x.size):
        out[i] = max(math.floor(x[i] + 1e-9), lower[i]) if whole[i] else x[i]
        spare -= out[i]
        room += 1 if upper[i] > out[i] and weight[i] > 0.0 else 0
    for i in range(x.size):
        if upper[i] > out[i] and weight[i] > 0.0:
            add = max(min(spare / room, upper[i] - out[i]), 0.0)
            add = math.floor(add + 1e-9) if whole[i] else add
            out[i] += add
            spare -= add
            room -= 1
