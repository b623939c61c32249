"""Posterior sampling for the cure model: every arm's curve and activation, and the prior pooled over arms.

An arm whose law and shape are known is drawn from a line of knots (`line`), any other from a population of weighted
curves (`population`); p is then drawn from its conditional given the curve (`collapsed`), so that ridges, on which p
and the rate trade, are drawn as they are. An arm is refreshed when its evidence has grown by a twelfth, and drawn from
what it was then in between. docs/posterior.md has the formulas.
"""

import math

import numpy as np
from numba import njit

from headgate.kernels.bins import BINS, COUNT, FAILED, SEEN
from headgate.kernels.collapsed import activation, gather_arm, place, skewed
from headgate.kernels.columns import (
    ACTIVATION,
    DRAWN_A,
    DRAWN_B,
    DRAWN_SHIFT,
    DRAWS,
    DUE,
    EVIDENCE,
    LAW,
    LEVEL,
    LEVELS,
    MAP,
    MEAN,
    MEDIAN,
    RATE,
    SHIFT,
    SUCCESSES,
    VARIANCE,
    A,
    B,
    L,
    S,
    T,
)  # fmt: skip
from headgate.kernels.compiled import gufunc
from headgate.kernels.cure import POINTS, SUMS
from headgate.kernels.curves import COLUMNS, LOC
from headgate.kernels.line import FIRST, MOST_KNOTS, STEP, trace
from headgate.kernels.noise import uniform
from headgate.kernels.population import PARTICLE, PL, PS, PT, SIGMA, SIZE, WEIGHT, population
from headgate.kernels.special import ndtri

_STALE = 0.08  # an arm is refreshed when its evidence has grown by this share ...
_PERIOD = 32  # ... and at least every so many rounds
_LEVELST = 25.0  # how many times wider than expected the arms may be taken to be
_PATIENCE = 5.0  # how many times more successes calm an idle arm
_HALF = 0.5  # of the arms' own variance counts as spread between arms: all of it, as EM has it, over-disperses
_RARE = 1e-3  # a law of smaller probability is looked at ...
_LOOK = 0.25  # ... in this share of refreshes
_LAWS = 0.2  # what each law is worth, in arms, before anything is seen
_BOLD = 0.1  # share of draws that are not calmed
_STRIDE = 256  # random numbers set aside for an arm in a round


@njit(error_model="numpy")
def _renew(
    candidates, maps, table, bins, edges, prior, shares, beliefs, key, first, points, sums, row, missing, particles, arm
):
    """Renew the population of an arm under every candidate law; draw the curves of the next rounds from it."""
    laws = candidates.shape[0]
    chance = np.empty(laws)
    before, best = -np.inf, -np.inf
    for m in range(laws):
        before = max(before, beliefs[m, EVIDENCE])
    fresh = np.zeros(laws)
    for m in range(laws):
        rare = beliefs[m, EVIDENCE] + math.log(shares[m]) < before + math.log(_RARE)
        if rare and uniform(key, first + np.uint64(8 + m)) > _LOOK:
            continue
        candidate = candidates[m]
        gather_arm(candidate, bins, edges, row, points, sums)
        population(
            candidate, maps, table, points, sums, prior, beliefs[m], key, first + np.uint64(32 + 8 * m), row, missing,
            particles[m],
        )  # fmt: skip
        fresh[m] = 1.0
        best = max(best, beliefs[m, EVIDENCE])
    total = 0.0
    for m in range(laws):
        if fresh[m] == 0.0:  # its distance to the best is taken to be what it was
            beliefs[m, EVIDENCE] += best - before
            chance[m] = 0.0
        else:
            chance[m] = shares[m] * math.exp(beliefs[m, EVIDENCE] - best) if best > -np.inf else 1.0
        total += chance[m]
    for c in range(3):
        arm[MEAN + c] = arm[VARIANCE + c] = 0.0
    for m in range(laws):
        chance[m] /= total
        if chance[m] > 0.0:
            for n in range(SIZE):
                w = chance[m] * particles[m, n, WEIGHT]
                arm[MEAN + L] += w * particles[m, n, PL]
                arm[MEAN + S] += w * particles[m, n, PS]
                arm[MEAN + T] += w * particles[m, n, PT]
    reached, taken = 0.0, 0
    offset = uniform(key, first + np.uint64(4))
    for m in range(laws):
        if chance[m] > 0.0:
            for n in range(SIZE):
                w = chance[m] * particles[m, n, WEIGHT]
                arm[VARIANCE + L] += w * (particles[m, n, PL] - arm[MEAN + L]) ** 2
                arm[VARIANCE + S] += w * (particles[m, n, PS] - arm[MEAN + S]) ** 2
                arm[VARIANCE + T] += w * ((particles[m, n, PT] - arm[MEAN + T]) ** 2 + particles[m, n, SIGMA] ** 2)
                reached += w * LEVELS
                while taken < LEVELS and taken + offset < reached:  # systematic resampling
                    arm[DRAWS + 3 * taken], arm[DRAWS + 3 * taken + 1] = m, particles[m, n, PL]
                    arm[DRAWS + 3 * taken + 2] = particles[m, n, PS]
                    taken += 1
    while 0 < taken < LEVELS:  # rounding
        for c in range(3):
            arm[DRAWS + 3 * taken + c] = arm[DRAWS + 3 * (taken - 1) + c]
        taken += 1


