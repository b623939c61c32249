"""Decision ids of each allocator, whose key asked and reported, what was taken back, and what rows leave that are gone.

On SQLite the table of decisions is written anew, which takes as long as reading it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns and the tables; ids need be unique in their allocator alone."""
    with op.batch_alter_table("decisions") as decisions:
        decisions.add_column(sa.Column("key_id", sa.String(length=16), nullable=True))
        decisions.add_column(sa.Column("subject", sa.String(length=100), nullable=True))
        decisions.drop_constraint("uq_decisions_id", type_="unique")
        decisions.create_unique_constraint("uq_decisions_id_allocator_id", ["id", "allocator_id"])
    op.create_index("ix_decisions_allocator_id_subject", "decisions", ["allocator_id", "subject"])
    for table in ("reports", "imports", "pushes", "live_steps"):
        op.add_column(table, sa.Column("key_id", sa.String(length=16), nullable=True))
    op.add_column("reports", sa.Column("retracts", sa.Integer(), nullable=True))
    op.add_column("pushes", sa.Column("emptied_at", sa.BigInteger(), nullable=True))
    op.add_column("allocators", sa.Column("removals", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("keys", sa.Column("allocators", sa.Text(), nullable=True))
    op.create_table(
        "retractions",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("reports", sa.BigInteger(), nullable=False),
        sa.Column("trials", sa.BigInteger(), nullable=False),
        sa.Column("imports", sa.Text(), nullable=False),
        sa.Column("pushes", sa.Text(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("after", sa.BigInteger(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name="fk_retractions_allocator_id"),
        sa.PrimaryKeyConstraint("allocator_id", "number", name="pk_retractions"),
        sa.UniqueConstraint("allocator_id", "id", name="uq_retractions_allocator_id_id"),
    )
    counts = ("decisions", "reports", "retracted", "complete", "reward", "budget_units", "given_units", "late")
    op.create_table(
        "sums",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in counts),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("budgets", sa.Text(), nullable=False),
        sa.Column("modes", sa.Text(), nullable=False),
        sa.Column("after", sa.BigInteger(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name="fk_sums_allocator_id"),
        sa.PrimaryKeyConstraint("allocator_id", "number", name="pk_sums"),
    )
