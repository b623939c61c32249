"""Branch and bound over the intervals of S-shaped arms.

A node is a set of intervals, one per arm; its bound is the best allocation on the hulls. Only the arm left on its
chord loses anything between hull and curve, so that arm's interval is split: at the inflection point, beyond which
the curve is its own hull, or, where the chord does not pass over it, at the allocation itself. Near-equal arms
multiply the nodes: what a few of them do not close is left to `states`.
"""

import math

import numpy as np

from headgate.kernels import hull as h
from headgate.kernels.curves import BASE, CAP, CASCADE, LOC, WEIGHT, A, B, convex_part
from headgate.kernels.digits import rounding, settled
from headgate.kernels.heap import grown, longer, pop, push, sorted_order
from headgate.kernels.hull import fill_hull
from headgate.kernels.part import njit
from headgate.kernels.relax import prepare, price_at, relax
from headgate.kernels.rounded import round_off

# Columns of a node: where it hangs; the arm it narrowed, and to what; its bound and price; the arm left on its
# chord, and what that arm gets.
_PARENT, _ARM, _LOW, _HIGH, _BOUND, _PRICE, _PARTIAL, _AT = range(8)
_COLUMNS = 8


@njit(error_model="numpy")
def _narrow(rows, table, hulls, twin, place, arm, low, high):
    """Restrict an arm to [low, high], and its twins with it.

    Of two arms with the same curve but for the weight, and the same limits, the heavier one gets at least as much
    in some optimum: exchanging their allocations would not lose. So a twin before this arm gets at least `low`, a
    twin after it at most `high`. Without that, equal arms multiply the nodes.
    """
    for i in range(rows.shape[0]):
        left, right = hulls[i, h.LOW], hulls[i, h.HIGH]
        if i == arm:
            left, right = low, high
        elif twin[arm] < 0 or twin[i] != twin[arm]:
            continue
        elif place[i] < place[arm] and left < low:
            left, right = low, max(right, low)
        elif place[i] > place[arm] and right > high:
            left, right = min(left, high), high
        else:
            continue
        fill_hull(hulls[i], rows[i], table, left, right)


@njit(error_model="numpy")
def _twins(rows, hulls):
    """Number the groups of arms that differ in weight alone (-1: no twin), and place each among all by weight."""
    arms, found = rows.shape[0], False
    twin, place, keys = np.empty(arms, np.int64), np.zeros(arms, np.int64), np.empty(arms)
    for i in range(arms):
        twin[i], keys[i] = -1, rows[i, LOC]
    order = sorted_order(keys)
    for k in range(arms):
        i = order[k]
        if twin[i] >= 0 or hulls[i, h.HIGH] <= hulls[i, h.LOW]:
            continue
        for later in range(k + 1, arms):
            j = order[later]
            if rows[i, LOC] != rows[j, LOC]:
                break
            same = hulls[i, h.LOW] == hulls[j, h.LOW] and hulls[i, h.HIGH] == hulls[j, h.HIGH]
            for column in (BASE, A, B, CAP):
                same = same and rows[i, column] == rows[j, column]
            if same:
                twin[i] = twin[j] = i
                found = True
    if found:
        for i in range(arms):
            keys[i] = -rows[i, WEIGHT]
        order = sorted_order(keys)
        for k in range(arms):
            place[order[k]] = k
    return twin, place


@njit(error_model="numpy")
def _close(best, bound, tol, cascade):
    """Whether the gap is within the tolerance; that of a cascade is between chances 1 - exp(-value)."""
    if cascade:
        return math.exp(-best) - math.exp(-bound) <= tol * -math.expm1(-bound)
    return bound - best <= tol * bound


