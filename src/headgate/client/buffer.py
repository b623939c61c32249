"""Reports that wait to be sent together: what is said of a decision costs the caller no round trip.

`Pending` holds them, without any input or output. `Client.buffer` and `AsyncClient.buffer` send them, every few moments
and at the end. What could not be sent is kept and sent again: the service counts it once.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from headgate.client import calls
from headgate.client.answers import Decision
from headgate.client.calls import Call, Results
from headgate.client.errors import ClientError, InvalidRequestError, UnavailableError
from headgate.errors import InputError

if TYPE_CHECKING:
    from headgate.client.async_client import AsyncClient
    from headgate.client.client import Client

_MOST_IN_A_CALL = 500
_MOST_REFUSALS = 1_000


class Pending:
    """Reports that have not been acknowledged, oldest first; threads may share them."""

    def __init__(self, every: float, most: int) -> None:
        if not 0.0 < every < float("inf"):
            raise InputError(f"every must be seconds, > 0, got {every!r}")
        if most < 1:
            raise InputError(f"most must be a number of reports, >= 1, got {most!r}")
        self._every, self._most = every, most
        self._waiting: deque[dict[str, Any]] = deque()
        self._sending: list[dict[str, Any]] = []
        self._room = _MOST_IN_A_CALL
        self.refused: deque[tuple[str, ClientError]] = deque(maxlen=_MOST_REFUSALS)
        """Decision and reason of reports that the service refused, the latest of them; they are not sent again."""

    def __len__(self) -> int:
        return len(self._waiting) + len(self._sending)

    def report(
        self,
        decision: str | Decision,
        results: Results,
        *,
        spent: float | None = None,
        amounts: Mapping[str, float] | None = None,
        allocator: str | None = None,
    ) -> None:
        """Say what came of a decision, as `Client.report` does; it is sent later. Of a fallback nothing is sent."""
        if isinstance(decision, Decision) and decision.fallback:
            return
        if len(self) >= self._most:
            raise UnavailableError(f"{self._most} reports wait to be sent: the service does not take them")
        body = calls.one_of_many(decision, results, spent, amounts, allocator)
        calls.report_bodies([body])  # raises here what is no JSON, not where nobody sees it
        self._waiting.append(body)

    def _take(self) -> Call[list[Any]] | None:
        """Return the next call, of what is not acknowledged yet; None if there is nothing to say."""
        while self._waiting and len(self._sending) < self._room:
            self._sending.append(self._waiting.popleft())
        return calls.report_bodies(self._sending) if self._sending else None

    def _done(self, answers: list[Any]) -> None:
        """Forget what was acknowledged, and keep what was refused for the caller to look at."""
        for body, answer in zip(self._sending, answers, strict=True):
            if isinstance(answer, ClientError):
                self.refused.append((body["decision_id"], answer))
        self._sending = []

    def _part(self, error: InvalidRequestError) -> None:
        """Part with the one of them for which all were refused: by halves, until it is alone."""
        half = len(self._sending) // 2
        if half == 0:
            self._done([error])
            return
        self._waiting.extendleft(reversed(self._sending[half:]))
        self._sending = self._sending[:half]
        self._room = half


class Buffer(Pending):
    """Reports of a `Client`: sent by a thread, every few moments, and when the block ends."""

    def __init__(self, client: Client, every: float, most: int) -> None:
        super().__init__(every, most)
        self._client = client
        self._over = threading.Event()
        self._turn = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="headgate-reports", daemon=True)

    def flush(self) -> None:
        """Send all that waits, now; an `UnavailableError` if that cannot be done, and nothing is lost by it."""
        with self._turn:
            while (call := self._take()) is not None:
                try:
                    self._done(self._client.send(call))
                except InvalidRequestError as error:
                    self._part(error)

    def _work(self) -> None:
        while not self._over.wait(self._every):
            try:
                self.flush()
            except ClientError:  # it is tried again; at the end it is raised
                continue

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.flush()


class AsyncBuffer(Pending):
    """The same of an `AsyncClient`: sent by a task."""

    def __init__(self, client: AsyncClient, every: float, most: int) -> None:
        super().__init__(every, most)
        self._client = client
        self._turn = asyncio.Lock()
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def flush(self) -> None:
        """Send all that waits, now; an `UnavailableError` if that cannot be done, and nothing is lost by it."""
        async with self._turn:
            while (call := self._take()) is not None:
                try:
                    self._done(await self._client.send(call))
                except InvalidRequestError as error:
                    self._part(error)

    async def _work(self) -> None:
        while not self._over.is_set():
            try:
                async with asyncio.timeout(self._every):
                    await self._over.wait()
            except TimeoutError:
                try:
                    await self.flush()
                except ClientError:  # it is tried again; at the end it is raised
                    continue

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        if self._task is not None:
            await self._task
        await self.flush()
