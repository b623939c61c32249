"""Evidence of a log warm-starts an allocator: the library's format is the service's."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest

import headgate as hg
from headgate.service.store import open_database
from headgate.service.verify import verify
from tests.service.harness import QUIZ

ARMS: list[str] = QUIZ["arms"]


def evidence_of_a_log() -> hg.Evidence:
    rng = np.random.default_rng(8)
    x, won = rng.uniform(0.0, 30.0, 300), rng.random(300) < 0.5
    seen = np.where(won, x * rng.random(300), np.nan)
    return hg.Evidence.of_rows(rng.integers(0, 3, 300), x, won, seen, arms=3, max_budget=QUIZ["max_budget"])


@pytest.mark.parametrize("names", [ARMS, None], ids=["by name", "by number"])
def test_a_log_warm_starts_an_allocator(client: httpx.Client, url: str, names: list[str] | None) -> None:
    """What it then exports is the evidence of the log, and it decides as a policy that has learned from the log."""
    log = evidence_of_a_log()
    client.put("/v1/allocators/quiz", json=QUIZ | {"policy": {"name": "thompson", "seed": 3}})
    answer = client.put("/v1/allocators/quiz/evidence/log", json=log.to_dict(names))
    assert answer.json() == {"import_id": "log", "repeated": False, "trials": int(log.trials.sum())}
    assert client.put("/v1/allocators/quiz/evidence/log", json=log.to_dict(names)).json()["repeated"]
    exported = client.get("/v1/allocators/quiz/evidence").json()
    assert exported == log.to_dict(ARMS)
    assert np.array_equal(hg.Evidence.from_dict(exported, ARMS).bins, log.bins)
    known = client.get("/v1/allocators/quiz/estimates").json()["arms"]
    assert [arm["trials"] for arm in known] == log.trials.tolist()
    database = open_database(url)
    assert verify(database) == []
    database.close()


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"max_budget": 31.0}, "max_budget"),
        ({"bins": [4, 16]}, "arms"),
        ({"version": 1}, "version"),
        ({"arms": {"nobody": {}}}, "arms"),
        ({"arms": [{}, {}]}, "arms"),
        ({"arms": {"q1": {"failed": [[9, 1, 2**20 - 1]], "played": [[9, 1, 2**20 - 1]]}}}, "arms"),
        ({"arms": {"q1": {"played": [[90, 2, 3 * 2**20]]}}}, "arms"),
        ({"arms": {"q1": {"played": [[9, 1.5, 2**20]]}}}, "arms.q1.played.0.1"),
    ],
)
def test_evidence_that_cannot_be_is_refused(client: httpx.Client, change: dict[str, Any], field: str) -> None:
    client.put("/v1/allocators/quiz", json=QUIZ)
    refused = client.put("/v1/allocators/quiz/evidence/x", json=evidence_of_a_log().to_dict(ARMS) | change)
    assert refused.status_code == 422
    assert refused.json()["error"]["fields"][0]["field"] == field
    assert client.get("/v1/allocators/quiz/evidence").json()["arms"] == {arm: {} for arm in ARMS}
