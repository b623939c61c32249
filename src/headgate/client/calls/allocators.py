"""Calls about allocators: make, change and archive them, and their arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from headgate.client import warm
from headgate.client.answers import Allocator, Json, reader
from headgate.client.calls.call import Call, HasDict, allocator_path, as_json, path_part
from headgate.errors import InputError

Law = str | Json | HasDict
Baseline = Literal["even"] | Mapping[str, float]


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
    half_life: float | None = None,
    window: float | None = None,
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
    After `keep_days` decisions that are over become their sum; None: never. Where arms change, what was seen counts
    half after `half_life` seconds, or for `window` seconds and then no more.

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
    evidence_body = _evidence(evidence)
    if problem is not None:
        problem_file = warm.read_problem(problem)
        arms, law, units = arms or problem_file.arms, law or problem_file.law, units or problem_file.units
    if max_budget is None and evidence_body is not None:
        max_budget = evidence_body["max_budget"]
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
        | _without_none(half_life=half_life, window=window)
        | _without_none(baseline=baseline, holdout=holdout or None, shadow=shadow or None, guard=guard)
        | ({} if evidence_body is None else {"evidence": evidence_body})
    )
    return Call("PUT", allocator_path(name), as_json(body), reader(Allocator))


def allocator(name: str) -> Call[Allocator]:
    """Return an allocator as it stands."""
    return Call("GET", allocator_path(name), None, reader(Allocator))


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
    half_life: float | Literal[False] | None = None,
    window: float | Literal[False] | None = None,
    baseline: Baseline | None = None,
    holdout: float | None = None,
    shadow: bool | None = None,
    guard: Json | Literal[False] | None = None,
) -> Call[Allocator]:
    """Change law, policy, baseline, arms in use, how evidence fades or how long decisions are kept: a new version.

    What was seen is kept. `arms` are those that change, `{"name", "law", "lower", "upper", "value"}`, each as it shall
    be. `half_life` ends a `window`, and the other way round. `holdout=0`, `shadow=False`, `guard=False`,
    `half_life=False` and `window=False` end these. The same again changes nothing.
    """
    chosen = {"name": policy} if isinstance(policy, str) else policy
    changed = [{**arm, "law": _plain_law(arm.get("law"))} for arm in arms]
    body = {"law": _plain_law(law), "policy": chosen, "arms": changed, "keep_days": keep_days}
    body |= _without_none(half_life=half_life, window=window)
    body |= _without_none(baseline=baseline, holdout=holdout, shadow=shadow, guard=guard)
    return Call("POST", f"{allocator_path(name)}/versions", as_json(body), reader(Allocator))


def archive(name: str) -> Call[Allocator]:
    """Let an allocator make no more decisions; outcomes still count."""
    return Call("POST", f"{allocator_path(name)}/archive", b"", reader(Allocator))


def add_arm(
    name: str, arm: str, *, law: Law | None = None, lower: float = 0.0, upper: float | None = None
) -> Call[Allocator]:
    """Add an arm, or bring a retired one back with all that is known of it."""
    body = {"name": arm, "law": _plain_law(law), "lower": lower, "upper": upper}
    return Call("POST", f"{allocator_path(name)}/arms", as_json(body), reader(Allocator))


def retire_arm(name: str, arm: str) -> Call[Allocator]:
    """Give an arm nothing any more; what is still reported of it counts."""
    return Call("POST", f"{allocator_path(name)}/arms/{path_part(arm)}/retire", b"", reader(Allocator))


def _without_none(**fields: Any) -> dict[str, Any]:
    """Return the fields that have a value: an older service, which does not know the others, is not sent them."""
    return {field: value for field, value in fields.items() if value is not None}


def _evidence(evidence: str | Path | Json | HasDict | None) -> dict[str, Any] | None:
    if isinstance(evidence, str | Path):
        return warm.read_evidence(evidence)
    if evidence is None or isinstance(evidence, Mapping):
        return None if evidence is None else dict(evidence)
    return evidence.to_dict()


def _plain_law(law: Law | None) -> Any:
    return law if law is None or isinstance(law, str | Mapping) else law.to_dict()
