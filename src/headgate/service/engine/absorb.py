"""Absorbing a report: what is new in it is counted and written, a repeat changes nothing, a contradiction is refused.

Who calls it has locked the allocator: `queue.Ledger`, and `live_batch` for what came of a live round in all.
"""

from __future__ import annotations

from pydantic_core import to_json

from headgate.service.engine.batch import Batch
from headgate.service.engine.order import Part
from headgate.service.engine.records import TALLY, LoggedDecision, Results, short
from headgate.service.engine.requests import Report
from headgate.service.faults import ConflictError
from headgate.service.store import schema, statements


def absorb(batch: Batch, report: Report, decision: LoggedDecision) -> str:
    """Take a report of a decision: what is new in it is counted and written, a repeat changes nothing."""
    learner = batch.learners.get(decision.allocator_id)
    if learner is None:
        raise batch.why_closed(decision.allocator_id)
    row, reports = batch.rows[decision.allocator_id], batch.reports[decision.allocator_id, decision.round]
    now = max(batch.now, row["window_at"] or 0)
    amounts: dict[str, float] = {}
    if report.outcome is None:  # silence until the deadline says that every silent arm failed
        results: Results = dict.fromkeys(decision.silent(reports) or ())
        spent, late = None, False
    else:
        results, amounts = short(report.outcome, learner.spec.max_budget)
        spent, late = report.outcome.spent, decision.expires_at is not None and now > decision.expires_at
    try:
        new, all_amounts = decision.news(reports, results, amounts, spent)
    except ConflictError:
        row["contradictions"] += 1
        raise
    spent = spent if reports.spent is None else None
    new_amounts = {arm: amounts[arm] for arm in new if arm in amounts} if amounts else {}
    terms = learner.spec.reward == "cascade", schema.BUDGET_UNITS / learner.spec.max_budget
    before = after = decision.tally(reports, *terms)
    if new or spent is not None or report.ends_live:
        part = {
            "allocator_id": decision.allocator_id,
            "round": decision.round,
            "part": reports.parts,
            "results": to_json(new).decode(),  # in a fifth of the time that the standard library takes
            "amounts": to_json(new_amounts).decode() if new_amounts else None,
            "spent": spent,
            "recorded_at": now,
            "by_expiry": report.outcome is None or (report.ends_live and late),
            "place": row["reports"],
            "after": row["decisions"],
            "key_id": report.asker.key_id,
            "retracts": None,
        }
        lasted = None if spent is None else decision.lasted(spent)
        if learner.ordered:
            learner.learn(Part(new, all_amounts, lasted, decision.request))
        learner.count(all_amounts, new)
        if lasted is not None:
            learner.count_budget(*lasted)
        batch.write[statements.REPORTED].append(part)
        row["reports"] += 1
        row["late"] += late and not report.ends_live
        reports.add(new, new_amounts, spent)
        after = decision.tally(reports, *terms)
        for counter, had, has in zip(TALLY, before, after, strict=True):
            row[counter] += has - had
        if after[0] > before[0]:
            batch.write[statements.DONE].append(part)
            if decision.compared:
                batch.modes().completed(decision, reports.results, terms[0])
    elif report.outcome is not None:
        row["duplicates"] += 1
    answer = {
        "decision_id": decision.id,
        "accepted": sorted(new),
        "repeated": [arm for arm in results if arm not in new] if len(new) < len(results) else [],
        "complete": bool(after[0]),
        "late": late,
    }
    return to_json(answer).decode()
