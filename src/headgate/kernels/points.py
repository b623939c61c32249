"""The oracle for curves given by points: nondecreasing, straight between them, of any shape.

The hull of a curve on an interval is a chain of chords over some of its points. At a price every arm goes to the last
vertex whose chord is steeper; the chord on which the budget ends is the only one where hull and curve may differ. That
arm's interval is split at one of its points, so that the search ends: on an interval without points inside, a curve is
straight. With reward "cascade" the curve is -log(1 - y), which bends upwards between points: its hull has the same
vertices, and such an interval is split where the budget ends.
"""

import math

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.heap import grown, longer, pop, push
from headgate.kernels.part import njit

# Columns of a node: where it hangs; the arm it narrowed, and to what; its bound; the arm left on a chord, and where.
_PARENT, _ARM, _LOW, _HIGH, _BOUND, _PARTIAL, _AT = range(7)
_COLUMNS = 7
_FEW = 24  # chords between two prices that are put in order one by one


@njit(error_model="numpy")
def _place(x, at):
    """The last point at or before `at`; -1 if there is none."""
    low, high = -1, x.size
    while high - low > 1:
        middle = (low + high) // 2
        if x[middle] <= at:
            low = middle
        else:
            high = middle
    return low


@njit(error_model="numpy")
def _value(x, y, cascade, at):
    """The curve at `at`: as numpy.interp has it, -log(1 - y) of that for a cascade."""
    k = _place(x, at)
    if k < 0:
        height = y[0]
    elif k >= x.size - 1:
        height = y[x.size - 1]
    else:
        share = (at - x[k]) / (x[k + 1] - x[k])
        height = y[k] + share * (y[k + 1] - y[k])
    return (
        -math.log(max(1.0 - height, 1e-300))
        if cascade and height > 0.5
        else (-math.log1p(-height) if cascade else height)
    )


@njit(error_model="numpy")
def _fill(x, y, cascade, low, high, hull):
    """Write the vertices of the hull on [low, high], as rows of x and f; return how many."""
    hull[0, 0], hull[1, 0], count = low, _value(x, y, cascade, low), 1
    k = _place(x, low) + 1
    while True:
        last = k >= x.size or x[k] >= high
        at = high if last else x[k]
        if at > low:
            f = _value(x, y, cascade, at)
            while count > 1 and (f - hull[1, count - 1]) * (hull[0, count - 1] - hull[0, count - 2]) >= (
                hull[1, count - 1] - hull[1, count - 2]
            ) * (at - hull[0, count - 1]):
                count -= 1
            if f > hull[1, count - 1] or count > 1:
                hull[0, count], hull[1, count] = at, f
                count += 1
        if last:
            break
        k += 1
    while count > 1 and hull[1, count - 1] <= hull[1, count - 2]:  # a flat end is not bought
        count -= 1
    return count


@njit(error_model="numpy")
def _slope(hull, k):
    """The slope of the chord that ends at the k-th vertex."""
    return (hull[1, k] - hull[1, k - 1]) / (hull[0, k] - hull[0, k - 1])


