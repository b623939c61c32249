"""Pouring a budget of unknown size: step by step, each to the arm whose next step is worth most.

An arm's curve at its steps has a concave hull, and the hull's gains fall. So taking the largest one next, always, takes
the largest ones altogether: for every number of steps the best there is on the hulls. Where a chord of the hull spans
several steps they are worth the same, and the arm once begun keeps them until the chord ends.
"""

import math

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.curves import COLUMNS, fill_row, value
from headgate.kernels.part import njit


@njit(error_model="numpy")
def _hull_gains(row, table, lower, upper, step, gains, widths):
    """Write what the hull gains per unit in each step from `lower` to `upper`, and the width; return how many.

    Adjacent steps are pooled as long as a later one gains more than the one before.
    """
    count = math.ceil((upper - lower) / step * (1.0 - 1e-12))
    first = np.empty(count, np.int64)  # the step that each chord begins with
    pools = 0
    before = value(row, table, lower)
    start = before
    worth = np.empty(count)  # f at the end of each chord
    for j in range(count):
        end = min(lower + (j + 1) * step, upper)
        widths[j] = end - (lower + j * step)
        after = value(row, table, end)
        first[pools], worth[pools] = j, after
        gains[j] = (after - before) / widths[j]
        pools += 1
        while pools > 1 and gains[first[pools - 1]] >= gains[first[pools - 2]]:
            base = worth[pools - 3] if pools > 2 else start
            begin = lower + first[pools - 2] * step
            gains[first[pools - 2]] = (after - base) / (end - begin)
            worth[pools - 2] = after
            pools -= 1
        before = after
    for k in range(pools):
        for j in range(first[k], first[k + 1] if k + 1 < pools else count):
            gains[j] = gains[first[k]]
    return count


@gufunc(
    [
        "void(int64[:], float64[:], float64[:], float64[:], float64[:], float64[:,:,:], float64[:], float64[:], "
        "float64[:], float64[:], float64[:], bool_[:], float64, float64, float64[:], int64[:], float64[:])"
    ],
    "(k),(k),(k),(k),(k),(r,c,g),(k),(k),(k),(k),(k),(k),(),(),(n)->(n),(n)",
)
def pour_order(
    base, a, b, shift, cap, table, weight, rate, lower, upper, step, whole, budget, cascade, like, arm, amount
):
    """Pour what `lower` leaves of the budget; `arm` is -1 after the last step."""
    arms = weight.size
    arm[:], amount[:] = -1, 0.0
    spare = budget - np.sum(lower)
    reach, most = np.empty(arms), 0
    for i in range(arms):
        reach[i] = lower[i] + spare
        reach[i] = max(min(min(upper[i], cap[i]), math.floor(reach[i]) if whole[i] else reach[i]), lower[i])
        most = max(most, math.ceil((reach[i] - lower[i]) / step[i]))
    gains, widths = np.empty((arms, most)), np.empty((arms, most))
    count, done = np.zeros(arms, np.int64), np.zeros(arms, np.int64)
    row = np.empty(COLUMNS)
    for i in range(arms):
        if weight[i] > 0.0 and reach[i] > lower[i]:
            fill_row(row, base[i], a[i], b[i], math.log(rate[i]) + shift[i], cap[i], weight[i], cascade)
            count[i] = _hull_gains(row, table, lower[i], reach[i], step[i], gains[i], widths[i])
    current = -1
    for n in range(like.size):
        chosen, best = -1, -np.inf
        for i in range(arms):
            fits = done[i] < count[i] and (not whole[i] or widths[i, done[i]] <= spare)
            if fits and (gains[i, done[i]] > best or (i == current and gains[i, done[i]] == best)):
                chosen, best = i, gains[i, done[i]]
        if chosen < 0 or spare <= 1e-12 * budget:
            break
        arm[n], amount[n] = chosen, min(widths[chosen, done[chosen]], spare)
        spare -= amount[n]
        done[chosen] += 1
        current = chosen
