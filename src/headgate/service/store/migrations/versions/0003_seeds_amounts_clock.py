"""Seeds, amounts that arms really got, the order of reports, states of policies, and when the service was last running.

Allocators that are there already keep the random numbers they had: seed 0, or the one of their policy. Their reports
have no place in the order: their policies act on sums alone.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_allocators = sa.table("allocators", sa.column("id"), sa.column("spec"), sa.column("seed"))


def upgrade() -> None:
    """Add the columns and the table."""
    op.add_column("allocators", sa.Column("seed", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("allocators", sa.Column("reports", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("reports", sa.Column("amounts", sa.Text(), nullable=True))
    op.add_column("reports", sa.Column("place", sa.BigInteger(), nullable=True))
    op.add_column("reports", sa.Column("after", sa.BigInteger(), nullable=True))
    op.create_index("ix_reports_allocator_id_place", "reports", ["allocator_id", "place"])
    op.create_table(
        "states",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("config", sa.BigInteger(), nullable=False),
        sa.Column("decisions", sa.BigInteger(), nullable=False),
        sa.Column("reports", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name="fk_states_allocator_id"),
        sa.PrimaryKeyConstraint("allocator_id", name="pk_states"),
    )
    _create_live()
    op.create_table(
        "heartbeat",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_heartbeat"),
    )
    connection = op.get_bind()
    for key, spec in connection.execute(sa.select(_allocators.c.id, _allocators.c.spec)).all():
        seed = json.loads(spec)["policy"].get("seed", 0)
        connection.execute(sa.update(_allocators).where(_allocators.c.id == key).values(seed=seed))


def _create_live() -> None:
    """Make the tables of live rounds."""
    op.create_table(
        "live",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("allocator_id", "round", name="pk_live"),
        sa.ForeignKeyConstraint(
            ["allocator_id", "round"], ["decisions.allocator_id", "decisions.round"], name="fk_live_allocator_id"
        ),
    )
    op.create_table(
        "live_steps",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("success", sa.Boolean(), nullable=False),
        sa.Column("spent", sa.Float(precision=53), nullable=True),
        sa.Column("last", sa.Boolean(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("allocator_id", "round", "step", name="pk_live_steps"),
        sa.ForeignKeyConstraint(
            ["allocator_id", "round"], ["live.allocator_id", "live.round"], name="fk_live_steps_allocator_id"
        ),
        sqlite_with_rowid=False,
    )
