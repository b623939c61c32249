"""The writer: a thread that answers whatever has gathered while it wrote what came before. That is group commit."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any

from headgate.service.engine.ledger import Ledger
from headgate.service.engine.requests import Request
from headgate.service.faults import UnavailableError

_MOST = 512  # requests in one transaction
_QUEUED = 20_000
_log = logging.getLogger("headgate.service")

_Item = tuple[Sequence[Request], "asyncio.Future[list[Any]]"]


class Writer:
    """Takes requests from one event loop; the only thread that uses its ledger."""

    def __init__(self, ledger: Ledger, loop: asyncio.AbstractEventLoop) -> None:
        self.ledger = ledger
        self._loop = loop
        self._queue: SimpleQueue[_Item | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="headgate-writer", daemon=True)
        self._thread.start()

    async def ask(self, request: Request) -> Any:
        """Return the answer to a request, or raise its error."""
        (answer,) = await self.ask_all([request])
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def ask_all(self, requests: Sequence[Request]) -> list[Any]:
        """Return for each request its answer or its error."""
        if self._queue.qsize() > _QUEUED:
            raise UnavailableError("too many requests are waiting: ask again later")
        future: asyncio.Future[list[Any]] = self._loop.create_future()
        self._queue.put((requests, future))
        return await future

    def stop(self) -> None:
        """Answer what is queued, then end."""
        self._queue.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (first := self._queue.get()) is not None:
            items, size, last = [first], len(first[0]), False
            while size < _MOST:
                try:
                    item = self._queue.get_nowait()
                except Empty:
                    break
                if item is None:
                    last = True
                    break
                items.append(item)
                size += len(item[0])
            self._answer(items)
            if last:
                return

    def _answer(self, items: list[_Item]) -> None:
        try:
            answers = self.ledger.answer([request for requests, _ in items for request in requests])
        except Exception as error:  # noqa: BLE001  # a bug must not end the thread: everyone waiting gets it
            _log.exception("a batch of requests failed")
            self._loop.call_soon_threadsafe(_fail, items, error)
            return
        self._loop.call_soon_threadsafe(_resolve, items, answers)


def _resolve(items: list[_Item], answers: list[Any]) -> None:
    start = 0
    for requests, future in items:
        if not future.done():  # the client may have gone
            future.set_result(answers[start : start + len(requests)])
        start += len(requests)


def _fail(items: list[_Item], error: Exception) -> None:
    for _, future in items:
        if not future.done():
            future.set_exception(error)
