"""The queue: whatever has gathered while the batch before was written is the next batch. That is group commit.

`Ledger` answers batches, each in one transaction, and remembers nothing that a transaction did not commit. `Queue` lets
the requests of one event loop wait for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection

from headgate.errors import InputError, UnsupportedError
from headgate.service.bodies import DecisionRequest
from headgate.service.engine.absorb import absorb
from headgate.service.engine.batch import Batch, Memory
from headgate.service.engine.decide import decide
from headgate.service.engine.live_batch import go_on, report_in_all
from headgate.service.engine.requests import Busy, Change, Decide, LiveStep, Report, Request
from headgate.service.faults import InternalError, ServiceError, UnavailableError
from headgate.service.settings import REMEMBERED_ARMS
from headgate.service.store import Database, statements
from headgate.service.store.database import unavailable

T = TypeVar("T")
Wait = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Does what waits for the database, somewhere."""
REFUSALS = (ServiceError, InputError, UnsupportedError)
"""What a single request may deserve, while the others of its batch go on."""
_MOST_IN_A_BATCH = 512
_MOST_IN_THE_LOOP = 15_000.0
"""Microseconds of work that the event loop does itself in one batch, about; what is more is done in a thread."""
_UNKNOWN = 2.0 * _MOST_IN_THE_LOOP
"""Of what may take longer than that."""
_DECISION, _OF_ITS_ARMS = 100.0, 1.6
"""Microseconds of a decision, about, and for each arm."""
_USUAL_ARMS, _MANY_ARMS = 1_000, 4_000
"""What is expected of an allocator that was not seen yet; and so many that the first decisions may be slow."""
_REPORT, _OF_ITS_RESULTS = 30.0, 0.7
"""The same of a report, and for each result."""
_MOST_WAITING = 20_000
_TURNS = 4
"""Turns of the event loop before each batch: so many a request takes from its socket to the queue, and who has just
been answered asks again. With none, a batch begins without those that came during the one before it, and at half of the
highest load they wait twice as long. Who asks alone does not wait for others."""
_LANES = 8
"""Allocators, locked by others, that are waited for at once."""
_LOOKS = 5
"""How often a request finds its allocator locked before it waits for it: mostly a batch of another worker has it, and
the next of ours comes after that. A transaction of its own costs much more than another look."""
_A_MOMENT = 0.003
"""Seconds until the next look, where there is nothing else to do."""
_TRIES = 5
_QUICK = 0.001
"""Seconds of a commit that is not worth a thread: to hand it over and to take it back is half of that."""
_log = logging.getLogger("headgate.service")


