"""Edges: a service's allocator in the caller's own process.

An edge decides in microseconds, also while the service is away. Now and then it pushes what it has seen since its last
push, under a number, so that it counts once however often it is sent; and pulls the sum of what all have seen. Evidence
adds up, so nothing is lost by that but time: an edge learns late what others saw.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Self

from headgate.client import AsyncClient, Client
from headgate.client.errors import ClientError, ConflictError, UnavailableError
from headgate.edge.base import EdgeBase


class Edge(EdgeBase):
    """An allocator of a service, in this process: decides at once, learns here, and shares what it saw.

    ```python
    with hg.Client("http://127.0.0.1:8000") as client, hg.Edge(client, "quiz") as edge:
        decision = edge.decide(20.0)
        edge.report(decision, {"q1": 3.2, "q2": None})
    ```

    Parameters
    ----------
    client : Client
        Of the service.
    name : str
        The allocator: one whose policy acts on sums of evidence (`thompson`, `lr-ucb`, `uniform`, `oracle`), without
        holdout, shadow or guard: which decisions the baseline gets is drawn by the service.
    every : float, default 1
        Seconds between two pushes and pulls, by a thread, in a `with` block.
    file : path, optional
        Where a push is kept until it is acknowledged, and what was pulled last: a new edge with the same file sends
        what one that was killed could not, and begins also while the service is away. What was seen after the last
        push is lost with the process.
    label : str, default "edge"
        What its id, under which the service lists it, begins with.
    keep_decisions : bool, default True
        Whether decisions that are over are pushed too, for the record; evidence is in any case.
    """

    def __init__(
        self, client: Client, name: str, *, every: float = 1.0, file: str | Path | None = None, label: str = "edge",
        keep_decisions: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(name, every, file, label, keep_decisions)
        self._client = client
        self._turn = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="headgate-edge", daemon=True)

    def pull(self) -> None:
        """Get to know what all have seen."""
        try:
            self._pulled(self._client.send(self._pull_call()))
        except ConflictError as error:
            self._refuse(error)
            raise
        except UnavailableError as error:
            self._pull_from_file(error)

    def push(self) -> None:
        """Send all that was seen here; an `UnavailableError` if that cannot be done, and nothing is lost by it."""
        with self._turn:
            while (call := self._next_push()) is not None:
                self._client.send(call)
                self._acknowledged()

    def sync(self) -> None:
        """Push, then pull."""
        self.push()
        self.pull()

    def _work(self) -> None:
        while not self._stopping.wait(self._every):
            try:
                self.sync()
            except ClientError:  # it is tried again; at the end it is raised
                continue

    def __enter__(self) -> Self:
        self.pull()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self.push()


class AsyncEdge(EdgeBase):
    """The same with an `AsyncClient`: `async with`, `await edge.push()`; `decide` and `report` wait for nobody."""

    def __init__(
        self, client: AsyncClient, name: str, *, every: float = 1.0, file: str | Path | None = None,
        label: str = "edge", keep_decisions: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(name, every, file, label, keep_decisions)
        self._client = client
        self._turn = asyncio.Lock()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def pull(self) -> None:
        """Get to know what all have seen."""
        try:
            self._pulled(await self._client.send(self._pull_call()))
        except ConflictError as error:
            self._refuse(error)
            raise
        except UnavailableError as error:
            self._pull_from_file(error)

    async def push(self) -> None:
        """Send all that was seen here; an `UnavailableError` if that cannot be done, and nothing is lost by it."""
        async with self._turn:
            while (call := self._next_push()) is not None:
                await self._client.send(call)
                self._acknowledged()

    async def sync(self) -> None:
        """Push, then pull."""
        await self.push()
        await self.pull()

    async def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                async with asyncio.timeout(self._every):
                    await self._stopping.wait()
            except TimeoutError:
                try:
                    await self.sync()
                except ClientError:  # it is tried again; at the end it is raised
                    continue

    async def __aenter__(self) -> Self:
        await self.pull()
        self._task = asyncio.create_task(self._work())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping.set()
        if self._task is not None:
            await self._task
        await self.push()
