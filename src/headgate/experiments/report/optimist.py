"""What LR-UCB promises, measured: how often its envelopes miss, and what it pays where rates are small.

Proved (docs/guarantees.md): with probability at least 1 - delta every arm's curve lies in its set at all times at once,
whatever the policy plays, if the law is right. Measured here: under its own adaptive allocations, and its regret
over sqrt(T) on the lower bound's hard family, whose rates go to 0 as T grows; no bound on that is proved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

import headgate as hg
from headgate import theory
from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.laws import Law

_ACTIVATION, _RATE, _BUDGET = np.array([0.9, 0.5, 0.2]), np.array([0.3, 0.6, 1.0]), 6.0
LAWS: tuple[Law, ...] = (hg.Exponential(), hg.Weibull(2.0), hg.LogNormal(0.8))
DELTAS = (0.05, 0.2)


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How many runs decide about coverage, of how many rounds, and the horizons on the hard family."""

    runs: int = 2000
    rounds: int = 150
    horizons: tuple[int, ...] = (100, 1000, 10_000)
    repeats: int = 20


def run(config: Config, setting: Setting) -> Outcome:  # noqa: ARG001  # every experiment's
    """Count the runs in which an envelope was ever too low, and play the hard family."""
    missed = [
        {
            "law": str(law),
            "delta": delta,
            "missed": count_missed(law, delta, config.runs, config.rounds),
            "runs": config.runs,
        }
        for law in LAWS
        for delta in DELTAS
    ]
    paid = [{"rounds": T, "regret": _paid(T, config.repeats)} for T in config.horizons]
    return Outcome("simulated", numbers={"coverage": missed, "hard": paid})


def count_missed(law: Law, delta: float, runs: int, rounds: int) -> int:
    """Return the number of runs in which some arm's true curve was ever above its upper envelope."""
    problem, rng = hg.Problem(law, _ACTIVATION, _RATE), np.random.default_rng(1)
    policy = hg.LRUCB(law, 3, _BUDGET, delta=delta, seed=np.arange(runs))
    truth = (_ACTIVATION * law.cdf(np.exp(policy.log_places)[:, None], _RATE)).T
    missed = np.zeros(runs, dtype=bool)
    for _ in range(rounds):
        x = policy.allocate(_BUDGET)
        missed |= (policy.state.curves[..., 0] < truth - 1e-9).any(axis=(-1, -2))
        policy.observe(x, problem.play(x, rng))
    return int(missed.sum())


def _paid(rounds: int, repeats: int) -> list[float]:
    """LR-UCB's regret on the hard family of 3 arms at this horizon."""
    problem = theory.hard_family(3, rounds).problem()
    played: Any = hg.simulate(problem, {"lr-ucb": hg.LRUCB}, budget=1.0, rounds=rounds, runs=repeats, seed=0)
    return [float(v) for v in played.regret["lr-ucb"][:, -1]]


EXPERIMENT = Experiment(
    name="optimist",
    title="LR-UCB: what it promises",
    paper="Not in the paper: the optimist that takes RA-UCB's place",
    full=Config(),
    quick=Config(runs=300, rounds=60, horizons=(100, 1000), repeats=10),
    run=run,
    draw=None,
    caption=lambda config, _: f"{config.runs:,} runs of {config.rounds} rounds.",
)
