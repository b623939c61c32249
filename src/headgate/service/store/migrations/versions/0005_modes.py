"""Baselines of allocators, and what came of decisions by their mode."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "baselines",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name="fk_baselines_allocator_id"),
        sa.PrimaryKeyConstraint("allocator_id", "version", name="pk_baselines"),
    )
    op.create_table(
        "modes",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("mode", sa.String(length=10), nullable=False),
        sa.Column("decisions", sa.BigInteger(), nullable=False),
        sa.Column("complete", sa.BigInteger(), nullable=False),
        sa.Column("worth", sa.Text(), nullable=False),
        sa.Column("squares", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name="fk_modes_allocator_id"),
        sa.PrimaryKeyConstraint("allocator_id", "version", "mode", name="pk_modes"),
    )
