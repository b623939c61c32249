"""The mixture cure model row by row: the likelihood of one result with its gradient, and Fisher's information.

A row is a result of an arm with coordinates theta = (l, t, s), l = log median, t = logit p, s = log log(q75 / q25). A
failure at allocation x counts log(1 - p G(x)), a success with threshold X counts log p + log g(X), one that does not
tell its threshold log p + log G(x). Derivatives in l and t are exact, those in s central differences.
"""

import math

import numpy as np

from headgate.kernels.collapsed import place
from headgate.kernels.columns import MAP, SPAN, WHOLE
from headgate.kernels.compiled import gufunc
from headgate.kernels.cure import _step_probability as step_probability
from headgate.kernels.curves import BASE, CAP, COLUMNS, LOC, A, B, cdf, log_density, position
from headgate.kernels.part import njit
from headgate.laws.standard import Base

FAILED, SEEN, REACHED = range(3)
"""Kinds of rows: a failure, a success with its threshold, a success without."""
VALUE, G_L, G_T, G_S = range(4)
"""Where the numbers of a row stand: value, gradient."""
NUMBERS = 4

_GAMMA, _TABLE = int(Base.GAMMA), int(Base.TABLE)
_LARGE = 650.0  # log z beyond which only its being large matters
_TINY = 1e-300
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_EDGE = 1e-4  # the share of thresholds that an integral may leave out at either end
_EXACT = 48  # whole units that are looked at one by one
_CLIP = 35.0  # |logit p| beyond which p is 0 or 1 for any purpose


@njit(error_model="numpy")
def _density(row, table, u, whole, x):
    """Log density of a threshold x at u, and its derivative in log rate."""
    b = row[B]
    if whole:
        log_d, slope, _ = step_probability(b, math.exp(min(b * u, _LARGE)), x)
        return log_d, slope
    return log_density(row, table, min(u, _LARGE / b) if int(row[BASE]) == _GAMMA else u)


@njit(error_model="numpy")
def _at(candidate, maps, table, kind, amount, l, t, s, row, out):
    """Write value and gradient in (l, t) at a point whose s is one of the law's."""
    log_rate = place(candidate, maps, l, s, row)
    t = min(max(t, -_CLIP), _CLIP)
    small = math.exp(-abs(t))
    p, q = 1.0 / (1.0 + small), small / (1.0 + small)
    log_p = -math.log1p(small)
    if t < 0.0:
        p, q, log_p = q, p, log_p + t
    u = log_rate + position(row, amount)
    if kind == SEEN:
        value, slope = _density(row, table, u, candidate[WHOLE] > 0.0, amount)
        out[VALUE], out[G_L], out[G_T] = log_p + value, -slope, q  # l falls as the log rate rises
        return
    reached, missing = cdf(row, table, u)
    log_d = log_density(row, table, u)[0]
    if kind == REACHED:
        reached = max(reached, _TINY)
        ratio = math.exp(min(log_d - math.log(reached), _LARGE))
        out[VALUE], out[G_L], out[G_T] = log_p + math.log(reached), -ratio, q
        return
    left = max(q + p * missing, _TINY)  # 1 - p G
    out[VALUE], out[G_L], out[G_T] = math.log(left), p / left * math.exp(log_d), -p / left * q * reached


@gufunc(
    ["void(float64[:], float64[:,:,:], float64[:,:,:], int64, float64, float64[:], float64[:], float64[:])"],
    "(f),(q,c,n),(r,u,v),(),(),(t),(o)->(o)",
)
def row_likelihood(candidate, maps, table, kind, amount, theta, like, out):
    """Fill `out`, as long as `like`, with the log likelihood of a row and its gradient at theta.

    `amount` is the threshold of a success that told it, else the allocation, > 0. Beyond the spreads that the
    law can have the likelihood is level in s.
    """
    row = np.empty(COLUMNS)
    l, t, s = theta[0], theta[1], theta[2]
    out[G_S] = 0.0
    if candidate[MAP] < 0.0:
        _at(candidate, maps, table, kind, amount, l, t, s, row, out)
        return
    spans = maps[int(candidate[MAP])]
    step = spans[SPAN, 1]  # the map is straight in between, so that a shorter one would see corners
    inside = min(max(s, spans[SPAN, 0] + step), spans[SPAN, 0] + step * (spans.shape[1] - 2))
    _at(candidate, maps, table, kind, amount, l, t, inside, row, out)
    if s != inside:
        return
    side = np.empty((2, NUMBERS))
    for k in range(2):
        _at(candidate, maps, table, kind, amount, l, t, s + (2.0 * k - 1.0) * step, row, side[k])
    out[G_S] = (side[1, VALUE] - side[0, VALUE]) / (2.0 * step)


@njit(error_model="numpy")
def _add_square(weight, out, info):
    """Add weight times the square of a gradient to the information."""
    l, t, s = out[G_L], out[G_T], out[G_S]
    info[0] += weight * l * l
    info[1] += weight * l * t
    info[2] += weight * t * t
    info[3] += weight * l * s
    info[4] += weight * t * s
    info[5] += weight * s * s


