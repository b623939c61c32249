"""Posterior sampling for the cure model: one Newton step an arm, a Laplace draw, and the prior pooled over arms.

theta = (log rate, logit activation), or with the shape's logarithm as a third coordinate where it is learned. The prior
is normal with independent coordinates, its means and variances the same for all arms and learned from them.
"""

import math

import numpy as np
from numba import njit

from headgate.kernels.bins import COUNT, FAILED, SEEN
from headgate.kernels.compiled import gufunc
from headgate.kernels.cure import POINTS, SUMS, gather, gathered_likelihood
from headgate.kernels.curves import BASE, CAP, COLUMNS, LOC, A, B, fill_row

_LONGEST = 2.0  # a Newton step, in prior standard deviations
_CERTAIN = 30.0  # |logit p| beyond which p is 0 or 1 for any purpose
_NUDGE = 0.03  # of a log shape, for its derivatives
_STALE = 0.03  # an arm is refreshed when its evidence has grown by this share ...
_FAR = 40.0  # how far a log rate may go from where it is expected: 17 decades either way
_WIDEST = 25.0  # how many times wider than expected the arms may be taken to be
_PERIOD = 16  # ... and at least every so many rounds
_PATIENCE = 5.0  # how many times more successes calm an idle arm
_HALF = 0.5  # of the arms' own variance counts as spread between arms: all of it, as EM has it, over-disperses


@njit(error_model="numpy")
def _likelihood_at(row, origin, table, integer, bins, edges, power, theta, t, points, sums, out):
    """The log likelihood at theta with the shape at coordinate t; gradient and Hessian go to `out`.

    `origin` is the arm's row at t = 0, `power` how it depends on t (`headgate.laws.learned`).
    """
    a = origin[A] * math.exp(power[0] * t) + power[3] * t
    b = origin[B] * math.exp(power[1] * t)
    fill_row(row, origin[BASE], a, b, origin[LOC] + power[2] * t, origin[CAP], 1.0, 0.0)
    gather(row, bins, edges, points, sums)
    return gathered_likelihood(row, table, integer, points, sums, np.zeros(4), theta, out)


@njit(error_model="numpy")
def _slope_and_curvature(row, table, integer, bins, edges, prior, power, theta, points, sums, slope, curvature):
    """Gradient and negative Hessian of the log posterior at theta; a learned shape's by central differences."""
    out = np.empty(5)
    if theta.size == 3:
        s, origin = theta[2], row.copy()
        low = _likelihood_at(row, origin, table, integer, bins, edges, power, theta, s - _NUDGE, points, sums, out)
        low1, low2 = out[0], out[1]
        high = _likelihood_at(row, origin, table, integer, bins, edges, power, theta, s + _NUDGE, points, sums, out)
        high1, high2 = out[0], out[1]
        here = _likelihood_at(row, origin, table, integer, bins, edges, power, theta, s, points, sums, out)
        slope[2] = (high - low) / (2.0 * _NUDGE)
        curvature[2, 2] = -(high - 2.0 * here + low) / _NUDGE**2
        curvature[0, 2] = curvature[2, 0] = -(high1 - low1) / (2.0 * _NUDGE)
        curvature[1, 2] = curvature[2, 1] = -(high2 - low2) / (2.0 * _NUDGE)
    else:
        gather(row, bins, edges, points, sums)
        gathered_likelihood(row, table, integer, points, sums, np.zeros(4), theta, out)
    slope[0], slope[1] = out[0], out[1]
    curvature[0, 0], curvature[0, 1], curvature[1, 0], curvature[1, 1] = -out[2], -out[3], -out[3], -out[4]
    for c in range(theta.size):
        slope[c] -= (theta[c] - prior[0, c]) / prior[1, c]
        curvature[c, c] += 1.0 / prior[1, c]


@njit(error_model="numpy")
def _eigen(matrix, values, vectors):
    """Eigenvalues and eigenvectors (columns) of a symmetric matrix; in closed form for two rows."""
    if values.size == 2:
        mean, half = 0.5 * (matrix[0, 0] + matrix[1, 1]), 0.5 * (matrix[0, 0] - matrix[1, 1])
        radius = math.hypot(half, matrix[0, 1])
        angle = 0.5 * math.atan2(matrix[0, 1], half) if radius > 0.0 else 0.0
        values[0], values[1] = mean + radius, mean - radius
        vectors[0, 0] = vectors[1, 1] = math.cos(angle)
        vectors[1, 0] = math.sin(angle)
        vectors[0, 1] = -vectors[1, 0]
    else:
        found = np.linalg.eigh(matrix)
        values[:], vectors[:] = found[0], found[1]


