"""The split of a budget between envelopes: curves known at places of log x, cubic between, of any shape.

Each arm's curve is looked at on a grid of amounts. The concave hulls of these points give the price at which the budget
is spent; there at most one arm stands on a chord of its hull, where its curve is lower. Both ends of that chord are
tried, what is left going to whom it helps most, and the better is taken, then polished by exchanges between two arms.
Whole units are exact grid points, so never rounded up.
"""

import math

import numpy as np
from numba import njit

from headgate.kernels.compiled import gufunc

_SURE = 1.0 - 1e-12
_BISECTIONS = 60
_STEPS = (0.04, 0.01, 0.0025)  # of the budget, by which an allocation is polished


@njit(error_model="numpy")
def height(curve, log_x, x):
    """An envelope at x: straight to 0 below its first place, cubic with the given slopes between, never falling."""
    if x <= 0.0:
        return 0.0
    y, last = math.log(x), log_x.size - 1
    if y <= log_x[0]:
        return curve[0, 0] * math.exp(y - log_x[0])
    h = (log_x[last] - log_x[0]) / last
    cell = min(int((y - log_x[0]) / h), last - 1)
    t = min((y - log_x[cell]) / h, 1.0)
    left, right = curve[cell, 0], curve[cell + 1, 0]
    rise = right - left
    start, stop = min(h * curve[cell, 1], 3.0 * rise), min(h * curve[cell + 1, 1], 3.0 * rise)
    c2, c3 = 3.0 * rise - 2.0 * start - stop, start + stop - 2.0 * rise
    return left + t * (start + t * (c2 + t * c3))


@njit(error_model="numpy")
def _worth(curve, log_x, x, weight, cascade):
    """What an arm is worth at x: its weight times the envelope, or minus the log of the chance that it fails."""
    top = height(curve, log_x, x)
    return -math.log1p(-min(top, _SURE)) if cascade else weight * top


@njit(error_model="numpy")
def _hull(x, y, count, vertices):
    """Write the vertices of the concave hull of `count` points; returns how many there are."""
    size = 0
    for j in range(count):
        while size >= 2:
            first, second = vertices[size - 2], vertices[size - 1]
            if (y[second] - y[first]) * (x[j] - x[second]) > (y[j] - y[second]) * (x[second] - x[first]):
                break
            size -= 1
        vertices[size] = j
        size += 1
    return size


@njit(error_model="numpy")
def _demand(x, y, vertices, size, price):
    """The vertex up to which the hull is at least as steep as the price."""
    low, high = 0, size - 1
    while low < high:
        v = (low + high + 1) // 2
        left, right = vertices[v - 1], vertices[v]
        if y[right] - y[left] >= price * (x[right] - x[left]):
            low = v
        else:
            high = v - 1
    return low


@njit(error_model="numpy")
def _fill(x, y, vertices, sizes, fixed, spare, out):
    """Spend `spare` on the arms other than `fixed` at one price, each at a vertex of its hull; returns what is left."""
    arms = x.shape[0]
    low, high = 0.0, 1e300
    steep, most = 0.0, 0.0
    for i in range(arms):
        if i != fixed and sizes[i] > 1:
            second = vertices[i, 1]
            steep = max(steep, (y[i, second] - y[i, 0]) / (x[i, second] - x[i, 0]))
        if i != fixed:
            most += x[i, vertices[i, sizes[i] - 1]] - x[i, 0]
    if most <= spare:
        high = 0.0
    else:
        high = 2.0 * steep
        for k in range(_BISECTIONS):
            price = 0.5 * (low + high) if k % 2 == 0 else math.sqrt(max(low, 1e-12 * high) * high)
            spent = 0.0
            for i in range(arms):
                if i != fixed:
                    spent += x[i, vertices[i, _demand(x[i], y[i], vertices[i], sizes[i], price)]] - x[i, 0]
            if spent > spare:
                low = price
            else:
                high = price
            if high - low <= 1e-10 * high:
                break
    for i in range(arms):
        if i != fixed:
            out[i] = x[i, vertices[i, _demand(x[i], y[i], vertices[i], sizes[i], high)]]
            spare -= out[i] - x[i, 0]
    return spare


