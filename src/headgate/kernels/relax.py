"""The best allocation on the concave hulls: one price, at which demand meets the budget, and the bound it proves.

For every price nu >= 0, weak duality bounds what any allocation is worth: nu * budget + sum_i max_x (f_i(x) - nu x).
At the price where the hulls' demand meets the budget that bound is the best one, and the demand is an allocation.
"""

import math

import numpy as np
from numba import njit

from headgate.kernels import hull as h
from headgate.kernels.curves import (
    AMOUNT,
    BASE,
    CAP,
    COLUMNS,
    KNOT,
    LOC,
    A,
    fill_row,
    knot_value,
    log_slope,
    table_cell,
    table_ends,
    value,
)
from headgate.kernels.hull import demand, fill_hull, fill_scaled, unit_chord
from headgate.laws.standard import TABLE_KNOTS, Base

_TABLE = int(Base.TABLE)
_STRIDE = 16  # of the knots at which the hull of a tabulated curve is checked
_NEARLY = 1.0 - 1e-12  # of a limit: what is that close to it is there, up to rounding


@njit(error_model="numpy")
def prepare(base, a, b, shift, cap, table, weight, rate, lower, upper, spare, cascade):
    """Return the rows of the arms, and the hulls of their curves between `lower` and what each may get."""
    arms = weight.size
    rows, hulls = np.empty((arms, COLUMNS)), np.empty((arms, h.COLUMNS))
    touch, chord, last = 0.0, 0.0, -1  # the tangent from 0 at rate and weight 1, of the last arm that needed one
    for i in range(arms):
        fill_row(rows[i], base[i], a[i], b[i], math.log(rate[i]) + shift[i], cap[i], weight[i], cascade)
        high = min(min(upper[i], rows[i, CAP]), lower[i] + spare)
        if base[i] == _TABLE:
            high = min(high, table_ends(rows[i], table)[1])
        high = max(high, lower[i])
        if lower[i] == 0.0 and cascade == 0.0 and base[i] != _TABLE and cap[i] == np.inf and weight[i] > 0.0:
            if last < 0 or base[i] != base[last] or a[i] != a[last] or b[i] != b[last]:
                touch, chord = unit_chord(rows[i], table)
                last = i
            if fill_scaled(hulls[i], rows[i], table, high, touch, chord):
                continue
        fill_hull(hulls[i], rows[i], table, lower[i], high)
    return rows, hulls


@njit(error_model="numpy")
def price_at(rows, table, lower, upper, spare, log_price, x):
    """The price at x: where the budget alone is an arm's limit, more would go on with its slope."""
    for i in range(x.size):
        alone = x[i] >= (lower[i] + spare) * _NEARLY
        if x[i] < _NEARLY * min(upper[i], rows[i, CAP]) and (log_price == -np.inf or alone):
            log_price = max(log_price, log_slope(rows[i], table, x[i])[0])
    return math.exp(log_price)


@njit(error_model="numpy")
def hull_demand(row, table, hull, log_price, guess):
    """What an arm gets at a price, left at the start of a chord exactly as steep; and d of it / d log price."""
    if hull[h.CHORD] > log_price:
        left, right, at_left, at_right = hull[h.TOUCH], hull[h.HIGH], hull[h.AT_TOUCH], hull[h.AT_HIGH]
    elif hull[h.START] > hull[h.LOW]:
        left, right, at_left, at_right = hull[h.LOW], hull[h.START], hull[h.AT_LOW], hull[h.CHORD]
    else:
        return hull[h.LOW], 0.0
    return demand(row, table, left, right, at_left, at_right, log_price, guess)


@njit(error_model="numpy")
def _fill(hulls, budget, level, x, total):
    """Take the chords of slope `level` one after the other; return the arm on which the budget ends, -1 if none."""
    for i in range(x.size):
        if hulls[i, h.CHORD] != level:
            continue
        room = hulls[i, h.TOUCH] - hulls[i, h.START]
        if total + room > budget:
            x[i] += budget - total
            return i
        x[i] = hulls[i, h.TOUCH]
        total += room
    return -1


@njit(error_model="numpy")
def _overlooked(row, table, hull, price, claim):
    """How much more than `claim` f(x) - price x is at some knot of a tabulated curve, or at the ends of its interval.

    Nothing, if the hull is a hull: so a curve of an unexpected shape widens the gap, and makes no bound false.
    """
    low, high = hull[h.LOW], hull[h.HIGH]
    most = max(claim, hull[h.F_LOW] - price * low)
    most = max(most, hull[h.F_HIGH] - price * high)
    scale, knots, a = math.exp(-row[LOC]), table[int(row[A]), KNOT], int(row[A])
    first = table_cell(knots, row[LOC] + math.log(max(low, 1e-300)))[0]
    last = table_cell(knots, row[LOC] + math.log(max(high, 1e-300)))[0]
    for k in range(first, min(last + 1, TABLE_KNOTS), _STRIDE):
        x = table[a, AMOUNT, k] * scale
        if low <= x <= high:
            most = max(most, knot_value(row, table, k) - price * x)
    return most - claim


