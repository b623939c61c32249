"""Beside branch and bound: the one arm that the hulls leave on its chord gets all of it or nothing.

The others take up what that leaves, or do without it, each by how it answers to the price. Of many arms each then moves
by so little that the loss, price * d^2 / (2 |dX / d log price|) for an amount d, is often below the tolerance, and the
bound of the hulls says so: no interval has to be split.
"""

import numpy as np

from headgate.kernels import hull as h
from headgate.kernels.curves import value
from headgate.kernels.part import njit
from headgate.kernels.relax import hull_demand

_FAR = 100.0  # how far beyond the tolerance the square of d / budget is hopeless


@njit(error_model="numpy")
def round_off(rows, table, hulls, budget, log_price, partial, loss, x, rounded):
    """Write to `rounded` the allocation x without a part of a chord; return its value.

    -infinity: the others cannot make up for it, or it would cost more than `loss` of every unit of the value.
    """
    start, touch = hulls[partial, h.START], hulls[partial, h.TOUCH]
    end = start if x[partial] - start < touch - x[partial] else touch
    left = x[partial] - end
    if left * left > _FAR * loss * budget * budget:
        return -np.inf
    sensitivity, worth = 0.0, 0.0
    for i in range(x.size):
        change = 0.0
        if i != partial and hulls[i, h.CHORD] != log_price:
            change = hull_demand(rows, i, table, hulls, log_price, x[i])[1]
        rounded[i] = change
        sensitivity += change
    if not sensitivity < 0.0:
        return -np.inf
    widest, room, spent = -1, 0.0, 0.0
    for i in range(x.size):
        change, rounded[i] = rounded[i] * left / sensitivity, x[i]
        if i == partial:
            rounded[i] = end
        elif change != 0.0:
            lower = hulls[i, h.TOUCH] if hulls[i, h.CHORD] > log_price else hulls[i, h.LOW]
            rounded[i] = min(max(x[i] + change, lower), hulls[i, h.HIGH])
            if rounded[i] - lower > room:
                widest, room = i, rounded[i] - lower
        spent += rounded[i]
    if spent > budget:
        if spent - budget > room:
            return -np.inf
        rounded[widest] -= spent - budget
    for i in range(x.size):
        worth += value(rows[i], table, rounded[i])
    return worth
