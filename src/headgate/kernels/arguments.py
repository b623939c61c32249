"""What the oracle kernels take and return, and the validation of one problem in one pass.

In: base, a, b, shift, cap, table (the law in standard form), weight, rate, lower, upper, budget,
cascade (0 or 1), tol, max_nodes (0: no branching, and the hulls reach up to `upper` whatever the budget).
Out: x, value, bound, price, nodes.
"""

import numpy as np

from headgate.kernels.compiled import gufunc

_ARMS = "float64[:], "
SIGNATURE = (
    f"void(int64[:], {4 * _ARMS}float64[:,:,:], {4 * _ARMS}float64, float64, float64, int64, "
    "float64[:], float64[:], float64[:], float64[:], int64[:])"
)
LAYOUT = "(k),(k),(k),(k),(k),(r,c,n),(k),(k),(k),(k),(),(),(),()->(k),(),(),(),()"


@gufunc(["void(float64[:], float64[:], float64, boolean[:])"], "(k),(k),()->()")
def sound(weight, rate, most, good):
    """Whether all weights are finite and within [0, most], and all rates finite and positive.

    What is wrong with a problem that is not sound, `headgate.checks` says.
    """
    good[0] = True
    for i in range(weight.size):
        good[0] &= 0.0 <= weight[i] <= most and weight[i] < np.inf and 0.0 < rate[i] < np.inf
