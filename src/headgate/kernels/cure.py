"""The mixture cure model: its likelihood for one arm from binned evidence, with gradient and Hessian.

theta = (log rate, logit activation). A failure at allocation x adds log(1 - p G(x)), a success with threshold X
adds log p + log g(X), g the density of log phi(X); one that does not tell its threshold adds log p + log G(x). A bin
stands for what fell into it through its mean. A normal prior with independent coordinates is added, so that the maximum
exists whatever the evidence.

An arm's evidence is gathered once per fit into the few numbers the likelihood needs. With u = log rate + REF + s,
the non-empty bins are listed as their count, s and w = exp(b s): for the gamma bases exp(b u) is then one product a
bin, and the successes of the closed bases enter through three sums alone.
"""

import math

import numpy as np

from headgate.kernels.bins import BINS, COUNT, FAILED, PER_OCTAVE, REACHED, SEEN, SUM, UNITS
from headgate.kernels.curves import BASE, CAP, LOC, NORM, A, B, cdf, log_density
from headgate.kernels.part import njit
from headgate.kernels.special import gammainc, gammaincc
from headgate.kernels.table import BEND, KNOT, table_cell
from headgate.laws.standard import TABLE_KNOTS, Base

_GAMMA, _BURR, _NORMAL = int(Base.GAMMA), int(Base.BURR), int(Base.NORMAL)
_TINY = 1e-300
_LARGE = 650.0  # log z beyond which only its being large matters; sums of z, times b^2, are still finite
_STEP = 2.0 ** (1 / PER_OCTAVE)
_LOG_STEP = math.log(2.0) / PER_OCTAVE

POINTS = (3, 3, BINS)
"""Failed, seen and reached; count, s and w; one column per non-empty bin."""
SUMS = 8
N_FAILED, N_SEEN, REF, TOTAL, TOTAL_S, TOTAL_W, N_REACHED, WON = range(SUMS)
"""An arm's sums: non-empty bins failed and seen; what s is measured from; thresholds seen, and their sums of s and w;
non-empty bins reached; all successes."""


_ARMS = "float64[:], "
ARMS = f"int64[:], {4 * _ARMS}float64[:,:,:], boolean[:], float64[:,:,:,:], float64[:], float64[:,:], float64[:,:], "
"""What the kernels on a law and its evidence begin with: standard form, integer, bins, edges, prior and theta."""


@njit(error_model="numpy")
def _log_near_1(m):
    """Log m for 1 <= m < 1.1: 2 atanh((m - 1) / (m + 1))."""
    t = (m - 1.0) / (m + 1.0)
    t2 = t * t
    return 2.0 * t * (1.0 + t2 * (1 / 3 + t2 * (1 / 5 + t2 * (1 / 7 + t2 * (1 / 9 + t2 / 11)))))


@njit(error_model="numpy")
def _gather_kind(row, histogram, edges, ref, points):
    """List the non-empty bins of one histogram; returns how many there are."""
    counts, sums = histogram[COUNT], histogram[SUM]
    found = 0
    for j in range(BINS):  # without a branch, which could not be predicted
        points[0, found], points[1, found] = counts[j], j
        found += counts[j] > 0.0
    b, cap, gamma = row[B], row[CAP], int(row[BASE]) == _GAMMA
    first, top = math.log(edges[1]) - ref, 1.0 / (edges[-1] * _STEP)
    for k in range(found):
        j = int(points[1, k])
        m = max(sums[j] / points[0, k], 0.5) / UNITS  # the mean in units of the bin's edge
        if j == 0:
            points[1, k] = first + math.log(m)
        else:
            points[1, k] = first + _LOG_STEP * (j - 1) + _log_near_1(m)
        points[2, k] = m * edges[max(j, 1)] * top
    if cap < np.inf:
        for k in range(found):
            share = points[2, k] / (top * cap)
            points[1, k] = math.log(-math.log1p(-min(share, 1.0 - 1e-16))) - ref
    if gamma and (b != 1.0 or cap < np.inf):
        for k in range(found):
            points[2, k] = math.exp(b * points[1, k])
    return found


