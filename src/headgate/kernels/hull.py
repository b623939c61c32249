"""The concave hull of one arm's curve on an interval, and its demand at a price.

On [low, high] the hull is the curve up to `start`, a chord from there to `touch`, then the curve again. Of a curve
that is convex and then concave, start = low; of a concave one, touch = low too; of a convex one, touch = high.
"""

import math

import numpy as np
from numba import njit

from headgate.kernels.curves import (
    BASE,
    CAP,
    CASCADE,
    LOC,
    LOG_WEIGHT,
    NORM,
    WEIGHT,
    A,
    B,
    convex_part,
    log_slope,
    value,
)
from headgate.laws.standard import Base

# Columns of a hull: the interval; where its chord starts and where it touches the curve again; the log slopes of
# the chord, and of the hull at low, at touch and at high; f at the start of the chord.
LOW, HIGH, START, TOUCH, CHORD, AT_LOW, AT_TOUCH, AT_HIGH, F_START = range(9)
COLUMNS = 9

FLOOR = -1000.0  # a log slope so low stands for none at all: its exponential is 0

_GAMMA, _BURR, _NORMAL = int(Base.GAMMA), int(Base.BURR), int(Base.NORMAL)


@njit(error_model="numpy")
def _tangent(row, table, low, f_low, bend, high):
    """Find the point beyond the inflection where the line from `low` touches the curve; `high` if none.

    psi(t) = f(t) - f(low) - f'(t) (t - low) rises from the inflection on: safeguarded Newton on it.
    """
    left, right = bend, high
    slope, _ = log_slope(row, table, high)
    if value(row, table, high) - f_low < math.exp(slope) * (high - low):
        return high
    t = min(max(low + 1.6 * (bend - low), left), right)
    for _ in range(80):
        slope, curve = log_slope(row, table, t)
        marginal = math.exp(slope)
        psi = value(row, table, t) - f_low - marginal * (t - low)
        if psi > 0.0:
            right = t
        else:
            left = t
        gain = -marginal * curve / t * (t - low)
        following = t - psi / gain if gain > 0.0 else right + 1.0
        if not left < following < right:
            following = 0.5 * (left + right)
        if abs(following - t) <= 1e-14 * t:
            t = following
            break
        t = following
    return t


@njit(error_model="numpy")
def _chord(row, table, start, bend, high):
    """The chord from `start` to the curve beyond `bend`: where it touches, f at its start, and its log slope."""
    f_start = value(row, table, start)
    touch = high if bend >= high else _tangent(row, table, start, f_start, bend, high)
    rise = value(row, table, touch) - f_start
    return touch, f_start, (math.log(rise / (touch - start)) if rise > 0.0 else -np.inf)


@njit(error_model="numpy")
def fill_hull(hull, row, table, low, high):
    """Write the hull of the curve on [low, high]."""
    hull[LOW], hull[HIGH], hull[START], hull[TOUCH], hull[CHORD] = low, high, low, low, np.inf
    hull[F_START] = value(row, table, low)
    if high <= low or row[WEIGHT] == 0.0 or value(row, table, high) <= hull[F_START]:
        hull[HIGH] = low
        hull[AT_LOW] = hull[AT_TOUCH] = hull[AT_HIGH] = -np.inf
        return
    hull[AT_LOW] = hull[AT_TOUCH] = max(log_slope(row, table, low)[0], FLOOR)
    hull[AT_HIGH] = max(log_slope(row, table, high)[0], FLOOR)
    sure = row[CASCADE] != 0.0 and row[WEIGHT] == 1.0 and row[BASE] == _GAMMA
    if sure and row[A] == 1.0 and row[B] == 1.0 and row[CAP] == np.inf:
        # -log(1 - G) = rate x: a straight line, which rounding makes neither convex nor concave. It is its own chord.
        hull[TOUCH], hull[CHORD], hull[AT_TOUCH], hull[AT_HIGH] = high, row[LOC], row[LOC], row[LOC]
        return
    rise, bend = convex_part(row, table, low, high)
    if bend <= low:
        return
    start = low
    touch, f_start, chord = _chord(row, table, start, bend, high)
    if rise > low and hull[AT_LOW] > chord:
        # Concave, convex, concave: the chord touches on both sides, where f' falls to its slope.
        left, right = math.log(max(low, 1e-12 * high)), math.log(rise)
        for _ in range(60):
            middle = 0.5 * (left + right)
            start = math.exp(middle)
            touch, f_start, chord = _chord(row, table, start, bend, high)
            if log_slope(row, table, start)[0] > chord:
                left = middle
            else:
                right = middle
    hull[START], hull[TOUCH], hull[F_START], hull[CHORD] = start, touch, f_start, chord
    # At a true tangency the slopes agree; taking them equal keeps the demand free of a rounding step.
    hull[AT_TOUCH] = chord
    hull[AT_HIGH] = chord if touch >= high else min(hull[AT_HIGH], chord)


@njit(error_model="numpy")
def demand(row, table, left_end, right_end, at_left, at_right, log_price, guess):
    """Return the x on a concave part [left_end, right_end] where f'(x) = price, and dx / dlog(price).

    The log slopes at its ends are given. Closed forms where the base has one; otherwise Newton in log x within a
    bracket, from `guess`.
    """
    if at_left <= log_price:
        return left_end, 0.0
    if at_right >= log_price:
        return right_end, 0.0
    base, a, b, loc = int(row[BASE]), row[A], row[B], row[LOC]
    excess = row[LOG_WEIGHT] + row[NORM] + loc - log_price
    if row[CASCADE] == 0.0:
        closed, sensitivity = -1.0, 0.0
        if row[CAP] < np.inf:
            power = math.exp(loc) - 1.0
            scaled = (log_price - row[LOG_WEIGHT] - loc + math.log(row[CAP])) / power
            closed = -row[CAP] * math.expm1(scaled)
            sensitivity = -row[CAP] * math.exp(scaled) / power
        elif base == _GAMMA and a == 1.0 and b == 1.0:
            scale = math.exp(-loc)
            closed, sensitivity = excess * scale, -scale
        elif base == _BURR and b == 1.0:
            z = math.expm1(excess / (a + 1.0))
            scale = math.exp(-loc)
            closed, sensitivity = z * scale, -(1.0 + z) * scale / (a + 1.0)
        elif base == _NORMAL:
            root = math.sqrt(max(1.0 + 2.0 * b * b * excess, 0.0))
            closed = math.exp((root - 1.0) / (b * b) - loc)
            sensitivity = -closed / max(root, 1e-300)
        if closed >= 0.0:
            return min(max(closed, left_end), right_end), sensitivity
    left, right = math.log(max(left_end, 1e-300)), math.log(right_end)
    y = math.log(guess) if left_end < guess < right_end else 0.5 * (left + right)
    curve = -1.0
    for _ in range(100):
        slope, curve = log_slope(row, table, math.exp(y))
        excess = slope - log_price
        if excess > 0.0:
            left = y
        else:
            right = y
        following = y - excess / curve if curve < 0.0 else right + 1.0
        if not left <= following <= right:
            following = 0.5 * (left + right)
        moved = abs(following - y)
        y = following
        if moved <= 1e-9:  # the next step would move by about its square
            break
    x = min(max(math.exp(y), left_end), right_end)
    return x, (x / curve if curve < 0.0 else 0.0)