class Ledger:
    """Answers requests from a database."""

    def __init__(self, database: Database, remember_arms: int = REMEMBERED_ARMS) -> None:
        self.database = database
        self.memory = Memory(most_arms=remember_arms)
        self._slowest = 0.0
        """Seconds of the slowest commit of late; each one after it makes it a tenth less."""

    def answer(self, requests: Sequence[Request], patient: bool = True) -> list[Any]:
        """Return for each request its answer or its error; what is answered is durable.

        Not `patient`, requests of allocators that another has locked are answered with `Busy`.
        """
        try:
            self.answer_in(_here, requests, patient).send(None)  # nothing is waited for elsewhere: it ends at once
        except StopIteration as end:
            answers: list[Any] = end.value
        return answers

    async def answer_in(self, wait: Wait, requests: Sequence[Any], patient: bool = True) -> list[Any]:
        """Do as `answer` does, with what waits for the database done by `wait`."""
        rounds = [r for r in requests if not isinstance(r, Change)]
        answers: list[Any] = []
        if rounds:
            try:
                batch = await self._transact(wait, lambda c: self._batch(c, rounds, patient))
                answers = batch.answers
                self.memory.learners.update(batch.learners)  # at the end: those not asked for longest come first
                if batch.new_decisions or batch.playing or batch.opened:
                    self.memory.keep(batch)
            except UnavailableError as refusal:
                answers = [refusal] * len(rounds)
            except Exception as error:  # noqa: BLE001  # a bug: it is the error of one of them alone, and nothing was stored
                if len(rounds) == 1:
                    answers = [_internal(error)]
                else:
                    answers = [(await self.answer_in(wait, [r], patient))[0] for r in rounds]
        rest = iter(answers)
        return [await self._alone(wait, r) if isinstance(r, Change) else next(rest) for r in requests]

    def _batch(self, connection: Connection, requests: Sequence[Decide | Report | LiveStep], patient: bool) -> Batch:
        """Lock, catch up, absorb, decide, write: return a batch whose answers are ready to be committed."""
        batch = Batch(connection, self.memory, patient)
        batch.lock(requests)
        answers = batch.answers = [None] * len(requests)
        for place, request in enumerate(requests):
            if not isinstance(request, Decide):
                try:
                    decision = batch.decision_of[place]
                    if isinstance(decision, ServiceError):
                        raise decision
                    if isinstance(request, LiveStep):
                        answers[place] = go_on(batch, request, decision)
                    else:
                        answers[place] = (report_in_all if decision.live else absorb)(batch, request, decision)
                except REFUSALS as refusal:
                    answers[place] = refusal
        for key in {report["allocator_id"]: None for report in batch.write.get(statements.REPORTED, ())}:
            learner = batch.learners[key]  # before any decision: they know of every report of their batch
            for statement, rows in learner.settle().items():
                batch.write[statement] += rows
            batch.rows[key]["seq"] = learner.seq
        # Only now that nobody else decides: an id may have been used while we waited for the lock.
        names = {(r.allocator, r.request.decision_id) for r in requests if isinstance(r, Decide)}
        batch.find((allocator, key) for allocator, key in names if key)
        for place, request in enumerate(requests):
            if isinstance(request, Decide):
                try:
                    answers[place] = decide(batch, request)
                except REFUSALS as refusal:
                    answers[place] = refusal
        batch.store()
        return batch

    async def _alone(self, wait: Wait, request: Change) -> Any:
        try:
            return await self._transact(wait, request.make)
        except REFUSALS as refusal:
            return refusal
        except Exception as error:  # noqa: BLE001  # it is this request's alone: others of its batch have committed
            return _internal(error)

    async def _transact(self, wait: Wait, work: Callable[[Connection], T]) -> T:
        """Commit `work`; again, if another worker wrote the same id between our look and our write."""
        for last in range(_TRIES):
            transaction = self.database.begin(at_once=True) or await wait(self.database.begin)
            broken = False
            try:
                result, began = work(transaction.connection), time.perf_counter()
                if self._slowest < _QUICK:
                    transaction.commit()
                else:
                    await wait(transaction.commit)
                self._slowest = max(time.perf_counter() - began, 0.9 * self._slowest)
            except BaseException as cause:
                broken = not isinstance(cause, REFUSALS)  # a commit that failed may have left its lock
                if not self.database.is_clash(cause) or last == _TRIES - 1:
                    if isinstance(cause, self.database.failures):
                        raise unavailable(cause) from cause
                    raise
            else:
                return result
            finally:
                self.database.end(transaction, broken=broken)
        raise AssertionError  # the last try returns or raises


def _internal(error: Exception) -> InternalError:
    _log.error("a request failed", exc_info=error)
    return InternalError("an error of the service: it has been logged, nothing of the request was stored")


async def _here(work: Callable[[], Any]) -> Any:
    return work()


