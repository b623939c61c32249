"""What makes a round cheap, and that it changes nothing: kept connections, one look at what others have learned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn
from sqlalchemy import text
from typer.testing import CliRunner

from headgate.cli.app import app as command
from headgate.service.engine import batch, cells
from headgate.service.engine.queue import Ledger, Queue
from headgate.service.engine.requests import Busy, Change, Decide, Request
from headgate.service.settings import REMEMBERED_ARMS, Settings
from headgate.service.store import Database, open_database
from headgate.service.store import database as store
from headgate.service.verify import verify
from headgate.service.web import app
from headgate.service.web.app import create_app
from tests.service import asking
from tests.service.harness import QUIZ, results, running

NAMES = [f"quiz-{number}" for number in range(5)]


def test_a_connection_is_kept_for_the_next_transaction(database: Database) -> None:
    first = database.begin()
    assert first is not None
    first.connection.execute(text("DELETE FROM audit"))
    database.end(first)
    second = database.begin()
    assert second is first
    second.commit()
    database.end(second, broken=True)
    third = database.begin()
    assert third is not None
    assert third is not first, "what was broken was used again"
    database.end(third)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_connection_that_was_closed_from_the_other_end_is_replaced(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(database)
    asking.create(ledger)
    with database.readers.connect() as other:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        other.execute(text(f"{others} AND pid <> pg_backend_pid()"))
    monkeypatch.setattr(store, "_SURE_SECONDS", -1.0)  # as if it had not been used for a while
    assert isinstance(ledger.answer([asking.ask("d")])[0], str)


def test_what_others_learned_is_read_in_one_statement(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Ledger(database), Ledger(database)
    for name in NAMES:
        asking.create(one, name)
        asking.decide(other, f"{name}-first", name=name)
    for name in NAMES:
        made = asking.decide(one, f"{name}-d", name=name)["allocation"]
        assert isinstance(one.answer([asking.tell(f"{name}-d", results(made, {"q1"}))])[0], str)
    reads, real = [], cells.read_cells

    def counted(*args: Any) -> None:
        reads.append(args)
        real(*args)

    monkeypatch.setattr(batch, "read_cells", counted)
    answers = other.answer([asking.ask(f"{name}-e", name=name) for name in NAMES])
    assert [type(answer) for answer in answers] == [str] * len(NAMES)
    assert len(reads) == 1
    for key, found in one.memory.learners.items():
        assert np.array_equal(found.everything.bins, other.memory.learners[key].everything.bins)
        assert found.everything.bins.any()
    assert verify(database) == []


def test_a_request_looks_again_before_it_waits_in_a_lane(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locked by a batch of another worker, it comes with our next; locked for long, it waits beside the others."""

    async def play(locked: int) -> tuple[int, int]:
        ledger = Ledger(open_database(sqlite_url))
        looks = patiently = 0

        def answer(requests: list[Any], patient: bool = True) -> list[Any]:
            nonlocal looks, patiently
            patiently += patient
            looks += bool(requests) and not patient  # it is also called for nothing, when it stops
            return ["done" if patient or looks > locked else Busy(1) for _ in requests]

        monkeypatch.setattr(ledger, "answer", answer)
        object.__setattr__(ledger.database, "is_sqlite", False)
        queue = Queue(ledger)
        assert await queue.ask(asking.ask("d")) == "done"
        await queue.stop()
        object.__setattr__(ledger.database, "is_sqlite", True)
        ledger.database.close()
        return looks, patiently

    assert asyncio.run(play(2)) == (3, 0)
    assert asyncio.run(play(100)) == (6, 1)


