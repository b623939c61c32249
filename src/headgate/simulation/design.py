"""What is to be simulated, complete and checked, and the units of work it falls into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import ParameterError, UnsupportedError
from headgate.policies import Policy
from headgate.problem import Problem, Reward
from headgate.simulation.budgets import Budgets
from headgate.simulation.environment import Environment
from headgate.simulation.lineup import Contender

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
class Design:
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
    live: frozenset[str]
    """The policies that play live rounds."""
    reward: Reward
    chunk: int

    def rehearse(self) -> None:
        """Make each policy once, so that what is wrong with one is said before anything is played."""
        first = self.environment.problem(self.seed, 0)
        for contender in self.lineup:
            policy = self.build(contender.name, first, range(1))
            if contender.name in self.live:
                if type(policy).points is Policy.points:
                    raise UnsupportedError(
                        f"policy {contender.name!r} cannot play live rounds: it has no curves to follow (live)"
                    )
            elif contender.name in self.hidden and type(policy).decide_pour is Policy.decide_pour:
                raise UnsupportedError(
                    f"policy {contender.name!r} cannot pour: it needs to know the budget (hidden=True)"
                )

    def units(self) -> list[Unit]:
        """Return the pieces of work, in order; they depend on the policies' names and the runs only."""
        starts = range(0, self.runs, self.chunk)
        chunks = [(first, min(first + self.chunk, self.runs)) for first in starts]
        return [Unit(contender.name, *chunk) for chunk in chunks for contender in self.lineup]

    def build(self, name: str, problem: Problem, runs: range) -> Policy:
        """Make the policy of that name for a batch of runs, or for a single one if the problem is."""
        contender = next(c for c in self.lineup if c.name == name)
        return contender.build(problem, self.seed, runs, self.budgets.largest, self.rounds, self.reward)

    def describe(self) -> dict[str, Any]:
        """Return plain data by which two plans are told apart: the configuration in a result's JSON."""
        return {
            **self.environment.describe(),
            "policies": {c.name: c.describe() for c in self.lineup},
            "budget": self.budgets.describe(),
            **{name: getattr(self, name) for name in ("rounds", "runs", "seed", "step", "reward", "chunk")},
            "checkpoints": self.checkpoints.tolist(),
            "hidden": sorted(self.hidden),
            **({"live": sorted(self.live)} if self.live else {}),
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


def which_checkpoints(checkpoints: int | ArrayLike, rounds: int) -> NDArray[np.int64]:
    """Return the rounds to record: so many by their logarithm, or those given, which must grow up to the last."""
    if isinstance(checkpoints, int):
        return log_checkpoints(rounds, checks.whole("checkpoints", checkpoints, least=2))
    points = np.asarray(checkpoints)
    growing = points.ndim == 1 and points.size > 0 and bool(np.all(np.diff(points) > 0))
    if points.dtype.kind not in "iu" or not growing or points[0] < 1 or points[-1] != rounds:
        raise ParameterError(f"checkpoints must be growing rounds, from 1 and up to {rounds}, got {checkpoints!r}")
    return points.astype(np.int64)
