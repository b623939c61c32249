"""Slow and plain: what a live round is worth at best, by dynamic programming on a grid of the budget."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

import headgate as hg


def optimum(problem: hg.Problem, budget: float, cells: int) -> tuple[float, float]:
    """Return numbers between which the best adaptive way of playing lies, for two or three arms.

    An arm is served cell by cell. If a success within a cell is charged all of it, the value is one that can be had; if
    it is charged nothing of it, no way of playing has more: any way is a mixture of ways that stop at cell borders if
    what it takes within its last cell is given to it, at its left end.
    """
    grid = np.linspace(0.0, budget, cells + 1)
    reached = np.array(
        [problem.success_probability(np.full(problem.arms, g)) for g in grid]
    ).T  # (K, cells + 1): F at each border
    worth = problem.value

    def best(generous: bool) -> float:
        @cache
        def value(at: tuple[int, ...], left: int) -> float:
            """`at` is how many cells each arm has had, -1 once it has succeeded."""
            if left <= 0:
                return 0.0
            top = 0.0
            for arm, had in enumerate(at):
                if had < 0 or had >= cells:
                    continue
                missing = 1.0 - reached[arm, had]
                if missing <= 0.0:
                    continue
                chance = (reached[arm, had + 1] - reached[arm, had]) / missing
                won = tuple(-1 if i == arm else n for i, n in enumerate(at))
                on = tuple(n + (i == arm) for i, n in enumerate(at))
                after = value(won, left if generous else left - 1)
                top = max(top, chance * (worth[arm] + after) + (1.0 - chance) * value(on, left - 1))
            return top

        return value((0,) * problem.arms, cells)

    # Time that is lost to the grid: a generous player may also stop each arm once within a cell.
    return best(generous=False), best(generous=True)


def index_by_hand(problem: hg.Problem, arm: int, had: float, most: float, fine: int = 4000) -> tuple[float, float]:
    """Return an arm's index after `had`, and the stretch it belongs to, by quadrature on a fine grid."""
    d = np.linspace(0.0, most, fine + 1)
    x = np.zeros((fine + 1, problem.arms))
    x[:, arm] = had + d
    chance = problem.success_probability(x)[:, arm]
    spend = np.append(0.0, np.cumsum(0.5 * (2.0 - chance[1:] - chance[:-1]) * np.diff(d)))
    ratio = problem.value[arm] * (chance[1:] - chance[0]) / spend[1:]
    top = int(np.argmax(ratio))
    return float(ratio[top]), float(d[top + 1])


def static_optimum(problem: hg.Problem, budget: float, cells: int) -> float:
    """Return the best planned allocation by trying all on a grid."""
    grid = np.linspace(0.0, budget, cells + 1)
    return max(
        float(problem.expected_reward([grid[i] for i in place]))
        for place in product(range(cells + 1), repeat=problem.arms)
        if sum(place) <= cells
    )
