"""The app: a value made of routes, handlers and the parts that live as long as it runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

import headgate
from headgate.service.engine.ledger import Ledger
from headgate.service.engine.writer import Writer
from headgate.service.settings import Settings
from headgate.service.store import open_database
from headgate.service.web import allocators, decisions, errors
from headgate.service.web.state import Service


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the app; without settings, with those that the command left in the environment."""
    chosen = settings or Settings.from_environment()

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        database = open_database(chosen.database)
        writer = Writer(Ledger(database))
        app.state.service = Service(chosen, database, writer)
        try:
            yield
        finally:
            await writer.stop()
            database.close()

    app = FastAPI(
        title="Headgate",
        version=headgate.__version__,
        summary="Decides how much of a limited budget each option gets, and learns from what comes of it.",
        lifespan=running,
    )
    for router in (decisions.lean, decisions.router, allocators.router):
        app.router.routes.extend(router.routes)  # not included: what is matched first, and directly, is matched fast
    errors.install(app)
    return app
