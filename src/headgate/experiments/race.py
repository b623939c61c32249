"""The demo's two races: the quiz with real questions, and the paper's exponential problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from scipy import stats

from headgate import datasets, theory
from headgate.experiments import curves, lineup
from headgate.experiments.base import Experiment, Outcome, Part, Setting
from headgate.experiments.customers import Calls
from headgate.experiments.live import LiveQuiz
from headgate.experiments.report.page import write_demo
from headgate.experiments.reproduction import finish
from headgate.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How much, how long, how often, and who plays."""

    budget: float
    rounds: int
    runs: int
    policies: tuple[str, ...] = (lineup.THOMPSON, lineup.SCALED, lineup.ETC, lineup.EVEN)


def _run(problem: Problem) -> Callable[[Config, Setting], Outcome]:
    def run(config: Config, setting: Setting) -> Outcome:
        size = {"rounds": config.rounds, "runs": config.runs}
        policies = lineup.entrants(*config.policies)
        result = setting.simulate("race", problem, policies, budget=config.budget, **size)
        limit = float(theory.information_limit(problem, config.budget))
        return Outcome("simulated", {"race": result}, {"information_limit": limit, "arms": problem.arms})

    return run


def _draw(config: Config, outcome: Outcome, figure: Figure) -> None:  # noqa: ARG001  # every experiment's
    result, numbers = outcome.results["race"], outcome.numbers
    lines = curves.of_result(result) + curves.references(result.rounds, numbers["arms"], numbers["information_limit"])
    curves.draw(figure.subplots(), lines, inches=3.9)


def _caption(config: Config, outcome: Outcome) -> str:
    return (
        f"Successes lost against the best allocation, T = {config.rounds:,}, mean of {config.runs} runs with one "
        "standard deviation, both axes logarithmic. Dashed: the paper's lower bound; dotted: the information limit "
        f"c* ln T, c* = {outcome.numbers['information_limit']:.1f}."
    )


def run_races(
    out: Path, quiz: Path, live: LiveQuiz, calls: Calls, *, quick: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> list[Part]:  # fmt: skip
    """Run both races into a folder; write its `index.html`, with the quiz solved and played live, and calls."""
    parts = [finish(race, Setting(out / race.name), race.title, quick, force=False, say=say) for race in RACES]
    write_demo(out, parts, quiz, live, calls, beside_even(parts[0]))
    return parts


def beside_even(part: Part) -> str:
    """Say what the paper's policies lose beside an even split, by paired differences over the runs, and why."""
    result, config = part.outcome.results["race"], part.config
    even = result.regret[lineup.EVEN][:, -1]
    words = []
    for name in (lineup.SCALED, lineup.ETC):
        difference = result.regret[name][:, -1] - even
        mean, width = difference.mean(), stats.t.ppf(0.975, config.runs - 1) * stats.sem(difference)
        words.append(f"{name} loses {mean:+,.0f} beside it (95% interval {mean - width:+,.0f} to {mean + width:+,.0f})")
    arms = part.outcome.numbers["arms"]
    first = min(arms * math.floor(math.log(config.rounds)), config.rounds)
    return (
        f"Beside the even split, on the quiz: {'; '.join(words)}. RA-UCB begins with {first} of {config.rounds:,} "
        "rounds in which one question gets all the time, learns from one question a round, and takes the truncation of "
        "its times to be at the budget; RA-ETC explores first, too. The learner splits the time from its first round "
        "on, and learns from every question."
    )


RACES = (
    Experiment(
        "quiz", "A quiz: 20 real questions, 695 seconds, 1,000 students", "EdNet-KT3, S-shaped response times",
        Config(694.86, rounds=1000, runs=5), _run(datasets.ednet_quiz()), _draw, _caption,
        quick=Config(694.86, rounds=60, runs=2),
    ),
    Experiment(
        "paper", "The paper's problem: 10 exponential arms, a budget of 40", "The instance saved with the paper's code",
        Config(40.0, rounds=10_000, runs=5), _run(datasets.saved_instance()), _draw, _caption,
        quick=Config(40.0, rounds=150, runs=2),
    ),
)  # fmt: skip
