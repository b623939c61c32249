"""The oracle for whole-number thresholds, as one gufunc: integer hulls, branch and bound, dynamic programming.

Where the budget ends within the chord of an integer hull (`units`), branch and bound splits that arm's interval. Small
problems, and those that it leaves with a gap, are solved by dynamic programming.
"""

import math

import numpy as np

from headgate.kernels import units as u
from headgate.kernels.arguments import LAYOUT, SIGNATURE
from headgate.kernels.compiled import gufunc
from headgate.kernels.curves import COLUMNS, convex_part, fill_row
from headgate.kernels.curves import value as worth_of
from headgate.kernels.demand import prepare_demand
from headgate.kernels.digits import rounding
from headgate.kernels.falling import all_fall, allocate_falling
from headgate.kernels.hull import COLUMNS as HULL_COLUMNS
from headgate.kernels.part import njit
from headgate.kernels.units import fill_units, next_unit, relax_units, unit

# Columns of a node: where it hangs; the arm it narrowed, and to what; its bound; the arm left on a chord, and where.
_PARENT, _ARM, _LEFT, _RIGHT, _BOUND, _PARTIAL, _AT = range(7)
_SMALL, _MODERATE = 1e6, 4e8  # steps of dynamic programming: gladly, and where branch and bound leaves a gap


@njit(error_model="numpy")
def _branch(rows, table, hulls, budget, start, max_nodes, best_x, scratch):
    """Branch and bound over the intervals of the arms; returns value, bound, worth of the last unit and nodes."""
    x = best_x.copy()
    bound, best, last, partial, at = relax_units(rows, table, hulls, budget, start, best_x)
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
            for column in range(u.COLUMNS):
                hulls[i, column] = root[i, column]
        ancestor = node
        while ancestor > 0:  # the deepest interval of an arm is the narrowest: keep it
            arm = int(tree[ancestor, _ARM])
            low, high = max(tree[ancestor, _LEFT], hulls[arm, u.LOW]), min(tree[ancestor, _RIGHT], hulls[arm, u.HIGH])
            fill_units(hulls[arm], rows[arm], table, low, high, scratch)
            ancestor = int(tree[ancestor, _PARENT])
        arm = int(tree[node, _PARTIAL])
        low, high = hulls[arm, u.LOW], hulls[arm, u.HIGH]
        _, bend = convex_part(rows[arm], table, low, high)
        cut = math.floor(bend)
        if not low <= cut < high:
            cut = min(max(math.floor(tree[node, _AT]), low), high - 1.0)
        for side in range(2):
            left, right = (low, cut) if side == 0 else (cut + 1.0, high)
            fill_units(hulls[arm], rows[arm], table, left, right, scratch)
            least = 0.0
            for i in range(x.size):
                least += hulls[i, u.LOW]
            if least > budget:
                continue
            bound, worth, unit, partial, at = relax_units(rows, table, hulls, budget, price, x)
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
        low, room = hulls[i, u.LOW], int(min(hulls[i, u.HIGH] - hulls[i, u.LOW], spare))
        for j in range(room + 1):
            curve[j] = worth_of(rows[i], table, low + j) - hulls[i, u.BASE]
        total += hulls[i, u.BASE]
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
        x[i] = hulls[i, u.LOW] + choice[i, left]
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
    rows, high, everything = np.empty((arms, COLUMNS)), np.empty(arms), 0.0
    for i in range(arms):
        fill_row(rows[i], base[i], a[i], b[i], math.log(rate[i]) + shift[i], cap[i], weight[i], cascade)
        high[i] = max(min(upper[i], lower[i] + spare), lower[i])
        everything += high[i]
    prepare_demand(rows)
    nodes[0] = 1
    if spare > 0.0 and budget < everything and all_fall(rows, table, lower, high):
        value[0], price[0] = allocate_falling(rows, table, lower, high, budget, x)
        bound[0] = value[0] * (1.0 + rounding(rows, budget))
        return
    hulls, scratch = np.empty((arms, u.COLUMNS)), np.empty(HULL_COLUMNS)
    steps, falling, start, count, last = 0.0, True, 0.0, 0, 0.0
    for i in range(arms):
        fill_units(hulls[i], rows[i], table, lower[i], high[i], scratch)
        room = hulls[i, u.HIGH] - lower[i]
        steps += (spare + 1.0) * room
        if room > 0.0:
            falling = falling and hulls[i, u.TOUCH] <= lower[i] + 1.0
            start += min(max(hulls[i, u.AT_FROM], -700.0), math.log(next_unit(rows[i], table, hulls[i], lower[i])))
            count += 1
        x[i] = lower[i]
    if spare <= 0.0:
        value[0] = 0.0
        for i in range(arms):
            value[0] += worth_of(rows[i], table, lower[i])
            if upper[i] > lower[i]:
                last = max(last, unit(rows[i], table, lower[i]))
        bound[0], price[0] = value[0], last
    elif not falling and steps <= _SMALL:
        value[0], price[0] = _programme(rows, table, hulls, int(spare), x)
        bound[0] = value[0]
    else:
        root = hulls.copy()
        value[0], bound[0], price[0], nodes[0] = _branch(
            rows, table, hulls, budget, start / max(count, 1), max(max_nodes, 1), x, scratch
        )
        if bound[0] > value[0] * (1.0 + 1e-12) and steps <= _MODERATE and max_nodes > 1:
            value[0], price[0] = _programme(rows, table, root, int(spare), x)
            bound[0] = value[0]
    bound[0] *= 1.0 + rounding(rows, budget)
