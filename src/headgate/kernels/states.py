"""Which arms are on, off, or the one between: branch and bound on the bounds by number (`count`).

A node says how many arms are on, how far from off the one between is, as a share of its convex part, and of some arms
what they are. Its bound leaves open which arms these are, so near-equal arms need no node for every subset. A node is
split where its gap comes from: into two shares, if the arm between lies on a chord; or by an arm that is one thing at
prices just below the best one and another just above.
"""

import math

import numpy as np

from headgate.kernels import count as c
from headgate.kernels import hull as h
from headgate.kernels.count import fill_between, fill_states, least_bound
from headgate.kernels.curves import CASCADE
from headgate.kernels.digits import rounding, settled
from headgate.kernels.heap import grown, longer, pop, push
from headgate.kernels.hull import fill_hull
from headgate.kernels.part import njit
from headgate.kernels.relax import prepare, price_at, relax

# Columns of a node: where it hangs; the arm it decides, and as what; the number of arms on; the shares between which
# the arm between lies; its bound and price; the arm to split it by (-1: by shares), and where.
_PARENT, _ARM, _STATE, _NUMBER, _FIRST, _LAST, _BOUND, _PRICE, _SPLIT, _AT = range(10)
_COLUMNS = 10
_NONE = -2.0  # to split by: nothing
_MOST = 64  # numbers of arms on that are looked at, in either direction


@njit(error_model="numpy")
def _further(gain, on, between, direction):
    """How much larger the bound can be at the same price with more arms on (direction 1), or with fewer (-1).

    With k arms more it grows by at most the k gains that follow the m largest; with k fewer by at most what the k
    least of the m + 1 largest lose: the m + 1st, too, may be that of the arm between.
    """
    least = np.inf
    for i in range(gain.size):
        if on[i] and gain[i] > -np.inf:
            least = min(least, gain[i])
    total, following = 0.0, -np.inf
    for i in range(gain.size):
        if gain[i] == -np.inf:
            continue
        if on[i]:
            total += max(-gain[i], 0.0) if direction < 0 else 0.0
        else:
            following = max(following, gain[i])
            # Another arm may be on in place of the one between: of the two the lesser one follows.
            total += max(min(gain[i], least) if i == between else gain[i], 0.0) if direction > 0 else 0.0
    return total + (max(-following, 0.0) if direction < 0 and following > -np.inf else 0.0)


@njit(error_model="numpy")
def _enough(best, tol, cascade):
    """The bound that proves a value to within the tolerance, which for a cascade is one of chances 1 - exp(-f)."""
    if cascade:
        chance = -math.expm1(-best) / (1.0 - tol)
        return -math.log1p(-chance) if chance < 1.0 else np.inf
    return best / (1.0 - tol)


@njit(error_model="numpy")
def _part(node, side):
    """One of the parts that a node is split into: what it says of the node's arm, and the shares it leaves."""
    first, last, at = node[_FIRST], node[_LAST], node[_AT]
    if node[_SPLIT] < 0.0:
        return c.FREE, (first if side == 0 else at), (at if side == 0 else last)
    if at == c.BETWEEN:
        return (c.BETWEEN if side == 0 else c.DECIDED), first, last
    return (c.ON if side == 0 else (c.OFF if side == 1 else c.BETWEEN)), first, last


@njit(error_model="numpy")
def _read(tree, parent, arm, state, sorts, known):
    """Write what is known of each arm in a part of `parent`; return the arm that is known to be between, or -1."""
    for i in range(known.size):
        known[i] = sorts[i]
    fixed, node = -1, parent
    while arm >= 0 or node >= 0:
        # The deepest node comes first, and what it says stands: it was said of an arm that was less known.
        if arm >= 0 and state == c.BETWEEN:
            fixed = arm
        elif arm >= 0 and state != c.FREE and known[arm] in (c.FREE, c.DECIDED):
            known[arm] = state
        if node < 0:
            break
        arm, state, node = int(tree[node, _ARM]), int(tree[node, _STATE]), int(tree[node, _PARENT])
    for i in range(known.size):
        if fixed >= 0 and known[i] == c.FREE:
            known[i] = c.BETWEEN if i == fixed else c.DECIDED
    return fixed


