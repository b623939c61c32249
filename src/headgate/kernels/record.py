"""Adding feedback to the evidence histograms, in place."""

import math

from numba import njit

# The axes of an arm's evidence: kind, then count or sum, then bin.
FAILED, PLAYED, SEEN = 0, 1, 2
COUNT, SUM = 0, 1
PER_OCTAVE = 8
OCTAVES = 16
BINS = PER_OCTAVE * OCTAVES + 1
UNITS = float(2**20)
"""A value is rounded to a multiple of its bin's lower edge / UNITS: sums are whole numbers, exact in any order."""


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
def _add(histogram, edges, x):
    j = bin_of(x, edges)
    histogram[COUNT, j] += 1.0
    histogram[SUM, j] += math.floor(x / edges[max(j, 1)] * UNITS + 0.5)


@njit(error_model="numpy")
def _add_result(arm, edges, x, success, threshold):
    """Add one result of an arm that got x > 0."""
    _add(arm[PLAYED], edges, x)
    if success:
        _add(arm[SEEN], edges, threshold)
    else:
        _add(arm[FAILED], edges, x)


@njit(cache=True, error_model="numpy")
def record(bins, edges, most, x, success, threshold, counted):
    """Add one result to each arm, all rows of a batch in one line; an arm that got nothing tells nothing.

    False, and nothing added, if an allocation is not within [0, most] or below its arm's threshold.
    """
    for i in range(x.size):
        if not 0.0 <= x[i] <= most or (success[i] and not 0.0 <= threshold[i] <= x[i]):
            return False
    for i in range(x.size):
        if counted[i] and x[i] > 0.0:
            _add_result(bins[i], edges, x[i], success[i], threshold[i])
    return True


@njit(cache=True, error_model="numpy")
def record_rows(bins, edges, arm, x, success, threshold):
    """Add each row of a log, whose arm is `arm[i]`."""
    for i in range(x.size):
        if x[i] > 0.0:
            _add_result(bins[arm[i]], edges, x[i], success[i], threshold[i])
