"""What can be read of the state: allocators, estimates, history, evidence. Nothing here writes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sqlalchemy import Connection, RowMapping, func, select

from headgate.estimators import Estimate, likelihood
from headgate.service import bodies, clock, view_bodies
from headgate.service.beliefs import best_by
from headgate.service.engine.cells import read_evidence
from headgate.service.engine.learner import Learner
from headgate.service.engine.records import LoggedDecision, Reports, in_full, read_reports, the_one
from headgate.service.store import schema
from headgate.service.store.keys import ANYBODY, Asker
from headgate.service.store.rows import arms_of, row_of


def allocator(connection: Connection, name: str) -> view_bodies.Allocator:
    """Return an allocator as it stands."""
    return _allocator(connection, row_of(connection, name))


def allocators(connection: Connection, asker: Asker = ANYBODY) -> list[view_bodies.Allocator]:
    """Return all allocators that exist for who asks, by name."""
    table = schema.allocators
    rows = connection.execute(select(table).order_by(table.c.name)).mappings().all()
    return [_allocator(connection, row) for row in rows if asker.sees(row["name"])]


def _allocator(connection: Connection, row: RowMapping) -> view_bodies.Allocator:
    return view_bodies.Allocator.model_validate(
        {
            "name": row["name"],
            "spec": json.loads(row["spec"]),
            "arms": [
                json.loads(arm.spec) | {"retired_at": clock.as_text(arm.retired_at)}
                for arm in arms_of(connection, row["id"])
            ],
            "seed": row["seed"],
            "version": row["config"],
            "created_at": clock.as_text(row["created_at"]),
            "archived_at": clock.as_text(row["archived_at"]),
            "counts": counts(connection, row),
        }
    )


def counts(connection: Connection, row: RowMapping) -> view_bodies.Counts:
    """Return what became of an allocator's decisions."""
    waiting, unit = schema.waiting, json.loads(row["spec"])["max_budget"] / schema.BUDGET_UNITS
    number = select(func.count()).select_from(waiting).where(waiting.c.allocator_id == row["id"])
    expired = connection.execute(number.where(waiting.c.expires_at < clock.now())).scalar_one()
    same = ("decisions", "complete", "late", "duplicates", "contradictions", "reward")
    return view_bodies.Counts(
        **{name: row[name] for name in same},
        pending=max(connection.execute(number).scalar_one() - expired, 0),
        expired=expired,
        budget=row["budget_units"] * unit,
        given=row["given_units"] * unit,
    )


def estimates(
    connection: Connection, name: str, budget: float | None = None, level: float = 0.9
) -> view_bodies.Estimates:
    """Return what is known of every arm in use, and the best allocation by it."""
    learner = Learner(connection, row_of(connection, name))
    evidence, most = learner.state.evidence, learner.spec.max_budget
    amount = most if budget is None else min(budget, most)
    with np.errstate(all="ignore"):  # arms of which nothing is known have infinite intervals
        estimate = likelihood(learner.law, evidence, level=level)
        best = best_by(learner, estimate, amount)
    # An arm whose shape is known has none to show: NaN.
    shapes = np.full(len(estimate.rate), np.nan) if estimate.shape is None else estimate.shape
    ends = np.full((len(shapes), 2), np.nan) if estimate.shape_interval is None else estimate.shape_interval
    whole, words = learner.evidence, knowledge(estimate)
    trials, won = whole.trials[learner.active], whole.successes[learner.active]
    faded = (None, None) if learner.fading is None else (evidence.trials, evidence.successes)
    return view_bodies.Estimates(
        allocator=name,
        level=level,
        arms=[
            view_bodies.ArmEstimate.model_validate(
                {
                    "arm": arm,
                    "known": words[i],
                    "activation": float(estimate.activation[i]),
                    "activation_interval": estimate.activation_interval[i].tolist(),
                    "rate": float(estimate.rate[i]),
                    "rate_interval": [_finite(v) for v in estimate.rate_interval[i]],
                    "shape": _finite(shapes[i]),
                    "shape_interval": None if np.isnan(shapes[i]) else ends[i].tolist(),
                    "trials": int(trials[i]),
                    "successes": int(won[i]),
                    "weighted_trials": None if faded[0] is None else float(faded[0][i]),
                    "weighted_successes": None if faded[1] is None else float(faded[1][i]),
                }
            )
            for i, arm in enumerate(learner.active_names)
        ],
        budget=amount,
        best=dict(zip(learner.active_names, best.x.tolist(), strict=True)),
        value=float(best.value),
        gap=float(best.gap),
    )


