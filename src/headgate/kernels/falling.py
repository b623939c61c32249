"""The best allocation in whole units where every arm's next unit is worth less than the one before.

Then the best units, whoever's they are, are the optimum: all that are worth more than some price. The price is guessed
from a sample of the arms; every arm takes its units at that price, which fixes nearly all of them; the price is moved
until about the budget is spent, at the cost of the units that change; and the last few are taken or given back one by
one, the best or the worst first. So no unit is looked at that is not near the price.
"""

import math

import numpy as np

from headgate.kernels.curves import LOG_WEIGHT, B, convex_part, log_slope
from headgate.kernels.curves import value as worth_of
from headgate.kernels.demand import demand
from headgate.kernels.heap import largest, pop, push
from headgate.kernels.part import njit

_SAMPLE = 200  # arms, at least, of which the price is guessed


@njit(error_model="numpy")
def all_fall(rows, table, lower, high):
    """Whether no arm has a convex stretch."""
    for i in range(rows.shape[0]):
        if high[i] > lower[i] and convex_part(rows[i], table, lower[i], high[i])[1] > lower[i]:
            return False
    return True


@njit(error_model="numpy")
def _wanted(rows, i, table, low, high, log_price):
    """About how many units an arm takes at a price, the unit after n taken to be worth f'(n + 1/2); d / d log price."""
    if high <= low or rows[i, LOG_WEIGHT] == -np.inf:
        return low, 0.0
    steep = log_slope(rows[i], table, low)[0] if low > 0.0 or rows[i, B] >= 1.0 else np.inf
    x, change = demand(rows, i, table, low, high, steep, -np.inf, log_price, 0.5 * (low + high))
    return min(math.floor(x + 0.5), high), change


@njit(error_model="numpy")
def _guess(rows, table, lower, high, budget):
    """A log price at which a sample of the arms takes its share of the budget: Newton, from where all are worth 0."""
    step, goal, log_price = max(rows.shape[0] // _SAMPLE, 1), 0.0, -np.inf
    for i in range(0, rows.shape[0], step):
        goal += 1.0
        if high[i] > lower[i] and rows[i, LOG_WEIGHT] > -np.inf:
            log_price = max(log_price, log_slope(rows[i], table, lower[i] + 0.5)[0])
    goal *= budget / rows.shape[0]
    left, right = -np.inf, np.inf
    for _ in range(30):
        total, change = 0.0, 0.0
        for i in range(0, rows.shape[0], step):
            n, slope = _wanted(rows, i, table, lower[i], high[i], log_price)
            total += n
            change += slope
        if abs(total - goal) <= 0.01 * goal + 1.0:
            break
        if total > goal:
            left = log_price
        else:
            right = log_price
        move = (goal - total) / change if change < 0.0 else (1.0 if total > goal else -1.0)
        following = log_price + min(max(move, -2.0), 2.0)
        if not left < following < right:
            following = 0.5 * (left + right)
        log_price = following
    return log_price


@njit(error_model="numpy")
def _add(rows, i, table, high, x, worth):
    """One unit more for an arm, if it may have one: `worth` is f one unit before what it has, there and one beyond."""
    x[i] += 1.0
    worth[i, 0], worth[i, 1] = worth[i, 1], worth[i, 2]
    if x[i] < high[i]:  # else the next unit is worth nothing
        worth[i, 2] = worth_of(rows[i], table, x[i] + 1.0)


@njit(error_model="numpy")
def _give_back(rows, i, table, lower, x, worth):
    """One unit less for an arm."""
    x[i] -= 1.0
    worth[i, 2], worth[i, 1] = worth[i, 1], worth[i, 0]
    worth[i, 0] = worth_of(rows[i], table, x[i] - 1.0) if x[i] > lower[i] else -np.inf


@njit(error_model="numpy")
def allocate_falling(rows, table, lower, high, budget, x):
    """Write to x the best whole units within the budget, which is less than all; returns their value and the last's."""
    arms, log_price = rows.shape[0], _guess(rows, table, lower, high, budget)
    worth, price, taken, change = np.empty((arms, 3)), math.exp(log_price), 0.0, 0.0
    for i in range(arms):
        x[i], slope = _wanted(rows, i, table, lower[i], high[i], log_price)
        change += slope
        taken += x[i]
        worth[i, 1] = worth_of(rows[i], table, x[i])
        worth[i, 0] = worth_of(rows[i], table, x[i] - 1.0) if x[i] > lower[i] else -np.inf
        worth[i, 2] = worth_of(rows[i], table, x[i] + 1.0) if x[i] < high[i] else worth[i, 1]
    left, right = -np.inf, np.inf
    for _ in range(20):
        for i in range(arms):
            before = x[i]
            while worth[i, 2] - worth[i, 1] > price:
                _add(rows, i, table, high, x, worth)
            while worth[i, 1] - worth[i, 0] <= price:
                _give_back(rows, i, table, lower, x, worth)
            taken += x[i] - before
        if abs(taken - budget) <= 16.0 + arms / 64.0 or change >= 0.0:
            break
        if taken > budget:
            left = log_price
        else:
            right = log_price
        moved = log_price + min(max((budget - taken) / change, -2.0), 2.0)
        log_price = moved if left < moved < right else 0.5 * (left + right)
        price = math.exp(log_price)
    # The last few: of the units that follow the best, or of the last units the worst.
    more, rest, size = taken < budget, int(abs(budget - taken)), 0
    key, heap = np.empty(arms), np.empty(arms, np.int64)
    for i in range(arms):
        key[i] = worth[i, 2] - worth[i, 1] if more else worth[i, 0] - worth[i, 1]
    if rest > 0:
        enough = largest(key.copy(), min(rest, arms))  # so many units are worth that: none that is worth less is needed
        for i in range(arms):
            if key[i] >= enough and (key[i] > 0.0 or not more):
                size = push(heap, size, key, i)
    while rest > 0 and size > 0:
        i, size = pop(heap, size, key)
        rest -= 1
        if more:
            _add(rows, i, table, high, x, worth)
            key[i] = worth[i, 2] - worth[i, 1]
        else:
            _give_back(rows, i, table, lower, x, worth)
            key[i] = worth[i, 0] - worth[i, 1]
        if key[i] > (0.0 if more else -np.inf):
            size = push(heap, size, key, i)
    total, least = 0.0, np.inf
    for i in range(arms):
        total += worth[i, 1]
        least = min(least, worth[i, 1] - worth[i, 0])
    return total, (least if least < np.inf else 0.0)
