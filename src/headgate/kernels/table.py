"""A law given by a table, as the kernels read it: cubic pieces between knots on the axis u = log(rate x).

`headgate.laws.tabulated` places the knots; beyond them the curve is a power of x, or the support has ended.
"""

import math

import numpy as np

from headgate.kernels.part import njit
from headgate.laws.standard import TABLE_KNOTS, TABLE_REACH

# Rows of a table: where its knots are, F0 there, the log density q of u, q', the log survival, and exp(u).
KNOT, REACHED, Q, BEND, MISSING, AMOUNT = range(6)

_NONE = -1e4  # a log density so low stands for none


@njit(error_model="numpy")
def table_cell(knots, u):
    """Return the piece of the table that holds u (the first or the last one if none does), and its width."""
    low, high = 0, TABLE_KNOTS - 1
    while high - low > 1:
        middle = (low + high) // 2
        if knots[middle] <= u:
            low = middle
        else:
            high = middle
    return low, knots[low + 1] - knots[low]


@njit(error_model="numpy")
def table_ends(table, a, loc):
    """The allocations at which the support of row `a` begins and ends: 0 and infinity if it has no ends."""
    knots = table[int(a), KNOT]
    first, last = knots[0], knots[TABLE_KNOTS - 1]
    return (
        math.exp(first - loc) if first > -TABLE_REACH else 0.0,
        math.exp(last - loc) if last < TABLE_REACH else np.inf,
    )


@njit(error_model="numpy")
def _hermite(left, right, left_slope, right_slope, t):
    """Value and derivative (by t) of the cubic on [0, 1] with these end values and slopes."""
    rise = right - left
    c2 = 3.0 * rise - 2.0 * left_slope - right_slope
    c3 = left_slope + right_slope - 2.0 * rise
    return left + t * (left_slope + t * (c2 + t * c3)), left_slope + t * (2.0 * c2 + 3.0 * t * c3)


@njit(error_model="numpy")
def _row_density(rows, u):
    """q(u) and q'(u) of one row of a table."""
    knots, last = rows[KNOT], TABLE_KNOTS - 1
    if u < knots[0] or u > knots[last]:
        end = 0 if u < knots[0] else last
        if abs(knots[end]) < TABLE_REACH:  # an end of the support, to the digits that an allocation there has
            return (_NONE if abs(u - knots[end]) > 1e-12 else rows[Q, end]), rows[BEND, end]
        return rows[Q, end] + (u - knots[end]) * rows[BEND, end], rows[BEND, end]  # a power of x
    cell, width = table_cell(knots, u)
    t = (u - knots[cell]) / width
    value, slope = _hermite(rows[Q, cell], rows[Q, cell + 1], width * rows[BEND, cell], width * rows[BEND, cell + 1], t)
    return value, slope / width


@njit(error_model="numpy")
def _row_cdf(rows, u):
    """F0(u) and 1 - F0(u) of one row of a table."""
    knots, last = rows[KNOT], TABLE_KNOTS - 1
    if u <= knots[0]:
        below = 0.0 if knots[0] > -TABLE_REACH else rows[REACHED, 0] * math.exp((u - knots[0]) * rows[BEND, 0])
        return below, 1.0 - below
    if u >= knots[last]:
        return rows[REACHED, last], math.exp(rows[MISSING, last])
    cell, width = table_cell(knots, u)
    t = (u - knots[cell]) / width
    left, right = width * math.exp(rows[Q, cell]), width * math.exp(rows[Q, cell + 1])
    reached, _ = _hermite(rows[REACHED, cell], rows[REACHED, cell + 1], left, right, t)
    first, second = rows[MISSING, cell], rows[MISSING, cell + 1]
    if reached < 1.0 - 1e-9 or second <= _NONE or first - second > 1.0:
        return reached, 1.0 - reached
    # The hazard is the slope of -log survival: its cubic keeps the digits that 1 - F0 loses.
    missing, _ = _hermite(first, second, -left * math.exp(-first), -right * math.exp(-second), t)
    return reached, math.exp(min(missing, 0.0))


@njit(error_model="numpy")
def table_density(table, a, u):
    """q(u) and q'(u) in row a of a table; for a fraction, of the mixture of the rows around it."""
    row = int(a)
    value, slope = _row_density(table[row], u)
    share = a - row
    if share <= 0.0 or row + 1 >= table.shape[0]:  # rounding may put the last row's place above it
        return value, slope
    other, other_slope = _row_density(table[row + 1], u)
    top = max(value, other)
    first, second = (1.0 - share) * math.exp(value - top), share * math.exp(other - top)
    return top + math.log(first + second), (first * slope + second * other_slope) / (first + second)


@njit(error_model="numpy")
def table_cdf(table, a, u):
    """F0(u) and 1 - F0(u) in row a of a table; for a fraction, of the mixture of the rows around it."""
    row = int(a)
    reached, missing = _row_cdf(table[row], u)
    if a > row and row + 1 < table.shape[0]:
        share, (other, left) = a - row, _row_cdf(table[row + 1], u)
        reached, missing = reached + share * (other - reached), missing + share * (left - missing)
    return reached, missing
