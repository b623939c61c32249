"""Taking back what was reported: by a key, in a time, or both. Evidence follows exactly, for whole numbers subtract.

The log is only added to: a report that is taken back gets a row that says so, word for word, and imports and pushes of
edges are named by the retraction. What was chosen is chosen once: the same id again changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select

from headgate.evidence import Evidence
from headgate.service import clock
from headgate.service.bodies import EvidenceBody
from headgate.service.engine.learner import Learner
from headgate.service.engine.modes import ModeSums
from headgate.service.engine.records import TALLY, LoggedDecision, Reports
from headgate.service.engine.windows import WindowCells, turn
from headgate.service.faults import ConflictError
from headgate.service.record_bodies import RetractionAnswer, RetractionItem, RetractionRequest, Retractions
from headgate.service.store import schema, statements
from headgate.service.store.audit import note
from headgate.service.store.database import write
from headgate.service.store.keys import ANYBODY, Asker
from headgate.service.store.rows import row_of

_ROUNDS = 500  # whose reports are read at once


def retract(
    connection: Connection, actor: str, name: str, key: str, body: RetractionRequest, asker: Asker = ANYBODY
) -> RetractionAnswer:
    """Take back what was reported to an allocator, once for each id of a retraction."""
    allocator, table, now = row_of(connection, name, lock=True), schema.retractions, clock.now()
    mine = table.c.allocator_id == allocator["id"]
    before = connection.execute(select(table).where(mine, table.c.id == key)).mappings().first()
    if before is not None:
        if RetractionRequest.model_validate_json(before["request"]) != body:
            raise ConflictError(f"retraction {key!r} was made with another body")
        return RetractionAnswer.model_validate(_answer(before) | {"repeated": True})
    learner = Learner(connection, allocator)
    row = dict(allocator) | turn(connection, learner, allocator, now)
    now = max(now, row["window_at"] or 0)
    window_cells = WindowCells.of(connection, learner)
    first, trials, modes = row["reports"], 0, ModeSums(connection)
    report_keys = {
        (one, part) for one, part in _selection(connection, schema.reports, allocator["id"], body, ("round", "part"))
    }
    for page in _pages(sorted({one for one, _ in report_keys})):
        trials += _take_back(connection, row, learner, page, report_keys, now, asker, modes, window_cells)
    imports = [one for (one,) in _selection(connection, schema.imports, allocator["id"], body, ("id",))]
    pushes = [list(one) for one in _selection(connection, schema.pushes, allocator["id"], body, ("edge", "number"))]
    for at, text in _evidence(connection, allocator["id"], imports, pushes):
        more = Evidence.from_dict(EvidenceBody.model_validate_json(text).model_dump(), learner.names)
        learner.add(more.bins)
        window_cells.add_evidence(at, more)
        trials += int(more.trials.sum())
    learner.take_back()
    write(connection, learner.settle(), statements.IN_THIS_ORDER)
    if sums := modes.rows():
        statements.KEEP_MODE.each(connection, sums)
    row["seq"] = learner.seq
    window_cells.take(connection, row)
    statements.COUNT.each(connection, [row | {"key": row["id"]}])
    connection.execute(delete(schema.states).where(schema.states.c.allocator_id == row["id"]))  # it is learned again
    number = len(connection.execute(select(table.c.number).where(mine)).all())
    retraction = {
        "allocator_id": row["id"], "number": number, "id": key, "request": body.model_dump_json(),
        "reports": row["reports"] - first, "trials": trials, "imports": json.dumps(imports),
        "pushes": json.dumps(pushes), "place": first, "after": row["decisions"], "made_at": now, "key_id": asker.key_id,
    }  # fmt: skip
    connection.execute(insert(table).values(retraction))
    answer = RetractionAnswer.model_validate(_answer(retraction) | {"repeated": False})
    counts = {"reports": answer.reports, "imports": len(imports), "pushes": len(pushes), "trials": trials}
    note(connection, actor, "retract", name, {"retraction": key, **json.loads(retraction["request"]), **counts})
    return answer


def retractions(connection: Connection, name: str) -> Retractions:
    """Return what was taken back of an allocator, the first retraction first."""
    table, row = schema.retractions, row_of(connection, name)
    query = select(table).where(table.c.allocator_id == row["id"]).order_by(table.c.number)
    return Retractions(
        retractions=[
            RetractionItem.model_validate(_answer(one) | {"repeated": False, "request": json.loads(one["request"])})
            for one in connection.execute(query).mappings()
        ]
    )


def retracted_evidence(
    connection: Connection, allocator_id: int, after: int = -1
) -> tuple[set[str], set[tuple[str, int]]]:
    """Return the imports and the pushes that were taken back, by retractions after so many decisions."""
    table = schema.retractions.c
    here = table.allocator_id == allocator_id, table.after > after
    imports: set[str] = set()
    pushes: set[tuple[str, int]] = set()
    for some, more in connection.execute(select(table.imports, table.pushes).where(*here)):
        imports.update(json.loads(some))
        pushes.update((edge, number) for edge, number in json.loads(more))
    return imports, pushes


def pushed_later(connection: Connection, allocator_id: int, after: int) -> Iterator[tuple[int, str]]:
    """Return when evidence came from elsewhere after so many decisions, and what, taken back or not."""
    for table, time in ((schema.imports, "imported_at"), (schema.pushes, "pushed_at")):
        mine = table.c.allocator_id == allocator_id, table.c.after > after
        yield from map(tuple, connection.execute(select(table.c[time], table.c.evidence).where(*mine)))


def retracted_later(connection: Connection, allocator_id: int, after: int) -> Iterator[tuple[int, str]]:
    """Return the evidence from elsewhere that was taken back after so many decisions, and when it had come."""
    imports, pushes = retracted_evidence(connection, allocator_id, after)
    return _evidence(connection, allocator_id, sorted(imports), sorted(pushes))


def _selection(
    connection: Connection, table: Table, allocator_id: int, body: RetractionRequest, columns: tuple[str, ...]
) -> list[Sequence[Any]]:
    """Return the rows that a retraction asks for and that were not taken back before."""
    time = {"reports": "recorded_at", "imports": "imported_at", "pushes": "pushed_at"}[table.name]
    query = select(*(table.c[name] for name in columns)).where(table.c.allocator_id == allocator_id)
    query = query.where(*_conditions(table, time, body))
    if table is schema.reports:
        others = table.alias()
        same = others.c.allocator_id == table.c.allocator_id, others.c.round == table.c.round
        retraction = select(others.c.part).where(*same, others.c.retracts == table.c.part)
        query = query.where(table.c.retracts.is_(None), ~retraction.exists())
        return [tuple(row) for row in connection.execute(query)]
    before = retracted_evidence(connection, allocator_id)[table is schema.pushes]
    rows = (tuple(row) for row in connection.execute(query.order_by(*(table.c[name] for name in columns))))
    return [row for row in rows if (row if len(row) > 1 else row[0]) not in before]


def _conditions(table: Table, time: str, body: RetractionRequest) -> Iterator[Any]:
    if body.key is not None:
        yield table.c.key_id == body.key
    if body.since is not None:
        yield table.c[time] >= clock.of(body.since)
    if body.until is not None:
        yield table.c[time] < clock.of(body.until)


def _take_back(
    connection: Connection,
    row: dict[str, Any],
    learner: Learner,
    rounds: Sequence[int],
    report_keys: set[tuple[int, int]],
    now: int,
    asker: Asker,
    modes: ModeSums,
    window_cells: WindowCells,
) -> int:
    """Take back the reports of these keys, (round, part), in some rounds; return how many results they had."""
    table, decision_table = schema.reports, schema.decisions
    mine = decision_table.c.allocator_id == row["id"], decision_table.c.round.in_(rounds)
    decisions = {
        one["round"]: LoggedDecision.of_row(one)
        for one in connection.execute(select(decision_table).where(*mine)).mappings()
    }
    mine = table.c.allocator_id == row["id"], table.c.round.in_(rounds)
    every = connection.execute(select(table).where(*mine).order_by(table.c.round, table.c.part)).mappings().all()
    rows: list[dict[str, Any]] = []
    waiting: list[dict[str, Any]] = []
    terms = learner.spec.reward == "cascade", schema.BUDGET_UNITS / learner.spec.max_budget
    trials = 0
    for number, group in groupby(every, key=lambda one: int(one["round"])):
        decision, parts, reports = decisions[number], list(group), Reports()
        retracted = {part["retracts"] for part in parts}
        for part in parts:
            take = reports.add if part["retracts"] is None else reports.take_back
            take(json.loads(part["results"]), json.loads(part["amounts"] or "{}"), part["spent"])
        before, spent, results_before = decision.tally(reports, *terms), reports.spent, dict(reports.results)
        without_spent = False
        for part in parts:
            if part["retracts"] is not None or part["part"] in retracted:
                continue
            if (number, part["part"]) not in report_keys and not without_spent:
                continue
            without_spent = without_spent or part["spent"] is not None  # what comes after it means nothing alone
            results, amounts, own = json.loads(part["results"]), json.loads(part["amounts"] or "{}"), part["spent"]
            learner.count(decision.amounts(spent) | amounts, results)
            lasted = None if own is None else decision.lasted(own)
            if lasted is not None:
                learner.count_budget(*lasted)
            window_cells.add(part["recorded_at"], decision.amounts(spent) | amounts, results, lasted)
            late = decision.expires_at is not None and part["recorded_at"] > decision.expires_at
            row["late"] -= late and not part["by_expiry"]
            rows.append({
                **part, "part": reports.parts, "recorded_at": now, "by_expiry": False, "place": row["reports"],
                "after": row["decisions"], "key_id": asker.key_id, "retracts": part["part"],
            })  # fmt: skip
            row["reports"] += 1
            trials += len(results)
            reports.take_back(results, amounts, own)
        after = decision.tally(reports, *terms)
        for counter, had, has in zip(TALLY, before, after, strict=True):
            row[counter] += has - had
        if before[0] > after[0] and decision.compared:
            modes.completed(decision, results_before, terms[0], -1)
        if not after[0]:
            deadline = None if decision.live else clock.after(now, learner.spec.feedback_deadline)
            waiting.append({"allocator_id": row["id"], "round": number, "expires_at": deadline})
    if rows:
        statements.REPORTED.each(connection, rows)
    if waiting:  # again, or longer: a corrected report may come
        statements.DONE.each(connection, waiting)
        statements.WAIT.each(connection, waiting)
    return trials


def _evidence(
    connection: Connection, allocator_id: int, imports: Sequence[str], pushes: Sequence[Sequence[Any]]
) -> Iterator[tuple[int, str]]:
    """Return imports and pushes: when they came, and their evidence."""
    table = schema.imports.c
    for key in imports:
        here = table.allocator_id == allocator_id, table.id == key
        yield tuple(connection.execute(select(table.imported_at, table.evidence).where(*here)).one())
    other = schema.pushes.c
    for edge, number in pushes:
        this = other.allocator_id == allocator_id, other.edge == edge, other.number == number
        yield tuple(connection.execute(select(other.pushed_at, other.evidence).where(*this)).one())


def _pages(rounds: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(rounds), _ROUNDS):
        yield rounds[start : start + _ROUNDS]


def _answer(row: Any) -> dict[str, Any]:
    return {
        "retraction_id": row["id"],
        "reports": row["reports"],
        "imports": json.loads(row["imports"]),
        "pushes": [{"edge": edge, "number": number} for edge, number in json.loads(row["pushes"])],
        "trials": row["trials"],
        "made_at": clock.as_text(row["made_at"]),
    }
