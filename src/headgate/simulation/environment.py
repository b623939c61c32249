"""The world that policies play in: draws from the laws of a problem, or a replay of logged rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headgate import checks
from headgate.errors import FeedbackError, ParameterError, ShapeError
from headgate.laws import Floats
from headgate.problem import Problem
from headgate.simulation.streams import Stream, block_length, generator

_TINY = np.finfo(np.float64).tiny  # a threshold of 0 would be reached by an allocation of 0
_PRINTED = 10_000  # numbers that a description holds in full; of more, their digest


class Environment(Protocol):
    """What a simulation needs of a world. All of it depends on (seed, run, block) only, never on what was played."""

    def problem(self, seed: int, run: int) -> Problem:
        """Return the truth of a run, which expected regret is measured against."""

    def thresholds(self, problem: Problem, seed: int, run: int, block: int) -> Floats:
        """Return the amount from which each arm succeeds in each round of a block, infinite if no amount does.

        The shape is (`block_length(K)`, K), every number above 0.
        """

    def budgets(self, seed: int, run: int, block: int) -> Floats | None:
        """Return the budget of each round of a block if the world dictates it, else None."""

    @property
    def max_budget(self) -> float | None:
        """The largest budget it dictates."""

    def describe(self) -> dict[str, Any]:
        """Return plain data by which two environments are told apart."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Thresholds and activations drawn from a problem, from one of a batch for each run, or from one drawn per run."""

    source: Problem | Callable[[np.random.Generator], Problem]

    def problem(self, seed: int, run: int) -> Problem:
        """Return the problem, row `run` of a batch (cycled through), or one that was drawn for the run."""
        if isinstance(self.source, Problem):
            return row_of(self.source, run)
        drawn: object = self.source(generator(seed, Stream.PROBLEM, run))
        if not isinstance(drawn, Problem) or drawn.batch != ():
            raise ParameterError(f"the function that draws a problem must return a single Problem, got {drawn!r}")
        return drawn

    def thresholds(self, problem: Problem, seed: int, run: int, block: int) -> Floats:
        """Draw what `Problem.play` would."""
        rng = generator(seed, Stream.WORLD, run, block)
        return problem.draw_thresholds(rng, (block_length(problem.arms), problem.arms))

    def budgets(self, seed: int, run: int, block: int) -> None:
        """Return None: a law says nothing about the budget."""

    @property
    def max_budget(self) -> None:
        """None: nor about the largest one."""

    def describe(self) -> dict[str, Any]:
        """Return the problem's numbers, or the name of the function that draws it."""
        if isinstance(self.source, Problem):
            return {"environment": "draws", **described(self.source)}
        first = [described(self.problem(seed=0, run=run)) for run in range(2)]  # functions of one name differ in these
        return {"environment": "draws", "drawn_by": name_of(self.source), "first": first}