@njit(error_model="numpy")
def _allocate(rows, table, hulls, arms, known, budget, log_price, on, between, guess, here, x):
    """The best allocation with these arms on and this one between: its bound and value, price and where it is."""
    least = 0.0
    for i in range(rows.shape[0]):
        low, high = hulls[i, h.LOW], hulls[i, h.HIGH]
        if known[i] == c.CONCAVE:
            for column in range(h.COLUMNS):
                here[i, column] = hulls[i, column]
        else:
            if i == between:
                low, high = arms[i, c.A], arms[i, c.B]
            elif on[i]:
                low = arms[i, c.ON_FROM]
            else:
                high = arms[i, c.OFF_TO]
            fill_hull(here[i], rows[i], table, low, high)
        least += here[i, h.LOW]
        x[i] = guess[i]
    if least > budget:
        return -np.inf, -np.inf, log_price
    bound, worth, log_price, _ = relax(rows, table, here, budget, log_price, x)
    return bound, worth, log_price


@njit(error_model="numpy")
def _differing(on_left, on_right, gain):
    """The arm that is on at one side of the best price only, the one that gains most by being on; -1 if none."""
    arm = -1
    for i in range(gain.size):
        if on_left[i] != on_right[i] and gain[i] > -np.inf and (arm < 0 or gain[i] > gain[arm]):
            arm = i
    return arm


