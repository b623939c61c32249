"""A real service on either database, and clients that lose and repeat what they send."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("httpx")
pytest.importorskip("fastapi")

import headgate as hg
from headgate.client import Retry
from headgate.client.errors import UnavailableError
from headgate.service.settings import Settings
from tests.service.harness import running

QUICK = Retry(first=0.001, most=0.01, attempt=10.0, deadline=20.0)
LAW = hg.Weibull(1.6)
ARMS = ["q1", "q2", "q3"]
TRUTH = hg.Problem(LAW, [0.9, 0.5, 0.7], [0.2, 0.1, 0.4])


@pytest.fixture
def service(url: str) -> Iterator[str]:
    with running(Settings(database=url, keys=False)) as found:
        yield str(found.base_url)


class Losing(hg.Client):
    """A client whose pushes are lost on the way, answered into the void, or sent twice."""

    def __init__(self, address: str, seed: int) -> None:
        super().__init__(address, retry=QUICK)
        self._fates = np.random.default_rng(seed)
        self.lost = 0

    def send(self, call: Any) -> Any:
        fate = self._fates.random() if call.method == "PUT" else 1.0
        if fate < 0.3:
            self.lost += 1
            raise UnavailableError("lost on the way there")
        answer = super().send(call)
        if fate < 0.5:
            self.lost += 1
            raise UnavailableError("lost on the way back")
        return super().send(call) if fate < 0.7 else answer


class Awaited:
    """An `AsyncEdge` that is called like an `Edge`, so that one test serves both."""

    def __init__(self, address: str, name: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = hg.AsyncClient(address, retry=QUICK)
        self.edge = hg.AsyncEdge(self._client, name, **options)
        self.decide, self.report = self.edge.decide, self.edge.report

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.edge, name)
        if not asyncio.iscoroutinefunction(found):
            return found
        return lambda *args: self._loop.run_until_complete(found(*args))

    def close(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()


def play(edge: Any, rounds: int, rng: np.random.Generator, budget: float = 20.0) -> hg.Evidence:
    """Decide and report; return the evidence of what was seen, recorded by the test itself."""
    seen = hg.Evidence.empty(len(ARMS), 30.0)
    for _ in range(rounds):
        decision = edge.decide(budget)
        x = np.array([decision.allocation[arm] for arm in ARMS])
        feedback = TRUTH.play(x, rng)
        told = rng.random(len(ARMS)) < 0.9
        results = {
            arm: float(feedback.threshold[i]) if feedback.success[i] else None
            for i, arm in enumerate(ARMS)
            if told[i] and x[i] > 0.0
        }
        edge.report(decision, results)
        edge.report(decision, results)
        won = feedback.success & told
        seen.record(x, hg.Feedback(won, np.where(won, feedback.threshold, np.nan), told))
    return seen
