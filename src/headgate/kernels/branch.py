"""Branch and bound over the intervals of S-shaped arms.

A node is a set of intervals, one per arm; its bound is the best allocation on the hulls. Only the arm left on its
chord loses anything between hull and curve, so that arm's interval is split: at the inflection point, beyond which
the curve is its own hull, or, where the chord does not pass over it, at the allocation itself.
"""

import math

import numpy as np
from numba import njit

from headgate.kernels import hull as h
from headgate.kernels.curves import BASE, CAP, CASCADE, LOC, WEIGHT, A, B, convex_part
from headgate.kernels.hull import fill_hull
from headgate.kernels.relax import relax

# Columns of a node: where it hangs; the arm it narrowed, and to what; its bound and price; the arm left on its
# chord, and what that arm gets.
_PARENT, _ARM, _LOW, _HIGH, _BOUND, _PRICE, _PARTIAL, _AT = range(8)
_COLUMNS = 8


@njit(error_model="numpy")
def _push(heap, size, bounds, node):
    """Add a node to the binary heap of open nodes, largest bound on top."""
    place = size
    while place > 0:
        parent = (place - 1) // 2
        if bounds[heap[parent]] >= bounds[node]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = node
    return size + 1


@njit(error_model="numpy")
def _pop(heap, size, bounds):
    """Take the node with the largest bound off the heap."""
    top, last, size = heap[0], heap[size - 1], size - 1
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and bounds[heap[child + 1]] > bounds[heap[child]]:
            child += 1
        if bounds[last] >= bounds[heap[child]]:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    return top, size


@njit(error_model="numpy")
def _narrow(rows, table, hulls, twin, place, arm, low, high):
    """Restrict an arm to [low, high], and its twins with it.

    Of two arms with the same curve but for the weight, and the same limits, the heavier one gets at least as much
    in some optimum: exchanging their allocations would not lose. So a twin before this arm gets at least `low`, a
    twin after it at most `high`. Without that, equal arms multiply the nodes.
    """
    fill_hull(hulls[arm], rows[arm], table, low, high)
    if twin[arm] < 0:
        return
    for i in range(rows.shape[0]):
        if twin[i] != twin[arm]:
            continue
        if place[i] < place[arm] and hulls[i, h.LOW] < low:
            fill_hull(hulls[i], rows[i], table, low, max(hulls[i, h.HIGH], low))
        elif place[i] > place[arm] and hulls[i, h.HIGH] > high:
            fill_hull(hulls[i], rows[i], table, min(hulls[i, h.LOW], high), high)


@njit(error_model="numpy")
def _twins(rows, hulls):
    """Number the groups of arms that differ in weight alone (-1: no twin), and place each among all by weight."""
    arms = rows.shape[0]
    twin, place = np.full(arms, -1, dtype=np.int64), np.empty(arms, np.int64)
    place[np.argsort(-rows[:, WEIGHT], kind="mergesort")] = np.arange(arms)
    order = np.argsort(rows[:, LOC], kind="mergesort")
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
    return twin, place


@njit(error_model="numpy")
def _close(best, bound, tol, cascade):
    """Whether the gap is within the tolerance; that of a cascade is between chances 1 - exp(-value)."""
    if cascade:
        return math.exp(-best) - math.exp(-bound) <= tol * -math.expm1(-bound)
    return bound - best <= tol * bound


@njit(error_model="numpy")
def branch_and_bound(rows, table, hulls, budget, tol, max_nodes, best_x):
    """Maximise the sum of the curves; write the best allocation found to best_x.

    Returns its value, the dual bound, the log price at it and the number of nodes solved.
    """
    x = best_x.copy()
    cascade = rows[0, CASCADE] != 0.0
    bound, best, best_price, partial = relax(rows, table, hulls, budget, 0.0, x)
    best_x[:] = x
    if partial < 0 or max_nodes <= 1 or _close(best, bound, tol, cascade):
        return best, bound, best_price, 1
    root = hulls.copy()
    twin, place = _twins(rows, hulls)
    tree = np.empty((64, _COLUMNS))
    tree[0, _PARENT], tree[0, _BOUND], tree[0, _PRICE] = -1, bound, best_price
    tree[0, _PARTIAL], tree[0, _AT] = partial, x[partial]
    heap, trail = np.empty(64, np.int64), np.empty(64, np.int64)
    size, nodes, cut_off = _push(heap, np.int64(0), tree[:, _BOUND], 0), 1, best
    while size > 0:
        if nodes + 2 > max_nodes or _close(best, tree[heap[0], _BOUND], tol, cascade):
            break
        if nodes + 2 > len(tree):
            tree = np.concatenate((tree, np.empty_like(tree)))
            heap, trail = np.concatenate((heap, heap)), np.concatenate((trail, trail))
        node, size = _pop(heap, size, tree[:, _BOUND])
        hulls[:] = root
        depth, ancestor = 0, node
        while ancestor > 0:
            trail[depth] = ancestor
            depth, ancestor = depth + 1, int(tree[ancestor, _PARENT])
        for d in range(depth - 1, -1, -1):
            step = tree[trail[d]]
            _narrow(rows, table, hulls, twin, place, int(step[_ARM]), step[_LOW], step[_HIGH])
        arm, here = int(tree[node, _PARTIAL]), hulls.copy()
        low, high = hulls[arm, h.LOW], hulls[arm, h.HIGH]
        _, cut = convex_part(rows[arm], table, low, high)
        if not low < cut < high:
            margin = 0.02 * (high - low)
            cut = min(max(tree[node, _AT], low + margin), high - margin)
        for side in range(2):
            hulls[:] = here
            left, right = (low, cut) if side == 0 else (cut, high)
            _narrow(rows, table, hulls, twin, place, arm, left, right)
            if np.sum(hulls[:, h.LOW]) > budget:
                continue
            x[:] = best_x
            bound, worth, log_price, partial = relax(rows, table, hulls, budget, tree[node, _PRICE], x)
            if worth > best:
                best, best_price = worth, log_price
                best_x[:] = x
            bound = min(bound, tree[node, _BOUND])
            new, nodes = nodes, nodes + 1
            if partial < 0 or _close(best, bound, tol, cascade):
                cut_off = max(cut_off, bound)
                continue
            tree[new, _PARENT], tree[new, _ARM], tree[new, _LOW], tree[new, _HIGH] = node, arm, left, right
            tree[new, _BOUND], tree[new, _PRICE] = bound, log_price
            tree[new, _PARTIAL], tree[new, _AT] = partial, x[partial]
            size = _push(heap, size, tree[:, _BOUND], new)
    if size > 0:
        cut_off = max(cut_off, tree[heap[0], _BOUND])
    return best, max(best, cut_off), best_price, nodes
