"""The best allocation on the concave hulls: one price, at which demand meets the budget."""

import math

import numpy as np
from numba import njit

from headgate.kernels import hull as h
from headgate.kernels.curves import value
from headgate.kernels.hull import demand


@njit(error_model="numpy")
def _total(rows, table, hulls, log_price, x):
    """Demand of all arms at a price, those whose chord is exactly as steep left at its start; and its slope."""
    total, sensitivity = 0.0, 0.0
    for i in range(rows.shape[0]):
        hull, change = hulls[i], 0.0
        if hull[h.CHORD] > log_price:
            x[i], change = demand(
                rows[i], table, hull[h.TOUCH], hull[h.HIGH], hull[h.AT_TOUCH], hull[h.AT_HIGH], log_price, x[i]
            )
        elif hull[h.START] > hull[h.LOW]:
            x[i], change = demand(
                rows[i], table, hull[h.LOW], hull[h.START], hull[h.AT_LOW], hull[h.CHORD], log_price, x[i]
            )
        else:
            x[i] = hull[h.LOW]
        sensitivity += change
        total += x[i]
    return total, sensitivity


@njit(error_model="numpy")
def _smooth_price(rows, table, hulls, budget, left, right, start, x):
    """Find the price between `left` and `right`, where no chord starts, by Newton on log demand.

    Where demand changes faster than the price has digits (arms almost linear, budgets almost 0), the answer lies
    between the demands on both sides of the root, which cost the same per unit.
    """
    log_price = start if left < start < right else 0.5 * (left + right)
    goal = math.log(budget)
    width = right - left
    for step in range(200):
        total, sensitivity = _total(rows, table, hulls, log_price, x)
        if total > budget:
            left = log_price
        else:
            right = log_price
        if abs(total - budget) <= 1e-14 * budget:
            return log_price
        following = right + 1.0
        if sensitivity < 0.0 and total > 0.0:
            following = log_price - (math.log(total) - goal) * total / sensitivity
        slow = step % 4 == 3 and right - left > 0.25 * width
        if step % 4 == 3:
            width = right - left
        if slow or not left < following < right:
            following = 0.5 * (left + right)
        if not left < following < right:
            break
        log_price = following
    above = x.copy()
    most, _ = _total(rows, table, hulls, left, above)
    least, _ = _total(rows, table, hulls, right, x)
    if most > least:
        share = min(max((budget - least) / (most - least), 0.0), 1.0)
        for i in range(x.size):
            x[i] += share * (above[i] - x[i])
    return right


@njit(error_model="numpy")
def _fill(hulls, budget, level, first, order, x, total):
    """Take the chords of slope `level` one after the other; return the arm on which the budget ends, -1 if none."""
    for k in range(first, order.size):
        i = order[k]
        if hulls[i, h.CHORD] != level:
            break
        room = hulls[i, h.TOUCH] - hulls[i, h.START]
        if total + room > budget:
            x[i] += budget - total
            return i
        x[i] = hulls[i, h.TOUCH]
        total += room
    return -1


