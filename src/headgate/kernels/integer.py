"""The oracle for whole-number thresholds: the price on integer hulls, branch and bound, dynamic programming.

The integer hull of a curve is a chord from its lower limit to the whole number where a line from there is steepest,
and then its units, each worth less than the one before. At a price every arm takes the units worth more; what is left
of the budget goes unit by unit to the best. Where marginals fall from the first unit on, that is the optimum. Else the
budget may end within a chord: branch and bound splits that arm's interval. Small problems are solved by dynamic
programming.
"""

import math

import numpy as np
from numba import njit

from headgate.kernels.arguments import LAYOUT, SIGNATURE
from headgate.kernels.compiled import gufunc
from headgate.kernels.curves import COLUMNS, convex_part, fill_row, log_slope
from headgate.kernels.curves import value as worth_of
from headgate.kernels.hull import COLUMNS as HULL_COLUMNS
from headgate.kernels.hull import TOUCH as HULL_TOUCH
from headgate.kernels.hull import demand, fill_hull

# Columns of an integer hull: the interval, the end of its chord, the chord's slope; f at its start; where the curve is
# concave from, and its log slopes there and at the end.
_LOW, _HIGH, _TOUCH, _CHORD, _BASE, _FROM, _AT_FROM, _AT_HIGH = range(8)
_COLUMNS = 8
# Columns of a node: where it hangs; the arm it narrowed, and to what; its bound; the arm left on a chord, and where.
_PARENT, _ARM, _LEFT, _RIGHT, _BOUND, _PARTIAL, _AT = range(7)
_SMALL, _MODERATE = 1e6, 4e8  # steps of dynamic programming: gladly, and where branch and bound leaves a gap


@njit(error_model="numpy")
def _unit(row, table, n):
    """What the unit after the n-th adds."""
    return worth_of(row, table, n + 1.0) - worth_of(row, table, n)


@njit(error_model="numpy")
def _fill(hull, row, table, low, high, scratch):
    """Write the integer hull of the curve on [low, high]."""
    hull[_LOW], hull[_HIGH], hull[_TOUCH], hull[_CHORD] = low, high, low, np.inf
    hull[_BASE] = worth_of(row, table, low)
    if worth_of(row, table, high) <= hull[_BASE]:
        hull[_HIGH] = low
        return
    _, bend = convex_part(row, table, low, high)
    if bend > low:  # the whole number beside the point of tangency from which the line is steepest
        fill_hull(scratch, row, table, low, high)
        best = -np.inf
        for side in range(2):
            end = min(max(math.floor(scratch[HULL_TOUCH]) + side, low + 1.0), high)
            slope = (worth_of(row, table, end) - hull[_BASE]) / (end - low)
            if slope > best:
                best, hull[_TOUCH] = slope, end
        hull[_CHORD] = best
    start = min(max(hull[_TOUCH], bend), high)
    hull[_FROM], hull[_AT_FROM] = start, log_slope(row, table, start)[0]
    hull[_AT_HIGH] = log_slope(row, table, high)[0]


@njit(error_model="numpy")
def _take(row, table, hull, log_price, exact, guess):
    """How many units an arm takes at a price, all that are worth more, and about d of it / d log price.

    Unless it is to be exact, the unit after n is taken to be worth f'(n + 1/2).
    """
    low, high, price = hull[_LOW], hull[_HIGH], math.exp(log_price)
    if high <= low or hull[_CHORD] <= price:
        return low, 0.0
    n, change = hull[_TOUCH], 0.0
    if hull[_FROM] < high:
        x, change = demand(row, table, hull[_FROM], high, hull[_AT_FROM], hull[_AT_HIGH], log_price, guess)
        n = min(max(math.floor(x if exact else x + 0.5), n), high)
    if not exact:
        return n, change
    while n < high and _unit(row, table, n) > price:
        n += 1.0
    while n > hull[_TOUCH] and _unit(row, table, n - 1.0) <= price:
        n -= 1.0
    return n, change


@njit(error_model="numpy")
def _price_units(rows, table, hulls, budget, start, skip, x):
    """Write to x the units worth more than a price at which they fit into the budget and few more would.

    Newton on the log demand, halving the bracket where that does not get on. Arms in `skip` stay at their lower limit.
    """
    arms, taken, highest, log_price = rows.shape[0], 0.0, -np.inf, start
    for i in range(arms):
        x[i] = hulls[i, _LOW]
        taken += x[i]
        if hulls[i, _HIGH] > x[i] and not skip[i]:
            first = hulls[i, _CHORD] if hulls[i, _CHORD] < np.inf else _unit(rows[i], table, x[i])
            highest = max(highest, math.log(max(first, 1e-300)))
    left, right, most, trial, few = highest - 700.0, highest, np.inf, x.copy(), 16.0 + arms / 64.0
    if not left < log_price < right:
        log_price = highest - 1.0
    exact = False
    for step in range(200):
        if exact and (budget - taken <= few or most - taken <= few or right - left < 1e-13 * max(abs(left), 1.0)):
            break
        amount, change = 0.0, 0.0
        for i in range(arms):
            trial[i] = hulls[i, _LOW]
            if not skip[i]:
                trial[i], slope = _take(rows[i], table, hulls[i], log_price, exact, trial[i])
                change += slope
            amount += trial[i]
        if not exact and (abs(amount - budget) <= few or step >= 12):
            exact, left, right = True, highest - 700.0, highest  # near enough: from here on in whole units
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
        if change < 0.0 and step % 3 != 2:
            following = log_price + (budget - amount - 0.5 * few) / change
        if not left < following < right:
            following = 0.5 * (left + right) if left > highest - 690.0 else right - 2.0 ** (step + 1)
        log_price = max(following, left)
    return taken, log_price


