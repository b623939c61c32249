"""The best allocation in whole units on integer hulls: one price, and the bound it proves.

The integer hull of a curve is a chord from its lower limit to the whole number where a line from there is steepest,
and then its units, each worth less than the one before. At a price every arm takes the units worth more; what is left
of the budget goes unit by unit to the best. Where marginals fall from the first unit on, that is the optimum. Else the
budget may end within a chord.
"""

import math

import numpy as np

from headgate.kernels.curves import convex_part, log_slope
from headgate.kernels.curves import value as worth_of
from headgate.kernels.demand import demand
from headgate.kernels.heap import pop, push
from headgate.kernels.hull import TOUCH as HULL_TOUCH
from headgate.kernels.hull import fill_hull
from headgate.kernels.part import njit

# Columns of an integer hull: the interval, the end of its chord, the chord's slope; f at its start; where the curve is
# concave from, and its log slopes there and at the end.
LOW, HIGH, TOUCH, CHORD, BASE, FROM, AT_FROM, AT_HIGH = range(8)
COLUMNS = 8


@njit(error_model="numpy")
def unit(row, table, n):
    """What the unit after the n-th adds."""
    return worth_of(row, table, n + 1.0) - worth_of(row, table, n)


@njit(error_model="numpy")
def fill_units(hull, row, table, low, high, scratch):
    """Write the integer hull of the curve on [low, high]."""
    hull[LOW], hull[HIGH], hull[TOUCH], hull[CHORD] = low, high, low, np.inf
    hull[BASE] = worth_of(row, table, low)
    if worth_of(row, table, high) <= hull[BASE]:
        hull[HIGH] = low
        return
    _, bend = convex_part(row, table, low, high)
    if bend > low:  # the whole number beside the point of tangency from which the line is steepest
        fill_hull(scratch, row, table, low, high)
        best = -np.inf
        for side in range(2):
            end = min(max(math.floor(scratch[HULL_TOUCH]) + side, low + 1.0), high)
            slope = (worth_of(row, table, end) - hull[BASE]) / (end - low)
            if slope > best:
                best, hull[TOUCH] = slope, end
        hull[CHORD] = best
    start = min(max(hull[TOUCH], bend), high)
    hull[FROM], hull[AT_FROM] = start, log_slope(row, table, start)[0]
    hull[AT_HIGH] = log_slope(row, table, high)[0]


@njit(error_model="numpy")
def _take(rows, i, table, hulls, log_price, exact, guess):
    """How many units an arm takes at a price, all that are worth more, and about d of it / d log price.

    Unless it is to be exact, the unit after n is taken to be worth f'(n + 1/2).
    """
    low, high, price = hulls[i, LOW], hulls[i, HIGH], math.exp(log_price)
    if high <= low or hulls[i, CHORD] <= price:
        return low, 0.0
    n, change = hulls[i, TOUCH], 0.0
    if hulls[i, FROM] < high:
        x, change = demand(rows, i, table, hulls[i, FROM], high, hulls[i, AT_FROM], hulls[i, AT_HIGH], log_price, guess)
        n = min(max(math.floor(x if exact else x + 0.5), n), high)
    if not exact:
        return n, change
    while n < high and unit(rows[i], table, n) > price:
        n += 1.0
    while n > hulls[i, TOUCH] and unit(rows[i], table, n - 1.0) <= price:
        n -= 1.0
    return n, change


