"""Where a function of one variable is high: ask for the next place to look at, tell its height, until none is asked.

The places looked at so far are all the memory there is, in order. They begin with an even grid over the whole range, so
that a second top is not overlooked; then the gaps beside the highest are halved until it stands out by at most a nat;
then both ends of the stretch above a floor are placed. Heights are log likelihoods: the root of the drop from the top
is nearly linear, and is what is interpolated.
"""

import math

import numpy as np

from headgate.kernels.part import njit

GRID = 17
"""Places of the first look."""
ROOM = 160
"""How many places are looked at in all, at most."""
_NEAR = 1.0  # nats by which the highest may stand out from its better neighbour
_CLOSE = 0.1  # of the root of the drop: an end that is bracketed so closely is interpolated


@njit(error_model="numpy")
def tell(at, height, count, place, value):
    """Put a place and its height in order; returns how many there are."""
    k = count
    while k > 0 and at[k - 1] > place:
        at[k], height[k] = at[k - 1], height[k - 1]
        k -= 1
    at[k], height[k] = place, value
    return count + 1


@njit(error_model="numpy")
def highest(height, count):
    """The number of the highest place."""
    best = 0
    for k in range(1, count):
        if height[k] > height[best]:
            best = k
    return best


@njit(error_model="numpy")
def _bracket(height, count, floor, side):
    """The outermost place above the floor on the left (side 0) or right (1), and the next beyond: itself, if none.

    Of separate stretches above the floor the outermost counts: nothing in between is lost.
    """
    step = 1 if side == 0 else -1
    k, best = 0 if side == 0 else count - 1, highest(height, count)
    while k != best and height[k] < floor:
        k += step
    return k, min(max(k - step, 0), count - 1)


@njit(error_model="numpy")
def _roots(height, count, inside, outside, floor):
    """Roots of the drop from the top: at both places, and at the floor."""
    top = height[highest(height, count)]
    outer = math.sqrt(top - height[outside]) if height[outside] > -np.inf else 1e150
    return math.sqrt(top - height[inside]), outer, math.sqrt(max(top - floor, 0.0))


@njit(error_model="numpy")
def end(at, height, count, floor, side):
    """Where the height falls to the floor, on the left (side 0) or right (1); the end of the range if it does not."""
    inside, outside = _bracket(height, count, floor, side)
    inner, outer, target = _roots(height, count, inside, outside, floor)
    share = (target - inner) / (outer - inner) if outer > inner else 0.0
    return at[inside] + min(max(share, 0.0), 1.0) * (at[outside] - at[inside])


@njit(error_model="numpy")
def ask(at, height, count, low, high, deep, floor):
    """The next place to look at, or NaN if all is known: the top, and the ends at `floor` or at `deep` below the top.

    With both infinite the top alone is looked for.
    """
    if count < GRID:
        return low + (high - low) * count / (GRID - 1)
    if count >= ROOM:
        return np.nan
    best = highest(height, count)
    before = at[best] - at[best - 1] if best > 0 else 0.0
    after = at[best + 1] - at[best] if best < count - 1 else 0.0
    near = -np.inf
    if best > 0:
        near = height[best - 1]
    if best < count - 1:
        near = max(near, height[best + 1])
    if height[best] - near > _NEAR and max(before, after) > 1e-12 * (high - low):
        return at[best] + (0.5 * after if after > before else -0.5 * before)
    level = max(height[best] - deep, floor)
    if level == -np.inf:
        return np.nan
    for side in range(2):
        inside, outside = _bracket(height, count, level, side)
        inner, outer, target = _roots(height, count, inside, outside, level)
        gap = at[outside] - at[inside]
        if outer - inner > _CLOSE * target and abs(gap) > 1e-9 * (high - low):
            share = (target - inner) / (outer - inner)
            return at[inside] + min(max(share, 0.1), 0.9) * gap
    return np.nan
