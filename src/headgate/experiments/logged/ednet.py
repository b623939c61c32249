"""Figure "EdNet": 20 questions, a student's seconds to split; real answers replayed, or the fitted laws simulated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

import numpy as np

from headgate import theory
from headgate.calibration.reading.ednet_pseudo import read_answers
from headgate.datasets import ednet_quiz
from headgate.errors import InputError
from headgate.experiments import curves
from headgate.experiments.base import Experiment, Outcome, Setting
from headgate.experiments.lineup import CUCB, ETC, EVEN, MARA, SCALED, THOMPSON, WRITTEN, entrants
from headgate.problem import Problem
from headgate.simulation import Replay

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE = "ednet_pseudo_users.csv"
"""The answers that the paper replays; they may not be shipped."""
_LARGEST = 1500.0  # seconds; a few students left the page open for hours


@final
@dataclass(frozen=True, slots=True)
class Config:
    """How many students, how many batches of them, and their seconds."""

    rounds: int = 1000
    runs: int = 5
    budget: float = 700.0
    largest: float = _LARGEST
    policies: tuple[str, ...] = (WRITTEN, SCALED, ETC, CUCB, MARA, EVEN, THOMPSON)


def own_time(t: int, rng: np.random.Generator, quiz: Problem, largest: float) -> float:  # noqa: ARG001  # as budgets are asked
    """Draw a student's B_t: the sum of the times that a student takes for all questions."""
    return float(min(quiz.law.sample(quiz.rate, rng).sum(), largest))


def run(config: Config, setting: Setting) -> Outcome:
    """Play both budgets: the constant one, and each student's own time."""
    quiz, path = ednet_quiz(), setting.file(FILE)
    numbers: dict[str, Any] = {"information_limit": float(theory.information_limit(quiz, config.budget))}
    policies = entrants(*config.policies)
    size = {"rounds": config.rounds, "runs": config.runs}
    if path is None:
        drawn = partial(own_time, quiz=quiz, largest=config.largest)
        results = {
            "constant": setting.simulate("constant", quiz, policies, budget=config.budget, **size),
            "own": setting.simulate("own", quiz, policies, budget=drawn, max_budget=config.largest, **size),
        }
        return Outcome("simulated from the fitted laws in the package", results, numbers)
    answers = read_answers(path, quiz.names)
    students = config.rounds * config.runs
    if len(answers.seconds) < students:
        raise InputError(
            f"{path} must have {config.runs} batches of {config.rounds} students, got {len(answers.seconds)}"
        )
    batches = (config.runs, config.rounds, quiz.arms)
    seconds, right = (values[:students].reshape(batches) for values in answers)
    own = np.minimum(seconds.sum(axis=-1), config.largest)
    constant = Replay(seconds, right, quiz, shuffle=False)
    varying = Replay(seconds, right, quiz, shuffle=False, budgets=own)
    results = {
        "constant": setting.simulate("constant", constant, policies, budget=config.budget, **size),
        "own": setting.simulate("own", varying, policies, max_budget=config.largest, **size),
    }
    return Outcome(f"real answers replayed from {path.name}", results, numbers)


def measure_of(outcome: Outcome) -> str:
    """Which regret counts: that of real answers, where these were played, else the expected one."""
    return "realised" if outcome.source.startswith("real") else "regret"


def draw(config: Config, outcome: Outcome, figure: Figure) -> None:
    """Two panels, one for each kind of budget."""
    measure = measure_of(outcome)
    ylabel = "answers lost to x*" if measure == "realised" else "expected regret"
    titles = {"constant": f"B = {config.budget:g} s for every student", "own": "B = the student's own time"}
    limit = float(outcome.numbers["information_limit"])
    for axes, (key, title) in zip(figure.subplots(1, 2, sharey=True), titles.items(), strict=True):
        result = outcome.results[key]
        lines = curves.of_result(result, measure)
        lines += curves.references(result.rounds, 20, limit if key == "constant" else None)
        named = ylabel if key == "constant" else ""
        curves.draw(axes, lines, inches=3.6, title=title, ylabel=named, limits=(0.5, 2e4))


def caption(config: Config, outcome: Outcome) -> str:
    """Say what is drawn, and what regret is here."""
    what = (
        "Regret is the number of right answers lost, on the same students, against x*, the best split for the laws "
        "fitted to all answers; the table has the expected regret by those laws too."
        if measure_of(outcome) == "realised"
        else "Regret is expected, by the laws that are simulated. Give --data DIR to replay the real answers."
    )
    return (
        f"20 questions (Weibull, fitted shapes known), {config.runs} batches of {config.rounds:,} students, "
        f"{outcome.source}; mean and one standard deviation over batches. {what} Own times are at most "
        f"{config.largest:,.0f} s. The information limit is for the constant budget."
    )


EXPERIMENT = Experiment(
    name="ednet",
    title="EdNet: which questions get the time",
    paper="Figure “EdNet”: RA-UCB on 5 batches of 1,000 students",
    full=Config(),
    run=run,
    draw=draw,
    caption=caption,
    size=(12.0, 4.7),
    inputs=(FILE,),
)