@njit(error_model="numpy")
def _price_units(rows, table, hulls, budget, start, skip, x):
    """Write to x the units worth more than a price at which they fit into the budget and few more would.

    Newton on the log demand, halving the bracket where that does not get on. Arms in `skip` stay at their lower limit.
    """
    arms, taken, highest, log_price = rows.shape[0], 0.0, -np.inf, start
    for i in range(arms):
        x[i] = hulls[i, LOW]
        taken += x[i]
        if hulls[i, HIGH] > x[i] and not skip[i]:
            first = hulls[i, CHORD] if hulls[i, CHORD] < np.inf else unit(rows[i], table, x[i])
            highest = max(highest, math.log(max(first, 1e-300)))
    left, right, most, trial, few = highest - 700.0, highest, np.inf, x.copy(), 16.0 + arms / 8.0
    if not left < log_price < right:
        log_price = highest - 1.0
    exact = False
    for step in range(200):
        if exact and (budget - taken <= few or most - taken <= few or right - left < 1e-13 * max(abs(left), 1.0)):
            break
        amount, change = 0.0, 0.0
        for i in range(arms):
            trial[i] = hulls[i, LOW]
            if not skip[i]:
                trial[i], slope = _take(rows, i, table, hulls, log_price, exact, trial[i])
                change += slope
            amount += trial[i]
        if not exact and (abs(amount - budget) <= few or step >= 12):
            exact, left, right = True, max(log_price - 2.0, left - 1.0), min(log_price + 2.0, highest)
            # Near enough: from here on in whole units. Nothing is known of the new ends but that they are far enough.
        elif amount > budget:
            left = log_price
            most = amount if exact else most
        else:
            right = log_price
            if exact:
                taken = amount
                for i in range(arms):
                    x[i] = trial[i]
        following = right + 1.0
        if change < 0.0 and step % 6 != 5:
            following = log_price + (budget - amount - 0.5 * few) / change
        if not left < following < right:
            following = 0.5 * (left + right) if left > highest - 690.0 else right - 2.0 ** (step + 1)
        log_price = max(following, left)
    return taken, log_price


@njit(error_model="numpy")
def relax_units(rows, table, hulls, budget, start, x):
    """Maximise the sum of the integer hulls; write whole numbers within the budget to x.

    Returns the bound, the value at x, the worth of the last unit, and the arm on whose chord the budget ends (-1 if
    none) with the units it would get of it. Of such an arm x leaves the chord out, and goes on with the others.
    """
    arms = rows.shape[0]
    everything, total, last, partial, at, bound = 0.0, 0.0, 0.0, -1, 0.0, np.inf
    for i in range(arms):
        everything += hulls[i, HIGH]
    if everything <= budget:
        for i in range(arms):
            x[i] = hulls[i, HIGH]
            total += worth_of(rows[i], table, x[i])
        return total, total, 0.0, -1, 0.0
    skip, gain, heap = np.zeros(arms, np.bool_), np.empty(arms), np.empty(arms, np.int64)
    for _ in range(8):
        taken, start = _price_units(rows, table, hulls, budget, start, skip, x)
        rest, total, again, size = budget - taken, 0.0, False, 0
        for i in range(arms):
            gain[i] = 0.0 if skip[i] else next_unit(rows[i], table, hulls[i], x[i])
            total += worth_of(rows[i], table, x[i])
            if gain[i] > 0.0:
                size = push(heap, size, gain, i)
        while rest > 0.0 and size > 0:
            best, size = pop(heap, size, gain)
            step = hulls[best, TOUCH] - x[best] if x[best] < hulls[best, TOUCH] else 1.0
            if step > rest:
                if partial < 0:
                    partial, at, bound, last = best, x[best] + rest, total + gain[best] * rest, gain[best]
                skip[best], again = True, rest > 64.0
                if again:
                    break
                continue
            last = gain[best] if partial < 0 else last
            total += gain[best] * step
            x[best] += step
            rest -= step
            gain[best] = next_unit(rows[best], table, hulls[best], x[best])
            if gain[best] > 0.0:
                size = push(heap, size, gain, best)
        if not again:
            break
    total = 0.0
    for i in range(arms):
        total += worth_of(rows[i], table, x[i])
    return (max(bound, total) if partial >= 0 else total), total, last, partial, at


@njit(error_model="numpy")
def next_unit(row, table, hull, n):
    """What a unit of the next step is worth: of the chord, if it has not been taken."""
    if n >= hull[HIGH]:
        return 0.0
    return hull[CHORD] if n < hull[TOUCH] else unit(row, table, n)
