"""The best allocation on the concave hulls: one price, at which demand meets the budget, and the bound it proves.

For every price nu >= 0, weak duality bounds what any allocation is worth: nu * budget + sum_i max_x (f_i(x) - nu x).
At the price where the hulls' demand meets the budget that bound is the best one, and the demand is an allocation.
"""

import math

import numpy as np

from headgate.kernels import hull as h
from headgate.kernels.curves import BASE, CAP, COLUMNS, LOC, A, fill_row, knot_value, log_slope, value
from headgate.kernels.demand import demand, prepare_demand
from headgate.kernels.hull import fill_hull, fill_scaled, unit_chord
from headgate.kernels.part import njit
from headgate.kernels.table import AMOUNT, KNOT, table_cell, table_ends
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
            high = min(high, table_ends(table, a[i], rows[i, LOC])[1])
        high = max(high, lower[i])
        if lower[i] == 0.0 and cascade == 0.0 and base[i] != _TABLE and cap[i] == np.inf and weight[i] > 0.0:
            if last < 0 or base[i] != base[last] or a[i] != a[last] or b[i] != b[last]:
                touch, chord = unit_chord(rows[i], table)
                last = i
            if fill_scaled(hulls[i], rows[i], table, high, touch, chord):
                continue
        fill_hull(hulls[i], rows[i], table, lower[i], high)
    prepare_demand(rows)
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
def hull_demand(rows, i, table, hulls, log_price, guess):
    """What arm i gets at a price, left at the start of a chord exactly as steep; and d of it / d log price."""
    if hulls[i, h.CHORD] > log_price:
        left, right, at_left, at_right = h.TOUCH, h.HIGH, h.AT_TOUCH, h.AT_HIGH
    elif hulls[i, h.START] > hulls[i, h.LOW]:
        left, right, at_left, at_right = h.LOW, h.START, h.AT_LOW, h.CHORD
    else:
        return hulls[i, h.LOW], 0.0
    return demand(
        rows, i, table, hulls[i, left], hulls[i, right], hulls[i, at_left], hulls[i, at_right], log_price, guess
    )


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
def overlooked(row, table, low, high, f_low, f_high, price, claim):
    """How much more than `claim` f(x) - price x is at some knot of a tabulated curve, or at the ends of an interval.

    Nothing, if the hull is a hull: so a curve of an unexpected shape widens the gap, and makes no bound false.
    """
    most = max(claim, f_low - price * low)
    most = max(most, f_high - price * high)
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
                low, high, f_low, f_high = hulls[i, h.LOW], hulls[i, h.HIGH], hulls[i, h.F_LOW], hulls[i, h.F_HIGH]
                extra += overlooked(rows[i], table, low, high, f_low, f_high, price, claim)
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
def _jumps(hulls, left, right):
    """How much demand falls with the log price where chords end: a histogram, its first edge and its bins' width."""
    low, high, arms = np.inf, -np.inf, hulls.shape[0]
    for i in range(arms):
        if left < hulls[i, h.CHORD] < right:
            low, high = min(low, hulls[i, h.CHORD]), max(high, hulls[i, h.CHORD])
    density = np.zeros(64 if arms > 100 else 8)
    size = (high - low) / density.size
    if not 0.0 < size < np.inf:
        return density, low, 0.0
    for i in range(arms):
        if left < hulls[i, h.CHORD] < right:
            k = min(int((hulls[i, h.CHORD] - low) / size), density.size - 1)
            density[k] += (hulls[i, h.TOUCH] - hulls[i, h.START]) / size
    return density, low, size


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
    # chord next to where it should meet the budget, by Newton's step and then by false position in logarithms, until
    # none is left between. Then it is smooth: Newton on its logarithm, halving the bracket where that is slow. Where
    # demand changes faster than the price has digits (arms almost linear, budgets almost 0), the answer lies between
    # the demands on both sides of the root, which cost the same per unit.
    left, right = left - 1.0, right + 1.0
    over_left, over_right = 0.0, 0.0  # log(demand / budget) at both ends, once it is known
    above, width, partial, side = everything, np.inf, -1, 0
    density, first, size = _jumps(hulls, left, right)
    log_price = start if left < start < right and start != 0.0 else min(max(mean / count, left), right)
    if size > 0.0 and start == 0.0:  # where the chords that are steeper reach about as far as the budget
        reached, k = nothing, density.size
        while k > 0 and reached + density[k - 1] * size < 0.8 * budget:
            k -= 1
            reached += density[k] * size
        log_price = first + k * size
    smooth, ends, steps = False, 0, 0
    over, changes = x, np.empty(arms)
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
            x[i], changes[i] = hull_demand(rows, i, table, hulls, log_price, x[i])
            sensitivity += changes[i]
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
        if smooth and abs(total - budget) <= 1e-7 * min(budget, -sensitivity):  # the last of Newton's, to first order
            step = (budget - total) / sensitivity
            log_price += step
            for i in range(arms):
                excess, moved = x[i] - hulls[i, h.LOW], changes[i] * step
                if excess + moved <= 1e-4 * excess:  # to first order, nothing is left
                    x[i] = hulls[i, h.LOW]
                else:
                    x[i] = min(x[i] + moved, hulls[i, h.HIGH])
            break
        if total > budget:
            left, over_left = log_price, math.log(total / budget)
            over_right *= 0.5 if side == 1 else 1.0  # an end that stays counts half: Illinois' rule
            side = 1
        else:
            right, over_right = log_price, math.log(max(total + room, 1e-300) / budget)
            over_left *= 0.5 if side == -1 else 1.0
            side = -1
        if steps % 4 == 0:
            slow = right - left > 0.25 * width
            width = right - left
        else:
            slow = False
        following = right + 1.0
        if not smooth and over_left > 0.0 > over_right:
            following = left + over_left / (over_left - over_right) * (right - left)
        elif total > 0.0:
            if not smooth and size > 0.0:  # demand falls by itself, and where chords end
                sensitivity -= density[min(max(int((log_price - first) / size), 0), density.size - 1)]
            if sensitivity < 0.0:
                following = log_price - math.log(total / budget) * total / sensitivity
        if slow or not left < following < right:
            following = 0.5 * (left + right)
        if smooth and (not left < following < right or steps > 400 + 4 * arms):
            ends = 1
        log_price = following
    bound, worth = settle(rows, table, hulls, budget, log_price, partial, x)
    return bound, worth, log_price, partial