@njit(error_model="numpy")
def gather(row, bins, edges, points, sums):
    """Write an arm's non-empty bins to `points` and their sums to `sums`, arrays of sizes POINTS and SUMS."""
    gamma = int(row[BASE]) == _GAMMA
    ref = 0.0 if row[CAP] < np.inf else math.log(edges[-1]) + _LOG_STEP  # so w <= 1, whatever the units and b
    failed = _gather_kind(row, bins[FAILED], edges, ref, points[0])
    seen = _gather_kind(row, bins[SEEN], edges, ref, points[1])
    reached = _gather_kind(row, bins[REACHED], edges, ref, points[2])
    total, first, second = 0.0, 0.0, 0.0
    for k in range(seen):
        n, s = points[1, 0, k], points[1, 1, k]
        total += n
        first += n * s
        second += n * (points[1, 2, k] if gamma else s * s)
    sums[N_FAILED], sums[N_SEEN], sums[REF], sums[N_REACHED] = failed, seen, ref + row[LOC], reached
    sums[TOTAL], sums[TOTAL_S], sums[TOTAL_W], sums[WON] = total, first, second, total
    for k in range(reached):
        sums[WON] += points[2, 0, k]


@njit(error_model="numpy")
def _density_bend(row, table, u):
    """q''(u) of the bases without a closed sum."""
    base, b = int(row[BASE]), row[B]
    if base == _BURR:
        small = math.exp(-abs(b * u))
        return -(row[A] + 1.0) * b * b * small / (1.0 + small) ** 2
    knots, slopes = table[int(row[A]), KNOT], table[int(row[A]), BEND]
    if u < knots[0] or u > knots[TABLE_KNOTS - 1]:
        return 0.0
    cell, width = table_cell(knots, u)
    return (slopes[cell + 1] - slopes[cell]) / width


@njit(error_model="numpy")
def _step_probability(b, z2, x):
    """log P(X = x), and its derivatives in log rate, for a law of whole numbers (a Weibull rounded up).

    With z = (rate x)^b: log(exp(-z1) - exp(-z2)), z1 at x - 1 and z2 at x.
    """
    z2 = min(z2, 1e100)  # its square is needed
    z1 = z2 * max(1.0 - 1.0 / max(x, 1.0), 0.0) ** b
    gap = max(z2 - z1, _TINY)
    lost = math.exp(-gap)
    kept = -math.expm1(-gap)
    first = b * (z2 * lost - z1) / kept
    second = b * b * (z2 * (1.0 - z2) * lost - z1 * (1.0 - z1)) / kept - first * first
    return -z1 + math.log(kept), first, second


@njit(error_model="numpy")
def add_seen(row, table, integer, points, sums, theta, out):
    """Log density of the thresholds seen; its first two derivatives in log rate are added to `out`."""
    base, a, b, norm = int(row[BASE]), row[A], row[B], row[NORM]
    shift = theta[0] + sums[REF]
    seen, s, w = sums[TOTAL], sums[TOTAL_S], sums[TOTAL_W]
    if base == _GAMMA and not integer:
        z = math.exp(min(b * shift, _LARGE)) * w
        out[0] += b * (a * seen - z)
        out[2] -= b * b * z
        return seen * (norm + a * b * shift) + a * b * s - z
    if base == _NORMAL:
        out[0] -= b * b * (s + seen * shift)
        out[2] -= b * b * seen
        return seen * norm - 0.5 * b * b * (w + shift * (2.0 * s + seen * shift))
    total = 0.0
    scale = math.exp(min(b * shift, _LARGE))
    for j in range(int(sums[N_SEEN])):
        n, u = points[1, 0, j], shift + points[1, 1, j]
        if integer:
            log_d, slope, bend = _step_probability(b, scale * points[1, 2, j], math.exp(u - theta[0] - row[LOC]))
        else:
            log_d, slope = log_density(row, table, u)
            bend = _density_bend(row, table, u)
        total += n * log_d
        out[0] += n * slope
        out[2] += n * bend
    return total


