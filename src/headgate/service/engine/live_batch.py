"""The live rounds of a batch: opened by a decision, reported step by step, ended by themselves or at their deadline."""

from __future__ import annotations

from typing import Any

from headgate.service.engine.absorb import absorb
from headgate.service.engine.batch import Batch
from headgate.service.engine.live import Playing
from headgate.service.engine.records import LoggedDecision, Reports, check_corrected
from headgate.service.engine.requests import Decide, LiveStep, Report
from headgate.service.faults import ConflictError, NotFoundError
from headgate.service.store import statements


def open_round(batch: Batch, decision: LoggedDecision, playing: Playing, request: Decide) -> str:
    """Store a live round that begins, and hand out its first step."""
    data, text = playing.data(), playing.answer(decision.id)
    done = playing.round.done
    row = {"allocator_id": decision.allocator_id, "round": decision.round, "data": data, "answer": text,
           "steps": 0, "done": done}  # fmt: skip
    batch.live[decision.name] = row
    batch.write[statements.OPENED].append(dict(row))
    batch.write[statements.WAIT].append({**row, "expires_at": decision.expires_at})
    batch.reports[decision.allocator_id, decision.round] = Reports()
    batch.playing[decision.name] = playing
    if done:
        absorb(batch, Report(decision.id, playing.outcome(), ends_live=True, asker=request.asker), decision)
    return text


def again(batch: Batch, decision: LoggedDecision) -> str:
    """Return what was answered when a live round began."""
    return str(_row(batch, decision)["answer"])


def _row(batch: Batch, decision: LoggedDecision) -> dict[str, Any]:
    """Return the row of a live round, as this batch will leave it."""
    if decision.name not in batch.live:
        here = {"allocator_id": decision.allocator_id, "round": decision.round}
        (batch.live[decision.name],) = statements.LIVE.rows(batch.connection, **here)
    return batch.live[decision.name]


def _playing(batch: Batch, decision: LoggedDecision) -> Playing:
    """Return a live round where it stands: from memory, or by following its reports."""
    row = _row(batch, decision)
    playing = batch.playing.get(decision.name) or batch.memory.playing.pop(decision.name, None)
    if playing is None or playing.steps != row["steps"]:
        here = {"allocator_id": decision.allocator_id, "round": decision.round}
        playing = Playing.of_row(row, statements.LIVE_STEPS.rows(batch.connection, **here))
    batch.playing[decision.name] = playing
    return playing


def go_on(batch: Batch, step: LiveStep, decision: LoggedDecision) -> str:
    """Take the report of a step of a live round, and hand out the next."""
    if not decision.live:
        raise NotFoundError(f"there is no live round {step.decision_id!r}")
    if decision.allocator_id not in batch.learners:
        raise batch.why_closed(decision.allocator_id)
    row, result = _row(batch, decision), step.report.model_dump()
    here = {"allocator_id": decision.allocator_id, "round": decision.round}
    if step.number < row["steps"]:
        new = [s for s in batch.write[statements.STEPPED] if (s["allocator_id"], s["round"]) == tuple(here.values())]
        before = [*statements.LIVE_STEPS.rows(batch.connection, **here), *new][step.number]
        if any(before[name] != value for name, value in result.items()):
            batch.rows[decision.allocator_id]["contradictions"] += 1
            raise ConflictError(f"step {step.number} of live round {decision.id!r} was reported otherwise before")
        batch.rows[decision.allocator_id]["duplicates"] += 1
        return str(before["answer"])
    if row["done"] or step.number > row["steps"]:
        words = "it is over" if row["done"] else f"the next is {row['steps']}"
        raise ConflictError(f"step {step.number} of live round {decision.id!r} was not handed out: {words}")
    playing = _playing(batch, decision)
    playing.report(step.report)
    text = playing.answer(decision.id)
    batch.write[statements.STEPPED].append(
        {**here, "step": step.number, **result, "answer": text, "recorded_at": batch.now, "key_id": step.asker.key_id}
    )
    row["steps"], row["done"] = playing.steps, playing.round.done
    batch.write[statements.MOVED].append(dict(row))
    if playing.round.done:
        absorb(batch, Report(decision.id, playing.outcome(), ends_live=True, asker=step.asker), decision)
    return text


def report_in_all(batch: Batch, report: Report, decision: LoggedDecision) -> str:
    """Take the silence until the deadline of a live round, which ends it, or its outcome once that was taken back."""
    learner, reports = batch.learners.get(decision.allocator_id), batch.reports[decision.allocator_id, decision.round]
    if learner is None:
        raise batch.why_closed(decision.allocator_id)
    if report.outcome is not None and reports.parts and not reports.valid:
        check_corrected(report.outcome, learner.position)
        return absorb(batch, report, decision)
    if report.outcome is not None:
        raise ConflictError(f"decision {decision.id!r} is a live round: report its steps")
    row, playing = _row(batch, decision), _playing(batch, decision)
    if row["done"]:
        return ""
    playing.round.stop()
    row["done"] = True
    batch.write[statements.MOVED].append(dict(row))
    return absorb(batch, Report(decision.id, playing.outcome(), ends_live=True), decision)
