"""What an arm takes at a price: where the slope of its curve, on a concave part of it, has fallen to the price."""

import math

import numpy as np

from headgate.kernels.curves import BASE, CAP, CASCADE, LOC, LOG_POWER, LOG_WEIGHT, NORM, A, B, log_slope
from headgate.kernels.part import njit
from headgate.laws.standard import Base

_GAMMA, _BURR, _NORMAL = int(Base.GAMMA), int(Base.BURR), int(Base.NORMAL)


@njit(error_model="numpy")
def _lambert(t):
    """Return y > 1 and log y with y - log y = 1 + t, t >= 0: -W of Lambert's lower branch.

    A series in sqrt(2 t) near 0, Barry's approximation elsewhere (2.5e-4 at the most), then one step of fourth order.
    """
    s = math.sqrt(2.0 * t)
    if t < 0.4:
        y = 1.0 / 4320.0 + s * (1.0 / 17010.0 - s * (139.0 / 5443200.0 - s / 204120.0))
        y = 1.0 + s * (1.0 + s * (1.0 / 3.0 + s * (1.0 / 36.0 + s * (s * y - 1.0 / 270.0))))
        if t < 0.005:  # all digits, which a step would lose
            return y, y - 1.0 - t
    else:
        slow = 0.014213 * s
        faded = 1.0 / (1.0 + slow * (1.0 + slow * (0.5 + slow / 6.0))) if t < 60.0 else math.exp(-slow)
        y = 1.0 + t + 2.0 / 0.3361 * (1.0 - 1.0 / (1.0 + 0.16805 * s / (1.0 - 0.0042 * t * faded)))
    log_y = math.log(y)
    slope = 1.0 - 1.0 / y
    n = (y - log_y - 1.0 - t) / slope
    second = 0.5 / (y * y * slope)  # f'' / 2 f'
    step = n * (1.0 + n * (second + n * (2.0 * second * second + second / (1.5 * y))))
    share = step / y
    return y - step, log_y - share * (1.0 + share * (0.5 + share * (1.0 / 3.0 + 0.25 * share)))


@njit(error_model="numpy")
def _gamma_root(c, log_c, excess):
    """Return z and log z with z - c log z = excess, the root right of c: where the density of a gamma base falls to it.

    `log_c` is log |c|. For c > 0, y = z / c solves Lambert's equation. For c < 0, p = log(z / |c|) solves
    exp(p) + p = r (Wright's omega): Halley's method triples the digits at every step.
    """
    if c == 0.0:
        return excess, (math.log(excess) if excess > 0.0 else -np.inf)
    if c > 0.0:
        y, log_y = _lambert(max(excess / c + log_c - 1.0, 0.0))
        return c * y, log_c + log_y
    r = -excess / c - log_c
    p = math.log(r - math.log(r)) if r > 1.5 else min(r, 0.0) - (0.56 if r > -0.5 else 0.0)
    for _ in range(12):
        grown = math.exp(p)
        gap = grown + p - r
        step = gap / (grown + 1.0 - 0.5 * gap * grown / (grown + 1.0))
        p -= step
        if abs(step) <= 1e-5:
            break
    return -c * math.exp(p), log_c + p


@njit(error_model="numpy")
def prepare_demand(rows):
    """Write to every arm's row what its demand needs each time: log |a - 1 / b| of a gamma base."""
    power, log_power = 0.0, 0.0
    for i in range(rows.shape[0]):
        c = abs(rows[i, A] - 1.0 / rows[i, B])
        if rows[i, BASE] == _GAMMA and c != power and c > 0.0:
            power, log_power = c, math.log(c)
        rows[i, LOG_POWER] = log_power


@njit(error_model="numpy")
def demand(rows, i, table, left_end, right_end, at_left, at_right, log_price, guess):
    """Return the x on a concave part [left_end, right_end] of arm i where f'(x) = price, and dx / dlog(price).

    The log slopes at its ends are given. Closed forms where the base has one; otherwise Newton in log x within a
    bracket, from `guess`.
    """
    if at_left <= log_price:
        return left_end, 0.0
    if at_right >= log_price:
        return right_end, 0.0
    loc, cap = rows[i, LOC], rows[i, CAP]
    if rows[i, CASCADE] == 0.0:
        base, a, b = rows[i, BASE], rows[i, A], rows[i, B]
        closed, sensitivity = -1.0, 0.0
        excess = rows[i, LOG_WEIGHT] + rows[i, NORM] + loc - log_price
        if cap < np.inf:
            power = math.exp(loc) - 1.0
            scaled = (log_price - rows[i, LOG_WEIGHT] - loc + math.log(cap)) / power
            closed = -cap * math.expm1(scaled)
            sensitivity = -cap * math.exp(scaled) / power
        elif base == _GAMMA and a == 1.0 and b == 1.0:
            scale = math.exp(-loc)
            closed, sensitivity = excess * scale, -scale
        elif base == _GAMMA:
            power = a - 1.0 / b
            z, log_z = _gamma_root(power, rows[i, LOG_POWER], excess)
            closed = math.exp(log_z / b - loc)
            sensitivity = -closed / max(b * (z - power), 1e-300)
        elif base == _BURR and b == 1.0:
            z = math.expm1(excess / (a + 1.0))
            scale = math.exp(-loc)
            closed, sensitivity = z * scale, -(1.0 + z) * scale / (a + 1.0)
        elif base == _NORMAL:
            root = math.sqrt(max(1.0 + 2.0 * b * b * excess, 0.0))
            closed = math.exp((root - 1.0) / (b * b) - loc)
            sensitivity = -closed / max(root, 1e-300)
        if closed >= 0.0:
            return min(max(closed, left_end), right_end), sensitivity
    left, right = math.log(max(left_end, 1e-300)), math.log(right_end)
    y = math.log(guess) if left_end < guess < right_end else 0.5 * (left + right)
    curve, last = -1.0, np.inf
    for _ in range(200):
        slope, curve = log_slope(rows[i], table, math.exp(y))
        excess = slope - log_price
        if excess > 0.0:
            left = y
        else:
            right = y
        following = y - excess / curve if curve < 0.0 else right + 1.0
        # Newton crawls where the log slope is as steep as an exponential: then halve the bracket.
        if not left <= following <= right or abs(excess) > 0.5 * last:
            following = 0.5 * (left + right)
            last = np.inf
        else:
            last = abs(excess)
        moved = abs(following - y)
        y = following
        if right - left <= 1e-15 * abs(right) or (moved <= 1e-9 and abs(excess) <= 1e-9):
            break  # the next step would move by about its square
    x = min(max(math.exp(y), left_end), right_end)
    return x, (x / curve if curve < 0.0 else 0.0)
