"""Rows that many look up: an allocator by its name, and its arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, select

from headgate.service.faults import NotFoundError
from headgate.service.store import schema


def row_of(connection: Connection, name: str, *, lock: bool = False) -> RowMapping:
    """Return an allocator's row; with `lock`, nobody else gets it to write until the transaction ends."""
    table = schema.allocators
    query = select(table).where(table.c.name == name)
    row = connection.execute(query.with_for_update() if lock else query).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no allocator {name!r}")
    return row


def arms_of(connection: Connection, allocator_id: int) -> Sequence[Row[Any]]:
    """Return the rows of an allocator's arms, retired ones too, in their order."""
    table = schema.arms
    return connection.execute(
        select(table).where(table.c.allocator_id == allocator_id).order_by(table.c.position)
    ).all()
