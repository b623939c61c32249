"""The oracle for every law in standard form, as one gufunc that broadcasts over a batch of problems."""

import math

import numpy as np

from headgate.kernels import hull as h
from headgate.kernels.branch import branch_and_bound
from headgate.kernels.compiled import gufunc
from headgate.kernels.curves import CAP, COLUMNS, fill_row, log_slope
from headgate.kernels.hull import fill_hull
from headgate.kernels.signature import LAYOUT, SIGNATURE


@gufunc([SIGNATURE], LAYOUT)
def allocate(
    base, a, b, shift, cap, table, weight, rate, lower, upper, budget, cascade, tol, max_nodes,
    x, value, bound, price, nodes,
):  # fmt: skip
    """Maximise sum f_i(x_i) over lower <= x <= upper, sum x <= budget; see `headgate.oracle.solve`."""
    arms = weight.size
    spare = budget - np.sum(lower)
    rows = np.empty((arms, COLUMNS))
    hulls = np.empty((arms, h.COLUMNS))
    for i in range(arms):
        fill_row(rows[i], base[i], a[i], b[i], math.log(rate[i]) + shift[i], cap[i], weight[i], cascade)
        high = min(upper[i], rows[i, CAP])
        if max_nodes > 0:
            high = min(high, lower[i] + spare)
        fill_hull(hulls[i], rows[i], table, lower[i], max(high, lower[i]))
        x[i] = 0.0
    worth, limit, log_price, count = branch_and_bound(rows, table, hulls, budget, tol, max_nodes, x)
    for i in range(arms):  # where the budget alone is an arm's limit, more would go on with its slope
        if x[i] < min(upper[i], cap[i]) and (log_price == -np.inf or x[i] >= lower[i] + spare):
            log_price = max(log_price, log_slope(rows[i], table, x[i])[0])
    value[0], bound[0], price[0], nodes[0] = worth, limit, math.exp(log_price), count
