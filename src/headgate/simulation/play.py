"""One unit of work: a policy plays a batch of runs, and its regret is recorded at the checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np

from headgate.errors import AllocationError
from headgate.feedback import Feedback
from headgate.laws import Floats
from headgate.live.points import cascade_plan
from headgate.policies import Portions
from headgate.problem import Problem
from headgate.simulation.design import Design, Unit
from headgate.simulation.environment import row_of
from headgate.simulation.streams import block_length

MEASURES = ("regret", "realised", "reward", "optimum")
_ROUNDING = 1e-9  # the share of the budget by which an allocation may be above it


@final
@dataclass(frozen=True, slots=True, eq=False)
class Totals:
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


def play(design: Design, unit: Unit, tick: Callable[[int], None] = lambda _: None) -> Totals:
    """Play a unit; `tick` is told the number of rounds played since the last time, over all its runs."""
    return Totals.join([_play_batch(design, unit.policy, *group, tick) for group in _same_law(design, unit.runs)])


def _same_law(design: Design, runs: range) -> Iterator[tuple[range, Problem]]:
    """Group consecutive runs whose problems have one law, and make one batch of their problems."""
    problems = [design.environment.problem(design.seed, run) for run in runs]
    start = 0
    for end in range(1, len(runs) + 1):
        if end == len(runs) or _rules(problems[end]) != _rules(problems[start]):
            group = problems[start:end]
            p, rate, value = (np.stack([getattr(g, name) for g in group]) for name in ("activation", "rate", "value"))
            yield runs[start:end], Problem(group[0].law, p, rate, value=value, kinds=group[0].kinds)
            start = end


def _rules(problem: Problem) -> tuple[object, ...]:
    """What problems of one batch have in common."""
    return problem.law, problem.arms, None if problem.kinds is None else tuple(problem.kinds.tolist())


def _play_batch(design: Design, name: str, runs: range, problem: Problem, tick: Callable[[int], None]) -> Totals:
    way = _Live if name in design.live else _Pouring if name in design.hidden else _Knowing
    player = way(design, name, runs, problem)
    length = block_length(problem.arms)
    total = np.zeros((len(MEASURES), len(runs)))
    recorded = np.empty((len(MEASURES), design.checkpoints.size, len(runs)))
    score = _Score(design, problem, live=name in design.live)
    places = [(row_of(problem, row), design.seed, run) for row, run in enumerate(runs)]
    for block, start in enumerate(range(0, design.rounds, length)):
        count = min(length, design.rounds - start)
        reach = np.stack([design.environment.thresholds(*place, block)[:count] for place in places], axis=1)
        budgets = np.stack([design.budgets.block(design.seed, run, block, length, count) for run in runs], axis=1)
        played = player.play(reach, budgets)
        _check(name, played, budgets)
        rounds = score(played, reach, budgets)  # (4, count, runs)
        rounds[:, 0] += total
        sums = np.cumsum(rounds, axis=1)
        due = (design.checkpoints > start) & (design.checkpoints <= start + count)
        recorded[:, due] = sums[:, design.checkpoints[due] - start - 1]
        total = sums[:, -1]
        tick(count * len(runs))
    return Totals(*np.ascontiguousarray(recorded.transpose(0, 2, 1)))


def worth_of(problem: Problem) -> Floats | float:
    """What a success of each arm is worth; 1 if it is so for all, which every policy understands."""
    return problem.value if np.any(problem.value != 1.0) else 1.0


class _Knowing:
    """A policy that is told the budget: all runs in one batch."""

    def __init__(self, design: Design, name: str, runs: range, problem: Problem) -> None:
        self.policy = design.build(name, problem, runs)
        self.state = self.policy.start()
        self.constant, self.value = design.budgets.constant, worth_of(problem)

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


class _Live:
    """A policy that plays live rounds: all runs in one batch, each round in one call."""

    def __init__(self, design: Design, name: str, runs: range, problem: Problem) -> None:
        self.policy = design.build(name, problem, runs)
        self.state = self.policy.start()
        self.knows_budget, self.value = name not in design.hidden, worth_of(problem)

    def play(self, reach: Floats, budgets: Floats) -> Floats:
        """Return what each arm had got at the end of each round of a block: (rounds, runs, K)."""
        from headgate.kernels.live_play import play_round  # noqa: PLC0415  # machine code loads on first use

        played = np.empty_like(reach)
        policy, state, cascade = self.policy, self.state, self.policy.reward == "cascade"
        unknown = np.empty(0)
        for t in range(len(reach)):
            ask = policy.ask(budgets[t] if self.knows_budget else policy.max_budget, value=self.value)
            (x, y), state = policy.begin_live(state, ask)
            worth, limits = np.ones(policy.arms) if ask.value is None else ask.value, ask.limits
            most = np.minimum(limits.upper, x[..., -1])
            if cascade and self.knows_budget:
                most = cascade_plan(x, y, replace(limits, upper=most), policy.whole)
            with np.errstate(all="ignore"):
                amounts = play_round(
                    x, y, worth, policy.whole, cascade, limits.lower, most, reach[t],
                    budgets[t] if self.knows_budget else np.inf, budgets[t], unknown, unknown,
                )  # fmt: skip
            played[t] = amounts
            state = policy.absorb(state, amounts, _answer(reach[t], amounts))
        self.state = state
        return played


class _Pouring:
    """A policy that is not told the budget: it pours until the environment stops it, run by run."""

    def __init__(self, design: Design, name: str, runs: range, problem: Problem) -> None:
        rows = [row_of(problem, row) for row in range(len(runs))]
        self.step, self.values = design.step, [worth_of(row) for row in rows]
        self.policies = [design.build(name, row, range(run, run + 1)) for row, run in zip(rows, runs, strict=True)]
        self.states = [policy.start() for policy in self.policies]

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
    rest = float(budget)
    for arm, amount in zip(portions[0].tolist(), portions[1].tolist(), strict=True):
        if amount >= rest:
            x[arm] += rest
            break
        x[arm] += amount
        rest -= amount
    return x


def _answer(reach: Floats, x: Floats) -> Feedback:
    won = (reach <= x) & (x > 0.0)
    return Feedback.trusted(won, np.where(won, reach, np.nan))


class _Score:
    """What the rounds of a block are worth, to the policy and to the optimum."""

    def __init__(self, design: Design, problem: Problem, *, live: bool) -> None:
        self.problem, self.reward, self.live = problem, design.reward, live
        self.valued = bool(np.any(problem.value != 1.0))
        self.best: Floats | None = None
        if design.budgets.constant and design.budgets.amounts is not None:
            self.best = problem.solve(design.budgets.amounts, reward=design.reward).x

    def _reward(self, x: Floats, reach: Floats) -> Floats:
        won = (reach <= x) & (x > 0.0)
        if self.valued:
            return np.asarray(np.sum(self.problem.value * won, axis=-1))
        count = np.any if self.reward == "cascade" else np.count_nonzero
        return np.asarray(count(won, axis=-1), dtype=np.float64)

    def _optima(self, budgets: Floats) -> Floats:
        """The optimum of each round, solved once for each budget there is."""
        if self.best is not None:
            return self.best
        different, which = np.unique(budgets, return_inverse=True)
        if different.size >= len(budgets):
            return self.problem.solve(budgets, reward=self.reward).x
        solved = self.problem.solve(different[:, None], reward=self.reward).x  # (different, runs, K)
        return solved[which.reshape(budgets.shape), np.arange(budgets.shape[1])]

    def __call__(self, x: Floats, reach: Floats, budgets: Floats) -> Floats:
        """Return the measures of each round: (4, rounds, runs)."""
        best = self._optima(budgets)
        optimum, reward = self.problem.expected_reward(best, self.reward), self._reward(x, reach)
        # What an arm has got in a live round depends on its threshold: there is no expectation given that.
        mine = reward if self.live else self.problem.expected_reward(x, self.reward)
        measures = [optimum - mine, self._reward(best, reach) - reward, reward, np.broadcast_to(optimum, reward.shape)]
        return np.stack(measures).astype(np.float64)


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
