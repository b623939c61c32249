"""One unit of work: a policy plays a batch of runs, and its regret is recorded at the checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from headgate.errors import AllocationError
from headgate.feedback import Feedback
from headgate.laws import Floats
from headgate.policies import Policy, Portions
from headgate.problem import Problem
from headgate.simulation.plan import Plan, Unit
from headgate.simulation.streams import block_length

MEASURES = ("regret", "realised", "reward", "optimum")
_ROUNDING = 1e-9  # of the budget, that an allocation may be above it


@final
@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """What a policy's runs came to by each checkpoint, added up over the rounds: (runs, C) each."""

    regret: Floats
    """Expected reward of the optimum, less that of what was played."""
    realised: Floats
    """Reward that the optimum got in the same world, less what the policy got."""
    reward: Floats
    """Reward that the policy got."""
    optimum: Floats
    """Expected reward of the optimum."""

    @classmethod
    def join(cls, parts: list[Self]) -> Self:
        """Put consecutive runs together."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in MEASURES))


def play(plan: Plan, unit: Unit, tick: Callable[[int], None] = lambda _: None) -> Curves:
    """Play a unit; `tick` is told the number of rounds played since the last time, over all its runs."""
    return Curves.join([_play_batch(plan, unit.policy, *group, tick) for group in _same_law(plan, unit.runs)])


def _same_law(plan: Plan, runs: range) -> Iterator[tuple[range, Problem]]:
    """Group consecutive runs whose problems have one law, and make one batch of their problems."""
    problems = [plan.environment.problem(plan.seed, run) for run in runs]
    start = 0
    for end in range(1, len(runs) + 1):
        if end == len(runs) or problems[end].law != problems[start].law or problems[end].arms != problems[start].arms:
            group = problems[start:end]
            p, rate, value = (np.stack([getattr(g, name) for g in group]) for name in ("activation", "rate", "value"))
            yield runs[start:end], Problem(group[0].law, p, rate, value=value)
            start = end


def _play_batch(plan: Plan, name: str, runs: range, problem: Problem, tick: Callable[[int], None]) -> Curves:
    player = _Pouring(plan, name, runs, problem) if name in plan.hidden else _Knowing(plan, name, runs, problem)
    length = block_length(problem.arms)
    total = np.zeros((len(MEASURES), len(runs)))
    recorded = np.empty((len(MEASURES), plan.checkpoints.size, len(runs)))
    score = _Score(plan, problem)
    places = [(problem_of_row(problem, row), plan.seed, run) for row, run in enumerate(runs)]
    for block, start in enumerate(range(0, plan.rounds, length)):
        count = min(length, plan.rounds - start)
        reach = np.stack([plan.environment.thresholds(*place, block)[:count] for place in places], axis=1)
        budgets = np.stack([plan.budgets.block(plan.seed, run, block, length, count) for run in runs], axis=1)
        played = player.play(reach, budgets)
        _check(name, played, budgets)
        rounds = score(played, reach, budgets)  # (4, count, runs)
        rounds[:, 0] += total
        sums = np.cumsum(rounds, axis=1)
        due = (plan.checkpoints > start) & (plan.checkpoints <= start + count)
        recorded[:, due] = sums[:, plan.checkpoints[due] - start - 1]
        total = sums[:, -1]
        tick(count * len(runs))
    return Curves(*np.ascontiguousarray(recorded.transpose(0, 2, 1)))


def problem_of_row(problem: Problem, row: int) -> Problem:
    """Return the problem of one run of a batch."""
    return Problem(problem.law, problem.activation[row], problem.rate[row], value=problem.value[row])


def worth_of(problem: Problem) -> Floats | float:
    """What a success of each arm is worth; 1 if it is so for all, which every policy understands."""
    return problem.value if np.any(problem.value != 1.0) else 1.0


class _Knowing:
    """A policy that is told the budget: all runs in one batch."""

    def __init__(self, plan: Plan, name: str, runs: range, problem: Problem) -> None:
        self.policy = plan.contender(name).build(
            problem, plan.seed, runs, plan.budgets.largest, plan.rounds, plan.reward
        )
        self.state = self.policy.start()
        self.constant, self.value = plan.budgets.constant, worth_of(problem)

    def play(self, reach: Floats, budgets: Floats) -> Floats:
        """Return what was played in each round of a block: (rounds, runs, K)."""
        played = np.empty_like(reach)
        policy, state = self.policy, self.state
        ask = policy.ask(float(budgets[0, 0]), value=self.value)
        for t in range(len(reach)):
            if not self.constant:
                ask = policy.ask(budgets[t], value=self.value)
            x, state = policy.decide(state, ask)
            played[t] = x
            state = policy.absorb(state, x, _answer(reach[t], x))
        self.state = state
        return played


class _Pouring:
    """A policy that is not told the budget: it pours until the environment stops it, run by run."""

    def __init__(self, plan: Plan, name: str, runs: range, problem: Problem) -> None:
        contender, self.step = plan.contender(name), plan.step
        self.policies: list[Policy] = [
            contender.build(
                problem_of_row(problem, row), plan.seed, range(run, run + 1), plan.budgets.largest, plan.rounds,
                plan.reward,
            )
            for row, run in enumerate(runs)
        ]  # fmt: skip
        self.states = [policy.start() for policy in self.policies]
        self.values = [worth_of(problem_of_row(problem, row)) for row in range(len(runs))]

    def play(self, reach: Floats, budgets: Floats) -> Floats:
        """Return what was played in each round of a block: (rounds, runs, K)."""
        played = np.empty_like(reach)
        for row, (policy, state) in enumerate(zip(self.policies, self.states, strict=True)):
            ask = policy.ask(policy.max_budget, value=self.values[row])
            for t in range(len(reach)):
                portions, state = policy.decide_pour(state, ask, self.step)  # noqa: PLW2901  # the next state
                x = _poured(portions, policy.arms, budgets[t, row])
                played[t, row] = x
                state = policy.absorb(state, x, _answer(reach[t, row], x))  # noqa: PLW2901  # the next state
            self.states[row] = state
        return played


def _poured(portions: Portions, arms: int, budget: float) -> Floats:
    """Return what each arm has got when the budget turns out to be spent."""
    x = np.zeros(arms)
    left = float(budget)
    for arm, amount in zip(portions[0].tolist(), portions[1].tolist(), strict=True):
        if amount >= left:
            x[arm] += left
            break
        x[arm] += amount
        left -= amount
    return x


def _answer(reach: Floats, x: Floats) -> Feedback:
    won = reach <= x
    return Feedback.trusted(won, np.where(won, reach, np.nan))


class _Score:
    """What the rounds of a block are worth, to the policy and to the optimum."""

    def __init__(self, plan: Plan, problem: Problem) -> None:
        self.problem, self.cascade = problem, plan.reward == "cascade"
        self.valued = bool(np.any(problem.value != 1.0))
        self.reward = plan.reward
        self.best: Floats | None = None
        if plan.budgets.constant and plan.budgets.amounts is not None:
            self.best = self._solve(plan.budgets.amounts)

    def _solve(self, budgets: Floats) -> Floats:
        return self.problem.solve(budgets, reward="cascade" if self.cascade else "sum").x

    def _expected(self, x: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            success = self.problem.activation * self.problem.law.cdf(x, self.problem.rate)
            if self.cascade:
                return np.asarray(-np.expm1(np.sum(np.log1p(-success), axis=-1)))
        return np.asarray(np.sum(self.problem.value * success, axis=-1))

    def _got(self, x: Floats, reach: Floats) -> Floats:
        won = reach <= x
        if self.valued:
            return np.asarray(np.sum(self.problem.value * won, axis=-1))
        return np.asarray(np.any(won, axis=-1) if self.cascade else np.count_nonzero(won, axis=-1), dtype=np.float64)

    def _optima(self, budgets: Floats) -> Floats:
        """The optimum of each round, solved once for each budget there is."""
        if self.best is not None:
            return self.best
        different, which = np.unique(budgets, return_inverse=True)
        if different.size >= len(budgets):
            return self._solve(budgets)
        solved = self._solve(different[:, None])  # (different, runs, K)
        return solved[which.reshape(budgets.shape), np.arange(budgets.shape[1])]

    def __call__(self, x: Floats, reach: Floats, budgets: Floats) -> Floats:
        """Return the measures of each round: (4, rounds, runs)."""
        best = self._optima(budgets)
        optimum, got = self._expected(best), self._got(x, reach)
        return np.stack(
            [optimum - self._expected(x), self._got(best, reach) - got, got, np.broadcast_to(optimum, got.shape)]
        ).astype(np.float64)


def _check(name: str, played: Floats, budgets: Floats) -> None:
    """Raise if a policy spent what it does not have: its regret would be worth nothing."""
    spent = np.sum(played, axis=-1)
    wrong = ~(np.all(played >= 0.0, axis=-1) & (spent <= budgets * (1.0 + _ROUNDING)))
    if wrong.any():
        t, row = np.argwhere(wrong)[0]
        raise AllocationError(
            f"policy {name!r} must allocate amounts >= 0 that add up to at most the budget {budgets[t, row]:g}, "
            f"got {played[t, row]}"
        )
