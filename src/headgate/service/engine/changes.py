"""Changes to allocators: created, archived, arms added and retired, evidence imported. Each is one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, RowMapping, insert, select, update

from headgate.errors import InputError
from headgate.evidence import Evidence
from headgate.policies import Policy
from headgate.service import clock
from headgate.service.bodies import EvidenceBody, ImportAnswer
from headgate.service.engine.learner import Learner
from headgate.service.engine.modes import write_terms
from headgate.service.engine.order import in_order
from headgate.service.engine.windows import turn
from headgate.service.faults import ConflictError, NotFoundError, RefusedError
from headgate.service.spec import (
    MOST_ARMS,
    AllocatorSpec,
    ArmSpec,
    build_policy,
    meaning,
    resolved_arms,
    seed_of,
)
from headgate.service.spec_checks import check
from headgate.service.store import schema, statements
from headgate.service.store.audit import note
from headgate.service.store.database import write
from headgate.service.store.keys import ANYBODY, Asker
from headgate.service.store.rows import arms_of, row_of

WARM_START = "warm-start"
"""The import of the evidence that an allocator is created with."""


def create(
    connection: Connection,
    actor: str,
    name: str,
    spec: AllocatorSpec,
    evidence: EvidenceBody | None = None,
    asker: Asker = ANYBODY,
) -> bool:
    """Create an allocator that knows this evidence; False if there is the same already."""
    check(spec)
    table = schema.allocators
    before = connection.execute(select(table.c.spec).where(table.c.name == name)).scalar()
    if before is not None:
        if meaning(AllocatorSpec.model_validate_json(before)) != meaning(spec):
            raise ConflictError(
                f"allocator {name!r} exists with another body: change it, or archive it and choose another name"
            )
        if evidence is not None and evidence != _warm_start(connection, name):
            raise ConflictError(f"allocator {name!r} exists and did not begin with this evidence: import it instead")
        return False
    moment, fading = clock.now(), spec.fading
    begins, until = (None, None) if fading is None else fading.window(moment)
    result = connection.execute(
        insert(table).values(
            name=name,
            spec=spec.canonical(),
            on_expiry=spec.on_expiry,
            seed=seed_of(spec, name),
            created_at=moment,
            window_at=begins,
            window_until=until,
        )
    )
    (key,) = result.inserted_primary_key or (0,)
    arms = resolved_arms(spec)
    _add_arms(connection, key, 0, arms, moment)
    write_terms(connection, key, 0, spec, arms)
    note(connection, actor, "create allocator", name, {"version": 0} | details_of(spec))
    if evidence is not None:
        import_evidence(connection, actor, name, WARM_START, evidence, "evidence", asker)
    return True


def _warm_start(connection: Connection, name: str) -> EvidenceBody | None:
    table, row = schema.imports, row_of(connection, name)
    mine = table.c.allocator_id == row["id"], table.c.id == WARM_START
    text = connection.execute(select(table.c.evidence).where(*mine)).scalar()
    return None if text is None else EvidenceBody.model_validate_json(text)


def archive(connection: Connection, actor: str, name: str) -> None:
    """Let an allocator make no more decisions; outcomes still count."""
    row = row_of(connection, name, lock=True)
    if row["archived_at"] is None:
        in_use = _in_use({arm.name: arm for arm in arms_of(connection, row["id"])})
        _reconfigure(connection, row, in_use, archived_at=clock.now())
        note(connection, actor, "archive allocator", name, {"version": row["config"] + 1})


def add_arm(connection: Connection, actor: str, name: str, arm: ArmSpec) -> bool:
    """Add an arm, or bring a retired one back; False if it is there already."""
    row = row_of(connection, name, lock=True)
    arms = {a.name: a for a in arms_of(connection, row["id"])}
    before = arms.get(arm.name)
    if before is not None and ArmSpec.model_validate_json(before.spec) != arm:
        raise ConflictError(f"arm {arm.name!r} exists with another body")
    if before is not None and before.retired_at is None:
        return False
    if before is None and len(arms) >= MOST_ARMS:
        raise ConflictError(f"an allocator has at most {MOST_ARMS} arms, retired ones included")
    in_use = [*_in_use(arms), arm]
    _check_arms(row, in_use)
    if before is None:
        _add_arms(connection, row["id"], len(arms), [arm], clock.now())
    else:
        _retire(connection, before, None)
    _reconfigure(connection, row, in_use)
    note(connection, actor, "add arm", name, {"version": row["config"] + 1, "arms": [arm.model_dump()]})
    return True


def retire_arm(connection: Connection, actor: str, name: str, arm: str) -> None:
    """Give an arm nothing any more; what is still heard of it counts."""
    row = row_of(connection, name, lock=True)
    arms = {a.name: a for a in arms_of(connection, row["id"])}
    if arm not in arms:
        raise NotFoundError(f"allocator {name!r} has no arm {arm!r}")
    if arms[arm].retired_at is not None:
        return
    rest = [spec for spec in _in_use(arms) if spec.name != arm]
    if not rest:
        raise ConflictError(f"{arm!r} is the last arm of allocator {name!r}: archive the allocator instead")
    _check_arms(row, rest)
    _retire(connection, arms[arm], clock.now())
    _reconfigure(connection, row, rest)
    note(connection, actor, "retire arm", name, {"version": row["config"] + 1, "retired": arm})


def _in_use(arms: Mapping[str, Row[Any]]) -> list[ArmSpec]:
    return [ArmSpec.model_validate_json(arm.spec) for arm in arms.values() if arm.retired_at is None]


def _check_arms(row: RowMapping, arms: list[ArmSpec]) -> None:
    refuse_in_order(build_policy(AllocatorSpec.model_validate_json(row["spec"]), arms, row["seed"]), "its arms stay")


def refuse_in_order(policy: Policy, words: str) -> None:
    """Refuse a policy that is a fold of its log, in these words."""
    if in_order(policy):
        raise ConflictError(f"policy {policy.name!r} remembers more than sums of evidence, in their order: {words}")


def _retire(connection: Connection, arm: Row[Any], moment: int | None) -> None:
    table = schema.arms
    here = table.c.allocator_id == arm.allocator_id, table.c.position == arm.position
    connection.execute(update(table).where(*here).values(retired_at=moment))


def import_evidence(
    connection: Connection,
    actor: str,
    name: str,
    key: str,
    body: EvidenceBody,
    within: str = "",
    asker: Asker = ANYBODY,
) -> ImportAnswer:
    """Add evidence gathered elsewhere, once for each key."""
    row, table = row_of(connection, name, lock=True), schema.imports
    learner = Learner(connection, row)
    refuse_in_order(learner.policy, "it cannot begin with evidence from elsewhere")
    new = evidence_of_body(body, learner.names, learner.spec.max_budget, within)
    trials = int(new.trials.sum())
    before = connection.execute(
        select(table.c.evidence).where(table.c.allocator_id == row["id"], table.c.id == key)
    ).scalar()
    if before is not None:
        if EvidenceBody.model_validate_json(before) != body:
            raise ConflictError(f"import {key!r} was made with another body")
        return ImportAnswer(import_id=key, repeated=True, trials=trials)
    moment = add_evidence(connection, row, learner, new, within)
    connection.execute(
        insert(table).values(
            allocator_id=row["id"],
            id=key,
            evidence=body.model_dump_json(),
            imported_at=moment,
            after=row["decisions"],
            key_id=asker.key_id,
        )
    )
    note(connection, actor, "import evidence", name, {"import": key, "trials": trials})
    return ImportAnswer(import_id=key, repeated=False, trials=trials)


def add_evidence(connection: Connection, row: RowMapping, learner: Learner, new: Evidence, within: str = "") -> int:
    """Add evidence from elsewhere to an allocator's sum; return when. `within` is the field of the request with it."""
    if not np.all(learner.evidence.bins + new.bins < 2.0**53):
        raise RefusedError(
            "with what is there already, totals must stay below 2^53, or sums would not be exact",
            _within("arms", within),
        )
    moment = clock.now()
    begun = turn(connection, learner, row, moment)
    learner.add(new.bins)
    write(connection, learner.settle(), statements.IN_THIS_ORDER)
    connection.execute(update(schema.allocators).where(schema.allocators.c.id == row["id"]).values(seq=learner.seq))
    return max(moment, (dict(row) | begun)["window_at"] or 0)


