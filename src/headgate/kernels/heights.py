"""The curves w G(x, rate) of a standard form by value: what `law.cdf` is, for shapes that are believed in."""

import math

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.curves import COLUMNS, fill_row, inflection, value


@gufunc(
    [
        "void(int64[:], float64[:], float64[:], float64[:], float64[:], float64[:,:,:], float64[:], float64[:], "
        "bool_[:], float64[:,:], float64[:,:], float64[:])"
    ],
    "(k),(k),(k),(k),(k),(r,c,g),(k),(k),(k),(k,n)->(k,n),(k)",
)
def heights(base, a, b, shift, cap, table, weight, rate, whole, x, height, bend):
    """The curve of each arm at each of its points, and where it turns from convex to concave."""
    row = np.empty(COLUMNS)
    for i in range(weight.size):
        fill_row(row, base[i], a[i], b[i], math.log(rate[i]) + shift[i], cap[i], weight[i], 0.0)
        for j in range(x.shape[1]):
            height[i, j] = value(row, table, math.floor(x[i, j]) if whole[i] else x[i, j])
        bend[i] = inflection(row, table, 0.0, np.inf)
