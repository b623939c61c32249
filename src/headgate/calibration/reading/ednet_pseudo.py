"""The paper's table of EdNet answers: a row for each pseudo-student and question, in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from headgate.calibration.engine import Engine, connect
from headgate.calibration.engine.add_up import in_order
from headgate.calibration.reading.columns import Columns
from headgate.calibration.reading.screen import Clean, parse
from headgate.calibration.reading.tables import open_table
from headgate.errors import InputError
from headgate.laws import Floats

LIMIT = 3 * 3600.0
"""Nobody thinks for three hours: the page was left open. The paper's longest time, two hours, is still read."""


@final
@dataclass(frozen=True, slots=True)
class EdnetPseudo:
    """Answers with their times, right or wrong; a student's times together are a budget."""

    limit: float = LIMIT

    @property
    def columns(self) -> Columns:
        """What the columns mean."""
        return Columns(
            arm="question_id", success="is_correct", threshold="response_time_ms", threshold_scale=0.001,
            units="s", kind="observed", limit=self.limit, round="pseudo_user_id",
        )  # fmt: skip

    def open(self, engine: Engine, source: str | Path, progress: Callable[[str], None]) -> Clean:
        """Read the table."""
        return self.columns.open(engine, source, progress)


class Answers(NamedTuple):
    """What every student did with every question: (students, questions) each."""

    seconds: Floats
    right: NDArray[np.bool_]


def read_answers(source: str | Path, questions: tuple[str, ...]) -> Answers:
    """Read the answers of all students to these questions, student by student, as rounds to be replayed.

    Students are in the order of the numbers in their names, which is that of the paper's file.
    """
    columns = EdnetPseudo().columns
    with connect() as engine:
        rows = parse(open_table(engine, source, columns=columns.names), columns).to_pandas()
    if rows.duplicated(["round", "arm"]).any():
        raise InputError(f"{source} must have one answer of a student to a question, got more")
    table = rows.pivot(index="round", columns="arm", values=["threshold", "success"])
    table = table.reindex(in_order(table.index), columns=[(c, q) for c in ("threshold", "success") for q in questions])
    seconds, right = table["threshold"].to_numpy(dtype=np.float64), table["success"].to_numpy(dtype=np.float64)
    if not (rows.size and np.all(seconds > 0.0) and np.all(right >= 0.0)):
        raise InputError(
            f"{source} must have, of every student for every one of {len(questions)} questions, a time above 0 and "
            "whether it was right"
        )
    return Answers(seconds, right.astype(np.bool_))
