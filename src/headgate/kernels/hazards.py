"""Successes seen and expected of one arm, by region of the amount, and what ratios of its hazard would explain.

`headgate.estimators.hazards` has the formulas and what they are for.
"""

import math

import numpy as np

from headgate.kernels.bins import BINS, COUNT, FAILED, PER_OCTAVE, PLAYED, REACHED, REGION, SEEN, SUM, UNITS
from headgate.kernels.compiled import gufunc
from headgate.kernels.curves import BASE, CAP, COLUMNS, A, B, cdf, fill_row, position
from headgate.kernels.part import njit
from headgate.laws.standard import Base

_GAMMA = int(Base.GAMMA)
_MOST = 1.0 - 1e-12  # of p G: a hazard beyond is not told apart from infinity
_NEWTON = 12
_CLOSE = 1e-9  # a step of Newton's method that ends it


@njit(error_model="numpy")
def _curve(row, table, whole, x):
    """G(x); an arm that counts in whole units sees whole amounts."""
    amount = math.floor(x) if whole else x
    if amount <= 0.0:
        return 0.0
    return 1.0 if amount >= row[CAP] else cdf(row, table, position(row, amount))[0]


@njit(error_model="numpy")
def _curve_at_edges(row, table, whole, lower, reached):
    """G at the bins' lower edges, and at the largest budget."""
    if whole or row[BASE] != _GAMMA or row[A] != 1.0 or row[CAP] < np.inf:
        for j in range(BINS + 1):
            reached[j] = _curve(row, table, whole, lower[j])
        return
    # Edges are a constant ratio apart, and so are the powers of them in 1 - exp(-(rate x)^b).
    z, ratio = math.exp(row[B] * position(row, lower[1])), 2.0 ** (row[B] / PER_OCTAVE)
    reached[0] = 0.0
    for j in range(1, BINS + 1):
        reached[j] = -math.expm1(-z)
        z *= ratio


@njit(error_model="numpy")
def _hazard(chance):
    return -math.log1p(-min(chance, _MOST))


@njit(error_model="numpy")
def _expected(whole, low, high, hazard):
    """Successes that a round expects which passes from low to high: the hazard; less, where it comes in whole steps."""
    if not whole:
        return hazard
    steps = max(high - low, 1.0)
    return -steps * math.expm1(-max(hazard, 0.0) / steps)


@njit(error_model="numpy")
def _middle(bins, edges, kind, j):
    """The mean of what fell into a bin."""
    return bins[kind, SUM, j] * (edges[max(j, 1)] / UNITS) / bins[kind, COUNT, j]


@njit(error_model="numpy")
def _likeliest(row, table, whole, bins, edges, reached):
    """The activation of the largest likelihood: the root of n = sum over failures of p G / (1 - p G), by Newton."""
    won, tried = 0.0, 0.0
    for j in range(BINS):
        won += bins[SEEN, COUNT, j] + bins[REACHED, COUNT, j]
        if bins[FAILED, COUNT, j] > 0.0:
            reached[j] = _curve(row, table, whole, _middle(bins, edges, FAILED, j))
            tried += bins[FAILED, COUNT, j] * reached[j]
    p = min(max(won / max(won + tried, 1e-300), 1e-12), 1.0 - 1e-9)
    for _ in range(_NEWTON):
        excess, slope = won, 1e-300
        for j in range(BINS):
            if bins[FAILED, COUNT, j] > 0.0:
                left = max(1.0 - p * reached[j], 1e-12)
                excess -= bins[FAILED, COUNT, j] * p * reached[j] / left
                slope += bins[FAILED, COUNT, j] * reached[j] / (left * left)
        after = p + excess / slope
        after = 0.5 * (1.0 + p) if after >= 1.0 else max(after, 0.1 * p)
        done = abs(after - p) <= _CLOSE * p
        p = after
        if done:
            break
    return p


@njit(error_model="numpy")
def _spread_silent(row, table, whole, p, bins, edges, chance, seen):
    """Add the successes that did not tell their threshold to `seen`, spread over the bins as the curve has it."""
    silent = 0.0
    for j in range(BINS):
        silent += bins[REACHED, COUNT, j]
    if silent == 0.0:
        return
    total, waiting, spread = 0.0, 0.0, np.zeros(BINS)
    for j in range(BINS - 1, -1, -1):
        if bins[REACHED, COUNT, j] > 0.0:
            told = p * _curve(row, table, whole, _middle(bins, edges, REACHED, j))
            waiting += bins[REACHED, COUNT, j] / max(told, 1e-300)
        spread[j] = (chance[j + 1] - chance[j]) * waiting
        total += spread[j]
    for j in range(BINS):
        seen[j] += spread[j] * silent / max(total, 1e-300)


