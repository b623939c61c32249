"""What goes on beside the requests: silence that counts is written down, rows go after their time, SQLite's log too."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, exists, insert, select, text, update

from headgate.service import clock
from headgate.service.engine import removals, windows
from headgate.service.engine.requests import Report
from headgate.service.faults import NotFoundError, UnavailableError
from headgate.service.service import Service
from headgate.service.store import Database, schema
from headgate.service.store.database import BUSY_SECONDS

_PAGE = 500
_BEAT = 2_000_000
"""Microseconds between two notes that the service runs."""
_GAP = 15_000_000
"""Microseconds without such a note that are no accident of load."""
_FOLD_BYTES = 16_000_000
_PASSES = 3
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


def beat(connection: Connection) -> None:
    """Note that the service runs; after a gap, move all deadlines on by it.

    In a gap nobody could report: the service was down, its machine asleep, or the clock has jumped. Whatever it was, it
    is no silence. Clocks of several machines that differ by more than a gap move deadlines again and again: what
    waits is never taken for a failure too early.
    """
    table, waiting, now = schema.heartbeat, schema.waiting, clock.now()
    last = connection.execute(select(table.c.at).where(table.c.id == 1).with_for_update()).scalar()
    if last is None:
        connection.execute(insert(table).values(id=1, at=now))
        return
    gap = now - last
    if gap > _GAP:
        connection.execute(
            update(waiting).where(waiting.c.expires_at.is_not(None)).values(expires_at=waiting.c.expires_at + gap)
        )
        _log.warning("the service was not running, or a clock jumped: deadlines are %.0f s later", gap / 1e6)
    if gap > _BEAT or gap < -_GAP:
        connection.execute(update(table).where(table.c.id == 1).values(at=now))


def touch(connection: Connection, version: str) -> None:
    """Write something, as a test of whether that can be done, in tables of the version that this worker knows."""
    connection.execute(update(schema.heartbeat).values(at=schema.heartbeat.c.at))
    now = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if now != version:
        raise UnavailableError(f"a newer Headgate has upgraded the tables to version {now}: start it here too")


async def ready(service: Service) -> None:
    """Go the way of a decision and write something, or raise."""
    with suppress(NotFoundError):
        await service.queue.ask(Report("", None))
    await service.note(touch, service.database.version)


async def count_silence(service: Service) -> None:
    """Where silence until the deadline is failure, report it; once, whoever does it first."""
    await service.note(beat)
    last: tuple[int, int] = (-1, -1)
    while True:
        page = await service.glance(silent, last)
        if page:
            await service.queue.ask_all([Report(key, None, allocator=name) for _, _, key, name in page])
        if len(page) < _PAGE:
            return
        last = page[-1][:2]


def silent(connection: Connection, after: tuple[int, int]) -> list[tuple[int, int, str, str]]:
    """Return decisions past their deadline that end there: live rounds, and where silence is failure all others.

    Each with its id and the name of its allocator. But not schedules of which nobody knows how far they got.
    """
    waiting, decisions, allocators = schema.waiting.c, schema.decisions.c, schema.allocators.c
    reports = schema.reports.c
    spent = (
        exists()
        .where(reports.allocator_id == waiting.allocator_id, reports.round == waiting.round)
        .where(reports.spent.is_not(None))
    )
    live = exists().where(schema.live.c.allocator_id == waiting.allocator_id, schema.live.c.round == waiting.round)
    rows = connection.execute(
        select(waiting.allocator_id, waiting.round, decisions.id, allocators.name)
        .join_from(schema.waiting, schema.decisions)
        .join(schema.allocators, allocators.id == waiting.allocator_id)
        .where(waiting.expires_at < clock.now())
        .where(live | ((allocators.on_expiry == "failure") & (decisions.budget.is_not(None) | spent)))
        .where((waiting.allocator_id > after[0]) | ((waiting.allocator_id == after[0]) & (waiting.round > after[1])))
        .order_by(waiting.allocator_id, waiting.round)
        .limit(_PAGE)
    )
    return [(a, r, key, name) for a, r, key, name in rows]


def over(connection: Connection) -> list[str]:
    """Return the allocators whose window of time is over."""
    table = schema.allocators.c
    return list(connection.execute(select(table.name).where(table.window_until <= clock.now())).scalars())


async def turn_windows(service: Service) -> None:
    """Let windows of time end that are over, of allocators that nobody asks too: what is shown of them fades."""
    for name in await service.glance(over):
        await service.change(windows.turn_of, name)


async def let_go(service: Service) -> None:
    """Let decisions become their sum whose time is over, a page at a time, so that nobody waits long."""
    usual = service.settings.keep_days
    for name in await service.glance(removals.kept_for_a_time, usual):
        while await service.change(removals.fold, name, usual) == removals.PAGE:
            pass


def fold_log(database: Database) -> None:
    """Copy SQLite's write-ahead log into the file, beside the writer and not in its way; then begin it anew.

    To begin anew is to copy the rest with the writer's lock: there is hardly any after a few passes without. With that
    lock SQLite would also wait for whoever still reads the log, an export for minutes. So it is tried at once, or not
    until the next time.
    """
    log = Path(f"{database.engine.url.database}-wal")
    if not log.exists() or log.stat().st_size <= _FOLD_BYTES:
        return
    with database.engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        for _ in range(_PASSES):
            driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        driver.execute("PRAGMA busy_timeout=0")
        try:
            driver.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        finally:
            driver.execute(f"PRAGMA busy_timeout={round(1000 * BUSY_SECONDS)}")
