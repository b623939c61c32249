"""Orders of a plan: which arm is served after which, between some nodes of a line of budgets.

The line is cut into n cells of one width. `gain[i, d]` is what arm i's curve gains in the d-th cell that it gets,
`survival[c]` the mean chance that the budget lasts so long in cell c; arm i served in the cells from a to b is worth
E_i(a, b) = sum over d < b - a of gain[i, d] survival[a + d]. A table has the worth of every slot between nodes:
`worth[i, b, a]`.
"""

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.part import njit

_BETTER = 1.0 + 1e-6
"""By so much a move must be better: tables are in single precision, which is twice as fast."""


@gufunc(["void(float64[:,:], float64[:], int64[:], float32[:,:,:])"], "(n,k),(n),(m)->(k,m,m)")
def slot_worths(gain, survival, nodes, worth):
    """E_i(a, b) at [i, b, a] for all nodes a <= b, the first 0 and the last n; `gain` is (n, k) here, for speed."""
    arms = gain.shape[1]
    total = np.empty(arms)
    for a in range(nodes.size):
        for i in range(arms):
            total[i] = 0.0
            for b in range(a):
                worth[i, b, a] = 0.0
        c = nodes[a]
        for b in range(a, nodes.size):
            while c < nodes[b]:
                lasts, d = survival[c], c - nodes[a]
                for i in range(arms):
                    total[i] += gain[d, i] * lasts
                c += 1
            for i in range(arms):
                worth[i, b, a] = total[i]


@njit(error_model="numpy")
def serve(worth, after, best):
    """best[a] = max over b >= a of E(a, b) + after[b]: an arm served from node a on for as long as it pays."""
    for a in range(after.size):
        best[a] = after[a]
    for b in range(1, after.size):
        rest = after[b]
        for a in range(b):
            total = worth[b, a] + rest
            best[a] = max(best[a], total)


@njit(error_model="numpy", fastmath=True)  # so that the largest is looked for in several places at once
def _serve_before(worth, before, best):
    """best[b] = max over a <= b of before[a] + E(a, b): an arm served up to node b."""
    for b in range(before.size):
        top = before[b]
        for a in range(b):
            total = worth[b, a] + before[a]
            top = max(top, total)
        best[b] = top


@njit(error_model="numpy")
def _suffixes(worth, order, count, tables):
    """tables[k, a]: the most that the arms from the k-th in order on are worth from node a on."""
    for a in range(worth.shape[1]):
        tables[count, a] = 0.0
    for k in range(count - 1, -1, -1):
        serve(worth[order[k]], tables[k + 1], tables[k])


@njit(error_model="numpy")
def _prefixes(worth, order, count, tables):
    """tables[k, b]: the most that the first k arms in order are worth, all before node b."""
    for a in range(worth.shape[1]):
        tables[0, a] = 0.0
    for k in range(count):
        _serve_before(worth[order[k]], tables[k], tables[k + 1])


@njit(error_model="numpy")
def _joined(before, after):
    """What two parts are worth that meet at the best node."""
    best = -np.inf
    for a in range(before.size):
        best = max(best, before[a] + after[a])
    return best


@gufunc(["void(float32[:,:,:], int64[:], int64[:])"], "(k,m,m),(k)->(k)")
def order_by_subsets(worth, like, order):
    """The best order of all, by dynamic programming over the arms still to be served: 2^k tables."""
    arms, nodes = worth.shape[0], worth.shape[1]
    full = (1 << arms) - 1
    tables, best = np.zeros((full + 1, nodes), np.float32), np.empty(nodes, np.float32)
    for done in range(full - 1, -1, -1):
        for i in range(arms):
            if not done >> i & 1:
                serve(worth[i], tables[done | 1 << i], best)
                for a in range(nodes):
                    tables[done, a] = max(tables[done, a], best[a])
    done, a = 0, 0
    for k in range(like.size):
        chosen, top, stop = -1, -np.inf, a
        for i in range(arms):
            if not done >> i & 1:
                for b in range(a, nodes):
                    total = worth[i, b, a] + tables[done | 1 << i, b]
                    if total > top:
                        chosen, top, stop = i, total, b
        order[k], done, a = chosen, done | 1 << chosen, stop


