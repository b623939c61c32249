"""What the oracle kernels take and return, in this order.

In: base, a, b, shift, cap, table (the law in standard form), weight, rate, lower, upper, budget,
cascade (0 or 1), tol, max_nodes (0: no branching, and the hulls reach up to `upper` whatever the budget).
Out: x, value, bound, price, nodes.
"""

_ARMS = "float64[:], "
SIGNATURE = (
    f"void(int64[:], {4 * _ARMS}float64[:,:,:], {4 * _ARMS}float64, float64, float64, int64, "
    "float64[:], float64[:], float64[:], float64[:], int64[:])"
)
LAYOUT = "(k),(k),(k),(k),(k),(r,c,n),(k),(k),(k),(k),(),(),(),()->(k),(),(),(),()"
