"""The EdNet answers that the paper replays, read from `ednet_pseudo_users.csv`; they may not be shipped."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.errors import InputError
from headgate.laws import Floats

FILE = "ednet_pseudo_users.csv"
_COLUMNS = ("pseudo_user_id", "question_id", "response_time_ms", "is_correct")


class Answers(NamedTuple):
    """What every student did with every question: (students, questions) each."""

    seconds: Floats
    right: NDArray[np.bool_]


def read(path: Path, questions: tuple[str, ...]) -> Answers:
    """Read the answers of all students to these questions, students in the order of the file."""
    column = {name: place for place, name in enumerate(questions)}
    students: dict[str, int] = {}
    rows: list[tuple[int, int, float, bool]] = []
    with path.open(encoding="utf-8", newline="") as file:
        table = csv.DictReader(file)
        if not set(_COLUMNS) <= set(table.fieldnames or ()):
            raise InputError(f"{path} must have the columns {', '.join(_COLUMNS)}, got {table.fieldnames}")
        for row in table:
            try:
                question = column[row["question_id"]]
                seconds, right = float(row["response_time_ms"]) / 1000.0, int(row["is_correct"]) == 1
            except (KeyError, TypeError, ValueError) as cause:
                raise InputError(f"{path}, line {table.line_num}: cannot be read ({cause})") from cause
            rows.append((students.setdefault(row["pseudo_user_id"], len(students)), question, seconds, right))
    who, what, seconds_of, right_of = zip(*rows, strict=True) if rows else ((), (), (), ())
    seconds_all = np.full((len(students), len(questions)), np.nan)
    right_all = np.zeros(seconds_all.shape, dtype=np.bool_)
    seconds_all[list(who), list(what)] = seconds_of
    right_all[list(who), list(what)] = right_of
    if not rows or not np.all(seconds_all > 0.0):
        raise InputError(
            f"{path} must have a time above 0 of every student for every one of {len(questions)} questions"
        )
    return Answers(seconds_all, right_all)
