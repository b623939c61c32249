"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "allocators",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", sa.BigInteger(), nullable=True),
        sa.Column("config", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("decisions", sa.BigInteger(), nullable=False),
        sa.Column("complete", sa.BigInteger(), nullable=False),
        sa.Column("reward", sa.BigInteger(), nullable=False),
        sa.Column("budget_units", sa.BigInteger(), nullable=False),
        sa.Column("given_units", sa.BigInteger(), nullable=False),
        sa.Column("late", sa.BigInteger(), nullable=False),
        sa.Column("duplicates", sa.BigInteger(), nullable=False),
        sa.Column("contradictions", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_allocators")),
        sa.UniqueConstraint("name", name=op.f("uq_allocators_name")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.String(length=120), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=10), nullable=False),
        sa.Column("rate", sa.Float(precision=53), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
    )
    op.create_table(
        "arms",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("retired_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name=op.f("fk_arms_allocator_id")),
        sa.PrimaryKeyConstraint("allocator_id", "position", name=op.f("pk_arms")),
        sa.UniqueConstraint("allocator_id", "name", name=op.f("uq_arms_allocator_id_name")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "decisions",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name=op.f("fk_decisions_allocator_id")),
        sa.PrimaryKeyConstraint("allocator_id", "round", name=op.f("pk_decisions")),
        sa.UniqueConstraint("id", name=op.f("uq_decisions_id")),
    )
    op.create_table(
        "evidence",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("bin", sa.SmallInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name=op.f("fk_evidence_allocator_id")),
        sa.PrimaryKeyConstraint("allocator_id", "position", "kind", "bin", name=op.f("pk_evidence")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "imports",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=100), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("imported_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name=op.f("fk_imports_allocator_id")),
        sa.PrimaryKeyConstraint("allocator_id", "id", name=op.f("pk_imports")),
    )
    op.create_table(
        "snapshots",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"], name=op.f("fk_snapshots_allocator_id")),
        sa.PrimaryKeyConstraint("allocator_id", "taken_at", name=op.f("pk_snapshots")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reports",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("results", sa.Text(), nullable=False),
        sa.Column("spent", sa.Float(precision=53), nullable=True),
        sa.Column("recorded_at", sa.BigInteger(), nullable=False),
        sa.Column("by_expiry", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["allocator_id", "round"],
            ["decisions.allocator_id", "decisions.round"],
            name=op.f("fk_reports_allocator_id"),
        ),
        sa.PrimaryKeyConstraint("allocator_id", "round", "part", name=op.f("pk_reports")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "waiting",
        sa.Column("allocator_id", sa.Integer(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["allocator_id", "round"],
            ["decisions.allocator_id", "decisions.round"],
            name=op.f("fk_waiting_allocator_id"),
        ),
        sa.PrimaryKeyConstraint("allocator_id", "round", name=op.f("pk_waiting")),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("waiting", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_waiting_allocator_id_expires_at"), ["allocator_id", "expires_at"], unique=False
        )


def downgrade() -> None:
    """Drop them."""
    with op.batch_alter_table("waiting", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_waiting_allocator_id_expires_at"))

    op.drop_table("waiting")
    op.drop_table("reports")
    op.drop_table("snapshots")
    op.drop_table("imports")
    op.drop_table("evidence")
    op.drop_table("decisions")
    op.drop_table("arms")
    op.drop_table("keys")
    op.drop_table("audit")
    op.drop_table("allocators")
