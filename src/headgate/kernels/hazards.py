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
def _heights(row, table, whole, amounts, heights):
    """G at all amounts that are not 0, in one place: it would be compiled for each; whole units see whole amounts.

    The last line of amounts are the bins' lower edges and the largest budget.
    """
    last = amounts.shape[0] - 1
    closed = not whole and row[BASE] == _GAMMA and row[A] == 1.0 and row[CAP] == np.inf
    for line in range(last if closed else last + 1):
        for j in range(BINS + 1):
            x = math.floor(amounts[line, j]) if whole else amounts[line, j]
            heights[line, j] = 0.0
            if x > 0.0:
                heights[line, j] = 1.0 if x >= row[CAP] else cdf(row, table, position(row, x))[0]
    if closed:
        # Edges are a constant ratio apart, and so are the powers of them in 1 - exp(-(rate x)^b).
        z, ratio = math.exp(row[B] * position(row, amounts[last, 1])), 2.0 ** (row[B] / PER_OCTAVE)
        heights[last, 0] = 0.0
        for j in range(1, BINS + 1):
            heights[last, j] = -math.expm1(-z)
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
def _likeliest(bins, heights):
    """The activation of the largest likelihood: the root of n = sum over failures of p G / (1 - p G), by Newton."""
    won, tried = 0.0, 0.0
    for j in range(BINS):
        won += bins[SEEN, COUNT, j] + bins[REACHED, COUNT, j]
        tried += bins[FAILED, COUNT, j] * heights[FAILED, j]
    p = min(max(won / max(won + tried, 1e-300), 1e-12), 1.0 - 1e-9)
    for _ in range(_NEWTON):
        excess, slope = won, 1e-300
        for j in range(BINS):
            if bins[FAILED, COUNT, j] > 0.0:
                left = max(1.0 - p * heights[FAILED, j], 1e-12)
                excess -= bins[FAILED, COUNT, j] * p * heights[FAILED, j] / left
                slope += bins[FAILED, COUNT, j] * heights[FAILED, j] / (left * left)
        after = p + excess / slope
        after = 0.5 * (1.0 + p) if after >= 1.0 else max(after, 0.1 * p)
        done = abs(after - p) <= _CLOSE * p
        p = after
        if done:
            break
    return p


@njit(error_model="numpy")
def _spread_silent(bins, heights, p, chance, seen):
    """Add the successes that did not tell their threshold to `seen`, spread over the bins as the curve has it."""
    silent = 0.0
    for j in range(BINS):
        silent += bins[REACHED, COUNT, j]
    if silent == 0.0:
        return
    total, waiting, spread = 0.0, 0.0, np.zeros(BINS)
    for j in range(BINS - 1, -1, -1):
        if bins[REACHED, COUNT, j] > 0.0:
            waiting += bins[REACHED, COUNT, j] / max(p * heights[REACHED, j], 1e-300)
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
    kinds = bins.shape[0]
    row, by_bin = np.empty(COLUMNS), np.empty(BINS)
    amounts, heights = np.zeros((kinds + 1, BINS + 1)), np.empty((kinds + 1, BINS + 1))
    fill_row(row, base, a, b, math.log(rate) + shift, cap, 1.0, 0.0)
    for kind in range(kinds):  # the means of what fell into the bins
        for j in range(BINS):
            if bins[kind, COUNT, j] > 0.0:
                amounts[kind, j] = bins[kind, SUM, j] * (edges[max(j, 1)] / UNITS) / bins[kind, COUNT, j]
    lower, chance = amounts[kinds], heights[kinds]
    for j in range(BINS + 1):
        # What ends in a bin of whole amounts is at least its lower edge: its hazard begins below.
        lower[j] = most if j == BINS else (max(math.ceil(edges[j]) - 1.0, 0.0) if whole else edges[j])
    _heights(row, table, whole, amounts, heights)
    p[0] = _likeliest(bins, heights) if math.isnan(activation) else activation
    for j in range(BINS + 1):
        chance[j] = max(p[0] * chance[j], chance[j - 1] if j > 0 else 0.0)
        cumulative[j] = cumulative[j - 1] if j > 0 and chance[j] == chance[j - 1] else _hazard(chance[j])
    for q in range(like.size):
        seen[q] = expected[q] = hoped[q] = 0.0
    for j in range(BINS):
        by_bin[j] = bins[SEEN, COUNT, j]
    _spread_silent(bins, heights, p[0], chance, by_bin)
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
                    inside = _hazard(p[0] * heights[kind, j]) - cumulative[j]
                    inside = min(max(_expected(whole, lower[j], math.floor(amounts[kind, j]), inside), 0.0), steps)
                total += count * inside
                beyond += count
        seen[q] += by_bin[j]
        expected[q] += total
        hoped[q] += bins[PLAYED, COUNT, j] * p[0] * heights[PLAYED, j]
    for w in range(alphas.size):
        alpha, gain[w] = alphas[w], 0.0
        constant = alpha * math.log(alpha) - math.lgamma(alpha)
        for q in range(like.size):
            if seen[q] > 0.0:
                gain[w] += math.lgamma(alpha + seen[q]) + constant - (alpha + seen[q]) * math.log(alpha + expected[q])
                gain[w] += expected[q]
            elif expected[q] > 0.0:
                gain[w] += expected[q] - alpha * math.log1p(expected[q] / alpha)
