"""The confidence region of one arm's curve: every (log rate, activation, shape) that its evidence does not rule out.

    C = {theta : L(theta) >= exp(-level) * integral of L(theta') d prior(theta')}

L is the likelihood of the arm's evidence (`kernels.cure`). The integral over L at the truth is a martingale with mean
1, whatever the allocations depended on, so by Ville's inequality the truth is in C at all times at once but for a
probability of exp(-level) (Darling and Robbins 1967, Robbins 1970). What is cut off from the integral makes C larger:
every shortcut taken here errs to that side.

Given rate and shape, log L is concave in p: S log p + sum of n_j log(1 - p G_j) + a constant. Its maximum, the two ends
of C and the integral over p ~ U(0, 1) are found by Newton's method and Gauss-Legendre. Log rates and shapes run over
places that follow the likelihood's width (`kernels.search`), with a logistic and a normal prior.
"""

import math

import numpy as np

from headgate.kernels.bins import BINS
from headgate.kernels.cure import N_FAILED, POINTS, REF, SUMS, WON, add_reached, add_seen, gather
from headgate.kernels.curves import BASE, CAP, COLUMNS, LOC, A, B, cdf, fill_row
from headgate.kernels.part import njit
from headgate.kernels.search import ROOM, ask, end, highest, tell

RATES = 25
"""Places of a region in log rate ..."""
SHAPES = 9
"""... and in shape, where that is learned; closer together towards both ends."""
LOG_RATE, SHAPE, LEAST, MOST = range(4)
"""Columns of a place: log rate and shape, and the least and largest activation there."""
PRIOR = 5
"""What is expected: centre of the log rate and its least and largest; mean and variance of the shape."""

_PANELS, _SHAPE_PANELS = 24, 12  # of the trapezoidal rule
_DEEP = 11.0  # nats below the top at which the integral is cut off
_LOOKS = 8  # for the corner of a region, on a grid and then by halving
_SPREAD = 0.55  # of the logistic prior of log rate: a standard deviation of 1, as that of Thompson
_BETWEEN = 0.05  # nats by which a region is widened for what lies between its places
_TINY = 1e-300
_AT, _WEIGHT = np.polynomial.legendre.leggauss(10)

# What `_profile` leaves behind: the best p, where the next search starts; the part of log L without p; the part with
# it; on what scale of p that falls. Then room for the derivatives, which are not needed.
_P, _CONSTANT, _VALUE, _WIDTH, _THETA, _OUT = range(6)
WORK = 11


@njit(error_model="numpy")
def _part(points, sums, missing, p):
    """S log p + sum of n log(1 - p G), and its first two derivatives in p."""
    successes = sums[WON]
    value, slope, bend = 0.0, 0.0, 0.0
    if successes > 0.0:
        value, slope, bend = successes * math.log(p), successes / p, -successes / (p * p)
    for j in range(int(sums[N_FAILED])):
        n = points[0, 0, j]
        left = max((1.0 - p) + p * missing[j], _TINY)
        share = (1.0 - missing[j]) / left
        value += n * math.log(left)
        slope -= n * share
        bend -= n * share * share
    return value, slope, bend


@njit(error_model="numpy")
def _best(points, sums, missing, start):
    """The p that maximises the part: Newton on p times its slope, which is concave and falls, so from the right."""
    if sums[WON] == 0.0:
        return 0.0
    p, end_known = start, False
    for _ in range(60):
        excess, fall = sums[WON], 0.0
        for j in range(int(sums[N_FAILED])):
            left = max((1.0 - p) + p * missing[j], _TINY)
            odds = (1.0 - missing[j]) / left
            excess -= points[0, 0, j] * p * odds
            fall += points[0, 0, j] * odds / left
        following = p + excess / max(fall, _TINY)
        if following >= 1.0:
            if not end_known and _part(points, sums, missing, 1.0)[1] >= 0.0:
                return 1.0
            end_known = True
            following = 0.5 * (1.0 + p)
        if abs(following - p) <= 1e-9 * p:
            return following
        p = following
    return p


@njit(error_model="numpy")
def _profile(row, table, integer, points, sums, log_rate, missing, work):
    """The largest log likelihood at a rate; 1 - G of the failures goes to `missing`, the rest to `work`."""
    for j in range(int(sums[N_FAILED])):
        missing[j] = cdf(row, table, log_rate + sums[REF] + points[0, 1, j])[1]
    work[_THETA] = log_rate
    work[_CONSTANT] = add_seen(row, table, integer, points, sums, work[_THETA:_OUT], work[_OUT:])
    work[_CONSTANT] += add_reached(row, table, points, sums, work[_THETA:_OUT], work[_OUT:])
    work[_P] = _best(points, sums, missing, work[_P] if 0.0 < work[_P] < 1.0 else 0.5)
    work[_VALUE], slope, bend = _part(points, sums, missing, work[_P])
    work[_WIDTH] = 1.0 / math.sqrt(max(-bend, 0.0) + slope * slope + 1e-12)
    height = work[_CONSTANT] + work[_VALUE]
    return -np.inf if math.isnan(height) else height


