"""A bound by the number of arms that are "on": what closes the gap between near-equal S-shaped arms.

An arm whose curve is convex and then concave is off (at its lower limit), on (beyond its inflection) or between. Of two
arms between, shifting budget from one to the other loses nothing in one of the two directions, up to where one of them
is off or on: so some best allocation has at most one arm between. With exactly m arms on, and arm j between at an
amount within [a_j, b_j], an allocation is worth at most, for every price nu >= 0,

    nu * budget + sum_i off_i + the m largest (on_i - off_i) of the others + between_j - off_j,

where off_i, on_i and between_i are the largest f_i(x) - nu x there (a curve that is convex has it at an end). The
largest of that over j needs one pass over the arms; the least of it over nu is a convex problem in one variable. What
is left of the gap is closed by splitting [a, b], or by saying of an arm whether it is on, off or the one between
(`states`).

Of a tabulated curve nobody knows that it is convex before its peak: such an arm is cut where f(x) - nu x has its
valley, is off before and on beyond, and never the one between; what its knots tell otherwise raises the bound.
"""

import math

import numpy as np

from headgate.kernels import hull as h
from headgate.kernels.curves import BASE, convex_part, log_slope, value
from headgate.kernels.demand import demand
from headgate.kernels.heap import largest
from headgate.kernels.part import njit
from headgate.kernels.relax import hull_demand, overlooked
from headgate.laws.standard import Base

_TABLE = int(Base.TABLE)

# Columns of an arm: what it gets at the least if it is on, and at the most if it is off; where it turns concave, and
# the log slope there; f at both ends of being off; the ends of the interval in which it may be between, and f there.
ON_FROM, OFF_TO, BEND, AT_BEND, F_OFF, F_OFF_TO, A, B, F_A, F_B = range(10)
COLUMNS = 10

# What is known of an arm: nothing; its state; that it is not the one between. CONCAVE arms are not counted.
FREE, ON, OFF, BETWEEN, DECIDED, CONCAVE = range(6)


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
def fill_states(arm, row, table, hull, log_price):
    """Write where an arm is on and off; return whether it is counted: CONCAVE, DECIDED (a table) or FREE; -1: refused.

    A curve that is concave, convex and concave again (`hull`) has no such states.
    """
    low, high = hull[h.LOW], hull[h.HIGH]
    if high <= low:
        return CONCAVE
    if hull[h.START] > low:
        return -1
    _, bend = convex_part(row, table, low, high)
    if bend <= low:
        return CONCAVE
    tabulated = row[BASE] == _TABLE
    arm[BEND], arm[AT_BEND] = bend, log_slope(row, table, bend)[0]
    arm[OFF_TO] = _valley(row, table, low, bend, log_price) if tabulated else low
    if tabulated and (bend >= high or arm[OFF_TO] <= low):
        return CONCAVE
    arm[ON_FROM] = arm[OFF_TO] if tabulated else bend
    arm[F_OFF], arm[F_OFF_TO] = value(row, table, low), value(row, table, arm[OFF_TO])
    return DECIDED if tabulated else FREE


@njit(error_model="numpy")
def fill_between(arms, known, rows, table, hulls, first, last):
    """Write the interval in which each arm may be between: from the share `first` of its convex part to `last`."""
    for i in range(rows.shape[0]):
        if known[i] in (FREE, BETWEEN):
            low = hulls[i, h.LOW]
            arms[i, A] = low + first * (arms[i, BEND] - low)
            arms[i, B] = low + last * (arms[i, BEND] - low) if last < 1.0 else arms[i, BEND]
            arms[i, F_A], arms[i, F_B] = value(rows[i], table, arms[i, A]), value(rows[i], table, arms[i, B])


