"""A small simulated log, to try `headgate calibrate` and the tutorials on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headgate import checks
from headgate.laws import Weibull
from headgate.problem import Problem

NAMES = ("algebra", "fractions", "geometry", "percent", "units", "word problem")
_KNOWN = (0.92, 0.75, 0.60, 0.85, 0.95, 0.45)
_SECONDS = (35.0, 28.0, 60.0, 22.0, 15.0, 80.0)
_SHAPE = 1.7


class Answer(NamedTuple):
    """One row of the log."""

    student: int
    item: str
    correct: bool
    seconds: float


def sample_problem() -> Problem:
    """Return the problem behind `sample_answers`: six questions, Weibull(1.7) times in seconds.

    >>> sample_problem().solve(120.0).x.round(1)
    Amounts({'algebra': 36.6, 'fractions': 29.8, 'geometry': 0, 'percent': 29.4, 'units': 24.3, 'word problem': 0})
    """
    return Problem(Weibull(_SHAPE), _KNOWN, 1.0 / np.array(_SECONDS), names=NAMES, units="seconds")


def sample_answers(students: int = 400, seed: int = 0) -> list[Answer]:
    """Return the simulated answers of so many students to six questions, every one with its time in seconds.

    Nobody has given these answers: a student knows a question with its activation, and takes a time of the law for it
    whether the answer is right or wrong.

    >>> sample_answers(students=1)[0]
    Answer(student=1, item='algebra', correct=True, seconds=...)
    """
    checks.whole("students", students)
    rng, problem = np.random.default_rng(checks.whole("seed", seed, least=0)), sample_problem()
    knows = rng.random((students, problem.arms)) < problem.activation
    seconds = problem.law.sample(problem.rate, rng, (students, problem.arms)).round(1).clip(min=0.1)
    return [
        Answer(student + 1, name, bool(knows[student, arm]), float(seconds[student, arm]))
        for student in range(students)
        for arm, name in enumerate(NAMES)
    ]