@njit(error_model="numpy")
def _pool(arms, hyperprior, pooling, pooled):
    """Re-estimate the prior's means and variances from the arms, with a hyperprior worth a few arms."""
    count = arms.shape[0]
    for c in range(hyperprior.shape[1]):
        total = pooling[0] * hyperprior[0, c]
        for i in range(count):
            total += arms[i, MEAN + c]
        mean = total / (count + pooling[0])
        squares = pooling[1] * hyperprior[1, c]
        for i in range(count):
            squares += (arms[i, MEAN + c] - mean) ** 2 + _HALF * arms[i, VARIANCE + c]
        pooled[0, c], pooled[1, c] = mean, min(squares / (count + pooling[1]), _LEVELST * hyperprior[1, c])


@njit(error_model="numpy")
def _pool_laws(beliefs, before, shares):
    """One step of expectation and maximisation on the share of arms that follow each law."""
    count, laws = beliefs.shape[0], beliefs.shape[1]
    for m in range(laws):
        shares[m] = _LAWS
    for i in range(count):
        top, total = -np.inf, 0.0
        for m in range(laws):
            top = max(top, beliefs[i, m, EVIDENCE])
        for m in range(laws):
            total += before[m] * math.exp(beliefs[i, m, EVIDENCE] - top)
        for m in range(laws):
            shares[m] += before[m] * math.exp(beliefs[i, m, EVIDENCE] - top) / total
    for m in range(laws):
        shares[m] /= count + _LAWS * laws


