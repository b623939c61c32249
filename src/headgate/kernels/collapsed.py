"""One arm's posterior with the activation integrated out, at a point of the coordinates that all laws share.

A curve is (law, l, s): l = log median and s = log log(q75 / q25) of the thresholds. Given the curve, the evidence
speaks of t = logit p alone:

    f(t) = n log p + sum_j m_j log(1 - p G(x_j)) - (t - mu)^2 / (2 v),        p = 1 / (1 + exp(-t)),

n successes, m_j failures at x_j. Its maximum t* is found by Newton's method, and Laplace's integral over t gives

    log L(l, s) = sum over successes of log g(X) + f(t*) + log(sigma / sqrt(v)),       sigma^-2 = -f''(t*),

(log G(x) in place of log g(X) for a success at x that does not tell its threshold),

with the skewness f'''(t*) sigma^3 for the draw of t. A draw of the curve followed by a draw of t given the curve cannot
leave the ridge on which p and the rate trade.
"""

import math

import numpy as np

from headgate.kernels.columns import (
    BASE,
    CAP,
    COORDINATE,
    LOG_MEDIAN,
    MAP,
    MEDIAN,
    POWER_A,
    POWER_B,
    POWER_ROW,
    POWER_SHIFT,
    SHIFT,
    SPAN,
    WHOLE,
    A,
    B,
)  # fmt: skip
from headgate.kernels.cure import N_FAILED, N_REACHED, N_SEEN, REF, TOTAL, TOTAL_S, TOTAL_W, WON, gather
from headgate.kernels.cure import _step_probability as step_probability
from headgate.kernels.curves import LOC, NORM, cdf, fill_row, log_density
from headgate.kernels.part import njit
from headgate.kernels.special import gammaincc
from headgate.laws.standard import Base

_GAMMA, _NORMAL = int(Base.GAMMA), int(Base.NORMAL)
_LARGE = 650.0  # log z beyond which only its being large matters
_TINY = 1e-300
_CLIP = 30.0  # |logit p| beyond which p is 0 or 1 for any purpose
_CLOSE = 0.05  # a Newton step of so many standard deviations ends the search: the next would be its square
_STEPS = 12
_SKEWED = 1.0  # the largest skewness that is followed


@njit(error_model="numpy")
def skewed(t, sigma, skew, z, calm):
    """Turn normal noise z, times `calm`, into logit p: Cornish and Fisher's quantile, whose mode is t."""
    z *= calm
    return t + sigma * (z + skew * (z * z / 6.0 + calm * calm / 3.0))


@njit(error_model="numpy")
def place(candidate, maps, l, s, row):
    """Write the curve (l, s) of a candidate to `row`; returns its log rate, NaN if the law has no such s."""
    a, b, shift, median = candidate[A], candidate[B], candidate[SHIFT], candidate[MEDIAN]
    if candidate[MAP] >= 0.0:
        table = maps[int(candidate[MAP])]
        position = (s - table[SPAN, 0]) / table[SPAN, 1]
        last = table.shape[1] - 1
        if not 0.0 <= position <= last:
            return np.nan
        cell = min(int(position), last - 1)
        share = position - cell
        at = (1.0 - share) * table[COORDINATE, cell] + share * table[COORDINATE, cell + 1]
        median = (1.0 - share) * table[LOG_MEDIAN, cell] + share * table[LOG_MEDIAN, cell + 1]
        a = a * math.exp(candidate[POWER_A] * at) + candidate[POWER_ROW] * at
        b = b * math.exp(candidate[POWER_B] * at)
        shift += candidate[POWER_SHIFT] * at
    fill_row(row, candidate[BASE], a, b, shift, candidate[CAP], 1.0, 0.0)
    return median - l


@njit(error_model="numpy")
def gather_arm(candidate, bins, edges, row, points, sums):
    """Gather an arm's evidence, without the law's shift."""
    fill_row(row, candidate[BASE], candidate[A], candidate[B], 0.0, candidate[CAP], 1.0, 0.0)
    gather(row, bins, edges, points, sums)


@njit(error_model="numpy")
def _log_seen(row, table, known, whole, points, sums, log_rate):
    """Sum of log g over the thresholds seen; `known` says that the w of `points` belong to this row's b."""
    base, b, shift = int(row[BASE]), row[B], log_rate + row[LOC] + sums[REF]
    seen, s, w = sums[TOTAL], sums[TOTAL_S], sums[TOTAL_W]
    if base == _NORMAL:
        return seen * row[NORM] - 0.5 * b * b * (w + shift * (2.0 * s + seen * shift))
    total = 0.0
    if base == _GAMMA and not whole:
        if known:
            total = math.exp(min(b * shift, _LARGE)) * w
        else:
            for j in range(int(sums[N_SEEN])):
                total += points[1, 0, j] * math.exp(min(b * (shift + points[1, 1, j]), _LARGE))
        return seen * (row[NORM] + row[A] * b * shift) + row[A] * b * s - total
    for j in range(int(sums[N_SEEN])):
        u = shift + points[1, 1, j]
        if whole:
            z = math.exp(min(b * u, _LARGE))
            total += points[1, 0, j] * step_probability(b, z, math.exp(u - log_rate - row[LOC]))[0]
        else:
            total += points[1, 0, j] * log_density(row, table, u)[0]
    return total


