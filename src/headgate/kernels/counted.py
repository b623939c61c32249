"""The search by the number of arms that are on as a gufunc: for what branch and bound leaves open."""

from headgate.kernels.arguments import LAYOUT, SIGNATURE
from headgate.kernels.compiled import gufunc
from headgate.kernels.states import solve_states


@gufunc([SIGNATURE], LAYOUT)
def counted(
    base, a, b, shift, cap, table, weight, rate, lower, upper, budget, cascade, tol, max_nodes,
    x, value, bound, price, nodes,
):  # fmt: skip
    """Maximise sum f_i(x_i) over lower <= x <= upper, sum x <= budget; the bound is infinite if it cannot say one."""
    value[0], bound[0], price[0], nodes[0] = solve_states(
        base, a, b, shift, cap, table, weight, rate, lower, upper, budget, cascade, tol, max_nodes, x
    )
