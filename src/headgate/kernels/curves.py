"""One arm's curve f(x) and its slope, for every base law and both rewards.

With reward "sum", f = w G(x); with "cascade", f = -log(1 - w G(x)), whose sum is maximal where the chance
of at least one success is. Either way f is convex up to an inflection point and concave beyond it, but for a
cascade of thresholds whose hazard falls and then rises (Nakagami below 1/2): that one may be concave at first. An
arm is a row of numbers, its columns named below; u = log(rate) + shift + log(phi(x)) as in `headgate.laws.standard`.
"""

import math

import numpy as np

from headgate.kernels.part import njit
from headgate.kernels.special import gammainc, gammaincc
from headgate.kernels.table import MISSING, REACHED, table_cdf, table_density, table_ends
from headgate.laws.standard import Base

# Columns of an arm's row.
BASE, A, B, LOC, CAP, NORM, WEIGHT, LOG_WEIGHT, CASCADE, LOG_POWER = range(10)
COLUMNS = 10

_GAMMA, _BURR, _NORMAL, _TABLE = int(Base.GAMMA), int(Base.BURR), int(Base.NORMAL), int(Base.TABLE)
_TINY = 1e-300
_FAINT = -40.0  # log z, so low that the incomplete gamma function is the first term of its series
_ROOT_HALF = math.sqrt(0.5)
_LOG_ROOT_TAU = 0.5 * math.log(2.0 * math.pi)


@njit(error_model="numpy")
def fill_row(row, base, a, b, loc, cap, weight, cascade):
    """Write an arm's row; NORM is the constant of the log density q(u)."""
    row[BASE], row[A], row[B], row[LOC], row[CAP] = base, a, b, loc, cap
    row[WEIGHT], row[CASCADE] = weight, cascade
    row[LOG_WEIGHT] = math.log(weight) if weight > 0.0 else -np.inf
    if base == _GAMMA:
        row[NORM] = math.log(b) - (math.lgamma(a) if a != 1.0 else 0.0)
    elif base == _BURR:
        row[NORM] = math.log(a * b)
    elif base == _NORMAL:
        row[NORM] = math.log(b) - _LOG_ROOT_TAU
    else:
        row[NORM] = 0.0


@njit(error_model="numpy")
def log_density(row, table, u):
    """q(u) and q'(u)."""
    base, a, b = int(row[BASE]), row[A], row[B]
    if base == _GAMMA:
        z = math.exp(b * u)
        return row[NORM] + a * b * u - z, a * b - b * z
    if base == _BURR:
        bu = b * u
        if bu > 0.0:
            small = math.exp(-bu)
            return row[NORM] + bu - (a + 1.0) * (bu + math.log1p(small)), b - (a + 1.0) * b / (1.0 + small)
        z = math.exp(bu)
        return row[NORM] + bu - (a + 1.0) * math.log1p(z), b - (a + 1.0) * b * z / (1.0 + z)
    if base == _NORMAL:
        return row[NORM] - 0.5 * (b * u) ** 2, -b * b * u
    return table_density(table, a, u)


@njit(error_model="numpy")
def cdf(row, table, u):
    """F0(u) and 1 - F0(u), each with its own digits."""
    base, a, b = int(row[BASE]), row[A], row[B]
    if base == _GAMMA:
        z = math.exp(b * u)
        if a == 1.0:
            return -math.expm1(-z), math.exp(-z)
        if b * u < _FAINT:  # z^a / Gamma(a + 1), also where z itself underflows
            reached = math.exp(a * b * u - math.lgamma(a + 1.0))
            return reached, 1.0 - reached
        return gammainc(a, z), gammaincc(a, z)
    if base == _BURR:
        log_sf = -a * (math.log1p(math.exp(b * u)) if b * u < 30.0 else b * u + math.exp(-b * u))
        return -math.expm1(log_sf), math.exp(log_sf)
    if base == _NORMAL:
        return 0.5 * math.erfc(-b * u * _ROOT_HALF), 0.5 * math.erfc(b * u * _ROOT_HALF)
    return table_cdf(table, a, u)


@njit(error_model="numpy")
def position(row, x):
    """u at allocation x."""
    if row[CAP] < np.inf:
        return row[LOC] + math.log(-math.log1p(-min(max(x, _TINY) / row[CAP], 1.0)))
    return row[LOC] + math.log(max(x, _TINY))


@njit(error_model="numpy")
def _least(row):
    """The least chance of failure that the base can tell from 0: a law of scipy's may have no digits below this."""
    return 1e-16 if row[BASE] == _TABLE else _TINY


@njit(error_model="numpy")
def worth_at(row, reached, missing):
    """f where G = reached and 1 - G = missing."""
    if row[CASCADE] == 0.0:
        return row[WEIGHT] * reached
    if row[WEIGHT] * reached < 0.5:
        return -math.log1p(-row[WEIGHT] * reached)
    return -math.log(max((1.0 - row[WEIGHT]) + row[WEIGHT] * missing, _least(row)))


@njit(error_model="numpy")
def value(row, table, x):
    """f(x)."""
    if x <= 0.0 or row[WEIGHT] == 0.0:
        return 0.0
    u = position(row, x)
    if row[CASCADE] == 0.0 and row[BASE] == _GAMMA and row[A] == 1.0:
        return -row[WEIGHT] * math.expm1(-math.exp(row[B] * u))
    reached, missing = cdf(row, table, u)
    return worth_at(row, reached, missing)


