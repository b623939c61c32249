"""The best choice of one cell per arm when cell j costs j: dynamic programming over the whole budget."""

import numpy as np

from headgate.kernels.compiled import gufunc


@gufunc(["void(float64[:,:], int64[:], int64, int64[:])"], "(k,c),(k),()->(k)")
def best_cells(worth, most, budget, cells):
    """Maximise sum worth[i, cells_i] over cells_i <= most_i, sum cells <= budget; of equal cells the cheapest."""
    arms = worth.shape[0]
    best, following = np.zeros(budget + 1), np.empty(budget + 1)  # by units spent, over the arms so far
    choice = np.empty((arms, budget + 1), np.int64)
    for i in range(arms):
        for n in range(budget + 1):
            top, taken = best[n] + worth[i, 0], 0
            for j in range(1, min(n, most[i]) + 1):
                candidate = best[n - j] + worth[i, j]
                if candidate > top:
                    top, taken = candidate, j
            following[n], choice[i, n] = top, taken
        best, following = following, best
    left = budget
    for i in range(arms - 1, -1, -1):
        cells[i] = choice[i, left]
        left -= cells[i]