def test_a_small_change_goes_with_decisions_and_a_large_one_alone(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[tuple[list[type], bool]] = []

    async def play() -> None:
        ledger = Ledger(open_database(sqlite_url))
        asking.create(ledger)
        asking.decide(ledger, "first")
        real = ledger.answer_in

        async def answer_in(wait: Callable[..., Any], requests: list[Any], patient: bool = True) -> list[Any]:
            batches.append(([type(request) for request in requests], wait is queue._wait))
            return await real(wait, requests, patient)

        monkeypatch.setattr(ledger, "answer_in", answer_in)
        queue = Queue(ledger)
        small, large = Change(lambda _: "small", is_small=True), Change(lambda _: "large")
        asked: list[Request] = [asking.ask("a"), small, asking.ask("b"), large, asking.ask("c")]
        assert (await queue.ask_all(asked))[1::2] == ["small", "large"]
        await queue.stop()
        ledger.database.close()

    asyncio.run(play())
    in_the_loop = [kinds for kinds, here in batches if here]
    assert in_the_loop[0] == [Decide, Change, Decide]
    assert ([Change], False) in batches


def test_an_error_of_ours_is_answered_by_the_guard(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of Starlette stands around routes of every round: the guard answers what nobody expected."""

    async def play() -> httpx.Response:
        app = create_app(Settings(database=sqlite_url, keys=False))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client,
        ):
            await client.put("/v1/allocators/quiz", json=QUIZ)

            def broken(*_: Any) -> None:
                raise RuntimeError("a bug")

            monkeypatch.setattr(app.state.service.queue, "ask", broken)
            return await client.post("/v1/allocators/quiz/decisions", json={"budget": 20.0})

    answer = asyncio.run(play())
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "error"
    assert "bug" not in answer.text
    assert answer.headers["x-request-id"]


def test_memory_is_bounded_and_what_it_forgot_is_read_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the arms of learners and by the text of decisions: allocators of 10,000 arms have answers of 300 KB."""
    monkeypatch.setattr(batch, "_MOST_TEXT", 2_000)
    ledger = Ledger(database, remember_arms=2 * len(QUIZ["arms"]))
    memory, made = ledger.memory, {}
    for name in NAMES:
        asking.create(ledger, name)
        for number in range(4):
            made[name, number] = asking.decide(ledger, f"{name}-{number}", name=name)["allocation"]
        assert len(memory.learners) <= 2
        assert memory.text == sum(len(decision.answer) for decision in memory.decisions.values()) <= 2_000
    assert list(memory.learners) == [4, 5]
    for (name, number), allocation in made.items():
        assert asking.decide(ledger, f"{name}-{number}", name=name)["allocation"] == allocation
        assert isinstance(ledger.answer([asking.tell(f"{name}-{number}", results(allocation, {"q1"}))])[0], str)
    both = [asking.ask(f"{name}-last", name=name) for name in NAMES]
    assert [type(answer) for answer in ledger.answer(both)] == [str] * len(NAMES)  # one batch needs all at once
    assert isinstance(ledger.answer([asking.ask("quiz-1-more", name="quiz-1")])[0], str)
    assert verify(database) == []


def test_the_service_remembers_as_many_arms_as_it_is_told(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledgers: list[Ledger] = []

    def kept(*args: Any) -> Ledger:
        ledgers.append(Ledger(*args))
        return ledgers[-1]

    monkeypatch.setattr(app, "Ledger", kept)
    with running(Settings(database=sqlite_url, keys=False, remember_arms=123)):
        assert [one.memory.most_arms for one in ledgers] == [123]


def test_the_command_line_hands_on_how_many(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment, to every worker; what it says by default is what a service does by default."""
    monkeypatch.setenv("HEADGATE_SERVICE", "{}")  # it is left there: put back when the test ends
    seen: list[int] = []
    monkeypatch.setattr(uvicorn, "run", lambda *_, **__: seen.append(Settings.from_environment().remember_arms))
    for options in ([], ["--remember-arms", "7"]):
        result = CliRunner().invoke(command, ["serve", "--database", sqlite_url, "--port", "0", *options])
        assert result.exit_code == 0, result.output
    assert seen == [REMEMBERED_ARMS, 7]
