"""A bound by the number of arms that are "on", beyond a cut: what closes the gap between near-equal arms.

Cut the interval of every S-shaped arm where f(x) - nu x has its valley, at the price nu of the hulls. Every allocation
has some number m of arms on, beyond their cut. With exactly m of them, for every price nu >= 0, it is worth at most
nu * budget + sum_i off_i(nu) + the m largest on_i(nu) - off_i(nu), where on_i and off_i are the largest f_i(x) - nu x
beyond the cut and before it (there f is convex: at an end). L(m), the least of that over nu, is concave in m, so the
few m around the best one are all that need to be looked at.
"""

import math

import numpy as np
from numba import njit

from headgate.kernels import hull as h
from headgate.kernels.curves import BASE, convex_part, log_slope, value
from headgate.kernels.hull import demand, fill_hull
from headgate.kernels.relax import hull_demand, relax
from headgate.laws.standard import Base

_TABLE = int(Base.TABLE)
_MOST = 64  # numbers of arms looked at


@njit(error_model="numpy")
def _largest(values, m):
    """The m-th largest of the values (m >= 1), by quickselect; the array is reordered."""
    low, high, k = 0, values.size - 1, m - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@njit(error_model="numpy")
def _dual(rows, table, hulls, cut, bend, at_bend, budget, m, log_price, on, x):
    """The bound for m arms on at this price, its demand and the slope of that; `on` says which arms are on.

    `x` is the demand of arms that are on, and a guess for the next call.
    """
    arms, price = rows.shape[0], math.exp(log_price)
    bound, total, change = price * budget, 0.0, 0.0
    gain, slopes, off = np.empty(arms), np.empty(arms), np.empty(arms)
    for i in range(arms):
        low = hulls[i, h.LOW]
        if cut[i] <= low:  # not S-shaped: its hull
            x[i], slope = hull_demand(rows[i], table, hulls[i], log_price, x[i])
            bound += value(rows[i], table, x[i]) - price * x[i]
            total += x[i]
            change += slope
            gain[i] = -np.inf
            continue
        x[i], slopes[i] = demand(
            rows[i], table, bend[i], hulls[i, h.HIGH], at_bend[i], hulls[i, h.AT_HIGH], log_price, x[i]
        )
        at_low, at_cut = hulls[i, h.F_START] - price * low, value(rows[i], table, cut[i]) - price * cut[i]
        off[i] = low if at_low >= at_cut else cut[i]
        bound += max(at_low, at_cut)
        total += off[i]
        beyond = value(rows[i], table, x[i]) - price * x[i]
        if at_cut > beyond:
            beyond, x[i], slopes[i] = at_cut, cut[i], 0.0
        gain[i] = beyond - max(at_low, at_cut)
    threshold = _largest(gain.copy(), m) if m > 0 else np.inf
    left = m
    for i in range(arms):
        on[i] = gain[i] > threshold
        left -= on[i]
    for i in range(arms):  # ties in the order of the arms
        if left > 0 and gain[i] == threshold:
            on[i] = True
            left -= 1
        if on[i]:
            bound += gain[i]
            total += x[i] - off[i]
            change += slopes[i]
    return bound, total, change


@njit(error_model="numpy")
def _least_bound(rows, table, hulls, cut, bend, at_bend, budget, m, start, left, right, on, x):
    """L(m), and its log price: where the demand of m arms on meets the budget; `on` is left as it is there."""
    log_price, best, best_price = start, np.inf, start
    for step in range(60):
        bound, total, change = _dual(rows, table, hulls, cut, bend, at_bend, budget, m, log_price, on, x)
        if bound < best:
            best, best_price = bound, log_price
        if total > budget:
            left = log_price
        else:
            right = log_price
        if abs(total - budget) <= 1e-10 * budget or right - left <= 1e-14 * max(abs(left), 1.0):
            break
        following = right + 1.0
        if change < 0.0 and total > 0.0 and step % 4 != 3:
            following = log_price - math.log(total / budget) * total / change
        if not left < following < right:
            following = 0.5 * (left + right)
        log_price = following
    return best, best_price


@njit(error_model="numpy")
def _valley(row, table, low, bend, log_price):
    """Where the slope of the convex part [low, bend] reaches the price; `low` if it is steeper from there on."""
    if log_slope(row, table, low)[0] >= log_price:
        return low
    left, right = math.log(max(low, 1e-9 * bend)), math.log(bend)
    for _ in range(40):
        middle = 0.5 * (left + right)
        if log_slope(row, table, math.exp(middle))[0] < log_price:
            left = middle
        else:
            right = middle
    return math.exp(right)


@njit(error_model="numpy")
def count_bound(rows, table, hulls, budget, tol, start, best, best_price, best_x):
    """Bound the problem by the number of arms on; write a better allocation, if there is one, to best_x.

    Returns the bound (infinite if the arms do not have the shape it needs), and the value and log price of best_x.
    """
    arms = rows.shape[0]
    cut, bend, at_bend = np.empty(arms), np.empty(arms), np.empty(arms)
    left, right, counted, m = np.inf, -np.inf, 0, 0
    for i in range(arms):
        low, high = hulls[i, h.LOW], hulls[i, h.HIGH]
        cut[i], bend[i], at_bend[i] = low, low, 0.0
        if high <= low:
            continue
        if rows[i, BASE] == _TABLE or hulls[i, h.START] > low:
            return np.inf, best, best_price
        left, right = min(left, hulls[i, h.AT_HIGH]), max(right, hulls[i, h.AT_LOW])
        _, end = convex_part(rows[i], table, low, high)
        if low < end < high:
            bend[i], at_bend[i] = end, log_slope(rows[i], table, end)[0]
            right = max(right, at_bend[i])
            cut[i] = _valley(rows[i], table, low, end, start)
            counted += cut[i] > low
            m += cut[i] > low and best_x[i] >= cut[i]
    if counted < 2:
        return np.inf, best, best_price
    left, right = left - 1.0, right + 1.0
    on, x, guess, here = np.empty(arms, np.bool_), np.empty(arms), best_x.copy(), np.empty_like(hulls)
    bound = best
    for direction in (1, -1):
        k, log_price, before = (m if direction == 1 else m - 1), start, np.inf
        for _ in range(_MOST):
            if not 0 <= k <= counted:
                break
            if before < np.inf and _ == _MOST - 1:
                return np.inf, best, best_price
            limit, log_price = _least_bound(
                rows, table, hulls, cut, bend, at_bend, budget, k, log_price, left, right, on, guess
            )
            if limit > best:  # the best allocation with these arms on: the others before their inflection
                least = 0.0
                for i in range(arms):
                    if cut[i] <= hulls[i, h.LOW]:
                        for column in range(h.COLUMNS):
                            here[i, column] = hulls[i, column]
                    else:
                        low, high = (cut[i], hulls[i, h.HIGH]) if on[i] else (hulls[i, h.LOW], cut[i])
                        fill_hull(here[i], rows[i], table, low, high)
                    least += here[i, h.LOW]
                if least <= budget:
                    for i in range(arms):
                        x[i] = guess[i]
                    _, worth, at, _ = relax(rows, table, here, budget, log_price, x)
                    if worth > best:
                        best, best_price = worth, at
                        for i in range(arms):
                            best_x[i] = x[i]
            bound = max(bound, limit)
            if limit <= best * (1.0 + 0.25 * tol) and limit <= before:
                break
            before = limit
            k += direction
    return max(bound, best), best, best_price
