"""Recomputing everything from the log, by another way than the engine's, and comparing exactly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, RowMapping, select

from headgate.errors import HeadgateError
from headgate.evidence import Evidence
from headgate.service.bodies import EvidenceBody
from headgate.service.engine.changes import evidence_of_body
from headgate.service.engine.learner import evidence_of
from headgate.service.engine.records import LoggedDecision, Results
from headgate.service.spec import AllocatorSpec, ArmSpec, build_law
from headgate.service.store import Database, schema

Progress = Callable[[str, int], None]
_CHUNK = 5_000


@dataclass(slots=True)
class _Replay:
    """An allocator as its log says it must be: its decisions and reports are followed one after the other."""

    spec: AllocatorSpec
    names: list[str]
    whole: Any
    evidence: Evidence
    decisions: int = 0
    complete: int = 0
    reward: int = 0
    budget_units: int = 0
    given_units: int = 0
    late: int = 0
    waiting: set[int] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    rows: list[tuple[int, float, bool, float]] = field(default_factory=list)
    """Results that are not in the evidence yet: arm, amount, success, threshold."""

    def follow(self, decision: LoggedDecision, reports: list[Row[Any]]) -> None:
        """Do again what a decision and its reports did."""
        results = self._results(decision, reports)
        spent = next((report.spent for report in reports if report.spent is not None), None)
        if decision.allocation is None and spent is None and not results:
            self.waiting.add(decision.round)
            return
        amounts = decision.amounts(spent)
        for arm, threshold in results.items():
            place = self.names.index(arm)
            x = float(np.floor(amounts[arm])) if self.whole[place] else amounts[arm]
            if x > 0.0:
                self.rows.append((place, x, threshold is not None, np.nan if threshold is None else threshold))
        if {arm for arm, amount in amounts.items() if amount > 0.0} <= results.keys():
            self._complete(spent if decision.budget is None else decision.budget, amounts, results)
        else:
            self.waiting.add(decision.round)

    def _results(self, decision: LoggedDecision, reports: list[Row[Any]]) -> Results:
        """Join the reports of a decision, which must be numbered without gaps and say nothing twice."""
        results: Results = {}
        for place, report in enumerate(reports):
            part: Results = json.loads(report.results)
            if report.part != place or part.keys() & results.keys():
                self.wrong.append(f"the reports of decision {decision.id!r} overlap or have gaps")
            results |= part
            expired = decision.expires_at is not None and report.recorded_at > decision.expires_at
            self.late += expired and not report.by_expiry
        return results

    def _complete(self, budget: float | None, amounts: dict[str, float], results: Results) -> None:
        """Count a decision of which everything has been reported."""
        won = len(results) - list(results.values()).count(None)
        scale = schema.BUDGET_UNITS / self.spec.max_budget
        self.complete += 1
        self.reward += min(won, 1) if self.spec.reward == "cascade" else won
        self.budget_units += round((budget or 0.0) * scale)
        self.given_units += round(sum(amounts.values()) * scale)

    def flush(self) -> None:
        """Add the rows that have gathered to the evidence."""
        if self.rows:
            arm, x, won, seen = (np.array(column) for column in zip(*self.rows, strict=True))
            try:
                more = Evidence.of_rows(arm, x, won, seen, arms=len(self.names), max_budget=self.spec.max_budget)
                self.evidence.bins[...] += more.bins
            except HeadgateError as error:
                self.wrong.append(f"the log holds a result that cannot be: {error}")
            self.rows.clear()


def verify(database: Database, progress: Progress | None = None) -> list[str]:
    """Return every difference between the state and what the log says it must be; none is as it should be."""
    return database.look(lambda connection: list(_differences(connection, progress or (lambda _name, _n: None))))


def _differences(connection: Connection, progress: Progress) -> Iterator[str]:
    table = schema.allocators
    for row in connection.execute(select(table).order_by(table.c.name)).mappings().all():
        replay = _replay(connection, row, progress)
        name = row["name"]
        yield from (f"{name}: {wrong}" for wrong in replay.wrong)
        for counter in ("decisions", "complete", "reward", "budget_units", "given_units", "late"):
            if row[counter] != getattr(replay, counter):
                yield f"{name}: {counter} is {row[counter]}, by the log it is {getattr(replay, counter)}"
        waiting = set(
            connection.execute(
                select(schema.waiting.c.round).where(schema.waiting.c.allocator_id == row["id"])
            ).scalars()
        )
        if waiting != replay.waiting:
            yield f"{name}: {len(waiting)} decisions are waiting, by the log {len(replay.waiting)}"
        stored = evidence_of(connection, row["id"], len(replay.names), replay.spec.max_budget)
        off = np.argwhere(stored.bins != replay.evidence.bins)
        if off.size:
            arm = replay.names[int(off[0, 0])]
            yield f"{name}: {len(off)} numbers of the evidence differ from the log's, the first of arm {arm!r}"


def _replay(connection: Connection, row: RowMapping, progress: Progress) -> _Replay:
    spec = AllocatorSpec.model_validate_json(row["spec"])
    arms = connection.execute(
        select(schema.arms).where(schema.arms.c.allocator_id == row["id"]).order_by(schema.arms.c.position)
    ).all()
    law = build_law(spec, [ArmSpec.model_validate_json(arm.spec) for arm in arms])
    replay = _Replay(
        spec, [arm.name for arm in arms], law.whole_arms(len(arms)), Evidence.empty(len(arms), spec.max_budget)
    )
    for key, body in connection.execute(
        select(schema.imports.c.id, schema.imports.c.evidence).where(schema.imports.c.allocator_id == row["id"])
    ):
        try:
            replay.evidence.bins[...] += evidence_of_body(
                EvidenceBody.model_validate_json(body), replay.names, spec.max_budget
            ).bins
        except HeadgateError as error:
            replay.wrong.append(f"import {key!r} cannot be read: {error}")
    for decision, reports in _log(connection, row["id"]):
        if decision.round != replay.decisions:
            replay.wrong.append(f"decision {decision.id!r} has round {decision.round}, expected {replay.decisions}")
        replay.decisions += 1
        try:
            replay.follow(decision, reports)
        except (HeadgateError, KeyError) as error:
            replay.wrong.append(f"decision {decision.id!r} cannot be followed: {error}")
        if replay.decisions % _CHUNK == 0:
            replay.flush()
            progress(row["name"], replay.decisions)
    replay.flush()
    progress(row["name"], replay.decisions)
    return replay


def _log(connection: Connection, allocator_id: int) -> Iterator[tuple[LoggedDecision, list[Row[Any]]]]:
    """Go through the decisions in order, each with its reports."""
    decisions, reports = schema.decisions, schema.reports
    start = 0
    while True:
        page = (
            connection.execute(
                select(decisions)
                .where(decisions.c.allocator_id == allocator_id, decisions.c.round >= start)
                .order_by(decisions.c.round)
                .limit(_CHUNK)
            )
            .mappings()
            .all()
        )
        if not page:
            return
        heard = connection.execute(
            select(reports)
            .where(reports.c.allocator_id == allocator_id)
            .where(reports.c.round.between(page[0]["round"], page[-1]["round"]))
            .order_by(reports.c.round, reports.c.part)
        ).all()
        parts = {turn: list(group) for turn, group in groupby(heard, key=lambda report: int(report.round))}
        for row in page:
            yield LoggedDecision.of_row(row), parts.get(row["round"], [])
        start = page[-1]["round"] + 1