@final
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Replay:
    """Logged rows played again: an arm succeeds if it did in the log and its threshold is within the allocation.

    Parameters
    ----------
    thresholds, success
        What each arm needed and whether it succeeded, row by row: (N, K); or (R, N, K), a log of its own for each
        run. The thresholds of rows that did not succeed are not looked at.
    problem
        What expected regret is measured against: usually the laws fitted to the log.
    shuffle
        Each run in an order of its own, given by the seed; else in the order of the log. When all rows have been
        played they come again, in a new order.
    budgets
        The budget of each row, if it came with one: (N,) or (R, N).
    """

    reach: Floats
    truth: Problem
    shuffle: bool
    row_budgets: Floats | None

    def __init__(
        self,
        thresholds: ArrayLike,
        success: ArrayLike,
        problem: Problem,
        *,
        shuffle: bool = True,
        budgets: ArrayLike | None = None,
    ) -> None:
        table, won = np.asarray(thresholds, dtype=np.float64), np.asarray(success)
        if won.dtype.kind not in "biu" or not np.isin(won, (0, 1)).all():
            raise FeedbackError(f"success must be true or false in every row, got {success!r}")
        won = won.astype(np.bool_)
        if table.shape != won.shape or table.ndim not in {2, 3} or table.shape[-1] != problem.arms or not table.size:
            raise ShapeError(
                f"thresholds and success must be rows of {problem.arms} arms, got {table.shape} and {won.shape}"
            )
        checks.numbers("the threshold of a success", table[won], FeedbackError)
        amounts = None if budgets is None else checks.numbers("budgets", budgets)
        if amounts is not None and amounts.shape != table.shape[:-1]:
            raise ShapeError(f"there must be one budget for each row {table.shape[:-1]}, got shape {amounts.shape}")
        if problem.batch not in {(), table.shape[:-2]}:
            raise ShapeError(f"{problem} does not fit logs of shape {table.shape}")
        values = (("reach", np.where(won, np.maximum(table, _TINY), np.inf)), ("truth", problem))
        for name, value in (*values, ("shuffle", bool(shuffle)), ("row_budgets", amounts)):
            object.__setattr__(self, name, value)

    def problem(self, seed: int, run: int) -> Problem:  # noqa: ARG002  # the protocol's
        """Return the problem that regret is measured against."""
        return row_of(self.truth, run)

    def thresholds(self, problem: Problem, seed: int, run: int, block: int) -> Floats:  # noqa: ARG002  # the protocol
        """Return the rows of the log that this block plays."""
        return self._log(self.reach, run, 2)[self._rows(seed, run, block)]

    def budgets(self, seed: int, run: int, block: int) -> Floats | None:
        """Return the budgets that came with the rows."""
        if self.row_budgets is None:
            return None
        return self._log(self.row_budgets, run, 1)[self._rows(seed, run, block)]

    @property
    def max_budget(self) -> float | None:
        """The largest budget of any row."""
        return None if self.row_budgets is None else float(self.row_budgets.max())

    def describe(self) -> dict[str, Any]:
        """Return the shape and a digest of the log, and the problem."""
        budgets = {} if self.row_budgets is None else {"budgets": digest(self.row_budgets)}
        log = {"rows": list(self.reach.shape), "log": digest(self.reach), "shuffle": self.shuffle}
        return {"environment": "replay", **log, **budgets, **described(self.truth)}

    def _log(self, values: Floats, run: int, axes: int) -> Floats:
        return values if values.ndim == axes else values[run % len(values)]

    def _rows(self, seed: int, run: int, block: int) -> NDArray[np.int64]:
        count = self.reach.shape[-2]
        length = block_length(self.truth.arms)
        epoch, place = np.divmod(np.arange(block * length, (block + 1) * length), count)
        if not self.shuffle:
            return place
        orders = [_order(count, seed, run, int(e))[place[epoch == e]] for e in np.unique(epoch)]
        return np.concatenate(orders)


@lru_cache(maxsize=16)
def _order(count: int, seed: int, run: int, epoch: int) -> NDArray[np.int64]:
    """The order in which a run plays the rows for the `epoch`-th time."""
    return generator(seed, Stream.ORDER, run, epoch).permutation(count)


def row_of(problem: Problem, run: int) -> Problem:
    """Return the problem of a run: row `run` of a batch with one axis, cycled through."""
    if problem.batch == ():
        return problem
    if len(problem.batch) != 1:
        raise ShapeError(f"a batch of problems must have one axis of runs, got {problem.batch}")
    row = run % problem.batch[0]
    value = problem.value[row]
    return Problem(
        problem.law, problem.activation[row], problem.rate[row], problem.names, value=value, units=problem.units,
        kinds=problem.kinds,
    )  # fmt: skip


def described(problem: Problem) -> dict[str, Any]:
    """Return a problem as plain data; of very many numbers their digest."""
    numbers = {"activation": problem.activation, "rate": problem.rate}
    if np.any(problem.value != 1.0):
        numbers["value"] = problem.value
    if problem.kinds is not None:
        numbers["kinds"] = problem.kinds
    plain = {key: v.tolist() if v.size <= _PRINTED else digest(v) for key, v in numbers.items()}
    return {"law": problem.law.to_dict(), **plain}


def digest(values: Floats) -> str:
    """Return a short name for exactly these numbers."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


def name_of(function: Any) -> str:
    """Return where a function or class is from; its code is not looked at."""
    target = getattr(function, "func", function)  # of a functools.partial
    name = getattr(target, "__qualname__", type(target).__qualname__)
    return f"{getattr(target, '__module__', '?')}.{name}"