@njit(error_model="numpy")
def _refresh(row, table, integer, bins, edges, prior, hyperprior, power, limits, points, sums, arm):
    """Move an arm's theta one Newton step towards the mode; renew its variances and the root of its covariance.

    In units of the prior's standard deviations the prior's curvature is 1, and the likelihood is only trusted where it
    adds to it: eigenvalues below 1 are set to 1.
    """
    size = prior.shape[1]
    theta, variance, factor = arm[:size], arm[size : 2 * size], arm[2 * size + 2 :]
    slope, curvature = np.empty(size), np.empty((size, size))
    values, vectors = np.empty(size), np.empty((size, size))
    _slope_and_curvature(row, table, integer, bins, edges, prior, power, theta, points, sums, slope, curvature)
    sound = True
    for c in range(size):
        sound &= math.isfinite(slope[c])
        for e in range(size):
            sound &= math.isfinite(curvature[c, e])
    if not sound:  # evidence that no curve of the law can bear: keep the mode, and the prior's spread
        slope[:], curvature[:] = 0.0, 0.0
        for c in range(size):
            curvature[c, c] = 1.0 / prior[1, c]
    for c in range(size):
        slope[c] *= math.sqrt(prior[1, c])
        for e in range(size):
            curvature[c, e] *= math.sqrt(prior[1, c] * prior[1, e])
    _eigen(curvature, values, vectors)
    along, length = np.zeros(size), 0.0  # the step in the directions of the eigenvectors
    for e in range(size):
        values[e] = max(values[e], 1.0)
        for c in range(size):
            along[e] += vectors[c, e] * slope[c] / values[e]
        length += along[e] * along[e]
    shorten = min(1.0, _LONGEST / math.sqrt(length)) if length > 0.0 else 0.0
    for c in range(size):
        deviation = math.sqrt(prior[1, c])
        variance[c] = 0.0
        for e in range(size):
            theta[c] += shorten * along[e] * vectors[c, e] * deviation
            root = deviation * vectors[c, e] / math.sqrt(values[e])
            factor[c * size + e] = root
            variance[c] += root * root
    theta[1] = min(max(theta[1], -_CERTAIN), _CERTAIN)
    theta[0] = min(max(theta[0], hyperprior[0, 0] - _FAR), hyperprior[0, 0] + _FAR)
    if size == 3:
        theta[2] = min(max(theta[2], limits[0]), limits[1])


@njit(error_model="numpy")
def _pool(arms, hyperprior, pooling, powers, pooled):
    """Re-estimate the prior's means and variances from the arms, with a hyperprior worth a few arms.

    Only arms whose shape is to be learned say anything about shapes.
    """
    size = hyperprior.shape[1]
    for c in range(size):
        count, total = 0, pooling[0] * hyperprior[0, c]
        for i in range(arms.shape[0]):
            if c < 2 or np.any(powers[i] != 0.0):
                count += 1
                total += arms[i, c]
        mean = total / (count + pooling[0])
        squares = pooling[1] * hyperprior[1, c]
        for i in range(arms.shape[0]):
            if c < 2 or np.any(powers[i] != 0.0):
                squares += (arms[i, c] - mean) ** 2 + _HALF * arms[i, size + c]
        pooled[0, c], pooled[1, c] = mean, min(squares / (count + pooling[1]), _WIDEST * hyperprior[1, c])


@gufunc(
    [
        "void(int64[:], float64[:], float64[:], float64[:], float64[:], float64[:,:,:], boolean[:], float64[:,:,:,:], "
        "float64[:], float64[:,:], float64[:,:], float64[:,:], float64[:], float64[:,:], float64[:,:], float64, int64, "
        "boolean[:], float64[:,:], float64[:,:], float64[:,:], float64[:,:])"
    ],
    "(k),(k),(k),(k),(k),(r,c,n),(k),(k,h,s,j),(j),(k,m),(t,d),(t,d),(t),(k,p),(k,t),(),(),(k),(k,d)->(k,m),(k,d),(t,d)",
)
def sample(
    base, a, b, shift, cap, table, integer, bins, edges, before, prior, hyperprior, pooling, powers, limits, calm,
    clock, idle, noise, arms, draw, pooled,
):  # fmt: skip
    """Draw every arm's theta from its posterior, then pool the prior for the next round.

    An arm's memory (a row of `before` and `arms`) is theta, its variances, the round in which it is due for a
    refresh, its successes then, and a root of its covariance. `prior`, `hyperprior` and `pooled` are a row of means
    and a row of variances; `pooling` is how many arms the hyperprior's means and variances are worth. `powers` and
    `limits` say how an arm's curve depends on the coordinate of its shape, and how far that may go
    (`headgate.laws.learned`).

    The noise of an arm with n successes is multiplied by (1 + n / calm)^(-1/2): once an arm is known, exploring it
    costs more than it tells. An arm that is idle, because the last allocation gave it nothing, is calmed later: an
    unlucky start must not silence it for good.
    """
    size = prior.shape[1]
    row, points, sums = np.empty(COLUMNS), np.empty(POINTS), np.empty(SUMS)
    for i in range(base.size):
        arms[i] = before[i]
        if clock >= arms[i, 2 * size]:
            fill_row(row, base[i], a[i], b[i], shift[i], cap[i], 1.0, 0.0)
            _refresh(
                row, table, integer[i], bins[i], edges, prior, hyperprior, powers[i], limits[i], points, sums, arms[i]
            )
            seen, failed = 0.0, 0.0
            for j in range(edges.size):
                seen += bins[i, SEEN, COUNT, j]
                failed += bins[i, FAILED, COUNT, j]
            # Arms take turns, so that no round has to refresh them all.
            turn = _PERIOD - (clock + i) % _PERIOD
            arms[i, 2 * size] = clock + min(max(math.floor(_STALE * (seen + failed)), 1.0), turn)
            arms[i, 2 * size + 1] = seen
        calmed = 1.0 / math.sqrt(1.0 + arms[i, 2 * size + 1] / (_PATIENCE * calm if idle[i] else calm))
        for c in range(size):
            draw[i, c] = arms[i, c]
            for e in range(size):
                draw[i, c] += calmed * arms[i, 2 * size + 2 + c * size + e] * noise[i, e]
    _pool(arms, hyperprior, pooling, powers, pooled)