@njit(error_model="numpy")
def _log_reached(row, table, points, sums, log_rate):
    """Sum of log G over the successes whose threshold is not known."""
    total = 0.0
    for j in range(int(sums[N_REACHED])):
        u = log_rate + row[LOC] + sums[REF] + points[2, 1, j]
        total += points[2, 0, j] * math.log(max(cdf(row, table, u)[0], _TINY))
    return total


@njit(error_model="numpy")
def _find_missing(row, table, known, points, sums, log_rate, missing):
    """Write 1 - G at the failures to `missing`."""
    base, b, shift = int(row[BASE]), row[B], log_rate + row[LOC] + sums[REF]
    if base == _GAMMA:
        scale = math.exp(min(b * shift, _LARGE))
        for j in range(int(sums[N_FAILED])):
            z = scale * points[0, 2, j] if known else math.exp(min(b * (shift + points[0, 1, j]), _LARGE))
            missing[j] = math.exp(-z) if row[A] == 1.0 else gammaincc(row[A], z)
    else:
        for j in range(int(sums[N_FAILED])):
            missing[j] = cdf(row, table, shift + points[0, 1, j])[1]


@njit(error_model="numpy")
def activation(row, table, known, points, sums, log_rate, mean, variance, t, missing):
    """Return f(t*), t*, sigma and skewness for the curve in `row` at `log_rate`.

    The search begins at t, or where it sees fit if that is NaN; `missing` is room for one number a bin.
    """
    failed, won = int(sums[N_FAILED]), sums[WON]
    _find_missing(row, table, known, points, sums, log_rate, missing)
    if not math.isfinite(t):  # n successes among the n + sum m_j G_j tries that could have been
        reached = 0.0
        for j in range(failed):
            reached += points[0, 0, j] * (1.0 - missing[j])
        t = math.log((won + 0.5) / (reached + 0.5))
    p, q, sigma, third, value = 0.5, 0.5, 1.0, 0.0, 0.0
    for _ in range(_STEPS):
        t = min(max(t, -_CLIP), _CLIP)
        small = math.exp(-t)
        p, q = 1.0 / (1.0 + small), small / (1.0 + small)
        slope, bend = won * q - (t - mean) / variance, -won * p * q - 1.0 / variance
        third = -won * p * q * (q - p)
        for j in range(failed):
            n = points[0, 0, j]
            d = p * q * (1.0 - missing[j]) / (q + p * missing[j])  # -d/dt log(1 - p G), and its derivatives
            d2 = d * (q - p + d)
            slope -= n * d
            bend -= n * d2
            third -= n * (d2 * (q - p + d) + d * (d2 - 2.0 * p * q))
        sigma = 1.0 / math.sqrt(max(-bend, 0.3 / variance))
        step = min(max(slope * sigma * sigma, -2.0), 2.0)
        if abs(step) < _CLOSE * sigma:
            value = 0.5 * slope * step  # what the last step would still gain
            break
        t += step
    value += -won * math.log1p(math.exp(-t)) - 0.5 * (t - mean) ** 2 / variance
    for j in range(failed):
        value += points[0, 0, j] * math.log(max(q + p * missing[j], _TINY))
    return value, t, sigma, min(max(third * sigma**3, -_SKEWED), _SKEWED)


@njit(error_model="numpy")
def marginal(candidate, maps, table, points, sums, l, s, mean, variance, t, row, missing):
    """Return log L(l, s), t*, sigma and skewness; -infinity where the law has no such curve."""
    log_rate = place(candidate, maps, l, s, row)
    if not math.isfinite(log_rate):
        return -np.inf, mean, 1.0, 0.0
    known = candidate[MAP] < 0.0
    value, t, sigma, skew = activation(row, table, known, points, sums, log_rate, mean, variance, t, missing)
    value += _log_seen(row, table, known, candidate[WHOLE] > 0.0, points, sums, log_rate)
    value += _log_reached(row, table, points, sums, log_rate)
    value += math.log(sigma) - 0.5 * math.log(variance)
    return value if math.isfinite(value) else -np.inf, t, sigma, skew
