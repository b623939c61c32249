"""Branch and bound as a gufunc."""

from headgate.kernels.arguments import LAYOUT, SIGNATURE
from headgate.kernels.compiled import gufunc
from headgate.kernels.tree import solve


@gufunc([SIGNATURE], LAYOUT)
def branch(
    base, a, b, shift, cap, table, weight, rate, lower, upper, budget, cascade, tol, max_nodes,
    x, value, bound, price, nodes,
):  # fmt: skip
    """Maximise sum f_i(x_i) over lower <= x <= upper, sum x <= budget; see `headgate.oracle.solve`."""
    value[0], bound[0], price[0], nodes[0] = solve(
        base, a, b, shift, cap, table, weight, rate, lower, upper, budget, cascade, tol, max_nodes, x
    )
