"""What follows from the confidence regions of all arms: when they are drawn again, and their upper envelopes."""

import math

import numpy as np

from headgate.kernels.bins import COUNT, PLAYED
from headgate.kernels.compiled import gufunc
from headgate.kernels.curves import CAP, COLUMNS, cdf, fill_row, log_density, position
from headgate.kernels.region import LEAST, LOG_RATE, MOST, SHAPE, region, reshape

_STALE = 0.01  # a region is drawn again when its evidence has grown by this share

_ARMS = "int64[:], float64[:], float64[:], float64[:], float64[:], float64[:,:,:], float64[:,:], "
_LAYOUT = "(k),(k),(k),(k),(k),(r,c,n),(k,w),"


@gufunc(
    [
        f"void({_ARMS}float64[:,:], boolean[:], float64[:,:,:,:], float64[:], float64[:,:], float64, float64[:], "
        "float64[:,:,:,:], float64[:,:,:,:], float64[:], float64[:])"
    ],
    _LAYOUT + "(k,t),(k),(k,h,s,j),(j),(k,q),(),(k),(k,g,e,v)->(k,g,e,v),(k),(k)",
)
def regions(
    base, a, b, shift, cap, table, powers, limits, integer, bins, edges, prior, level, due, before, places, after, floor
):
    """Draw the region of each arm whose evidence weighs at least `due`; the others keep the places they had.

    `after` is the weight at which an arm is due again, `floor` the log likelihood that is just in its region, NaN for
    an arm that was not drawn.
    """
    form = np.empty(COLUMNS)
    for i in range(base.size):
        weight = 0.0
        for j in range(edges.size):
            weight += bins[i, PLAYED, COUNT, j]
        after[i], floor[i] = due[i], np.nan
        if weight >= due[i]:
            fill_row(form, base[i], a[i], b[i], shift[i], cap[i], 1.0, 0.0)
            floor[i] = region(form, powers[i], limits[i], table, integer[i], bins[i], edges, prior[i], level, places[i])
            after[i] = max(weight + 1.0, (1.0 + _STALE) * weight)
            continue
        for g in range(before.shape[1]):
            for k in range(before.shape[2]):
                for c in range(before.shape[3]):
                    places[i, g, k, c] = before[i, g, k, c]


@gufunc(
    [f"void({_ARMS}float64[:,:,:,:], boolean[:], float64[:], float64[:,:,:], float64[:,:,:])"],
    _LAYOUT + "(k,g,e,v),(k),(m),(k,m,u)->(k,m,u)",
)
def envelopes(base, a, b, shift, cap, table, powers, places, drawn, log_x, before, curve):
    """The largest p G(x) over the regions of arms that were drawn, and its slope in log x; never above what it was.

    All regions hold at once, so the least of all envelopes holds too. Where a region lies wholly above an earlier
    envelope the two contradict each other: if the law is right that has at most the probability that regions miss, so
    it is taken as a sign that the law is not, and the new one counts alone.
    """
    form, row, least = np.empty(COLUMNS), np.empty(COLUMNS), np.empty(log_x.size)
    for i in range(base.size):
        for m in range(log_x.size):
            curve[i, m, 0], curve[i, m, 1], least[m] = before[i, m, 0], before[i, m, 1], 1.0
        if not drawn[i]:
            continue
        for m in range(log_x.size):
            curve[i, m, 0] = -1.0
        fill_row(form, base[i], a[i], b[i], shift[i], cap[i], 1.0, 0.0)
        for g in range(places.shape[1]):
            reshape(row, form, powers[i], places[i, g, 0, SHAPE])
            for m in range(log_x.size):
                at, stretch = position(row, math.exp(log_x[m])), 1.0
                if row[CAP] < np.inf:  # d log phi / d log x
                    share = min(math.exp(log_x[m]) / row[CAP], 1.0)
                    stretch = share / ((1.0 - share) * -math.log1p(-share)) if share < 1.0 else 0.0
                for k in range(places.shape[2]):
                    u = places[i, g, k, LOG_RATE] + at
                    reached = cdf(row, table, u)[0]
                    if places[i, g, k, MOST] * reached > curve[i, m, 0]:
                        curve[i, m, 0] = places[i, g, k, MOST] * reached
                        curve[i, m, 1] = places[i, g, k, MOST] * stretch
                        if stretch > 0.0:
                            curve[i, m, 1] *= math.exp(log_density(row, table, u)[0])
                    least[m] = min(least[m], places[i, g, k, LEAST] * reached)
        consistent = True
        for m in range(log_x.size):
            consistent &= least[m] <= before[i, m, 0]
        for m in range(log_x.size):
            if consistent and before[i, m, 0] < curve[i, m, 0]:
                curve[i, m, 0], curve[i, m, 1] = before[i, m, 0], before[i, m, 1]
