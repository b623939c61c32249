"""Why a decision is as it is: per arm what was known, what was drawn, what a little more would have earned, the price.

The draw and the price are stored with the decision. The estimates are those of the evidence that there was when it was
made: the sum of today less all that came after it, exact in whole numbers. Where evidence fades, so it is in each
window of time, with the weight that the window had then.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from headgate.estimators import Estimate, likelihood
from headgate.evidence import Evidence
from headgate.evidence.fading import Cells, Fading, added, cells_of, subtract
from headgate.kernels.bins import COUNT, SUM
from headgate.laws import Floats
from headgate.oracle import standard_form
from headgate.policies import Thompson
from headgate.service.bodies import EvidenceBody
from headgate.service.engine import windows
from headgate.service.engine.cells import of_arms_and_budgets
from headgate.service.engine.learner import Learner
from headgate.service.engine.modes import unguarded
from headgate.service.engine.order import END, log_of
from headgate.service.engine.reasons import Reason
from headgate.service.engine.records import LoggedDecision
from headgate.service.engine.retractions import pushed_later, retracted_later
from headgate.service.engine.versions import changed_since
from headgate.service.faults import ConflictError
from headgate.service.store import schema
from headgate.service.store.keys import ANYBODY, Asker
from headgate.service.view_bodies import Why
from headgate.service.views import decision_row

_NEGLIGIBLE = 41
"""Of the weight of a window, in parts of 4,096: what was forgotten since is left out below it."""
_STEP = 1e-6
"""Of a central difference, as a share of the amount."""


def why(connection: Connection, decision_id: str, name: str | None = None, asker: Asker = ANYBODY) -> Why:
    """Return the reasons of a decision."""
    decision = LoggedDecision.of_row(decision_row(connection, decision_id, name, asker))
    if decision.allocation is None or decision.live:
        raise ConflictError(
            f"decision {decision_id!r} is no split at once: a schedule or a live round has no one price"
        )
    allocators = schema.allocators
    owner = connection.execute(select(allocators).where(allocators.c.id == decision.allocator_id)).mappings().one()
    if changed_since(connection, owner["name"], decision.version):
        raise ConflictError(f"decision {decision_id!r} was made by version {decision.version}, which is changed since")
    table = schema.sums.c
    later = select(table.number).where(table.allocator_id == decision.allocator_id, table.after > decision.round)
    if connection.execute(later.limit(1)).first() is not None:
        raise ConflictError(f"reports from after decision {decision_id!r} are gone: what was known then cannot be said")
    learner = Learner(connection, owner)
    names = list(decision.allocation)
    places = np.array([learner.position[name] for name in names])
    evidence = evidence_then(connection, learner, decision)
    counts = evidence if learner.fading is None else weighed_then(connection, learner, learner.fading, decision)
    law = learner.law_of(places)
    with np.errstate(all="ignore"):  # arms of which nothing is known have infinite intervals
        estimate = likelihood(law, Evidence(evidence.max_budget, counts.bins[places], evidence.edges))
    reasons = schema.reasons
    here = reasons.c.allocator_id == decision.allocator_id, reasons.c.round == decision.round
    text = connection.execute(select(reasons.c.data).where(*here)).scalar()
    reason = None if text is None else Reason.of_text(text)
    x = np.array(list(decision.allocation.values()))
    policy_amounts = (
        x if decision.policy_allocation is None else np.array([decision.policy_allocation[name] for name in names])
    )
    value = _value(learner, decision, names)
    marginal = None if reason is None else _marginal(learner, reason, policy_amounts, value, names)
    return Why.model_validate(
        {
            "decision_id": decision.id,
            "allocator": learner.name,
            "round": decision.round,
            "policy": unguarded(learner.policy).name,
            "mode": decision.mode,
            "probability": decision.probability,
            "price": None if reason is None else reason.price,
            "arms": [
                {
                    "arm": name,
                    "amount": x[i],
                    "policy_amount": None if decision.policy_allocation is None else policy_amounts[i],
                    "value": value[i],
                    "trials": int(evidence.trials[places[i]]),
                    "successes": int(evidence.successes[places[i]]),
                    "estimate": _estimate(estimate, i),
                    "draw": None if reason is None else {"activation": reason.activation[i], "rate": reason.rate[i]},
                    "corrected": reason is not None and reason.slope is not None,
                    "marginal": None if marginal is None or not np.isfinite(marginal[i]) else marginal[i],
                }
                for i, name in enumerate(names)
            ],
        }
    )


def evidence_then(connection: Connection, learner: Learner, decision: LoggedDecision) -> Evidence:
    """Return the evidence of all arms that there was when a decision was made."""
    reports, evidence = schema.reports.c, learner.evidence.copy()
    later = reports.allocator_id == learner.id, reports.after > decision.round
    place = connection.execute(select(func.min(reports.place)).where(*later)).scalar()
    later_rows: list[tuple[int, float, bool, float]] = []
    retracted_rows: list[tuple[int, float, bool, float]] = []
    for of, part in log_of(connection, learner.id, END, place, None) if place is not None else ():
        if part is None:
            raise AssertionError(of.id)  # no decision is so late
        rows = retracted_rows if part.takes_back else later_rows
        for name, result in part.results.items():
            arm = learner.position[name]
            x = float(np.floor(part.amounts[name])) if learner.whole[arm] else part.amounts[name]
            if x > 0.0:
                threshold = np.nan if result is None or result is True else result
                rows.append((arm, x, result is not None, threshold))
    for rows, sign in ((later_rows, -1.0), (retracted_rows, 1.0)):
        if rows:
            columns = [np.array(column) for column in zip(*rows, strict=True)]
            more = Evidence.of_rows(*columns, arms=evidence.arms, max_budget=evidence.max_budget)
            evidence.bins[...] += sign * more.bins
    for _, more, sign in _from_elsewhere(connection, learner, decision):
        evidence.bins[...] += sign * more.bins
    return evidence


def _from_elsewhere(
    connection: Connection, learner: Learner, decision: LoggedDecision
) -> Iterator[tuple[int, Evidence, int]]:
    """Return the imports and pushes after a decision: when they came, and their evidence; 1: taken back since."""
    sources = ((pushed_later, -1), (retracted_later, 1))
    for at, text, sign in (
        (*one, sign) for read, sign in sources for one in read(connection, learner.id, decision.round)
    ):
        yield at, Evidence.from_dict(EvidenceBody.model_validate_json(text).model_dump(), learner.names), sign


def weighed_then(connection: Connection, learner: Learner, fading: Fading, decision: LoggedDecision) -> Evidence:
    """Return what counted of the evidence of all arms when a decision was made."""
    past_windows, (begins, _) = windows.read(connection, learner.id), fading.window(decision.created_at)
    for end, (_, forgotten) in past_windows.items():
        if forgotten and fading.weight(fading.age(end, begins)) > _NEGLIGIBLE:
            raise ConflictError(f"what counted when decision {decision.id!r} was made is forgotten since")
    ends = [*past_windows, windows.OPEN]
    parts = {end: [cells] for end, (cells, _) in past_windows.items()} | {
        windows.OPEN: [windows.under_way(learner, past_windows)]
    }

    def change(at: int, cells: Cells, sign: int) -> None:
        signed = np.concatenate([cells[:, :3], sign * cells[:, 3:]], axis=1)
        parts[ends[bisect_right(ends, at)]].append(signed)

    reports = schema.reports.c
    later = reports.allocator_id == learner.id, reports.after > decision.round
    place = connection.execute(select(func.min(reports.place)).where(*later)).scalar()
    for _, part in log_of(connection, learner.id, END, place, None) if place is not None else ():
        if part is not None:
            cells = windows.cells_of_results(learner, part.amounts, part.results, part.lasted)
            change(part.at, cells, 1 if part.takes_back else -1)
    for at, more, sign in _from_elsewhere(connection, learner, decision):
        change(at, cells_of(more.bins), sign)
    old = [
        (end, added(cells), end in past_windows and past_windows[end][1])
        for end, cells in parts.items()
        if end <= begins
    ]
    whole, counting = (Evidence.empty(len(learner.names) + 1, learner.spec.max_budget) for _ in range(2))
    row, kind, cell, number, total = added([cells for some in parts.values() for cells in some]).T
    whole.bins[row, kind, COUNT, cell], whole.bins[row, kind, SUM, cell] = number, total
    subtract(counting.bins, whole.bins, fading.faded(old, begins))
    return of_arms_and_budgets(counting)[0]


def _value(learner: Learner, decision: LoggedDecision, names: list[str]) -> Floats:
    """What a success of each arm was worth in that decision."""
    values = np.broadcast_to(np.asarray(learner.policy.value, dtype=np.float64), len(learner.active)).tolist()
    usual: dict[str, float] = dict(zip(learner.active_names, values, strict=True))
    own = json.loads(decision.request).get("value") or {}
    return np.array([float(own.get(name, usual.get(name, 1.0))) for name in names])


def _marginal(learner: Learner, reason: Reason, x: Floats, value: Floats, names: list[str]) -> Floats:
    """What a little more would have earned by the curves that the decision was the best for: (K,)."""
    if reason.slope is not None:
        return reason.slope
    if reason.opaque:
        return np.full(len(x), np.nan)
    from headgate.kernels.heights import heights  # noqa: PLC0415  # machine code loads on first use

    policy, arms = unguarded(learner.policy), len(names)
    places = np.array([learner.position[name] for name in names])
    law = learner.law_of(places)
    form = policy.form if isinstance(policy, Thompson) and reason.form is not None else standard_form(law, arms)
    form = reason.standard(form)
    columns = [
        np.ascontiguousarray(np.broadcast_to(v, arms)) for v in (form.base, form.a, form.b, form.shift, form.cap)
    ]
    whole = learner.whole[places]
    step = np.where(whole, 1.0, _STEP * np.maximum(x, 1e-3 * learner.spec.max_budget))
    below = np.where(whole, np.maximum(x - 1.0, 0.0), np.maximum(x - step, 0.0))
    at = np.stack([below, np.where(whole, np.maximum(x, 1.0), x + step), x], axis=1)
    with np.errstate(all="ignore"):
        y, _ = heights(*columns, form.table, reason.activation, reason.rate, whole, at)
    slope = (y[:, 1] - y[:, 0]) / (at[:, 1] - at[:, 0])
    if learner.spec.reward == "cascade":
        missed = np.maximum(1.0 - y[:, 2], 1e-300)
        return np.asarray(slope * missed.prod() / missed)
    return np.asarray(slope * value)


def _estimate(estimate: Estimate, arm: int) -> dict[str, Any]:
    low, high = (float(v) for v in estimate.rate_interval[arm])
    return {
        "activation": float(estimate.activation[arm]),
        "activation_interval": estimate.activation_interval[arm].tolist(),
        "rate": float(estimate.rate[arm]),
        "rate_interval": [low, high if np.isfinite(high) else None],
    }
