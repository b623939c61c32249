"""The evidence of an allocator in the database: all of it at some `seq`, and a row of what was added each time since.

A batch adds one row, however many cells it changes, and a worker reads those after the `seq` at which it stands. Now
and then all of it is written as one row instead, and those before it go (`learner.Learner.settle`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from headgate.evidence import Evidence
from headgate.evidence.fading import Cells
from headgate.kernels.bins import COUNT, SUM
from headgate.service.store import schema, statements

CELL = np.dtype([("row", "<i4"), ("kind", "u1"), ("bin", "u1"), ("number", "<i8"), ("total", "<i8")])
"""A cell as it is stored: 22 bytes."""


def packed(cells: Cells, budgets: int) -> bytes:
    """Write cells as they are stored; `budgets` is the row in memory of what is `schema.BUDGETS` there."""
    table = np.empty(len(cells), CELL)
    for name, column in zip(CELL.names or (), cells.T, strict=True):
        table[name] = column
    table["row"][table["row"] == budgets] = schema.BUDGETS
    return table.tobytes()


def add_packed(stored: bytes, evidence: Evidence) -> None:
    """Add cells as they are stored to evidence whose last row is of budgets."""
    table = np.frombuffer(stored, CELL)
    row, kind, place = table["row"], table["kind"], table["bin"]  # none comes twice; row -1 is the last
    evidence.bins[row, kind, COUNT, place] += table["number"]
    evidence.bins[row, kind, SUM, place] += table["total"]


def read_cells(connection: Connection, since: Mapping[int, int], evidence: Mapping[int, Evidence]) -> dict[int, int]:
    """Let the evidence of allocators, as it was at a `seq` of each, follow what was added since.

    The last row of that is of budgets. Returned is the `seq` of the latest row of each, where there is one.
    """
    latest: dict[int, int] = {}
    for row in statements.CELLS.rows(connection, pairs=list(since.items())):
        own = evidence[row["allocator_id"]]
        if row["whole"]:
            own.bins[...] = 0.0
        add_packed(row["cells"], own)
        latest[row["allocator_id"]] = row["seq"]
    return latest


def read_evidence(connection: Connection, allocator_id: int, arms: int, max_budget: float) -> tuple[Evidence, Evidence]:
    """Return what has been seen of an allocator's arms, and of how long budgets lasted."""
    everything = Evidence.empty(arms + 1, max_budget)
    read_cells(connection, {allocator_id: -1}, {allocator_id: everything})
    return of_arms_and_budgets(everything)


def of_arms_and_budgets(everything: Evidence) -> tuple[Evidence, Evidence]:
    """Return all rows but the last, and the last (`schema.BUDGETS`), as evidence that shares their numbers."""
    bins = everything.bins
    return replace(everything, bins=bins[:-1]), replace(everything, bins=bins[-1:])
