"""What can be read of the state: allocators, estimates, history, evidence. Nothing here writes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sqlalchemy import Connection, RowMapping, func, select

from headgate.estimators import Estimate, likelihood
from headgate.service import clock
from headgate.service.beliefs import best_by
from headgate.service.bodies import (
    Allocator,
    Arm,
    ArmEstimate,
    ArmResult,
    Counts,
    Decision,
    Estimates,
    EvidenceBody,
    History,
    HistoryItem,
)
from headgate.service.engine.learner import Learner
from headgate.service.engine.records import Heard, LoggedDecision
from headgate.service.faults import NotFoundError
from headgate.service.spec import AllocatorSpec, ArmSpec
from headgate.service.store import schema


def row_of(connection: Connection, name: str) -> RowMapping:
    """Return an allocator's row."""
    table = schema.allocators
    row = connection.execute(select(table).where(table.c.name == name)).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no allocator {name!r}")
    return row


def allocator(connection: Connection, name: str) -> Allocator:
    """Return an allocator as it stands."""
    return _allocator(connection, row_of(connection, name))


def allocators(connection: Connection) -> list[Allocator]:
    """Return all allocators by name."""
    table = schema.allocators
    rows = connection.execute(select(table).order_by(table.c.name)).mappings().all()
    return [_allocator(connection, row) for row in rows]


def _allocator(connection: Connection, row: RowMapping) -> Allocator:
    arms = connection.execute(
        select(schema.arms).where(schema.arms.c.allocator_id == row["id"]).order_by(schema.arms.c.position)
    )
    created = clock.as_datetime(row["created_at"])
    if created is None:
        raise NotFoundError(f"allocator {row['name']!r} has no date")
    return Allocator(
        name=row["name"],
        spec=AllocatorSpec.model_validate_json(row["spec"]),
        arms=[
            Arm(**ArmSpec.model_validate_json(arm.spec).model_dump(), retired_at=clock.as_datetime(arm.retired_at))
            for arm in arms
        ],
        created_at=created,
        archived_at=clock.as_datetime(row["archived_at"]),
        counts=counts(connection, row),
    )


def counts(connection: Connection, row: RowMapping) -> Counts:
    """Return what became of an allocator's decisions."""
    waiting, unit = schema.waiting, json.loads(row["spec"])["max_budget"] / schema.BUDGET_UNITS
    here = waiting.c.allocator_id == row["id"]
    expired = connection.execute(
        select(func.count()).select_from(waiting).where(here, waiting.c.expires_at < clock.now())
    ).scalar_one()
    same = ("decisions", "complete", "late", "duplicates", "contradictions", "reward")
    return Counts(
        **{name: row[name] for name in same},
        pending=max(row["decisions"] - row["complete"] - expired, 0),
        expired=expired,
        budget=row["budget_units"] * unit,
        given=row["given_units"] * unit,
    )


def estimates(connection: Connection, name: str, budget: float | None = None, level: float = 0.9) -> Estimates:
    """Return what is known of every arm in use, and the best allocation by it."""
    learner = Learner(connection, row_of(connection, name))
    evidence, most = learner.state.evidence, learner.spec.max_budget
    amount = most if budget is None else min(budget, most)
    with np.errstate(all="ignore"):  # arms of which nothing is known have infinite intervals
        found = likelihood(learner.policy.laws, evidence, level=level)
        best = best_by(learner, found, amount)
    # An arm whose shape is known has none to show: NaN.
    shapes = np.full(len(found.rate), np.nan) if found.shape is None else found.shape
    ends = np.full((len(shapes), 2), np.nan) if found.shape_interval is None else found.shape_interval
    trials, won, words = evidence.trials, evidence.successes, knowledge(found)
    return Estimates(
        allocator=name,
        level=level,
        arms=[
            ArmEstimate.model_validate(
                {
                    "arm": arm,
                    "known": words[i],
                    "activation": float(found.activation[i]),
                    "activation_interval": found.activation_interval[i].tolist(),
                    "rate": float(found.rate[i]),
                    "rate_interval": [_finite(v) for v in found.rate_interval[i]],
                    "shape": _finite(shapes[i]),
                    "shape_interval": None if np.isnan(shapes[i]) else ends[i].tolist(),
                    "trials": int(trials[i]),
                    "successes": int(won[i]),
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


def evidence(connection: Connection, name: str) -> EvidenceBody:
    """Return all that has been seen, as `import` takes it."""
    learner = Learner(connection, row_of(connection, name))
    return EvidenceBody.model_validate(learner.evidence.to_dict(learner.names))


def history(connection: Connection, name: str, before: int | None, limit: int) -> History:
    """Return a page of decisions, newest first, with what was heard of them."""
    row, table = row_of(connection, name), schema.decisions
    query = select(table).where(table.c.allocator_id == row["id"])
    if before is not None:
        query = query.where(table.c.round < before)
    rows = connection.execute(query.order_by(table.c.round.desc()).limit(limit)).mappings().all()
    heard = _heard(connection, row["id"], [r["round"] for r in rows])
    items = [_item(r, heard.get(r["round"], Heard())) for r in rows]
    return History(items=items, next_before=rows[-1]["round"] if len(rows) == limit else None)


def decision(connection: Connection, decision_id: str) -> HistoryItem:
    """Return one decision with what was heard of it."""
    table = schema.decisions
    row = connection.execute(select(table).where(table.c.id == decision_id)).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no decision {decision_id!r}")
    heard = _heard(connection, row["allocator_id"], [row["round"]])
    return _item(row, heard.get(row["round"], Heard()))


def _heard(connection: Connection, allocator_id: int, rounds: list[int]) -> dict[int, Heard]:
    table = schema.reports
    heard: dict[int, Heard] = {}
    rows = connection.execute(
        select(table.c.round, table.c.results, table.c.spent)
        .where(table.c.allocator_id == allocator_id, table.c.round.in_(rounds))
        .order_by(table.c.part)
    )
    for turn, results, spent in rows:
        heard.setdefault(turn, Heard()).add(json.loads(results), spent)
    return heard


def _item(row: RowMapping, heard: Heard) -> HistoryItem:
    decided = LoggedDecision.of_row(row)
    return HistoryItem(
        round=row["round"],
        decision=Decision.model_validate_json(row["answer"]),
        context=json.loads(row["request"]).get("context"),
        spent=heard.spent,
        results={
            arm: ArmResult(success=threshold is not None, threshold=threshold)
            for arm, threshold in heard.results.items()
        },
        complete=decided.complete(heard),
    )
