"""Moving what a part of the evidence has gathered to its total, in place."""

from headgate.kernels.bins import COUNT, SUM
from headgate.kernels.compiled import gufunc


@gufunc(
    ["void(float64[:,:,:,:], float64[:,:,:,:], int64[:], int64[:,:], int64[:])"],
    "(k,h,s,j),(k,h,s,j),(m),(c,w)->()",
    writable=("part", "total", "cells"),
)
def move(part, total, rows, cells, moved):
    """Add some rows of a part to a total, and empty them.

    The first rows of `cells` become what was moved: row, histogram, bin, count, sum.
    Returned is how many they are.
    """
    n = 0
    for i in rows:
        for h in range(part.shape[1]):
            for j in range(part.shape[3]):
                count, units = part[i, h, COUNT, j], part[i, h, SUM, j]
                if count != 0.0 or units != 0.0:  # what was added and taken back may leave a sum alone
                    cells[n, 0], cells[n, 1], cells[n, 2], cells[n, 3], cells[n, 4] = i, h, j, count, units
                    total[i, h, COUNT, j] += count
                    total[i, h, SUM, j] += units
                    part[i, h, COUNT, j] = 0.0
                    part[i, h, SUM, j] = 0.0
                    n += 1
    moved[0] = n