@njit(error_model="numpy")
def settle(rows, table, hulls, budget, log_price, partial, x):
    """Bound and value at the demand x: the dual function, then what rounding left over put right."""
    price, bound, worth = math.exp(log_price), 0.0, 0.0
    for again in range(2):
        worth, spent, least, widest, slack, extra = 0.0, 0.0, 0.0, -1, 0.0, 0.0
        for i in range(x.size):
            f = value(rows[i], table, x[i])
            worth += f
            spent += x[i]
            if again > 0:
                continue
            claim = f - price * x[i]
            if i == partial:
                chord = hulls[i, h.F_START] - price * hulls[i, h.START]
                extra += max(chord - claim, 0.0)
                claim = max(claim, chord)
            if rows[i, BASE] == _TABLE and hulls[i, h.HIGH] > hulls[i, h.LOW]:
                extra += _overlooked(rows[i], table, hulls[i], price, claim)
            least += hulls[i, h.LOW]
            inside = min(x[i] - hulls[i, h.TOUCH], hulls[i, h.HIGH] - x[i])
            if inside > slack:
                widest, slack = i, inside
        if again > 0:
            break
        rest = budget - spent
        bound = worth + price * rest + extra  # sum of max (f - price x), plus price * budget
        if rest == 0.0:
            break
        if partial < 0 and abs(rest) < slack:  # to the arm with the most room on both sides
            x[widest] += rest
        elif rest < 0.0 and spent > least:
            for i in range(x.size):
                x[i] = hulls[i, h.LOW] + max(budget - least, 0.0) / (spent - least) * (x[i] - hulls[i, h.LOW])
        else:
            break
    return max(bound, worth), worth


@njit(error_model="numpy")
def relax(rows, table, hulls, budget, start, x):
    """Maximise the sum of the hulls; write the maximiser to x.

    `start` is a log price to look at first (0: none). Returns the dual bound, the value of the curves themselves at
    x, the log price, and the one arm left on its chord (-1 if none): there alone hull and curve differ.
    """
    arms = rows.shape[0]
    everything, nothing = 0.0, 0.0
    left, right, mean, count = np.inf, -np.inf, 0.0, 0
    for i in range(arms):
        everything += hulls[i, h.HIGH]
        nothing += hulls[i, h.LOW]
        if hulls[i, h.HIGH] > hulls[i, h.LOW]:
            steep = hulls[i, h.AT_LOW] if hulls[i, h.START] > hulls[i, h.LOW] else hulls[i, h.AT_TOUCH]
            left, right = min(left, hulls[i, h.AT_HIGH]), max(right, steep)
            mean += steep
            count += 1
    if everything <= budget or budget <= nothing:
        worth, column = 0.0, (h.HIGH if everything <= budget else h.LOW)
        for i in range(arms):
            x[i] = hulls[i, column]
            worth += value(rows[i], table, x[i])
        return worth, worth, -np.inf, -1
    # Demand exceeds the budget at `left` and falls short of it at `right`; it jumps where chords begin. Look at the
    # chord next to where it should meet the budget, by false position in logarithms, until none is left between. Then
    # it is smooth: Newton on its logarithm, halving the bracket where that is slow. Where demand changes faster than
    # the price has digits (arms almost linear, budgets almost 0), the answer lies between the demands on both sides of
    # the root, which cost the same per unit.
    left, right = left - 1.0, right + 1.0
    above, below, width, partial = everything, max(nothing, 1e-300), np.inf, -1
    log_price = start if left < start < right and start != 0.0 else min(max(mean / count, left), right)
    smooth, ends, steps = False, 0, 0
    over = x
    while True:
        if not smooth:
            level, distance = np.inf, np.inf
            for i in range(arms):
                chord = hulls[i, h.CHORD]
                if left < chord < right and abs(chord - log_price) < distance:
                    level, distance = chord, abs(chord - log_price)
            smooth = distance == np.inf
            if not smooth:
                log_price = level
            elif not left < log_price < right:
                log_price = 0.5 * (left + right)
        if ends > 0:  # the bracket has no digits left: demand at its left end, then at its right
            log_price = left if ends == 1 else right
        total, sensitivity, room = 0.0, 0.0, 0.0
        for i in range(arms):
            x[i], change = hull_demand(rows[i], table, hulls[i], log_price, x[i])
            sensitivity += change
            total += x[i]
            if hulls[i, h.CHORD] == log_price:
                room += hulls[i, h.TOUCH] - hulls[i, h.START]
        steps += 1
        if ends == 1:
            above, ends = total, 2
            over = x.copy()
            continue
        if ends == 2:
            share = min(max((budget - total) / (above - total), 0.0), 1.0) if above > total else 0.0
            for i in range(arms):
                x[i] += share * (over[i] - x[i])
            break
        if not smooth and total <= budget <= total + room:
            partial = _fill(hulls, budget, log_price, x, total)
            break
        if smooth and abs(total - budget) <= 1e-14 * budget:
            break
        if total > budget:
            left, above = log_price, total
        else:
            right, below = log_price, max(total + room, 1e-300)
        if not smooth:
            share = math.log(above / budget) / max(math.log(above / below), 1e-300)
            share = 0.5 if steps % 3 == 0 else min(max(share, 0.02), 0.98)
            log_price = left + share * (right - left)
            continue
        following = right + 1.0
        if sensitivity < 0.0 and total > 0.0:
            following = log_price - math.log(total / budget) * total / sensitivity
        if steps % 4 == 0:
            slow = right - left > 0.25 * width
            width = right - left
            following = right + 1.0 if slow else following
        if not left < following < right:
            following = 0.5 * (left + right)
        if not left < following < right or steps > 400 + 4 * arms:
            ends = 1
        log_price = following
    bound, worth = settle(rows, table, hulls, budget, log_price, partial, x)
    return bound, worth, log_price, partial
