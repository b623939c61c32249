"""The app: a value made of routes, handlers and the parts that live as long as it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from fastapi import FastAPI

import headgate
from headgate.service import dashboard, demo, snapshots, upkeep
from headgate.service.engine.queue import Ledger, Queue
from headgate.service.engine.warm import settle_memory, warm_up
from headgate.service.service import Service
from headgate.service.settings import Settings
from headgate.service.store import open_database
from headgate.service.web import allocators, edges, errors, health, records, rounds, schema, telemetry
from headgate.service.web.guard import Guard, GuardedApp
from headgate.service.web.lean import LeanRoute


def _beside(service: Service) -> Iterator[Coroutine[Any, Any, None]]:
    """What goes on beside the requests."""
    yield upkeep.every(1.0, partial(upkeep.count_silence, service))
    yield upkeep.every(60.0, partial(upkeep.let_go, service))
    yield upkeep.every(5.0, partial(upkeep.turn_windows, service))
    yield snapshots.keep_snapshots(service)
    if service.database.is_sqlite:
        yield upkeep.every(1.0, partial(asyncio.to_thread, upkeep.fold_log, service.database))
    if service.settings.demo:
        yield demo.classroom(service)


class _App(GuardedApp):
    """Describes itself with what FastAPI cannot see."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            schema.complete(super().openapi())
        return super().openapi()


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the app; without settings, with those that the command left in the environment."""
    chosen = settings or Settings.from_environment()

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        database = open_database(chosen.database)
        await asyncio.to_thread(warm_up)
        service = app.state.service = Service(chosen, database, Queue(Ledger(database, chosen.remember_arms)))
        silence = telemetry.start(service) if chosen.otel else None
        beside = [asyncio.create_task(work) for work in _beside(service)]
        settle_memory()
        try:
            yield
        finally:
            for task in beside:
                task.cancel()
            for task in beside:
                with suppress(asyncio.CancelledError):
                    await task
            await service.queue.stop()
            if silence is not None:
                await asyncio.to_thread(silence)
            database.close()

    app = _App(
        title="Headgate",
        version=headgate.__version__,
        summary="Decides how much of a limited budget each option gets, and learns from what comes of it.",
        lifespan=running,
        docs_url=None,  # they would need the network; the dashboard has a page of its own there
        redoc_url=None,
    )
    for router in (
        rounds.lean,
        rounds.router,
        edges.lean,
        edges.router,
        allocators.router,
        records.router,
        health.router,
        dashboard.router,
    ):
        app.router.routes.extend(router.routes)  # not included: what is matched first, and directly, is matched fast
    rules: dict[str, Any] = {"keys": chosen.keys, "local": chosen.local, "most_bytes": chosen.most_bytes}
    if chosen.otel:  # FastAPI makes the spans: of what the guard refuses too, and by names that its router finds
        app.add_middleware(Guard, lean=(), **rules)
    else:
        lean = [route for route in rounds.lean.routes if isinstance(route, LeanRoute)]
        app.guard = Guard(super(GuardedApp, app).__call__, lean, **rules)
    errors.install(app)
    return app