@njit(error_model="numpy")
def _relax(rows, table, hulls, budget, start, x):
    """Maximise the sum of the integer hulls; write whole numbers within the budget to x.

    Returns the bound, the value at x, the worth of the last unit, and the arm on whose chord the budget ends (-1 if
    none) with the units it would get of it. Of such an arm x leaves the chord out, and goes on with the others.
    """
    arms = rows.shape[0]
    everything, total, last, partial, at, bound = 0.0, 0.0, 0.0, -1, 0.0, np.inf
    for i in range(arms):
        everything += hulls[i, _HIGH]
    if everything <= budget:
        for i in range(arms):
            x[i] = hulls[i, _HIGH]
            total += worth_of(rows[i], table, x[i])
        return total, total, 0.0, -1, 0.0
    skip, gain = np.zeros(arms, np.bool_), np.empty(arms)
    for _ in range(8):
        taken, start = _price_units(rows, table, hulls, budget, start, skip, x)
        rest, total, again = budget - taken, 0.0, False
        for i in range(arms):
            gain[i] = 0.0 if skip[i] else _next(rows[i], table, hulls[i], x[i])
            total += worth_of(rows[i], table, x[i])
        while rest > 0.0:
            best = 0
            for i in range(arms):
                if gain[i] > gain[best]:
                    best = i
            if gain[best] <= 0.0:
                break
            step = hulls[best, _TOUCH] - x[best] if x[best] < hulls[best, _TOUCH] else 1.0
            if step > rest:
                if partial < 0:
                    partial, at, bound, last = best, x[best] + rest, total + gain[best] * rest, gain[best]
                gain[best], skip[best], again = 0.0, True, rest > 64.0
                if again:
                    break
                continue
            last = gain[best] if partial < 0 else last
            total += gain[best] * step
            x[best] += step
            rest -= step
            gain[best] = _next(rows[best], table, hulls[best], x[best])
        if not again:
            break
    total = 0.0
    for i in range(arms):
        total += worth_of(rows[i], table, x[i])
    return (max(bound, total) if partial >= 0 else total), total, last, partial, at


@njit(error_model="numpy")
def _next(row, table, hull, n):
    """What a unit of the next step is worth: of the chord, if it has not been taken."""
    if n >= hull[_HIGH]:
        return 0.0
    return hull[_CHORD] if n < hull[_TOUCH] else _unit(row, table, n)


@njit(error_model="numpy")
def _branch(rows, table, hulls, budget, start, max_nodes, best_x, scratch):
    """Branch and bound over the intervals of the arms; returns value, bound, worth of the last unit and nodes."""
    x = best_x.copy()
    bound, best, last, partial, at = _relax(rows, table, hulls, budget, start, best_x)
    if partial < 0 or bound <= best:
        return best, bound, last, 1
    price = math.log(last) if last > 0.0 else start
    root, tree = hulls.copy(), np.empty((max_nodes + 2, 7))
    tree[0, _PARENT], tree[0, _BOUND], tree[0, _PARTIAL], tree[0, _AT] = -1.0, bound, partial, at
    nodes, top = 1, bound
    while nodes + 2 <= max_nodes:
        node, top = -1, best
        for k in range(nodes):
            if tree[k, _BOUND] > top:
                node, top = k, tree[k, _BOUND]
        if node < 0 or top <= best * (1.0 + 1e-14):
            break
        tree[node, _BOUND] = -np.inf  # closed
        for i in range(x.size):
            for column in range(_COLUMNS):
                hulls[i, column] = root[i, column]
        ancestor = node
        while ancestor > 0:  # the deepest interval of an arm is the narrowest: keep it
            arm = int(tree[ancestor, _ARM])
            low, high = max(tree[ancestor, _LEFT], hulls[arm, _LOW]), min(tree[ancestor, _RIGHT], hulls[arm, _HIGH])
            _fill(hulls[arm], rows[arm], table, low, high, scratch)
            ancestor = int(tree[ancestor, _PARENT])
        arm = int(tree[node, _PARTIAL])
        low, high = hulls[arm, _LOW], hulls[arm, _HIGH]
        _, bend = convex_part(rows[arm], table, low, high)
        cut = math.floor(bend)
        if not low <= cut < high:
            cut = min(max(math.floor(tree[node, _AT]), low), high - 1.0)
        for side in range(2):
            left, right = (low, cut) if side == 0 else (cut + 1.0, high)
            _fill(hulls[arm], rows[arm], table, left, right, scratch)
            least = 0.0
            for i in range(x.size):
                least += hulls[i, _LOW]
            if least > budget:
                continue
            bound, worth, unit, partial, at = _relax(rows, table, hulls, budget, price, x)
            if worth > best:
                best, last = worth, unit
                for i in range(x.size):
                    best_x[i] = x[i]
            tree[nodes, _PARENT], tree[nodes, _ARM], tree[nodes, _LEFT], tree[nodes, _RIGHT] = node, arm, left, right
            tree[nodes, _BOUND] = min(bound, top) if partial >= 0 else -np.inf
            tree[nodes, _PARTIAL], tree[nodes, _AT] = partial, at
            nodes += 1
    top = best
    for k in range(nodes):
        top = max(top, tree[k, _BOUND])
    return best, top, last, nodes


