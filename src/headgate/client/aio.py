"""The client for asyncio: the same calls, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from headgate.client import calls
from headgate.client.answers import Round
from headgate.client.calls import Call
from headgate.client.retry import Again, Attempts, Done, Retry
from headgate.client.transport import options
from headgate.extras import extra

T = TypeVar("T")
P = ParamSpec("P")


def _sent(call: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """Return the method that makes a call, sends it, and returns its answer."""

    @wraps(call)
    async def method(client: AsyncClient, /, *args: P.args, **options: P.kwargs) -> T:
        return await client.send(call(*args, **options))

    return method


class AsyncClient:
    """A decision service, seen from a program on asyncio; any number of tasks of one loop may use one.

    ```python
    async with hg.AsyncClient("http://127.0.0.1:8000") as client:
        decision = await client.decide("quiz", budget=20.0)
        await client.report(decision, {"q1": 3.2, "q2": None})
    ```
    """

    def __init__(self, url: str, key: str | None = None, *, retry: Retry | None = None) -> None:
        chosen = options(url, key)
        self._httpx = extra("httpx")
        self._http = self._httpx.AsyncClient(**chosen)
        self.retry = retry or Retry()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(self, call: Call[T]) -> T:
        """Make a call, again and again until the deadline, and return its answer."""
        attempts = Attempts(call, self.retry)
        result: Done[T] | Again
        while True:
            try:
                answer = await self._http.request(call.method, call.path, content=call.body, timeout=attempts.timeout())
            except self._httpx.RequestError as error:
                result = attempts.failed(error)
            else:
                result = attempts.answered(answer.status_code, answer.headers, answer.content)
            if isinstance(result, Done):
                return result.answer
            await asyncio.sleep(result.pause)

    put_allocator = _sent(calls.put_allocator)
    allocator = _sent(calls.allocator)
    allocators = _sent(calls.allocators)
    archive = _sent(calls.archive)
    add_arm = _sent(calls.add_arm)
    retire_arm = _sent(calls.retire_arm)
    decide = _sent(calls.decide)
    decide_many = _sent(calls.decide_many)
    report = _sent(calls.report)
    report_many = _sent(calls.report_many)
    estimates = _sent(calls.estimates)
    export_evidence = _sent(calls.export_evidence)
    import_evidence = _sent(calls.import_evidence)
    health = _sent(calls.health)

    async def history(self, name: str, *, before: int | None = None, page: int = 100) -> AsyncIterator[Round]:
        """Iterate over the decisions and what was reported of them, newest first, asking for a page at a time."""
        while True:
            answer = await self.send(calls.history(name, before, page))
            for one in answer.rounds:
                yield one
            before = answer.next_before
            if before is None:
                return
