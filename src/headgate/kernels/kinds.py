"""Exchanges between two arms whose rounds are of hidden kinds: the search for an allocation, not its proof.

Curves are tables: S[i, j, q] is the chance that arm i fails with the amount x[i, j] in a round of kind q, straight
between the amounts. A pair of arms shares what both have, and what nobody has, in the best way that a scan of the
tables' own amounts and of ever finer steps around the best of them finds; until no pair gains.
"""

import math

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.part import njit

_SCAN = 48  # amounts of each arm that a scan looks at
_FINE = 8  # steps to each side when looking closer
_CLOSER = 5  # how many times it looks closer
_SWEEPS = 60


@njit(error_model="numpy")
def _fill(x, S, arm, whole, at, out):
    """Write the chance of failure of an arm in each kind."""
    count, kinds = x.shape[1], S.shape[2]
    if whole:
        at = math.floor(at + 1e-9)
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if x[arm, middle] <= at:
            low = middle
        else:
            high = middle
    if low == count - 1 or not x[arm, low + 1] < np.inf or at <= x[arm, low]:
        for q in range(kinds):
            out[q] = S[arm, low, q]
        return
    share = 0.0 if whole and x[arm, low + 1] > at else (at - x[arm, low]) / (x[arm, low + 1] - x[arm, low])
    for q in range(kinds):
        out[q] = S[arm, low, q] + share * (S[arm, low + 1, q] - S[arm, low, q])


@njit(error_model="numpy")
def _pair(x, S, value, cascade, rest, first, second, whole_first, whole_second, a, amount, one, other):
    """What two arms bring with `a` and the rest of `amount`: for a cascade, less the chance that all arms fail."""
    _fill(x, S, first, whole_first, a, one)
    _fill(x, S, second, whole_second, amount - a, other)
    total = 0.0
    if cascade:
        for q in range(rest.size):
            total -= rest[q] * one[q] * other[q]
    else:
        for q in range(rest.size):
            total -= rest[q] * (value[first] * one[q] + value[second] * other[q])
    return total


@njit(error_model="numpy")
def _worth(x, S, share, value, whole, cascade, at, failure):
    """The objective, up to a constant: minus the chance that all fail, or minus the failures' value."""
    arms, kinds = S.shape[0], S.shape[2]
    total = 0.0
    product = share.copy()
    for i in range(arms):
        _fill(x, S, i, whole[i], at[i], failure)
        for q in range(kinds):
            product[q] *= failure[q]
            if not cascade:
                total -= share[q] * value[i] * failure[q]
    if cascade:
        for q in range(kinds):
            total -= product[q]
    return total


@gufunc(
    [
        "void(float64[:,:], float64[:,:,:], float64[:], float64[:], boolean[:], boolean, float64[:], float64[:], "
        "float64, float64[:], float64[:])"
    ],
    "(k,n),(k,n,q),(q),(k),(k),(),(k),(k),(),(k)->(k)",
)
def exchange_kinds(x, S, share, value, whole, cascade, lower, upper, budget, start, at):
    """Improve an allocation of the budget by exchanges; `x` is padded with infinity."""
    arms, kinds = S.shape[0], S.shape[2]
    one, other, rest, table = np.empty(kinds), np.empty(kinds), np.empty(kinds), np.empty((arms, kinds))
    counts = np.zeros(arms, np.int64)
    for i in range(arms):
        at[i] = start[i]
        _fill(x, S, i, whole[i], at[i], table[i])
        for j in range(x.shape[1]):
            if x[i, j] < np.inf:
                counts[i] = j + 1
    worth = _worth(x, S, share, value, whole, cascade, at, one)
    for _ in range(_SWEEPS):
        before = worth
        for i in range(arms):
            for j in range(i + 1, arms):
                amount = budget
                for k in range(arms):
                    if k not in (i, j):
                        amount -= at[k]
                amount = max(amount, at[i] + at[j])
                least, most = max(lower[i], amount - upper[j]), min(upper[i], amount - lower[j])
                if amount > upper[i] + upper[j]:  # more than both can hold
                    least = most = upper[i]
                if whole[i]:
                    least, most = math.ceil(least - 1e-9), math.floor(most + 1e-9)
                if most < least:
                    continue
                fixed = 0.0
                for q in range(kinds):
                    rest[q] = share[q]
                    if cascade:
                        for k in range(arms):
                            if k not in (i, j):
                                rest[q] *= table[k, q]
                now = _pair(x, S, value, cascade, rest, i, j, whole[i], whole[j], at[i], at[i] + at[j], one, other)
                best, top, width = at[i], now, 0.0
                for side in range(2):
                    arm = i if side == 0 else j
                    step = max(counts[arm] // _SCAN, 1)
                    last = -1.0
                    for n in range(0, counts[arm] + step, step):
                        knot = x[arm, min(n, counts[arm] - 1)]
                        a = min(max(knot if side == 0 else amount - knot, least), most)
                        if whole[i]:
                            a = math.floor(a + 1e-9)
                        worth_here = _pair(x, S, value, cascade, rest, i, j, whole[i], whole[j], a, amount, one, other)
                        if worth_here > top + 1e-15 * abs(top):
                            top, best, width = worth_here, a, abs(a - last) if n > 0 else most - least
                        last = a
                width = max(width, 1e-3 * (most - least))
                for _ in range(_CLOSER):
                    middle = best
                    for n in range(-_FINE, _FINE + 1):
                        a = min(max(middle + width * n / _FINE, least), most)
                        if whole[i]:
                            a = math.floor(a + 0.5)
                        worth_here = _pair(x, S, value, cascade, rest, i, j, whole[i], whole[j], a, amount, one, other)
                        if worth_here > top + 1e-15 * abs(top):
                            top, best = worth_here, a
                    width /= _FINE
                if top > now + 1e-14 * abs(now):
                    at[i], at[j] = best, min(max(amount - best, lower[j]), upper[j])
                    if whole[j]:
                        at[j] = math.floor(at[j] + 1e-9)
                    _fill(x, S, i, whole[i], at[i], table[i])
                    _fill(x, S, j, whole[j], at[j], table[j])
                    fixed += 1.0
        worth = _worth(x, S, share, value, whole, cascade, at, one)
        if worth <= before + 1e-10 * abs(before):
            break
