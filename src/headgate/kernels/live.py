"""A live round: which arm to serve next and how long, when what a success leaves over is free for the others.

The rule serves the arm with the largest index (`live_index`) for as long as that stays the largest; the last two or
three arms, if a known budget is short for them, by dynamic programming (`live_exact`).

A round's numbers: curves `x` and `y` by points, `worth` of a success, `whole` units or not, `upper`, the most that an
arm may get (0 once it has succeeded), `spent`, what each has had, `left`, what is left as far as the rule knows,
`gone`, what all have had; `times` and `chances`, the points of H. `known` keeps of each arm its index and the d that it
belongs to, as long as they are right: d is infinite if they have to be found again.
"""

import math

import numpy as np

from headgate.kernels.live_exact import exact_step
from headgate.kernels.live_index import index_of
from headgate.kernels.part import njit

INDEX, STRETCH = range(2)
"""Columns of `known`."""
# No step is shorter than these shares of what is of use from now on, and of all that is: falling hazards would switch
# without end. Of use is what brings an arm to this share of what it can reach.
_OF_LEFT, _OF_ALL, _MOST = 1.0 / 128.0, 1.0 / 2048.0, 0.95
_CELLS = (48, 32)  # of dynamic programming for two and for three arms


@njit(error_model="numpy")
def _refresh(x, y, worth, whole, cascade, upper, spent, left, gone, times, chances, known):
    """Find the indices that are not known; return the arm with the largest (-1 if none is above 0) and the second."""
    arm, top, second = -1, 0.0, 0.0
    for i in range(worth.size):
        room = min(left, upper[i] - spent[i])
        if room <= 0.0:
            continue
        if known[i, STRETCH] > room or times.size > 0:
            known[i, INDEX], known[i, STRETCH] = index_of(
                x[i], y[i], worth[i], whole[i], cascade, spent[i], room, gone, times, chances
            )
        if known[i, INDEX] > top:
            arm, top, second = i, known[i, INDEX], top
        elif known[i, INDEX] > second:
            second = known[i, INDEX]
    return arm, second


@njit(error_model="numpy")
def useful_to(x, y, upper, spent, left):
    """What arms can still use: what is left, or if that is less, what brings each to most of what it can reach."""
    needed = 0.0
    for i in range(upper.size):
        if upper[i] > spent[i]:
            enough = x[i, np.searchsorted(y[i], _MOST * y[i, -1])]
            needed += max(min(enough, upper[i]) - spent[i], 0.0)
            if needed >= left:
                return left
    return needed


@njit(error_model="numpy")
def _at_least(amount, whole, room, useful, gone):
    """The amount of a step, or the least that a step has; in whole units if these are served."""
    least = min(max(_OF_LEFT * useful, _OF_ALL * (gone + useful)), room)
    if amount >= least:
        return min(amount, room)
    return math.floor(min(math.ceil(least), room)) if whole else least


@njit(error_model="numpy")
def stretch(x, y, worth, whole, cascade, room, spent, useful, gone, times, chances, amount, second):
    """How long an arm is served, first for `amount`: while its index stays above the second."""
    while amount < room:
        index, more = index_of(
            x, y, worth, whole, cascade, spent + amount, room - amount, gone + amount, times, chances
        )
        if index < second or more <= 0.0:
            break
        amount += more
    return _at_least(amount, whole, room, useful, gone)


@njit(error_model="numpy")
def last_arms(whole, cascade, upper, spent, left, useful, times):
    """The arms that can still be served, if dynamic programming takes them: two or three, all in whole units or none.

    The budget must be known and short of what they can use.
    """
    if cascade or times.size > 0 or useful < left:
        return np.empty(0, np.int64)
    who, count = np.empty(3, np.int64), 0
    for i in range(upper.size):
        if upper[i] > spent[i]:
            if count == 3 or whole[i] != whole[who[0] if count > 0 else i]:
                return who[:0]
            who[count] = i
            count += 1
    return who[:count] if count > 1 else who[:0]


@njit(error_model="numpy")
def choose(x, y, worth, whole, cascade, upper, spent, left, gone, times, chances, known, exact):
    """Return the arm to serve next and how long, -1 if none is worth it."""
    useful = useful_to(x, y, upper, spent, left)
    if exact:
        who = last_arms(whole, cascade, upper, spent, left, useful, times)
        if who.size > 0:
            cells = _CELLS[0] if who.size == 2 else _CELLS[1]
            arm, amount = exact_step(x, y, worth, whole[who[0]], upper, spent, left, who, cells)
            return arm, _at_least(amount, whole[arm], min(left, upper[arm] - spent[arm]), useful, gone)
    arm, second = _refresh(x, y, worth, whole, cascade, upper, spent, left, gone, times, chances, known)
    if arm < 0:
        return arm, 0.0
    room = min(left, upper[arm] - spent[arm])
    amount = stretch(
        x[arm], y[arm], worth[arm], whole[arm], cascade, room, spent[arm], useful, gone, times, chances,
        known[arm, STRETCH], second,
    )  # fmt: skip
    return arm, amount


@njit(error_model="numpy")
def serve(reach, upper, spent, known, arm, amount):
    """Serve an arm against its threshold: return what that took, and whether it succeeded."""
    known[arm, STRETCH] = np.inf
    before = spent[arm]
    if reach[arm] <= before + amount:
        spent[arm], upper[arm] = reach[arm], 0.0
        return reach[arm] - before, True
    spent[arm] = before + amount
    return amount, False


@njit(error_model="numpy")
def finish(x, y, worth, whole, cascade, upper, spent, told, gone, budget, times, chances, known, exact, reach):
    """Play a round to its end against thresholds; `told` is the budget the rule knows of. Return what it brings."""
    brought = 0.0
    while gone < budget * (1.0 - 1e-12):
        arm, amount = choose(x, y, worth, whole, cascade, upper, spent, told - gone, gone, times, chances, known, exact)
        if arm < 0 or amount <= 0.0:
            break
        took, won = serve(reach, upper, spent, known, arm, min(amount, budget - gone))
        gone += took
        if won:
            brought += worth[arm]
            if cascade:
                break
    return brought
