"""Amounts and prices of a plan: arms served one after the other, each at most once, on a line of budgets.

Cells, `gain`, `survival` and `worth` are those of `plan_order`. Amounts and the bound that counts are for all cells;
prices are looked for between nodes.
"""

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.part import njit
from headgate.kernels.plan_order import serve


@njit(error_model="numpy")
def _length(gain):
    """The number of cells after which a curve gains nothing more; steps of whole units are flat in between."""
    cells = gain.size
    while cells > 0 and gain[cells - 1] <= 0.0:
        cells -= 1
    return cells


@njit(error_model="numpy")
def _serve_cells(gain, survival, after, best, run):
    """`serve` for all cells; `after` must not grow: where a curve ends, more is not worth it."""
    cells = survival.size
    for a in range(cells + 1):
        best[a] = after[a]
        run[a] = 0.0
    for d in range(_length(gain)):
        step = gain[d]
        for a in range(cells - d):
            worth = run[a] + step * survival[a + d]
            run[a] = worth
            total = worth + after[a + d + 1]
            best[a] = max(best[a], total)


@njit(error_model="numpy")
def _end(gain, survival, after, a):
    """The best cell to end before, for an arm served from cell a on."""
    top, end, worth = after[a], a, 0.0
    for d in range(survival.size - a):
        worth += gain[d] * survival[a + d]
        if worth + after[a + d + 1] > top:
            top, end = worth + after[a + d + 1], a + d + 1
    return end


@gufunc(["void(float64[:,:], float64[:], int64[:], int64[:], float64[:])"], "(k,n),(n),(k)->(k),()")
def amounts_in_order(gain, survival, order, given, value):
    """The best numbers of cells for arms served in this order, each arm's at its own place, and what they are worth."""
    arms, cells = gain.shape
    tables, run = np.zeros((arms + 1, cells + 1)), np.empty(cells + 1)
    for k in range(arms - 1, -1, -1):
        _serve_cells(gain[order[k]], survival, tables[k + 1], tables[k], run)
    value[0], a = tables[0, 0], 0
    for k in range(arms):
        b = _end(gain[order[k]], survival, tables[k + 1], a)
        given[order[k]], a = b - a, b


@gufunc(
    ["void(float64[:,:], float64[:], float64[:], float64[:], float64[:], float64[:], float64[:])"],
    "(k,n),(k),(n),(m),(m),(n)->()",
)
def bound_at_prices(gain, first, survival, alive, inside, price, bound):
    """The sum of the prices >= 0 of all cells, and over arms the most that a slot may be worth above its price.

    What the grid does not see is added to a slot from node a to node b: `first` times `alive[a]` where it begins, and
    `inside[b]` times the steepest gain around its length where it ends. See docs/plan.md for the proof.
    """
    arms, cells = gain.shape
    best, run, paid = np.empty(cells + 1), np.empty(cells + 1), np.zeros(cells + 1)
    for c in range(cells):
        paid[c + 1] = paid[c] - price[c]
    bound[0] = -paid[cells]
    for i in range(arms):
        steep = max(gain[i, 0], gain[i, min(1, cells - 1)])
        for a in range(cells + 1):
            best[a], run[a] = paid[a] + steep * inside[a], 0.0
        for d in range(min(_length(gain[i]) + 1, cells)):  # one more, whose end may still be next to the last gain
            step = gain[i, d]
            steep = max(gain[i, max(d - 1, 0)], step)
            steep = max(steep, max(gain[i, min(d + 1, cells - 1)], gain[i, min(d + 2, cells - 1)]))
            for a in range(cells - d):
                worth = run[a] + step * survival[a + d]
                run[a] = worth
                total = worth + paid[a + d + 1] + steep * inside[a + d + 1]
                best[a] = max(best[a], total)
        top = 0.0
        for a in range(cells + 1):
            top = max(top, best[a] - paid[a] + first[i] * alive[a])
        bound[0] += top


@njit(error_model="numpy")
def _move(at, move, idle, start, length):
    """Go `length` times the way from the bound to the target, along this subgradient and half of the last direction."""
    size = 0.0
    for c in range(at.size):
        move[c] = 0.5 * move[c] + idle[c]
        size += start[c] * move[c] * move[c]
    for c in range(at.size):
        at[c] = max(at[c] - length / max(size, 1e-300) * start[c] * move[c], 0.0)


@njit(error_model="numpy")
def _slow(bound, total, target, share, since):
    """Halve the step after eight that have not lowered the bound by a twentieth of what is left."""
    if total < bound - 0.05 * (bound - target):
        return share, 0
    return (0.5 * share, 0) if since >= 8 else (share, since + 1)


@gufunc(
    ["void(float32[:,:,:], float64[:], float64, float64, int64, float64[:], float64[:])"],
    "(k,m,m),(n),(),(),()->(n),()",
)
def prices_between_nodes(worth, start, target, close, steps, price, bound):
    """Lower the bound at prices of the cells between nodes by subgradient steps towards `target`.

    `target` is what some plan is worth (Polyak's rule); a bound within a share `close` of it is enough. A cell that
    several arms would like gets dearer, one that none would like cheaper, in proportion to its price at the start.
    """
    arms, nodes = worth.shape[0], worth.shape[1]
    best, paid, after = np.empty(nodes, np.float32), np.zeros(nodes), np.zeros(nodes, np.float32)
    at, move, idle = np.empty(nodes - 1), np.zeros(nodes - 1), np.empty(nodes - 1)
    for c in range(nodes - 1):
        at[c] = start[c]
    bound[0], share, since = 1e300, 1.0, 0
    for _ in range(steps):
        for c in range(nodes - 1):
            paid[c + 1] = after[c + 1] = paid[c] - at[c]
            idle[c] = 1.0
        total = -paid[nodes - 1]
        for i in range(arms):
            serve(worth[i], after, best)
            top, first, last = 0.0, 0, 0
            for a in range(nodes):
                if best[a] - paid[a] > top:
                    top, first = best[a] - paid[a], a
            most = paid[first] if top == 0.0 else -np.inf
            for b in range(first + 1, nodes):
                if worth[i, b, first] + paid[b] > most:
                    most, last = worth[i, b, first] + paid[b], b
            for c in range(first, last):
                idle[c] -= 1.0
            total += top
        share, since = _slow(bound[0], total, target, share, since)
        if total < bound[0]:
            bound[0] = total
            for c in range(nodes - 1):
                price[c] = at[c]
        if total <= target * (1.0 + close) or share < 0.01:
            break
        _move(at, move, idle, start, share * (total - target))