@njit(error_model="numpy")
def _settle(rows, table, hulls, budget, log_price, partial, x):
    """Bound and value at the demand x: the dual function, then what rounding left over put right."""
    worth, spent, widest, slack = 0.0, 0.0, -1, 0.0
    for i in range(x.size):
        worth += value(rows[i], table, x[i])
        spent += x[i]
        inside = min(x[i] - hulls[i, h.TOUCH], hulls[i, h.HIGH] - x[i])
        if inside > slack:
            widest, slack = i, inside
    rest = budget - spent
    bound = worth + math.exp(log_price) * rest  # sum of max (f - price x), plus price * budget
    if partial >= 0:
        chord = hulls[partial, h.F_START] + (x[partial] - hulls[partial, h.START]) * math.exp(log_price)
        bound += max(chord - value(rows[partial], table, x[partial]), 0.0)
    if partial < 0 and abs(rest) < slack:  # to the arm with the most room on both sides
        worth -= value(rows[widest], table, x[widest])
        x[widest] += rest
        worth += value(rows[widest], table, x[widest])
    elif rest < 0.0:
        while rest < 0.0:  # from the arm that loses least by it
            cheapest, least = -1, np.inf
            for i in range(x.size):
                if x[i] > hulls[i, h.LOW]:
                    taken = min(-rest, x[i] - hulls[i, h.LOW])
                    loss = (value(rows[i], table, x[i]) - value(rows[i], table, x[i] - taken)) / taken
                    if loss < least:
                        cheapest, least = i, loss
            if cheapest < 0:
                break
            taken = min(-rest, x[cheapest] - hulls[cheapest, h.LOW])
            worth -= value(rows[cheapest], table, x[cheapest])
            x[cheapest] -= taken
            worth += value(rows[cheapest], table, x[cheapest])
            rest += taken
            if x[cheapest] > hulls[cheapest, h.LOW]:
                break
    return max(bound, worth), worth


@njit(error_model="numpy")
def relax(rows, table, hulls, budget, start, x):
    """Maximise the sum of the hulls; write the maximiser to x.

    Returns the dual bound, the value of the curves themselves at x, the log price, and the one arm left on its
    chord (-1 if none): there alone hull and curve differ.
    """
    arms = rows.shape[0]
    everything = np.sum(hulls[:, h.HIGH])
    if everything <= budget or budget <= np.sum(hulls[:, h.LOW]):
        total, column = 0.0, (h.HIGH if everything <= budget else h.LOW)
        for i in range(arms):
            x[i] = hulls[i, column]
            total += value(rows[i], table, x[i])
        return total, total, -np.inf, -1

    # The prices at which chords start, steepest first; equal ones in the order of the arms.
    chords = hulls[:, h.CHORD].copy()
    order = np.argsort(-chords, kind="mergesort")
    first = 0  # arms before it are concave: no jump in their demand
    while first < arms and chords[order[first]] == np.inf:
        first += 1
    # The highest price at which demand, with the chords of that price taken whole, covers the budget.
    low, high = first, arms
    while low < high:
        middle = (low + high) // 2
        level = chords[order[middle]]
        covered, _ = _total(rows, table, hulls, level, x)
        for k in range(first, arms):
            if chords[order[k]] == level:
                covered += hulls[order[k], h.TOUCH] - hulls[order[k], h.START]
        if covered >= budget:
            high = middle
        else:
            low = middle + 1
    level, partial = -np.inf, -1
    if low < arms:
        level = chords[order[low]]
        total, _ = _total(rows, table, hulls, level, x)
        if total <= budget:
            while low > first and chords[order[low - 1]] == level:
                low -= 1
            partial = _fill(hulls, budget, level, low, order, x, total)
            bound, worth = _settle(rows, table, hulls, budget, level, partial, x)
            return bound, worth, level, partial
    left, right = np.inf, -np.inf
    for i in range(arms):
        if hulls[i, h.HIGH] <= hulls[i, h.LOW]:
            continue
        if chords[i] > level:
            right, left = max(right, hulls[i, h.AT_TOUCH]), min(left, hulls[i, h.AT_HIGH])
        elif hulls[i, h.START] > hulls[i, h.LOW]:
            right, left = max(right, hulls[i, h.AT_LOW]), min(left, chords[i])
    if low > first:  # just below the chord before, so that it is taken
        right = min(right, np.nextafter(chords[order[low - 1]], -np.inf))
    left = max(left, level) if level > -np.inf else min(left, right) - 1.0
    if left >= right:
        left = level
    log_price = _smooth_price(rows, table, hulls, budget, left, right, start, x)
    bound, worth = _settle(rows, table, hulls, budget, log_price, -1, x)
    return bound, worth, log_price, -1
