"""A simulation as one would write it down: one run, one learner, one round at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

import headgate as hg
from headgate.simulation import Environment, Result
from headgate.simulation.streams import block_length, policy_seed

MEASURES = ("regret", "realised", "reward", "optimum")


def slow_run(
    environment: Environment, make: Any, budget: Any, largest: float, rounds: int, seed: int, run: int
) -> dict[str, list[float]]:
    """Return every measure after every round of one run; `budget` is a function of the round, from 0."""
    problem = environment.problem(seed, run)
    policy = make(problem.law, problem.arms, largest, seed=policy_seed(seed, run))
    length = block_length(problem.arms)
    sums: dict[str, list[float]] = {name: [] for name in MEASURES}
    total = dict.fromkeys(MEASURES, 0.0)
    for t in range(rounds):
        reach = environment.thresholds(problem, seed, run, t // length)[t % length]
        x = policy.allocate(budget(t))
        success = [bool(r <= a) for r, a in zip(reach, x, strict=True)]
        policy.observe(x, hg.Feedback(success, [r if s else np.nan for r, s in zip(reach, success, strict=True)]))
        best = problem.solve(budget(t))
        would = sum(bool(r <= a) for r, a in zip(reach, best.x, strict=True))
        optimum = float(problem.expected_reward(best.x))
        for name, value in (
            ("regret", optimum - float(problem.expected_reward(x))),
            ("realised", would - sum(success)),
            ("reward", sum(success)),
            ("optimum", optimum),
        ):
            total[name] += value
            sums[name].append(total[name])
    return sums


def same(a: Result, b: Result) -> bool:
    """Whether two results have the same numbers, to the last bit."""
    return np.array_equal(a.rounds, b.rounds) and all(
        np.array_equal(getattr(a, name)[policy], getattr(b, name)[policy]) for name in MEASURES for policy in a.policies
    )
