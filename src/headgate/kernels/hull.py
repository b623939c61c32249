"""The concave hull of one arm's curve on an interval.

On [low, high] the hull is the curve up to `start`, a chord from there to `touch`, then the curve again. Of a curve
that is convex and then concave, start = low; of a concave one, touch = low too; of a convex one, touch = high.
"""

import math

import numpy as np

from headgate.kernels.curves import (
    BASE,
    CAP,
    CASCADE,
    LOC,
    LOG_WEIGHT,
    WEIGHT,
    A,
    B,
    convex_part,
    log_slope,
    value,
)
from headgate.kernels.part import njit
from headgate.laws.standard import Base

# Columns of a hull: the interval; where its chord starts and where it touches the curve again; the log slopes of
# the chord, and of the hull at low, at touch and at high; f at the start of the chord, at low and at high.
LOW, HIGH, START, TOUCH, CHORD, AT_LOW, AT_TOUCH, AT_HIGH, F_START, F_LOW, F_HIGH = range(11)
COLUMNS = 11

FLOOR = -1000.0  # a log slope so low stands for none at all: its exponential is 0

_GAMMA = int(Base.GAMMA)


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
    return touch, f_start, (max(math.log(rise) - math.log(touch - start), FLOOR) if rise > 0.0 else FLOOR)


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
    if not touch < high:
        return False
    hull[F_LOW], hull[F_HIGH] = 0.0, 0.0  # f at the ends is looked at where there is a table
    hull[LOW], hull[HIGH], hull[START], hull[TOUCH], hull[F_START] = 0.0, high, 0.0, touch, 0.0
    slope = max(log_slope(row, table, high)[0], FLOOR)
    if chord == np.inf:
        hull[CHORD], hull[AT_LOW], hull[AT_HIGH] = np.inf, max(log_slope(row, table, 0.0)[0], FLOOR), slope
        hull[AT_TOUCH] = hull[AT_LOW]
    else:
        hull[CHORD] = chord + row[LOG_WEIGHT] + row[LOC]
        hull[AT_LOW], hull[AT_TOUCH], hull[AT_HIGH] = hull[CHORD], hull[CHORD], min(slope, hull[CHORD])
    return True
