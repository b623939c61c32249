"""Deciding: the answer that was given for an id before, or a new one, which is written before it leaves."""

from __future__ import annotations

import json
import secrets
from typing import Any

from pydantic_core import to_json

from headgate.service import clock
from headgate.service.bodies import LiveRequest
from headgate.service.engine.batch import Batch
from headgate.service.engine.live_batch import again, open_round
from headgate.service.engine.modes import Split
from headgate.service.engine.records import TALLY, LoggedDecision, Reports
from headgate.service.engine.requests import Decide
from headgate.service.faults import ConflictError, NotFoundError, RefusedError
from headgate.service.store import schema, statements

MOST_WORK = 20_000
"""Decisions times arms that one call may ask for: about half a second of work."""


def decide(batch: Batch, request: Decide) -> str:
    """Return the text of a decision: that which was made for its id before, or a new one."""
    key, body = batch.ids.get(request.allocator), request.request
    if key is None:
        raise batch.busy.get(request.allocator) or NotFoundError(f"there is no allocator {request.allocator!r}")
    text = body.model_dump_json(exclude={"decision_id"}, exclude_defaults=True)
    before = batch.decisions.get((request.allocator, body.decision_id or ""))
    live = isinstance(body, LiveRequest)
    if live:
        text = json.dumps({"live": True} | json.loads(text))
    if before is not None:
        if _meaning(before.request) != _meaning(text):
            raise ConflictError(f"decision {before.id!r} was asked for with another body")
        batch.rows[key]["duplicates"] += 1
        return again(batch, before) if live else before.answer
    row, learner = batch.rows[key], batch.learners.get(key)
    if learner is None:
        raise batch.closed[key]
    if request.together * len(learner.active) > MOST_WORK:
        raise RefusedError(
            f"decisions times arms must be at most {MOST_WORK} in one call, got {request.together} for "
            f"{len(learner.active)} arms",
            "decisions",
        )
    if row["archived_at"] is not None:
        raise ConflictError(f"allocator {request.allocator!r} is archived: it makes no more decisions")
    if body.step is not None and (body.budget is not None or not body.switching):
        raise RefusedError("step is only for a budget that is not known, and with switching", "step")
    if body.budget is not None and not body.switching and not live:
        raise RefusedError("switching is only for a budget that is not known", "switching")
    allocation: dict[str, float] | None = None
    steps, live_round, turn = None, None, row["decisions"]
    split = Split({})
    if isinstance(body, LiveRequest):
        learner.refuse_as_it_goes("body")
        allocation, live_round = {}, learner.open(body, turn)
    elif body.budget is None:
        learner.refuse_as_it_goes("budget")
        steps = learner.schedule(body, turn) if body.switching else learner.plan(body, turn)
    else:
        split = learner.allocate(body, turn)
        allocation = split.allocation
    name = body.decision_id or f"{batch.now:014x}-{secrets.token_hex(6)}"  # in the order of time, for the index
    deadline = learner.spec.feedback_deadline
    expires_at = None if deadline is None else batch.now + round(deadline * 1e6)
    answer = {
        "decision_id": name,
        "allocator": request.allocator,
        "budget": body.budget,
        "allocation": allocation,
        "schedule": None if steps is None else [{"arm": arm, "amount": amount} for arm, amount in steps],
        "version": row["config"],
        "mode": split.mode,
        "probability": split.probability,
        "policy_allocation": split.policy_allocation,
        "created_at": clock.as_text(batch.now),
        "expires_at": clock.as_text(expires_at),
    }
    logged = {
        "id": name,
        "allocator_id": key,
        "round": row["decisions"],
        "budget": body.budget,
        "request": text,
        "answer": to_json(answer).decode(),  # once: asked again, it is the same
        "created_at": batch.now,
        "expires_at": expires_at,
    }
    decision = LoggedDecision(
        **logged, allocator=request.allocator, allocation=allocation, steps=steps, live=live, version=row["config"],
        mode=split.mode, probability=split.probability, policy_allocation=split.policy_allocation,
        compared=split.mode != "policy" or split.probability < 1.0,
    )  # fmt: skip
    batch.decisions[request.allocator, name] = batch.new_decisions[request.allocator, name] = decision
    if decision.compared:
        batch.modes().decided(decision)
    batch.write[statements.DECIDED].append({**logged, "key_id": request.asker.key_id, "subject": body.subject})
    if allocation and learner.reason is not None:
        batch.write[statements.REASON].append({**logged, "data": learner.reason})
    if live_round is not None:
        row["decisions"] += 1
        return open_round(batch, decision, live_round, request)
    if allocation is None or any(allocation.values()):
        batch.write[statements.WAIT].append(logged)
    else:  # nobody got anything: there is nothing to be reported
        scale = schema.BUDGET_UNITS / learner.spec.max_budget
        for counter, has in zip(TALLY, decision.tally(Reports(), False, scale), strict=True):
            row[counter] += has
        if decision.compared:
            batch.modes().completed(decision, {}, learner.spec.reward == "cascade")
    row["decisions"] += 1
    return decision.answer


def _meaning(request: str) -> dict[str, Any]:
    """Return what a stored request says; older ones name what they leave open."""
    fields = json.loads(request)
    return {name: value for name, value in fields.items() if value is not None and (name, value) != ("switching", True)}
