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
# the chord, and of the hull at low, at touch and at high; f at the start of the chord, at low and at high.
LOW, HIGH, START, TOUCH, CHORD, AT_LOW, AT_TOUCH, AT_HIGH, F_START, F_LOW, F_HIGH = range(11)
COLUMNS = 11

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
    hull[F_LOW], hull[F_HIGH] = value(row, table, low), value(row, table, high)
    hull[F_START] = hull[F_LOW]
    if high <= low or row[WEIGHT] == 0.0 or hull[F_HIGH] <= hull[F_LOW]:
        hull[HIGH], hull[F_HIGH] = low, hull[F_LOW]
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
    # The chord starts at `low`; of a curve that is concave, convex, concave it touches on both sides, where f' falls to
    # its slope: by bisection.
    start, left, right = low, math.log(max(low, 1e-12 * high)), math.log(max(rise, 1e-300))
    for step in range(61):
        touch, f_start, chord = _chord(row, table, start, bend, high)
        if rise <= low or (step == 0 and hull[AT_LOW] <= chord):
            break
        if step > 0 and log_slope(row, table, start)[0] > chord:
            left = 0.5 * (left + right)
        elif step > 0:
            right = 0.5 * (left + right)
        start = math.exp(0.5 * (left + right))
    hull[START], hull[TOUCH], hull[F_START], hull[CHORD] = start, touch, f_start, chord
    # At a true tangency the slopes agree; taking them equal keeps the demand free of a rounding step.
    hull[AT_TOUCH] = chord
    hull[AT_HIGH] = chord if touch >= high else min(hull[AT_HIGH], chord)


@njit(error_model="numpy")
def unit_chord(row, table):
    """The tangent from the origin to the curve of this base at rate and weight 1: where it touches, and its log slope.

    Of a scale law it is the same for all arms but for their units; (0, infinity) if the curve is concave.
    """
    unit = row.copy()
    unit[LOC], unit[WEIGHT], unit[LOG_WEIGHT] = 0.0, 1.0, 0.0
    _, bend = convex_part(unit, table, 0.0, 1e300)
    if bend <= 0.0:
        return 0.0, np.inf
    high, touch, chord = 4.0 * bend, np.inf, 0.0
    while touch >= high / 16.0 and high < 1e290:
        touch, _, chord = _chord(unit, table, 0.0, bend, high)
        high *= 16.0
    return touch, chord


@njit(error_model="numpy")
def fill_scaled(hull, row, table, high, touch, chord):
    """Write the hull on [0, high] from the tangent at rate 1; return False if it would touch beyond `high`."""
    touch *= math.exp(-row[LOC])
    hull[F_LOW], hull[F_HIGH] = 0.0, value(row, table, high)
    if not touch < high or hull[F_HIGH] <= 0.0:
        return False
    hull[LOW], hull[HIGH], hull[START], hull[TOUCH], hull[F_START] = 0.0, high, 0.0, touch, 0.0
    slope = max(log_slope(row, table, high)[0], FLOOR)
    if chord == np.inf:
        hull[CHORD], hull[AT_LOW], hull[AT_HIGH] = np.inf, max(log_slope(row, table, 0.0)[0], FLOOR), slope
        hull[AT_TOUCH] = hull[AT_LOW]
    else:
        hull[CHORD] = chord + row[LOG_WEIGHT] + row[LOC]
        hull[AT_LOW], hull[AT_TOUCH], hull[AT_HIGH] = hull[CHORD], hull[CHORD], min(slope, hull[CHORD])
    return True


@njit(error_model="numpy")
def _gamma_root(c, excess):
    """Return z and log z with z - c log z = excess, the root right of c: where the density of a gamma base falls to it.

    For c > 0, y = z / c solves y - log y = 1 + t, t >= 0 (Lambert's W on its lower branch), which lies between
    1 + sqrt(2 t) + 2 t / 3 and 1 + sqrt(2 t) + t. For c < 0, p = log(z / |c|) solves exp(p) + p = r (Wright's omega).
    Halley's method from there triples the digits at every step.
    """
    if c == 0.0:
        return excess, (math.log(excess) if excess > 0.0 else -np.inf)
    log_c = math.log(abs(c))
    if c > 0.0:
        t = max(excess / c + log_c - 1.0, 0.0)
        if t < 1.0:
            s = math.sqrt(2.0 * t)
            y = 1.0 + s * (1.0 + s * (1.0 / 3.0 + s * (1.0 / 36.0 - s / 270.0)))
        else:
            y = 1.0 + t
            y += math.log(y) * (1.0 + 1.0 / y)
        log_y = 0.0
        for _ in range(6):
            log_y = math.log(y)
            gap, slope = y - log_y - 1.0 - t, 1.0 - 1.0 / y
            if slope <= 0.0:
                break
            step = gap / (slope - 0.5 * gap / (y * y * slope))
            share = step / y
            y = max(y - step, 1.0)
            if abs(share) <= 1e-5:
                log_y -= share * (1.0 + share * (0.5 + share / 3.0))  # log(1 - share)
                break
        return c * y, log_c + log_y
    r = -excess / c - log_c
    p = math.log(r - math.log(r)) if r > 1.5 else min(r, 0.0) - (0.56 if r > -0.5 else 0.0)
    for _ in range(12):
        grown = math.exp(p)
        gap = grown + p - r
        step = gap / (grown + 1.0 - 0.5 * gap * grown / (grown + 1.0))
        p -= step
        if abs(step) <= 1e-5:
            break
    return -c * math.exp(p), log_c + p


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
        elif base == _GAMMA:
            power = a - 1.0 / b
            z, log_z = _gamma_root(power, excess)
            closed = math.exp(log_z / b - loc)
            sensitivity = -closed / max(b * (z - power), 1e-300)
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
    curve, last = -1.0, np.inf
    for _ in range(200):
        slope, curve = log_slope(row, table, math.exp(y))
        excess = slope - log_price
        if excess > 0.0:
            left = y
        else:
            right = y
        following = y - excess / curve if curve < 0.0 else right + 1.0
        # Newton crawls where the log slope is as steep as an exponential: then halve the bracket.
        if not left <= following <= right or abs(excess) > 0.5 * last:
            following = 0.5 * (left + right)
            last = np.inf
        else:
            last = abs(excess)
        moved = abs(following - y)
        y = following
        if moved <= 1e-9 or right - left <= 1e-15 * abs(right):  # the next step would move by about its square
            break
    x = min(max(math.exp(y), left_end), right_end)
    return x, (x / curve if curve < 0.0 else 0.0)
