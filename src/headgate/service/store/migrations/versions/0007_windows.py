"""Windows of time: evidence that fades as it grows old."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns and the tables; no allocator of before fades."""
    for name in ("window_at", "window_until"):
        op.add_column("allocators", sa.Column(name, sa.BigInteger(), nullable=True))
    op.add_column("sums", sa.Column("windows", sa.Text(), nullable=True))
    op.create_table(
        "windows",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=False),
        sa.Column("cells", sa.Text(), nullable=False),
        sa.Column("forgotten", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name="fk_windows_allocator_id"),
        sa.PrimaryKeyConstraint("allocator_id", "ended_at", name="pk_windows"),
    )
    op.create_table(
        "faded",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("cells", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name="fk_faded_allocator_id"),
        sa.PrimaryKeyConstraint("allocator_id", name="pk_faded"),
    )
