"""Figures "Theory", "RA-ETC" and "NO UCB": K = 10 exponential arms, B = 40, a new problem for each run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

import headgate as hg
from headgate import theory
from headgate.experiments import curves
from headgate.experiments.base import LEVEL, Experiment, Outcome, Setting, Table
from headgate.experiments.lineup import (
    CORRECTED,
    CUCB,
    ETC,
    EVEN,
    GREEDY,
    MARA,
    PER_ARM,
    SCALED,
    THOMPSON,
    WIDER,
    WRITTEN,
    entrants,
)  # fmt: skip
from headgate.experiments.report import judge
from headgate.experiments.report.judge import mean_of
from headgate.problem import Problem
from headgate.simulation import Draws

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ARMS, BUDGET = 10, 40.0
RATES = (1.0 / BUDGET, 80.0 / BUDGET)  # Lambda = [m/B, M/B]


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How long, how often, and who plays."""

    policies: tuple[str, ...]
    rounds: int
    runs: int = 15
    arms: int = ARMS
    budget: float = BUDGET


def draw_problem(rng: np.random.Generator) -> Problem:
    """p ~ U(0, 1], lambda ~ U[1/B, 80/B]."""
    return Problem(hg.Exponential(), activation=1.0 - rng.random(ARMS), rate=rng.uniform(*RATES, ARMS))


def run(config: Config, setting: Setting) -> Outcome:
    """Simulate, and compute every bound for the same problems."""
    size = {"budget": config.budget, "rounds": config.rounds, "runs": config.runs}
    result = setting.simulate("regret", draw_problem, entrants(*config.policies), **size)
    problems = [Draws(draw_problem).problem(setting.seed, run) for run in range(config.runs)]
    return Outcome("simulated", {"regret": result}, bounds(problems, config))


def bounds(problems: list[Problem], config: Config) -> dict[str, Any]:
    """Return what theory says of these problems at the horizon, on average or as a median."""
    T, B = config.rounds, config.budget
    limits = [float(theory.information_limit(problem, B)) for problem in problems]
    even = [float(problem.expected_reward(np.full(ARMS, B / ARMS))) for problem in problems]
    return {
        "lower_bound": float(theory.lower_bound(config.arms, T)),
        "information_limit": float(np.median(limits)),
        "largest_limit": float(np.max(limits)),
        "sqrt_bound": float(np.median([theory.sqrt_upper_bound(problem, B, T) for problem in problems])),
        "log_bound": float(np.median([theory.log_upper_bound(problem, B, T) for problem in problems])),
        "rho": [theory.rho(problem, B) for problem in problems],
        "independent_bound": [
            float(theory.problem_independent_bound(config.arms, T, theory.rho(problem, B))) for problem in problems
        ],
        "optimum": float(np.mean([problem.solve(B).value for problem in problems])),
        "even": float(np.mean(even)),
        "trivial": float(config.arms * T),
    }


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:
    """Logarithmic and linear axes; bounds that are off the page are named at its top."""
    result, numbers = outcome.results["regret"], outcome.numbers
    lines = curves.of_result(result) + curves.references(
        result.rounds, config.arms, float(numbers["information_limit"])
    )
    axes = curves.draw_both(figure, lines, inches=3.9, room=6.0)
    above = (
        f"above this page: the √T bound, {numbers['sqrt_bound']:.1e},\n"
        f"the (log T)² bound, {numbers['log_bound']:.0e}; K T is {numbers['trivial']:,.0f}"
    )
    axes.text(0.015, 0.985, above, transform=axes.transAxes, va="top", fontsize=8.0, color="#555555")


def caption(config: Config, outcome: Outcome) -> str:
    """Say what is drawn."""
    return (
        f"{config.arms} exponential arms, B = {config.budget:g}, λ ~ U[1/B, 80/B], p ~ U(0, 1], T = "
        f"{config.rounds:,}: mean expected regret of {config.runs} runs, each on a problem of its own, with one "
        "standard deviation. Dashed: the lower bound K^(2/3) T^(1/3) / 48; dotted: the information limit c* ln T, c* "
        f"= {outcome.numbers['information_limit']:.2f}, the median of the problems (an arm that gets almost nothing "
        f"at the optimum makes it explode, up to {outcome.numbers['largest_limit']:,.0f} here). {curves.LIMIT_SAYS} "
        "Numbers at the right are those of the last round."
    )


def tables(config: Config, outcome: Outcome) -> list[Table]:  # noqa: ARG001  # every experiment's
    """What each policy pays a round, in growing windows: a slope of cumulative regret would hide a floor."""
    result = outcome.results["regret"]
    ends = [int(result.rounds[-1]) // 2**k for k in (3, 2, 1, 0)]
    windows = tuple(f"{a:,} to {b:,}" for a, b in pairwise(ends))
    rows = []
    for policy, regret in result.regret.items():
        paid = [mean_of(judge.paid_in(result.rounds, regret, window)) for window in pairwise(ends)]
        growth = judge.growth_of(result.rounds, regret)
        rows.append((policy, *(p.show(".4f") for p in paid), growth.show(".2f")))
    head = ("policy", *windows, "exponent")
    return [
        Table(
            f"Regret a round in growing windows of rounds, with {LEVEL:.0%} intervals; exponent between the last two",
            head,
            rows,
        )
    ]


def _experiment(
    name: str, title: str, paper: str, policies: tuple[str, ...], rounds: int, quick: int
) -> Experiment[Config]:
    full, short = Config(policies, rounds), Config(policies, quick)
    return Experiment(name, title, paper, full, run, draw, caption, short, (13.0, 5.0), tables=tables)


THEORY = _experiment(
    "theory",
    "Regret against the bounds",
    "Figure “Theory”: RA-UCB between the lower bound and the √T bound",
    (WRITTEN, SCALED, CORRECTED, ETC, CUCB, MARA, EVEN, THOMPSON),
    rounds=100_000,
    quick=5_000,
)
RA_ETC = _experiment(
    "ra-etc",
    "RA-UCB against RA-ETC",
    "Figure “RA-ETC”: RA-UCB consistently has the lower regret",
    (WRITTEN, SCALED, WIDER, ETC, PER_ARM, CUCB, EVEN, THOMPSON),
    rounds=10_000,
    quick=2_000,
)
NO_UCB = _experiment(
    "no-ucb",
    "RA-UCB against NO UCB",
    "Figure “NO UCB”: without optimism, nearly linear regret and a larger variance",
    (WRITTEN, SCALED, GREEDY, MARA, EVEN, THOMPSON),
    rounds=10_000,
    quick=2_000,
)