@njit(error_model="numpy")
def _where(row, table, share, low, high):
    """The u at which the base reaches `share`, between two u."""
    for _ in range(40):
        middle = 0.5 * (low + high)
        if cdf(row, table, middle)[0] < share:
            low = middle
        else:
            high = middle
    return high


@njit(error_model="numpy")
def _with_spread(candidate, maps, table, kind, amount, l, t, s, step, row, side, out):
    """Write a row's value and gradient, its slope in s among it unless `step` is 0."""
    _at(candidate, maps, table, kind, amount, l, t, s, row, out)
    out[G_S] = 0.0
    if step > 0.0:
        _at(candidate, maps, table, kind, amount, l, t, s + step, row, side[1])
        _at(candidate, maps, table, kind, amount, l, t, s - step, row, side[0])
        out[G_S] = (side[1, VALUE] - side[0, VALUE]) / (2.0 * step)


@njit(error_model="numpy")
def _closed(row, u, p, q, b, info):
    """Information of the thresholds seen of an exponential law to a power: the integrals have closed forms."""
    z = math.exp(min(b * u, 500.0))
    left = math.exp(-z)
    if z < 1e-3:
        info[0] = p * b * b * z
        info[1], info[2] = -p * q * b * z, p * q * q * z
    else:
        info[0], info[1] = p * b * b * (1.0 - (z * z + 1.0) * left), -p * q * b * z * left
        info[2] = p * q * q * (1.0 - left)


@njit(error_model="numpy")
def _amount(row, u, log_rate, shift):
    """The amount at u."""
    if row[CAP] < np.inf:
        return -row[CAP] * math.expm1(-math.exp(u - log_rate - row[LOC]))
    return math.exp(u - shift)


@gufunc(
    ["void(float64[:], float64[:,:,:], float64[:,:,:], float64, float64, float64[:], float64[:], float64[:])"],
    "(f),(q,c,n),(r,u,v),(),(),(t),(o)->(o)",
)
def row_information(candidate, maps, table, x, told, theta, like, out):
    """Fill `out` with Fisher's information of a row at allocation x > 0: (ll, lt, tt, ls, ts, ss).

    `told` is the share of successes that tell their threshold. Unlike the Hessian of what came it is never negative,
    and it is small along the ridge on which median and activation trade.
    """
    work = np.empty((4, COLUMNS))  # once, and not four times: it costs as much as a row's formulas
    row, one, side = work[0], work[1], work[2:]
    for j in range(6):
        out[j] = 0.0
    l, t, s, step = theta[0], min(max(theta[1], -_CLIP), _CLIP), theta[2], 0.0
    if candidate[MAP] >= 0.0:
        spans = maps[int(candidate[MAP])]
        step = spans[SPAN, 1]
        inside = min(max(s, spans[SPAN, 0] + step), spans[SPAN, 0] + step * (spans.shape[1] - 2))
        step = step if s == inside else 0.0
        s = inside
    log_rate = place(candidate, maps, l, s, row)
    p, q = 1.0 / (1.0 + math.exp(-t)), 1.0 / (1.0 + math.exp(t))
    whole = candidate[WHOLE] > 0.0
    u = log_rate + position(row, x)
    reached, missing = cdf(row, table, u)
    if told > 0.0:
        if whole:
            n, before = 0.0, 1.0
            while n < x:
                width = 1.0 if n < _EXACT else math.floor(n / 8.0)
                end = min(n + width, x)
                after = cdf(row, table, log_rate + position(row, end))[1]
                _with_spread(
                    candidate, maps, table, SEEN, math.ceil(0.5 * (n + 1.0 + end)), l, t, s, step, row, side, one
                )
                place(candidate, maps, l, s, row)
                _add_square(told * p * (before - after), one, out)
                n, before = end, after
        elif int(row[BASE]) == _GAMMA and row[A] == 1.0 and step == 0.0:
            _closed(row, u, p, q, row[B], out)
            for j in range(3):
                out[j] *= told
        elif reached > 1e-12:
            wide = 60.0 / min(row[B], 1.0) if int(row[BASE]) != _TABLE else 60.0
            first = _where(row, table, _EDGE * reached, u - wide, u)
            last = _where(row, table, min((1.0 - _EDGE) * reached, reached), first, u)
            shift = log_rate + position(row, 1.0)
            half = 0.5 * (last - first)
            for k in range(_NODES.size):
                at = first + half * (1.0 + _NODES[k])
                weight = half * _WEIGHTS[k] * math.exp(log_density(row, table, at)[0])
                amount = _amount(row, at, log_rate, shift)
                _with_spread(candidate, maps, table, SEEN, amount, l, t, s, step, row, side, one)
                place(candidate, maps, l, s, row)
                _add_square(told * p * weight, one, out)
    _with_spread(candidate, maps, table, FAILED, x, l, t, s, step, row, side, one)
    _add_square(max(q + p * missing, 0.0), one, out)
    if told < 1.0 and reached > 1e-300:
        _with_spread(candidate, maps, table, REACHED, x, l, t, s, step, row, side, one)
        _add_square((1.0 - told) * p * reached, one, out)