def knowledge(estimate: Estimate) -> list[str]:
    """Say of each arm what is known."""
    return [word.replace("not yet", "not identified yet") for word in estimate.describe()]


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def evidence(connection: Connection, name: str) -> bodies.EvidenceBody:
    """Return all that has been seen, as `import` takes it."""
    row = row_of(connection, name)
    names = [arm.name for arm in arms_of(connection, row["id"])]
    evidence, _ = read_evidence(connection, row["id"], len(names), json.loads(row["spec"])["max_budget"])
    return bodies.EvidenceBody.model_validate(evidence.to_dict(names))


def history(connection: Connection, name: str, before: int | None, limit: int) -> view_bodies.History:
    """Return a page of decisions, newest first, with what was reported of them."""
    row, table = row_of(connection, name), schema.decisions
    query = select(table).where(table.c.allocator_id == row["id"])
    if before is not None:
        query = query.where(table.c.round < before)
    rows = connection.execute(query.order_by(table.c.round.desc()).limit(limit)).mappings().all()
    reports = {(row["allocator_id"], row["round"]): Reports() for row in rows}
    if reports:
        read_reports(connection, reports)
    items = [_item(row, reports[row["allocator_id"], row["round"]]) for row in rows]
    return view_bodies.History(items=items, next_before=rows[-1]["round"] if len(rows) == limit else None)


def decisions(connection: Connection, name: str, after: int | None, limit: int) -> view_bodies.DecisionLog:
    """Return a page of decisions, oldest first, with what was reported of them."""
    row, table = row_of(connection, name), schema.decisions
    query = select(table).where(table.c.allocator_id == row["id"])
    if after is not None:
        query = query.where(table.c.round > after)
    rows = connection.execute(query.order_by(table.c.round).limit(limit)).mappings().all()
    reports = {(one["allocator_id"], one["round"]): Reports() for one in rows}
    if rows:
        read_reports(connection, reports)
    items = [_item(one, reports[one["allocator_id"], one["round"]]) for one in rows]
    return view_bodies.DecisionLog(items=items, next_after=rows[-1]["round"] if len(rows) == limit else None)


def decision_row(
    connection: Connection, decision_id: str, name: str | None, asker: Asker, what: str = "decision"
) -> RowMapping:
    """Return the row of a decision: of the allocator named, or the only one of that id that exists for who asks."""
    table, owners = schema.decisions, schema.allocators
    query = select(table, owners.c.name.label("owner")).join_from(table, owners).where(table.c.id == decision_id)
    if what == "live round":
        query = query.join(schema.live)
    if name is not None:
        query = query.where(owners.c.name == name)
    rows = {row["owner"]: row for row in connection.execute(query).mappings() if asker.sees(row["owner"])}
    return rows[the_one(decision_id, rows, what)]


def decision(
    connection: Connection, decision_id: str, name: str | None = None, asker: Asker = ANYBODY
) -> view_bodies.HistoryItem:
    """Return one decision with what was reported of it."""
    row = decision_row(connection, decision_id, name, asker)
    read_reports(connection, {(row["allocator_id"], row["round"]): (reports := Reports())})
    return _item(row, reports)


def live(connection: Connection, decision_id: str, name: str | None = None, asker: Asker = ANYBODY) -> bodies.Live:
    """Return where a live round stands."""
    decision, rounds, steps = (
        decision_row(connection, decision_id, name, asker, "live round"),
        schema.live,
        schema.live_steps.c,
    )
    mine = rounds.c.allocator_id == decision["allocator_id"], rounds.c.round == decision["round"]
    row = connection.execute(select(rounds).where(*mine)).mappings().one()
    last = select(steps.answer).where(steps.allocator_id == row["allocator_id"], steps.round == row["round"])
    text = connection.execute(last.order_by(steps.step.desc()).limit(1)).scalar() or row["answer"]
    answer = bodies.Live.model_validate_json(text)
    return answer.model_copy(update={"step": None, "done": True}) if row["done"] else answer


def _item(row: RowMapping, reports: Reports) -> view_bodies.HistoryItem:
    return view_bodies.HistoryItem.model_validate(
        {
            "round": row["round"],
            "decision": json.loads(row["answer"]),
            "context": json.loads(row["request"]).get("context"),
            "spent": reports.spent,
            "results": {arm: in_full(result, reports.amounts.get(arm)) for arm, result in reports.results.items()},
            "complete": LoggedDecision.of_row(row).silent(reports) == [],
        }
    )