@njit(error_model="numpy")
def knot_value(row, table, k):
    """f at the k-th knot of a tabulated law."""
    rows = table[int(row[A])]
    return worth_at(row, rows[REACHED, k], math.exp(rows[MISSING, k]) if row[CASCADE] != 0.0 else 0.0)


@njit(error_model="numpy")
def log_slope(row, table, x):
    """log f'(x) and d log f'(x) / d log x."""
    x = max(x, _TINY)
    if row[CAP] < np.inf:  # the beta law: log f' = log(w rate / c) + (rate - 1) log(1 - x/c)
        rate, share = math.exp(row[LOC]), min(x / row[CAP], 1.0)
        if share >= 1.0:
            slope = -np.inf if rate > 1.0 else (np.inf if rate < 1.0 else 0.0)
            result = row[LOG_WEIGHT] + row[LOC] - math.log(row[CAP]) + slope, slope
        else:
            power = rate - 1.0
            result = (
                row[LOG_WEIGHT] + row[LOC] - math.log(row[CAP]) + power * math.log1p(-share),
                -power * share / (1.0 - share),
            )
    else:
        y = math.log(x)
        q, bend = log_density(row, table, row[LOC] + y)
        result = row[LOG_WEIGHT] + q - y, bend - 1.0
    if row[CASCADE] == 0.0:
        return result
    reached, missing = cdf(row, table, position(row, x))
    left = (1.0 - row[WEIGHT]) + row[WEIGHT] * missing if row[WEIGHT] * reached >= 0.5 else 1.0 - row[WEIGHT] * reached
    left = max(left, _least(row))
    log_hazard = result[0] - math.log(left)
    return log_hazard, result[1] + x * math.exp(log_hazard)


@njit(error_model="numpy")
def _bend(row, table, left, right):
    """Where d log f' / d log x changes sign between log x = left and right, by bisection; the end right of it."""
    rising = log_slope(row, table, math.exp(left))[1] > 0.0
    for _ in range(60):
        middle = 0.5 * (left + right)
        if (log_slope(row, table, math.exp(middle))[1] > 0.0) == rising:
            left = middle
        else:
            right = middle
    return math.exp(right)


@njit(error_model="numpy")
def _peak(row):
    """Where the density peaks."""
    base, a, b = int(row[BASE]), row[A], row[B]
    if row[CAP] < np.inf:
        return 0.0 if row[LOC] > 0.0 else row[CAP]  # convex for a rate below 1, a straight line at 1
    if base == _GAMMA:
        scaled = a - 1.0 / b  # exp(b u) at the peak
        return math.exp(math.log(scaled) / b - row[LOC]) if scaled > 0.0 else 0.0
    if base == _BURR:
        return math.exp(math.log((b - 1.0) / (a * b + 1.0)) / b - row[LOC]) if b > 1.0 else 0.0
    if base == _NORMAL:
        return math.exp(-1.0 / (b * b) - row[LOC])
    return math.exp(b - row[LOC])


@njit(error_model="numpy")
def inflection(row, table, low, high):
    """Where f turns concave for good within [low, high]: `low` if it is concave there, `high` if convex."""
    peak = min(max(_peak(row), low), high)
    if row[CASCADE] == 0.0 or peak >= high:
        return peak
    # -log(1 - w G) bends later than w G.
    if log_slope(row, table, high)[1] >= 0.0:
        return high
    left = math.log(max(peak, 1e-12 * high))
    if log_slope(row, table, math.exp(left))[1] <= 0.0:
        return peak
    return min(max(_bend(row, table, left, math.log(high)), low), high)


@njit(error_model="numpy")
def convex_part(row, table, low, high):
    """Return the ends of the stretch of [low, high] on which f is convex: both `low` if it is concave throughout.

    Only a cascade of thresholds whose hazard may fall first can be concave before it: there the largest
    d log f' / d log x is searched for, on a grid and then by golden section.
    """
    falls_first = row[BASE] == _TABLE or (row[BASE] == _GAMMA and row[A] * row[B] < 1.0 < row[B])
    if row[CASCADE] == 0.0 or not falls_first:
        return low, inflection(row, table, low, high)
    begin = table_ends(table, row[A], row[LOC])[0] if row[BASE] == _TABLE else 0.0
    if begin >= high:
        return low, high
    left, right = math.log(max(max(low, begin), 1e-12 * high)), math.log(high)
    # Before the support begins the curve is flat: a convex stretch, whatever it does at the beginning.
    if begin <= low and log_slope(row, table, math.exp(left))[1] >= 0.0:
        return low, inflection(row, table, low, high)
    step, top, most = (right - left) / 64.0, right, log_slope(row, table, high)[1]
    for k in range(1, 64):
        bend = log_slope(row, table, math.exp(left + k * step))[1]
        if bend > most:
            top, most = left + k * step, bend
    inner, outer = max(top - step, left), min(top + step, right)
    for _ in range(40):
        if most > 0.0:
            break
        first, second = inner + 0.382 * (outer - inner), inner + 0.618 * (outer - inner)
        if log_slope(row, table, math.exp(first))[1] > log_slope(row, table, math.exp(second))[1]:
            outer = second
        else:
            inner = first
        top = 0.5 * (inner + outer)
        most = log_slope(row, table, math.exp(top))[1]
    if most <= 0.0:
        return low, max(low, begin)
    rise = low if begin > low else min(max(_bend(row, table, left, top), low), high)
    if log_slope(row, table, high)[1] >= 0.0:
        return rise, high
    return rise, min(max(_bend(row, table, top, right), rise), high)
