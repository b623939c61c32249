"""The axes of an arm's evidence (kind, count or sum, bin) and its geometric bins; numbers alone, no compiled code."""

FAILED, PLAYED, SEEN, REACHED = range(4)
"""Allocations that failed, allocations played, thresholds seen, allocations of successes that did not tell theirs."""
COUNT, SUM = 0, 1
PER_OCTAVE = 8
OCTAVES = 16
BINS = PER_OCTAVE * OCTAVES + 1
REGION = 4
"""Bins of a region of amounts, half an octave; the first bin is a region of its own."""
UNITS = float(2**20)
"""A value is rounded to a multiple of its bin's lower edge / UNITS: sums are whole numbers, exact in any order."""
