"""A running service: its settings, its database, the queue to all that writes, and a way to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool

from headgate.service.engine.queue import Queue
from headgate.service.engine.records import Change
from headgate.service.settings import Settings
from headgate.service.store import Database

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """The parts of a running service; routes and upkeep are given one."""

    settings: Settings
    database: Database
    queue: Queue

    async def look(self, read: Callable[..., T], *args: Any) -> T:
        """Read in a thread of the pool, from one consistent state: `read(connection, *args)`."""
        return await run_in_threadpool(self.database.look, lambda connection: read(connection, *args))

    async def change(self, make: Callable[..., Any], *args: Any) -> Any:
        """Change something, in a transaction of its own: `make(connection, *args)`."""
        return await self.queue.ask(Change(lambda connection: make(connection, *args)))
