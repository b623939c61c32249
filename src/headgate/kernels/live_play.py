"""A whole live round in one call: the rule of `live` against thresholds that are known to the world alone."""

import numpy as np

from headgate.kernels.compiled import gufunc
from headgate.kernels.live import INDEX, STRETCH, finish, serve


@gufunc(
    [
        "void(float64[:,:], float64[:,:], float64[:], boolean[:], boolean, float64[:], float64[:], float64[:], "
        "float64, float64, float64[:], float64[:], float64[:])"
    ],
    "(k,n),(k,n),(k),(k),(),(k),(k),(k),(),(),(h),(h)->(k)",
)
def play_round(x, y, worth, whole, cascade, lower, upper, reach, told, budget, times, chances, spent):
    """Play a whole round against thresholds, infinite where an arm is not active: what each arm has had in the end.

    `told` is the budget that the rule knows of, infinite if it knows none; the round ends with `budget` in any case.
    """
    arms = worth.size
    known, limit = np.empty((arms, 2)), np.empty(arms)
    gone = 0.0
    for i in range(arms):
        limit[i], spent[i] = upper[i], 0.0
        known[i, INDEX], known[i, STRETCH] = 0.0, np.inf
    for i in range(arms):  # the lower limits first
        if lower[i] > 0.0:
            took, won = serve(reach, limit, spent, known, i, min(lower[i], budget - gone))
            gone += took
            if won and cascade:
                return
    finish(x, y, worth, whole, cascade, limit, spent, told, gone, budget, times, chances, known, True, reach)
