"""A running service: its settings, its database, the queue to all that writes, and a way to read.

A route is given it as `Here`, and who asks as `Actor` and `Asks`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Depends, Request

from headgate.service.engine.queue import Queue
from headgate.service.engine.requests import Change
from headgate.service.faults import UnavailableError
from headgate.service.memory import Memory
from headgate.service.settings import Settings
from headgate.service.store import Database
from headgate.service.store.keys import ANYBODY, Asker

T = TypeVar("T")
_READERS = 2
"""Who may read at once; fewer than there are connections for that."""
_MOST_READING = 200


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """The parts of a running service; routes and upkeep are given one."""

    settings: Settings
    database: Database
    queue: Queue
    memory: Memory = field(default_factory=Memory)
    """What the dashboard has computed."""
    _reading: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_READERS))

    async def look(self, read: Callable[..., T], *args: Any) -> T:
        """Read in a thread, from one consistent state: `read(connection, *args)`.

        A few at a time, in the order in which they came: decisions need the processor too.
        """
        if self._reading.statistics().tasks_waiting >= _MOST_READING:
            raise UnavailableError("too many are reading: ask again later")
        return await to_thread.run_sync(
            self.database.look, lambda connection: read(connection, *args), limiter=self._reading
        )

    async def glance(self, read: Callable[..., T], *args: Any) -> T:
        """Read something small that many wait for, past all who look."""
        return await to_thread.run_sync(self.database.look, lambda connection: read(connection, *args))

    async def change(self, make: Callable[..., Any], *args: Any) -> Any:
        """Change something, in a transaction of its own: `make(connection, *args)`."""
        return await self.queue.ask(Change(lambda connection: make(connection, *args)))

    async def note(self, make: Callable[..., Any], *args: Any) -> Any:
        """Do the same for what is a row or two: it goes with decisions, and stops nobody."""
        return await self.queue.ask(Change(lambda connection: make(connection, *args), is_small=True))


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _actor(request: Request) -> str:
    return str(request.scope.get("actor", "anyone on this machine"))


async def _asker(request: Request) -> Asker:
    asker: Asker = request.scope.get("asker", ANYBODY)
    return asker


Here = Annotated[Service, Depends(_service)]
"""The service that a request came to."""
Actor = Annotated[str, Depends(_actor)]
"""Who asks, for the audit log."""
Asks = Annotated[Asker, Depends(_asker)]
"""The key that asks, for the log, and what exists for it."""
