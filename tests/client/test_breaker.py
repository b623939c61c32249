"""A service that does not answer: left alone for a while, a budget split without it, reports that wait for it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from headgate.client import (
    AsyncClient,
    Breaker,
    Client,
    Decision,
    InvalidRequestError,
    NotFoundError,
    Retry,
    UnavailableError,
)
from headgate.client.breaker import Circuit
from headgate.errors import InputError
from tests.client.conftest import QUICK, Flaky, open_client
from tests.client.test_retry import Clock

NOBODY = "http://127.0.0.1:1"
ONCE = Retry(first=1e6, most=1e6, attempt=5.0, deadline=5.0)  # no second try
SHARES = {"a": 3.0, "b": 1.0}


def with_breaker(kind: str, url: str, breaker: Breaker, retry: Retry = ONCE) -> Any:
    found = open_client(kind, url, retry=retry)
    (found if kind == "sync" else found._client)._circuit = Circuit(breaker)
    return found


def test_a_circuit_opens_rests_and_tries_once() -> None:
    clock = Clock()
    circuit = Circuit(Breaker(failures=2, rest=5.0), clock)
    circuit.enter()
    circuit.failed()
    circuit.enter()
    circuit.answered()  # one that is answered in between begins the count anew
    for _ in range(2):
        circuit.enter()
        circuit.failed()
    with pytest.raises(UnavailableError, match=r"asked again in 5\.0 s"):
        circuit.enter()
    clock.now += 5.0
    circuit.enter()  # the trial
    with pytest.raises(UnavailableError):
        circuit.enter()  # and nobody else meanwhile
    circuit.failed()
    clock.now += 4.9
    with pytest.raises(UnavailableError):
        circuit.enter()
    clock.now += 0.2
    circuit.enter()
    circuit.answered()
    circuit.enter()
    circuit.enter()


def test_a_trial_that_never_ends_is_not_the_last() -> None:
    clock = Clock()
    circuit = Circuit(Breaker(failures=1, rest=5.0), clock)
    circuit.enter()
    circuit.failed()
    clock.now += 5.0
    circuit.enter()  # a thread that dies here says nothing
    clock.now += 5.0
    circuit.enter()


@pytest.mark.parametrize("wrong", [{"failures": 0}, {"failures": 1.5}, {"rest": 0.0}, {"rest": float("inf")}])
def test_breakers_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Breaker(**wrong)


def test_an_open_breaker_asks_nobody(kind: str, flaky: Flaky, name: str) -> None:
    client = with_breaker(kind, flaky.url, Breaker(failures=2, rest=1000.0))
    flaky.plan = ["drop"] * 100
    for _ in range(5):
        with pytest.raises(UnavailableError):
            client.allocator(name)
    assert len(flaky.seen) == 2
    client.close()


def test_refusals_do_not_open_it(kind: str, url: str, name: str) -> None:
    client = with_breaker(kind, url, Breaker(failures=1, rest=1000.0))
    for _ in range(3):
        with pytest.raises(NotFoundError):
            client.allocator(name)
    client.close()


def test_it_closes_when_the_service_is_back(kind: str, flaky: Flaky, name: str) -> None:
    client = with_breaker(kind, flaky.url, Breaker(failures=1, rest=1e-9))
    flaky.plan = ["drop", "drop"]
    for _ in range(2):
        with pytest.raises(UnavailableError):
            client.allocators()
    assert client.allocators() is not None
    client.close()


def test_a_budget_is_split_without_the_service(kind: str) -> None:
    client = with_breaker(kind, NOBODY, Breaker(failures=1, rest=1000.0))
    for _ in range(2):
        made = client.decide("quiz", 8.0, decision_id="d1", fallback=SHARES)
        assert isinstance(made, Decision)
        assert (made.allocation, made.fallback, made.decision_id) == ({"a": 6.0, "b": 2.0}, True, "d1")
    said = client.report(made, {"a": 1.0, "b": None})
    assert (said.accepted, said.complete) == ((), False), "the service does not know of it: nothing is sent"
    with pytest.raises(UnavailableError):
        client.decide("quiz", 8.0)
    client.close()


def test_a_service_that_answers_needs_no_fallback(client: Any, name: str) -> None:
    client.put_allocator(name, ["a", "b"], "exponential", 10.0)
    made = client.decide(name, 8.0, fallback=SHARES)
    assert not made.fallback
    assert client.decision(made).decision == client.decision(made.decision_id).decision == made


@pytest.mark.parametrize(
    ("shares", "budget"), [({}, 1.0), ({"a": 0.0}, 1.0), ({"a": -1.0, "b": 3.0}, 1.0), ({"a": float("nan")}, 1.0),
                           ({"a": float("inf")}, 1.0), ({"a": 1.0}, None)],
)  # fmt: skip
def test_fallbacks_are_checked(kind: str, shares: dict[str, float], budget: float | None) -> None:
    client = open_client(kind, NOBODY, retry=ONCE)
    with pytest.raises(InputError, match="fallback"):
        client.decide("quiz", budget, fallback=shares)
    client.close()


def test_what_was_really_given_can_be_said(client: Any, name: str) -> None:
    client.put_allocator(name, ["a", "b"], "exponential", 10.0, policy="uniform")
    made = client.decide(name, 8.0)
    assert client.report(made, {"a": None, "b": None}, amounts={"a": 1.0}).complete
    played = client.export_evidence(name)["arms"]["a"]["played"]
    other = client.export_evidence(name)["arms"]["b"]["played"]
    assert played != other, "a got less than b"
    with pytest.raises(InputError, match="amounts"):
        client.report(made, {"a": None}, amounts={"b": 1.0})


@pytest.mark.parametrize("every", [0.01, 1000.0])
def test_buffered_reports_arrive_once_whatever_is_lost(flaky: Flaky, url: str, name: str, every: float) -> None:
    with Client(flaky.url, retry=QUICK) as client:
        client.put_allocator(name, ["a", "b"], "exponential", 10.0, policy="uniform")
        decisions = client.decide_many(name, [8.0] * 700)
        flaky.plan = ["lose", "drop", "tear", "busy", "lose", "pass", "lose"]
        with client.buffer(every=every) as reports:
            for made in decisions:
                assert isinstance(made, Decision)
                reports.report(made, {"a": None, "b": 1.0})
            reports.report("nobody", {"a": None})
            reports.report("no id: " + "x" * 200, {"a": None})  # for which the service refuses all that came with it
            at = datetime.now(UTC)
            reports.report(Decision("f", name, 1.0, {"a": 1.0}, None, at, None, fallback=True), {"a": None})
        assert len(reports) == 0
        assert {key[:6]: type(error) for key, error in reports.refused} == {
            "nobody": NotFoundError, "no id:": InvalidRequestError
        }  # fmt: skip
    with Client(url) as direct:
        counts = direct.allocator(name).counts
        played = direct.export_evidence(name)["arms"]["a"]["played"]
    assert (counts.decisions, counts.complete, counts.contradictions) == (700, 700, 0)
    assert sum(count for _, count, _ in played) == 700


def test_buffered_reports_on_asyncio(flaky: Flaky, url: str, name: str) -> None:
    async def play() -> None:
        async with AsyncClient(flaky.url, retry=QUICK) as client:
            await client.put_allocator(name, ["a", "b"], "exponential", 10.0, policy="uniform")
            decisions = await client.decide_many(name, [8.0] * 700)
            flaky.plan = ["lose", "drop", "tear", "busy", "lose", "pass", "lose"]
            async with client.buffer(every=0.01) as reports:
                for made in decisions:
                    assert isinstance(made, Decision)
                    reports.report(made, {"a": None, "b": 1.0})
                    await asyncio.sleep(0)
                reports.report("nobody", {"a": None})
            assert (len(reports), [key for key, _ in reports.refused]) == (0, ["nobody"])

    asyncio.run(play())
    with Client(url) as direct:
        counts = direct.allocator(name).counts
    assert (counts.complete, counts.contradictions) == (700, 0)


def test_reports_that_cannot_be_sent_are_kept() -> None:
    client = Client(NOBODY, retry=Retry(first=0.01, most=0.01, deadline=0.05))
    reports = client.buffer(every=1000.0, most=2)
    for key in ("d1", "d2"):
        reports.report(key, {"a": None})
    with pytest.raises(UnavailableError, match="2 reports wait"):
        reports.report("d3", {"a": None})
    with pytest.raises(UnavailableError, match="no answer"):
        reports.flush()
    assert len(reports) == 2
    with pytest.raises(InputError, match="finite"):
        client.buffer().report("d1", {"a": float("nan")})
    for wrong in ({"every": 0.0}, {"most": 0}):
        with pytest.raises(InputError):
            client.buffer(**wrong)
    client.close()
