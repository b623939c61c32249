"""What goes on beside the requests: silence that counts is written down, SQLite's log is folded into its file."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from sqlalchemy import Connection, exists, select
from starlette.concurrency import run_in_threadpool

from headgate.service import clock
from headgate.service.engine.records import Report
from headgate.service.faults import UnavailableError
from headgate.service.service import Service
from headgate.service.store import Database, schema

_PAGE = 500
_FOLD_BYTES = 16_000_000
_RESTART_BYTES = 256_000_000
_log = logging.getLogger("headgate.service")


async def every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do it again and again; a database that is gone for a while is no reason to stop."""
    while True:
        try:
            await work()
        except UnavailableError as error:
            _log.warning("%s", error)
        except Exception:  # noqa: BLE001  # it is logged, and tried again
            _log.exception("upkeep failed")
        await asyncio.sleep(seconds)


async def count_silence(service: Service) -> None:
    """Where silence until the deadline is failure, report it; once, whoever does it first."""
    last: tuple[int, int] = (-1, -1)
    while True:
        page = await service.look(silent, last)
        if page:
            await service.queue.ask_all([Report(key, None) for _, _, key in page])
        if len(page) < _PAGE:
            return
        last = page[-1][:2]


def silent(connection: Connection, after: tuple[int, int]) -> list[tuple[int, int, str]]:
    """Return decisions past their deadline of which it is known what their arms got."""
    waiting, decisions, allocators = schema.waiting.c, schema.decisions.c, schema.allocators.c
    reports = schema.reports.c
    spent = (
        exists()
        .where(reports.allocator_id == waiting.allocator_id, reports.round == waiting.round)
        .where(reports.spent.is_not(None))
    )
    rows = connection.execute(
        select(waiting.allocator_id, waiting.round, decisions.id)
        .join_from(schema.waiting, schema.decisions)
        .join(schema.allocators, allocators.id == waiting.allocator_id)
        .where(waiting.expires_at < clock.now(), allocators.on_expiry == "failure")
        .where(decisions.budget.is_not(None) | spent)  # else nobody knows what the arms got
        .where((waiting.allocator_id > after[0]) | ((waiting.allocator_id == after[0]) & (waiting.round > after[1])))
        .order_by(waiting.allocator_id, waiting.round)
        .limit(_PAGE)
    )
    return [(a, r, key) for a, r, key in rows]


async def fold_log(database: Database) -> None:
    """Copy SQLite's write-ahead log into the file, beside the writer and not in its way."""
    await run_in_threadpool(_fold, database)


def _fold(database: Database) -> None:
    log = Path(f"{database.engine.url.database}-wal")
    size = log.stat().st_size if log.exists() else 0
    if size > _FOLD_BYTES:
        mode = "RESTART" if size > _RESTART_BYTES else "PASSIVE"
        with database.engine.connect() as connection:
            driver = connection.connection.driver_connection
            if driver is not None:
                driver.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
