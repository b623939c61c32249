"""Recomputing everything from the log, by another way than the engine's, and comparing exactly."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from pydantic_core import from_json
from sqlalchemy import Connection, Row, RowMapping, func, select

from headgate.errors import HeadgateError, InputError, UnsupportedError
from headgate.evidence import Evidence
from headgate.service import edges
from headgate.service.bodies import EvidenceBody
from headgate.service.engine import retractions
from headgate.service.engine.cells import read_evidence
from headgate.service.engine.changes import evidence_of_body
from headgate.service.engine.order import in_order
from headgate.service.engine.records import LoggedDecision, Results
from headgate.service.spec import AllocatorSpec, ArmSpec, build_law, build_policy, resolved_arms
from headgate.service.store import Database, schema
from headgate.service.store.rows import arms_of
from headgate.service.verify_modes import ModeCheck
from headgate.service.verify_order import in_their_order, live_rounds
from headgate.service.verify_windows import WindowCheck

Progress = Callable[[str, int], None]
_ROWS = 1_000  # that are read, or added to the evidence, at once


@dataclass(slots=True)
class _Replay:
    """An allocator as its log says it must be: its decisions and reports are followed one after the other."""

    spec: AllocatorSpec
    names: list[str]
    whole: list[bool]
    """Which arms count in whole units."""
    evidence: Evidence
    budgets: Evidence
    """How long budgets lasted that nobody knew, as evidence of one arm."""
    places: dict[str, int]
    """The arms' positions, by name."""
    modes: ModeCheck
    windows: WindowCheck
    counts: Counter[str] = field(default_factory=Counter)
    waiting: set[int] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    rows: list[tuple[int, float, bool, float, int]] = field(default_factory=list)
    """Results that are not in the evidence yet: arm, amount, success, threshold, and when they were recorded."""
    lasted: list[tuple[int, float, bool, float, int]] = field(default_factory=list)
    """Budgets likewise: one that ended is a success with the largest, at that threshold; else a failure."""

    def follow(self, decision: LoggedDecision, reports: list[Row[Any]]) -> None:
        """Do again what a decision and its reports did."""
        self.wrong += self.modes.decided(decision)
        results, reports = self._results(decision, reports)
        spent, spent_at = next(((r.spent, r.recorded_at) for r in reports if r.spent is not None), (None, 0))
        silent = decision.allocation is None and spent is None and not results
        if silent or (decision.live and not reports):
            self.waiting.add(decision.round)
            return
        planned = dict(decision.amounts(spent))
        amounts = planned.copy()
        for report in reports:  # what an arm really got
            amounts |= from_json(report.amounts or "{}")
        if spent is not None and json.loads(decision.request).get("switching", True) is False:
            self._add_budget(sum(step[1] for step in decision.steps or ()), spent, spent_at)
        self._add_results(results, amounts, reports)
        if any(amount > 0.0 and arm not in results for arm, amount in planned.items()):
            self.waiting.add(decision.round)
            return
        budget = spent if decision.budget is None else decision.budget
        self.modes.completed(decision, results)
        self._complete(sum(amounts.values()) if budget is None and decision.live else budget, amounts, results)

    def _add_budget(self, planned: float, spent: float, at: int) -> None:
        """Gather how long a budget lasted of which so much was planned: censored there, if all of that was spent."""
        ended = spent < planned * (1.0 - 1e-9)
        at_most = self.spec.max_budget if ended else min(spent, planned)
        self.lasted.append((0, at_most, ended, spent if ended else np.nan, at))

    def _add_results(self, results: Results, amounts: dict[str, float], reports: list[Row[Any]]) -> None:
        """Gather the results of a decision, each recorded when its report was."""
        once = reports[0].recorded_at if len(reports) == 1 else None
        at = {} if once is not None else {arm: r.recorded_at for r in reports for arm in from_json(r.results)}
        for arm, threshold in results.items():
            place = self.places[arm]
            x = float(np.floor(amounts[arm])) if self.whole[place] else amounts[arm]
            if x > 0.0:
                number = np.nan if threshold is None or threshold is True else threshold
                self.rows.append((place, x, threshold is not None, number, at[arm] if once is None else once))

    def _results(self, decision: LoggedDecision, reports: list[Row[Any]]) -> tuple[Results, list[Row[Any]]]:
        """Join the reports of a decision that count; parts must be numbered without gaps and say nothing twice.

        A part that takes another back says the same, word for word, and ends that one.
        """
        valid: dict[int, Row[Any]] = {}
        for place, report in enumerate(reports):
            self.counts["reports"] += report.place is not None
            if report.part != place:
                self.wrong.append(f"the reports of decision {decision.id!r} overlap or have gaps")
            if report.retracts is None:
                if any(from_json(other.results).keys() & from_json(report.results) for other in valid.values()):
                    self.wrong.append(f"the reports of decision {decision.id!r} overlap or have gaps")
                valid[report.part] = report
                continue
            self.counts["retracted"] += 1
            original = valid.pop(report.retracts, None)
            words = ("results", "amounts", "spent")
            if original is None or any(getattr(original, name) != getattr(report, name) for name in words):
                self.wrong.append(f"a report of decision {decision.id!r} takes back what none says that counts")
        results: Results = {}
        for report in valid.values():
            results |= from_json(report.results)
            expired = decision.expires_at is not None and report.recorded_at > decision.expires_at
            self.counts["late"] += expired and not report.by_expiry
        return results, list(valid.values())

    def _complete(self, budget: float | None, amounts: dict[str, float], results: Results) -> None:
        """Count a decision of which everything has been reported."""
        won = len(results) - list(results.values()).count(None)
        scale = schema.BUDGET_UNITS / self.spec.max_budget
        self.counts["complete"] += 1
        self.counts["reward"] += min(won, 1) if self.spec.reward == "cascade" else won
        self.counts["budget_units"] += round((budget or 0.0) * scale)
        self.counts["given_units"] += round(sum(amounts.values()) * scale)

    def flush(self) -> None:
        """Add the rows that have gathered to the evidence."""
        most = self.spec.max_budget
        for evidence, rows in ((self.evidence, self.rows), (self.budgets, self.lasted)):
            if rows:
                *columns, at = (np.array(column) for column in zip(*rows, strict=True))
                for window, inside in self.windows.of(at):
                    try:
                        more = Evidence.of_rows(*(c[inside] for c in columns), arms=evidence.arms, max_budget=most)
                    except HeadgateError as error:
                        self.wrong.append(f"the log holds a result that cannot be: {error}")
                        continue
                    evidence.bins[...] += more.bins
                    self.windows.add(window, more.bins, budgets=evidence is self.budgets)
                rows.clear()

    def add(self, evidence: Evidence, at: int) -> None:
        """Add evidence that came from elsewhere."""
        self.evidence.bins[...] += evidence.bins
        self.windows.add(self.windows.at(at), evidence.bins)


