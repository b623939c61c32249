"""The next step of a live round: by the rule of `live`, or by looking ahead.

Looking ahead plays the arms of the three largest indices to the end by the rule, in futures that are the same for each.
Futures come in sets: in a set every arm has one threshold in each of 32 equally likely ranges, in an order of its own.
Another arm is taken than the rule's only if it is better by more than chance explains, judged by how much sets differ:
futures are few, and arms are often worth nearly the same.
"""

import math

import numpy as np
from numba import types

from headgate.kernels.compiled import gufunc
from headgate.kernels.live import INDEX, STRETCH, choose, finish, last_arms, serve, stretch, useful_to
from headgate.kernels.live_index import cell_of, height
from headgate.kernels.noise import uniform
from headgate.kernels.part import njit

_SETS, _RANGES = 12, 32  # sets of futures, and ranges of thresholds in each: one future for each range
_EARLY = 4  # sets after which an arm that is no better is given up
_ERRORS = 2.0  # standard errors by which another arm must be better


@njit(error_model="numpy")
def _share(arm, number):
    """A number in (0, 1), random, for each arm and future: in each set of futures one in each range."""
    at, place = 4 * (number // _RANGES), number % _RANGES
    key = types.uint64(arm)
    odd = 2 * int(0.5 * _RANGES * uniform(key, types.uint64(at))) + 1
    flips = int(_RANGES * uniform(key, types.uint64(at + 1)))
    shift = int(_RANGES * uniform(key, types.uint64(at + 2)))
    within = uniform(key, types.uint64(4 * _SETS + number))
    return (((place ^ flips) * odd + shift) % _RANGES + within) / _RANGES


@njit(error_model="numpy")
def _future(x, y, whole, spent, number):
    """Draw thresholds of arms that have not succeeded so far, infinite for those that never will."""
    reach = np.empty(spent.size)
    for i in range(spent.size):
        below = height(x[i], y[i], spent[i], cell_of(x[i], spent[i]))
        level = below + (1.0 - below) * _share(i, number)
        k = np.searchsorted(y[i], level)
        if k >= y.shape[1]:
            reach[i] = np.inf
        else:
            rise = y[i, k] - y[i, k - 1]
            reach[i] = max(x[i, k - 1] + (x[i, k] - x[i, k - 1]) * (level - y[i, k - 1]) / rise, spent[i])
            reach[i] = math.ceil(reach[i]) if whole[i] else reach[i]
    return reach


@njit(error_model="numpy")
def _played(at, arm, amount, number):
    """What serving an arm, and then the rule, bring in one of the futures; `at` is the round as it stands."""
    x, y, worth, whole, cascade, upper, spent, left, gone, times, chances, known = at
    reach = _future(x, y, whole, spent, number)
    then, had, fresh = upper.copy(), spent.copy(), known.copy()
    took, won = serve(reach, then, had, fresh, arm, amount)
    brought = worth[arm] if won else 0.0
    if won and cascade:
        return brought
    return brought + finish(
        x, y, worth, whole, cascade, then, had, gone + left, gone + took, gone + left, times, chances, fresh, False,
        reach,
    )  # fmt: skip


@njit(error_model="numpy")
def _advantage(at, arm, amount, rule_arm, rule_amount, brought):
    """By how much serving `arm` is better on average than what the rule says; 0 if that may be chance.

    `brought` keeps what the rule's step brings in each future, NaN until it has been played.
    """
    total = squares = 0.0
    for one in range(_SETS):
        more = 0.0
        for number in range(one * _RANGES, (one + 1) * _RANGES):
            if math.isnan(brought[number]):
                brought[number] = _played(at, rule_arm, rule_amount, number)
            more += (_played(at, arm, amount, number) - brought[number]) / _RANGES
        total += more
        squares += more * more
        if one + 1 == _EARLY and total <= 0.0:
            return 0.0
    mean = total / _SETS
    error = math.sqrt(max(squares / _SETS - mean * mean, 0.0) / (_SETS - 1))
    return mean if mean > _ERRORS * error else 0.0


@njit(error_model="numpy")
def look_ahead(x, y, worth, whole, cascade, upper, spent, left, gone, times, chances, known, exact):
    """As `choose`, but the three arms of the largest indices are compared by playing on."""
    chosen, amount = choose(x, y, worth, whole, cascade, upper, spent, left, gone, times, chances, known, exact)
    useful = useful_to(x, y, upper, spent, left)
    if chosen < 0 or left == np.inf or (exact and last_arms(whole, cascade, upper, spent, left, useful, times).size):
        return chosen, amount  # nothing to play to the end of, or known already
    at = (x, y, worth, whole, cascade, upper, spent, left, gone, times, chances, known)
    best, best_amount, most = chosen, amount, 0.0
    index, brought = known[:, INDEX].copy(), np.full(_SETS * _RANGES, np.nan)
    index[chosen] = 0.0
    tried = 0
    while tried < 2:
        arm = int(np.argmax(index))
        if index[arm] <= 0.0:
            break
        index[arm] = 0.0
        room = min(left, upper[arm] - spent[arm])
        if room <= 0.0:
            continue
        tried += 1
        size = stretch(
            x[arm], y[arm], worth[arm], whole[arm], cascade, room, spent[arm], useful, gone, times, chances,
            known[arm, STRETCH], np.inf,
        )  # fmt: skip
        more = _advantage(at, arm, size, chosen, amount, brought)
        if more > most:
            best, best_amount, most = arm, size, more
    return best, best_amount


@gufunc(
    [
        "void(float64[:,:], float64[:,:], float64[:], boolean[:], boolean, float64[:], float64[:], float64, float64, "
        "float64[:], float64[:], boolean, float64[:,:], int64[:], float64[:])"
    ],
    "(k,n),(k,n),(k),(k),(),(k),(k),(),(),(h),(h),(),(k,c)->(),()",
    writable=("known",),
)
def next_step(x, y, worth, whole, cascade, upper, spent, left, gone, times, chances, ahead, known, arm, amount):
    """The next step of a round: arm, or -1, and amount; `ahead` if it is to be looked for by playing on."""
    if ahead:
        arm[0], amount[0] = look_ahead(
            x, y, worth, whole, cascade, upper, spent, left, gone, times, chances, known, True
        )
    else:
        arm[0], amount[0] = choose(x, y, worth, whole, cascade, upper, spent, left, gone, times, chances, known, True)
