"""The statements of every round, written with SQLAlchemy and compiled once for each kind of database.

They go straight to the driver: of a transaction for a single request, SQLAlchemy's own way through each statement would
be more than half of the time.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from headgate.service.store import schema
from headgate.service.store.database import Statement

COUNTERS = (
    "seq", "decisions", "reports", "complete", "reward", "budget_units", "given_units", "late", "duplicates",
    "contradictions",
)  # fmt: skip


def _among(column: sa.Column[Any], name: str, lite: bool) -> sa.ColumnElement[bool]:
    """Whether a column is in a list of any length, as one text for all lengths."""
    if lite:
        return column.in_(sa.select(sa.func.json_each(sa.bindparam(name)).table_valued("value").c.value))
    kind = sa.Text() if isinstance(column.type, sa.String) else column.type  # a cast to VARCHAR(64) would cut texts
    return column == sa.any_(sa.bindparam(name, type_=sa.ARRAY(kind)))


def _find(lite: bool) -> sa.Select[Any]:
    return sa.select(schema.decisions).where(_among(schema.decisions.c.id, "ids", lite))


def _allocators(lite: bool) -> sa.Select[Any]:
    table = schema.allocators
    mine = _among(table.c.id, "ids", lite) | _among(table.c.name, "names", lite)
    return sa.select(table).where(mine).order_by(table.c.id)


def _pairs(lite: bool) -> sa.Select[Any]:
    """Pairs of whole numbers, as many as the value `pairs` has: one text for all."""
    if lite:
        one = sa.func.json_each(sa.bindparam("pairs")).table_valued("value").c.value
        columns = [sa.func.json_extract(one, sa.literal_column(f"'$[{place}]'")) for place in (0, 1)]
    else:
        columns = [sa.func.unnest(sa.bindparam(name, type_=sa.ARRAY(sa.BigInteger))) for name in ("first", "second")]
    return sa.select(*(column.label(name) for column, name in zip(columns, ("first", "second"), strict=True)))


def _reports(lite: bool) -> sa.Select[Any]:
    table = schema.reports.c
    mine = sa.tuple_(table.allocator_id, table.round).in_(_pairs(lite))
    columns = table.allocator_id, table.round, table.results, table.amounts, table.spent, table.retracts
    return sa.select(*columns).where(mine).order_by(table.part)


def _cells(lite: bool) -> sa.Select[Any]:
    table, since = schema.evidence.c, _pairs(lite).subquery()
    query = sa.select(table.allocator_id, table.seq, table.whole, table.cells).order_by(table.allocator_id, table.seq)
    return query.where(table.allocator_id == since.c.first, table.seq > since.c.second)


def _faded(_lite: bool) -> sa.Select[Any]:
    table = schema.faded.c
    since = table.seq > sa.bindparam("since", type_=table.seq.type)
    return sa.select(table.cells).where(_is(table.allocator_id), since)


def _replaced(_lite: bool) -> sa.Delete:
    table = schema.evidence
    before = table.c.seq <= sa.bindparam("seq", type_=table.c.seq.type)
    return sa.delete(table).where(_is(table.c.allocator_id), before)


def _keep_state(lite: bool) -> sa.Insert:
    table, insert = schema.states, (sqlite.insert if lite else postgresql.insert)(schema.states)
    names = ("config", "decisions", "reports", "data")
    return insert.values(_binds(table)).on_conflict_do_update(
        index_elements=["allocator_id"], set_={name: insert.excluded[name] for name in names}
    )


def _keep_mode(lite: bool) -> sa.Insert:
    table, insert = schema.modes, (sqlite.insert if lite else postgresql.insert)(schema.modes)
    names = ("decisions", "complete", "worth", "squares")
    return insert.values(_binds(table)).on_conflict_do_update(
        index_elements=list(table.primary_key), set_={name: insert.excluded[name] for name in names}
    )


def _mode(_lite: bool) -> sa.Select[Any]:
    table = schema.modes
    return sa.select(table).where(_is(table.c.allocator_id), _is(table.c.version), _is(table.c.mode))


def _of_round(table: sa.Table) -> sa.Select[Any]:
    return sa.select(table).where(_is(table.c.allocator_id), _is(table.c.round))


def _binds(table: sa.Table) -> dict[str, Any]:
    return {column.name: sa.bindparam(column.name, type_=column.type) for column in table.columns}


def _is(column: sa.Column[Any], name: str = "") -> sa.ColumnElement[bool]:
    return column == sa.bindparam(name or column.name, type_=column.type)


#: Which allocators have decisions of these ids.
WHOSE = Statement(
    lambda lite: sa.select(schema.decisions.c.id, schema.decisions.c.allocator_id).where(
        _among(schema.decisions.c.id, "ids", lite)
    )
)
#: The decisions of these ids.
FIND = Statement(_find)
#: The allocators of these ids or names, locked until the transaction ends, always in the same order.
LOCK = Statement(lambda lite: _allocators(lite).with_for_update())
#: Those of them that nobody else has locked.
LOCK_FREE = Statement(lambda lite: _allocators(lite).with_for_update(skip_locked=True))
#: All of them, without a lock.
ALLOCATORS = Statement(_allocators)
#: What has been reported of these rounds: `pairs` of allocator and round.
REPORTS = Statement(_reports)
#: What was added to allocators' evidence since then, in order: `pairs` of allocator and its `seq`.
CELLS = Statement(_cells)
#: How much of an allocator's evidence counts no more, if that changed since then.
FADED = Statement(_faded)
#: What is added to the evidence, or all of it; and what goes, up to a `seq` after which there is all of it.
ADD = Statement(lambda _: sa.insert(schema.evidence).values(_binds(schema.evidence)))
REPLACED = Statement(_replaced)
DECIDED = Statement(lambda _: sa.insert(schema.decisions).values(_binds(schema.decisions)))
REPORTED = Statement(lambda _: sa.insert(schema.reports).values(_binds(schema.reports)))
#: What decisions were the best for.
REASON = Statement(lambda _: sa.insert(schema.reasons).values(_binds(schema.reasons)))
WAIT = Statement(lambda _: sa.insert(schema.waiting).values(_binds(schema.waiting)))
DONE = Statement(
    lambda _: sa.delete(schema.waiting).where(_is(schema.waiting.c.allocator_id), _is(schema.waiting.c.round))
)
LIVE = Statement(lambda _: _of_round(schema.live))
LIVE_STEPS = Statement(lambda _: _of_round(schema.live_steps).order_by(schema.live_steps.c.step))
OPENED = Statement(lambda _: sa.insert(schema.live).values(_binds(schema.live)))
STEPPED = Statement(lambda _: sa.insert(schema.live_steps).values(_binds(schema.live_steps)))
MOVED = Statement(
    lambda _: (
        sa.update(schema.live)
        .where(_is(schema.live.c.allocator_id), _is(schema.live.c.round))
        .values({name: sa.bindparam(name, type_=schema.live.c[name].type) for name in ("steps", "done")})
    )
)
#: The sums of a version's decisions of one mode, and what is written instead.
MODE = Statement(_mode)
KEEP_MODE = Statement(_keep_mode)
#: The state of a policy, instead of the one before.
KEEP_STATE = Statement(_keep_state)
COUNT = Statement(
    lambda _: (
        sa.update(schema.allocators)
        .where(_is(schema.allocators.c.id, "key"))
        .values({name: sa.bindparam(name, type_=sa.BigInteger) for name in COUNTERS})
    )
)
#: How a batch writes: rows before those that refer to them, and what waits before it waits no more.
IN_THIS_ORDER = (
    ADD,
    REPLACED,
    DECIDED,
    REASON,
    OPENED,
    WAIT,
    REPORTED,
    STEPPED,
    MOVED,
    DONE,
    KEEP_STATE,
    KEEP_MODE,
    COUNT,
)
