"""Population Monte Carlo on the curves (l, s) of one arm under one law.

Points of a shifted R2 sequence (multiples of 1/g and 1/g^2, g the plastic number: even in two dimensions) are mapped to
half of N(m, 1.1^2 C), three tenths of N(m, 2.5^2 C) and a fifth of the prior, and weighted by target over mixture
density, w = L(l, s) prior(l, s) / q(l, s). m and C are those of the last population; the mean weight estimates the
law's marginal likelihood. Cappe, Guillin, Marin and Robert, Population Monte Carlo (2004); Owen and Zhou (2000) for the
mixture, which bounds the weights by the prior's share.
"""

import math

import numpy as np

from headgate.kernels.collapsed import marginal
from headgate.kernels.columns import COV_LL, COV_LS, COV_SS, EVIDENCE, MAP, MEAN_L, MEAN_S, L, S, T
from headgate.kernels.noise import uniform
from headgate.kernels.part import njit
from headgate.kernels.special import ndtri

# Columns of a particle: its weight, the curve, and mean and deviation of t given the curve.
WEIGHT, PL, PS, PT, SIGMA = range(5)
PARTICLE = 5

SIZE = 40
_NARROW, _WIDE = 20, 32  # points before these are of the narrow and of the wide component
_SCALE1, _SCALE2 = 1.1, 2.5
_SHARE1, _SHARE2, _SHARE3 = math.log(0.5), math.log(0.3), math.log(0.2)
_TRIES = 16  # more than two or three only where a population begins far away, such as at the prior of a long log
_LEAST = 8.0  # effective points that end the search
_STEP1, _STEP2 = 0.7548776662466927, 0.5698402909980532
_TURN = 0.6180339887498949  # how far the sequence is shifted from try to try
_FLOOR = 1e-10  # of a variance


@njit(error_model="numpy")
def _log_normal(dl, ds, ll, ls, ss, scale, flat):
    """Log density of N(0, scale^2 C) at (dl, ds), less log 2 pi; of dl alone if `flat`."""
    if flat:
        return -0.5 * dl * dl / (ll * scale * scale) - math.log(scale) - 0.5 * math.log(ll)
    det = max(ll * ss - ls * ls, _FLOOR * _FLOOR)
    square = (ss * dl * dl - 2.0 * ls * dl * ds + ll * ds * ds) / det
    return -0.5 * square / (scale * scale) - 2.0 * math.log(scale) - 0.5 * math.log(det)


@njit(error_model="numpy")
def _summarise(prior, belief, particles):
    """Turn log weights into weights that add up to 1; `belief` moves on. Returns the effective number of points.

    With few effective points the covariance says little: what it was is added, divided by one more than that number.
    So a single point that outweighs all others halves it: the next try looks closer around that point.
    """
    top = -np.inf
    for n in range(SIZE):
        top = max(top, particles[n, WEIGHT])
    if not top > -np.inf:  # no curve of this law can bear the evidence: begin again at the prior
        belief[MEAN_L], belief[MEAN_S], belief[EVIDENCE] = prior[0, L], prior[0, S], -np.inf
        belief[COV_LL], belief[COV_LS], belief[COV_SS] = prior[1, L], 0.0, prior[1, S]
        for n in range(SIZE):
            particles[n, WEIGHT] = 1.0 / SIZE
        return 0.0
    total, squares = 0.0, 0.0
    for n in range(SIZE):
        particles[n, WEIGHT] = math.exp(particles[n, WEIGHT] - top)
        total += particles[n, WEIGHT]
        squares += particles[n, WEIGHT] ** 2
    effective = total * total / squares
    ml, ms = 0.0, 0.0
    for n in range(SIZE):
        particles[n, WEIGHT] /= total
        ml += particles[n, WEIGHT] * particles[n, PL]
        ms += particles[n, WEIGHT] * particles[n, PS]
    kept = 1.0 / (1.0 + effective)
    ll, ls, ss = kept * belief[COV_LL], kept * belief[COV_LS], kept * belief[COV_SS]
    for n in range(SIZE):
        w, dl, ds = particles[n, WEIGHT], particles[n, PL] - ml, particles[n, PS] - ms
        ll += w * dl * dl
        ls += w * dl * ds
        ss += w * ds * ds
    belief[MEAN_L], belief[MEAN_S], belief[EVIDENCE] = ml, ms, top + math.log(total / SIZE)
    belief[COV_LL], belief[COV_LS], belief[COV_SS] = max(ll, _FLOOR), ls, max(ss, _FLOOR)
    return effective


@njit(error_model="numpy")
def population(candidate, maps, table, points, sums, prior, belief, key, first, row, missing, particles):
    """Fill `particles` with weighted curves; `belief` moves on to their mean and covariance."""
    flat = candidate[MAP] < 0.0  # a known shape: l alone
    offset1, offset2 = uniform(key, first), uniform(key, first + np.uint64(1))
    for attempt in range(_TRIES):
        ml, ms, ll, ls, ss = belief[MEAN_L], belief[MEAN_S], belief[COV_LL], belief[COV_LS], belief[COV_SS]
        root = math.sqrt(ll)
        cross = ls / root
        rest = math.sqrt(max(ss - cross * cross, _FLOOR))
        shift1, shift2 = offset1 + attempt * _TURN, offset2 + attempt * _TURN
        for n in range(SIZE):
            u1, u2 = shift1 + n * _STEP1, shift2 + n * _STEP2
            z1, z2 = ndtri(u1 - math.floor(u1)), ndtri(u2 - math.floor(u2))
            if n < _WIDE:
                scale = _SCALE1 if n < _NARROW else _SCALE2
                l, s = ml + scale * root * z1, ms + scale * (cross * z1 + rest * z2)
            else:
                l, s = prior[0, L] + math.sqrt(prior[1, L]) * z1, prior[0, S] + math.sqrt(prior[1, S]) * z2
            if flat:
                s = prior[0, S]
            value, t, sigma, skew = marginal(
                candidate, maps, table, points, sums, l, s, prior[0, T], prior[1, T], np.nan, row, missing
            )
            expected = _log_normal(l - prior[0, L], s - prior[0, S], prior[1, L], 0.0, prior[1, S], 1.0, flat)
            part1 = _SHARE1 + _log_normal(l - ml, s - ms, ll, ls, ss, _SCALE1, flat)
            part2 = _SHARE2 + _log_normal(l - ml, s - ms, ll, ls, ss, _SCALE2, flat)
            part3 = _SHARE3 + expected
            most = max(part1, part2, part3)
            density = most + math.log(math.exp(part1 - most) + math.exp(part2 - most) + math.exp(part3 - most))
            particles[n, WEIGHT], particles[n, PL], particles[n, PS] = value + expected - density, l, s
            particles[n, PT], particles[n, SIGMA] = t + 0.5 * skew * sigma, sigma
        if _summarise(prior, belief, particles) >= _LEAST:
            break
