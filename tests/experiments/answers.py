"""A made-up file in the form of the EdNet answers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from headgate.datasets import ednet_quiz


def write_answers(folder: Path, students: int) -> Path:
    """Write answers drawn from the fitted laws."""
    quiz, rng = ednet_quiz(), np.random.default_rng(0)
    seconds = quiz.law.sample(quiz.rate, rng, (students, quiz.arms))
    right = rng.random(seconds.shape) < quiz.activation
    path = folder / "ednet_pseudo_users.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["pseudo_user_id", "question_id", "response_time_ms", "is_correct"])
        for student in range(students):
            for arm, name in enumerate(quiz.names):
                table.writerow([f"u{student}", name, 1000.0 * seconds[student, arm] + 1.0, int(right[student, arm])])
    return path
