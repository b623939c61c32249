"""`simulate`: policies play a problem many times, and their regret is measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final, get_args

import numpy as np
from numpy.typing import ArrayLike

from headgate import checks
from headgate.errors import ParameterError
from headgate.problem import Problem, Reward
from headgate.simulation.budgets import Budget, Budgets
from headgate.simulation.design import Design, Unit, default_chunk, which_checkpoints
from headgate.simulation.environment import Draws, Environment
from headgate.simulation.lineup import Contender, Entrant, contenders
from headgate.simulation.play import MEASURES, Totals, play
from headgate.simulation.progress import Counters, progress
from headgate.simulation.result import Result
from headgate.simulation.spread import check_backend, spread
from headgate.simulation.store import Store


def simulate(
    problem: Problem | Callable[[np.random.Generator], Problem] | Environment,
    policies: Mapping[str, Entrant],
    *,
    budget: Budget = None,
    rounds: int,
    runs: int | None = None,
    seed: int = 0,
    max_budget: float | None = None,
    hidden: bool | Collection[str] = False,
    step: float | None = None,
    live: bool | Collection[str] = False,
    reward: Reward = "sum",
    checkpoints: int | ArrayLike = 100,
    chunk: int | None = None,
    workers: int = 1,
    backend: str = "loky",
    address: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    show_progress: bool | None = None,
) -> Result:
    """Let policies play, and return their regret at checkpoints.

    Every policy meets the same world: what happens in round t of run r depends on (seed, r, t) only. So does every
    number returned, whatever the workers, the backend and the chunks.

    Parameters
    ----------
    problem
        A problem; a batch of them, one for each run; a function that draws one for each run from a generator; or an
        environment such as `Replay`.
    policies
        By name: a class, a (class, options) pair, a `functools.partial`, or a function that is called with
        (law, arms, max_budget, seed=, rounds=). The option `law` has the policy believe in a law that is not the
        problem's; "auto" has it learn the law, of whole units where the problem's is. `Oracle` is told the truth.
    budget
        One number, one for each round, a row of them for each run, or a function (t, rng) -> budget with t from 1,
        which needs `max_budget`. Nothing for a replay whose rows have budgets.
    rounds, runs, seed
        The horizon T, how often it is played, and the seed of everything.
    hidden
        The budget is not told: the policy pours (in steps of `step`) until it is stopped. True for all policies, or
        the names of those concerned.
    live
        The rounds are played live: what a success leaves over goes to the other arms. True for all policies, or the
        names of those concerned. Regret is against the best planned allocation, so that it may fall below 0, and as a
        live round's worth is not a function of what the arms got, it is what was earned that counts, not what was to be
        expected. With `hidden` too, nobody knows the budget until it is gone.
    reward
        "sum" or "cascade"; policies are told.
    checkpoints
        How many rounds to record, evenly spaced by their logarithm, or which; the last must be `rounds`.
    chunk
        How many runs are played as one batch.
    workers, backend, address
        How many processes, -1 for one per core; "loky" for processes here, "dask" or "ray" for a cluster at `address`,
        or a new one here. Units that a lost worker had are played again.
    out, resume
        A directory that holds each finished unit at once and in the end `result.parquet` and `result.json`; and
        whether to go on with what is there.
    show_progress
        By default only if stderr is a terminal.

    Examples
    --------
    >>> from headgate import Exponential, Problem
    >>> from headgate.policies import Oracle, Uniform
    >>> two = Problem(Exponential(), activation=[0.9, 0.5], rate=[0.1, 1.0])
    >>> result = simulate(two, {"even": Uniform, "best": Oracle}, budget=10.0, rounds=100, runs=3)
    >>> result.rounds[-1].item(), result.regret["even"].shape[0]
    (100, 3)
    >>> float(result.regret["best"].max())
    0.0
    """
    environment = Draws(problem) if isinstance(problem, Problem) or callable(problem) else problem
    if runs is None:
        runs = problem.batch[0] if isinstance(problem, Problem) and problem.batch else 1
    checks.choice("reward", reward, get_args(Reward))
    lineup = contenders(policies)
    design = Design(
        environment=environment,
        lineup=lineup,
        rounds=checks.whole("rounds", rounds),
        runs=checks.whole("runs", runs),
        seed=checks.whole("seed", seed, least=0),
        budgets=Budgets.of(budget, environment, runs, rounds, max_budget),
        checkpoints=which_checkpoints(checkpoints, rounds),
        hidden=_named("hidden", hidden, lineup),
        step=step,
        live=_named("live", live, lineup),
        reward=reward,
        chunk=default_chunk(runs) if chunk is None else checks.whole("chunk", chunk),
    )
    design.rehearse()
    check_backend(workers, backend, address)
    store = None if out is None else Store.open(out, design, resume=resume)
    begun = time.perf_counter()
    curves = _play_all(design, store, workers, backend, address, show_progress)
    result = _joined(design, curves, time.perf_counter() - begun)
    if store is not None:
        result.to_parquet(store.directory / "result.parquet")
    return result


def _named(option: str, choice: bool | Collection[str], lineup: Sequence[Contender]) -> frozenset[str]:
    """Return the policies that an option concerns: all, none, or those that it names."""
    names = {contender.name for contender in lineup}
    concerned = frozenset((names if choice else ()) if isinstance(choice, bool) else choice)
    if not concerned <= names:
        raise ParameterError(f"{option} must name policies of this simulation, got {sorted(concerned - names)}")
    return concerned


@final
@dataclass(frozen=True, slots=True)
class _Work:
    """What is sent to a worker."""

    design: Design
    units: tuple[Unit, ...]
    counters: Counters

    def __call__(self, number: int) -> Totals:
        self.counters.set(number, 0)
        return play(self.design, self.units[number], lambda rounds: self.counters.add(number, rounds))


def _play_all(
    design: Design, store: Store | None, workers: int, backend: str, address: str | None, shown: bool | None
) -> dict[Unit, Totals]:
    units = tuple(design.units())
    finished: dict[Unit, Totals] = {}
    with progress(len(units), design.rounds * design.runs * len(design.lineup), shown=shown) as counters:
        for number, unit in enumerate(units):
            before = None if store is None else store.load(number, unit)
            if before is not None:
                finished[unit] = before
                counters.set(number, design.rounds * len(unit.runs))
        open_units = [number for number, unit in enumerate(units) if unit not in finished]
        for number, curves in spread(_Work(design, units, counters), open_units, workers, backend, address):
            unit = units[number]
            if store is not None:
                store.save(number, curves)
            finished[unit] = curves
            counters.set(number, design.rounds * len(unit.runs))
    return finished


def _joined(design: Design, curves: Mapping[Unit, Totals], seconds: float) -> Result:
    units = design.units()
    whole = {c.name: Totals.join([curves[unit] for unit in units if unit.policy == c.name]) for c in design.lineup}
    measures = {name: {policy: getattr(totals, name) for policy, totals in whole.items()} for name in MEASURES}
    return Result(design.checkpoints, **measures, configuration=design.describe(), seconds=seconds)
