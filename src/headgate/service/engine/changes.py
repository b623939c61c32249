"""Changes to allocators: created, archived, arms added and retired, evidence imported. Each is one transaction."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Connection, RowMapping, insert, select, update

from headgate.errors import InputError
from headgate.evidence import Evidence
from headgate.service import clock
from headgate.service.bodies import EvidenceBody, ImportAnswer
from headgate.service.engine.learner import Learner
from headgate.service.faults import ConflictError, NotFoundError, RefusedError
from headgate.service.spec import MOST_ARMS, AllocatorSpec, ArmSpec, build_policy, check, meaning, resolved_arms
from headgate.service.store import schema, statements
from headgate.service.store.audit import note


def create(connection: Connection, actor: str, name: str, spec: AllocatorSpec) -> bool:
    """Create an allocator; False if there is the same already."""
    check(spec)
    table = schema.allocators
    before = connection.execute(select(table.c.spec).where(table.c.name == name)).scalar()
    if before is not None:
        if meaning(AllocatorSpec.model_validate_json(before)) != meaning(spec):
            raise ConflictError(f"allocator {name!r} exists with another body: archive it and choose another name")
        return False
    moment = clock.now()
    made = connection.execute(
        insert(table).values(name=name, spec=spec.canonical(), on_expiry=spec.on_expiry, created_at=moment)
    )
    (key,) = made.inserted_primary_key or (0,)
    _add_arms(connection, key, 0, resolved_arms(spec), moment)
    note(connection, actor, "create allocator", name, {"arms": len(spec.arms)})
    return True


def archive(connection: Connection, actor: str, name: str) -> None:
    """Let an allocator make no more decisions; outcomes still count."""
    row = locked(connection, name)
    if row["archived_at"] is None:
        _reconfigure(connection, row, archived_at=clock.now())
        note(connection, actor, "archive allocator", name, {})


def add_arm(connection: Connection, actor: str, name: str, arm: ArmSpec) -> bool:
    """Add an arm, or bring a retired one back; False if it is there already."""
    row, arms = locked(connection, name), schema.arms
    spec = AllocatorSpec.model_validate_json(row["spec"])
    known = connection.execute(select(arms).where(arms.c.allocator_id == row["id"])).all()
    text = arm.model_dump_json()
    before = next((a for a in known if a.name == arm.name), None)
    if before is not None and before.spec != text:
        raise ConflictError(f"arm {arm.name!r} exists with another body")
    if before is not None and before.retired_at is None:
        return False
    if before is None and len(known) >= MOST_ARMS:
        raise ConflictError(f"an allocator has at most {MOST_ARMS} arms, retired ones included")
    kept = [ArmSpec.model_validate_json(a.spec) for a in known if a.retired_at is None]
    build_policy(spec, [*kept, arm])
    if before is None:
        _add_arms(connection, row["id"], len(known), [arm], clock.now())
    else:
        connection.execute(
            update(arms)
            .where(arms.c.allocator_id == row["id"], arms.c.position == before.position)
            .values(retired_at=None)
        )
    _reconfigure(connection, row)
    note(connection, actor, "add arm", name, {"arm": arm.name})
    return True


def retire_arm(connection: Connection, actor: str, name: str, arm: str) -> None:
    """Give an arm nothing any more; what is still heard of it counts."""
    row, arms = locked(connection, name), schema.arms
    spec = AllocatorSpec.model_validate_json(row["spec"])
    known = connection.execute(select(arms).where(arms.c.allocator_id == row["id"])).all()
    found = next((a for a in known if a.name == arm), None)
    if found is None:
        raise NotFoundError(f"allocator {name!r} has no arm {arm!r}")
    if found.retired_at is not None:
        return
    left = [ArmSpec.model_validate_json(a.spec) for a in known if a.retired_at is None and a.name != arm]
    if not left:
        raise ConflictError(f"{arm!r} is the last arm of allocator {name!r}: archive the allocator instead")
    build_policy(spec, left)
    connection.execute(
        update(arms)
        .where(arms.c.allocator_id == row["id"], arms.c.position == found.position)
        .values(retired_at=clock.now())
    )
    _reconfigure(connection, row)
    note(connection, actor, "retire arm", name, {"arm": arm})


def import_evidence(connection: Connection, actor: str, name: str, key: str, body: EvidenceBody) -> ImportAnswer:
    """Add evidence gathered elsewhere, once for each key."""
    row, table = locked(connection, name), schema.imports
    learner = Learner(connection, row)
    new = evidence_of_body(body, learner.names, learner.spec.max_budget)
    trials = int(new.trials.sum())
    before = connection.execute(
        select(table.c.evidence).where(table.c.allocator_id == row["id"], table.c.id == key)
    ).scalar()
    if before is not None:
        if EvidenceBody.model_validate_json(before) != body:
            raise ConflictError(f"import {key!r} was made with another body")
        return ImportAnswer(import_id=key, repeated=True, trials=trials)
    if not np.all(learner.evidence.bins + new.bins < 2.0**53):
        raise RefusedError(
            "with what is there already, totals must stay below 2^53, or sums would not be exact", "arms"
        )
    learner.add(new.bins)
    cells = learner.settle()
    if cells:
        statements.ADD.each(connection, cells)
    connection.execute(
        insert(table).values(allocator_id=row["id"], id=key, evidence=body.model_dump_json(), imported_at=clock.now())
    )
    connection.execute(update(schema.allocators).where(schema.allocators.c.id == row["id"]).values(seq=learner.seq))
    note(connection, actor, "import evidence", name, {"import": key, "trials": trials})
    return ImportAnswer(import_id=key, repeated=False, trials=trials)


def evidence_of_body(body: EvidenceBody, names: list[str], max_budget: float) -> Evidence:
    """Return imported evidence of these arms, or raise if no log of theirs could have left it."""
    if body.max_budget != max_budget:
        raise RefusedError(f"max_budget must be the allocator's, {max_budget:g}, got {body.max_budget:g}", "max_budget")
    try:
        return Evidence.from_dict(body.model_dump(), names)
    except InputError as wrong:
        raise RefusedError(str(wrong), "arms") from wrong


def locked(connection: Connection, name: str) -> RowMapping:
    """Return an allocator's row, locked until the transaction ends."""
    table = schema.allocators
    row = connection.execute(select(table).where(table.c.name == name).with_for_update()).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no allocator {name!r}")
    return row


def _reconfigure(connection: Connection, row: RowMapping, **values: int) -> None:
    table = schema.allocators
    connection.execute(update(table).where(table.c.id == row["id"]).values(config=row["config"] + 1, **values))


def _add_arms(connection: Connection, key: int, first: int, specs: list[ArmSpec], moment: int) -> None:
    connection.execute(
        insert(schema.arms),
        [
            {
                "allocator_id": key,
                "position": first + place,
                "name": arm.name,
                "spec": arm.model_dump_json(),
                "added_at": moment,
            }
            for place, arm in enumerate(specs)
        ],
    )
