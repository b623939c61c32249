"""Retries: when, how long, and that whatever is lost on the way, everything happens exactly once."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headgate.client import (
    Client,
    ClientError,
    ConflictError,
    InvalidRequestError,
    RateLimitError,
    Retry,
    ServerError,
    UnavailableError,
    calls,
)
from headgate.client.retry import Again, Attempts, Done
from headgate.errors import InputError
from tests.client.conftest import Flaky, open_client

FATES = ("pass", "busy", "limit", "drop", "lose", "tear", "gateway", "timeout")


@pytest.mark.long
def test_exactly_once_whatever_is_lost(kind: str, flaky: Flaky, url: str, name: str) -> None:
    """Most requests fail, in seven ways; the service counts every decision and every outcome once."""
    client = open_client(kind, flaky.url)
    client.put_allocator(name, ["a", "b"], "exponential", 10.0, policy="uniform")
    flaky.plan = random.Random(7).choices(FATES, (3, 1, 1, 1, 1, 1, 1, 1), k=400)  # noqa: S311  # a plan, not a secret
    said = {}
    for number in range(60):
        decision = client.decide(name, 8.0)
        results = {"a": decision.allocation["a"] / 2 if number % 3 else None, "b": None}
        assert client.report(decision, results).complete
        said[decision.decision_id] = (decision, results)
    assert len(flaky.plan) < 250
    client.close()
    with Client(url) as direct:
        past = {one.decision.decision_id: (one.decision, one.results) for one in direct.history(name)}
        counts = direct.allocator(name).counts
        played = direct.export_evidence(name)["arms"]["a"]["played"]
    assert past == said
    assert (counts.decisions, counts.complete, counts.contradictions) == (60, 60, 0)
    assert counts.duplicates > 10  # answers were lost after the commit, and asked for again
    assert sum(count for _, count, _ in played) == 60


@pytest.mark.parametrize("fate", FATES)
def test_each_way_to_fail_is_survived(kind: str, flaky: Flaky, name: str, fate: str) -> None:
    client = open_client(kind, flaky.url)
    client.put_allocator(name, ["a"], "exponential", 10.0)
    flaky.plan, flaky.seen = [fate, fate], []
    assert client.decide(name, 8.0).allocation == {"a": pytest.approx(8.0)}
    assert len(flaky.seen) == (1 if fate == "pass" else 3)
    client.close()


def test_a_batch_that_was_lost_is_the_same_batch_again(kind: str, flaky: Flaky, name: str) -> None:
    client = open_client(kind, flaky.url)
    client.put_allocator(name, ["a"], "exponential", 10.0)
    flaky.plan = ["lose", "tear"]
    decisions = client.decide_many(name, [1.0, 2.0])
    assert [one.decision for one in client.history(name)] == decisions[::-1]
    client.close()


def test_refusals_are_not_repeated(kind: str, flaky: Flaky, name: str) -> None:
    client = open_client(kind, flaky.url, "hg_id_secret")
    client.put_allocator(name, ["a"], "exponential", 10.0)
    flaky.seen = []
    with pytest.raises(InvalidRequestError):
        client.decide(name, 99.0)
    with pytest.raises(ConflictError):
        client.put_allocator(name, ["b"], "exponential", 10.0)
    assert len(flaky.seen) == 2
    assert {headers["authorization"] for _, _, headers in flaky.seen} == {"Bearer hg_id_secret"}
    client.close()


@pytest.mark.parametrize(
    ("fate", "error"), [("busy", UnavailableError), ("limit", RateLimitError), ("gateway", UnavailableError)]
)
def test_patience_ends(kind: str, flaky: Flaky, fate: str, error: type[Exception]) -> None:
    client = open_client(kind, flaky.url, retry=Retry(first=0.01, most=0.02, deadline=1.0))
    flaky.plan = [fate] * 1000
    with pytest.raises(error, match="status"):
        client.allocators()
    assert 1 <= len(flaky.seen) < 1000  # how many depends on the machine
    client.close()


def test_nobody_there(kind: str) -> None:
    client = open_client(kind, "http://127.0.0.1:1", retry=Retry(first=0.01, most=0.02, deadline=0.1))
    with pytest.raises(UnavailableError, match="no answer") as error:
        client.allocators()
    assert error.value.status is None
    client.close()


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def attempts(retry: Retry, clock: Clock, chance: float = 1.0) -> Attempts[Any]:
    return Attempts(calls.health(), retry, clock, lambda: chance)


def test_pauses_double_up_to_the_longest() -> None:
    tries = attempts(Retry(first=0.5, most=3.0, deadline=100.0), Clock())
    pauses = [tries.failed(OSError("gone")).pause for _ in range(6)]
    assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0, 3.0]
    assert attempts(Retry(), Clock(), chance=0.0).failed(OSError()).pause == 0.0


def test_what_is_tried_again() -> None:
    """Too many requests, and a service that cannot be reached or used now; nothing else gets better by itself."""
    for status in range(300, 600):
        tries = attempts(Retry(first=0.5, deadline=60.0), Clock())
        if status in {429, 502, 503, 504}:
            assert tries.answered(status, {}, b"<h1>not now</h1>") == Again(0.5), status
        else:
            with pytest.raises(ClientError) as error:
                tries.answered(status, {}, b"")
            assert error.value.status == status


def test_the_service_may_ask_for_a_longer_pause() -> None:
    tries = attempts(Retry(first=0.5, deadline=60.0), Clock())
    assert tries.answered(429, {"retry-after": "7"}, b"") == Again(7.5)
    assert tries.answered(503, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, b"") == Again(1.0)
    with pytest.raises(UnavailableError):
        tries.answered(503, {"retry-after": "60"}, b"")


def test_no_try_outlasts_the_deadline() -> None:
    clock = Clock()
    tries = attempts(Retry(first=0.5, attempt=10.0, deadline=12.0), clock)
    assert tries.timeout() == 10.0
    clock.now += 5.0
    assert tries.timeout() == 7.0
    clock.now += 6.8
    with pytest.raises(UnavailableError, match="gone"):
        tries.failed(OSError("gone"))


def test_what_is_not_our_answer() -> None:
    tries = attempts(Retry(), Clock())
    assert tries.answered(200, {}, b'{"status": "ok"}') == Done("ok")
    for status, content in ((200, b"<html>"), (200, b"[]"), (200, b"{}"), (500, b"oops"), (500, b'{"error": 3}')):
        with pytest.raises(ServerError):
            tries.answered(status, {}, content)


@pytest.mark.parametrize("wrong", [0.0, -1.0, float("inf"), float("nan")])
def test_patience_is_checked(wrong: float) -> None:
    with pytest.raises(InputError, match="deadline"):
        Retry(deadline=wrong)
