"""The statements of every round, written with SQLAlchemy and compiled once for each kind of database.

They go straight to the driver: of a transaction for a single request, SQLAlchemy's own way through each statement would
be more than half of the time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    Delete,
    Insert,
    Integer,
    Select,
    Table,
    Text,
    Update,
    any_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

from headgate.service.store import schema

COUNTERS = (
    "seq", "decisions", "complete", "reward", "budget_units", "given_units", "late", "duplicates", "contradictions",
)  # fmt: skip
_Sql = Select[Any] | Insert | Update | Delete


class _Compiled(NamedTuple):
    text: str
    arrange: Callable[[Mapping[str, Any]], Any]
    """Values by name, as the driver takes them."""
    lists: bool
    """Whether lists must be handed over as JSON."""


class Statement:
    """A statement for both kinds of database."""

    def __init__(self, lite: _Sql, post: _Sql | None = None) -> None:
        self._made = {"sqlite": lite, "postgresql": lite if post is None else post}
        self._compiled: dict[str, _Compiled] = {}

    def rows(self, connection: Connection, **values: Any) -> list[dict[str, Any]]:
        """Run a query, and return its rows by column."""
        text, arrange, lists = self._compiled.get(connection.dialect.name) or self._compile(connection)
        if lists:
            values = {name: json.dumps(v) if type(v) is list else v for name, v in values.items()}
        cursor = connection.connection.cursor()
        cursor.execute(text, arrange(values))
        names = [item[0] for item in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        cursor.close()
        return rows

    def each(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Run it once for each row of values; what a row holds besides is left out."""
        text, arrange, _ = self._compiled.get(connection.dialect.name) or self._compile(connection)
        cursor = connection.connection.cursor()
        if len(rows) == 1:
            cursor.execute(text, arrange(rows[0]))
        else:
            cursor.executemany(text, list(map(arrange, rows)))
        cursor.close()

    def _compile(self, connection: Connection) -> _Compiled:
        name = connection.dialect.name
        made = self._made[name].compile(dialect=connection.dialect)
        order = list(made.positiontup or ())
        arrange: Any = dict  # by name, where the driver takes names
        if made.positional:
            arrange = itemgetter(*order) if len(order) > 1 else lambda values: (values[order[0]],)
        self._compiled[name] = _Compiled(str(made), arrange, name == "sqlite")
        return self._compiled[name]


def _among(key: ColumnElement[Any], name: str, kind: type[TypeEngine[Any]], lite: bool) -> ColumnElement[bool]:
    """Whether a column is in a list of any length, as one text for all lengths."""
    if lite:
        return key.in_(select(func.json_each(bindparam(name)).table_valued("value").c.value))
    return key == any_(bindparam(name, type_=ARRAY(kind)))


def _find(lite: bool) -> Select[Any]:
    return select(schema.decisions).where(_among(schema.decisions.c.id, "ids", Text, lite))


def _lock(lite: bool) -> Select[Any]:
    table = schema.allocators
    wanted = _among(table.c.id, "ids", Integer, lite) | _among(table.c.name, "names", Text, lite)
    return select(table).where(wanted).order_by(table.c.id).with_for_update()


def _heard(lite: bool) -> Select[Any]:
    table = schema.reports.c
    return (
        select(table.round, table.results, table.spent)
        .where(table.allocator_id == bindparam("allocator", type_=Integer))
        .where(_among(table.round, "rounds", BigInteger, lite))
        .order_by(table.part)
    )


def _add(insertion: postgresql.Insert | sqlite.Insert) -> Insert:
    table = schema.evidence.c
    return insertion.values(_binds(schema.evidence)).on_conflict_do_update(
        index_elements=[table.allocator_id, table.position, table.kind, table.bin],
        set_={
            "number": table.number + insertion.excluded.number,
            "total": table.total + insertion.excluded.total,
            "seq": insertion.excluded.seq,
        },
    )


def _binds(table: Table) -> dict[str, Any]:
    return {found.name: bindparam(found.name, type_=found.type) for found in table.columns}


#: The decisions of these ids.
FIND = Statement(_find(lite=True), _find(lite=False))
#: The allocators of these ids or names, locked until the transaction ends, always in the same order.
LOCK = Statement(_lock(lite=True), _lock(lite=False))
#: What has been reported of these rounds.
HEARD = Statement(_heard(lite=True), _heard(lite=False))
#: Cells to be added to the evidence.
ADD = Statement(_add(sqlite.insert(schema.evidence)), _add(postgresql.insert(schema.evidence)))
DECIDED = Statement(insert(schema.decisions).values(_binds(schema.decisions)))
REPORTED = Statement(insert(schema.reports).values(_binds(schema.reports)))
WAIT = Statement(insert(schema.waiting).values(_binds(schema.waiting)))
DONE = Statement(
    delete(schema.waiting).where(
        schema.waiting.c.allocator_id == bindparam("a", type_=Integer),
        schema.waiting.c.round == bindparam("r", type_=BigInteger),
    )
)
COUNT = Statement(
    update(schema.allocators)
    .where(schema.allocators.c.id == bindparam("key", type_=Integer))
    .values({name: bindparam(name, type_=BigInteger) for name in COUNTERS})
)