@njit(error_model="numpy")
def _insert(worth, order, value, prefixes, suffixes, best, rest):
    """Take out each arm in turn and put it back where it is worth most; return the value, `order` changed in place."""
    arms = order.size
    for i in range(arms):
        count = 0
        for k in range(arms):
            if order[k] != i:
                rest[count] = order[k]
                count += 1
        _prefixes(worth, rest, count, prefixes)
        _suffixes(worth, rest, count, suffixes)
        place, top = -1, value * _BETTER
        for k in range(arms):
            serve(worth[i], suffixes[k], best)
            total = _joined(prefixes[k], best)
            if total > top:
                place, top = k, total
        if place >= 0:
            value = top
            for k in range(arms):
                order[k] = rest[k] if k < place else (i if k == place else rest[k - 1])
    return value


@njit(error_model="numpy")
def _swap(worth, order, value, prefixes, suffixes, best, room):
    """Exchange pairs of arms where that is worth it; return the value, `order` changed in place."""
    arms = order.size
    _prefixes(worth, order, arms, prefixes)
    _suffixes(worth, order, arms, suffixes)
    for low in range(arms - 1):
        for high in range(low + 1, arms):
            for a in range(best.size):
                room[a] = suffixes[high + 1, a]
            for k in range(high, low - 1, -1):
                arm = order[low] if k == high else (order[high] if k == low else order[k])
                serve(worth[arm], room, best)
                for a in range(best.size):
                    room[a] = best[a]
            total = _joined(prefixes[low], room)
            if total > value * _BETTER:
                value = total
                order[low], order[high] = order[high], order[low]
                _prefixes(worth, order, arms, prefixes)
                _suffixes(worth, order, arms, suffixes)
    return value


@gufunc(["void(float32[:,:,:], int64[:], int64, int64, int64[:], float64[:])"], "(k,m,m),(k),(),()->(k),()")
def order_by_search(worth, start, sweeps, swaps, order, value):
    """Improve an order by insertions, then (if `swaps`) by swaps, until neither does, or for so many sweeps."""
    arms, nodes = worth.shape[0], worth.shape[1]
    prefixes, suffixes = np.empty((arms + 1, nodes), np.float32), np.empty((arms + 1, nodes), np.float32)
    best, room, rest = np.empty(nodes, np.float32), np.empty(nodes, np.float32), np.empty(arms, np.int64)
    for k in range(arms):
        order[k] = start[k]
    _suffixes(worth, order, arms, suffixes)
    value[0] = suffixes[0, 0]
    for _ in range(sweeps):
        before = value[0]
        value[0] = _insert(worth, order, value[0], prefixes, suffixes, best, rest)
        if swaps and value[0] <= before * _BETTER:
            value[0] = _swap(worth, order, value[0], prefixes, suffixes, best, room)
        if value[0] <= before * _BETTER:
            break


@gufunc(["void(float32[:,:,:], float64[:], int64[:], int64[:])"], "(k,m,m),(m),(k)->(k)")
def order_by_greed(worth, lasting, like, order):
    """Always next the arm with the largest E(a, b) per unit of the expected budget between a and b.

    `lasting` is the integral of the survival up to each node.
    """
    arms, nodes = worth.shape[0], worth.shape[1]
    taken, a = np.zeros(arms, np.bool_), 0
    for k in range(like.size):
        chosen, top, stop = -1, -1.0, a
        for i in range(arms):
            if not taken[i]:
                chosen = i if chosen < 0 else chosen
                for b in range(a + 1, nodes):
                    if worth[i, b, a] > top * (lasting[b] - lasting[a]):
                        chosen, stop = i, b
                        top = worth[i, b, a] / (lasting[b] - lasting[a])
        order[k], taken[chosen], a = chosen, True, stop