@njit(error_model="numpy")
def search_states(rows, table, hulls, budget, tol, max_nodes, best_x):
    """Maximise the sum of the curves; write the best allocation found to best_x.

    Returns its value, the bound, the log price at it and the number of nodes. The bound is infinite if the curves do
    not have the states that this needs.
    """
    count, cascade = rows.shape[0], rows[0, CASCADE] != 0.0
    x, guess = best_x.copy(), np.empty(count)
    _, best, best_price, _ = relax(rows, table, hulls, budget, 0.0, best_x)
    start, left, right, counted, m = best_price, np.inf, -np.inf, 0, 0
    arms, sorts, known = np.empty((count, c.COLUMNS)), np.empty(count, np.int64), np.empty(count, np.int64)
    for i in range(count):
        sorts[i] = fill_states(arms[i], rows[i], table, hulls[i], start)
        if sorts[i] < 0:
            return best, np.inf, best_price, 1
        if hulls[i, h.HIGH] > hulls[i, h.LOW]:
            left, right = min(left, hulls[i, h.AT_HIGH]), max(right, hulls[i, h.AT_LOW])
        if sorts[i] != c.CONCAVE:
            counted += 1
            m += best_x[i] >= arms[i, c.ON_FROM]
            right = max(right, arms[i, c.AT_BEND])
    if counted < 2:
        return best, np.inf, best_price, 1
    left, right = left - 40.0, right + 40.0  # arms that must be on may fit at a high price only, or leave much over
    on, on_left, on_right = np.empty(count, np.bool_), np.empty(count, np.bool_), np.empty(count, np.bool_)
    gain, here = np.empty(count), np.empty_like(hulls)
    tree, heap = np.empty((64, _COLUMNS)), np.empty(64, np.int64)
    nodes, size, cut_off = 0, 0, best
    # First the numbers of arms on, from the one at hand upwards and then downwards until the rest is proved to be no
    # better; then the open nodes, the one with the largest bound first.
    direction, number, log_price, parent, side, sides = 1, m, start, -1, 0, 0
    arm, state, first, last = -1, c.FREE, 0.0, 1.0
    while True:
        if direction == 0:
            if side >= sides:
                if size == 0 or nodes + 3 > max_nodes or tree[heap[0], _BOUND] <= _enough(best, tol, cascade):
                    break
                parent, size = pop(heap, size, tree[:, _BOUND])
                side, arm = 0, int(tree[parent, _SPLIT])
                sides = 3 if arm >= 0 and tree[parent, _AT] == c.ON else 2
            number, log_price = int(tree[parent, _NUMBER]), tree[parent, _PRICE]
            state, first, last = _part(tree[parent], side)
            side += 1
        fixed = _read(tree, parent, arm, state, sorts, known)
        fill_between(arms, known, rows, table, hulls, first, last)
        for i in range(count):
            guess[i] = best_x[i]
        nodes += 1
        limit, relaxed, worth, between, below, above = np.inf, np.inf, -np.inf, -1, -1, -1
        for _ in range(2):  # again, if the best value is better by what the first time has found
            enough = _enough(best, 0.5 * tol, cascade)
            limit, log_price, between, below, above = least_bound(
                rows, table, hulls, arms, known, budget, number, first > 0.0, enough, 0.01 * tol * best, log_price,
                left, right, on, gain, guess, on_left, on_right,
            )  # fmt: skip
            if limit <= enough:
                break
            between = max(below, above) if between < 0 else between
            relaxed, worth, price = _allocate(
                rows, table, hulls, arms, known, budget, log_price, on, between, guess, here, x
            )
            if worth <= best:
                break
            best, best_price = worth, price
            for i in range(count):
                best_x[i] = x[i]
        further = limit
        if direction != 0 and limit > -np.inf:
            further += _further(gain, on, between, direction)
        if parent >= 0:
            limit = min(limit, tree[parent, _BOUND])
        split, at = _NONE, 0.0
        if limit > enough:
            who = _differing(on_left, on_right, gain)
            at = float(c.ON) if who >= 0 and known[who] == c.FREE else float(c.OFF)
            if fixed < 0 and below != above and min(below, above) >= 0:
                who, at = below, float(c.BETWEEN)
            chord = between >= 0 and last - first > 1e-9
            if chord and (who < 0 or relaxed - worth >= limit - relaxed):
                width = arms[between, c.B] - arms[between, c.A]
                share = min(max((x[between] - arms[between, c.A]) / width, 0.1), 0.9) if worth > -np.inf else 0.5
                split, at = -1.0, first + share * (last - first)
            elif who >= 0:
                split = float(who)
        if split == _NONE:
            cut_off = max(cut_off, limit)
        elif limit > _enough(best, tol, cascade):
            if nodes + 2 > len(tree):
                tree, heap = grown(tree), longer(heap)
            tree[nodes, _PARENT], tree[nodes, _ARM], tree[nodes, _STATE], tree[nodes, _NUMBER] = (
                parent, arm, state, number,
            )  # fmt: skip
            tree[nodes, _FIRST], tree[nodes, _LAST], tree[nodes, _BOUND], tree[nodes, _PRICE] = (
                first, last, limit, log_price,
            )  # fmt: skip
            tree[nodes, _SPLIT], tree[nodes, _AT] = split, at
            size = push(heap, size, tree[:, _BOUND], nodes)
        else:
            cut_off = max(cut_off, limit)
        if direction != 0:
            number += direction
            if nodes >= max_nodes:
                return best, np.inf, best_price, nodes
            if further <= _enough(best, 0.25 * tol, cascade) or abs(number - m) >= _MOST or not 0 <= number <= counted:
                if 0 <= number <= counted:
                    cut_off = max(cut_off, further)
                direction, number, log_price = (-1, m - 1, start) if direction > 0 and m > 0 else (0, 0, start)
    if size > 0:
        cut_off = max(cut_off, tree[heap[0], _BOUND])
    return best, max(best, cut_off), best_price, nodes


@njit(error_model="numpy")
def solve_states(base, a, b, shift, cap, table, weight, rate, lower, upper, budget, cascade, tol, max_nodes, x):
    """Prepare the arms, search, and round the bound up; returns value, bound, price and the number of nodes."""
    spare = budget
    for i in range(lower.size):
        spare -= lower[i]
    rows, hulls = prepare(base, a, b, shift, cap, table, weight, rate, lower, upper, spare, cascade)
    error = rounding(rows, budget)
    at = np.zeros(lower.size)
    value, bound, log_price, nodes = search_states(rows, table, hulls, budget, max(tol - error, 0.0), max_nodes, at)
    value, bound = settled(rows, table, rate, shift, at, value, bound, error)
    for i in range(lower.size):
        x[i] = at[i]
    return value, bound, price_at(rows, table, lower, upper, spare, log_price, at), nodes