class Queue:
    """The requests of one event loop, on their way to a ledger that nobody else uses.

    Waiting for the database happens in a thread, so that the loop goes on taking requests meanwhile. On SQLite only
    the commit waits, where the disk is slow, and the lock where another process has it. The rest is work for the
    processor, and is done in the loop if it is short: two Python threads that both have work to do only hinder each
    other.

    On PostgreSQL others lock allocators too. Requests of an allocator that another has locked come again with the next
    batch. If it is locked for long, they go to a lane of its own and wait there, so that no allocator waits for
    another. Changes wait beside all of them.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: deque[tuple[Request, asyncio.Future[Any], int]] = deque()
        """Requests, who waits for each, and how often its allocator was locked."""
        self._more = asyncio.Event()
        self._stopping = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="headgate-writer")
        self._beside = ThreadPoolExecutor(_LANES, thread_name_prefix="headgate-lane")
        self._lanes: dict[int, deque[tuple[Request, asyncio.Future[Any]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._wait: Wait = partial(self._loop.run_in_executor, self._thread)
        self._task = self._loop.create_task(self._work())

    def ask(self, request: Request) -> asyncio.Future[Any]:
        """Return, once awaited, the answer to a request, or raise its error."""
        if self._stopping or len(self._waiting) > _MOST_WAITING:
            raise UnavailableError("too many requests are waiting: ask again later")
        future: asyncio.Future[Any] = self._loop.create_future()
        if isinstance(request, Change) and not self._ledger.database.is_sqlite:
            self._start(self._answer_beside([(request, future)]))
        else:
            self._waiting.append((request, future, 0))
            self._more.set()
        return future

    def ask_all(self, requests: Sequence[Request]) -> asyncio.Future[list[Any]]:
        """Return, once awaited, for each request its answer or its error."""
        return asyncio.gather(*map(self.ask, requests), return_exceptions=True)

    async def stop(self) -> None:
        """Answer what is queued, then end."""
        self._stopping = True
        self._more.set()
        await self._task
        await asyncio.gather(*self._tasks)
        for threads in (self._thread, self._beside):
            await asyncio.to_thread(threads.shutdown)

    async def _work(self) -> None:
        """Answer as many as one transaction takes, again and again."""
        lite, arms, crowd = self._ledger.database.is_sqlite, self._ledger.memory.arms, False
        while not self._stopping or self._waiting:
            if not self._waiting:
                await self._more.wait()
            if crowd or len(self._waiting) > 1:
                for _ in range(_TURNS):  # whatever else the loop has to do has its turns too
                    await asyncio.sleep(0.0)
            self._more.clear()
            entries: list[tuple[Request, asyncio.Future[Any], int]] = []
            work = 0.0
            while self._waiting and len(entries) < _MOST_IN_A_BATCH and work < _MOST_IN_THE_LOOP:
                one = self._waiting[0][0]
                if isinstance(one, Report):
                    work += _REPORT + _OF_ITS_RESULTS * (0 if one.outcome is None else len(one.outcome.results))
                elif isinstance(one, Change) and one.is_small:
                    work += _REPORT
                elif type(one) is Decide and type(one.request) is DecisionRequest and one.request.budget is not None:
                    count = arms.get(one.allocator, _USUAL_ARMS)
                    work += _DECISION + _OF_ITS_ARMS * count if count < _MANY_ARMS else _UNKNOWN
                elif entries and isinstance(one, Change):
                    break  # it may take long: those before it do not wait for it
                else:  # a schedule, a live round or a change may be anything
                    work += _UNKNOWN
                entries.append(self._waiting.popleft())
            batch, crowd = [request for request, _, _ in entries], len(entries) > 1
            if lite and work < _UNKNOWN:
                answers = await self._ledger.answer_in(self._wait, batch)
            else:
                answers = await self._wait(partial(self._ledger.answer, batch, lite))
            again = []
            for (request, future, looks), answer in zip(entries, answers, strict=True):
                if isinstance(answer, Busy) and looks < _LOOKS:
                    again.append((request, future, looks + 1))
                elif isinstance(answer, Busy):
                    self._wait_for(answer.allocator_id, request, future)
                elif not future.done():  # the client may have gone
                    (future.set_exception if isinstance(answer, Exception) else future.set_result)(answer)
            idle = not self._waiting
            self._waiting.extendleft(reversed(again))
            if again and idle:
                await asyncio.sleep(_A_MOMENT)

    # -- beside all others, on PostgreSQL: changes, and allocators that another has locked -----------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_beside(self, entries: Sequence[tuple[Request, asyncio.Future[Any]]]) -> None:
        """Answer in a thread."""
        ask = partial(self._ledger.answer, [request for request, _ in entries])
        answers = await self._loop.run_in_executor(self._beside, ask)
        for (_, future), answer in zip(entries, answers, strict=True):
            if not future.done():
                (future.set_exception if isinstance(answer, Exception) else future.set_result)(answer)

    def _wait_for(self, allocator_id: int, request: Request, future: asyncio.Future[Any]) -> None:
        """Let a request wait in its allocator's lane."""
        if allocator_id not in self._lanes:
            self._lanes[allocator_id] = deque()
            self._start(self._follow(allocator_id))
        self._lanes[allocator_id].append((request, future))

    async def _follow(self, allocator_id: int) -> None:
        """Wait for one allocator's lock, as often as there are requests that need it."""
        lane = self._lanes[allocator_id]
        while lane:
            await self._answer_beside([lane.popleft() for _ in range(min(len(lane), _MOST_IN_A_BATCH))])
        del self._lanes[allocator_id]
