"""Where a result belongs in the histograms of its arm."""

import math

from headgate.kernels.bins import BINS, COUNT, FAILED, PER_OCTAVE, PLAYED, REACHED, SEEN, SUM, UNITS
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
def add_result(arm, edges, x, success, threshold):
    """Add one result of an arm that got x > 0; the threshold of a success may be NaN.

    Returns where that was counted beside what was played: the bin of that, and histogram and bin.
    """
    j = played = bin_of(x, edges)
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
    return played, kind, j
