"""Taking what an edge pushes: evidence is added to the sum, decisions are kept for the record, each push once."""

from __future__ import annotations

import hashlib
import json

import numpy as np
from sqlalchemy import Connection, insert, select

from headgate.service.edge_bodies import Push, PushAnswer
from headgate.service.engine.changes import add_evidence, evidence_of_body, refuse_in_order
from headgate.service.engine.learner import Learner
from headgate.service.faults import ConflictError, RefusedError
from headgate.service.store import schema
from headgate.service.store.keys import ANYBODY, Asker
from headgate.service.store.rows import row_of

IN_ORDER = "it cannot decide at edges"


def push(connection: Connection, name: str, edge: str, number: int, body: Push, asker: Asker = ANYBODY) -> PushAnswer:
    """Add what an edge has seen, once for each number of its pushes."""
    row, table = row_of(connection, name, lock=True), schema.pushes
    digest = digest_of(body)
    mine = table.c.allocator_id == row["id"], table.c.edge == edge
    before = connection.execute(select(table.c.digest, table.c.trials).where(*mine, table.c.number == number)).first()
    if before is not None:
        if before.digest != digest:
            raise ConflictError(f"push {number} of edge {edge!r} was made with another body")
        return PushAnswer(edge=edge, number=number, repeated=True, trials=before.trials)
    learner = Learner(connection, row)
    refuse_in_order(learner.policy, IN_ORDER)
    new = evidence_of_body(body.evidence, learner.names, learner.spec.max_budget, "evidence")
    for place, decision in enumerate(body.decisions):
        for field, by_arm in (("allocation", decision.allocation), ("results", decision.results)):
            unknown = next((arm for arm in by_arm if arm not in learner.position), None)
            if unknown is not None:
                raise RefusedError(f"there is no arm {unknown!r}", f"decisions.{place}.{field}")
    moment = add_evidence(connection, row, learner, new, "evidence")
    trials = int(new.trials.sum())
    connection.execute(
        insert(table).values(
            allocator_id=row["id"],
            edge=edge,
            number=number,
            evidence=body.evidence.model_dump_json(),
            decisions=json.dumps([one.model_dump(mode="json") for one in body.decisions]),
            decided=len(body.decisions),
            trials=trials,
            digest=digest,
            pushed_at=moment,
            after=row["decisions"],
            key_id=asker.key_id,
        )
    )
    return PushAnswer(edge=edge, number=number, repeated=False, trials=trials)


def digest_of(body: Push) -> str:
    """Return what tells one push from another; edges that know of no versions send what they always have."""
    unsaid = {"decisions": {"__all__": {"version"}}} if all(one.version is None for one in body.decisions) else None
    return hashlib.sha256(body.model_dump_json(exclude=unsaid).encode()).hexdigest()


def learner_body(learner: Learner, position: tuple[int, int] | None, archived: bool = False) -> dict[str, object]:
    """Return what an edge needs to decide as this learner does; `position` is the config and seq that it has."""
    if learner.spec.holdout or learner.spec.shadow:
        word = (
            "a shadow: its answers are the baseline's" if learner.spec.shadow else "a holdout, which the service draws"
        )
        raise ConflictError(f"allocator {learner.name!r} has {word}: {IN_ORDER}")
    refuse_in_order(learner.policy, IN_ORDER)
    evidence = None
    if position != (learner.config, learner.seq):
        evidence = learner.weighed.to_dict(learner.names)
    return {
        "allocator": learner.name,
        "config": learner.config,
        "seq": learner.seq,
        "arms": learner.names,
        "active": np.asarray(learner.active).tolist(),
        "policy": {"name": learner.policy.name, "options": learner.policy.plain_options()},
        "archived": archived,
        "evidence": evidence,
    }
