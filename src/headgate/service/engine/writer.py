"""The writer: answers together whatever has gathered while it wrote what came before. That is group commit."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from headgate.service.engine.ledger import Ledger
from headgate.service.engine.requests import Request
from headgate.service.faults import UnavailableError

T = TypeVar("T")
_MOST = 512  # requests in one transaction
_QUEUED = 20_000
_log = logging.getLogger("headgate.service")

_Item = tuple[Sequence[Request], "asyncio.Future[list[Any]]"]


class Writer:
    """The only user of its ledger, in one event loop.

    Waiting for the database happens in a thread, so that the loop goes on taking requests meanwhile. On SQLite only
    the commit waits, and the lock where another process has it. The rest is work for the processor, and is done in the
    loop: two Python threads that both have work to do only hinder each other.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._queue: deque[_Item] = deque()
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

    async def ask_all(self, requests: Sequence[Request]) -> list[Any]:
        """Return for each request its answer or its error."""
        if self._stopping or len(self._queue) > _QUEUED:
            raise UnavailableError("too many requests are waiting: ask again later")
        future: asyncio.Future[list[Any]] = self._loop.create_future()
        self._queue.append((requests, future))
        self._more.set()
        return await future

    async def stop(self) -> None:
        """Answer what is queued, then end."""
        self._stopping = True
        self._more.set()
        await self._task
        self._thread.shutdown()

    async def _work(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._queue:
                items, size = [], 0
                while self._queue and size < _MOST:
                    items.append(self._queue.popleft())
                    size += len(items[-1][0])
                await self._answer(items)
            if self._stopping:
                return

    async def _answer(self, items: list[_Item]) -> None:
        try:
            together = [request for requests, _ in items for request in requests]
            answers = await self.ledger.answer_in(self._wait, together)
        except Exception as error:  # noqa: BLE001  # a bug must not end the task: everyone waiting gets it
            _log.exception("a batch of requests failed")
            for _, future in items:
                if not future.done():
                    future.set_exception(error)
            return
        start = 0
        for requests, future in items:
            if not future.done():  # the client may have gone
                future.set_result(answers[start : start + len(requests)])
            start += len(requests)

    async def _wait(self, work: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(self._thread, work)
