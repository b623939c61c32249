"""Likelihood-ratio intervals: where the profile likelihood has dropped by half the cut."""

import math

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.cure import ARMS, POINTS, SUMS, gather, gathered_likelihood
from headgate.kernels.curves import COLUMNS, fill_row
from headgate.kernels.part import njit

_REACH = 100.0  # |log rate - start| or |logit p| beyond which the likelihood sets no end


@njit(error_model="numpy")
def _profile(row, table, integer, points, sums, prior, theta, held, out):
    """Maximise over the coordinate that is not held, in place; returns the log likelihood."""
    free = 1 - held
    best = gathered_likelihood(row, table, integer, points, sums, prior, theta, out)
    trial, work = np.empty(2), np.empty(5)
    for _ in range(100):
        slope, bend = out[free], out[2 + 2 * free]
        step = slope / max(-bend, 1e-2 * abs(bend) + 1e-9)
        step = min(max(step, -2.0), 2.0)
        moved, value = False, best
        for _ in range(30):
            trial[held], trial[free] = theta[held], theta[free] + step
            value = gathered_likelihood(row, table, integer, points, sums, prior, trial, work)
            if value >= best - 1e-13 * abs(best):
                moved = True
                break
            step *= 0.5
        if not moved:
            break
        done = abs(step) < 1e-8 or (value - best <= 1e-11 and abs(slope * step) < 1e-11)
        theta[free], best = trial[free], max(value, best)
        for j in range(5):
            out[j] = work[j]
        if done:
            break
    return best


@njit(error_model="numpy")
def _end(row, table, integer, points, sums, prior, top, value, held, sign, width, target, out):
    """Where the profile has dropped by `target` on one side of its maximum; infinite if it never does.

    Newton's method on the profile, whose slope is the held coordinate's gradient, kept within a bracket.
    """
    inner, outer = top[held], sign * np.inf
    at = top.copy()
    guess = inner + sign * width
    for _ in range(100):
        at[held] = guess
        excess = value - _profile(row, table, integer, points, sums, prior, at, held, out) - target
        if excess >= 0.0:
            outer = guess
        else:
            inner = guess
            if abs(guess - top[held]) > _REACH:
                return sign * np.inf
        slope = -sign * out[held]  # of the drop, outwards
        step = -excess / max(slope, 1e-12)
        if abs(step) < 1e-9 * max(1.0, abs(guess)):
            break
        if abs(outer) == np.inf:
            width *= 2.0
            guess = inner + sign * min(max(step, 0.1 * width), width)
        else:
            following = guess + sign * step
            low, high = min(inner, outer), max(inner, outer)
            guess = following if low < following < high else 0.5 * (low + high)
            if high - low < 1e-9:
                break
    return guess


@gufunc(
    [f"void({ARMS}float64[:,:], float64[:], float64, float64[:,:], float64[:,:])"],
    "(k),(k),(k),(k),(k),(r,c,n),(k),(k,h,s,j),(j),(k,q),(k,d),(k,d),(k),()->(k,d),(k,d)",
)
def profile_ends(base, a, b, shift, cap, table, integer, bins, edges, prior, theta, variance, value, cut, low, high):
    """Find both ends of both coordinates of each arm, from its maximum `theta`, where the likelihood is `value`."""
    row, out = np.empty(COLUMNS), np.empty(5)
    points, sums = np.empty(POINTS), np.empty(SUMS)
    for i in range(base.size):
        fill_row(row, base[i], a[i], b[i], shift[i], cap[i], 1.0, 0.0)
        gather(row, bins[i], edges, points, sums)
        for held in range(2):
            width = min(max(math.sqrt(cut * variance[i, held]), 1e-4), 2.0)
            for side in range(2):
                sign = -1.0 if side == 0 else 1.0
                end = _end(
                    row, table, integer[i], points, sums, prior[i], theta[i], value[i], held, sign, width,
                    0.5 * cut, out,
                )  # fmt: skip
                if side == 0:
                    low[i, held] = end
                else:
                    high[i, held] = end
