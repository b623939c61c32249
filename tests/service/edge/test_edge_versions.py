"""An edge follows its allocator: new versions, arms that come and go, evidence that is taken back, the archive."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

import headgate as hg
from headgate.client.errors import ConflictError
from headgate.service.bodies import EvidenceBody
from headgate.service.edge_bodies import Push
from headgate.service.engine.pushes import digest_of
from headgate.service.store import open_database, schema
from headgate.service.verify import verify
from tests.service.edge.conftest import ARMS, LAW, QUICK, Awaited, play


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_edge_follows_its_allocator(service: str, url: str, kind: str) -> None:
    with hg.Client(service, retry=QUICK) as client:
        client.put_allocator("quiz", ARMS, LAW, 30.0)
        edge: Any = hg.Edge(client, "quiz") if kind == "sync" else Awaited(service, "quiz")
        edge.pull()
        seen = play(edge, 12, np.random.default_rng(2))
        before = edge.decide(20.0)
        assert before.version == 0
        edge.sync()
        client.change("quiz", policy="uniform")  # evidence is as the edge knows it: the version alone is news
        edge.pull()
        even = edge.decide(20.0)
        assert even.version == 1
        assert list(even.allocation.values()) == pytest.approx([20.0 / 3] * 3)
        client.change("quiz", arms=[{"name": "q1", "upper": 1.5}], law="exponential")
        edge.pull()
        assert edge.decide(20.0).allocation["q1"] <= 1.5
        client.retire_arm("quiz", "q1")
        edge.pull()
        after = edge.decide(20.0)
        assert (after.version, sorted(after.allocation)) == (3, ["q2", "q3"])
        edge.report(before, dict.fromkeys(ARMS), amounts=dict.fromkeys(ARMS, 2.0))  # made by a version of before
        edge.report(even, dict.fromkeys(ARMS))
        edge.sync()
        assert np.array_equal(edge.evidence.bins, hg.Evidence.from_dict(client.export_evidence("quiz"), ARMS).bins)
        assert edge.evidence.trials.sum() == seen.trials.sum() + 6
        taken = client.retract("quiz", "r", since=datetime(2026, 1, 1, tzinfo=UTC))
        assert {push.edge for push in taken.pushes} == {edge.id}
        edge.pull()
        assert not edge.evidence.bins.any(), "what was taken back is not known here either"
        client.archive("quiz")
        edge.pull()
        with pytest.raises(ConflictError, match="archived: it makes no more decisions"):
            edge.decide(20.0)
        edge.report(after, {"q2": None, "q3": None})
        edge.push()
        if kind == "async":
            edge.close()
    database = open_database(url)
    assert verify(database) == []
    texts = database.look(lambda c: c.execute(select(schema.pushes.c.decisions)).scalars().all())
    versions = {one["decision_id"]: one["version"] for text in texts for one in json.loads(text)}
    assert [versions[made.decision_id] for made in (before, even, after)] == [0, 1, 3]
    database.close()


def test_pushes_from_before_versions_are_known_again() -> None:
    """What tells pushes apart is what it was: an edge that was not upgraded may send one again."""
    body = EvidenceBody.model_validate(hg.Evidence.empty(3, 30.0).to_dict(ARMS))
    made = {"decision_id": "e.0", "budget": 8.0, "allocation": {"q1": 8.0}, "made_at": "2026-01-01T12:00:00Z",
            "results": {"q1": {"success": True, "threshold": 3.1}}}  # fmt: skip
    push = Push.model_validate({"evidence": body.model_dump(), "decisions": [made]})
    assert digest_of(push) == "e6c88b158a7be8beced1bb78f0572d533d08dbe26c65df44bf5825b4131a3875"
    named = Push.model_validate({"evidence": body.model_dump(), "decisions": [made | {"version": 2}]})
    assert digest_of(named) != digest_of(push)