@njit(error_model="numpy")
def _vertex(hull, count, price):
    """The last vertex whose chord is steeper than the price."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if _slope(hull, middle) > price:
            low = middle
        else:
            high = middle
    return low


@njit(error_model="numpy")
def _relax(x, y, cascade, hulls, counts, budget, start, at):
    """Maximise the sum of the hulls; write the maximiser to `at`.

    Returns the bound, the value of the curves there, the price, and the arm left within a chord (-1 if none).
    """
    arms = counts.size
    top, everything, total = 0.0, 0.0, 0.0
    vertex, above = np.zeros(arms, np.int64), np.empty(arms, np.int64)
    for i in range(arms):
        above[i] = counts[i] - 1
        everything += hulls[i, 0, above[i]]
        if counts[i] > 1:
            top = max(top, _slope(hulls[i], 1))
    if everything <= budget:
        for i in range(arms):
            at[i] = hulls[i, 0, above[i]]
            total += hulls[i, 1, above[i]]
        return total, total, 0.0, -1
    # At `left` demand exceeds the budget, at `right` it does not; few chords are to be left between.
    left, right, price, wide = 0.0, np.nextafter(top, np.inf), start, 8.0
    for _ in range(300):
        between = 0
        for i in range(arms):
            between += above[i] - vertex[i]
        if between <= _FEW or not left < right:
            break
        if not left < price < right:
            price = math.sqrt(left) * math.sqrt(right) if left > 0.0 else right / wide
            wide *= wide if left == 0.0 else 1.0
            if not left < price < right:
                price = 0.5 * (left + right)
                if not left < price < right:
                    break
        spent = 0.0
        for i in range(arms):
            spent += hulls[i, 0, _vertex(hulls[i], counts[i], price)]
        if spent > budget:
            left = price
        else:
            right = price
        for i in range(arms):
            k = _vertex(hulls[i], counts[i], price)
            if spent > budget:
                above[i] = k
            else:
                vertex[i] = k
        price = math.sqrt(left) * math.sqrt(right) if left > 0.0 else -1.0
    rest = budget
    for i in range(arms):
        at[i] = hulls[i, 0, vertex[i]]
        rest -= at[i]
        total += hulls[i, 1, vertex[i]]
    price, partial = right, -1
    while rest > 0.0:
        best, steepest = -1, 0.0
        for i in range(arms):
            if vertex[i] < above[i]:
                slope = _slope(hulls[i], vertex[i] + 1)
                if slope > steepest:
                    best, steepest = i, slope
        if best < 0:
            break
        k = vertex[best] + 1
        price = steepest
        room = hulls[best, 0, k] - hulls[best, 0, k - 1]
        if room > rest:
            at[best] += rest
            total += steepest * rest
            partial = best
            break
        at[best] = hulls[best, 0, k]
        total += hulls[best, 1, k] - hulls[best, 1, k - 1]
        rest -= room
        vertex[best] = k
    worth = 0.0
    for i in range(arms):
        worth += _value(x[i], y[i], cascade, at[i])
    return max(total, worth), worth, price, partial


@njit(error_model="numpy")
def _close(best, bound, tol, cascade):
    if cascade:
        return math.exp(-best) - math.exp(-bound) <= tol * -math.expm1(-bound)
    return bound - best <= tol * bound


@njit(error_model="numpy")
def _cut(x, low, high, at):
    """Where to split [low, high]: at the point next to `at` that lies inside, else at `at`, not too near an end."""
    k, best = _place(x, at), np.inf
    for j in (k, k + 1):
        if 0 <= j < x.size and low < x[j] < high and abs(x[j] - at) < abs(best - at):
            best = x[j]
    if best < np.inf:
        return best
    margin = 0.02 * (high - low)
    return min(max(at, low + margin), high - margin)


@gufunc(
    [
        "void(float64[:,:], float64[:,:], float64[:], float64[:], float64, float64, float64, int64, "
        "float64[:], float64[:], float64[:], float64[:], int64[:])"
    ],
    "(k,n),(k,n),(k),(k),(),(),(),()->(k),(),(),(),()",
)
def allocate_points(x, y, lower, upper, budget, cascaded, tol, max_nodes, best_at, value, bound, price, nodes):
    """Maximise the sum of the curves over lower <= x <= upper, sum x <= budget; see `headgate.oracle.curves`."""
    arms, points = x.shape
    cascade = cascaded != 0.0
    spare = budget
    for i in range(arms):
        spare -= lower[i]
    low, high = np.empty(arms), np.empty(arms)
    hulls, counts = np.empty((arms, 2, points + 2)), np.empty(arms, np.int64)
    for i in range(arms):
        low[i], high[i] = lower[i], max(min(upper[i], lower[i] + spare), lower[i])
        counts[i] = _fill(x[i], y[i], cascade, low[i], high[i], hulls[i])
    at = np.empty(arms)
    limit, best, best_price, partial = _relax(x, y, cascade, hulls, counts, budget, -1.0, at)
    for i in range(arms):
        best_at[i] = at[i]
    tree, heap = np.empty((64, _COLUMNS)), np.empty(64, np.int64)
    tree[0, _PARENT], tree[0, _BOUND], tree[0, _PARTIAL] = -1.0, limit, partial
    tree[0, _AT] = at[partial] if partial >= 0 else 0.0
    count, size, cut_off = 1, 0, best
    if partial >= 0:
        size = push(heap, size, tree[:, _BOUND], size)
    else:
        cut_off = limit
    while size > 0:
        if count + 2 > max_nodes or _close(best, tree[heap[0], _BOUND], tol, cascade):
            break
        if count + 2 > len(tree):
            tree, heap = grown(tree), longer(heap)
        node, size = pop(heap, size, tree[:, _BOUND])
        ancestor = node
        while ancestor > 0:  # the narrowest interval of each arm
            i = int(tree[ancestor, _ARM])
            low[i], high[i] = max(low[i], tree[ancestor, _LOW]), min(high[i], tree[ancestor, _HIGH])
            ancestor = int(tree[ancestor, _PARENT])
        ancestor = node
        while ancestor > 0:
            i = int(tree[ancestor, _ARM])
            counts[i] = _fill(x[i], y[i], cascade, low[i], high[i], hulls[i])
            ancestor = int(tree[ancestor, _PARENT])
        arm = int(tree[node, _PARTIAL])
        left, right = low[arm], high[arm]
        cut = _cut(x[arm], left, right, tree[node, _AT])
        for side in range(2):
            begin, end = (left, cut) if side == 0 else (cut, right)
            counts[arm] = _fill(x[arm], y[arm], cascade, begin, end, hulls[arm])
            least = 0.0
            for i in range(arms):
                least += hulls[i, 0, 0]
            if least > budget:
                continue
            limit, worth, at_price, partial = _relax(x, y, cascade, hulls, counts, budget, best_price, at)
            if worth > best:
                best, best_price = worth, at_price
                for i in range(arms):
                    best_at[i] = at[i]
            limit = min(limit, tree[node, _BOUND])
            new, count = count, count + 1
            if partial < 0 or _close(best, limit, tol, cascade):
                cut_off = max(cut_off, limit)
                continue
            tree[new, _PARENT], tree[new, _ARM], tree[new, _LOW], tree[new, _HIGH] = node, arm, begin, end
            tree[new, _BOUND], tree[new, _PARTIAL], tree[new, _AT] = limit, partial, at[partial]
            size = push(heap, size, tree[:, _BOUND], new)
        ancestor = node
        while ancestor > 0:  # back to the root
            i = int(tree[ancestor, _ARM])
            low[i], high[i] = lower[i], max(min(upper[i], lower[i] + spare), lower[i])
            counts[i] = _fill(x[i], y[i], cascade, low[i], high[i], hulls[i])
            ancestor = int(tree[ancestor, _PARENT])
        low[arm], high[arm] = lower[arm], max(min(upper[arm], lower[arm] + spare), lower[arm])
        counts[arm] = _fill(x[arm], y[arm], cascade, low[arm], high[arm], hulls[arm])
    if size > 0:
        cut_off = max(cut_off, tree[heap[0], _BOUND])
    value[0], price[0], nodes[0] = best, best_price, count
    bound[0] = max(best, cut_off) * (1.0 + 2.3e-16 * (24.0 + 0.5 * arms))  # sums of K terms, rounded up
