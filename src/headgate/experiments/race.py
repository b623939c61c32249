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
from headgate.experiments.reproduce import finish
from headgate.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How much, how long, how often, and who plays."""

    arms: int
    budget: float
    rounds: int
    runs: int
    policies: tuple[str, ...] = (lineup.THOMPSON, lineup.SCALED, lineup.ETC, lineup.EVEN)


def _run(problem: Problem) -> Callable[[Config, Setting], Outcome]:
    def run(config: Config, setting: Setting) -> Outcome:
        result = setting.simulate(
            "race",
            problem,
            lineup.entrants(*config.policies),
            budget=config.budget,
            rounds=config.rounds,
            runs=config.runs,
        )
        limit = float(theory.information_limit(problem, config.budget))
        return Outcome("simulated", {"race": result}, {"information_limit": limit})

    return run


def _draw(config: Config, outcome: Outcome, figure: Figure) -> None:
    result, limit = outcome.results["race"], float(outcome.numbers["information_limit"])
    lines = curves.of_result(result) + curves.references(result.rounds, config.arms, limit)
    curves.draw(figure.subplots(), lines, inches=3.9)


def _caption(config: Config, outcome: Outcome) -> str:
    return (
        f"Successes lost against the best allocation, T = {config.rounds:,}, mean of {config.runs} runs with one "
        "standard deviation, both axes logarithmic. Dashed: the paper's lower bound; dotted: the information limit "
        f"c* ln T, c* = {outcome.numbers['information_limit']:.1f}."
    )


def race(out: Path, quiz: Path, *, quick: bool = False, say: Callable[[str], None] = lambda _: None) -> list[Part]:
    """Run both races into a folder and write its `index.html`, with the picture `quiz` of the solved problem."""
    parts = []
    for experiment in (QUIZ, PAPER):
        folder = out / experiment.name
        finish(experiment, Setting(folder), experiment.title, quick, force=False, say=say)
        part = Part.load(experiment, folder)
        if part is not None:
            parts.append(part)
    write_demo_page(out, parts, quiz)
    return parts


QUIZ = Experiment(
    name="quiz",
    title="A quiz: 20 real questions, 695 seconds, 1,000 students",
    paper="EdNet-KT3, S-shaped response times",
    full=Config(arms=20, budget=694.86, rounds=1000, runs=5),
    quick=Config(arms=20, budget=694.86, rounds=60, runs=2),
    run=_run(datasets.ednet_quiz()),
    draw=_draw,
    caption=_caption,
)
PAPER = Experiment(
    name="paper",
    title="The paper's problem: 10 exponential arms, a budget of 40",
    paper="The instance saved with the paper's code",
    full=Config(arms=10, budget=40.0, rounds=10_000, runs=5),
    quick=Config(arms=10, budget=40.0, rounds=150, runs=2),
    run=_run(datasets.saved_instance()),
    draw=_draw,
    caption=_caption,
)