@njit(error_model="numpy")
def _copy(source, target):
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@njit(error_model="numpy")
def branch_and_bound(rows, table, hulls, budget, tol, max_nodes, best_x):
    """Maximise the sum of the curves; write the best allocation found to best_x.

    Returns its value, the dual bound, the log price at it and the number of nodes solved.
    """
    x = best_x.copy()
    cascade = rows[0, CASCADE] != 0.0
    bound, best, best_price, partial = relax(rows, table, hulls, budget, 0.0, x)
    for i in range(x.size):
        best_x[i] = x[i]
    if partial < 0 or max_nodes <= 1 or _close(best, bound, tol, cascade):
        return best, bound, best_price, 1
    worth = round_off(rows, table, hulls, budget, best_price, partial, tol, best_x, x)
    at = best_x[partial]
    if worth > best:
        best = worth
        for i in range(x.size):
            best_x[i] = x[i]
        if _close(best, bound, tol, cascade):
            return best, bound, best_price, 1
    root, here = hulls.copy(), hulls.copy()
    twin, place = _twins(rows, hulls)
    tree = np.empty((64, _COLUMNS))
    tree[0, _PARENT], tree[0, _BOUND], tree[0, _PRICE] = -1, bound, best_price
    tree[0, _PARTIAL], tree[0, _AT] = partial, at
    heap, trail = np.empty(64, np.int64), np.empty(64, np.int64)
    nodes, size, cut_off = 0, 0, best
    size = push(heap, size, tree[:, _BOUND], nodes)
    nodes += 1
    while size > 0:
        if nodes + 2 > max_nodes or _close(best, tree[heap[0], _BOUND], tol, cascade):
            break
        if nodes + 2 > len(tree):
            tree, heap, trail = grown(tree), longer(heap), longer(trail)
        node, size = pop(heap, size, tree[:, _BOUND])
        _copy(root, hulls)
        depth, ancestor = 0, node
        while ancestor > 0:
            trail[depth] = ancestor
            depth, ancestor = depth + 1, int(tree[ancestor, _PARENT])
        for d in range(depth - 1, -1, -1):
            step = tree[trail[d]]
            _narrow(rows, table, hulls, twin, place, int(step[_ARM]), step[_LOW], step[_HIGH])
        arm = int(tree[node, _PARTIAL])
        _copy(hulls, here)
        low, high = hulls[arm, h.LOW], hulls[arm, h.HIGH]
        _, cut = convex_part(rows[arm], table, low, high)
        if not low < cut < high:
            margin = 0.02 * (high - low)
            cut = min(max(tree[node, _AT], low + margin), high - margin)
        for side in range(2):
            _copy(here, hulls)
            left, right = (low, cut) if side == 0 else (cut, high)
            _narrow(rows, table, hulls, twin, place, arm, left, right)
            least = 0.0
            for i in range(x.size):
                least += hulls[i, h.LOW]
                x[i] = best_x[i]
            if least > budget:
                continue
            bound, worth, log_price, partial = relax(rows, table, hulls, budget, tree[node, _PRICE], x)
            if worth > best:
                best, best_price = worth, log_price
                for i in range(x.size):
                    best_x[i] = x[i]
            bound = min(bound, tree[node, _BOUND])
            new, nodes = nodes, nodes + 1
            if partial < 0 or _close(best, bound, tol, cascade):
                cut_off = max(cut_off, bound)
                continue
            tree[new, _PARENT], tree[new, _ARM], tree[new, _LOW], tree[new, _HIGH] = node, arm, left, right
            tree[new, _BOUND], tree[new, _PRICE] = bound, log_price
            tree[new, _PARTIAL], tree[new, _AT] = partial, x[partial]
            size = push(heap, size, tree[:, _BOUND], new)
    if size > 0:
        cut_off = max(cut_off, tree[heap[0], _BOUND])
    return best, max(best, cut_off), best_price, nodes


@njit(error_model="numpy")
def solve(base, a, b, shift, cap, table, weight, rate, lower, upper, budget, cascade, tol, max_nodes, x):
    """Prepare the arms, search, and round the bound up; returns value, bound, price and the number of nodes."""
    spare = budget
    for i in range(lower.size):
        spare -= lower[i]
    rows, hulls = prepare(base, a, b, shift, cap, table, weight, rate, lower, upper, spare, cascade)
    error = rounding(rows, budget)
    at = np.zeros(lower.size)
    value, bound, log_price, nodes = branch_and_bound(rows, table, hulls, budget, max(tol - error, 0.0), max_nodes, at)
    value, bound = settled(rows, table, rate, shift, at, value, bound, error)
    for i in range(lower.size):
        x[i] = at[i]
    return value, bound, price_at(rows, table, lower, upper, spare, log_price, at), nodes
