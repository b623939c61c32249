"""Posterior sampling where shapes or laws are learned: a population of weighted curves for each arm and law.

Arms are drawn from curves of equal weight, taken from the populations (`population`) in proportion to their laws'
marginal likelihoods; p is then drawn from its conditional given the curve (`collapsed`). Arms whose law and shape are
known are drawn from a line of knots, as in `posterior`, which also says when arms are refreshed.
"""

import math

import numpy as np

from headgate.kernels.bins import BINS
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
    RATE,
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
from headgate.kernels.line import MOST_KNOTS
from headgate.kernels.noise import uniform
from headgate.kernels.part import njit
from headgate.kernels.population import PARTICLE, PL, PS, PT, SIGMA, SIZE, WEIGHT, population
from headgate.kernels.posterior import BOLD, calmness, draw_line, plan_refresh, pool, refresh_line, stream
from headgate.kernels.special import ndtri

_RARE = 1e-3  # a law of smaller probability is looked at ...
_LOOK = 0.25  # ... in this share of refreshes
_LAWS = 0.2  # what each law is worth, in arms, before anything is seen


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
        first, arm, mine = stream(clock, count, i), arms[i], believed[i]
        line = laws == 1 and candidates[0, i, MAP] < 0.0
        for c in range(arm.size):
            arm[c] = memory[i, c]
        for m in range(laws):
            for c in range(mine.shape[1]):
                mine[m, c] = beliefs[i, m, c]
        if clock >= arm[DUE]:
            if line:
                refresh_line(
                    candidates[0, i], maps, table, bins[i], edges, prior, points, sums, row, missing, room, moments, arm
                )  # fmt: skip
            else:
                _renew(
                    candidates[:, i], maps, table, bins[i], edges, prior, shares, mine, key, first, points, sums, row,
                    missing, particles, arm,
                )  # fmt: skip
            plan_refresh(bins[i], clock, i, count, arm)
        if line:
            draw_line(candidates[0, i], arm, calm, idle[i], key, first, level, draw[i])
            continue
        calmed = calmness(arm, math.exp(arm[MEAN + S]), calm, idle[i], BOLD, key, first)
        calmed = min(calmed, 1.0)  # a population has no curves beyond its own
        z = ndtri(uniform(key, first + np.uint64(1)))
        at = DRAWS + 3 * int(uniform(key, first + np.uint64(2)) * LEVELS)
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
        draw[i, RATE], draw[i, ACTIVATION] = math.exp(log_rate), 1.0 / (1.0 + math.exp(-t))
    pool(arms, hyperprior, pooling, pooled)
    if laws == 1:
        weights[0] = 1.0
    else:
        _pool_laws(believed, shares, weights)
