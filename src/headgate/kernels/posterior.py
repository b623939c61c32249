"""Posterior sampling: what the sampler of known laws (`known`) and that of learned ones (`learned`) share.

An arm whose law is known is drawn from a line of knots (`line`); p is then drawn from its conditional given the curve
(`collapsed`), so that ridges, on which p and the rate trade, are drawn as they are. An arm is refreshed when its
evidence has grown by a twelfth, and drawn from what it was then in between. docs/posterior.md has the formulas. The two
samplers are modules of their own: machine code that a learner never runs is not compiled for it.
"""

import math

import numpy as np

from headgate.kernels.bins import BINS, COUNT, PLAYED
from headgate.kernels.collapsed import gather_arm, skewed
from headgate.kernels.columns import (
    ACTIVATION,
    DRAWN_A,
    DRAWN_B,
    DRAWN_SHIFT,
    DRAWS,
    DUE,
    LAW,
    LEVEL,
    LEVELS,
    MEAN,
    MEDIAN,
    RATE,
    SHIFT,
    SPREAD,
    VARIANCE,
    A,
    B,
    L,
    T,
)  # fmt: skip
from headgate.kernels.line import FIRST, STEP, trace
from headgate.kernels.noise import uniform
from headgate.kernels.part import njit
from headgate.kernels.special import ndtri

_STALE = 0.08  # an arm is refreshed when its evidence has grown by this share ...
_PERIOD = 32  # ... and at least every so many rounds, or ...
_AT_ONCE = 4  # ... of many arms, as seldom as it takes for no round to refresh more of them than so
_WIDEST = 25.0  # how many times wider than expected the arms may be taken to be
_PATIENCE = 5.0  # how many times more has to be known of an idle arm, before it is calmed as one in use
_UNIT = math.log(math.log(4.0) / math.log(4.0 / 3.0))  # log(q75 / q25) of the exponential law
_HALF = 0.5  # of the arms' own variance counts as spread between arms: all of it, as EM has it, over-disperses
BOLD = 0.1  # share of draws that are not calmed, but ...
_BOLDER = 1.5  # ... so many times as wide as the posterior: what the pooled prior finds unlikely is looked at too
_STRIDE = 256  # random numbers set aside for an arm in a round


@njit(error_model="numpy")
def pool(arms, hyperprior, pooling, pooled):
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
        pooled[0, c], pooled[1, c] = mean, min(squares / (count + pooling[1]), _WIDEST * hyperprior[1, c])


@njit(error_model="numpy")
def stream(clock, count, i):
    """The first of the random numbers of an arm in a round."""
    return (np.uint64(clock) * np.uint64(count) + np.uint64(i)) * np.uint64(_STRIDE)


@njit(error_model="numpy")
def plan_refresh(bins, clock, i, count, arm):
    """Write when the arm, the i-th of so many, is due again."""
    played, period = 0.0, max(_PERIOD, count // _AT_ONCE)
    for j in range(BINS):
        played += bins[PLAYED, COUNT, j]
    wait = max(math.floor(_STALE * played), 1.0)
    if wait >= period:  # arms take turns, so that no round has to refresh them all
        wait = period - (clock + i) % period
    arm[DUE] = clock + wait


@njit(error_model="numpy")
def calmness(arm, spread, calm, idle, bold, key, first):
    """What the arm's noise is multiplied by; `bold` is the share of draws that are not calmed.

    What is known of the curve is counted in thresholds that would tell as much if none were cut off: n of them leave l
    a variance of (spread / _UNIT)^2 / n. On a ridge hundreds of successes may be worth one.
    """
    if uniform(key, first) < bold:
        return _BOLDER if calm < np.inf else 1.0
    worth = (spread / _UNIT) ** 2 / arm[VARIANCE + L]
    return 1.0 / math.sqrt(1.0 + worth / (_PATIENCE * calm if idle else calm))


@njit(error_model="numpy")
def refresh_line(candidate, maps, table, bins, edges, prior, points, sums, row, missing, room, moments, arm):
    """Trace the posterior of an arm whose law is known."""
    gather_arm(candidate, bins, edges, row, points, sums)
    trace(
        candidate, maps, table, points, sums, prior, arm[MEAN + L], math.sqrt(arm[VARIANCE + L]), row, missing, room,
        moments, arm[DRAWS:],
    )  # fmt: skip
    arm[MEAN + L], arm[MEAN + T] = moments[0], moments[1]
    arm[VARIANCE + L], arm[VARIANCE + T] = moments[2], moments[3]


@njit(error_model="numpy")
def draw_line(candidate, arm, calm, idle, key, first, level, draw):
    """Draw l from the levels of an arm, then logit p given it."""
    calmed = calmness(arm, candidate[SPREAD], calm, idle, BOLD if idle else 0.0, key, first)
    z, along = ndtri(uniform(key, first + np.uint64(1))), ndtri(uniform(key, first + np.uint64(2)))
    position = (calmed * along - FIRST) / STEP
    cell = min(max(int(position), 0), LEVELS - 2)
    share, at = position - cell, DRAWS + LEVEL * cell
    for c in range(LEVEL):
        level[c] = arm[at + c] + share * (arm[at + LEVEL + c] - arm[at + c])
    t = skewed(level[1], max(level[2], 0.0), min(max(level[3], -1.0), 1.0), z, calmed)
    draw[LAW], draw[DRAWN_A], draw[DRAWN_B], draw[DRAWN_SHIFT] = 0.0, candidate[A], candidate[B], candidate[SHIFT]
    draw[RATE], draw[ACTIVATION] = math.exp(candidate[MEDIAN] - level[0]), 1.0 / (1.0 + math.exp(-t))
