"""Two or three arms left in a live round: the best step by dynamic programming instead of the index.

What is left of the budget is cut into n cells, and an arm is served cell by cell. With h_i(a) the chance that arm i,
a cells from where it stands, succeeds in the next cell, and l cells left,

    V(arms, l) = max over i of h_i (v_i + k V(others, l) + (1 - k) V(others, l - 1)) + (1 - h_i) V(i further, l - 1):

a success comes somewhere within its cell and frees the rest of it, on average the share k of the cell: a half, and
nothing in cells of one whole unit. The last arm gets all that is left. Levels are computed for growing l, each from the
one before. Where it makes no difference, the arm that is being served goes on.
"""

import math

import numpy as np

from headgate.kernels.live_index import cell_of, height
from headgate.kernels.part import njit

_ALIKE = 1.0 - 1e-9  # two ways whose worths differ by less make no difference


@njit(error_model="numpy")
def _along(x, y, s, upper, cell, n, reached, hazard):
    """F at s + a cells, for a = 0..n, and the chance to succeed in the cell that begins there."""
    for a in range(n + 1):
        at = min(s + a * cell, upper)
        reached[a] = height(x, y, at, cell_of(x, at))
    for a in range(n):
        missing = 1.0 - reached[a]
        hazard[a] = (reached[a + 1] - reached[a]) / missing if missing > 0.0 else 0.0


@njit(error_model="numpy")
def _alone(reached, worth, a, left, kept):
    """What the last arm brings with all that is left, a cells from where it stands, after a success of another."""
    missing = 1.0 - reached[a]
    if missing <= 0.0:
        return 0.0
    return worth * (kept * reached[a + left] + (1.0 - kept) * reached[a + left - 1] - reached[a]) / missing


@njit(error_model="numpy")
def _first_run(actions, arm, n):
    """For how many cells the arm that is served first goes on."""
    run = 1
    while run < n and actions[arm, run] == arm:
        run += 1
    return run


@njit(error_model="numpy")
def best_of_two(reached, hazard, worth, n, kept):
    """Return which of two arms to serve, and for how many cells."""
    before, now = np.zeros(n + 1), np.zeros(n + 1)  # V with a cells for the first arm, the others for the second
    actions = np.zeros((2, n + 1), np.int64)
    for left in range(1, n + 1):
        for a in range(n - left + 1):
            b = n - left - a
            first = (
                hazard[0, a] * (worth[0] + _alone(reached[1], worth[1], b, left, kept))
                + (1.0 - hazard[0, a]) * before[a + 1]
            )
            second = (
                hazard[1, b] * (worth[1] + _alone(reached[0], worth[0], a, left, kept))
                + (1.0 - hazard[1, b]) * before[a]
            )
            now[a] = max(first, second)
            if b == 0:
                actions[0, a] = 0 if first >= second * _ALIKE else 1
            if a == 0:
                actions[1, b] = 1 if second >= first * _ALIKE else 0
        before, now = now, before
    arm = actions[0, 0]
    return arm, _first_run(actions, arm, n)


@njit(error_model="numpy")
def _pair_level(reached, hazard, worth, i, j, left, n, kept, before, now):
    """V of arms i and j alone with `left` cells, at all their places, from V with one cell less."""
    for a in range(n - left + 1):
        for b in range(n - left - a + 1):
            first = (
                hazard[i, a] * (worth[i] + _alone(reached[j], worth[j], b, left, kept))
                + (1.0 - hazard[i, a]) * before[a + 1, b]
            )
            second = (
                hazard[j, b] * (worth[j] + _alone(reached[i], worth[i], a, left, kept))
                + (1.0 - hazard[j, b]) * before[a, b + 1]
            )
            now[a, b] = max(first, second)


@njit(error_model="numpy")
def best_of_three(reached, hazard, worth, n, kept):
    """Return which of three arms to serve, and for how many cells."""
    pairs, triple = (
        np.zeros((2, 3, n + 2, n + 2)),
        np.zeros((2, n + 2, n + 2)),
    )  # by l, odd and even; pair k lacks arm k
    actions = np.zeros((3, n + 1), np.int64)
    gain = np.empty(3)
    for left in range(1, n + 1):
        old, new = (left - 1) % 2, left % 2
        for k in range(3):
            i, j = (1 if k == 0 else 0), (1 if k == 2 else 2)
            _pair_level(reached, hazard, worth, i, j, left, n, kept, pairs[old, k], pairs[new, k])
        for a in range(n - left + 1):
            for b in range(n - left - a + 1):
                c = n - left - a - b
                gain[0] = hazard[0, a] * (worth[0] + kept * pairs[new, 0, b, c] + (1.0 - kept) * pairs[old, 0, b, c])
                gain[0] += (1.0 - hazard[0, a]) * triple[old, a + 1, b]
                gain[1] = hazard[1, b] * (worth[1] + kept * pairs[new, 1, a, c] + (1.0 - kept) * pairs[old, 1, a, c])
                gain[1] += (1.0 - hazard[1, b]) * triple[old, a, b + 1]
                gain[2] = hazard[2, c] * (worth[2] + kept * pairs[new, 2, a, b] + (1.0 - kept) * pairs[old, 2, a, b])
                gain[2] += (1.0 - hazard[2, c]) * triple[old, a, b]
                best = 0 if gain[0] >= max(gain[1], gain[2]) else (1 if gain[1] >= gain[2] else 2)
                triple[new, a, b] = gain[best]
                least = gain[best] * _ALIKE
                if b == 0 and c == 0:
                    actions[0, a] = 0 if gain[0] >= least else best
                if a == 0 and c == 0:
                    actions[1, b] = 1 if gain[1] >= least else best
                if a == 0 and b == 0:
                    actions[2, c] = 2 if gain[2] >= least else best
    arm = actions[0, 0]
    return arm, _first_run(actions, arm, n)


@njit(error_model="numpy")
def exact_step(x, y, worth, whole, upper, spent, left, who, n):
    """Return the arm to serve of the two or three in `who`, all in whole units or none, and the amount."""
    arms = who.size
    cell, kept = left / n, 0.5
    if whole:  # as many units to a cell as make at most n cells
        cell = max(math.ceil(math.floor(left) / n), 1.0)
        n, kept = int(left / cell), 0.5 * (cell - 1.0) / cell
        if n < 1:
            return who[0], 0.0
    reached, hazard, value = np.empty((arms, n + 1)), np.zeros((arms, n + 1)), np.empty(arms)
    for k in range(arms):
        i = who[k]
        _along(x[i], y[i], spent[i], upper[i], cell, n, reached[k], hazard[k])
        value[k] = worth[i]
    if arms == 2:
        arm, run = best_of_two(reached, hazard, value, n, kept)
    else:
        arm, run = best_of_three(reached, hazard, value, n, kept)
    return who[arm], min(run * cell, left)
