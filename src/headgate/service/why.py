"""Why a decision is as it is: per arm what was known, what was drawn, what a little more would have earned, the price.

The draw and the price are stored with the decision. The estimates are those of the evidence that there was when it was
made: the sum of today less all that came after it, exact in whole numbers.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from headgate.estimators import Estimate, likelihood
from headgate.evidence import Evidence
from headgate.laws import Floats
from headgate.oracle import standard_form
from headgate.policies import Thompson
from headgate.service.bodies import EvidenceBody, Why
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
from headgate.service.views import decision_row

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
    gone = schema.sums.c
    later = select(gone.number).where(gone.allocator_id == decision.allocator_id, gone.after > decision.round)
    if connection.execute(later.limit(1)).first() is not None:
        raise ConflictError(f"reports from after decision {decision_id!r} are gone: what was known then cannot be said")
    learner = Learner(connection, owner)
    names = list(decision.allocation)
    places = np.array([learner.position[name] for name in names])
    seen = evidence_then(connection, learner, decision)
    law = learner.law_of(places)
    with np.errstate(all="ignore"):  # arms of which nothing is known have infinite intervals
        found = likelihood(law, Evidence(seen.max_budget, seen.bins[places], seen.edges))
    reasons = schema.reasons
    here = reasons.c.allocator_id == decision.allocator_id, reasons.c.round == decision.round
    text = connection.execute(select(reasons.c.data).where(*here)).scalar()
    reason = None if text is None else Reason.of_text(text)
    x = np.array(list(decision.allocation.values()))
    wanted = x if decision.wanted is None else np.array([decision.wanted[name] for name in names])
    value = _value(learner, decision, names)
    marginal = None if reason is None else _marginal(learner, reason, wanted, value, names)
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
                    "policy_amount": None if decision.wanted is None else wanted[i],
                    "value": value[i],
                    "trials": int(seen.trials[places[i]]),
                    "successes": int(seen.successes[places[i]]),
                    "estimate": _estimate(found, i),
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
    reports, seen = schema.reports.c, learner.evidence.copy()
    later = reports.allocator_id == learner.id, reports.after > decision.round
    place = connection.execute(select(func.min(reports.place)).where(*later)).scalar()
    added: list[tuple[int, float, bool, float]] = []
    taken: list[tuple[int, float, bool, float]] = []
    for of, part in log_of(connection, learner.id, END, place, None) if place is not None else ():
        if part is None:
            raise AssertionError(of.id)  # no decision is so late
        rows = taken if part.takes_back else added
        for name, result in part.results.items():
            arm = learner.position[name]
            x = float(np.floor(part.amounts[name])) if learner.whole[arm] else part.amounts[name]
            if x > 0.0:
                known = np.nan if result is None or result is True else result
                rows.append((arm, x, result is not None, known))
    for rows, sign in ((added, -1.0), (taken, 1.0)):
        if rows:
            columns = [np.array(column) for column in zip(*rows, strict=True)]
            more = Evidence.of_rows(*columns, arms=seen.arms, max_budget=seen.max_budget)
            seen.bins[...] += sign * more.bins
    for text in pushed_later(connection, learner.id, decision.round):
        seen.bins[...] -= Evidence.from_dict(EvidenceBody.model_validate_json(text).model_dump(), learner.names).bins
    for text in retracted_later(connection, learner.id, decision.round):
        seen.bins[...] += Evidence.from_dict(EvidenceBody.model_validate_json(text).model_dump(), learner.names).bins
    return seen


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


def _estimate(found: Estimate, arm: int) -> dict[str, Any]:
    low, high = (float(v) for v in found.rate_interval[arm])
    return {
        "activation": float(found.activation[arm]),
        "activation_interval": found.activation_interval[arm].tolist(),
        "rate": float(found.rate[arm]),
        "rate_interval": [low, high if np.isfinite(high) else None],
    }
