"""The index of an arm in a live round: expected value per expected unit spent, over the best stretch to come.

An arm is a curve F by points, straight between them. Served up to x without success it has S(x) = 1 - F(x), and
serving it from s to s + d brings v (F(s + d) - F(s)) and costs the integral of S over (s, s + d), in expectation and
seen from the round's start: a success ends the arm and frees the rest. Its index at s is the largest ratio of the
two,

    max over d of v * integral of f H / integral of S H over (s, s + d],

with H the chance that the budget lasts so long: 1 up to what is left where that is known, 1 for ever where nothing is.
It is Gittins' index of a job that may never end. Along a straight piece of F the hazard f / S grows, so that the best d
ends at a point, or with the budget.

Thresholds in whole units are paid in whole units: then the integral of S is the sum of S before each unit. In a
cascade the first success ends the round, and nothing is left over for anybody: f is the hazard and S is 1.
"""

import math

import numpy as np

from headgate.kernels.part import njit

_TINY = 1e-300


@njit(error_model="numpy")
def cell_of(x, s):
    """The last point at or before s, from which the curve goes on."""
    low, high = 0, x.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if x[middle] <= s:
            low = middle
        else:
            high = middle
    return low if x[high] > s else high


@njit(error_model="numpy")
def height(x, y, s, cell):
    """F(s), for s in this cell."""
    if s <= x[cell] or cell + 1 >= x.size:
        return y[cell]
    return y[cell] + (y[cell + 1] - y[cell]) * (s - x[cell]) / (x[cell + 1] - x[cell])


@njit(error_model="numpy")
def lasts(times, chances, t):
    """The chance that the budget lasts until t: straight between points, 0 after the last."""
    if t >= times[-1]:
        return chances[-1] if t == times[-1] else 0.0
    return height(times, chances, t, cell_of(times, t))


@njit(error_model="numpy")
def index_of(x, y, worth, whole, cascade, s, limit, gone, times, chances):
    """The index of an arm that has had s, and its d <= limit; `gone` of the budget has been spent by all arms.

    `times` and `chances` are the points of H; without any, H is 1.
    """
    k = cell_of(x, s)
    at, before = s, height(x, y, s, k)
    gain = cost = best = amount = 0.0
    end_at = s + (math.floor(limit) if whole else limit)
    while k + 1 < x.size and at < end_at:
        k += 1
        if x[k] <= at:
            continue
        end = min(x[k], end_at)
        after = y[k] if x[k] <= end_at else height(x, y, end, k - 1)
        weight = lasts(times, chances, gone + 0.5 * (at + end) - s) if times.size > 0 else 1.0
        if cascade:
            gain += weight * math.log(max(1.0 - before, _TINY) / max(1.0 - after, _TINY))
            cost += weight * (end - at)
        else:
            gain += weight * (after - before)
            cost += weight * 0.5 * ((2.0 - before - after) * (end - at) + ((after - before) if whole else 0.0))
        if gain > best * cost * (1.0 + 1e-12):
            best, amount = gain / cost if cost > 0.0 else np.inf, end - s
        at, before = end, after
    return worth * best, amount
