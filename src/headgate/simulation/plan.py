"""What is to be simulated, complete and checked, and the units of work it falls into."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self, final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import ParameterError
from headgate.problem import Problem, Reward
from headgate.simulation.budgets import Budget, Budgets
from headgate.simulation.environment import Draws, Environment
from headgate.simulation.lineup import Contender, Entrant, contenders

_FEWEST, _MOST = 8, 64  # runs in a unit: a batch is cheaper per run, more units use more workers


@final
@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of work: one policy, consecutive runs."""

    policy: str
    first: int
    last: int
    """One past the last run."""

    @property
    def runs(self) -> range:
        """The runs."""
        return range(self.first, self.last)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """Everything that decides the numbers of a simulation; workers and backends are not in it."""

    environment: Environment
    lineup: tuple[Contender, ...]
    budgets: Budgets
    rounds: int
    runs: int
    seed: int
    checkpoints: NDArray[np.int64]
    hidden: frozenset[str]
    """The policies that are not told the budget."""
    step: float | None
    """How they pour."""
    reward: Reward
    chunk: int

    @classmethod
    def of(
        cls,
        problem: Any,
        policies: Mapping[str, Entrant],
        *,
        budget: Budget,
        rounds: int,
        runs: int | None,
        seed: int,
        max_budget: float | None,
        hidden: bool | Collection[str],
        step: float | None,
        reward: Reward,
        checkpoints: int | ArrayLike,
        chunk: int | None,
    ) -> Self:
        """Check everything, down to making each policy once."""
        environment = Draws(problem) if isinstance(problem, Problem) or callable(problem) else problem
        if runs is None:
            runs = problem.batch[0] if isinstance(problem, Problem) and problem.batch else 1
        for name, value, least in (("rounds", rounds, 1), ("runs", runs, 1), ("seed", seed, 0)):
            checks.whole(name, value, least=least)
        size = default_chunk(runs) if chunk is None else checks.whole("chunk", chunk)
        checks.choice("reward", reward, get_args(Reward))
        lineup = contenders(policies)
        names = {contender.name for contender in lineup}
        unseen = (names if hidden else ()) if isinstance(hidden, bool) else hidden
        if not set(unseen) <= names:
            raise ParameterError(f"hidden must name policies of this simulation, got {sorted(set(unseen) - names)}")
        plan = cls(
            environment,
            lineup,
            Budgets.of(budget, environment, runs, rounds, max_budget),
            rounds,
            runs,
            seed,
            _checkpoints(checkpoints, rounds),
            frozenset(unseen),
            step,
            reward,
            size,
        )
        first = environment.problem(seed, 0)
        for contender in lineup:
            policy = contender.build(first, seed, range(1), plan.budgets.largest, rounds, plan.reward)
            if contender.name in plan.hidden:
                contender.must_pour(policy)
        return plan

    def units(self) -> list[Unit]:
        """Return the pieces of work, in order; they depend on the policies' names and the runs only."""
        starts = range(0, self.runs, self.chunk)
        chunks = [(first, min(first + self.chunk, self.runs)) for first in starts]
        return [Unit(contender.name, *chunk) for chunk in chunks for contender in self.lineup]

    def contender(self, name: str) -> Contender:
        """Return the policy of that name."""
        return next(c for c in self.lineup if c.name == name)

    def describe(self) -> dict[str, Any]:
        """Return plain data by which two plans are told apart: the configuration in a result's JSON."""
        return {
            **self.environment.describe(),
            "policies": {c.name: c.describe() for c in self.lineup},
            "budget": self.budgets.describe(),
            "rounds": self.rounds,
            "runs": self.runs,
            "seed": self.seed,
            "checkpoints": self.checkpoints.tolist(),
            "hidden": sorted(self.hidden),
            "step": self.step,
            "reward": self.reward,
            "chunk": self.chunk,
        }


def default_chunk(runs: int) -> int:
    """How many runs a unit holds: a quarter of them, within 8 and 64.

    >>> default_chunk(5), default_chunk(15), default_chunk(100), default_chunk(10_000)
    (5, 8, 25, 64)
    """
    return min(runs, _MOST, max(_FEWEST, -(-runs // 4)))


def log_checkpoints(rounds: int, count: int) -> NDArray[np.int64]:
    """Return about `count` rounds from 1 to `rounds`, evenly spaced by their logarithm.

    >>> log_checkpoints(1000, 4).tolist()
    [1, 10, 100, 1000]
    """
    return np.unique(np.rint(np.geomspace(1, rounds, count)).astype(np.int64))


def _checkpoints(given: int | ArrayLike, rounds: int) -> NDArray[np.int64]:
    if isinstance(given, int):
        return log_checkpoints(rounds, checks.whole("checkpoints", given, least=2))
    points = np.asarray(given)
    growing = points.ndim == 1 and points.size > 0 and bool(np.all(np.diff(points) > 0))
    if points.dtype.kind not in "iu" or not growing or points[0] < 1 or points[-1] != rounds:
        raise ParameterError(f"checkpoints must be growing rounds, from 1 and up to {rounds}, got {given!r}")
    return points.astype(np.int64)