@gufunc(
    [
        "void(int64, float64, float64, float64, float64, float64[:,:,:], boolean, float64, float64, float64[:,:,:], "
        "float64[:], float64, float64[:], float64[:], float64[:], float64[:], float64[:], float64[:], float64[:], "
        "float64[:], float64[:])"
    ],
    "(),(),(),(),(),(r,c,g),(),(),(),(h,s,j),(j),(),(q),(e),(w)->(),(q),(q),(q),(e),(w)",
)
def compare(
    base, a, b, shift, cap, table, whole, rate, activation, bins, edges, most, like, line, alphas, p, seen, expected,
    hoped, cumulative, gain,
):  # fmt: skip
    """Compare an arm's evidence with the curve `activation` times G(., rate); NaN is the likeliest activation.

    By region successes seen, and expected by threshold and by allocation; the cumulative hazard at the bins' edges; and
    by how much ratios with the prior Gamma(alpha, alpha) raise the log marginal likelihood. `like` and `line` are any
    arrays of as many numbers as there are regions and edges.
    """
    row, chance, by_bin = np.empty(COLUMNS), np.empty(BINS + 1), np.empty(BINS)
    fill_row(row, base, a, b, math.log(rate) + shift, cap, 1.0, 0.0)
    p[0] = _likeliest(row, table, whole, bins, edges, by_bin) if math.isnan(activation) else activation
    lower = np.empty(BINS + 1)
    for j in range(BINS + 1):
        # What ends in a bin of whole amounts is at least its lower edge: its hazard begins below.
        lower[j] = most if j == BINS else (max(math.ceil(edges[j]) - 1.0, 0.0) if whole else edges[j])
    _curve_at_edges(row, table, whole, lower, chance)
    for j in range(BINS + 1):
        chance[j] = max(p[0] * chance[j], chance[j - 1] if j > 0 else 0.0)
        cumulative[j] = cumulative[j - 1] if j > 0 and chance[j] == chance[j - 1] else _hazard(chance[j])
    for q in range(like.size):
        seen[q] = expected[q] = hoped[q] = 0.0
    for j in range(BINS):
        by_bin[j] = bins[SEEN, COUNT, j]
    _spread_silent(row, table, whole, p[0], bins, edges, chance, by_bin)
    beyond = 0.0  # rounds that passed through all of the bin
    for j in range(BINS - 1, -1, -1):
        q = (j + REGION - 1) // REGION
        steps = _expected(whole, lower[j], lower[j + 1], cumulative[j + 1] - cumulative[j])
        total = beyond * steps
        for kind in (SEEN, FAILED):
            count = by_bin[j] if kind == SEEN else bins[FAILED, COUNT, j]
            if count > 0.0:
                inside = 0.5 * steps
                if bins[kind, COUNT, j] > 0.0:
                    middle = _middle(bins, edges, kind, j)
                    inside = _hazard(p[0] * _curve(row, table, whole, middle)) - cumulative[j]
                    inside = min(max(_expected(whole, lower[j], math.floor(middle), inside), 0.0), steps)
                total += count * inside
                beyond += count
        seen[q] += by_bin[j]
        expected[q] += total
        if bins[PLAYED, COUNT, j] > 0.0:
            hoped[q] += (
                bins[PLAYED, COUNT, j] * p[0] * _curve(row, table, whole, _middle(bins, edges, PLAYED, j))
            )  # fmt: skip
    for w in range(alphas.size):
        alpha, gain[w] = alphas[w], 0.0
        constant = alpha * math.log(alpha) - math.lgamma(alpha)
        for q in range(like.size):
            if seen[q] > 0.0:
                gain[w] += math.lgamma(alpha + seen[q]) + constant - (alpha + seen[q]) * math.log(alpha + expected[q])
                gain[w] += expected[q]
            elif expected[q] > 0.0:
                gain[w] += expected[q] - alpha * math.log1p(expected[q] / alpha)
