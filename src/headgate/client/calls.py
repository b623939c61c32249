"""Calls of the API as values: what to send, and how to read what comes back. Nothing here does any input or output.

`Client` and `AsyncClient` have each of them as a method, which sends it and returns what `Call[T]` promises, a T.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar
from urllib.parse import quote, urlencode

from headgate.client import answers, warm
from headgate.client.answers import (
    Allocator,
    Comparison,
    Decision,
    EdgeState,
    Estimates,
    ImportAnswer,
    Json,
    Learner,
    OutcomeAnswer,
    Page,
    PushAnswer,
    RetractionAnswer,
    Round,
    Why,
    reader,
)
from headgate.client.errors import ClientError
from headgate.errors import InputError

T = TypeVar("T")
Results = Mapping[str, float | bool | None]
MOST_AT_ONCE = 1000
"""Decisions or outcomes in one call."""


class HasDict(Protocol):
    """A law or evidence of Headgate, or whatever else can be written as plain data."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        ...


Law = str | Json | HasDict
Baseline = Literal["even"] | Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call."""

    method: str
    path: str
    body: bytes | None
    read: Callable[[Json], T]
    instead: T | None = None
    """What is returned where the service does not answer; None: that is an error."""
    unsent: T | None = None
    """What is returned at once, because there is nothing to tell the service."""


def new_id() -> str:
    """Return a decision id that nobody else has; ids made later are larger, which indexes like."""
    return f"{time.time_ns() // 1000:014x}-{secrets.token_hex(8)}"


# -- allocators ------------------------------------------------------------------------------------------------------


def put_allocator(
    name: str,
    arms: Sequence[str | Json] | None = None,
    law: Law | None = None,
    max_budget: float | None = None,
    *,
    policy: str | Json = "thompson",
    reward: Literal["sum", "cascade"] = "sum",
    feedback_deadline: float | None = 86_400.0,
    on_expiry: Literal["ignore", "failure"] = "ignore",
    units: str | None = None,
    keep_days: float | None = None,
    baseline: Baseline | None = None,
    holdout: float = 0.0,
    shadow: bool = False,
    guard: Json | None = None,
    problem: str | Path | None = None,
    evidence: str | Path | Json | HasDict | None = None,
) -> Call[Allocator]:
    """Create an allocator; the same again changes nothing, another of the same name is a `ConflictError`.

    `arms` are names, or `{"name", "law", "lower", "upper"}`; `policy` is a name, or one with options. Seconds until a
    decision counts as expired are `feedback_deadline`, None for never; `on_expiry` says what silence until then means.
    After `keep_days` decisions that are over become their sum; None: never.

    `baseline` is what would be done without it: "even", or amounts by arm. `holdout` is the share of decisions that it
    gets at random, for `comparison`; with `shadow` it gets all of them, and the policy's is kept beside it; `guard` is
    `{"share": 0.95, "delta": 0.05}`: never knowingly below that share of what the baseline earns.

    A warm start: `problem` is the file of a problem, for arms, law and units that are not given; `evidence` is what it
    knows from the first decision on, a `headgate.Evidence`, its plain data or the file of it; its max_budget is the
    allocator's, unless that is given. `headgate calibrate` writes both files.
    """
    names: object = arms
    if isinstance(names, str | Mapping):
        raise InputError(f"arms must be a list of names, got {names!r}: put_allocator(name, arms, law, max_budget)")
    known = _evidence(evidence)
    if problem is not None:
        given = warm.read_problem(problem)
        arms, law, units = arms or given.arms, law or given.law, units or given.units
    if max_budget is None and known is not None:
        max_budget = known["max_budget"]
    if arms is None or law is None or max_budget is None:
        raise InputError("an allocator needs arms, law and max_budget: give them, or problem and evidence")
    body = (
        {
            "arms": [arm if isinstance(arm, str) else {**arm, "law": _plain_law(arm.get("law"))} for arm in arms],
            "law": _plain_law(law),
            "policy": {"name": policy} if isinstance(policy, str) else dict(policy),
            "max_budget": max_budget,
            "reward": reward,
            "feedback_deadline": feedback_deadline,
            "on_expiry": on_expiry,
            "units": units,
            "keep_days": keep_days,
        }
        | _modes(baseline, holdout or None, shadow or None, guard)
        | ({} if known is None else {"evidence": known})
    )
    return Call("PUT", _allocator(name), _json(body), reader(Allocator))


def allocator(name: str) -> Call[Allocator]:
    """Return an allocator as it stands."""
    return Call("GET", _allocator(name), None, reader(Allocator))


def allocators() -> Call[list[Allocator]]:
    """Return all of them by name, archived ones too."""
    return Call("GET", "/v1/allocators", None, lambda data: list(map(reader(Allocator), data["allocators"])))


def change(
    name: str,
    *,
    law: Law | None = None,
    policy: str | Json | None = None,
    arms: Sequence[Json] = (),
    keep_days: float | None = None,
    baseline: Baseline | None = None,
    holdout: float | None = None,
    shadow: bool | None = None,
    guard: Json | Literal[False] | None = None,
) -> Call[Allocator]:
    """Change law, policy, baseline, arms in use or how long decisions are kept: a new version; what was seen is kept.

    `arms` are those that change, `{"name", "law", "lower", "upper", "value"}`, each as it shall be. `holdout=0`,
    `shadow=False` and `guard=False` end these. The same again changes nothing.
    """
    chosen = {"name": policy} if isinstance(policy, str) else policy
    changed = [{**arm, "law": _plain_law(arm.get("law"))} for arm in arms]
    body = {"law": _plain_law(law), "policy": chosen, "arms": changed, "keep_days": keep_days}
    body |= _modes(baseline, holdout, shadow, guard)
    return Call("POST", f"{_allocator(name)}/versions", _json(body), reader(Allocator))


def archive(name: str) -> Call[Allocator]:
    """Let an allocator make no more decisions; outcomes still count."""
    return Call("POST", f"{_allocator(name)}/archive", b"", reader(Allocator))


def add_arm(
    name: str, arm: str, *, law: Law | None = None, lower: float = 0.0, upper: float | None = None
) -> Call[Allocator]:
    """Add an arm, or bring a retired one back with all that is known of it."""
    body = {"name": arm, "law": _plain_law(law), "lower": lower, "upper": upper}
    return Call("POST", f"{_allocator(name)}/arms", _json(body), reader(Allocator))


def retire_arm(name: str, arm: str) -> Call[Allocator]:
    """Give an arm nothing any more; what is still reported of it counts."""
    return Call("POST", f"{_allocator(name)}/arms/{_part(arm)}/retire", b"", reader(Allocator))


# -- every round -----------------------------------------------------------------------------------------------------


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
    return Call("POST", f"{_allocator(name)}/decisions", _json(body), reader(Decision), instead)


def decide_many(
    name: str, budgets: Sequence[float | None], *, decision_ids: Sequence[str] | None = None
) -> Call[list[Decision | ClientError]]:
    """Split many budgets, at most 1000, in one call; in their order, each its decision or its error."""
    ids: Sequence[str | None] = [None] * len(budgets) if decision_ids is None else decision_ids
    if len(ids) != len(budgets):
        raise InputError(f"there must be one decision id for each budget, got {len(ids)} of {len(budgets)}")
    body = {"decisions": [_decision(budget, key, None, None) for budget, key in zip(budgets, ids, strict=True)]}
    return Call("POST", f"{_allocator(name)}/decisions/batch", _json(body), answers.many("decision", Decision))


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
    return Call("POST", path, _json(_outcome(results, spent, amounts)), reader(OutcomeAnswer), unsent=unsent)


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
    return Call("POST", "/v1/outcomes", _json({"outcomes": bodies}), answers.many("outcome", OutcomeAnswer))


# -- what is known ---------------------------------------------------------------------------------------------------


def estimates(name: str, *, budget: float | None = None, level: float = 0.9) -> Call[Estimates]:
    """Return what is known of every arm, with intervals, and the best allocation of `budget` by it."""
    query = {"level": level} if budget is None else {"level": level, "budget": budget}
    return Call("GET", f"{_allocator(name)}/estimates?{urlencode(query)}", None, answers.read_estimates)


def comparison(name: str, *, level: float = 0.95) -> Call[Comparison]:
    """Return whether an allocator is better than its baseline: the difference of value per decision, with intervals."""
    query = urlencode({"level": level})
    return Call("GET", f"{_allocator(name)}/comparison?{query}", None, reader(Comparison))


def history(name: str, before: int | None, page: int) -> Call[Page]:
    """Return a page of decisions, newest first."""
    query = {"limit": page} if before is None else {"limit": page, "before": before}
    return Call("GET", f"{_allocator(name)}/history?{urlencode(query)}", None, answers.read_page)


def decisions(name: str, after: int | None, page: int) -> Call[Page]:
    """Return a page of decisions, oldest first."""
    query = {"limit": page} if after is None else {"limit": page, "after": after}
    return Call("GET", f"{_allocator(name)}/decisions?{urlencode(query)}", None, answers.read_log)


def export_evidence(name: str) -> Call[dict[str, Any]]:
    """Return all that has been seen: plain data for `import_evidence` and `headgate.Evidence.from_dict`."""
    return Call("GET", f"{_allocator(name)}/evidence", None, dict)


def import_evidence(name: str, evidence: Json | HasDict, import_id: str) -> Call[ImportAnswer]:
    """Add evidence from elsewhere, once for each `import_id`: of another allocator, or of a log.

    A `headgate.Evidence` has all arms of the allocator in their order; `Evidence.to_dict(names)` may have some of them,
    in any order.
    """
    given: object = evidence
    if isinstance(given, str):
        raise InputError(f"evidence must be that of a log, got {given!r}: import_evidence(name, evidence, import_id)")
    path = f"{_allocator(name)}/evidence/{_part(import_id)}"
    return Call(
        "PUT", path, _json(evidence if isinstance(evidence, Mapping) else evidence.to_dict()), reader(ImportAnswer)
    )


# -- the log itself ----------------------------------------------------------------------------------------------------


def retract(
    name: str,
    retraction_id: str,
    *,
    key: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    reason: str | None = None,
) -> Call[RetractionAnswer]:
    """Take back what was reported: with the key of that id, from `since` on, before `until`; once for each id.

    Evidence follows exactly. Decisions whose reports are taken back wait for new ones. Imports and pushes of edges are
    taken back too, for good: corrected ones need new ids.
    """
    times = {name: None if one is None else one.isoformat() for name, one in (("since", since), ("until", until))}
    body = {"key": key, **times, "reason": reason}
    return Call("PUT", f"{_allocator(name)}/retractions/{_part(retraction_id)}", _json(body), reader(RetractionAnswer))


def retractions(name: str) -> Call[list[RetractionAnswer]]:
    """Return what was taken back of an allocator, the first retraction first."""
    path = f"{_allocator(name)}/retractions"
    return Call("GET", path, None, lambda data: list(map(reader(RetractionAnswer), data["retractions"])))


def forget(name: str, subject: str, *, evidence: Literal["keep", "subtract"] = "keep") -> Call[int]:
    """Remove every decision of a subject with what was reported of it, for good; return how many there were.

    What was learned of it stays in the sums, or is subtracted from them: `evidence`.
    """
    path = f"{_allocator(name)}/subjects/{_part(subject)}?{urlencode({'evidence': evidence})}"
    return Call("DELETE", path, None, lambda data: int(data["decisions"]))


# -- edges -----------------------------------------------------------------------------------------------------------


def learner(name: str, known: tuple[int, int] | None = None) -> Call[Learner]:
    """Return what an edge decides with; with the config and seq that it knows, the evidence only if that is new."""
    query = "" if known is None else "?" + urlencode({"config": known[0], "seq": known[1]})
    return Call("GET", f"{_allocator(name)}/learner{query}", None, reader(Learner))


def push(name: str, edge: str, number: int, body: Json) -> Call[PushAnswer]:
    """Send what an edge has seen, once for each number: `body` has evidence and decisions; `headgate.Edge` makes it."""
    return Call("PUT", f"{_allocator(name)}/edges/{_part(edge)}/pushes/{number}", _json(body), reader(PushAnswer))


def edges(name: str) -> Call[list[EdgeState]]:
    """Return the edges of an allocator, and what they have pushed."""
    return Call("GET", f"{_allocator(name)}/edges", None, lambda data: list(map(reader(EdgeState), data["edges"])))


def health() -> Call[str]:
    """Return how the service is, if it can do its work; else raise an `UnavailableError`."""
    return Call("GET", "/readyz", None, lambda data: str(data["status"]))


# -- parts -----------------------------------------------------------------------------------------------------------


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


def _modes(
    baseline: Baseline | None, holdout: float | None, shadow: bool | None, guard: Json | Literal[False] | None
) -> dict[str, Any]:
    """Return what is said of these: a service that does not know them need not be told of none."""
    said = {"baseline": baseline, "holdout": holdout, "shadow": shadow, "guard": guard}
    return {field: value for field, value in said.items() if value is not None}


def _outcome(results: Results, spent: float | None, amounts: Mapping[str, float] | None) -> dict[str, Any]:
    given: object = results
    if not isinstance(given, Mapping):
        raise InputError(
            f"results must be a threshold, True or None by arm, such as {{'q1': 3.2, 'q2': None}}, got {given!r}"
        )
    unknown = [arm for arm in amounts or () if arm not in results]
    if unknown:
        raise InputError(f"amounts must be of arms that have a result, got {unknown[0]!r}")
    said: dict[str, dict[str, Any]] = {
        arm: {"success": value is not None, "threshold": None if value is True else value}
        for arm, value in results.items()
    }
    for arm, amount in (amounts or {}).items():
        said[arm]["amount"] = amount
    return {"results": said} if spent is None else {"results": said, "spent": spent}


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
    key, owner = _part(_id(decision)), decision.allocator if isinstance(decision, Decision) else allocator
    return f"/v1/decisions/{key}" if owner is None else f"{_allocator(owner)}/decisions/{key}"


def _id(decision: str | Decision) -> str:
    given: object = decision
    if isinstance(given, Mapping):
        raise InputError("the decision comes first: report(decision, results)")
    if not isinstance(given, str | Decision):
        raise InputError(f"a decision must be what decide() returned, or its id, got {given!r}")
    return decision.decision_id if isinstance(decision, Decision) else decision


def _evidence(evidence: str | Path | Json | HasDict | None) -> dict[str, Any] | None:
    if isinstance(evidence, str | Path):
        return warm.read_evidence(evidence)
    if evidence is None or isinstance(evidence, Mapping):
        return None if evidence is None else dict(evidence)
    return evidence.to_dict()


def _plain_law(law: Law | None) -> Any:
    return law if law is None or isinstance(law, str | Mapping) else law.to_dict()


def _allocator(name: str) -> str:
    given: object = name
    if not isinstance(given, str):
        raise InputError(f'the allocator\'s name comes first, such as decide("quiz", 20.0), got {given!r}')
    return f"/v1/allocators/{_part(name)}"


def _part(text: str) -> str:
    """Return a text as one part of a path, even if it is '..'."""
    given: object = text
    if not isinstance(given, str):
        raise InputError(f"a name or an id must be text, got {given!r}")
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
