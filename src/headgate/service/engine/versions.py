"""Versions of an allocator: law, policy, baseline, and limits, values and laws of arms are changed while it decides.

Evidence is kept, for it says what was seen and not what was believed. Every change has the next number, the `config`
of the allocator's row, and is written down in the audit log; a decision names the version that made it.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
from sqlalchemy import Connection, RowMapping, delete, select, update

from headgate.errors import BudgetError, InputError, UnsupportedError
from headgate.laws import from_dict
from headgate.policies import Guarded, Policy
from headgate.service import clock
from headgate.service.engine.changes import details_of, keep_state
from headgate.service.engine.features import ask_of_anybody
from headgate.service.engine.modes import unguarded, write_terms
from headgate.service.engine.order import in_order
from headgate.service.engine.windows import change as windows_change
from headgate.service.faults import ConflictError, RefusedError
from headgate.service.spec import (
    AllocatorChange,
    AllocatorSpec,
    ArmSpec,
    Version,
    Versions,
    build_law,
    build_policy,
    meaning,
)
from headgate.service.spec_checks import check_baseline, check_fading
from headgate.service.store import schema
from headgate.service.store.audit import note
from headgate.service.store.rows import arms_of, row_of

_CHANGE = "change allocator"
"""As the audit log calls it."""


def change(connection: Connection, actor: str, name: str, body: AllocatorChange) -> bool:
    """Change an allocator from its next decision on; False if it is so already."""
    row = row_of(connection, name, lock=True)
    if row["archived_at"] is not None:
        raise ConflictError(f"allocator {name!r} is archived: it stays as it is")
    rows = arms_of(connection, row["id"])
    before = [ArmSpec.model_validate_json(arm.spec) for arm in rows]
    new = _new_arms(body, {arm.name for arm in rows if arm.retired_at is None})
    after = [new.get(arm.name, arm) for arm in before]
    old = AllocatorSpec.model_validate_json(row["spec"])
    spec = _changed(old, body, new)
    try:
        same = meaning(spec) == meaning(old) and after == before
    except (InputError, UnsupportedError) as wrong:
        raise RefusedError(str(wrong), "law") from wrong
    if same:
        return False
    active = [arm_row.retired_at is None for arm_row in rows]
    in_use, were = ([arm for arm, use in zip(arms, active, strict=True) if use] for arms in (after, before))
    _check(old, spec, before, after, in_use, _blamed(body))
    policy = build_policy(spec, in_use, row["seed"])
    fold = _begin(connection, row, build_policy(old, were, row["seed"]), policy)
    table = schema.arms
    for arm_row, arm, was in zip(rows, after, before, strict=True):
        if arm != was:
            here = table.c.allocator_id == row["id"], table.c.position == arm_row.position
            connection.execute(update(table).where(*here).values(spec=arm.model_dump_json()))
    version = row["config"] + 1
    windows = windows_change(connection, row, spec, clock.now()) if spec.fading != old.fading else {}
    connection.execute(
        update(schema.allocators)
        .where(schema.allocators.c.id == row["id"])
        .values(spec=spec.canonical(), seed=int(spec.policy.get("seed", row["seed"])), config=version, **windows)
    )
    write_terms(connection, row["id"], version, spec, in_use, fold)
    details = {"version": version, "arms": [arm.model_dump() for arm in new.values()]} | details_of(spec)
    decides = meaning(spec) | {"keep_days": None} != meaning(old) | {"keep_days": None} or after != before
    note(connection, actor, _CHANGE if decides else "change keep_days", name, details)
    return True


def _begin(connection: Connection, row: RowMapping, old: Policy, new: Policy) -> tuple[int, int] | None:
    """Let the policy of a new version begin: return after how much of the log, where it follows that from here on.

    One that acts on sums begins with those, guarded or not; one that remembers more cannot change, and goes on.
    """
    version = row["config"] + 1
    if _same(old, new):
        keep_state(connection, row["id"], version)
        return None
    for one in (unguarded(old), unguarded(new)):
        if in_order(one):
            raise ConflictError(
                f"policy {one.name!r} remembers more than sums of evidence, in their order: an allocator cannot change "
                "to it or from it"
            )
    table = schema.states
    connection.execute(delete(table).where(table.c.allocator_id == row["id"]))
    return (row["decisions"], row["reports"]) if in_order(new) else None


def _same(old: Policy, new: Policy) -> bool:
    """Whether two policies are the same to the last option."""

    def options(policy: Policy) -> Any:
        inner = unguarded(policy)
        guard = (policy.share, policy.delta, policy.baseline_of(policy.ask(policy.max_budget)).tolist(),
                 policy.baseline == "even") if isinstance(policy, Guarded) else None  # fmt: skip
        return inner.name, inner.plain_options(), guard

    return bool(options(old) == options(new))


def versions(connection: Connection, name: str) -> Versions:
    """Return what has changed an allocator, the first change first, as far as it was written down with its version."""
    row_of(connection, name)
    table = schema.audit.c
    items = []
    for one in connection.execute(select(schema.audit).where(table.subject == name).order_by(table.id)).all():
        details = json.loads(one.details)
        if "version" in details:
            when = {"at": clock.as_text(one.at), "actor": one.actor, "action": one.action}
            items.append(Version.model_validate(when | details))
    return Versions(versions=items)


def changed_since(connection: Connection, name: str, version: int | None) -> bool:
    """Whether law, policy or arms were changed after that version; None is one from before they were written down."""
    before: Version | None = None
    for one in versions(connection, name).versions:
        if one.law is None:  # an arm came or went
            continue
        if one.action == _CHANGE and one.version > (version or 0):
            decides = [(v.law, v.policy, v.half_life, v.window) for v in (one, before) if v is not None]
            other = before is None or decides[0] != decides[1]
            if other or one.arms or one.guard != (before and before.guard):
                return True
        before = one
    return False


def _new_arms(body: AllocatorChange, in_use: set[str]) -> dict[str, ArmSpec]:
    """Return the arms that are changed, by name."""
    for arm, times in Counter(arm.name for arm in body.arms).items():
        if times > 1:
            raise RefusedError(f"arms must have different names, got {arm!r} twice", "arms")
        if arm not in in_use:
            raise RefusedError(f"there is no arm {arm!r} in use", "arms")
    return {arm.name: arm for arm in body.arms}


def _changed(old: AllocatorSpec, body: AllocatorChange, new: dict[str, ArmSpec]) -> AllocatorSpec:
    """Return the spec as it is to be; arms that came later are not in it."""
    arms = [new.get(arm.name, arm).model_dump() for arm in old.arm_specs()]
    return AllocatorSpec.model_validate(old.model_dump() | body.overrides() | {"arms": arms})


def _blamed(body: AllocatorChange) -> str:
    return next((name for name in ("policy", "law") if getattr(body, name) is not None), "arms")


def _check(
    old: AllocatorSpec,
    spec: AllocatorSpec,
    before: list[ArmSpec],
    after: list[ArmSpec],
    in_use: list[ArmSpec],
    field: str,
) -> None:
    """Raise what is wrong with a change."""
    try:
        if spec.law != old.law and from_dict(spec.law).arm_axis() != ():
            raise RefusedError("law must have one shape for all arms: give arms laws of their own", "law")
        whole = build_law(spec, after).whole_arms(len(after))
        policy = build_policy(spec.model_copy(update={"guard": None}), in_use, 0)
        policy.decide(policy.start(), ask_of_anybody(policy, spec.max_budget))  # one that cannot decide is none
    except BudgetError as wrong:
        raise RefusedError(str(wrong), "arms") from wrong
    except (InputError, UnsupportedError) as wrong:
        raise RefusedError(str(wrong), field) from wrong
    if np.any(whole != build_law(old, before).whole_arms(len(before))):
        raise RefusedError("arms that count in whole units must go on doing so, and others must not begin", "law")
    check_fading(spec, policy)
    check_baseline(spec, in_use if spec.baseline != old.baseline else after)
