"""A log added up: what is left of any number of rows once they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from headgate.calibration.records import Records
from headgate.evidence import Evidence
from headgate.extras import extra
from headgate.frames import Shown
from headgate.laws import Floats

if TYPE_CHECKING:
    from headgate.calibration.reading.time_limit import TimeLimit

Kind = Literal["censored", "observed", "complete"]
"""How rows tell of thresholds.

"censored": each row says what it was given; a success shows its threshold, a failure only that it was not reached.
"observed": failures show their time too (a wrong answer has one), so every row shows a threshold.
"complete": nothing is said of what was given: every row had all it needed, and only successes show a threshold.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Equal rows once, with how often they occurred; sorted by arm."""

    arm: NDArray[np.int64]
    allocation: Floats
    """What the row was given; infinite where the log does not say."""
    success: NDArray[np.bool_]
    threshold: Floats
    """nan where it was not seen."""
    count: NDArray[np.int64]
    resolution: float = 0.0
    """The relative width to which values were rounded so that the rows stay few; 0 is exact."""

    def only(self, which: NDArray[np.bool_]) -> Self:
        """Return some of the rows."""
        columns = ("arm", "allocation", "success", "threshold", "count")
        return replace(self, **{name: getattr(self, name)[which] for name in columns})


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of the rows of a source."""

    source: str
    read: int
    used: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many were not used, by the reason in words."""
    counted: str = "rows"
    """What the numbers count, in the plural: rows, impressions, ..."""
    how: Mapping[str, Any] = field(default_factory=dict)
    """How they were read: the format or the columns, and whatever else was asked for; only what TOML can hold."""
    time_limit: TimeLimit | None = None
    """A time limit that was recognised: rows are censored there."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Log(Shown):
    """Everything that calibration needs of a log."""

    names: tuple[str, ...]
    kind: Kind
    evidence: Evidence
    """At max_budget: the largest amount seen, unless another was asked for. Of "observed" logs successes count as in
    `rows`, failures as censored at their own time; of "complete" ones failures as censored at the largest amount."""
    rows: Rows
    reading: Reading
    whole: bool = False
    """Thresholds are counts."""
    units: str | None = None
    budgets: Floats | None = None
    """A sample of the budgets of rounds, where the log tells which rows belong together."""
    records: Records | None = None
    """The rows one by one, where features or whole rounds were asked for, or a round is named and they are few enough
    to be resampled by round."""

    @property
    def arms(self) -> int:
        """The number of arms, K."""
        return len(self.names)

    def columns(self) -> dict[str, Any]:
        """Return a row for each arm: rows, successes, their share, and the mean threshold of those that show one."""
        from headgate.calibration.show import log_columns  # noqa: PLC0415  # it describes this very class

        return log_columns(self)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the share of successes by amount of the most frequent arms: a figure, or the file's path."""
        from headgate.calibration.show import curve_of  # noqa: PLC0415  # it describes this very class

        return extra("headgate.figures.results").draw_log(self, curve_of, path)

    def __repr__(self) -> str:
        from headgate.calibration.show import log_words  # noqa: PLC0415  # it describes this very class

        return log_words(self)
