"""A time limit that a log does not speak of: many rows end at exactly the same largest time, without success.

Such a row was cut off: its time is what it was given, not what it would have taken. Called by `screen` for logs whose
failures show a time too; rows are then censored at the limit, as if a column said that each was given so much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headgate.calibration.engine import Table
from headgate.extras import extra

AUTO, NONE = "auto", "none"
_LEAST = 5  # the fewest rows at a limit
_SHARE = 0.005  # the least share of rows at a limit
_NEAR = 0.9  # rows from this share of the limit on are its neighbours
_HEAP = 2.0  # at a limit there are at least so many times as many rows as near it


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The time limits of a log that were recognised."""

    limits: Mapping[str, float]
    """By arm."""
    rows: int
    """That ended at their limit without success."""
    read: int
    """All rows that were used."""

    def words(self, units: str | None) -> str:
        """Say what was recognised, and what follows."""
        low, high = min(self.limits.values()), max(self.limits.values())
        amount = f"{low:g}" if low == high else f"their arm's limit, {low:g} to {high:g}"
        return (
            f"{self.rows:,} of {self.read:,} rows end at exactly {amount}{f' {units}' if units else ''} without "
            "success: taken as a time limit, so that failures are censored there (--time-limit none: as they are)"
        )


def recognise(rows: Table) -> TimeLimit | None:
    """Look for a heap of failures at the largest time, of each arm and of all together; None if there is none.

    A heap has at least 5 rows and 0.5% of them, most of them failures, and twice as many as from nine tenths of the
    limit (or the largest time below it) up to it. Arms without a heap of their own have that of all, if there is one,
    else the largest time of the log.
    """
    every = _heaps(rows.mutate(group=extra("ibis").literal("")))
    apart = _heaps(rows.mutate(group=rows.arm))
    top = float(every["most"].iloc[0])
    heap = _is_heap(apart)
    if not (heap.any() or _is_heap(every).any()):
        return None
    limits = np.where(heap, apart["most"], top)
    at_limit = np.where(apart["most"] == limits, apart["lost"], 0)
    return TimeLimit(
        dict(zip(apart["group"].astype(str), map(float, limits), strict=True)),
        int(at_limit.sum()),
        int(every["n"].iloc[0]),
    )


def limited(rows: Table, time_limit: TimeLimit) -> Table:
    """Return the rows with their arm's limit as what each was given, and no threshold of failures."""
    ibis = extra("ibis")
    table = ibis.memtable({"limited_arm": list(time_limit.limits), "allocation": list(time_limit.limits.values())})
    joined = rows.drop("allocation").inner_join(table, rows.arm == table.limited_arm).drop("limited_arm")
    return joined.mutate(threshold=ibis.ifelse(joined.success, joined.threshold, ibis.null("float64")))


def _heaps(rows: Table) -> Any:
    """Count, in each group, the rows at its largest time, the failures among them, and the rows near it."""
    ends = rows.group_by("group").agg(most=rows.threshold.max())
    table = rows.inner_join(ends, "group")
    below = table.filter(table.threshold < table.most)
    seconds = below.group_by("group").agg(second=below.threshold.max())
    table = table.left_join(seconds, "group").drop("group_right")
    at = table.threshold >= table.most
    near = ~at & (table.threshold >= extra("ibis").least(_NEAR * table.most, table.second.fill_null(0.0)))
    groups = table.group_by("group").agg(
        n=table.count(),
        most=table.most.max(),
        at=at.cast("int64").sum(),
        lost=(at & ~table.success).cast("int64").sum(),
        near=near.cast("int64").sum(),
    )
    return groups.to_pandas().sort_values("group").reset_index(drop=True)


def _is_heap(counts: Any) -> Any:
    enough = np.maximum(_LEAST, _SHARE * counts["n"])
    return (
        (counts["at"] >= enough)
        & (2 * counts["lost"] > counts["at"])
        & (counts["at"] > _HEAP * counts["near"])
        & (counts["most"] > 0.0)
    )
