"""The budgets of a simulation: constant, a sequence, a function, or dictated by the environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import BudgetError, ShapeError
from headgate.laws import Floats
from headgate.simulation.environment import Environment, digest, name_of
from headgate.simulation.streams import Stream, generator

BudgetFunction: TypeAlias = Callable[[int, np.random.Generator], float]
Budget: TypeAlias = ArrayLike | BudgetFunction | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Budgets:
    """The budget of each round of each run."""

    environment: Environment
    largest: float
    amounts: Floats | None
    """One number; (rounds,), the same for each run; or (runs, rounds)."""
    draw: BudgetFunction | None

    @classmethod
    def of(cls, budget: Budget, environment: Environment, runs: int, rounds: int, largest: float | None) -> Self:
        """Check what was given; `largest` is needed only for a function."""
        if largest is not None:
            checks.numbers("max_budget", largest, BudgetError, open_least=True)
        if budget is None:
            default = environment.max_budget
            if default is None:
                raise BudgetError("budget is missing: only a replay of rows with budgets does without one")
            return cls(environment, largest or default, None, None)
        if callable(budget):
            if largest is None:
                raise BudgetError("a budget that is a function needs max_budget=, the most it will ever return")
            return cls(environment, largest, None, budget)
        amounts = checks.numbers("budget", budget, BudgetError)
        if amounts.ndim and (amounts.shape[-1] < rounds or amounts.shape[:-1] not in {(), (runs,)}):
            raise ShapeError(
                f"budget must be one number, one for each of {rounds} rounds, or ({runs} runs, {rounds} rounds), "
                f"got shape {amounts.shape}"
            )
        most = float(amounts.max())
        if most <= 0.0 or (largest is not None and largest < most):
            raise BudgetError(f"budget must be above 0 and at most max_budget, got {most:g}")
        return cls(environment, most if largest is None else largest, amounts, None)

    @property
    def constant(self) -> bool:
        """Whether there is only one."""
        return self.amounts is not None and self.amounts.ndim == 0

    def block(self, seed: int, run: int, block: int, length: int, count: int) -> Floats:
        """Return those of the first `count` rounds of a block: (count,)."""
        first = block * length
        if self.amounts is not None:
            row = self.amounts if self.amounts.ndim < 2 else self.amounts[run]
            return np.broadcast_to(row, count) if row.ndim == 0 else row[first : first + count]
        if self.draw is not None:
            rng = generator(seed, Stream.BUDGET, run, block)
            drawn = [self.draw(first + 1 + t, rng) for t in range(count)]  # rounds count from 1
        else:
            dictated = self.environment.budgets(seed, run, block)
            drawn = [] if dictated is None else list(dictated[:count])
        amounts = checks.numbers("budget", drawn, BudgetError)
        if amounts.shape != (count,) or np.any(amounts > self.largest):
            raise BudgetError(f"a budget must be one number, at most max_budget {self.largest:g}, got {drawn!r}")
        return amounts

    def describe(self) -> Any:
        """Return plain data by which two of them are told apart."""
        if self.draw is not None:
            first = digest(self.block(0, 0, 0, 16, 16))  # functions of one name differ in this
            return {"drawn_by": name_of(self.draw), "first": first, "max_budget": self.largest}
        if self.amounts is None:
            return {"dictated_by": "environment", "max_budget": self.largest}
        if self.amounts.ndim == 0:
            return float(self.amounts)
        return {"shape": list(self.amounts.shape), "digest": digest(self.amounts), "max_budget": self.largest}
