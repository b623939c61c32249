"""A commit that is quick is made in the loop, a slow one in a thread; whatever else the loop has to do has its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from headgate.service.bodies import Outcome
from headgate.service.engine import queue
from headgate.service.engine.queue import Ledger, Queue
from headgate.service.engine.requests import Change, Report
from headgate.service.faults import NotFoundError
from headgate.service.store import open_database
from tests.service import asking


def test_after_a_slow_commit_the_next_are_waited_for_elsewhere(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, elsewhere = Ledger(open_database(sqlite_url)), []
    now, took = 0.0, 0.0

    def clock() -> float:
        nonlocal now
        now += took  # it is asked before a commit and after it
        return now

    async def wait(work: Callable[[], Any]) -> Any:
        elsewhere.append(work)
        return work()

    def commit(seconds: float) -> bool:
        """Whether a commit that takes so long was waited for elsewhere."""
        nonlocal took
        took, before = seconds, len(elsewhere)
        assert asyncio.run(ledger.answer_in(wait, [Change(lambda _: "done")])) == ["done"]
        return len(elsewhere) > before

    monkeypatch.setattr(queue, "time", SimpleNamespace(perf_counter=clock))
    assert not commit(0.0001)
    assert not commit(0.5)  # nobody could know
    assert [commit(0.0001) for _ in range(58)] == [True] * 58  # .5 .9^58 s is still above a millisecond
    assert [commit(0.0001) for _ in range(20)][-1] is False
    ledger.database.close()


def test_the_loop_has_its_turn_between_batches(sqlite_url: str) -> None:
    async def play() -> int:
        ledger = Ledger(open_database(sqlite_url))
        waiting = Queue(ledger)
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.0)

        unknown = Report("nobody's", Outcome(results={}))
        asked = [waiting.ask_all([unknown]) for _ in range(1_000)]
        counting = asyncio.create_task(count())
        for (answer,) in await asyncio.gather(*asked):
            assert isinstance(answer, NotFoundError)
        counting.cancel()
        await waiting.stop()
        ledger.database.close()
        return turns

    assert asyncio.run(play()) >= 9  # a batch has a hundred of them


def test_a_batch_has_those_who_were_on_their_way(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its socket to the queue a request takes some turns of the loop: those who come first wait for those behind.

    Who asks alone, after another who did, waits for nobody.
    """
    sizes, turns, others = list[int](), list[int](), 20

    async def play() -> None:
        ledger = Ledger(open_database(sqlite_url))
        answer_in = ledger.answer_in

        async def noted(wait: Any, requests: Any, patient: bool = True) -> list[Any]:
            sizes.extend([len(requests)] if requests else [])  # it ends with none
            return await answer_in(wait, requests, patient)

        async def turned(seconds: float) -> None:
            turns[-1] += 1
            await sleep(seconds)

        monkeypatch.setattr(ledger, "answer_in", noted)
        sleep = asyncio.sleep
        monkeypatch.setattr(asyncio, "sleep", turned)
        waiting = Queue(ledger)

        async def ask(after: int) -> None:
            for _ in range(after):
                await sleep(0.0)
            with pytest.raises(NotFoundError):
                await waiting.ask(Report("nobody's", Outcome(results={})))

        for first in (1, 2, 1, 1):
            turns.append(0)
            await asyncio.gather(*(ask(0) for _ in range(first)), *(ask(3) for _ in range(others if first > 1 else 0)))
        await waiting.stop()
        ledger.database.close()

    asyncio.run(play())
    assert sizes == [1, 2 + others, 1, 1]
    assert turns == [0, queue._TURNS, queue._TURNS, 0]


@pytest.mark.parametrize(("arms", "in_the_loop"), [(500, True), (queue._MANY_ARMS, False)])
def test_what_may_take_long_is_not_done_in_the_loop(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, arms: int, in_the_loop: bool
) -> None:
    """By what is known of an allocator; here the thread's way is the ledger's `answer`."""
    ways: list[bool] = []

    async def play() -> None:
        ledger = Ledger(open_database(sqlite_url))
        asking.create(ledger)
        ledger.memory.arms["quiz"] = arms
        answer = ledger.answer

        def elsewhere(requests: Any, patient: bool = True) -> list[Any]:
            ways.append(False)
            return answer(requests, patient)

        monkeypatch.setattr(ledger, "answer", elsewhere)
        waiting = Queue(ledger)
        assert isinstance(await waiting.ask(asking.ask("d")), str)
        await waiting.stop()
        ledger.database.close()

    asyncio.run(play())
    assert (ways == []) is in_the_loop