@njit(error_model="numpy")
def _integral(points, sums, missing, work):
    """Log of the integral of L over p ~ U(0, 1), cut off a few widths from its maximum."""
    p, width = work[_P], work[_WIDTH]
    low, high = max(p - 4.0 * width, 0.0), min(p + 4.5 * width, 1.0)
    total = 0.0
    for k in range(_AT.size):
        at = 0.5 * (low + high) + 0.5 * (high - low) * _AT[k]
        total += _WEIGHT[k] * math.exp(_part(points, sums, missing, at)[0] - work[_VALUE])
    return work[_CONSTANT] + work[_VALUE] + math.log(0.5 * (high - low) * total)


@njit(error_model="numpy")
def _ends(points, sums, missing, work, floor, place):
    """The least and the largest p at which log L is at least `floor`: Newton from outside, on a concave function."""
    p, width = work[_P], work[_WIDTH]
    floor = min(floor - work[_CONSTANT], work[_VALUE])
    roots = math.sqrt(2.0 * (work[_VALUE] - floor))
    high = p + width * roots
    if high >= 1.0:
        high = 1.0 if _part(points, sums, missing, 1.0)[0] >= floor else 0.5 * (1.0 + p)
    while high < 1.0:
        value, slope, _ = _part(points, sums, missing, high)
        following = high - (value - floor) / min(slope, -_TINY)
        if following >= 1.0:
            following = 1.0 if _part(points, sums, missing, 1.0)[0] >= floor else 0.5 * (1.0 + high)
        close = abs(following - high) <= 1e-6 * width
        high = following
        if close or high <= p:
            break
    place[MOST] = max(min(high, 1.0), p)
    place[LEAST] = 0.0
    if sums[WON] > 0.0:  # in log p, in which the part is concave too
        low = math.log(p) - min(width / p * roots, 5.0)
        for _ in range(60):
            at = math.exp(low)
            value, slope, _ = _part(points, sums, missing, at)
            step = (value - floor) / max(slope * at, _TINY)
            low -= min(max(step, -5.0), 5.0)
            if abs(step) <= 1e-6 or low < -600.0:
                break
        place[LEAST] = min(math.exp(low), p)


@njit(error_model="numpy")
def _sweep(row, table, integer, points, sums, prior, missing, work, at, height, count, deep, floor):
    """Look at log rates until the top and the ends are known; returns how many places there are."""
    while True:
        log_rate = ask(at, height, count, prior[1], prior[2], deep, floor)
        if math.isnan(log_rate):
            return count
        value = _profile(row, table, integer, points, sums, log_rate, missing, work)
        count = tell(at, height, count, log_rate, value)


@njit(error_model="numpy")
def _mass(row, table, integer, points, sums, prior, missing, work, at, height):
    """Log of the integral of L over p and rate, their prior U(0, 1) and logistic."""
    count = _sweep(row, table, integer, points, sums, prior, missing, work, at, height, 0, _DEEP, -np.inf)
    top = height[highest(height, count)]
    first, last = end(at, height, count, top - _DEEP, 0), end(at, height, count, top - _DEEP, 1)
    total, step = 0.0, (last - first) / _PANELS
    for k in range(_PANELS + 1):
        off = abs(first + k * step - prior[0]) / _SPREAD
        _profile(row, table, integer, points, sums, first + k * step, missing, work)
        inner = _integral(points, sums, missing, work) - off - 2.0 * math.log1p(math.exp(-off)) - math.log(_SPREAD)
        total += (1.0 if 0 < k < _PANELS else 0.5) * math.exp(inner - top)
    return top + math.log(step * total)


@njit(error_model="numpy")
def _corner(row, table, integer, points, sums, missing, work, floor, first, last):
    """The largest log rate of [first, last] at which p = 1 reaches the floor; `first` if none does.

    There the region has a corner: below it the largest p is 1, beyond it falls.
    """
    step, place, inside, outside = (last - first) / _LOOKS, last, np.nan, last
    for k in range(2 * _LOOKS):
        _profile(row, table, integer, points, sums, place, missing, work)
        certain = work[_CONSTANT] + _part(points, sums, missing, 1.0)[0] >= floor
        if certain:
            inside = place
            if k == 0:
                break
        else:
            outside = place
        if not math.isnan(inside):
            place = 0.5 * (inside + outside)
        elif k >= _LOOKS:
            return first
        else:
            place -= step
    return inside


