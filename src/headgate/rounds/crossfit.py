"""What allocations chosen from some rounds are worth in others: claims that keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.laws import Floats
from headgate.oracle.limits import Limits
from headgate.rounds.static import best_rows, first_guesses, worth
from headgate.rounds.table import Rounds

Interval = tuple[float, float]
FOLDS = 5
SMOOTH = 0.3
"""How far thresholds of rounds to come are off those of rounds that were, in logarithms: good for solvers."""


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The allocation chosen for a budget, and what it and simpler ones are worth to rounds they were not chosen on."""

    budget: float
    x: Floats
    fitted: float
    """Share of rounds with a success among those it was chosen on: too good to be expected again."""
    bound: float
    """No allocation has more among them."""
    claim: float
    """Share to expect, cross-fitted: chosen on four fifths of the rounds and counted in the last, all five in turn."""
    error: float
    """Standard error of the claim."""
    single: float
    """The best single arm's, cross-fitted too."""
    even: float
    """The even split's."""
    greedy: float
    """The greedy allocation's, cross-fitted."""
    independent: float
    """What arms that were independent would reach with the very same allocation and the same curves."""
    complete: bool
    """Whether rounds were known up to the budget; if not, they were completed by kinds."""
    solved: Floats
    """Success of each round with the allocation that was chosen without it, (N,): what intervals are made of."""
    solved_even: Floats

    @property
    def dependence(self) -> float:
        """How much of what independent arms would reach is lost because arms share their rounds' fate."""
        return 1.0 - self.fitted / self.independent if self.independent > 0.0 else 0.0

    def interval(self, level: float = 0.9, resamples: int = 1000, seed: int = 0) -> tuple[Interval, Interval]:
        """Bootstrap by round: intervals of the claim, and of its gain over the even split."""
        rng = np.random.default_rng(seed)
        draws = rng.integers(0, self.solved.size, (resamples, self.solved.size))
        mine, even = self.solved[draws].mean(axis=1), self.solved_even[draws].mean(axis=1)
        ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        low, high = np.quantile(mine, ends).tolist()
        gains = np.quantile(mine / np.maximum(even, 1e-300) - 1.0, ends).tolist()
        return (low, high), (gains[0], gains[1])


def choose(rounds: Rounds, budget: float, *, smooth: float = SMOOTH, folds: int = FOLDS, seed: int = 0) -> Choice:
    """Choose the allocation of a cascade's budget from rounds, and claim what it will be worth."""
    arms, complete = rounds.arms, rounds.is_complete(budget)
    rng = np.random.default_rng(seed)
    rows = rounds.thresholds if complete else rounds.completed(budget, seed=seed)
    copies = len(rows) // rounds.rounds
    weight = np.ones(len(rows))
    limits = Limits.of(float(budget), 0.0, np.inf, arms)
    best = best_rows(rows, weight, limits, "cascade", smooth=smooth, seed=seed)
    place = rng.permutation(rounds.rounds) % folds
    even, none, most = np.full(arms, budget / arms), np.zeros(arms), np.full(arms, float(budget))
    solved = np.zeros((4, rounds.rounds))
    for fold in range(folds):
        fit, test = np.flatnonzero(place != fold), np.flatnonzero(place == fold)
        if fit.size == 0 or test.size == 0:
            continue
        chosen, held = (rows[(part[:, None] * copies + np.arange(copies)).ravel()] for part in (fit, test))
        ones = np.ones(len(chosen))
        x = best_rows(chosen, ones, limits, "cascade", smooth=smooth, seed=seed, prove=False).x
        guesses = first_guesses(chosen, ones, none, most, float(budget))
        for k, way in enumerate((x, guesses[1], even, guesses[0])):
            solved[k, test] = (held <= way).any(axis=1).reshape(test.size, copies).mean(axis=1)
    share = np.mean(rows <= best.x, axis=0)
    claim, single, split, greedy = solved.mean(axis=1).tolist()
    return Choice(
        budget=float(budget), x=best.x, fitted=float(best.value), bound=float(best.bound), claim=claim,
        error=float(solved[0].std() / np.sqrt(rounds.rounds)), single=single, even=split, greedy=greedy,
        independent=float(1.0 - np.prod(1.0 - share)), complete=complete, solved=solved[0], solved_even=solved[2],
    )  # fmt: skip


__all__ = ["FOLDS", "SMOOTH", "Choice", "choose", "worth"]
