"""Calls about what is known and what was logged: estimates, comparisons, decisions, evidence, corrections."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

from headgate.client import answers
from headgate.client.answers import ImportAnswer, Json, Page, RetractionAnswer, reader
from headgate.client.calls.call import Call, HasDict, allocator_path, as_json, path_part
from headgate.client.estimates import Comparison, Estimates, read_estimates
from headgate.errors import InputError


def estimates(name: str, *, budget: float | None = None, level: float = 0.9) -> Call[Estimates]:
    """Return what is known of every arm, with intervals, and the best allocation of `budget` by it."""
    query = {"level": level} if budget is None else {"level": level, "budget": budget}
    return Call("GET", f"{allocator_path(name)}/estimates?{urlencode(query)}", None, read_estimates)


def comparison(name: str, *, level: float = 0.95) -> Call[Comparison]:
    """Return whether an allocator is better than its baseline: the difference of value per decision, with intervals."""
    query = urlencode({"level": level})
    return Call("GET", f"{allocator_path(name)}/comparison?{query}", None, reader(Comparison))


def history(name: str, before: int | None, page: int) -> Call[Page]:
    """Return a page of decisions, newest first."""
    query = {"limit": page} if before is None else {"limit": page, "before": before}
    return Call("GET", f"{allocator_path(name)}/history?{urlencode(query)}", None, answers.read_page)


def decisions(name: str, after: int | None, page: int) -> Call[Page]:
    """Return a page of decisions, oldest first."""
    query = {"limit": page} if after is None else {"limit": page, "after": after}
    return Call("GET", f"{allocator_path(name)}/decisions?{urlencode(query)}", None, answers.read_log)


def export_evidence(name: str) -> Call[dict[str, Any]]:
    """Return all that has been seen: plain data for `import_evidence` and `headgate.Evidence.from_dict`."""
    return Call("GET", f"{allocator_path(name)}/evidence", None, dict)


def import_evidence(name: str, evidence: Json | HasDict, import_id: str) -> Call[ImportAnswer]:
    """Add evidence from elsewhere, once for each `import_id`: of another allocator, or of a log.

    A `headgate.Evidence` has all arms of the allocator in their order; `Evidence.to_dict(names)` may have some of them,
    in any order.
    """
    value: object = evidence
    if isinstance(value, str):
        raise InputError(f"evidence must be that of a log, got {value!r}: import_evidence(name, evidence, import_id)")
    path = f"{allocator_path(name)}/evidence/{path_part(import_id)}"
    return Call(
        "PUT", path, as_json(evidence if isinstance(evidence, Mapping) else evidence.to_dict()), reader(ImportAnswer)
    )


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
    return Call(
        "PUT", f"{allocator_path(name)}/retractions/{path_part(retraction_id)}", as_json(body), reader(RetractionAnswer)
    )


def retractions(name: str) -> Call[list[RetractionAnswer]]:
    """Return what was taken back of an allocator, the first retraction first."""
    path = f"{allocator_path(name)}/retractions"
    return Call("GET", path, None, lambda data: list(map(reader(RetractionAnswer), data["retractions"])))


def forget(name: str, subject: str, *, evidence: Literal["keep", "subtract"] = "keep") -> Call[int]:
    """Remove every decision of a subject with what was reported of it, for good; return how many there were.

    What was learned of it stays in the sums, or is subtracted from them: `evidence`.
    """
    path = f"{allocator_path(name)}/subjects/{path_part(subject)}?{urlencode({'evidence': evidence})}"
    return Call("DELETE", path, None, lambda data: int(data["decisions"]))
