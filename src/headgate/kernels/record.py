"""Adding feedback to the evidence histograms, in place."""

import math

from headgate.kernels.bins import BINS, COUNT, FAILED, PER_OCTAVE, PLAYED, REACHED, SEEN, SUM, UNITS
from headgate.kernels.compiled import gufunc
from headgate.kernels.part import njit


@njit(error_model="numpy")
def bin_of(x, edges):
    """Return the bin that holds x: edges[j] <= x < edges[j + 1]; bin 0 takes all below edges[1]."""
    if x < edges[1]:
        return 0
    j = math.floor(PER_OCTAVE * math.log2(x / edges[1])) + 1
    j = min(max(j, 1), BINS - 1)
    while j > 1 and x < edges[j]:
        j -= 1
    while j < BINS - 1 and x >= edges[j + 1]:
        j += 1
    return j


@njit(error_model="numpy")
def _add_result(arm, edges, x, success, threshold):
    """Add one result of an arm that got x > 0; the threshold of a success may be NaN."""
    j = bin_of(x, edges)
    units = math.floor(x / edges[max(j, 1)] * UNITS + 0.5)
    arm[PLAYED, COUNT, j] += 1.0
    arm[PLAYED, SUM, j] += units
    kind = FAILED
    if success:
        kind = REACHED
        if not math.isnan(threshold):
            kind, j = SEEN, bin_of(threshold, edges)
            units = math.floor(threshold / edges[max(j, 1)] * UNITS + 0.5)
    arm[kind, COUNT, j] += 1.0
    arm[kind, SUM, j] += units


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
            _add_result(bins[i], edges, x[i], success[i], threshold[i])


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
            _add_result(bins[arm[i]], edges, x[i], success[i], threshold[i])
