"""The tables. `decisions`, `reports`, `live_steps`, `imports`, `pushes` are only added to; all else follows from them.

What is taken back is a row more (`reports.retracts`, `retractions`). Rows go after their time, or with their subject,
and leave their sum (`sums`): nothing else removes one.

A decision is numbered by its allocator: (allocator, round), in the order in which they were made. What was heard of it
are its parts. Times are microseconds since 1970, amounts of evidence whole units, so that every sum is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

Fields = Mapping[str, Any] | sa.RowMapping
"""A row, by column."""
BUDGET_UNITS = 2.0**20
"""`budget_units` and `given_units` count in max_budget / BUDGET_UNITS, rounded, so that their sums are exact."""

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, default=0)


def _index_where_given(*names: str) -> sa.Index:
    """An index of the rows whose last column is not null: mostly few, and the others are written without it."""
    given = sa.text(f"{names[-1]} IS NOT NULL")
    return sa.Index(None, *names, sqlite_where=given, postgresql_where=given)


allocators = sa.Table(
    "allocators",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(64), nullable=False, unique=True),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("archived_at", sa.BigInteger),
    sa.Column("on_expiry", sa.String(10), nullable=False, server_default="ignore"),  # of its spec, to be found by
    sa.Column("seed", sa.BigInteger, nullable=False, server_default="0"),  # of its random numbers
    _count("config"),  # grows when arms come or go, or the allocator is archived
    _count("seq"),  # grows with every change of its evidence
    _count("decisions"),
    sa.Column("reports", sa.BigInteger, nullable=False, default=0, server_default="0"),  # parts of outcomes so far
    _count("complete"),
    _count("reward"),
    _count("budget_units"),
    _count("given_units"),
    _count("late"),
    _count("duplicates"),
    _count("contradictions"),
    sa.Column("removals", sa.BigInteger, nullable=False, default=0, server_default="0"),  # times that rows have gone
    sa.Column("window_at", sa.BigInteger),  # when the window of time began that is under way; null: nothing fades
    sa.Column("window_until", sa.BigInteger),  # when it ends
)

arms = sa.Table(
    "arms",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("spec", sa.Text, nullable=False),
    sa.Column("added_at", sa.BigInteger, nullable=False),
    sa.Column("retired_at", sa.BigInteger),
    sa.PrimaryKeyConstraint("allocator_id", "position"),
    sa.UniqueConstraint("allocator_id", "name"),
    sqlite_with_rowid=False,
)

decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("round", sa.BigInteger, nullable=False),
    sa.Column("id", sa.String(100), nullable=False),  # of its allocator's: others may have the same
    sa.Column("budget", sa.Float(53)),  # null: a schedule, for a budget that is not known
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("answer", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("key_id", sa.String(16)),  # of who asked, where keys are used
    sa.Column("subject", sa.String(100)),  # whom it is about, where that was said
    sa.PrimaryKeyConstraint("allocator_id", "round"),
    sa.UniqueConstraint("id", "allocator_id"),
    _index_where_given("allocator_id", "subject"),
)

#: Of decisions that split a budget at once: the curves that they were the best for, and the price.
reasons = sa.Table(
    "reasons",
    metadata,
    sa.Column("allocator_id", sa.Integer, nullable=False),
    sa.Column("round", sa.BigInteger, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("allocator_id", "round"),
    sa.ForeignKeyConstraint(["allocator_id", "round"], ["decisions.allocator_id", "decisions.round"]),
)

reports = sa.Table(
    "reports",
    metadata,
    sa.Column("allocator_id", sa.Integer, nullable=False),
    sa.Column("round", sa.BigInteger, nullable=False),
    sa.Column("part", sa.Integer, nullable=False),
    sa.Column("results", sa.Text, nullable=False),  # {arm: threshold, or null for a failure}
    sa.Column("amounts", sa.Text),  # {arm: what it really got}, where that was said
    sa.Column("spent", sa.Float(53)),
    sa.Column("recorded_at", sa.BigInteger, nullable=False),
    sa.Column("by_expiry", sa.Boolean, nullable=False, default=False),
    sa.Column("place", sa.BigInteger),  # among all reports of the allocator, in the order in which they were heard
    sa.Column("after", sa.BigInteger),  # the number of decisions that had been made then
    sa.Column("key_id", sa.String(16)),  # of who reported, where keys are used
    sa.Column("retracts", sa.Integer),  # the part of the same decision that this one takes back, word for word
    sa.PrimaryKeyConstraint("allocator_id", "round", "part"),
    sa.ForeignKeyConstraint(["allocator_id", "round"], ["decisions.allocator_id", "decisions.round"]),
    sa.Index(None, "allocator_id", "place"),
    sqlite_with_rowid=False,
)

imports = sa.Table(
    "imports",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("id", sa.String(100), nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),
    sa.Column("imported_at", sa.BigInteger, nullable=False),
    sa.Column("after", sa.BigInteger),  # the number of decisions that had been made then
    sa.Column("key_id", sa.String(16)),
    sa.PrimaryKeyConstraint("allocator_id", "id"),
)

#: What edges have pushed: each time the evidence since the time before, and decisions of theirs that are over.
pushes = sa.Table(
    "pushes",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("edge", sa.String(80), nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),
    sa.Column("decisions", sa.Text, nullable=False),
    _count("decided"),  # how many decisions these are
    _count("trials"),  # results of arms in the evidence
    sa.Column("digest", sa.String(64), nullable=False),  # of the body, by which it is known again
    sa.Column("pushed_at", sa.BigInteger, nullable=False),
    sa.Column("after", sa.BigInteger, nullable=False),  # the number of decisions that had been made then
    sa.Column("key_id", sa.String(16)),
    sa.Column("emptied_at", sa.BigInteger),  # when its decisions went, which were kept for the record alone
    sa.PrimaryKeyConstraint("allocator_id", "edge", "number"),
)

#: What was taken back: reports have a row of the log each, imports and pushes of edges are named here.
retractions = sa.Table(
    "retractions",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("id", sa.String(100), nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    _count("reports"),  # how many were taken back
    _count("trials"),  # results of arms in all that was taken back
    sa.Column("imports", sa.Text, nullable=False),  # their ids
    sa.Column("pushes", sa.Text, nullable=False),  # their edges and numbers
    sa.Column("place", sa.BigInteger, nullable=False),  # of its first row among the allocator's reports
    sa.Column("after", sa.BigInteger, nullable=False),  # the number of decisions that had been made then
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.Column("key_id", sa.String(16)),
    sa.PrimaryKeyConstraint("allocator_id", "number"),
    sa.UniqueConstraint("allocator_id", "id"),
)

#: What decisions have left whose rows are gone, after their time or with their subject: their part of all sums.
sums = sa.Table(
    "sums",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    *(_count(name) for name in ("decisions", "reports", "retracted", "complete", "reward", "budget_units")),
    *(_count(name) for name in ("given_units", "late")),
    sa.Column("evidence", sa.Text, nullable=False),
    sa.Column("budgets", sa.Text, nullable=False),
    sa.Column("modes", sa.Text, nullable=False),  # of versions that are compared: their part of `modes`
    sa.Column(
        "windows", sa.Text
    ),  # [[a time of a window, cells]]: when they were recorded; null: before anything faded
    sa.Column("after", sa.BigInteger, nullable=False),  # how many decisions there were at the last report of these
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.PrimaryKeyConstraint("allocator_id", "number"),
)

#: The row of cells that are no arm's: how long budgets lasted that nobody knew. In memory it is the last.
BUDGETS = -1

#: What was added to the evidence at each `seq` of an allocator, or at some all of it, instead of what was before.
evidence = sa.Table(
    "evidence",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("whole", sa.Boolean, nullable=False),  # all of it
    sa.Column("cells", sa.LargeBinary, nullable=False),  # `engine.cells` says how
    sa.PrimaryKeyConstraint("allocator_id", "seq"),
)

#: Of evidence that fades, what was recorded in each window of time that has ended: since the end of the one before.
windows = sa.Table(
    "windows",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("ended_at", sa.BigInteger, nullable=False),
    sa.Column("cells", sa.Text, nullable=False),  # [[position, kind, bin, number, total]]
    sa.Column("forgotten", sa.Boolean, nullable=False),  # whether it is what is left of many, and counts no more
    sa.PrimaryKeyConstraint("allocator_id", "ended_at"),
)

#: How much of the evidence no longer counts, in parts of a number: follows from `windows`, when one of them changes.
faded = sa.Table(
    "faded",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), primary_key=True),
    _count("seq"),  # the allocator's, when it last changed
    sa.Column("cells", sa.Text, nullable=False),
)

#: Decisions of which not every arm that got something has been heard.
waiting = sa.Table(
    "waiting",
    metadata,
    sa.Column("allocator_id", sa.Integer, nullable=False),
    sa.Column("round", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.PrimaryKeyConstraint("allocator_id", "round"),
    sa.ForeignKeyConstraint(["allocator_id", "round"], ["decisions.allocator_id", "decisions.round"]),
    _index_where_given("allocator_id", "expires_at"),
    sqlite_with_rowid=False,
)

#: One row: when the service was last seen running. A gap is time in which nobody could report, or a clock that jumped.
heartbeat = sa.Table(
    "heartbeat", metadata, sa.Column("id", sa.Integer, primary_key=True), sa.Column("at", sa.BigInteger, nullable=False)
)

#: Live rounds as they were opened, with the first answer and how far they have come.
live = sa.Table(
    "live",
    metadata,
    sa.Column("allocator_id", sa.Integer, nullable=False),
    sa.Column("round", sa.BigInteger, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("answer", sa.Text, nullable=False),
    sa.Column("steps", sa.Integer, nullable=False),
    sa.Column("done", sa.Boolean, nullable=False),
    sa.PrimaryKeyConstraint("allocator_id", "round"),
    sa.ForeignKeyConstraint(["allocator_id", "round"], ["decisions.allocator_id", "decisions.round"]),
)

#: What was reported of their steps, with what was answered.
live_steps = sa.Table(
    "live_steps",
    metadata,
    sa.Column("allocator_id", sa.Integer, nullable=False),
    sa.Column("round", sa.BigInteger, nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("success", sa.Boolean, nullable=False),
    sa.Column("spent", sa.Float(53)),
    sa.Column("last", sa.Boolean, nullable=False),
    sa.Column("answer", sa.Text, nullable=False),
    sa.Column("recorded_at", sa.BigInteger, nullable=False),
    sa.Column("key_id", sa.String(16)),
    sa.PrimaryKeyConstraint("allocator_id", "round", "step"),
    sa.ForeignKeyConstraint(["allocator_id", "round"], ["live.allocator_id", "live.round"]),
    sqlite_with_rowid=False,
)

#: What a policy remembered that depends on the order of the log, after so many decisions and reports of it.
states = sa.Table(
    "states",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), primary_key=True),
    sa.Column("config", sa.BigInteger, nullable=False),
    sa.Column("decisions", sa.BigInteger, nullable=False),
    sa.Column("reports", sa.BigInteger, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
)

#: Of versions with a baseline: what decisions were made and compared by, `headgate.service.engine.versions`.
baselines = sa.Table(
    "baselines",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("allocator_id", "version"),
)

#: What came of decisions by version and mode; `worth` and `squares` are exact fractions, such as 5/2.
modes = sa.Table(
    "modes",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("mode", sa.String(10), nullable=False),
    _count("decisions"),
    _count("complete"),
    sa.Column("worth", sa.Text, nullable=False),
    sa.Column("squares", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("allocator_id", "version", "mode"),
)

#: What was believed at some time, for the dashboard.
snapshots = sa.Table(
    "snapshots",
    metadata,
    sa.Column("allocator_id", sa.ForeignKey("allocators.id"), nullable=False),
    sa.Column("taken_at", sa.BigInteger, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("allocator_id", "taken_at"),
    sqlite_with_rowid=False,
)

keys = sa.Table(
    "keys",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("scope", sa.String(10), nullable=False),
    sa.Column("rate", sa.Float(53), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Column("allocators", sa.Text),  # names, or beginnings of names with a star, between spaces; null: all
)

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("actor", sa.String(120), nullable=False),
    sa.Column("action", sa.String(40), nullable=False),
    sa.Column("subject", sa.String(200), nullable=False),
    sa.Column("details", sa.Text, nullable=False),
)