@njit(error_model="numpy")
def add_reached(row, table, points, sums, theta, out):
    """Sum of log G(x) over successes that did not tell their threshold; its derivatives in log rate go to `out`."""
    total = 0.0
    for j in range(int(sums[N_REACHED])):
        n, u = points[2, 0, j], theta[0] + sums[REF] + points[2, 1, j]
        log_d, slope = log_density(row, table, u)
        reached = max(cdf(row, table, u)[0], _TINY)
        ratio = math.exp(log_d - math.log(reached))
        total += n * math.log(reached)
        out[0] += n * ratio
        out[2] += n * ratio * (slope - ratio)
    return total


@njit(error_model="numpy")
def _add_failed(row, table, points, sums, theta, p, q, out):
    """Sum of log(1 - p G) over the failures; its derivatives are added to `out`."""
    base, a, b = int(row[BASE]), row[A], row[B]
    shift, failed = theta[0] + sums[REF], int(sums[N_FAILED])
    scale = math.exp(min(b * shift, _LARGE)) if base == _GAMMA else 0.0
    total, g1, g2, h11, h12, h22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(failed):
        n = points[0, 0, j]
        if base == _GAMMA:
            z = scale * points[0, 2, j]
            slope = b * (a - z)
            if a != 1.0:
                if z > a:
                    missing = gammaincc(a, z)
                    reached = 1.0 - missing
                else:
                    reached = gammainc(a, z)
                    missing = 1.0 - reached
                density = math.exp(row[NORM] + a * b * (shift + points[0, 1, j]) - z)
            else:
                if z < 0.01:  # 1 - exp(-z) by its series
                    reached = z * (1.0 - z / 2 * (1.0 - z / 3 * (1.0 - z / 4 * (1.0 - z / 5 * (1.0 - z / 6)))))
                    missing = 1.0 - reached
                else:
                    missing = math.exp(-z)
                    reached = 1.0 - missing
                density = b * z * missing
        else:
            u = shift + points[0, 1, j]
            reached, missing = cdf(row, table, u)
            log_d, slope = log_density(row, table, u)
            density = math.exp(log_d)
        left = max(q + p * missing, _TINY)  # 1 - p G
        share = p / left
        d1, d2 = -share * density, -share * q * reached
        total += n * math.log(left)
        g1 += n * d1
        g2 += n * d2
        h11 += n * d1 * (slope - d1)
        h12 += n * d1 * (q - d2)
        h22 += n * d2 * (q - p - d2)
    out[0] += g1
    out[1] += g2
    out[2] += h11
    out[3] += h12
    out[4] += h22
    return total


@njit(error_model="numpy")
def gathered_likelihood(row, table, integer, points, sums, prior, theta, out):
    """Return the penalised log likelihood at theta; gradient (2) and Hessian (3: 11, 12, 22) go to `out`."""
    small = math.exp(-abs(theta[1]))
    p, q = 1.0 / (1.0 + small), small / (1.0 + small)
    log_p = -math.log1p(small)
    if theta[1] < 0.0:
        p, q, log_p = q, p, log_p + theta[1]
    off1, off2, won = theta[0] - prior[0], theta[1] - prior[1], sums[WON]
    out[0] = -prior[2] * off1
    out[1] = won * q - prior[3] * off2
    out[2], out[3], out[4] = -prior[2], 0.0, -won * p * q - prior[3]
    total = won * log_p - 0.5 * (prior[2] * off1 * off1 + prior[3] * off2 * off2)
    total += add_seen(row, table, integer, points, sums, theta, out)
    total += add_reached(row, table, points, sums, theta, out)
    return total + _add_failed(row, table, points, sums, theta, p, q, out)


@njit(error_model="numpy")
def log_likelihood(row, table, integer, bins, edges, prior, theta, out):
    """`gathered_likelihood` from an arm's histograms."""
    points, sums = np.empty(POINTS), np.empty(SUMS)
    gather(row, bins, edges, points, sums)
    return gathered_likelihood(row, table, integer, points, sums, prior, theta, out)
