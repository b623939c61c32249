"""What edges push, what decisions were the best for, and when evidence came from elsewhere."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the tables and the column."""
    op.add_column("imports", sa.Column("after", sa.BigInteger(), nullable=True))
    op.create_table(
        "pushes",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("edge", sa.String(length=80), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("decisions", sa.Text(), nullable=False),
        sa.Column("decided", sa.BigInteger(), nullable=False),
        sa.Column("trials", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("pushed_at", sa.BigInteger(), nullable=False),
        sa.Column("after", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name="fk_pushes_allocator_id"),
        sa.PrimaryKeyConstraint("allocator_id", "edge", "number", name="pk_pushes"),
    )
    op.create_table(
        "reasons",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("allocator_id", "round", name="pk_reasons"),
        sa.ForeignKeyConstraint(
            ["allocator_id", "round"], ["decisions.allocator_id", "decisions.round"], name="fk_reasons_allocator_id"
        ),
    )
