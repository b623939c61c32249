"""Calls of the API as values: what to send, and how to read what comes back. Nothing here does any input or output.

`Client` and `AsyncClient` have each of them as a method, which sends it and returns what `Call[T]` promises, a T.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar
from urllib.parse import quote, urlencode

from headgate.client.answers import (
    Allocator,
    Decision,
    Estimates,
    ImportAnswer,
    Json,
    OutcomeAnswer,
    Page,
    many,
)
from headgate.client.errors import ClientError
from headgate.errors import InputError

T = TypeVar("T")
Results = Mapping[str, float | None]


class HasDict(Protocol):
    """A law or evidence of Headgate, or whatever else can be written as plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        ...


Law = str | Json | HasDict


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call."""

    method: str
    path: str
    body: bytes | None
    read: Callable[[Json], T]


def new_id() -> str:
    """Return a decision id that nobody else has; ids made later are larger, which indexes like."""
    return f"{time.time_ns() // 1000:014x}-{secrets.token_hex(8)}"


# -- allocators ------------------------------------------------------------------------------------------------------


def put_allocator(
    name: str,
    arms: Sequence[str | Json],
    law: Law,
    max_budget: float,
    *,
    policy: str | Json = "thompson",
    reward: Literal["sum", "cascade"] = "sum",
    feedback_deadline: float | None = 86_400.0,
    on_expiry: Literal["ignore", "failure"] = "ignore",
    units: str | None = None,
) -> Call[Allocator]:
    """Create an allocator; the same again changes nothing, another of the same name is a `ConflictError`.

    `arms` are names, or `{"name", "law", "lower", "upper"}`; `policy` is a name, or one with options. Seconds until a
    decision counts as expired are `feedback_deadline`, None for never; `on_expiry` says what silence until then means.
    """
    body = {
        "arms": [arm if isinstance(arm, str) else {**arm, "law": _plain_law(arm.get("law"))} for arm in arms],
        "law": _plain_law(law),
        "policy": {"name": policy} if isinstance(policy, str) else dict(policy),
        "max_budget": max_budget,
        "reward": reward,
        "feedback_deadline": feedback_deadline,
        "on_expiry": on_expiry,
        "units": units,
    }
    return Call("PUT", _allocator(name), _json(body), Allocator.of)


def allocator(name: str) -> Call[Allocator]:
    """Return an allocator as it stands."""
    return Call("GET", _allocator(name), None, Allocator.of)


def allocators() -> Call[list[Allocator]]:
    """Return all of them by name, archived ones too."""
    return Call("GET", "/v1/allocators", None, lambda data: [Allocator.of(one) for one in data["allocators"]])


def archive(name: str) -> Call[Allocator]:
    """Let an allocator make no more decisions; outcomes still count."""
    return Call("POST", f"{_allocator(name)}/archive", b"", Allocator.of)


def add_arm(
    name: str, arm: str, *, law: Law | None = None, lower: float = 0.0, upper: float | None = None
) -> Call[Allocator]:
    """Add an arm, or bring a retired one back with all that is known of it."""
    body = {"name": arm, "law": _plain_law(law), "lower": lower, "upper": upper}
    return Call("POST", f"{_allocator(name)}/arms", _json(body), Allocator.of)


def retire_arm(name: str, arm: str) -> Call[Allocator]:
    """Give an arm nothing any more; what is still reported of it counts."""
    return Call("POST", f"{_allocator(name)}/arms/{_part(arm)}/retire", b"", Allocator.of)


# -- every round -----------------------------------------------------------------------------------------------------


def decide(
    name: str,
    budget: float | None,
    *,
    decision_id: str | None = None,
    context: Json | None = None,
    step: float | None = None,
) -> Call[Decision]:
    """Split a budget; None is one that is not known: the answer has a schedule, in steps of `step`.

    The same `decision_id` gets the same answer, also years later; without one, the client makes one. `context` is kept
    with the decision, and not looked at.
    """
    body = _decision(budget, decision_id, context, step)
    return Call("POST", f"{_allocator(name)}/decisions", _json(body), Decision.of)


def decide_many(
    name: str, budgets: Sequence[float | None], *, decision_ids: Sequence[str] | None = None
) -> Call[list[Decision | ClientError]]:
    """Split many budgets, at most 1000, in one call; in their order, each its decision or its error."""
    ids: Sequence[str | None] = [None] * len(budgets) if decision_ids is None else decision_ids
    if len(ids) != len(budgets):
        raise InputError(f"there must be one decision id for each budget, got {len(ids)} of {len(budgets)}")
    body = {"decisions": [_decision(budget, key, None, None) for budget, key in zip(budgets, ids, strict=True)]}
    return Call("POST", f"{_allocator(name)}/decisions/batch", _json(body), many("decision", Decision.of))


def report(decision: str | Decision, results: Results, *, spent: float | None = None) -> Call[OutcomeAnswer]:
    """Say what came of a decision, whole or in part: per arm the threshold of its success, None for a failure.

    Of a schedule, `spent` is how much of it was carried out. A contradiction to what was said before is a
    `ConflictError`.
    """
    path = f"/v1/decisions/{_part(_id(decision))}/outcome"
    return Call("POST", path, _json(_outcome(results, spent)), OutcomeAnswer.of)


def report_many(
    outcomes: Sequence[tuple[str | Decision, Results]] | Mapping[str, Results],
) -> Call[list[OutcomeAnswer | ClientError]]:
    """Say what came of many decisions, at most 1000, in one call; in their order, each its answer or its error."""
    pairs = list(outcomes.items()) if isinstance(outcomes, Mapping) else outcomes
    body = {"outcomes": [{"decision_id": _id(key), **_outcome(results, None)} for key, results in pairs]}
    return Call("POST", "/v1/outcomes", _json(body), many("outcome", OutcomeAnswer.of))


# -- what is known ---------------------------------------------------------------------------------------------------


def estimates(name: str, *, budget: float | None = None, level: float = 0.9) -> Call[Estimates]:
    """Return what is known of every arm, with intervals, and the best allocation of `budget` by it."""
    query = {"level": level} if budget is None else {"level": level, "budget": budget}
    return Call("GET", f"{_allocator(name)}/estimates?{urlencode(query)}", None, Estimates.of)


def history(name: str, before: int | None, page: int) -> Call[Page]:
    """Return a page of decisions, newest first."""
    query = {"limit": page} if before is None else {"limit": page, "before": before}
    return Call("GET", f"{_allocator(name)}/history?{urlencode(query)}", None, Page.of)


def export_evidence(name: str) -> Call[dict[str, Any]]:
    """Return all that has been seen: plain data for `import_evidence` and `headgate.Evidence.from_dict`."""
    return Call("GET", f"{_allocator(name)}/evidence", None, dict)


def import_evidence(name: str, evidence: Json | HasDict, import_id: str) -> Call[ImportAnswer]:
    """Add evidence from elsewhere, once for each `import_id`: of another allocator, or of a log.

    A `headgate.Evidence` has all arms of the allocator in their order; `Evidence.to_dict(names)` may have some of them,
    in any order.
    """
    path = f"{_allocator(name)}/evidence/{_part(import_id)}"
    return Call("PUT", path, _json(evidence if isinstance(evidence, Mapping) else evidence.to_dict()), ImportAnswer.of)


def health() -> Call[str]:
    """Return how the service is, if it can do its work; else raise an `UnavailableError`."""
    return Call("GET", "/readyz", None, lambda data: str(data["status"]))


# -- parts -----------------------------------------------------------------------------------------------------------


def _decision(budget: float | None, key: str | None, context: Json | None, step: float | None) -> dict[str, Any]:
    body: dict[str, Any] = {"budget": budget, "decision_id": new_id() if key is None else key}
    if context is not None:
        body["context"] = dict(context)
    if step is not None:
        body["step"] = step
    return body


def _outcome(results: Results, spent: float | None) -> dict[str, Any]:
    said = {arm: {"success": value is not None, "threshold": value} for arm, value in results.items()}
    return {"results": said} if spent is None else {"results": said, "spent": spent}


def _id(decision: str | Decision) -> str:
    return decision.decision_id if isinstance(decision, Decision) else decision


def _plain_law(law: Law | None) -> Any:
    return law if law is None or isinstance(law, str | Mapping) else law.to_dict()


def _allocator(name: str) -> str:
    return f"/v1/allocators/{_part(name)}"


def _part(text: str) -> str:
    """Return a text as one part of a path, even if it is '..'."""
    if not text:
        raise InputError("a name or an id must not be empty")
    return quote(text, safe="").replace(".", "%2E")


def _json(body: Json) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, default=_plain).encode()
    except (TypeError, ValueError) as cause:
        raise InputError(f"a request must be plain JSON with finite numbers: {cause}") from cause


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy and mappings, as JSON has them."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is not JSON")
