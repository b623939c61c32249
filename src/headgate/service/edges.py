"""What can be read of edges, and what their pushes add up to, for `verify`."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Sequence

from sqlalchemy import Connection, func, select

from headgate.errors import HeadgateError
from headgate.evidence import Evidence
from headgate.service import clock
from headgate.service.edge_bodies import EdgeItem, Edges, LearnerBody, Push
from headgate.service.engine.learner import Learner
from headgate.service.engine.pushes import digest_of, learner_body
from headgate.service.store import schema
from headgate.service.store.rows import row_of


def learner(connection: Connection, name: str, position: tuple[int, int] | None) -> LearnerBody:
    """Return what an edge decides with."""
    row = row_of(connection, name)
    return LearnerBody.model_validate(learner_body(Learner(connection, row), position, row["archived_at"] is not None))


def edges(connection: Connection, name: str) -> Edges:
    """Return the edges of an allocator and what they have pushed."""
    row, table = row_of(connection, name), schema.pushes.c
    sums = [func.sum(column) for column in (table.trials, table.decided)]
    rows = connection.execute(
        select(table.edge, func.count(), *sums, func.max(table.pushed_at))
        .where(table.allocator_id == row["id"])
        .group_by(table.edge)
        .order_by(table.edge)
    )
    items = [
        {
            "edge": edge,
            "pushes": pushes,
            "trials": int(trials),
            "decisions": int(decisions),
            "last_at": clock.as_text(last),
        }
        for edge, pushes, trials, decisions, last in rows
    ]
    return Edges(edges=[EdgeItem.model_validate(item) for item in items])


def pushed(
    connection: Connection, allocator_id: int, names: Sequence[str], retracted: Container[tuple[str, int]] = ()
) -> Iterator[tuple[int, Evidence] | str]:
    """Go through what edges pushed: when, and its evidence, and a line for everything that is not as it came.

    Pushes that are `retracted` have no evidence any more. Of those that are emptied, after their time, the
    evidence is left.

    The decisions of a push are the edge's own record. Whether they are what it saw, only the edge can say; that they
    and the evidence are what it sent, the digest of the push tells.
    """
    table = schema.pushes
    query = select(table).where(table.c.allocator_id == allocator_id).order_by(table.c.edge, table.c.number)
    for row in connection.execute(query.execution_options(yield_per=100)):
        where = f"push {row.number} of edge {row.edge!r}"
        try:
            body = Push.model_validate({"evidence": json.loads(row.evidence), "decisions": json.loads(row.decisions)})
            new = Evidence.from_dict(body.evidence.model_dump(), names)
        except (HeadgateError, ValueError) as error:
            yield f"{where} cannot be read: {error}"
            continue
        if digest_of(body) != row.digest and row.emptied_at is None:
            yield f"{where} is not what was pushed"
        if int(new.trials.sum()) != row.trials:
            yield f"{where} says {row.trials} results, by its evidence it has {int(new.trials.sum())}"
        if len(body.decisions) != row.decided and row.emptied_at is None:
            yield f"{where} says {row.decided} decisions, it has {len(body.decisions)}"
        if (row.edge, row.number) not in retracted:
            yield row.pushed_at, new
