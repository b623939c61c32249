"""Adding results of some arms to the evidence histograms, in place, and noting which cells that changed."""

import math

from headgate.kernels.bins import PLAYED
from headgate.kernels.compiled import gufunc
from headgate.kernels.place import add_result


@gufunc(
    ["void(float64[:,:,:,:], float64[:], float64, int64[:], float64[:], boolean[:], float64[:], int64[:], int64[:])"],
    "(k,h,s,j),(j),(),(n),(n),(n),(n),(m)->()",
    writable=("bins", "cells"),
)
def record_noted(bins, edges, most, arm, x, success, threshold, cells, noted):
    """Add a result of each arm in `arm`; one that got nothing tells nothing.

    `cells`, of twice as many as there are arms, begins with the cells that were changed: (arm * histograms + histogram)
    * bins + bin. Returned is how many they are; -1, and nothing added, if an amount is not within [0, most], below its
    arm's threshold, or 0 for a success.
    """
    for i in range(arm.size):
        possible = not success[i] or math.isnan(threshold[i]) or 0.0 <= threshold[i] <= x[i]
        if not (possible and 0.0 <= x[i] <= most and (x[i] > 0.0 or not success[i])):
            noted[0] = -1
            return
    n = 0
    for i in range(arm.size):
        if x[i] > 0.0:
            played, kind, j = add_result(bins[arm[i]], edges, x[i], success[i], threshold[i])
            first = arm[i] * bins.shape[1]
            cells[n] = (first + PLAYED) * bins.shape[3] + played
            cells[n + 1] = (first + kind) * bins.shape[3] + j
            n += 2
    noted[0] = n
