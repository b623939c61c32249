"""The client for asyncio: the same calls with the same patience."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from headgate.client import calls
from headgate.client.answers import Round
from headgate.client.base import PLACES, BaseClient
from headgate.client.breaker import Breaker
from headgate.client.buffer import AsyncBuffer
from headgate.client.calls import Call
from headgate.client.deadline import within
from headgate.client.errors import UnavailableError
from headgate.client.retry import Again, Attempts, Done, Retry

T = TypeVar("T")
P = ParamSpec("P")


def _awaited(call: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """Return the same as a coroutine."""

    @wraps(call)
    async def method(client: AsyncClient, /, *args: P.args, **options: P.kwargs) -> T:
        return await client.send(call(*args, **options))

    return method


class AsyncClient(BaseClient):
    """A decision service, seen from a program on asyncio; any number of tasks of one loop may use one.

    ```python
    async with hg.AsyncClient("http://127.0.0.1:8000") as client:
        decision = await client.decide("quiz", budget=20.0)
        await client.report(decision, {"q1": 3.2, "q2": None})
    ```
    """

    _kind = "AsyncClient"

    def __init__(
        self, url: str, key: str | None = None, *, retry: Retry | None = None, breaker: Breaker | None = None
    ) -> None:
        super().__init__(url, key, retry=retry, breaker=breaker)
        self._places = asyncio.Semaphore(PLACES)
        self._tries: set[asyncio.Task[Any]] = set()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        for one in self._tries:  # of calls that were cancelled
            one.cancel()
        await asyncio.gather(*self._tries, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(self, call: Call[T]) -> T:
        """Make a call, again and again until the deadline, and return its answer."""
        if call.unsent is not None:
            return call.unsent
        try:
            with self._watched():
                return await self._ask(call)
        except UnavailableError as error:
            return self._instead(call, error)

    def buffer(self, *, every: float = 1.0, most: int = 100_000) -> AsyncBuffer:
        """Return a block's buffer of reports, sent together every so many seconds, at most so many waiting."""
        return AsyncBuffer(self, every, most)

    async def _ask(self, call: Call[T]) -> T:
        attempts = Attempts(call, self.retry)
        result: Done[T] | Again
        while True:
            seconds = attempts.timeout()
            try:
                answer = await self._try(call, seconds)
            except (self._httpx.RequestError, TimeoutError) as error:
                result = attempts.failed(error)
            else:
                result = attempts.answered(answer.status_code, answer.headers, answer.content)
            if isinstance(result, Done):
                return result.answer
            await asyncio.sleep(result.pause)

    async def _try(self, call: Call[Any], seconds: float) -> Any:
        """Send a call once. A caller who is cancelled goes at once; the try ends by itself, as its connection needs."""

        async def request() -> Any:
            with within(seconds):
                async with asyncio.timeout(seconds):
                    await self._places.acquire()
                try:
                    return await self._http.request(
                        call.method, call.path, content=call.body, timeout=self._seconds(seconds)
                    )
                finally:
                    self._places.release()

        one = asyncio.create_task(request())
        self._tries.add(one)
        one.add_done_callback(self._over)
        return await asyncio.shield(one)

    def _over(self, one: asyncio.Task[Any]) -> None:
        self._tries.discard(one)
        if not one.cancelled():
            one.exception()  # of which nobody may have heard, if the caller was cancelled

    put_allocator = _awaited(calls.put_allocator)
    allocator = _awaited(calls.allocator)
    allocators = _awaited(calls.allocators)
    change = _awaited(calls.change)
    archive = _awaited(calls.archive)
    add_arm = _awaited(calls.add_arm)
    retire_arm = _awaited(calls.retire_arm)
    decide = _awaited(calls.decide)
    decide_many = _awaited(calls.decide_many)
    decision = _awaited(calls.decision)
    why = _awaited(calls.why)
    report = _awaited(calls.report)
    report_many = _awaited(calls.report_many)
    estimates = _awaited(calls.estimates)
    comparison = _awaited(calls.comparison)
    export_evidence = _awaited(calls.export_evidence)
    import_evidence = _awaited(calls.import_evidence)
    retract = _awaited(calls.retract)
    retractions = _awaited(calls.retractions)
    forget = _awaited(calls.forget)
    learner = _awaited(calls.learner)
    push = _awaited(calls.push)
    edges = _awaited(calls.edges)
    health = _awaited(calls.health)

    async def decisions(self, name: str, *, after: int | None = None, page: int = 100) -> AsyncIterator[Round]:
        """Iterate over the decisions and what was reported of them, oldest first; `after` goes on from a round."""
        while True:
            answer = await self.send(calls.decisions(name, after, page))
            for one in answer.rounds:
                yield one
            after = answer.next_before
            if after is None:
                return

    async def history(self, name: str, *, before: int | None = None, page: int = 100) -> AsyncIterator[Round]:
        """Iterate over the decisions and what was reported of them, newest first, asking for a page at a time."""
        while True:
            answer = await self.send(calls.history(name, before, page))
            for one in answer.rounds:
                yield one
            before = answer.next_before
            if before is None:
                return
