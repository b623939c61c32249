"""The page of an allocator's past: by the clock, arm by arm, with the decisions as they came."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from headgate.service.settings import Settings
from tests.service.harness import QUIZ, results, running


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[httpx.Client]:
    with running(Settings(database=f"sqlite:///{tmp_path / 'past.db'}", keys=False)) as client:
        client.put("/v1/allocators/quiz", json=QUIZ)
        yield client


def decide(client: httpx.Client) -> tuple[str, dict[str, float]]:
    made = client.post("/v1/allocators/quiz/decisions", json={"budget": 20.0}).json()
    return made["decision_id"], made["allocation"]


def test_a_new_allocator_has_no_past(pages: httpx.Client) -> None:
    data = pages.get("/allocators/quiz/past/data").json()
    assert data["at"] == []
    assert data["arms"] == {}
    assert data["decisions"] == []


def test_decisions_are_listed_newest_first_with_what_was_heard(pages: httpx.Client) -> None:
    first, allocation = decide(pages)
    won = next(arm for arm, amount in allocation.items() if amount > 0.0)
    said = {"results": results(allocation, {won})}
    pages.post(f"/v1/decisions/{first}/outcome", json=said).raise_for_status()
    second, _ = decide(pages)
    data = pages.get("/allocators/quiz/past/data").json()
    assert [one["id"] for one in data["decisions"]] == [second, first]
    newest, oldest = data["decisions"]
    assert oldest["won"] == [won]
    assert oldest["complete"]
    assert oldest["allocation"] == allocation
    assert oldest["budget"] == 20.0
    assert not newest["complete"]
    assert newest["heard"] == 0
    assert datetime.fromisoformat(oldest["at"]) <= datetime.fromisoformat(newest["at"])


def test_snapshots_are_by_the_clock_and_by_arm(pages: httpx.Client) -> None:
    for _ in range(3):
        made, allocation = decide(pages)
        pages.post(f"/v1/decisions/{made}/outcome", json={"results": results(allocation, set(list(allocation)[:1]))})
    data, deadline = pages.get("/allocators/quiz/past/data").json(), time.monotonic() + 30.0
    while not data["at"] and time.monotonic() < deadline:  # the snapshot is taken beside the requests
        data = pages.get("/allocators/quiz/past/data").json()
    times = [datetime.fromisoformat(at) for at in data["at"]]
    assert times == sorted(times)
    assert times
    assert set(data["arms"]) == set(QUIZ["arms"])
    for then in data["arms"].values():
        assert len(then) == len(times)
        p, low, high, rate, *_ = then[-1]
        assert 0.0 <= low <= p <= high <= 1.0
        assert rate > 0.0


def test_the_page_is_like_the_others(pages: httpx.Client) -> None:
    found = pages.get("/allocators/quiz/past")
    assert found.status_code == 200
    assert "default-src 'none'" in found.headers["content-security-policy"]
    assert 'href="/allocators/quiz"' in found.text
    assert 'href="/allocators/quiz/past"' in pages.get("/allocators/quiz").text
    assert pages.get("/static/past.js").status_code == 200
    missing = pages.get("/allocators/none/past")
    assert missing.status_code == 404
    assert "there is no allocator" in missing.text
    assert missing.headers["content-type"].startswith("text/html")