def verify(database: Database, progress: Progress | None = None) -> list[str]:
    """Return every difference between the state and what the log says it must be; none is as it should be."""
    say = progress or (lambda _name, _n: None)
    return database.look(lambda connection: list(_differences(connection, say)), slow=True)


def _differences(connection: Connection, progress: Progress) -> Iterator[str]:
    table = schema.allocators
    for row in connection.execute(select(table).order_by(table.c.name)).mappings().all():
        try:
            yield from (f"{row['name']}: {words}" for words in _differences_of(connection, row, progress))
        except (InputError, UnsupportedError) as error:
            yield f"{row['name']}: cannot be opened by this version: {error}"


def _differences_of(connection: Connection, row: RowMapping, progress: Progress) -> Iterator[str]:
    replay = _replay(connection, row, progress)
    yield from replay.wrong
    for counter in ("decisions", "reports", "complete", "reward", "budget_units", "given_units", "late"):
        if row[counter] != replay.counts[counter]:
            yield f"{counter} is {row[counter]}, by the log it is {replay.counts[counter]}"
    rounds = select(schema.waiting.c.round).where(schema.waiting.c.allocator_id == row["id"])
    waiting = set(connection.execute(rounds).scalars())
    if waiting != replay.waiting:
        yield f"{len(waiting)} decisions are waiting, by the log {len(replay.waiting)}"
    stored, budgets = read_evidence(connection, row["id"], len(replay.names), replay.spec.max_budget)
    if np.any(budgets.bins != replay.budgets.bins):
        yield "the evidence of how long budgets lasted differs from the log's"
    off = np.argwhere(stored.bins != replay.evidence.bins)
    if off.size:
        arm = replay.names[int(off[0, 0])]
        yield f"{len(off)} numbers of the evidence differ from the log's, the first of arm {arm!r}"
    table = schema.retractions.c
    total = connection.execute(select(func.sum(table.reports)).where(table.allocator_id == row["id"])).scalar() or 0
    if total != replay.counts["retracted"]:
        yield f"retractions say that {total} reports were taken back, by the log {replay.counts['retracted']}"
    yield from replay.modes.differences(connection, row["id"])
    yield from replay.windows.differences(connection, row)
    yield from live_rounds(connection, row)
    if in_order(build_policy(replay.spec, resolved_arms(replay.spec), row["seed"])):
        yield from in_their_order(connection, row, replay.evidence, replay.modes.fold)


