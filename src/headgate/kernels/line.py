"""The posterior of one arm whose shape is known: l = log median on a line of knots, the activation given l.

The log posterior of l, activation integrated out (`collapsed`), is taken at nine knots around where it was last, and
joined by cubics. That is enough where it is close to normal, and is tested: the ends must have dropped, and the fourth
differences, of which a cubic has none, be small. Otherwise the line is moved, stretched, zoomed or divided until they
are. What is kept is a map from normal noise to the posterior (Rosenblatt's): at LEVELS values of z the quantile l(z),
and mode, deviation and skewness of logit p given it; a draw is l(z1), then logit p by z2.
"""

import math

import numpy as np
from scipy import special

from headgate.kernels.collapsed import marginal
from headgate.kernels.columns import LEVEL, LEVELS, L, T
from headgate.kernels.part import njit

FIRST, STEP = -3.2, 0.4  # z at the first level, and from level to level

_SHARES = special.ndtr(FIRST + STEP * np.arange(LEVELS + 1))  # of the mass below each level
_KNOTS = 9  # to begin with; each division makes two cells of one
MOST_KNOTS = 129
_PACE = 1.0  # standard deviations from knot to knot
_DROP = 3.5  # how much lower than its top the log posterior must be at the ends of the line
_NEAR = 4.0  # a knot counts if it is no lower than this
_FEWEST = 4  # knots that must count
_ROUGH = 2.0  # the largest fourth difference of three knots that count: a cubic then errs by .023 of it halfway
_ATTEMPTS = 10
_PARTS = 4  # of a cell, when integrating


@njit(error_model="numpy")
def _cubic(values, k, share):
    """The cubic through four neighbours of the cell k to k + 1, at `share` of it."""
    n = values.size
    left, right = values[k], values[k + 1]
    below = values[k - 1] if k > 0 else 2.0 * left - right
    above = values[k + 2] if k + 2 < n else 2.0 * right - left
    a, b, c, d = share + 1.0, share, share - 1.0, share - 2.0
    return -below * b * c * d / 6.0 + left * a * c * d / 2.0 - right * a * b * d / 2.0 + above * a * b * c / 6.0


@njit(error_model="numpy")
def trace(candidate, maps, table, points, sums, prior, centre, spread, row, missing, room, moments, levels):
    """Fill `levels` (LEVELS times LEVEL); `moments` receives means and variances of (l, t).

    `room` is (4, MOST_KNOTS): at the knots the log posterior, and mode, deviation and skewness of logit p.
    """
    values, means = room[0], room[1]
    knots, step, divided = _KNOTS, _PACE * spread, False
    start, top = centre - 0.5 * (_KNOTS - 1) * step, -np.inf
    count = 0
    for attempt in range(_ATTEMPTS):
        top = -np.inf
        for k in range(knots):
            if not divided or k % 2 == 1:
                l = start + k * step
                near = means[k - 1] if k > 0 else np.nan
                value, means[k], room[2, k], room[3, k] = marginal(
                    candidate, maps, table, points, sums, l, 0.0, prior[0, T], prior[1, T], near, row, missing
                )
                values[k] = max(value - 0.5 * (l - prior[0, L]) ** 2 / prior[1, L], -1e12)
                count += 1
            top = max(top, values[k])
        divided = False
        if attempt == _ATTEMPTS - 1:
            break
        length = step * (knots - 1)
        low, high = values[0] > top - _DROP, values[knots - 1] > top - _DROP
        if low or high:
            start, length = start - (0.5 * length if low else 0.0), length * (1.0 + 0.5 * low + 0.5 * high)
            step = length / (knots - 1)
            continue
        first, last = knots, 0
        for k in range(knots):
            if values[k] > top - _NEAR:
                first, last = min(first, k), k
        if last - first + 1 < _FEWEST:
            start, length = start + (first - 1) * step, (last - first + 2) * step
            step = length / (knots - 1)
            continue
        rough = 0.0
        for k in range(2, knots - 2):
            if max(values[k - 1], values[k], values[k + 1]) > top - _NEAR:
                fourth = values[k - 2] - 4.0 * values[k - 1] + 6.0 * values[k] - 4.0 * values[k + 1] + values[k + 2]
                rough = max(rough, abs(fourth))
        if rough <= _ROUGH or knots >= MOST_KNOTS:
            break
        for k in range(knots - 1, 0, -1):  # every second knot stays
            for c in range(room.shape[0]):
                room[c, 2 * k] = room[c, k]
        knots, divided = 2 * (knots - 1) + 1, True
        step = length / (knots - 1)
    _map(room[:, :knots], start, step, top, moments, levels)
    return count


@njit(error_model="numpy")
def _map(room, start, step, top, moments, levels):
    """Integrate along the line, and read off the levels."""
    values, means, deviations, skews = room[0], room[1], room[2], room[3]
    cells = values.size - 1
    masses = np.empty(_PARTS * cells)
    total, before = 0.0, math.exp(values[0] - top)
    for c in range(4):
        moments[c] = 0.0
    for k in range(cells):
        for part in range(1, _PARTS + 1):
            share = part / _PARTS
            here = math.exp(min(_cubic(values, k, share) - top, 1.0))
            total += before + here
            masses[_PARTS * k + part - 1] = before + here
            before = here
    for k in range(cells + 1):
        w = math.exp(values[k] - top)
        l, t = start + k * step, means[k] + 0.5 * skews[k] * deviations[k]
        moments[0] += w * l
        moments[1] += w * t
        moments[2] += w * l * l
        moments[3] += w
    weight = moments[3]
    moments[0] /= weight
    moments[1] /= weight
    moments[2] = moments[3] = 0.0
    for k in range(cells + 1):
        w = math.exp(values[k] - top) / weight
        moments[2] += w * (start + k * step - moments[0]) ** 2
        moments[3] += w * ((means[k] - moments[1]) ** 2 + deviations[k] ** 2)
    moments[2] = max(moments[2], (0.2 * step) ** 2)
    level, reached = 0, 0.0
    target = _SHARES[0] * total
    for k in range(cells):
        for part in range(1, _PARTS + 1):
            mass = masses[_PARTS * k + part - 1]
            while level < LEVELS and reached + mass >= target:
                share = (part - 1 + (target - reached) / mass) / _PARTS
                levels[LEVEL * level] = start + (k + share) * step
                for c in range(1, LEVEL):
                    levels[LEVEL * level + c] = room[c, k] + share * (room[c, k + 1] - room[c, k])
                level += 1
                target = _SHARES[level] * total
            reached += mass
    while level < LEVELS:  # rounding at the far end
        levels[LEVEL * level] = start + cells * step
        for c in range(1, LEVEL):
            levels[LEVEL * level + c] = room[c, cells]
        level += 1
