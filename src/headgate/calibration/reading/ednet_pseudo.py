"""The paper's table of EdNet answers: a row for each pseudo-student and question, in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from headgate.calibration.engine import Engine
from headgate.calibration.reading.mapping import Mapping
from headgate.calibration.reading.screening import Clean, screen
from headgate.calibration.reading.tables import columns_of, open_table

LIMIT = 3 * 3600.0
"""Nobody thinks for three hours: the page was left open. The paper's longest time, two hours, is still read."""


@final
@dataclass(frozen=True, slots=True)
class EdnetPseudo:
    """Answers with their times, right or wrong; a student's times together are a budget."""

    limit: float = LIMIT

    def open(self, engine: Engine, source: str | Path, progress: Callable[[str], None]) -> Clean:
        """Read the table."""
        mapping = Mapping(
            arm="question_id", success="is_correct", threshold="response_time_ms", threshold_scale=0.001,
            units="s", kind="observed", limit=self.limit, round="pseudo_user_id",
        )  # fmt: skip
        table = open_table(engine, source)
        columns_of(table, mapping.columns, source)
        progress("reading answers")
        return screen(engine, table, mapping, source)
