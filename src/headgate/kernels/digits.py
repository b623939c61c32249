"""What rounding may have cost: how much a bound is rounded up, and values to the last digits."""

import math

import numpy as np

from headgate.kernels.curves import BASE, CAP, LOC, WEIGHT, A, B, cdf, position, worth_at
from headgate.kernels.part import njit
from headgate.laws.standard import Base

_GAMMA, _NORMAL, _TABLE = int(Base.GAMMA), int(Base.NORMAL), int(Base.TABLE)


@njit(error_model="numpy")
def rounding(rows, budget):
    """How much a bound may be wrong by rounding, relative to it.

    Sums of K terms have errors up to K / 2 of the last digit. Allocations are read as logarithms, wrong by a last digit
    of log rate or log budget; and a curve is worth at most E times as much more, E its largest elasticity. The
    incomplete gamma function itself may be wrong by 5e-14.
    """
    reach, steep, library = 0.0, 1.0, 24.0
    share = math.log(budget / rows.shape[0]) if budget > 0.0 else 0.0
    for i in range(rows.shape[0]):
        base = rows[i, BASE]
        # The normal base is as steep as it is far from its middle: there, for an even share of the budget.
        far = max(8.0, 1.0 - rows[i, B] * (rows[i, LOC] + share)) if base == _NORMAL else 1.0
        elasticity = rows[i, B] * (rows[i, A] if base == _GAMMA else far)
        steep = max(steep, elasticity if base != _TABLE else 1.0)
        library = 200.0 if base == _GAMMA and rows[i, A] != 1.0 else library
        reach = max(reach, abs(rows[i, LOC]))
    if budget > 0.0:
        reach += abs(math.log(budget))
    return 2.3e-16 * (library + 0.5 * rows.shape[0] + 4.0 * steep * (1.0 + reach))


@njit(error_model="numpy")
def _total_value(rows, table, rate, shift, x):
    """The sum of f_i(x_i) to the last digits, where log(rate) and log(x) are so large that their sum has lost some.

    A law multiplies rate and x before it takes a logarithm, or none: where the curve is steep, that makes a difference.
    """
    total = 0.0
    for i in range(x.size):
        scaled = rate[i] * (-math.log1p(-min(x[i] / rows[i, CAP], 1.0)) if rows[i, CAP] < np.inf else x[i])
        if x[i] <= 0.0 or rows[i, WEIGHT] == 0.0:
            continue
        u = math.log(scaled) + shift[i] if 0.0 < scaled < np.inf else position(rows[i], x[i])
        if rows[i, BASE] == _GAMMA and rows[i, A] == 1.0 and shift[i] == 0.0:
            z = scaled ** rows[i, B]
            reached, missing = -math.expm1(-z), math.exp(-z)
        else:
            reached, missing = cdf(rows[i], table, u)
        total += worth_at(rows[i], reached, missing)
    return total


@njit(error_model="numpy")
def settled(rows, table, rate, shift, x, worth, bound, error):
    """Value and bound at x: the bound rounded up, the value taken again where rounding may have cost many digits."""
    if error > 4e-13 + 1.2e-16 * x.size:
        worth = _total_value(rows, table, rate, shift, x)
    return worth, max(bound, worth) * (1.0 + error)
