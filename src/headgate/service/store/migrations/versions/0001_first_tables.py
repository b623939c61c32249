"""The first tables. Constraints are named by the convention of `store.schema`."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_COUNTERS = (
    "config", "seq", "decisions", "complete", "reward", "budget_units", "given_units", "late", "duplicates",
    "contradictions",
)  # fmt: skip


def _of(kind: sa.types.TypeEngine[Any], *names: str, null: bool = False) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=null) for name in names]


def _whole(*names: str, null: bool = False) -> list[sa.Column[Any]]:
    return _of(sa.BigInteger(), *names, null=null)


def _text(*names: str, length: int | None = None) -> list[sa.Column[Any]]:
    return _of(sa.Text() if length is None else sa.String(length), *names)


def _allocator() -> list[sa.schema.SchemaItem]:
    return [*_of(sa.Integer(), "allocator_id"), sa.ForeignKeyConstraint(["allocator_id"], ["allocators.id"])]


def _decision() -> list[sa.schema.SchemaItem]:
    return [
        *_of(sa.Integer(), "allocator_id"),
        *_whole("round"),
        sa.ForeignKeyConstraint(["allocator_id", "round"], ["decisions.allocator_id", "decisions.round"]),
    ]


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "allocators",
        *(sa.Column("id", sa.Integer(), primary_key=True), *_text("name", length=64), *_text("spec")),
        *(*_whole("created_at"), *_whole("archived_at", null=True), *_whole(*_COUNTERS)),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "audit",
        *(sa.Column("id", sa.Integer(), primary_key=True), *_whole("at"), *_text("actor", length=120)),
        *(*_text("action", length=40), *_text("subject", length=200), *_text("details")),
    )
    op.create_table(
        "keys",
        *(sa.Column("id", sa.String(16), primary_key=True), *_text("name", length=100), *_text("digest", length=64)),
        *(*_text("scope", length=10), *_of(sa.Float(53), "rate"), *_whole("created_at")),
        *_whole("revoked_at", null=True),
    )
    op.create_table(
        "arms",
        *(*_allocator(), *_of(sa.Integer(), "position"), *_text("name", length=100), *_text("spec")),
        *(*_whole("added_at"), *_whole("retired_at", null=True)),
        sa.PrimaryKeyConstraint("allocator_id", "position"),
        sa.UniqueConstraint("allocator_id", "name"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "decisions",
        *(*_allocator(), *_whole("round"), *_text("id", length=100), *_text("request", "answer")),
        *(*_whole("created_at"), *_whole("expires_at", null=True)),
        sa.PrimaryKeyConstraint("allocator_id", "round"),
        sa.UniqueConstraint("id"),
    )
    op.create_table(
        "evidence",
        *(*_allocator(), *_of(sa.Integer(), "position"), *_of(sa.SmallInteger(), "kind", "bin")),
        *_whole("number", "total", "seq"),
        sa.PrimaryKeyConstraint("allocator_id", "position", "kind", "bin"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "imports",
        *(*_allocator(), *_text("id", length=100), *_text("evidence"), *_whole("imported_at")),
        sa.PrimaryKeyConstraint("allocator_id", "id"),
    )
    op.create_table(
        "snapshots",
        *(*_allocator(), *_whole("taken_at"), *_text("data")),
        sa.PrimaryKeyConstraint("allocator_id", "taken_at"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reports",
        *(*_decision(), *_of(sa.Integer(), "part"), *_text("results"), *_of(sa.Float(53), "spent", null=True)),
        *(*_whole("recorded_at"), *_of(sa.Boolean(), "by_expiry")),
        sa.PrimaryKeyConstraint("allocator_id", "round", "part"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "waiting",
        *(*_decision(), *_whole("expires_at", null=True)),
        sa.PrimaryKeyConstraint("allocator_id", "round"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_waiting_allocator_id_expires_at", "waiting", ["allocator_id", "expires_at"])
