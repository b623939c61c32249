"""Adding the rows of a log to the evidence histograms, in place."""

from headgate.kernels.compiled import gufunc
from headgate.kernels.place import add_result


@gufunc(
    ["void(float64[:,:,:,:], float64[:], int64[:], float64[:], boolean[:], float64[:], int64[:])"],
    "(k,h,s,j),(j),(n),(n),(n),(n)->()",
    writable=("bins",),
)
def record_rows(bins, edges, arm, x, success, threshold, added):
    """Add each row of a log, whose arm is `arm[i]`; returns how many there are."""
    added[0] = x.size
    for i in range(x.size):
        if x[i] > 0.0:
            add_result(bins[arm[i]], edges, x[i], success[i], threshold[i])
