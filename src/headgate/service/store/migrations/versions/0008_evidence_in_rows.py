"""Evidence in rows of what was added: a batch writes one row for an allocator, where it wrote one for each cell."""

from itertools import groupby

import numpy as np
import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_CELLS = np.dtype([("row", "<i4"), ("kind", "u1"), ("bin", "u1"), ("number", "<i8"), ("total", "<i8")])
_before = sa.table("evidence", *map(sa.column, ("allocator_id", "position", "kind", "bin", "number", "total")))
_after = sa.table("evidence", *map(sa.column, ("allocator_id", "seq", "whole", "cells")))
_allocators = sa.table("allocators", sa.column("id"), sa.column("seq"))


def upgrade() -> None:
    """Write all of an allocator's evidence as one row, and what is added from now on beside it."""
    connection = op.get_bind()
    rows = connection.execute(sa.select(_before).order_by(_before.c.allocator_id))
    stored = {
        key: np.array([tuple(row)[1:] for row in cells], dtype=_CELLS).tobytes()
        for key, cells in groupby(rows, key=lambda row: row.allocator_id)
    }
    op.drop_table("evidence")
    op.create_table(
        "evidence",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.Column("cells", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name="fk_evidence_allocator_id"),
        sa.PrimaryKeyConstraint("allocator_id", "seq", name="pk_evidence"),
    )
    seqs = {row.id: row.seq for row in connection.execute(sa.select(_allocators.c.id, _allocators.c.seq))}
    for key, cells in stored.items():
        values = {"allocator_id": key, "seq": seqs[key], "whole": True, "cells": cells}
        connection.execute(sa.insert(_after).values(values))
