"""The tables. `decisions`, `reports` and `imports` are only ever added to; all else follows from them.

A decision is numbered by its allocator: (allocator, round), in the order in which they were made. What was heard of it
are its parts. Times are microseconds since 1970, amounts of evidence whole units, so that every sum is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    RowMapping,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

Fields = Mapping[str, Any] | RowMapping
"""A row, by column."""
BUDGET_UNITS = 2.0**20
"""`budget_units` and `given_units` count in max_budget / BUDGET_UNITS, rounded, so that their sums are exact."""

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _count(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, default=0)


allocators = Table(
    "allocators",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("spec", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("archived_at", BigInteger),
    Column("on_expiry", String(10), nullable=False, server_default="ignore"),  # of its spec, to be found by
    _count("config"),  # grows when arms come or go, or the allocator is archived
    _count("seq"),  # grows with every change of its evidence
    _count("decisions"),
    _count("complete"),
    _count("reward"),
    _count("budget_units"),
    _count("given_units"),
    _count("late"),
    _count("duplicates"),
    _count("contradictions"),
)

arms = Table(
    "arms",
    metadata,
    Column("allocator_id", ForeignKey("allocators.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("name", String(100), nullable=False),
    Column("spec", Text, nullable=False),
    Column("added_at", BigInteger, nullable=False),
    Column("retired_at", BigInteger),
    PrimaryKeyConstraint("allocator_id", "position"),
    UniqueConstraint("allocator_id", "name"),
    sqlite_with_rowid=False,
)

decisions = Table(
    "decisions",
    metadata,
    Column("allocator_id", ForeignKey("allocators.id"), nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("id", String(100), nullable=False, unique=True),
    Column("budget", Float(53)),  # null: a schedule, for a budget that is not known
    Column("request", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    PrimaryKeyConstraint("allocator_id", "round"),
)

reports = Table(
    "reports",
    metadata,
    Column("allocator_id", Integer, nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("part", Integer, nullable=False),
    Column("results", Text, nullable=False),  # {arm: threshold, or null for a failure}
    Column("spent", Float(53)),
    Column("recorded_at", BigInteger, nullable=False),
    Column("by_expiry", Boolean, nullable=False, default=False),
    PrimaryKeyConstraint("allocator_id", "round", "part"),
    ForeignKeyConstraint(["allocator_id", "round"], ["decisions.allocator_id", "decisions.round"]),
    sqlite_with_rowid=False,
)

imports = Table(
    "imports",
    metadata,
    Column("allocator_id", ForeignKey("allocators.id"), nullable=False),
    Column("id", String(100), nullable=False),
    Column("evidence", Text, nullable=False),
    Column("imported_at", BigInteger, nullable=False),
    PrimaryKeyConstraint("allocator_id", "id"),
)

evidence = Table(
    "evidence",
    metadata,
    Column("allocator_id", ForeignKey("allocators.id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("bin", SmallInteger, nullable=False),
    _count("number"),
    _count("total"),
    _count("seq"),  # the allocator's, when the cell last changed
    PrimaryKeyConstraint("allocator_id", "position", "kind", "bin"),
    sqlite_with_rowid=False,
)

#: Decisions of which not every arm that got something has been heard.
waiting = Table(
    "waiting",
    metadata,
    Column("allocator_id", Integer, nullable=False),
    Column("round", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    PrimaryKeyConstraint("allocator_id", "round"),
    ForeignKeyConstraint(["allocator_id", "round"], ["decisions.allocator_id", "decisions.round"]),
    Index(None, "allocator_id", "expires_at"),
    sqlite_with_rowid=False,
)

#: What was believed at some time, for the dashboard.
snapshots = Table(
    "snapshots",
    metadata,
    Column("allocator_id", ForeignKey("allocators.id"), nullable=False),
    Column("taken_at", BigInteger, nullable=False),
    Column("data", Text, nullable=False),
    PrimaryKeyConstraint("allocator_id", "taken_at"),
    sqlite_with_rowid=False,
)

keys = Table(
    "keys",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", String(100), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("scope", String(10), nullable=False),
    Column("rate", Float(53), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", String(120), nullable=False),
    Column("action", String(40), nullable=False),
    Column("subject", String(200), nullable=False),
    Column("details", Text, nullable=False),
)