def evidence_of_body(body: EvidenceBody, names: list[str], max_budget: float, within: str = "") -> Evidence:
    """Return evidence of these arms from elsewhere, or raise if no log of theirs could have left it."""
    if body.max_budget != max_budget:
        raise RefusedError(
            f"max_budget must be the allocator's, {max_budget:g}, got {body.max_budget:g}",
            _within("max_budget", within),
        )
    try:
        return Evidence.from_dict(body.model_dump(), names)
    except InputError as wrong:
        raise RefusedError(str(wrong), _within("arms", within)) from wrong


def _within(field: str, outer: str) -> str:
    return f"{outer}.{field}" if outer else field


def _reconfigure(connection: Connection, row: RowMapping, in_use: list[ArmSpec], **values: int) -> None:
    table, version = schema.allocators, row["config"] + 1
    connection.execute(update(table).where(table.c.id == row["id"]).values(config=version, **values))
    write_terms(connection, row["id"], version, AllocatorSpec.model_validate_json(row["spec"]), in_use)
    keep_state(connection, row["id"], version)


def keep_state(connection: Connection, allocator_id: int, version: int) -> None:
    """Let the state that was kept of a policy be that of a new version too, which does not change the policy."""
    table = schema.states
    connection.execute(update(table).where(table.c.allocator_id == allocator_id).values(config=version))


def details_of(spec: AllocatorSpec) -> dict[str, Any]:
    """Return what the audit log has of a version."""
    details = spec.model_dump(include={"law", "policy", "keep_days"})
    details |= {name: value for name, value in spec.model_dump(include={"half_life", "window"}).items() if value}
    if spec.baseline is not None:
        details |= spec.model_dump(include={"baseline", "holdout", "shadow", "guard"})
    return details


def _add_arms(connection: Connection, key: int, first: int, specs: list[ArmSpec], moment: int) -> None:
    connection.execute(
        insert(schema.arms),
        [
            {
                "allocator_id": key,
                "position": place,
                "name": arm.name,
                "spec": arm.model_dump_json(),
                "added_at": moment,
            }
            for place, arm in enumerate(specs, first)
        ],
    )
