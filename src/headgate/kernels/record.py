"""Adding the feedback of a round to the evidence histograms, in place."""

import math

from headgate.kernels.compiled import gufunc
from headgate.kernels.place import add_result


@gufunc(
    [
        "void(float64[:,:,:,:], float64[:], float64, float64[:], boolean[:], float64[:], boolean[:], boolean[:])",
    ],
    "(k,h,s,j),(j),(),(k),(k),(k),(k)->()",
    writable=("bins",),
)
def record(bins, edges, most, x, success, threshold, counted, good):
    """Add one result to each arm, all rows of a batch in one line; an arm that got nothing tells nothing.

    False, and nothing added, if an allocation is not within [0, most], below its arm's threshold, or 0 for a success.
    """
    good[0] = True
    for i in range(x.size):
        possible = not success[i] or math.isnan(threshold[i]) or 0.0 <= threshold[i] <= x[i]
        if not (possible and 0.0 <= x[i] <= most and (x[i] > 0.0 or not success[i])):
            good[0] = False
            return
    for i in range(x.size):
        if counted[i] and x[i] > 0.0:
            add_result(bins[i], edges, x[i], success[i], threshold[i])
