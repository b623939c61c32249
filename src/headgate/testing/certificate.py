"""Check the certificate of an allocation without trusting the solver: the law's own `cdf`, NumPy, no kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from headgate.errors import UnsupportedError
from headgate.oracle import Reward
from headgate.testing.harness import expect

if TYPE_CHECKING:
    from headgate.laws import Floats
    from headgate.oracle import Allocation
    from headgate.problem import Problem

_CELLS = 400  # parts of the budget in the search for something better


def check_certificate(
    allocation: Allocation,
    problem: Problem,
    *,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = np.inf,
    eligible: ArrayLike = True,
    value: ArrayLike | None = None,
    digits: float = 1e-9,
) -> float:
    """Raise ConformanceError if `allocation` is not what it says it is.

    It must keep to the budget and the limits, be worth what it says by the law's own distribution function, and no
    allocation that a search by another way finds may be worth more than its bound. The search is dynamic programming
    over equal cells of the budget, on finer and finer cells around its best point, from several sides. Rounding every
    arm up to whole cells, with a cell more for each arm, can only gain, so the first programme also proves an upper
    bound by itself: returned, relative to the certificate's (1.01: nothing can be worth 1% more than `bound`).

    Parameters
    ----------
    allocation
        The answer of `problem.solve`, for one problem.
    problem
        The problem it answers, for one batch row.
    lower, upper, eligible, value
        The limits, the arms that take part, and what a success is worth, as they were given to `solve`.
    digits
        Relative rounding that is forgiven.

    Examples
    --------
    >>> import headgate as hg
    >>> problem = hg.Problem(hg.Weibull(2.0), activation=[0.9, 0.5], rate=[0.5, 1.0])
    >>> check_certificate(problem.solve(3.0), problem) < 1.02
    True
    """
    if allocation.value.ndim > 0:
        raise UnsupportedError(f"one allocation at a time can be checked, this is a batch of {allocation.value.shape}")
    if problem.kinds is not None and allocation.reward == "cascade":
        raise UnsupportedError("a cascade of rounds of several kinds is not separable: this check has no search for it")
    arms, budget, x = problem.arms, float(allocation.budget), allocation.x
    low, high = (np.broadcast_to(np.asarray(limit, dtype=np.float64), (arms,)) for limit in (lower, upper))
    high = np.where(np.asarray(eligible, dtype=np.bool_), high, 0.0)
    worth, integer = _Worth(problem, allocation.reward, value), problem.law.whole_arms(arms)
    expect(np.all(x >= low) and np.all(x <= high), "the amounts {} leave the limits {} and {}", x, low, high)
    expect(x.sum() <= max(budget, low.sum()), f"the amounts add up to {x.sum()!r}, more than the budget {budget!r}")
    claim, bound, truth = float(allocation.value), float(allocation.bound), worth.of(x)
    slack = digits * max(bound, truth) + 1e-300
    expect(truth <= bound + slack, f"it is worth {truth!r}, more than its bound {bound!r}")
    expect(claim - slack <= truth, f"it says it is worth {claim!r}, the law says {truth!r}")

    low = np.where(integer, np.ceil(low), low)
    start, spare, proof = low, max(budget - float(low.sum()), 0.0), np.inf
    for level in range(4):
        cells = min(_CELLS, max(int(spare), 1)) if integer.all() else _CELLS
        step = spare / cells
        amounts = np.clip(start[:, None] + step * np.arange(cells + 1), low[:, None], high[:, None])
        amounts = np.where(integer[:, None], np.floor(amounts), amounts)
        curves = worth.curves(amounts.T).T
        if level == 0:
            proof = worth.reward_of(_best_in_cells(curves, cells + arms)[0])
        _, places = _best_in_cells(curves, cells)
        x = amounts[np.arange(arms), places]
        while x.sum() > budget:  # by a digit
            x[np.argmax(x - low)] *= 1.0 - 1e-15
        better = worth.of(x)
        expect(better <= bound + slack, "its bound is {!r}, but {} is worth {!r}", bound, x, better)
        start = np.maximum(x - 3.0 * step, low)
        spare = max(budget - float(start.sum()), 0.0)
    return proof / bound if bound > 0.0 else 1.0


class _Worth:
    """What an allocation is worth: sums of weighted curves, or the chance of one success."""

    def __init__(self, problem: Problem, reward: Reward, value: ArrayLike | None) -> None:
        self.problem, self.cascade = problem, reward == "cascade"
        self.value = problem.value if value is None else np.asarray(value, dtype=np.float64)

    def curves(self, x: Floats) -> Floats:
        """What is added up, for each arm."""
        success = self.problem.success_probability(x)
        with np.errstate(divide="ignore"):
            return -np.log1p(-success) if self.cascade else success * self.value

    def reward_of(self, total: float) -> float:
        """The reward of curves that add up to this."""
        return float(-np.expm1(-total)) if self.cascade else total

    def of(self, x: Floats) -> float:
        """The reward of one allocation."""
        return self.reward_of(float(np.sum(self.curves(x))))


def _best_in_cells(curves: Floats, cells: int) -> tuple[float, list[int]]:
    """The largest sum of curves (K, n) over whole numbers of cells, and how many each arm takes."""
    arms, size = curves.shape
    rest = np.subtract.outer(np.arange(cells + 1), np.arange(size))  # [n, j]: what j cells leave of n
    best, choices = np.zeros(cells + 1), []
    for curve in curves:
        totals = np.where(rest >= 0, best[np.maximum(rest, 0)] + curve, -np.inf)
        choices.append(np.argmax(totals, axis=1))
        best = np.max(totals, axis=1)
    spare, places = cells, [0] * arms
    for arm in range(arms - 1, -1, -1):
        places[arm] = int(choices[arm][spare])
        spare -= places[arm]
    return float(best[-1]), places
