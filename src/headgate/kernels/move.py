"""Moving what a part of the evidence has gathered to its total, in place."""

from headgate.kernels.bins import COUNT, SUM
from headgate.kernels.compiled import gufunc


@gufunc(
    ["void(float64[:,:,:,:], float64[:,:,:,:], int64[:], int64[:,:], int64[:])"],
    "(k,h,s,j),(k,h,s,j),(m),(c,w)->()",
    writable=("part", "total", "cells"),
)
def move(part, total, noted, cells, moved):
    """Add cells of a part to a total, and empty them.

    `noted` has them as `record_noted` does, some of them more than once; all others of the part are empty, and are not
    looked at. The first rows of `cells` become what was moved: row, histogram, bin, count, sum. Returned is how many
    they are.
    """
    n, histograms, bins = 0, part.shape[1], part.shape[3]
    for cell in noted:
        j = cell % bins
        h = cell // bins % histograms
        i = cell // bins // histograms
        count, units = part[i, h, COUNT, j], part[i, h, SUM, j]
        if count != 0.0 or units != 0.0:  # what was added and taken back may leave a sum alone
            cells[n, 0], cells[n, 1], cells[n, 2], cells[n, 3], cells[n, 4] = i, h, j, count, units
            total[i, h, COUNT, j] += count
            total[i, h, SUM, j] += units
            part[i, h, COUNT, j] = 0.0
            part[i, h, SUM, j] = 0.0
            n += 1
    moved[0] = n
