"""Posterior sampling where law and shape of every arm are known: draws from a line of knots each (`posterior`)."""

import numpy as np

from headgate.kernels.bins import BINS
from headgate.kernels.columns import DUE, LEVEL
from headgate.kernels.compiled import gufunc
from headgate.kernels.cure import POINTS, SUMS
from headgate.kernels.curves import COLUMNS
from headgate.kernels.line import MOST_KNOTS
from headgate.kernels.posterior import draw_line, plan_refresh, pool, refresh_line, stream


@gufunc(
    [
        "void(float64[:,:,:], float64[:,:,:], float64[:,:,:], float64[:,:,:,:], float64[:], float64[:,:], float64[:], "
        "float64, int64, boolean[:], uint64, float64[:,:], float64[:,:], float64[:], float64[:,:], float64[:,:], "
        "float64[:,:])"
    ],
    "(m,k,f),(q,c,n),(r,u,v),(k,h,s,j),(j),(t,d),(t),(),(),(k),(),(k,w),(t,d),(o)->(k,w),(t,d),(k,o)",
)
def sample_known(
    candidates, maps, table, bins, edges, hyperprior, pooling, calm, clock, idle, key, memory, prior, like, arms,
    pooled, draw,
):  # fmt: skip
    """Draw every arm's curve and activation from its posterior, then pool the prior for the next round."""
    count = candidates.shape[1]
    row, points, sums, missing = np.empty(COLUMNS), np.empty(POINTS), np.empty(SUMS), np.empty(BINS)
    room, moments, level = np.empty((4, MOST_KNOTS)), np.empty(4), np.empty(LEVEL)
    for i in range(count):
        first, arm, candidate = stream(clock, count, i), arms[i], candidates[0, i]
        for c in range(arm.size):
            arm[c] = memory[i, c]
        if clock >= arm[DUE]:
            refresh_line(
                candidate, maps, table, bins[i], edges, prior, points, sums, row, missing, room, moments, arm
            )  # fmt: skip
            plan_refresh(bins[i], clock, i, count, arm)
        draw_line(candidate, arm, calm, idle[i], key, first, level, draw[i])
    pool(arms, hyperprior, pooling, pooled)
