"""The oracle for whole-number thresholds: greedy where marginals fall, dynamic programming where they do not.

The budget and the limits are whole numbers; the answer is exact. With B units to give, and arms that are saturated
after J of them, greedy costs B steps of one look at each arm, dynamic programming B J for each arm.
"""

import math

import numpy as np
from numba import njit

from headgate.kernels.compiled import gufunc
from headgate.kernels.curves import COLUMNS, fill_row
from headgate.kernels.curves import value as worth_of
from headgate.kernels.signature import LAYOUT, SIGNATURE


@njit(error_model="numpy")
def _unit(row, table, n):
    """What the unit after the n-th adds."""
    return worth_of(row, table, n + 1.0) - worth_of(row, table, float(n))


@njit(error_model="numpy")
def _fill_curve(curve, row, table, low, most):
    """Write what j units above `low` add, j <= most; return the least j that adds as much as `most`."""
    floor = worth_of(row, table, float(low))
    for j in range(1, most + 1):
        curve[j] = worth_of(row, table, float(low + j)) - floor
    while most > 0 and curve[most - 1] >= curve[most]:
        most -= 1
    return most


@njit(error_model="numpy")
def _falls(curve, most):
    """Whether no unit adds more than the one before it, up to rounding."""
    units = np.diff(curve[: most + 1])
    return np.all(units[1:] <= units[:-1] + 1e-15 * curve[most])


@gufunc([SIGNATURE], LAYOUT)
def allocate_integer(
    base, a, b, shift, cap, table, weight, rate, lower, upper, budget, cascade, tol, max_nodes,
    x, value, bound, price, nodes,
):  # fmt: skip
    """Maximise sum f_i(x_i) over whole lower <= x <= upper, sum x <= budget; see `headgate.oracle.solve`."""
    arms = weight.size
    spare = int(budget - np.sum(lower))
    rows = np.empty((arms, COLUMNS))
    low, room = np.empty(arms, np.int64), np.empty(arms, np.int64)
    total, falling, last = 0.0, True, 0.0
    curve = np.zeros(spare + 1)  # what j units above the lower limit add
    for i in range(arms):
        low[i] = int(lower[i])
        most = int(min(upper[i] - lower[i], spare))
        fill_row(rows[i], base[i], a[i], b[i], math.log(rate[i]) + shift[i], cap[i], weight[i], cascade)
        total += worth_of(rows[i], table, lower[i])
        room[i] = _fill_curve(curve, rows[i], table, low[i], most)
        falling = falling and _falls(curve, room[i])
        x[i] = lower[i]
    if spare == 0:
        for i in range(arms):
            if upper[i] > lower[i]:
                last = max(last, _unit(rows[i], table, low[i]))
    elif falling:
        gains = np.empty(arms)
        for i in range(arms):
            gains[i] = _unit(rows[i], table, low[i]) if room[i] > 0 else 0.0
        for _ in range(spare):
            chosen = np.argmax(gains)
            last = gains[chosen]
            if last <= 0.0:
                break
            total += last
            x[chosen] += 1.0
            here = int(x[chosen])
            gains[chosen] = _unit(rows[chosen], table, here) if here - low[chosen] < room[chosen] else 0.0
    else:
        # best[n]: the most that the arms so far can add with n units; choice[i, n]: what arm i takes of them.
        best, following = np.zeros(spare + 1), np.empty(spare + 1)
        choice = np.zeros((arms, spare + 1), np.int32)
        for i in range(arms):
            _fill_curve(curve, rows[i], table, low[i], room[i])
            for n in range(spare + 1):
                top, taken = best[n], 0
                for j in range(1, min(n, room[i]) + 1):
                    candidate = best[n - j] + curve[j]
                    if candidate > top:
                        top, taken = candidate, j
                following[n], choice[i, n] = top, taken
            best[:] = following
        left = spare
        for i in range(arms - 1, -1, -1):
            taken = choice[i, left]
            x[i] += taken
            left -= taken
        total += best[spare]
        last = best[spare] - best[spare - 1]
    value[0], bound[0], price[0], nodes[0] = total, total, last, 1