@njit(error_model="numpy")
def _outline(row, table, integer, points, sums, prior, missing, work, at, height, shape, floor, places):
    """Write the places at one shape: a third of them below the corner of the region, the others beyond."""
    count = _sweep(row, table, integer, points, sums, prior, missing, work, at, height, 0, np.inf, floor)
    first, last = end(at, height, count, floor, 0), end(at, height, count, floor, 1)
    corner = _corner(row, table, integer, points, sums, missing, work, floor, first, last)
    below = places.shape[0] // 3 if first < corner < last else 0
    for k in range(places.shape[0]):
        low, high, share = first, last, k / (places.shape[0] - 1)
        if below > 0 and k < below:
            high, share = corner, k / below
        elif below > 0:
            low, share = corner, (k - below) / (places.shape[0] - 1 - below)
        log_rate = low + (high - low) * 0.5 * (1.0 - math.cos(math.pi * share))
        _profile(row, table, integer, points, sums, log_rate, missing, work)
        places[k, LOG_RATE], places[k, SHAPE] = log_rate, shape
        _ends(points, sums, missing, work, floor, places[k])


@njit(error_model="numpy")
def reshape(row, form, powers, shape):
    """Write an arm's row at a shape, from its row at 0; see `headgate.laws.learned` for the powers."""
    a = form[A] * math.exp(powers[0] * shape) + powers[3] * shape
    b = form[B] * math.exp(powers[1] * shape)
    fill_row(row, form[BASE], a, b, form[LOC] + powers[2] * shape, form[CAP], 1.0, 0.0)


@njit(error_model="numpy")
def region(form, powers, limits, table, integer, bins, edges, prior, level, places):
    """Write an arm's region to `places` (shapes, RATES, 4); returns the log of the floor that L must reach in it.

    `form` is the arm's row, `powers` how it depends on the shape, `limits` the least and largest shape.
    """
    row, points, sums = np.empty(COLUMNS), np.empty(POINTS), np.empty(SUMS)
    missing, work, at, height = np.empty(BINS), np.zeros(WORK), np.empty(ROOM), np.empty(ROOM)
    low, high = limits[0], limits[1]
    if low == high:
        reshape(row, form, powers, low)
        gather(row, bins, edges, points, sums)
        floor = _mass(row, table, integer, points, sums, prior, missing, work, at, height) - level - _BETWEEN
        _outline(row, table, integer, points, sums, prior, missing, work, at, height, low, floor, places[0])
        for g in range(1, places.shape[0]):  # other arms may have a shape to learn
            for k in range(places.shape[1]):
                for c in range(places.shape[2]):
                    places[g, k, c] = places[0, k, c]
        return floor
    outer, tops, count, floor = np.empty(ROOM), np.empty(ROOM), 0, -np.inf
    for stage in range(2):  # the shapes that matter for the integral, then those of the region
        while True:
            shape = ask(outer, tops, count, low, high, _DEEP if stage == 0 else np.inf, floor)
            if math.isnan(shape):
                break
            reshape(row, form, powers, shape)
            gather(row, bins, edges, points, sums)
            found = _sweep(row, table, integer, points, sums, prior, missing, work, at, height, 0, np.inf, -np.inf)
            count = tell(outer, tops, count, shape, height[highest(height, found)])
        top = tops[highest(tops, count)]
        cut = top - _DEEP if stage == 0 else floor
        first, last = end(outer, tops, count, cut, 0), end(outer, tops, count, cut, 1)
        if stage == 0:
            total, step = 0.0, (last - first) / _SHAPE_PANELS
            for k in range(_SHAPE_PANELS + 1):
                shape = first + k * step
                reshape(row, form, powers, shape)
                gather(row, bins, edges, points, sums)
                inner = _mass(row, table, integer, points, sums, prior, missing, work, at, height)
                inner -= 0.5 * (shape - prior[3]) ** 2 / prior[4] + 0.5 * math.log(2.0 * math.pi * prior[4])
                total += (1.0 if 0 < k < _SHAPE_PANELS else 0.5) * math.exp(inner - top)
            floor = top + math.log(step * total) - level - _BETWEEN
    for k in range(places.shape[0]):
        shape = 0.5 * (first + last) - 0.5 * (last - first) * math.cos(math.pi * k / (places.shape[0] - 1))
        reshape(row, form, powers, shape)
        gather(row, bins, edges, points, sums)
        _outline(row, table, integer, points, sums, prior, missing, work, at, height, shape, floor, places[k])
    return floor
