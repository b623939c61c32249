"""Stored cells of evidence, changed by hand: damage that `verify` is to find, or a log that was doubled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select, update

from headgate.service.engine.cells import CELL
from headgate.service.store import schema

Cells = NDArray[Any]
"""Of the fields row, kind, bin, number and total."""


def changed(stored: bytes, change: Callable[[Cells], Cells]) -> bytes:
    """Return stored cells as `change` makes them."""
    return change(np.frombuffer(stored, CELL).copy()).tobytes()


def change_first(connection: Connection, change: Callable[[Cells], Cells]) -> None:
    """Change the first row of evidence of which `change` makes something else."""
    table = schema.evidence
    for row in connection.execute(select(table).order_by(table.c.allocator_id, table.c.seq)).all():
        now = changed(row.cells, change)
        if now != row.cells:
            mine = (table.c.allocator_id == row.allocator_id) & (table.c.seq == row.seq)
            connection.execute(update(table).where(mine).values(cells=now))
            return
    raise AssertionError("nothing to change")


def more(field: str, by: int, **where: int) -> Callable[[Cells], Cells]:
    """Add to a field of the cells of these fields."""

    def change(cells: Cells) -> Cells:
        cells[field][_mine(cells, where)] += by
        return cells

    return change


def without(**where: int) -> Callable[[Cells], Cells]:
    """Drop the cells of these fields."""
    return lambda cells: cells[~_mine(cells, where)]


def _mine(cells: Cells, where: dict[str, int]) -> NDArray[np.bool_]:
    mine: NDArray[np.bool_] = np.logical_and.reduce([cells[name] == value for name, value in where.items()])
    return mine
