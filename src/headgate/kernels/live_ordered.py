"""A live round in which an arm once left is not taken up again: how long to serve each, in a given order.

With l left before arm k of the order, and what a success frees kept,

    V_k(l) = max over d <= l of  sum over thresholds u <= d of P(u) (v_k + V_{k+1}(l - u)) + S_k(d) V_{k+1}(l - d),

on n cells of what is left; a success comes in the middle of its cell.
"""

import math

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.live_index import cell_of, height, index_of
from headgate.kernels.part import njit

_CELLS = 128


@njit(error_model="numpy")
def _serve(reached, worth, after, left):
    """V and the best number of cells for an arm with `left` cells; `after` is V of those that follow."""
    missing = 1.0 - reached[0]
    best, cells, won = after[left], 0, 0.0
    for d in range(1, left + 1):
        chance = (reached[d] - reached[d - 1]) / missing if missing > 0.0 else 0.0
        won += chance * (worth + 0.5 * (after[left - d + 1] + after[left - d]))
        through = (1.0 - reached[d]) / missing if missing > 0.0 else 1.0
        total = won + through * after[left - d]
        if total > best * (1.0 + 1e-12):
            best, cells = total, d
    return best, cells


@gufunc(
    [
        "void(float64[:,:], float64[:,:], float64[:], boolean[:], float64[:], float64[:], float64, int64[:], "
        "float64[:], float64[:])"
    ],
    "(k,n),(k,n),(k),(k),(k),(k),(),(m)->(),()",
)
def first_stretch(x, y, worth, whole, upper, spent, left, order, amount, value):
    """How much the first arm of `order` is served with (0: pass on to the next), and what all of them bring."""
    count = order.size
    cells = _CELLS
    cell = left / cells
    any_whole = False
    for k in range(count):
        any_whole = any_whole or whole[order[k]]
    if any_whole:  # cells of whole units
        cell = float(max(math.ceil(left / cells), 1))
        cells = math.floor(left / cell)
    after, now, reached = np.zeros(cells + 1), np.zeros(cells + 1), np.empty(cells + 1)
    best = 0
    for k in range(count - 1, -1, -1):
        i = order[k]
        for a in range(cells + 1):
            at = min(spent[i] + a * cell, max(upper[i], spent[i]))
            reached[a] = height(x[i], y[i], at, cell_of(x[i], at))
        for at_left in range(cells + 1) if k > 0 else range(cells, cells + 1):
            now[at_left], best = _serve(reached, worth[i], after, at_left)
        after, now = now, after
    value[0] = after[cells]
    amount[0] = min(best * cell, left, max(upper[order[0]] - spent[order[0]], 0.0))


@gufunc(
    ["void(float64[:], float64[:], float64, boolean, float64, float64, float64, float64[:])"],
    "(n),(n),(),(),(),(),()->()",
)
def start_index(x, y, worth, whole, upper, spent, left, index):
    """The index by which arms are put in order."""
    none = np.empty(0)
    index[0], _ = index_of(x, y, worth, whole, False, spent, min(left, upper - spent), 0.0, none, none)
