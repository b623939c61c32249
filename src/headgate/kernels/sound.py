"""Validation of one problem in one pass; what is wrong with it, `headgate.checks` says."""

import numpy as np

from headgate.kernels.compiled import gufunc


@gufunc(["void(float64[:], float64[:], float64, boolean[:])"], "(k),(k),()->()")
def sound(weight, rate, most, good):
    """Whether all weights are finite and within [0, most], and all rates finite and positive."""
    good[0] = True
    for i in range(weight.size):
        good[0] &= 0.0 <= weight[i] <= most and weight[i] < np.inf and 0.0 < rate[i] < np.inf
