"""Rounds as they were: split a budget so that as much weight as possible has an arm that reaches its threshold.

The search exchanges: it takes two arms and shares what both have, and what nobody has, between them in the best way
there is, all others as they are. With `a` to the first and the rest of `c` to the second, a round that no other arm
reaches stays without success iff c - t_j < a < t_i: so the best `a` is found by sorting ends of intervals, without a
grid. It ends when no pair has anything to gain.
"""

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.part import njit

_SWEEPS = 200


@njit(error_model="numpy")
def _covered(thresholds, weight, x, first, second):
    """Weight of the rounds that an arm reaches, and which have one beside `first` and `second`."""
    rounds, arms = thresholds.shape
    rest = np.zeros(rounds, np.bool_)
    total = 0.0
    for r in range(rounds):
        won = False
        for i in range(arms):
            if thresholds[r, i] <= x[i]:
                won = True
                if i not in (first, second):
                    rest[r] = True
        if won:
            total += weight[r]
    return total, rest


@njit(error_model="numpy")
def _share(thresholds, weight, rest, first, second, low_first, high_first, low_second, high_second, amount):
    """The best split of `amount` between two arms: the weight that they add to the rest, and what the first gets."""
    rounds = thresholds.shape[0]
    least = max(low_first, amount - high_second)
    most = min(high_first, amount - low_second)
    if most < least:
        return -1.0, low_first
    starts, ends = np.empty(rounds), np.empty(rounds)
    start_weight, end_weight = np.empty(rounds), np.empty(rounds)
    count, base, lost = 0, 0.0, 0.0
    for r in range(rounds):
        if rest[r]:
            continue
        base += weight[r]
        begin, end = amount - thresholds[r, second], thresholds[r, first]  # lost for begin < a < end
        if begin >= end or end <= least or begin >= most:
            continue
        if begin < least:
            lost += weight[r]
        starts[count], ends[count] = begin, end
        start_weight[count] = weight[r] if begin >= least else 0.0
        end_weight[count] = weight[r]
        count += 1
    by_start, by_end = np.argsort(starts[:count]), np.argsort(ends[:count])
    # Losses end at the thresholds of the first arm: there alone, or at the least it may get, a split can be best.
    best, at, place = base - lost, least, 0
    for k in range(count):
        e = by_end[k]
        a = ends[e]
        if a > most:
            break
        lost -= end_weight[e]
        if k + 1 < count and ends[by_end[k + 1]] == a:
            continue
        while place < count and starts[by_start[place]] < a:
            lost += start_weight[by_start[place]]
            place += 1
        if base - lost > best * (1.0 + 1e-13) + 1e-300:
            best, at = base - lost, a
    return best, at


@njit(error_model="numpy")
def _exchange(thresholds, weight, lower, upper, budget, x):
    """Improve x by exchanges until there is none; return what it is worth."""
    rounds, arms = thresholds.shape
    worth, _ = _covered(thresholds, weight, x, -1, -1)
    for _ in range(_SWEEPS):
        improved = False
        for i in range(arms):
            for j in range(i + 1, arms):
                spare = budget
                for k in range(arms):
                    if k not in (i, j):
                        spare -= x[k]
                _, rest = _covered(thresholds, weight, x, i, j)
                others = 0.0
                for r in range(rounds):
                    if rest[r]:
                        others += weight[r]
                gain, a = _share(
                    thresholds, weight, rest, i, j, lower[i], upper[i], lower[j], upper[j], max(spare, 0.0)
                )
                if others + gain > worth * (1.0 + 1e-12):
                    old_first, old_second = x[i], x[j]
                    x[i], x[j] = a, min(max(spare - a, lower[j]), upper[j])
                    new, _ = _covered(thresholds, weight, x, -1, -1)
                    if new > worth * (1.0 + 1e-12):
                        worth, improved = new, True
                    else:
                        x[i], x[j] = old_first, old_second
        if not improved:
            break
    return worth


@gufunc(
    ["void(float64[:,:], float64[:], float64[:], float64[:], float64, float64[:], float64[:], float64[:])"],
    "(r,k),(r),(k),(k),(),(k)->(k),()",
)
def exchange(thresholds, weight, lower, upper, budget, start, x, worth):
    """Improve an allocation of the budget by exchanges between two arms; thresholds are infinite where none is."""
    for i in range(start.size):
        x[i] = start[i]
    worth[0] = _exchange(thresholds, weight, lower, upper, budget, x)
