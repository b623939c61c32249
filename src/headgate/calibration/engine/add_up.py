"""Clean rows added up: names, evidence and distinct rows, all by group-bys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from headgate.calibration.engine.connection import Engine, Table
from headgate.calibration.engine.distinct import EXACT, ROUNDED, condense, distinct_rows
from headgate.calibration.engine.histograms import evidence_of
from headgate.calibration.log import Kind, Rows
from headgate.errors import InputError
from headgate.evidence import Evidence
from headgate.extras import extra

MOST_ARMS = 100_000
"""Evidence takes 6 kB an arm."""


class Added(NamedTuple):
    """What is left of the rows."""

    names: tuple[str, ...]
    evidence: Evidence
    rows: Rows


def add_up(
    engine: Engine,
    rows: Table,
    kind: Kind,
    *,
    whole: bool = False,
    exact: int = EXACT,
    rounded: int = ROUNDED,
    max_budget: float | None = None,
    dropped: Mapping[str, int] | None = None,
) -> Added:
    """Add up rows of `arm`, `allocation`, `success` and `threshold`, which are trusted to be clean.

    Missing allocations and thresholds are null. Up to `exact` different rows stay as they are; of more, values are
    rounded so that at most `rounded` or so are left. The evidence is exact in any case, and at `max_budget`, by default
    the largest amount there is. `dropped` is told where what is left says nothing.
    """
    table, few = condense(engine, rows, whole=whole, exact=exact)
    largest = (
        table.group_by("arm")
        .agg(allocation=table.allocation.max(), threshold=table.threshold.max(), won=table.success.any())
        .to_pandas()
    )
    raw = {str(arm): arm for arm in largest["arm"].tolist()}
    names = in_order(raw)
    arms = {raw[name]: number for number, name in enumerate(names)}
    if len(names) > MOST_ARMS:
        raise InputError(f"the arms must be at most {MOST_ARMS:,} different ones, got {len(names):,}")
    most = float(largest[["allocation", "threshold"]].max(axis=None))
    if not most > 0.0:
        raise InputError(_nothing(won=bool(largest["won"].any()), dropped=dropped or {}))
    limit = most if max_budget is None else max_budget
    if limit < most:
        raise InputError(f"max_budget must be at least {most:g}, the largest amount of the log, got {limit:g}")
    evidence = evidence_of(_played(table, kind, most), arms, limit)
    return Added(names, evidence, distinct_rows(engine, table, arms, few=few, most=rounded))


def _played(rows: Table, kind: Kind, most: float) -> Table:
    """Give each row the `x` that it was played at: what it was given, else as `Log.evidence` says."""
    ibis = extra("ibis")
    table = rows.cross_join(ibis.memtable({"most": [most]}))  # as text in SQL it may lose its last bit
    enough = table.allocation.fill_null(table.most)
    return table.mutate(x=ibis.ifelse(table.success, enough, table.threshold) if kind == "observed" else enough)


def _nothing(*, won: bool, dropped: Mapping[str, int]) -> str:
    """Say why there is nothing to learn from."""
    why = "every threshold of a success is 0" if won else "nothing succeeded, and no row says what it was given"
    reasons = "; ".join(f"{reason}: {count:,}" for reason, count in dropped.items() if count)
    return f"no row tells of an amount above 0: {why}" + (f" (dropped: {reasons})" if reasons else "")


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Sort names as people do: numbers within them by size.

    >>> in_order(["q10", "q9", "b2"])
    ('b2', 'q9', 'q10')
    """
    return tuple(sorted(names, key=lambda name: ([_part(p) for p in re.findall(r"\d+|\D+", name)], name)))


def _part(text: str) -> tuple[int, int, str]:
    return (0, int(text), "") if text.isdecimal() else (1, 0, text)