@gufunc(
    [
        "void(float64[:,:,:], float64[:,:,:], float64[:,:,:], float64[:,:,:,:], float64[:], float64[:,:], float64[:], "
        "float64, int64, boolean[:], uint64, float64[:,:], float64[:,:,:], float64[:,:], float64[:], float64[:], "
        "float64[:,:], float64[:,:,:], float64[:,:], float64[:], float64[:,:])"
    ],
    "(m,k,f),(q,c,n),(r,u,v),(k,h,s,j),(j),(t,d),(t),(),(),(k),(),(k,w),(k,m,b),(t,d),(m),(o)"
    "->(k,w),(k,m,b),(t,d),(m),(k,o)",
)
def sample(
    candidates, maps, table, bins, edges, hyperprior, pooling, calm, clock, idle, key, memory, beliefs, prior, shares,
    like, arms, believed, pooled, weights, draw,
):  # fmt: skip
    """Draw every arm's curve and activation from its posterior, then pool the prior for the next round."""
    laws, count = candidates.shape[0], candidates.shape[1]
    row, points, sums, missing = np.empty(COLUMNS), np.empty(POINTS), np.empty(SUMS), np.empty(BINS)
    particles, room, moments = np.empty((laws, SIZE, PARTICLE)), np.empty((4, MOST_KNOTS)), np.empty(4)
    level = np.empty(LEVEL)
    for i in range(count):
        first = (np.uint64(clock) * np.uint64(count) + np.uint64(i)) * np.uint64(_STRIDE)
        arm, mine = arms[i], believed[i]
        line = laws == 1 and candidates[0, i, MAP] < 0.0
        for c in range(arm.size):
            arm[c] = memory[i, c]
        for m in range(laws):
            for c in range(mine.shape[1]):
                mine[m, c] = beliefs[i, m, c]
        if clock >= arm[DUE]:
            candidate = candidates[0, i]
            seen, failed = 0.0, 0.0
            for j in range(edges.size):
                seen += bins[i, SEEN, COUNT, j]
                failed += bins[i, FAILED, COUNT, j]
            if line:
                gather_arm(candidate, bins[i], edges, row, points, sums)
                trace(
                    candidate, maps, table, points, sums, prior, arm[MEAN + L], math.sqrt(arm[VARIANCE + L]), row,
                    missing, room, moments, arm[DRAWS:],
                )  # fmt: skip
                arm[MEAN + L], arm[MEAN + T] = moments[0], moments[1]
                arm[VARIANCE + L], arm[VARIANCE + T] = moments[2], moments[3]
            else:
                _renew(
                    candidates[:, i], maps, table, bins[i], edges, prior, shares, mine, key, first, points, sums, row,
                    missing, particles, arm,
                )  # fmt: skip
            # Arms take turns, so that no round has to refresh them all.
            turn = _PERIOD - (clock + i) % _PERIOD
            arm[DUE] = clock + min(max(math.floor(_STALE * (seen + failed)), 1.0), turn)
            arm[SUCCESSES] = seen
        calmed = 1.0 / math.sqrt(1.0 + arm[SUCCESSES] / (_PATIENCE * calm if idle[i] else calm))
        if uniform(key, first) < _BOLD:
            calmed = 1.0
        z = ndtri(uniform(key, first + np.uint64(1)))
        choice = uniform(key, first + np.uint64(2))
        if line:
            candidate = candidates[0, i]
            position = (calmed * ndtri(choice) - FIRST) / STEP
            cell = min(max(int(position), 0), LEVELS - 2)
            share, at = position - cell, DRAWS + LEVEL * cell
            for c in range(LEVEL):
                level[c] = arm[at + c] + share * (arm[at + LEVEL + c] - arm[at + c])
            log_rate = candidate[MEDIAN] - level[0]
            t = skewed(level[1], max(level[2], 0.0), min(max(level[3], -1.0), 1.0), z, calmed)
            draw[i, LAW], draw[i, DRAWN_A], draw[i, DRAWN_B] = 0.0, candidate[A], candidate[B]
            draw[i, DRAWN_SHIFT] = candidate[SHIFT]
        else:
            at = DRAWS + 3 * int(choice * LEVELS)
            law = int(arm[at])
            candidate = candidates[law, i]
            l = arm[MEAN + L] + calmed * (arm[at + 1] - arm[MEAN + L])
            s = arm[MEAN + S] + calmed * (arm[at + 2] - arm[MEAN + S])
            gather_arm(candidate, bins[i], edges, row, points, sums)
            log_rate = place(candidate, maps, l, s, row)
            if not math.isfinite(log_rate):  # the mean over laws may lie outside of this one's range
                log_rate = place(candidate, maps, arm[at + 1], arm[at + 2], row)
            _, t, sigma, skew = activation(
                row, table, False, points, sums, log_rate, prior[0, T], prior[1, T], np.nan, missing
            )
            t = skewed(t, sigma, skew, z, calmed)
            draw[i, LAW], draw[i, DRAWN_A], draw[i, DRAWN_B], draw[i, DRAWN_SHIFT] = law, row[A], row[B], row[LOC]
        draw[i, RATE] = math.exp(log_rate)
        draw[i, ACTIVATION] = 1.0 / (1.0 + math.exp(-t))
    _pool(arms, hyperprior, pooling, pooled)
    if laws == 1:
        weights[0] = 1.0
    else:
        _pool_laws(believed, shares, weights)
