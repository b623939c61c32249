"""What a running app holds: the database, the writer, and a way to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from fastapi import Request
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from headgate.service.engine.writer import Writer
from headgate.service.settings import Settings
from headgate.service.store import Database

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """The parts of a running service."""

    settings: Settings
    database: Database
    writer: Writer

    async def look(self, read: Callable[[Connection], T]) -> T:
        """Read in a thread of the pool, from one consistent state."""
        return await run_in_threadpool(self.database.look, read)


def service_of(request: Request) -> Service:
    """Return the service that a request came to."""
    service: Service = request.app.state.service
    return service


def actor_of(request: Request) -> str:
    """Return who asks, for the audit log."""
    return str(request.scope.get("actor", "anyone on this machine"))
