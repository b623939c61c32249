"""Figure "EdNet": 20 questions, a student's seconds to split; real answers replayed, or the fitted laws simulated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from headgate import theory
from headgate.calibration.reading.ednet_pseudo import read_answers
from headgate.datasets import ednet_quiz
from headgate.datasets.ednet import Fit
from headgate.errors import InputError
from headgate.experiments import curves
from headgate.experiments.base import LEVEL, Experiment, Outcome, Setting, Table
from headgate.experiments.lineup import CUCB, ETC, EVEN, MARA, SCALED, THOMPSON, WRITTEN, entrants
from headgate.experiments.logged.ednet_truths import WORDS, truths
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
    fit: Fit = "trimmed"
    """Whose x* regret is measured against, and which shapes the learners know."""
    policies: tuple[str, ...] = (WRITTEN, SCALED, ETC, CUCB, MARA, EVEN, THOMPSON)


def own_time(t: int, rng: np.random.Generator, quiz: Problem, largest: float) -> float:  # noqa: ARG001  # as budgets are asked
    """Draw a student's B_t: the sum of the times that a student takes for all questions."""
    return float(min(quiz.law.sample(quiz.rate, rng).sum(), largest))


def run(config: Config, setting: Setting) -> Outcome:
    """Play both budgets: the constant one, and each student's own time."""
    quiz, path = ednet_quiz(config.fit), setting.file(FILE)
    constant: dict[str, Any] = {"budget": config.budget}
    own: dict[str, Any] = {"max_budget": config.largest}
    answers = None if path is None else read_answers(path, quiz.names)
    if path is None or answers is None:
        source = "simulated from the fitted laws in the package"
        worlds: dict[str, Any] = {"constant": quiz, "own": quiz}
        own["budget"] = partial(own_time, quiz=quiz, largest=config.largest)
    else:
        source = f"real answers replayed from {path.name}"
        seconds, right = (_batches(path, values, config) for values in answers)
        budgets = np.minimum(seconds.sum(axis=-1), config.largest)
        worlds = {
            "constant": Replay(seconds, right, quiz, shuffle=False),
            "own": Replay(seconds, right, quiz, shuffle=False, budgets=budgets),
        }
    policies, size = entrants(*config.policies), {"rounds": config.rounds, "runs": config.runs}
    results = {
        key: setting.simulate(key, worlds[key], policies, **budget, **size)
        for key, budget in {"constant": constant, "own": own}.items()
    }
    limit = float(theory.information_limit(quiz, config.budget))
    return Outcome(source, results, {"information_limit": limit, "truths": truths(config.budget, answers)})


def _batches(path: Path, values: Any, config: Config) -> Any:
    """The answers of the first students in batches: (runs, rounds, questions)."""
    students = config.rounds * config.runs
    if len(values) < students:
        raise InputError(f"{path} must have {config.runs} batches of {config.rounds} students, got {len(values)}")
    return values[:students].reshape(config.runs, config.rounds, -1)


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
        "fitted as in the paper (trimmed); the table has the expected regret by those laws too."
        if measure_of(outcome) == "realised"
        else "Regret is expected, by the laws that are simulated. Give --data DIR to replay the real answers."
    )
    return (
        f"20 questions (Weibull, fitted shapes known), {config.runs} batches of {config.rounds:,} students, "
        f"{outcome.source}; mean and one standard deviation over batches. {what} Own times are at most "
        f"{config.largest:,.0f} s. The information limit is for the constant budget."
    )


def tables(config: Config, outcome: Outcome) -> list[Table]:
    """What x* of each of the three fits is worth, by its own laws and on the real answers."""
    head = ("laws fitted to", "shapes", "worst distance", "x* by the law", "x* on real rows",
            f"more than the paper's x*, paired {LEVEL:.0%}")  # fmt: skip
    rows = [
        (
            WORDS[row["fit"]],
            f"{row['least_shape']:.2f} to {row['largest_shape']:.2f}" if "least_shape" in row else "",
            f"{row['distance']:.3f}" if "distance" in row else "",
            f"{row['worth']:.3f}",
            f"{row['earned']:.3f}" if "earned" in row else "needs --data",
            f"{row['more'][0]:+.3f} ({row['more'][1]:+.3f} to {row['more'][2]:+.3f})" if "more" in row else "",
        )
        for row in outcome.numbers["truths"]
    ]
    rows[0] = (*rows[0][:-1], "")
    return [Table(f"Three ground truths, right answers a student at {config.budget:g} s", head, rows)]


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
    tables=tables,
)
