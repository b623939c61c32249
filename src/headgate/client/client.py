"""The clients: one that waits, and one for asyncio. Both send the same calls, with the same patience."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar
from urllib.parse import urlsplit

from headgate.client import calls
from headgate.client.answers import Round
from headgate.client.breaker import Breaker, Circuit
from headgate.client.buffer import AsyncBuffer, Buffer
from headgate.client.calls import Call
from headgate.client.deadline import watch, within
from headgate.client.errors import ClientError, UnavailableError
from headgate.client.retry import Again, Attempts, Done, Retry
from headgate.errors import InputError
from headgate.extras import extra

T = TypeVar("T")
P = ParamSpec("P")
_PLACES = 100
"""Calls under way at once; others wait here, not in httpcore's pool, which loses a connection that it hands over in the
moment in which the waiting ends."""


def _options(url: str, key: str | None) -> dict[str, Any]:
    """Return what an httpx client is made with: where to go, and with which key."""
    place = urlsplit(url)
    if place.scheme not in {"http", "https"} or not place.hostname or place.query or place.fragment:
        raise InputError(f"url must be http://host:port or https://host, got {url!r}")
    headers = {"accept": "application/json", "content-type": "application/json"}
    if key is not None:
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise InputError("key must be what `headgate keys create` printed")  # and is not shown
        headers["authorization"] = f"Bearer {key}"
    return {"base_url": url, "headers": headers}


def _sent(call: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return the method that makes a call, sends it, and returns its answer."""

    @wraps(call)
    def method(client: Client, /, *args: P.args, **options: P.kwargs) -> T:
        return client.send(call(*args, **options))

    return method


def _awaited(call: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """Return the same as a coroutine."""

    @wraps(call)
    async def method(client: AsyncClient, /, *args: P.args, **options: P.kwargs) -> T:
        return await client.send(call(*args, **options))

    return method


class _Base:
    """What both have."""

    _kind: ClassVar[str]
    """The client of httpx that does the work."""

    def __init__(
        self, url: str, key: str | None = None, *, retry: Retry | None = None, breaker: Breaker | None = None
    ) -> None:
        chosen = _options(url, key)
        self._httpx = extra("httpx")
        limits = self._httpx.Limits(max_connections=None, max_keepalive_connections=_PLACES)
        self._http = getattr(self._httpx, self._kind)(limits=limits, **chosen)
        watch(self._http)
        self.retry = retry or Retry()
        self._circuit = None if breaker is None else Circuit(breaker)

    def _seconds(self, seconds: float) -> Any:
        """Return the timeouts of one try: silence ends it; nobody waits for the pool."""
        return self._httpx.Timeout(seconds, pool=None)

    def _instead(self, call: Call[T], error: UnavailableError) -> T:
        """Return what a call has for this case, or raise."""
        if call.instead is None:
            raise error
        return call.instead

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Let a call through if the breaker does, and tell it how that went."""
        if self._circuit is None:
            yield
            return
        self._circuit.enter()
        try:
            yield
        except UnavailableError:
            self._circuit.failed()
            raise
        except ClientError:
            self._circuit.answered()
            raise
        except BaseException:  # cancelled, or a bug: nothing is known of the service, but its trial is over
            self._circuit.failed()
            raise
        self._circuit.answered()


class Client(_Base):
    """A decision service, seen from a program; any number of threads may use one.

    Calls are tried again when the network or the service fails, until `retry.deadline`. That is safe: whatever a call
    changes has an id, and the service does it once. With a `breaker`, a service that does not answer is left alone for
    a while; `decide(..., fallback=...)` says how to split a budget then; `buffer()` sends reports together, later.

    ```python
    with hg.Client("http://127.0.0.1:8000") as client:
        client.put_allocator("quiz", ["q1", "q2"], hg.Weibull(1.6), max_budget=30.0)
        decision = client.decide("quiz", budget=20.0)
        client.report(decision, {"q1": 3.2, "q2": None})  # q1 was solved after 3.2, q2 was not
    ```
    """

    _kind = "Client"

    def __init__(
        self, url: str, key: str | None = None, *, retry: Retry | None = None, breaker: Breaker | None = None
    ) -> None:
        super().__init__(url, key, retry=retry, breaker=breaker)
        self._places = threading.Semaphore(_PLACES)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, call: Call[T]) -> T:
        """Make a call, again and again until the deadline, and return its answer."""
        if call.unsent is not None:
            return call.unsent
        try:
            with self._watched():
                return self._ask(call)
        except UnavailableError as error:
            return self._instead(call, error)

    def buffer(self, *, every: float = 1.0, most: int = 100_000) -> Buffer:
        """Return a block's buffer of reports, sent together every so many seconds, at most so many waiting."""
        return Buffer(self, every, most)

    def _ask(self, call: Call[T]) -> T:
        attempts = Attempts(call, self.retry)
        result: Done[T] | Again
        while True:
            seconds = attempts.timeout()
            try:
                answer = self._try(call, seconds)
            except (self._httpx.RequestError, TimeoutError) as error:
                result = attempts.failed(error)
            else:
                result = attempts.answered(answer.status_code, answer.headers, answer.content)
            if isinstance(result, Done):
                return result.answer
            time.sleep(result.pause)

    def _try(self, call: Call[Any], seconds: float) -> Any:
        """Send a call once."""
        with within(seconds):
            if not self._places.acquire(timeout=seconds):
                raise TimeoutError(f"{_PLACES} other calls are under way")
            try:
                return self._http.request(call.method, call.path, content=call.body, timeout=self._seconds(seconds))
            finally:
                self._places.release()

    put_allocator = _sent(calls.put_allocator)
    allocator = _sent(calls.allocator)
    allocators = _sent(calls.allocators)
    change = _sent(calls.change)
    archive = _sent(calls.archive)
    add_arm = _sent(calls.add_arm)
    retire_arm = _sent(calls.retire_arm)
    decide = _sent(calls.decide)
    decide_many = _sent(calls.decide_many)
    decision = _sent(calls.decision)
    why = _sent(calls.why)
    report = _sent(calls.report)
    report_many = _sent(calls.report_many)
    estimates = _sent(calls.estimates)
    comparison = _sent(calls.comparison)
    export_evidence = _sent(calls.export_evidence)
    import_evidence = _sent(calls.import_evidence)
    retract = _sent(calls.retract)
    retractions = _sent(calls.retractions)
    forget = _sent(calls.forget)
    learner = _sent(calls.learner)
    push = _sent(calls.push)
    edges = _sent(calls.edges)
    health = _sent(calls.health)

    def decisions(self, name: str, *, after: int | None = None, page: int = 100) -> Iterator[Round]:
        """Iterate over the decisions and what was reported of them, oldest first; `after` goes on from a round."""
        while True:
            answer = self.send(calls.decisions(name, after, page))
            yield from answer.rounds
            after = answer.next_before
            if after is None:
                return

    def history(self, name: str, *, before: int | None = None, page: int = 100) -> Iterator[Round]:
        """Iterate over the decisions and what was reported of them, newest first, asking for a page at a time."""
        while True:
            answer = self.send(calls.history(name, before, page))
            yield from answer.rounds
            before = answer.next_before
            if before is None:
                return


class AsyncClient(_Base):
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
        self._places = asyncio.Semaphore(_PLACES)
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
