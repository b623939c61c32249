"""The queue: whatever has gathered while the batch before was written is the next batch. That is group commit.

`Ledger` answers batches, each in one transaction, and remembers nothing that a transaction did not commit. `Queue` lets
the requests of one event loop wait for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import Connection

from headgate.service.engine.batch import REFUSALS, Batch, Memory
from headgate.service.engine.records import Change, Decide, Request
from headgate.service.faults import UnavailableError
from headgate.service.store import Database
from headgate.service.store.database import unavailable

T = TypeVar("T")
_MOST_IN_A_BATCH = 512
_MOST_WAITING = 20_000
_TRIES = 5
_log = logging.getLogger("headgate.service")


class Ledger:
    """Answers requests from a database, for one thread at a time."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.memory = Memory()

    def answer(self, requests: Sequence[Request]) -> list[Any]:
        """Return for each request its answer or its error; what is answered is durable."""
        rounds = [r for r in requests if not isinstance(r, Change)]
        answers = iter(self._together(rounds) if rounds else ())
        return [self._alone(r) if isinstance(r, Change) else next(answers) for r in requests]

    async def answer_in(
        self, wait: Callable[[Callable[[], Any]], Awaitable[Any]], requests: Sequence[Any]
    ) -> list[Any]:
        """Do as `answer` does, with what waits for the database done by `wait`."""
        if not self.database.is_sqlite or any(
            isinstance(r, Change) or (isinstance(r, Decide) and r.request.budget is None) for r in requests
        ):  # schedules take long
            answers: list[Any] = await wait(lambda: self.answer(requests))
            return answers
        try:
            connection = self.database.begin_at_once() or await wait(self.database.begin)
        except UnavailableError as refusal:
            return [refusal] * len(requests)
        try:
            batch = Batch(connection, self.memory)
            answers = batch.answer(requests)
            await wait(connection.commit)
        except BaseException as cause:
            self.memory.learners.clear()
            connection.invalidate()  # a commit that failed may have left its transaction, and so its lock
            if isinstance(cause, self.database.failures):
                return [unavailable(cause)] * len(requests)
            raise
        finally:
            connection.close()
        if batch.made:
            self.memory.keep(batch.made)
        return answers

    def _together(self, requests: Sequence[Any]) -> list[Any]:
        def work(connection: Connection) -> tuple[Batch, list[Any]]:
            batch = Batch(connection, self.memory)
            return batch, batch.answer(requests)

        try:
            batch, answers = self._transact(work)
        except UnavailableError as refusal:
            return [refusal] * len(requests)
        self.memory.keep(batch.made)
        return answers

    def _alone(self, request: Change) -> Any:
        try:
            return self._transact(request.make)
        except REFUSALS as refusal:
            return refusal

    def _transact(self, work: Callable[[Connection], T]) -> T:
        """Commit `work`; again, if another worker wrote the same id between our look and our write."""
        for last in range(_TRIES):
            try:
                with self.database.transaction() as connection:
                    return work(connection)
            except Exception as error:
                self.memory.learners.clear()  # they may have learned what was not committed
                if not self.database.is_clash(error.__cause__) or last == _TRIES - 1:
                    raise
        raise AssertionError  # the last try returns or raises


class Queue:
    """The requests of one event loop, on their way to a ledger that nobody else uses.

    Waiting for the database happens in a thread, so that the loop goes on taking requests meanwhile. On SQLite only
    the commit waits, and the lock where another process has it. The rest is work for the processor, and is done in the
    loop: two Python threads that both have work to do only hinder each other.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: deque[tuple[Sequence[Request], asyncio.Future[list[Any]]]] = deque()
        self._more = asyncio.Event()
        self._stopping = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headgate-writer")
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._work())

    async def ask(self, request: Request) -> Any:
        """Return the answer to a request, or raise its error."""
        (answer,) = await self.ask_all([request])
        if isinstance(answer, Exception):
            raise answer
        return answer

    def ask_all(self, requests: Sequence[Request]) -> asyncio.Future[list[Any]]:
        """Return, once awaited, for each request its answer or its error."""
        if self._stopping or len(self._waiting) > _MOST_WAITING:
            raise UnavailableError("too many requests are waiting: ask again later")
        future: asyncio.Future[list[Any]] = self._loop.create_future()
        self._waiting.append((requests, future))
        self._more.set()
        return future

    async def stop(self) -> None:
        """Answer what is queued, then end."""
        self._stopping = True
        self._more.set()
        await self._task
        self._thread.shutdown()

    async def _work(self) -> None:
        while not self._stopping or self._waiting:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                await self._answer_some()

    async def _answer_some(self) -> None:
        """Answer as many as one transaction takes."""
        batch: list[Request] = []
        shares: list[tuple[slice, asyncio.Future[list[Any]]]] = []
        while self._waiting and len(batch) < _MOST_IN_A_BATCH:
            requests, future = self._waiting.popleft()
            shares.append((slice(len(batch), len(batch) + len(requests)), future))
            batch += requests
        try:
            answers = await self._ledger.answer_in(lambda f: self._loop.run_in_executor(self._thread, f), batch)
        except Exception as error:  # noqa: BLE001  # a bug must not end the task: everyone waiting gets it
            _log.exception("a batch of requests failed")
            for _, future in shares:
                if not future.done():
                    future.set_exception(error)
            return
        for share, future in shares:
            if not future.done():  # the client may have gone
                future.set_result(answers[share])
