"""Rows that go: after their time, or with their subject. What they had added to evidence and counters is left as a sum.

Decisions that wait for reports stay: only those go by time that are over, or whose deadline is as long ago. A policy
that depends on the order of its feedback needs its whole log, so nothing of that goes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Literal

from sqlalchemy import Connection, delete, insert, select, update

from headgate.errors import InputError, UnsupportedError
from headgate.service import clock
from headgate.service.engine.changes import refuse_in_order
from headgate.service.engine.learner import Learner
from headgate.service.engine.modes import ModeSum, ModeSums, terms_of, values_of, worth_of
from headgate.service.engine.order import in_order
from headgate.service.engine.records import TALLY, LoggedDecision, Reports
from headgate.service.engine.windows import WindowCells
from headgate.service.record_bodies import RemovalAnswer
from headgate.service.spec import AllocatorSpec, build_policy, resolved_arms
from headgate.service.store import schema, statements
from headgate.service.store.audit import note
from headgate.service.store.database import write
from headgate.service.store.rows import row_of

PAGE = 1_000
"""Decisions that go in one transaction."""
_DAY = 86_400_000_000
_WHOLE_LOG = "it needs its whole log"
#: Those that refer to others first.
_OF_ROUNDS = (
    schema.live_steps, schema.live, schema.reasons, schema.waiting, schema.reports, schema.decisions,
)  # fmt: skip


def kept_for_a_time(connection: Connection, usual: float | None = None) -> list[str]:
    """Return the names of the allocators whose rows go some day: with a `usual` time, all that can do without."""
    table = schema.allocators.c
    names = []
    for name, text in connection.execute(select(table.name, table.spec).order_by(table.name)):
        spec = AllocatorSpec.model_validate_json(text)
        if spec.keep_days is not None or (usual is not None and not _needs_its_log(spec)):
            names.append(name)
    return names


def _needs_its_log(spec: AllocatorSpec) -> bool:
    try:
        return in_order(build_policy(spec, resolved_arms(spec), 0))
    except (InputError, UnsupportedError):  # of another version: it is left alone
        return True


def fold(connection: Connection, name: str, usual: float | None = None) -> int:
    """Let a page of decisions become their sum whose time is over; return how many: fewer than a page is the last.

    Their time is the allocator's `keep_days`, or the `usual` days.
    """
    row = row_of(connection, name, lock=True)
    own = AllocatorSpec.model_validate_json(row["spec"]).keep_days
    days = usual if own is None else own
    if days is None:
        return 0
    decisions, waiting, cutoff = schema.decisions.c, schema.waiting.c, clock.now() - round(days * _DAY)
    waiting_for_reports = select(waiting.round).where(
        waiting.allocator_id == decisions.allocator_id,
        waiting.round == decisions.round,
        waiting.expires_at.is_(None) | (waiting.expires_at >= cutoff),
    )
    old = decisions.allocator_id == row["id"], decisions.created_at < cutoff, ~waiting_for_reports.exists()
    rounds = (
        connection.execute(select(decisions.round).where(*old).order_by(decisions.round).limit(PAGE)).scalars().all()
    )
    if rounds:
        _remove(connection, dict(row), rounds, keep=True)
    pushes = schema.pushes
    due = pushes.c.allocator_id == row["id"], pushes.c.pushed_at < cutoff, pushes.c.emptied_at.is_(None)
    connection.execute(update(pushes).where(*due).values(decisions="[]", emptied_at=clock.now()))
    return len(rounds)


def forget(
    connection: Connection, actor: str, name: str, subject: str, evidence: Literal["keep", "subtract"]
) -> RemovalAnswer:
    """Remove every row of a subject; what was learned of it stays in the sums, or is subtracted from them."""
    row, decisions = row_of(connection, name, lock=True), schema.decisions.c
    refuse_in_order(Learner(connection, row).policy, _WHOLE_LOG)
    mine = select(decisions.round).where(decisions.allocator_id == row["id"], decisions.subject == subject)
    rounds = connection.execute(mine.order_by(decisions.round)).scalars().all()
    for start in range(0, len(rounds), PAGE):
        row = row_of(connection, name, lock=True)
        _remove(connection, dict(row), rounds[start : start + PAGE], keep=evidence == "keep")
    if rounds:  # not whose they were: that is what is to be forgotten
        note(connection, actor, "forget a subject", name, {"decisions": len(rounds), "evidence": evidence})
    return RemovalAnswer(decisions=len(rounds), evidence=evidence)


def _remove(connection: Connection, row: dict[str, Any], rounds: Sequence[int], keep: bool) -> None:
    """Remove decisions with all that belongs to them, and leave their sum; or subtract it, unless it is to be kept."""
    learner = Learner(connection, row)
    refuse_in_order(learner.policy, _WHOLE_LOG)
    window_cells = WindowCells.of(connection, learner)
    sums, modes = _sums(connection, row, learner, rounds, window_cells, None if keep else ModeSums(connection))
    windows = window_cells.text() if keep else None
    if not keep:
        for counter in (*TALLY, "late"):
            row[counter] -= sums[counter]
            sums[counter] = 0
        learner.take_back()
        write(connection, learner.settle(), statements.IN_THIS_ORDER)
        row["seq"] = learner.seq
        window_cells.take(connection, row)
        statements.COUNT.each(connection, [row | {"key": row["id"]}])
    arms, budgets = learner.deltas()
    for table in _OF_ROUNDS:
        connection.execute(delete(table).where(table.c.allocator_id == row["id"], table.c.round.in_(rounds)))
    connection.execute(
        insert(schema.sums).values(
            allocator_id=row["id"],
            number=row["removals"],
            evidence=json.dumps(arms.to_dict(learner.names)),
            budgets=json.dumps(budgets.to_dict(["budgets"])),
            modes=json.dumps(modes),
            windows=windows,
            made_at=clock.now(),
            **sums,
        )
    )
    table = schema.allocators
    connection.execute(update(table).where(table.c.id == row["id"]).values(removals=row["removals"] + 1))


def _sums(
    connection: Connection,
    row: dict[str, Any],
    learner: Learner,
    rounds: Sequence[int],
    window_cells: WindowCells,
    mode_sums: ModeSums | None,
) -> tuple[dict[str, int], list[list[Any]]]:
    """Let a learner gather the evidence of some decisions; return what they have added to counters and to modes.

    What came of those that are compared is subtracted from the sums of their modes, if these are given.
    """
    removed: dict[tuple[int, str], ModeSum] = {}
    decisions, table = schema.decisions, schema.reports
    sums = dict.fromkeys(("reports", "retracted", *TALLY, "late", "after"), 0) | {"decisions": len(rounds)}
    terms = learner.spec.reward == "cascade", schema.BUDGET_UNITS / learner.spec.max_budget
    here = table.c.allocator_id == row["id"], table.c.round.in_(rounds)
    every = connection.execute(select(table).where(*here).order_by(table.c.round, table.c.part)).mappings().all()
    parts = {number: list(group) for number, group in groupby(every, key=lambda one: int(one["round"]))}
    mine = decisions.c.allocator_id == row["id"], decisions.c.round.in_(rounds)
    for one in connection.execute(select(decisions).where(*mine)).mappings().all():
        decision, reports, own = LoggedDecision.of_row(one), Reports(), parts.get(one["round"], [])
        retracted = {part["retracts"] for part in own}
        for part in own:
            sums["reports"] += part["place"] is not None
            sums["after"] = max(sums["after"], part["after"] or 0)
            sums["retracted"] += part["retracts"] is not None
            if part["retracts"] is not None or part["part"] in retracted:
                reports.parts += 1
                continue
            results, amounts = json.loads(part["results"]), json.loads(part["amounts"] or "{}")
            reports.add(results, amounts, part["spent"])
            lasted = None if part["spent"] is None else decision.lasted(part["spent"])
            learner.count(decision.amounts(reports.spent) | amounts, results)
            if lasted is not None:
                learner.count_budget(*lasted)
            window_cells.add(part["recorded_at"], decision.amounts(reports.spent) | amounts, results, lasted)
            late = decision.expires_at is not None and part["recorded_at"] > decision.expires_at
            sums["late"] += late and not part["by_expiry"]
        tally = decision.tally(reports, *terms)
        for counter, has in zip(TALLY, tally, strict=True):
            sums[counter] += has
        if decision.compared:
            key = decision.version or 0, decision.mode or ""
            mode_sum = removed.setdefault(key, ModeSum(row["id"], *key))
            mode_sum.decisions += 1
            if tally[0] and mode_sums is not None:
                mode_sums.completed(decision, reports.results, terms[0], -1)
            elif tally[0]:
                values = values_of(terms_of(connection, row["id"], key[0]))
                mode_sum.add(worth_of(decision, reports.results, values, terms[0]))
    if mode_sums is not None and (rows := mode_sums.rows()):
        statements.KEEP_MODE.each(connection, rows)
    columns = ("version", "mode", "decisions", "complete", "worth", "squares")
    return sums, [[one.row()[name] for name in columns] for one in removed.values()]