@njit(error_model="numpy")
def _dual(rows, table, hulls, arms, known, budget, m, apart, log_price, on, gain, x):
    """The bound at this price with m arms on; its demand, the slope of that, and which arm is between (-1: none).

    `apart`: the arm between is so far from off that there must be one. `on` says which arms are on; `gain` what each
    that may be on or off adds by that, before one of them is between (-inf: the others); `x` is the demand of arms
    that are on, and a guess for the next call.
    """
    count, price = rows.shape[0], math.exp(log_price)
    bound, total, change, left, able, between = price * budget, 0.0, 0.0, m, 0, -1
    slopes, off, extra = np.empty(count), np.empty(count), np.empty(count)
    for i in range(count):
        low, state = hulls[i, h.LOW], known[i]
        on[i], gain[i], off[i], extra[i] = False, -np.inf, low, -np.inf
        if state == CONCAVE:
            x[i], slope = hull_demand(rows, i, table, hulls, log_price, x[i])
            bound += value(rows[i], table, x[i]) - price * x[i]
            total += x[i]
            change += slope
            continue
        if state in (BETWEEN, FREE):
            at_a, at_b = arms[i, F_A] - price * arms[i, A], arms[i, F_B] - price * arms[i, B]
            extra[i] = max(at_a, at_b)
            if state == BETWEEN:
                between = i
                bound += extra[i]
                total += arms[i, A] if at_a >= at_b else arms[i, B]
                continue
        if state != OFF:
            x[i], slopes[i] = demand(
                rows, i, table, arms[i, BEND], hulls[i, h.HIGH], arms[i, AT_BEND], hulls[i, h.AT_HIGH], log_price, x[i]
            )
            beyond = value(rows[i], table, x[i]) - price * x[i]
            if arms[i, ON_FROM] < arms[i, BEND] and arms[i, F_OFF_TO] - price * arms[i, ON_FROM] > beyond:
                x[i], slopes[i] = arms[i, ON_FROM], 0.0
                beyond = arms[i, F_OFF_TO] - price * x[i]
            if state == ON:
                on[i] = True
                left -= 1
                bound += beyond
                total += x[i]
                change += slopes[i]
                continue
        best = arms[i, F_OFF] - price * low
        if arms[i, OFF_TO] > low and arms[i, F_OFF_TO] - price * arms[i, OFF_TO] > best:
            best, off[i] = arms[i, F_OFF_TO] - price * arms[i, OFF_TO], arms[i, OFF_TO]
        bound += best
        total += off[i]
        extra[i] -= best
        if state != OFF:
            gain[i] = beyond - best
            able += 1
    if left < 0 or left > able:
        return -np.inf, total, change, -1
    threshold = largest(gain.copy(), left) if left > 0 else np.inf
    rest = left
    for i in range(count):
        if gain[i] > threshold:
            on[i] = True
            rest -= 1
    following = -1  # the best of those that are not among the m
    for i in range(count):
        if gain[i] == -np.inf or gain[i] > threshold:
            continue
        if rest > 0 and gain[i] == threshold:  # ties in the order of the arms
            on[i] = True
            rest -= 1
        elif following < 0 or gain[i] > gain[following]:
            following = i
    if between < 0 and left < able:
        most = -np.inf if apart else 0.0
        for i in range(count):
            if gain[i] > -np.inf:
                more = extra[i] + (gain[following] - gain[i] if on[i] else 0.0)
                if more > most:
                    between, most = i, more
        if between >= 0:
            bound += extra[between]
            at_a = arms[between, F_A] - price * arms[between, A]
            at_b = arms[between, F_B] - price * arms[between, B]
            total += (arms[between, A] if at_a >= at_b else arms[between, B]) - off[between]
            if on[between]:
                on[between], on[following] = False, True
        elif apart:
            return -np.inf, total, change, -1
    elif between < 0 and apart:
        return -np.inf, total, change, -1
    for i in range(count):
        if on[i] and gain[i] > -np.inf:
            bound += gain[i]
            total += x[i] - off[i]
            change += slopes[i]
    return bound, total, change, between


@njit(error_model="numpy")
def _unexpected(rows, table, hulls, arms, known, price, gain, x):
    """What the bound must be raised by where a tabulated curve is higher than its shape lets expect."""
    extra = 0.0
    for i in range(rows.shape[0]):
        low, high = hulls[i, h.LOW], hulls[i, h.HIGH]
        if rows[i, BASE] != _TABLE or high <= low:
            continue
        f_low, f_high = hulls[i, h.F_LOW], hulls[i, h.F_HIGH]
        if known[i] == CONCAVE:
            claim = value(rows[i], table, x[i]) - price * x[i]
            extra += overlooked(rows[i], table, low, high, f_low, f_high, price, claim)
            continue
        cut, at = arms[i, OFF_TO], arms[i, F_OFF_TO]
        more = 0.0
        if known[i] != ON:
            claim = max(arms[i, F_OFF] - price * low, at - price * cut)
            more = overlooked(rows[i], table, low, cut, f_low, at, price, claim)
        if known[i] != OFF:
            claim = value(rows[i], table, x[i]) - price * x[i]
            more = max(more, overlooked(rows[i], table, cut, high, at, f_high, price, claim))
        extra += more
    return extra


@njit(error_model="numpy")
def least_bound(
    rows, table, hulls, arms, known, budget, m, apart, enough, slack, start, left, right, on, gain, x, on_left, on_right
):
    """The least bound with m arms on over the log prices within [left, right], from `start`; its log price.

    Also the arm between there, and the two arms between on both sides of it, -1 for none; `on`, `gain` and `x` are as
    they are there, `on_left` and `on_right` as they are beside it, where demand exceeds the budget and falls short of
    it. The bound falls with the price by demand - budget, and demand falls: what is left to gain is known. It stops at
    a bound of `enough` or less, or where no more than `slack`, or 2% of the way there, is left to gain.
    """
    log_price, best, best_price, below, above = start, np.inf, start, -1, -1
    far_left, far_right, stride = left, right, 0.25
    for step in range(80):
        bound, total, change, between = _dual(rows, table, hulls, arms, known, budget, m, apart, log_price, on, gain, x)
        if bound == -np.inf:
            return bound, start, -1, -1, -1
        if bound < best:
            best, best_price = bound, log_price
        if total > budget or step == 0:
            below = between
            for i in range(on.size):
                on_left[i] = on[i]
        if total <= budget or step == 0:
            above = between
            for i in range(on.size):
                on_right[i] = on[i]
        if total > budget:
            left = log_price
        else:
            right = log_price
        to_gain = abs(total - budget) * abs(math.exp(right if total > budget else left) - math.exp(log_price))
        if bound <= enough or to_gain <= max(slack, 0.02 * (bound - enough)):
            break
        if abs(total - budget) <= 1e-10 * budget or right - left <= 1e-13 * max(abs(left), 1.0):
            break
        following = right + 1.0
        if change < 0.0 and total > 0.0 and step % 4 != 3:
            following = log_price - math.log(total / budget) * total / change
        if not left < following < right:
            following = 0.5 * (left + right)
        # Towards an end that nobody has looked at: further at every step, but not halfway at once.
        if (total > budget and right == far_right) or (total <= budget and left == far_left):
            stride *= 2.0
            following = min(max(following, log_price - stride), log_price + stride)
        log_price = following
    _, _, _, between = _dual(rows, table, hulls, arms, known, budget, m, apart, best_price, on, gain, x)
    best += _unexpected(rows, table, hulls, arms, known, math.exp(best_price), gain, x)
    return best, best_price, between, below, above
