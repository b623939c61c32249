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


def log_of(
    connection: Connection, allocator_id: int, decisions: int = 0, reports: int = 0
) -> Iterator[tuple[LoggedDecision, Part | None]]:
    """Go through the log after so many decisions and reports: a decision that is made, or one and a report of it."""
    made, heard = schema.decisions, schema.reports
    others = heard.alias()
    spent = select(func.max(others.c.spent)).where(
        others.c.allocator_id == heard.c.allocator_id, others.c.round == heard.c.round
    )
    own = heard.c.results, heard.c.amounts, heard.c.spent, heard.c.after, spent.scalar_subquery().label("in_all")
    parts = (
        select(made, *own).join_from(heard, made)
        .where(heard.c.allocator_id == allocator_id, heard.c.place >= reports).order_by(heard.c.place)
    )  # fmt: skip
    asked = select(made).where(made.c.allocator_id == allocator_id, made.c.round >= decisions).order_by(made.c.round)
    rounds = iter(connection.execute(asked.execution_options(yield_per=_ROWS)).mappings())
    names = made.c.keys()
    for row in connection.execute(parts.execution_options(yield_per=_ROWS)).mappings():
        while decisions < row["after"]:
            yield LoggedDecision.of_row(next(rounds)), None
            decisions += 1
        decision = LoggedDecision.of_row({name: row[name] for name in names})
        said = json.loads(row["amounts"] or "{}")
        lasted = None if row["spent"] is None else decision.lasted(row["spent"])
        yield (
            decision,
            Part(json.loads(row["results"]), decision.amounts(row["in_all"]) | said, lasted, decision.request),
        )
    for row in rounds:
        yield LoggedDecision.of_row(row), None