@njit(error_model="numpy")
def _hand_out(curve, log_x, lower, upper, weight, whole, cascade, spare, fixed, out):
    """Give what is left to whom it helps most, arm after arm, and evenly where it helps nobody; returns the worth."""
    arms = out.size
    for _ in range(arms):
        best, who, amount = 0.0, -1, 0.0
        for i in range(arms):
            add = min(spare, upper[i] - out[i])
            add = math.floor(add + 1e-9) if whole[i] else add
            if add <= 0.0 or i == fixed:
                continue
            gain = _worth(curve[i], log_x, out[i] + add, weight[i], cascade)
            gain -= _worth(curve[i], log_x, out[i], weight[i], cascade)
            if gain > best:
                best, who, amount = gain, i, add
        if who < 0 or best <= 1e-12:
            break
        out[who] += amount
        spare -= amount
    room = 0
    for i in range(arms):
        room += 1 if upper[i] > out[i] and weight[i] > 0.0 else 0
    for i in range(arms):
        if upper[i] > out[i] and weight[i] > 0.0:
            add = min(spare / room, upper[i] - out[i])
            add = math.floor(add + 1e-9) if whole[i] else add
            out[i] += add
            spare -= add
            room -= 1
    worth = 0.0
    for i in range(arms):
        worth += _worth(curve[i], log_x, out[i], weight[i], cascade)
    return worth


@njit(error_model="numpy")
def _polish(curve, log_x, lower, upper, weight, whole, cascade, budget, out):
    """Move amounts between two arms while that helps: large steps, then small ones."""
    arms = out.size
    for size in range(3):
        for _ in range(arms):
            best, giver, taker = 1e-9, -1, -1
            step = budget * _STEPS[size]
            for i in range(arms):
                unit = max(math.floor(step), 1.0) if whole[i] else step
                if out[i] - unit < lower[i] or weight[i] <= 0.0:
                    continue
                loss = _worth(curve[i], log_x, out[i], weight[i], cascade)
                loss -= _worth(curve[i], log_x, out[i] - unit, weight[i], cascade)
                for j in range(arms):
                    if j == i or out[j] + unit > upper[j] or (whole[j] and not whole[i]):
                        continue
                    gain = _worth(curve[j], log_x, out[j] + unit, weight[j], cascade)
                    gain -= _worth(curve[j], log_x, out[j], weight[j], cascade)
                    if gain - loss > best:
                        best, giver, taker = gain - loss, i, j
            if giver < 0:
                break
            unit = max(math.floor(step), 1.0) if whole[giver] else step
            out[giver] -= unit
            out[taker] += unit


@gufunc(
    [
        "void(float64[:,:,:], float64[:], float64[:], float64[:], float64[:], boolean[:], boolean, float64, "
        "float64[:], float64[:])"
    ],
    "(k,m,u),(m),(k),(k),(k),(k),(),(),(n)->(k)",
)
def split(curve, log_x, lower, upper, weight, whole, cascade, budget, grid, out):
    """Maximise the sum of weight * envelope, or the chance of at least one success, within limits and budget.

    `curve` holds values and slopes in log x at the places `log_x`; `grid` says at which shares of an arm's room its
    curve is looked at, from 0 to 1.
    """
    arms, points = curve.shape[0], grid.size
    x, y = np.empty((arms, points)), np.empty((arms, points))
    vertices, sizes = np.empty((arms, points), np.int64), np.empty(arms, np.int64)
    spare = budget
    for i in range(arms):
        spare -= lower[i]
    spare = max(spare, 0.0)
    for i in range(arms):
        room, count = min(upper[i] - lower[i], spare), 0
        room = math.floor(room + 1e-9) if whole[i] else room
        for j in range(points):
            step = room * grid[j]
            if whole[i]:
                step = min(float(j), room) if room < points else math.floor(step + 1e-9)
            if j > 0 and lower[i] + step <= x[i, count - 1]:
                continue
            x[i, count] = lower[i] + step
            y[i, count] = _worth(curve[i], log_x, x[i, count], weight[i], cascade)
            count += 1
        sizes[i] = _hull(x[i], y[i], count, vertices[i])
    trial = np.empty(arms)
    left = _fill(x, y, vertices, sizes, -1, spare, out)
    # The arm next in line stands on a chord: it gets what is left, or the whole chord at the others' expense.
    steep, next_arm, whole_chord, bent = 0.0, -1, 0.0, False
    for i in range(arms):
        for v in range(sizes[i] - 1):
            here, there = vertices[i, v], vertices[i, v + 1]
            if x[i, here] == out[i] and (y[i, there] - y[i, here]) / (x[i, there] - x[i, here]) > steep:
                steep, next_arm, whole_chord = (y[i, there] - y[i, here]) / (x[i, there] - x[i, here]), i, x[i, there]
                bent = there > here + 1
    worth = _hand_out(curve, log_x, lower, upper, weight, whole, cascade, left, -1, out)
    if bent and whole_chord - lower[next_arm] <= spare:
        trial[next_arm] = whole_chord
        left = _fill(x, y, vertices, sizes, next_arm, spare - (whole_chord - lower[next_arm]), trial)
        if _hand_out(curve, log_x, lower, upper, weight, whole, cascade, left, next_arm, trial) > worth:
            for i in range(arms):
                out[i] = trial[i]
    if bent:
        _polish(curve, log_x, lower, upper, weight, whole, cascade, budget, out)
