"""Maximum likelihood of the mixture cure model: Newton's method on each arm's penalised likelihood.

A module of its own, because a learner that draws from its posterior needs the likelihood (`cure`), not its maximum.
"""

import math

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.cure import ARMS, POINTS, SUMS, gather, gathered_likelihood
from headgate.kernels.curves import COLUMNS, fill_row
from headgate.kernels.part import njit

_CLIP = 40.0  # |logit p|: beyond, p is 0 or 1 to the last digit


@njit(error_model="numpy")
def newton(row, table, integer, points, sums, prior, theta, steps, out):
    """Climb to the maximum from theta, in place, in at most `steps` steps; returns the log likelihood there.

    The curvature is made positive by its eigenvalues, and a step that does not climb is halved.
    """
    best = gathered_likelihood(row, table, integer, points, sums, prior, theta, out)
    trial, work = np.empty(2), np.empty(5)
    for _ in range(steps):
        mean, half = -0.5 * (out[2] + out[4]), -0.5 * (out[2] - out[4])
        spread = math.hypot(half, out[3])
        low, high = mean - spread, mean + spread
        floor = max(1e-9 * high, 1e-12)
        c11, c12, c22 = -out[2], -out[3], -out[4]
        lifted = low < floor
        if lifted:  # add what lifts the smallest eigenvalue
            lift = max(abs(low), floor) - low
            c11 += lift
            c22 += lift
        det = c11 * c22 - c12 * c12
        d1 = (c22 * out[0] - c12 * out[1]) / det
        d2 = (c11 * out[1] - c12 * out[0]) / det
        size = max(abs(d1), abs(d2))
        shorten = 3.0 / max(size, 3.0)
        d1, d2, size = d1 * shorten, d2 * shorten, size * shorten
        promised = out[0] * d1 + out[1] * d2
        scale, improved, value = 1.0, False, best
        for _ in range(30):
            trial[0] = theta[0] + scale * d1
            trial[1] = min(max(theta[1] + scale * d2, -_CLIP), _CLIP)
            value = gathered_likelihood(row, table, integer, points, sums, prior, trial, work)
            if value >= best + 1e-4 * scale * promised - 1e-12 * abs(best):
                improved = True
                break
            scale *= 0.5
        if not improved:
            break
        theta[0], theta[1] = trial[0], trial[1]
        for j in range(5):
            out[j] = work[j]
        best = value
        if size < (1e-10 if lifted else 1e-7):  # a true Newton step leaves the order of its square
            break
    return best


@gufunc(
    [f"void({ARMS}int64, float64[:,:], float64[:,:])"],
    "(k),(k),(k),(k),(k),(r,c,n),(k),(k,h,s,j),(j),(k,q),(k,d),()->(k,d),(k,q)",
)
def fit(base, a, b, shift, cap, table, integer, bins, edges, prior, start, steps, theta, shape):
    """Maximise each arm's penalised likelihood from `start`.

    `prior` holds two means and two precisions an arm; `shape` receives the Hessian (11, 12, 22) and the value.
    """
    row, out = np.empty(COLUMNS), np.empty(5)
    points, sums = np.empty(POINTS), np.empty(SUMS)
    for i in range(base.size):
        fill_row(row, base[i], a[i], b[i], shift[i], cap[i], 1.0, 0.0)
        gather(row, bins[i], edges, points, sums)
        theta[i, 0], theta[i, 1] = start[i, 0], start[i, 1]
        shape[i, 3] = newton(row, table, integer[i], points, sums, prior[i], theta[i], steps, out)
        shape[i, 0], shape[i, 1], shape[i, 2] = out[2], out[3], out[4]
