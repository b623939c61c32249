"""The oracle for every law in standard form, as one gufunc that broadcasts over a batch of problems.

It solves the concave hulls: all there is to do for concave curves, and often for S-shaped ones. Where that leaves a
gap, `headgate.kernels.branch` goes on; it is compiled only then.
"""

import numpy as np

from headgate.kernels.arguments import LAYOUT, SIGNATURE
from headgate.kernels.compiled import gufunc
from headgate.kernels.digits import rounding, settled
from headgate.kernels.relax import prepare, price_at, relax


@gufunc([SIGNATURE], LAYOUT)
def allocate(
    base, a, b, shift, cap, table, weight, rate, lower, upper, budget, cascade, tol, max_nodes,
    x, value, bound, price, nodes,
):  # fmt: skip
    """Maximise the hulls of f_i(x_i) over lower <= x <= upper, sum x <= budget; see `headgate.oracle.solve`."""
    spare, at = budget, np.zeros(lower.size)
    for i in range(lower.size):
        spare -= lower[i]
    reach = spare if max_nodes > 0 else np.inf
    rows, hulls = prepare(base, a, b, shift, cap, table, weight, rate, lower, upper, reach, cascade)
    proved, worth, log_price, _ = relax(rows, table, hulls, budget, 0.0, at)
    value[0], bound[0] = settled(rows, table, rate, shift, at, worth, proved, rounding(rows, budget))
    price[0], nodes[0] = price_at(rows, table, lower, upper, spare, log_price, at), 1
    for i in range(lower.size):
        x[i] = at[i]
