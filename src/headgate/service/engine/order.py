"""The log of an allocator in its order: what was decided and what was reported, one after the other.

A report has its place, and says how many decisions there were then; both were given to it under the allocator's lock.
Policies that depend on the order of their feedback are folds of this: workers follow it, and so does `verify`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from headgate.policies import Policy
from headgate.service.engine.records import LoggedDecision, Results
from headgate.service.store import schema

END = 2**62
"""After all rows of any log."""
_ROWS = 1_000  # that are read at once


def in_order(policy: Policy) -> bool:
    """Whether a policy's state depends on the order of the log: it remembers more than sums, or forgets."""
    return not policy.additive or policy.discount < 1.0


@dataclass(frozen=True, slots=True)
class Part:
    """One report of a decision."""

    results: Results
    amounts: dict[str, float]
    """What every arm of the decision got."""
    lasted: tuple[float, bool] | None
    """How long the budget lasted, if this part says so and somebody plans by it."""
    request: str
    """What the decision was asked for with: its features are there."""
    place: int = 0
    """Among all rows of the log, as far as the log has it."""
    takes_back: bool = False
    """Whether it takes back a report that said this."""
    at: int = 0
    """When it was recorded, or the one that it takes back."""


def retracted_since(connection: Connection, allocator_id: int, reports: int) -> bool:
    """Whether a report was taken back after so many rows of the log."""
    table = schema.reports.c
    here = table.allocator_id == allocator_id, table.place >= reports, table.retracts.is_not(None)
    return connection.execute(select(table.place).where(*here).limit(1)).first() is not None


def log_of(
    connection: Connection, allocator_id: int, decisions: int = 0, reports: int = 0, until: int | None = END
) -> Iterator[tuple[LoggedDecision, Part | None]]:
    """Go through the log after so many decisions and reports: a decision that is made, or one and a report of it.

    Reports that were taken back are left out, as if they had never come: those of which the log says so before its
    row `until`. With None nothing is left out, and parts that take others back come in their places.
    """
    decision_table, report = schema.decisions, schema.reports
    others = report.alias()
    same = others.c.allocator_id == report.c.allocator_id, others.c.round == report.c.round
    # A schedule's amounts are those of the latest word on what was spent, that of the part itself included.
    spent = (
        select(others.c.spent)
        .where(*same, others.c.spent.is_not(None), others.c.retracts.is_(None))
        .where(others.c.part <= func.coalesce(report.c.retracts, report.c.part))
        .order_by(others.c.part.desc()).limit(1)
    )  # fmt: skip
    first = select(others.c.recorded_at).where(*same, others.c.part == func.coalesce(report.c.retracts, report.c.part))
    own = (
        report.c.results, report.c.amounts, report.c.spent, report.c.after, report.c.retracts, report.c.place,
        spent.scalar_subquery().label("in_all"), first.scalar_subquery().label("at"),
    )  # fmt: skip
    parts = (
        select(decision_table, *own).join_from(report, decision_table)
        .where(report.c.allocator_id == allocator_id, report.c.place >= reports).order_by(report.c.place)
    )  # fmt: skip
    if until is not None:
        retraction = select(others.c.part).where(*same, others.c.retracts == report.c.part, others.c.place < until)
        parts = parts.where(report.c.retracts.is_(None), ~retraction.exists())
    mine = decision_table.c.allocator_id == allocator_id, decision_table.c.round >= decisions
    query = select(decision_table).where(*mine).order_by(decision_table.c.round)
    rounds = iter(connection.execute(query.execution_options(yield_per=_ROWS)).mappings())
    names, upcoming = decision_table.c.keys(), next(rounds, None)
    for row in connection.execute(parts.execution_options(yield_per=_ROWS)).mappings():
        while upcoming is not None and upcoming["round"] < row["after"]:  # some numbers are missing: rows have gone
            yield LoggedDecision.of_row(upcoming), None
            upcoming = next(rounds, None)
        decision = LoggedDecision.of_row({name: row[name] for name in names})
        lasted = None if row["spent"] is None else decision.lasted(row["spent"])
        amounts = decision.amounts(row["in_all"]) | json.loads(row["amounts"] or "{}")
        back = row["retracts"] is not None
        part = Part(json.loads(row["results"]), amounts, lasted, decision.request, row["place"], back, row["at"])
        yield decision, part
    while upcoming is not None:
        yield LoggedDecision.of_row(upcoming), None
        upcoming = next(rounds, None)