def _replay(connection: Connection, row: RowMapping, progress: Progress) -> _Replay:
    spec, arms = AllocatorSpec.model_validate_json(row["spec"]), arms_of(connection, row["id"])
    law = build_law(spec, [ArmSpec.model_validate_json(arm.spec) for arm in arms])
    names, whole = [arm.name for arm in arms], law.whole_arms(len(arms)).tolist()
    replay = _Replay(
        spec, names, whole, Evidence.empty(len(arms), spec.max_budget), Evidence.empty(1, spec.max_budget),
        {name: place for place, name in enumerate(names)},
        ModeCheck(connection, row, dict(zip(names, whole, strict=True))),
        WindowCheck(connection, row, spec, len(names)),
    )  # fmt: skip
    table = schema.imports.c
    imports = select(table.id, table.imported_at, table.evidence).where(table.allocator_id == row["id"])
    retracted_imports, retracted_pushes = retractions.retracted_evidence(connection, row["id"])
    for key, at, text in connection.execute(imports):
        if key in retracted_imports:
            continue
        try:
            body = EvidenceBody.model_validate_json(text)
            replay.add(evidence_of_body(body, replay.names, spec.max_budget), at)
        except HeadgateError as error:
            replay.wrong.append(f"import {key!r} cannot be read: {error}")
    for pushed in edges.pushed(connection, row["id"], replay.names, retracted_pushes):
        if isinstance(pushed, str):
            replay.wrong.append(pushed)
        else:
            replay.add(pushed[1], pushed[0])
    removed = _add_sums(connection, row, replay)
    version = 0
    for number, (decision, reports) in enumerate(_log(connection, row["id"])):
        if decision.round != number and not removed:
            replay.wrong.append(f"decision {decision.id!r} has round {decision.round}, expected {number}")
        replay.counts["decisions"] += 1
        if decision.version is not None:
            if not version <= decision.version <= row["config"]:
                words = f"expected {version} to {row['config']}"
                replay.wrong.append(f"decision {decision.id!r} is of version {decision.version}, {words}")
            version = max(version, decision.version)
        try:
            replay.follow(decision, reports)
        except (HeadgateError, KeyError) as error:
            replay.wrong.append(f"decision {decision.id!r} cannot be followed: {error}")
        if len(replay.rows) >= _ROWS:
            replay.flush()
            progress(row["name"], replay.counts["decisions"])
    replay.flush()
    progress(row["name"], replay.counts["decisions"])
    return replay


def _add_sums(connection: Connection, row: RowMapping, replay: _Replay) -> bool:
    """Begin with what rows have left that are gone; False: none is."""
    table = schema.sums
    rows = connection.execute(select(table).where(table.c.allocator_id == row["id"])).mappings().all()
    for one in rows:
        for counter in (
            "decisions",
            "reports",
            "retracted",
            "complete",
            "reward",
            "budget_units",
            "given_units",
            "late",
        ):
            replay.counts[counter] += one[counter]
        replay.modes.add(json.loads(one["modes"]))
        try:
            left = (("evidence", replay.evidence, replay.names), ("budgets", replay.budgets, ["budgets"]))
            for column, evidence, names in left:
                more = Evidence.from_dict(json.loads(one[column]), names)
                evidence.bins[...] += more.bins
                if one["windows"] is None:  # from before its evidence faded
                    replay.windows.add(replay.windows.at(0), more.bins, budgets=column == "budgets")
            replay.windows.add_cells(json.loads(one["windows"] or "[]"))
        except HeadgateError as error:
            replay.wrong.append(f"sum {one['number']} cannot be read: {error}")
    if len(rows) != row["removals"]:
        replay.wrong.append(f"rows have gone {row['removals']} times, there are {len(rows)} sums of them")
    return bool(rows)


def _log(connection: Connection, allocator_id: int) -> Iterator[tuple[LoggedDecision, list[Row[Any]]]]:
    """Go through the decisions in order, each with its reports."""
    decisions, reports = schema.decisions, schema.reports
    parts = (reports.c[name] for name in (
        "part", "results", "amounts", "spent", "recorded_at", "by_expiry", "place", "retracts",
    ))  # fmt: skip
    query = select(decisions, *parts).join_from(decisions, reports, isouter=True)
    query = query.where(decisions.c.allocator_id == allocator_id).order_by(decisions.c.round, reports.c.part)
    rows = connection.execute(query.execution_options(yield_per=_ROWS))
    for _, group in groupby(rows, key=lambda row: int(row.round)):
        first, *more = group
        decision = LoggedDecision.of_row(dict(zip(decisions.c.keys(), first, strict=False)))
        yield decision, [row for row in (first, *more) if row.part is not None]
