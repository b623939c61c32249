"""The demo's two races: the quiz with real questions, and the paper's exponential problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from headgate import datasets, theory
from headgate.experiments import curves, lineup
from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.experiments.part import Part
from headgate.experiments.report.page import write_demo_page
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


def run_races(out: Path, quiz: Path, *, quick: bool = False, say: Callable[[str], None] = lambda _: None) -> list[Part]:
    """Run both races into a folder and write its `index.html`, with the picture `quiz` of the solved problem."""
    parts = [finish(race, Setting(out / race.name), race.title, quick, force=False, say=say) for race in RACES]
    write_demo_page(out, parts, quiz)
    return parts


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
