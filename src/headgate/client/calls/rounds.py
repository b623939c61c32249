"""Calls of every round: decide, and report what came of it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from headgate.client import answers
from headgate.client.answers import Decision, Json, OutcomeAnswer, Round, reader
from headgate.client.calls.call import Call, allocator_path, as_json, path_part
from headgate.client.errors import ClientError
from headgate.client.estimates import Why
from headgate.errors import InputError

Results = Mapping[str, float | bool | None]
MOST_AT_ONCE = 1000
"""Decisions or outcomes in one call."""


def new_id() -> str:
    """Return a decision id that nobody else has; ids made later are larger, which indexes like."""
    return f"{time.time_ns() // 1000:014x}-{secrets.token_hex(8)}"


def decide(
    name: str,
    budget: float | None,
    *,
    decision_id: str | None = None,
    context: Json | None = None,
    step: float | None = None,
    switching: bool = True,
    fallback: Mapping[str, float] | None = None,
    features: Json | None = None,
    arm_features: Mapping[str, Json] | None = None,
    subject: str | None = None,
) -> Call[Decision]:
    """Split a budget; None is one that is not known: the answer has a schedule, in steps of `step`.

    With `switching=False` the schedule has each arm at most once: an arm once left is not taken up again.

    The same `decision_id` gets the same answer, also years later; without one, the client makes one. `context` is kept
    with the decision, and not looked at. `fallback` are shares by arm, in any unit: where the service does not answer,
    the budget is split by them; `decision.fallback` is True then, and reports of it are not sent. `features` are what
    is known of the round, by name, as the policy "contextual" declares them, `arm_features` those of some arms.
    `subject` is whom it is about, in words that only you understand: what is kept of a subject can be deleted.
    """
    body = _decision(budget, decision_id, context, step) | ({} if switching else {"switching": False})
    if subject is not None:
        body["subject"] = subject
    if features is not None:
        body["features"] = dict(features)
    if arm_features is not None:
        body["arm_features"] = {arm: dict(one) for arm, one in arm_features.items()}
    instead = None if fallback is None else _split(name, body, fallback)
    return Call("POST", f"{allocator_path(name)}/decisions", as_json(body), reader(Decision), instead)


def decide_many(
    name: str, budgets: Sequence[float | None], *, decision_ids: Sequence[str] | None = None
) -> Call[list[Decision | ClientError]]:
    """Split many budgets, at most 1000, in one call; in their order, each its decision or its error."""
    ids: Sequence[str | None] = [None] * len(budgets) if decision_ids is None else decision_ids
    if len(ids) != len(budgets):
        raise InputError(f"there must be one decision id for each budget, got {len(ids)} of {len(budgets)}")
    body = {"decisions": [_decision(budget, key, None, None) for budget, key in zip(budgets, ids, strict=True)]}
    return Call("POST", f"{allocator_path(name)}/decisions/batch", as_json(body), answers.many("decision", Decision))


def decision(decision_id: str | Decision, *, allocator: str | None = None) -> Call[Round]:
    """Return a decision of the past and what has been reported of it.

    Of an id alone, `allocator` says whose it is: needed where several have a decision of that id.
    """
    return Call("GET", _decision_path(decision_id, allocator), None, answers.read_round)


def why(decision_id: str | Decision, *, allocator: str | None = None) -> Call[Why]:
    """Return why a decision is as it is: per arm estimate, draw, marginal at its amount; and the price."""
    return Call("GET", f"{_decision_path(decision_id, allocator)}/why", None, reader(Why))


def report(
    decision: str | Decision,
    results: Results,
    *,
    spent: float | None = None,
    amounts: Mapping[str, float] | None = None,
    allocator: str | None = None,
) -> Call[OutcomeAnswer]:
    """Say what came of a decision, whole or in part.

    Per arm the threshold of its success, True for a success whose threshold is not known, None for a failure.
    Of a schedule, `spent` is how much of it was carried out. `amounts` is what arms really got, of those that got
    something else than they were given. A contradiction to what was said before is a `ConflictError`. Of a fallback
    nothing is sent: the service does not know that decision. Of an id alone, `allocator` says whose decision it is:
    needed where several have one of that id.
    """
    path = f"{_decision_path(decision, allocator)}/outcome"
    nothing = OutcomeAnswer(_id(decision), (), (), complete=False, late=False)
    unsent = nothing if isinstance(decision, Decision) and decision.fallback else None
    return Call("POST", path, as_json(_outcome(results, spent, amounts)), reader(OutcomeAnswer), unsent=unsent)


def report_many(
    outcomes: Sequence[tuple[str | Decision, Results]] | Mapping[str, Results],
) -> Call[list[OutcomeAnswer | ClientError]]:
    """Say what came of many decisions, at most 1000, in one call; in their order, each its answer or its error."""
    pairs = list(outcomes.items()) if isinstance(outcomes, Mapping) else outcomes
    return report_bodies([one_of_many(key, results, None, None) for key, results in pairs])


def one_of_many(
    decision: str | Decision,
    results: Results,
    spent: float | None,
    amounts: Mapping[str, float] | None,
    allocator: str | None = None,
) -> dict[str, Any]:
    """Return what came of a decision as it is sent with others."""
    owner = decision.allocator if isinstance(decision, Decision) else allocator
    whose = {} if owner is None else {"allocator": owner}
    return {"decision_id": _id(decision), **whose, **_outcome(results, spent, amounts)}


def report_bodies(bodies: Sequence[Json]) -> Call[list[OutcomeAnswer | ClientError]]:
    """Send some of these."""
    return Call("POST", "/v1/outcomes", as_json({"outcomes": bodies}), answers.many("outcome", OutcomeAnswer))


def _decision(budget: float | None, key: str | None, context: Json | None, step: float | None) -> dict[str, Any]:
    given: object = budget
    if isinstance(given, str | Mapping):
        raise InputError(f"budget must be a number, got {given!r}: decide(name, budget), the allocator's name first")
    body: dict[str, Any] = {"budget": budget, "decision_id": new_id() if key is None else key}
    if context is not None:
        body["context"] = dict(context)
    if step is not None:
        body["step"] = step
    return body


def _outcome(results: Results, spent: float | None, amounts: Mapping[str, float] | None) -> dict[str, Any]:
    value: object = results
    if not isinstance(value, Mapping):
        raise InputError(
            f"results must be a threshold, True or None by arm, such as {{'q1': 3.2, 'q2': None}}, got {value!r}"
        )
    unknown = [arm for arm in amounts or () if arm not in results]
    if unknown:
        raise InputError(f"amounts must be of arms that have a result, got {unknown[0]!r}")
    by_arm: dict[str, dict[str, Any]] = {
        arm: {"success": result is not None, "threshold": None if result is True else result}
        for arm, result in results.items()
    }
    for arm, amount in (amounts or {}).items():
        by_arm[arm]["amount"] = amount
    return {"results": by_arm} if spent is None else {"results": by_arm, "spent": spent}


def _split(name: str, body: Json, shares: Mapping[str, float]) -> Decision:
    """Split a budget without the service."""
    budget, total = body["budget"], sum(shares.values())
    if budget is None:
        raise InputError("fallback splits a budget that is known, got None")
    if not all(0.0 <= share < float("inf") for share in shares.values()) or not 0.0 < total < float("inf"):
        raise InputError(f"fallback must be shares >= 0, not all of them 0, got {dict(shares)!r}")
    allocation = {arm: budget * (share / total) for arm, share in shares.items()}
    now = datetime.now(UTC)
    return Decision(body["decision_id"], name, budget, allocation, None, now, None, fallback=True)


def _decision_path(decision: str | Decision, allocator: str | None) -> str:
    """Return where a decision is: at its allocator, as far as that is known."""
    key, owner = path_part(_id(decision)), decision.allocator if isinstance(decision, Decision) else allocator
    return f"/v1/decisions/{key}" if owner is None else f"{allocator_path(owner)}/decisions/{key}"


def _id(decision: str | Decision) -> str:
    value: object = decision
    if isinstance(value, Mapping):
        raise InputError("the decision comes first: report(decision, results)")
    if not isinstance(value, str | Decision):
        raise InputError(f"a decision must be what decide() returned, or its id, got {value!r}")
    return decision.decision_id if isinstance(decision, Decision) else decision
