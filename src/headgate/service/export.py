"""The log as a table, one row for each arm of each decision: read page by page, for `headgate export`.

Decisions that were made here come first, in their order; then those that edges have pushed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from headgate.errors import InputError
from headgate.service import clock
from headgate.service.engine.records import LoggedDecision, Reports, read_reports
from headgate.service.store import Database, schema
from headgate.service.store.rows import row_of

_PAGE = 2_000
Row = dict[str, Any]
COLUMNS = {
    "decision_id": "string",
    "round": "int64",  # null: made by an edge
    "edge": "string",  # null: made by the service
    "created_at": "timestamp[us, tz=UTC]",
    "expires_at": "timestamp[us, tz=UTC]",
    "budget": "float64",  # null: a schedule, or a live round whose budget nobody knew
    "spent": "float64",
    "arm": "string",
    "given": "float64",  # null: nobody knows yet how far a schedule got
    "amount": "float64",  # what the arm really got
    "success": "bool",  # null: not reported
    "threshold": "float64",
    "context": "string",  # JSON
    "version": "int64",  # of the allocator that made it
    "mode": "string",  # whose decision it is: policy, holdout, shadow or guard
    "probability": "float64",  # of that
    "policy_amount": "float64",  # of a shadow: what the policy would have given
    "key": "string",  # the id of the key that asked, or of the edge's that pushed; null: keys were not used
    "subject": "string",  # whom it is about; null: not said
}
"""The columns and their Arrow types."""


def pages(connection: Connection, name: str) -> Iterator[list[Row]]:
    """Go through the log of an allocator, some thousand decisions at a time."""
    row, table = row_of(connection, name), schema.decisions
    after = -1
    while True:
        query = select(table).where(table.c.allocator_id == row["id"], table.c.round > after)
        rows = connection.execute(query.order_by(table.c.round).limit(_PAGE)).mappings().all()
        if not rows:
            break
        reports = {(row["id"], one["round"]): Reports() for one in rows}
        read_reports(connection, reports)
        yield [
            line | {"key": one["key_id"], "subject": one["subject"]}
            for one in rows
            for line in _rows(LoggedDecision.of_row(one), reports[row["id"], one["round"]])
        ]
        after = rows[-1]["round"]
    pushes = schema.pushes.c
    numbers = select(pushes.edge, pushes.number).where(pushes.allocator_id == row["id"])
    for edge, number in connection.execute(numbers.order_by(pushes.edge, pushes.number)).all():
        mine = pushes.allocator_id == row["id"], pushes.edge == edge, pushes.number == number
        text, key = connection.execute(select(pushes.decisions, pushes.key_id).where(*mine)).one()
        if decisions := json.loads(text):
            yield [line | {"key": key, "subject": None} for decision in decisions for line in _pushed(decision, edge)]


def _rows(decision: LoggedDecision, reports: Reports) -> Iterator[Row]:
    allocation: dict[str, float | None] = {}
    if decision.allocation is None and reports.spent is None:
        allocation = dict.fromkeys((arm for arm, _ in decision.steps or ()), None)
    else:
        allocation |= decision.amounts(reports.spent)
    context = json.loads(decision.request).get("context")
    for arm in allocation | reports.results:
        result = reports.results.get(arm)
        reported = arm in reports.results
        yield {
            "decision_id": decision.id,
            "round": decision.round,
            "edge": None,
            "created_at": decision.created_at,
            "expires_at": decision.expires_at,
            "budget": decision.budget,
            "spent": reports.spent,
            "arm": arm,
            "given": allocation.get(arm),
            "amount": reports.amounts.get(arm, allocation.get(arm)),
            "success": result is not None if reported else None,
            "threshold": None if result is None or result is True else result,
            "context": None if context is None else json.dumps(context, ensure_ascii=False),
            "version": decision.version,
            "mode": decision.mode,
            "probability": decision.probability,
            "policy_amount": None if decision.policy_allocation is None else decision.policy_allocation.get(arm),
        }


def _pushed(decision: dict[str, Any], edge: str) -> Iterator[Row]:
    created_at = clock.of(datetime.fromisoformat(decision["made_at"]))
    for arm in decision["allocation"] | decision["results"]:
        result, share = decision["results"].get(arm), decision["allocation"].get(arm, 0.0)
        amount = None if result is None else result["amount"]
        yield {
            "decision_id": decision["decision_id"],
            "round": None,
            "edge": edge,
            "created_at": created_at,
            "expires_at": None,
            "budget": decision["budget"],
            "spent": None,
            "arm": arm,
            "given": share,
            "amount": share if amount is None else amount,
            "success": None if result is None else result["success"],
            "threshold": None if result is None else result["threshold"],
            "context": None,
        } | dict.fromkeys(("version", "mode", "probability", "policy_amount"))


def export(database: Database, name: str, file: Path) -> int:
    """Write the log of an allocator to a new Parquet file, from one consistent state; return the number of rows."""
    import pyarrow as pa  # noqa: PLC0415  # an extra
    import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

    if file.exists():
        raise InputError(f"{file} exists: an export never overwrites")
    if not file.parent.is_dir():
        raise InputError(f"there is no folder {file.parent} for the export")
    aliases = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}
    fields = [(column, aliases.get(kind, pa.timestamp("us", tz="UTC"))) for column, kind in COLUMNS.items()]
    table, partial = pa.schema(fields), file.with_name(file.name + ".partial")

    def write(connection: Connection) -> int:
        count = 0
        with pq.ParquetWriter(partial, table) as writer:
            for page in pages(connection, name):
                writer.write_table(pa.Table.from_pylist(page, schema=table))
                count += len(page)
        return count

    try:
        partial.touch(mode=0o600)
        rows = database.look(write, slow=True)
        partial.rename(file)
    finally:
        partial.unlink(missing_ok=True)
    return rows