@njit(error_model="numpy")
def _programme(rows, table, hulls, spare, x):
    """Dynamic programming: best[n] is the most that the arms so far add with n units, choice[i, n] what arm i takes."""
    arms = rows.shape[0]
    best, following, curve = np.zeros(spare + 1), np.empty(spare + 1), np.empty(spare + 1)
    choice = np.zeros((arms, spare + 1), np.int32)
    total = 0.0
    for i in range(arms):
        low, room = hulls[i, _LOW], int(min(hulls[i, _HIGH] - hulls[i, _LOW], spare))
        for j in range(room + 1):
            curve[j] = worth_of(rows[i], table, low + j) - hulls[i, _BASE]
        total += hulls[i, _BASE]
        for n in range(spare + 1):
            top, taken = best[n], 0
            for j in range(1, min(n, room) + 1):
                candidate = best[n - j] + curve[j]
                if candidate > top:
                    top, taken = candidate, j
            following[n], choice[i, n] = top, taken
        for n in range(spare + 1):
            best[n] = following[n]
    left = spare
    for i in range(arms - 1, -1, -1):
        x[i] = hulls[i, _LOW] + choice[i, left]
        left -= choice[i, left]
    return total + best[spare], (best[spare] - best[spare - 1] if spare > 0 else 0.0)


@gufunc([SIGNATURE], LAYOUT)
def allocate_integer(
    base, a, b, shift, cap, table, weight, rate, lower, upper, budget, cascade, tol, max_nodes,
    x, value, bound, price, nodes,
):  # fmt: skip
    """Maximise sum f_i(x_i) over whole lower <= x <= upper, sum x <= budget; see `headgate.oracle.solve`."""
    arms = weight.size
    spare = budget
    for i in range(arms):
        spare -= lower[i]
    rows, hulls, scratch = np.empty((arms, COLUMNS)), np.empty((arms, _COLUMNS)), np.empty(HULL_COLUMNS)
    steps, falling, start, count = 0.0, True, 0.0, 0
    for i in range(arms):
        fill_row(rows[i], base[i], a[i], b[i], math.log(rate[i]) + shift[i], cap[i], weight[i], cascade)
        _fill(hulls[i], rows[i], table, lower[i], max(min(upper[i], lower[i] + spare), lower[i]), scratch)
        room = hulls[i, _HIGH] - lower[i]
        steps += (spare + 1.0) * room
        if room > 0.0:
            falling = falling and hulls[i, _TOUCH] <= lower[i] + 1.0
            start += min(max(hulls[i, _AT_FROM], -700.0), math.log(_next(rows[i], table, hulls[i], lower[i])))
            count += 1
        x[i] = lower[i]
    last = 0.0
    if spare <= 0.0:
        total = 0.0
        for i in range(arms):
            total += worth_of(rows[i], table, lower[i])
            if upper[i] > lower[i]:
                last = max(last, _unit(rows[i], table, lower[i]))
        value[0], bound[0], price[0], nodes[0] = total, total, last, 1
        return
    if not falling and steps <= _SMALL:
        value[0], price[0] = _programme(rows, table, hulls, int(spare), x)
        bound[0], nodes[0] = value[0], 1
        return
    root = hulls.copy()
    value[0], bound[0], price[0], nodes[0] = _branch(
        rows, table, hulls, budget, start / max(count, 1), max(max_nodes, 1), x, scratch
    )
    if bound[0] > value[0] * (1.0 + 1e-12) and steps <= _MODERATE and max_nodes > 1:
        value[0], price[0] = _programme(rows, table, root, int(spare), x)
        bound[0] = value[0]
