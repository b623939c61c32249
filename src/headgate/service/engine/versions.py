"""Versions of an allocator: its law, its policy, and limits, values and laws of its arms are changed while it decides.

Evidence is kept, for it says what was seen and not what was believed. Every change has the next number, the `config`
of the allocator's row, and is written down in the audit log; a decision names the version that made it.
"""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
from sqlalchemy import Connection, RowMapping, select, update

from headgate.errors import BudgetError, InputError, UnsupportedError
from headgate.laws import from_dict
from headgate.service import clock
from headgate.service.engine.order import in_order
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
    in_use = [arm for arm, stored in zip(after, rows, strict=True) if stored.retired_at is None]
    _check(row, old, spec, before, after, in_use, _blamed(body))
    table = schema.arms
    for stored, arm, was in zip(rows, after, before, strict=True):
        if arm != was:
            here = table.c.allocator_id == row["id"], table.c.position == stored.position
            connection.execute(update(table).where(*here).values(spec=arm.model_dump_json()))
    version = row["config"] + 1
    connection.execute(
        update(schema.allocators)
        .where(schema.allocators.c.id == row["id"])
        .values(spec=spec.canonical(), seed=int(spec.policy.get("seed", row["seed"])), config=version)
    )
    arms = [arm.model_dump() for arm in new.values()]
    said = {"version": version, "law": spec.law, "policy": spec.policy, "arms": arms, "keep_days": spec.keep_days}
    decides = meaning(spec) | {"keep_days": None} != meaning(old) | {"keep_days": None} or after != before
    note(connection, actor, _CHANGE if decides else "change keep_days", name, said)
    return True


def versions(connection: Connection, name: str) -> Versions:
    """Return what has changed an allocator, the first change first, as far as it was written down with its version."""
    row_of(connection, name)
    table = schema.audit.c
    found = []
    for one in connection.execute(select(schema.audit).where(table.subject == name).order_by(table.id)).all():
        said = json.loads(one.details)
        if "version" in said:
            when = {"at": clock.as_text(one.at), "actor": one.actor, "action": one.action}
            found.append(Version.model_validate(when | said))
    return Versions(versions=found)


def changed_since(connection: Connection, name: str, version: int | None) -> bool:
    """Whether law, policy or arms were changed after that version; None is one from before they were written down."""
    later = (one for one in versions(connection, name).versions if one.action == _CHANGE)
    return any(one.version > (version or 0) for one in later)


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
    said = {name: value for name in ("law", "policy", "keep_days") if (value := getattr(body, name)) is not None}
    arms = [new.get(arm.name, arm).model_dump() for arm in old.arm_specs()]
    return AllocatorSpec.model_validate(old.model_dump() | said | {"arms": arms})


def _blamed(body: AllocatorChange) -> str:
    return "policy" if body.policy is not None else "law" if body.law is not None else "arms"


def _check(
    row: RowMapping,
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
        policy = build_policy(spec, in_use, row["seed"])
        policy.allocate(spec.max_budget)  # an allocator that cannot decide is none
    except BudgetError as wrong:
        raise RefusedError(str(wrong), "arms") from wrong
    except (InputError, UnsupportedError) as wrong:
        raise RefusedError(str(wrong), field) from wrong
    if np.any(whole != build_law(old, before).whole_arms(len(before))):
        raise RefusedError("arms that count in whole units must go on doing so, and others must not begin", "law")
    for one in (
        build_policy(old, [arm for arm in before if arm.name in {a.name for a in in_use}], row["seed"]),
        policy,
    ):
        if in_order(one):
            raise ConflictError(
                f"policy {one.name!r} remembers more than sums of evidence, in their order: an allocator cannot change "
                "to it or from it"
            )
