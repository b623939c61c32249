"""Opening a database: SQLite with a durable write-ahead log, or PostgreSQL; and bringing its tables up to date."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from headgate.errors import InputError
from headgate.service.faults import UnavailableError
from headgate.service.store.database import BUSY_SECONDS, Database, reason
from headgate.service.store.schema import metadata

_CONNECT_SECONDS = 3
_LOCK_SECONDS = 3.0
"""How long PostgreSQL waits for a row that another has locked, before it says that it cannot."""
_STATEMENT_SECONDS = 20.0
_IDLE_SECONDS = 60.0
"""After which PostgreSQL ends a transaction whose owner is silent, and frees what it has locked."""
_KEEPALIVE = {"keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3,
              "tcp_user_timeout": 20_000}  # fmt: skip
"""A connection whose other end is gone is noticed within half a minute."""
_WRITERS, _READERS = 10, 6
"""Connections to PostgreSQL that one process has at most, for those who write and for those who look."""
_SERVING_CACHE, _READING_CACHE = 65_536, 8_192
"""What a connection remembers of a SQLite file, in KiB: where it serves, and where it goes through the log once."""
_LOG_BYTES = 256_000_000
"""To which a write-ahead log is cut that has grown longer, once it begins anew."""
_MIGRATION_LOCK = 0x68656164  # any number that every process of ours takes


def open_database(url: str | URL, *, migrate: bool = True) -> Database:
    """Open `sqlite:///file.db` or `postgresql://...`, with tables of this version."""
    place = _parsed(url)
    lite = place.get_backend_name() == "sqlite"
    if lite and migrate and "uri" not in place.query:
        _keep_private(Path(place.database or ""))
    engine = _engine(place, _WRITERS, _SERVING_CACHE if migrate else _READING_CACHE)
    revisions = _revisions()
    database = Database(engine, engine if lite else _engine(place, _READERS, 0), lite, revisions[0])
    shown = place.set(drivername=place.get_backend_name()).render_as_string()
    try:
        current = _at_newest_version(database, revisions, migrate)
    except database.failures as cause:
        database.close()
        raise UnavailableError(f"cannot open {shown}: {reason(cause)}") from cause
    except InputError as cause:
        database.close()
        raise InputError(f"cannot open {shown}: {cause}") from cause
    if not current:
        database.close()
        raise InputError(f"{shown} has no tables of this version: `headgate serve` with it makes or upgrades them")
    return database


def _keep_private(file: Path) -> None:
    """Let nobody but its owner read a database: SQLite gives its log the rights that the file has.

    A file that others could read until now is taken from them too. What cannot be made or changed, SQLite will refuse.
    A database that is there is not opened here: closing it would end the locks that this process holds on it.
    """
    if not file.exists():
        with suppress(OSError), NamedTemporaryFile(dir=file.parent) as empty:  # for its owner alone
            os.link(empty.name, file)
    for one in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
        with suppress(OSError):
            mode = one.stat().st_mode & 0o777
            if mode & 0o077:
                one.chmod(mode & 0o700)


def without_password(url: str) -> str:
    """Return a database's URL as it may be shown."""
    return make_url(url).render_as_string(hide_password=True)


def _parsed(url: str | URL) -> URL:
    try:
        place = make_url(url)
    except ArgumentError as cause:
        text = "a text with a password in it" if "@" in str(url) else repr(url)
        raise InputError(f"a database is sqlite:///file.db or postgresql://host/name, got {text}") from cause
    if place.get_backend_name() == "sqlite":
        if not place.database or place.database == ":memory:":
            raise InputError(f"SQLite must be a file, such as sqlite:///headgate.db, got {url!r}")
        return place.set(drivername="sqlite+pysqlite")
    if place.get_backend_name() == "postgresql":
        return place.set(drivername="postgresql+psycopg")
    raise InputError(f"a database is sqlite:///file.db or postgresql://host/name, got {place.render_as_string()!r}")


def _engine(place: URL, connections: int, cache: int) -> Engine:
    """Return an engine with so many connections; `cache` is what each may remember of a SQLite file, in KiB."""
    if place.get_backend_name() == "postgresql":
        seconds = {"lock_timeout": _LOCK_SECONDS, "statement_timeout": _STATEMENT_SECONDS,
                   "idle_in_transaction_session_timeout": _IDLE_SECONDS}  # fmt: skip
        options = " ".join(f"-c {name}={round(value * 1000)}" for name, value in seconds.items())
        url_options = place.query.get("options", "")  # of the URL: they come last, and so win
        return create_engine(
            place.difference_update_query(["options"]),
            pool_pre_ping=True,
            pool_size=connections,
            max_overflow=0,
            pool_timeout=5.0,
            connect_args={"connect_timeout": _CONNECT_SECONDS, "options": f"{options} {url_options}", **_KEEPALIVE},
        )
    engine = create_engine(
        place, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False}, pool_size=10, max_overflow=-1,
        pool_use_lifo=True,  # the one that was used last remembers most of the file
    )  # fmt: skip

    @event.listens_for(engine, "connect")
    def settings(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=0",
                        f"journal_size_limit={_LOG_BYTES}"):  # fmt: skip
            connection.execute(f"PRAGMA {setting}").fetchall()
        connection.execute(f"PRAGMA cache_size=-{cache}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        """Take the write lock at once, unless this is only a look: readers never wait in a write-ahead log."""
        options = connection.get_execution_options()
        if not options.get("kept"):  # those begin by themselves, again and again: `Transaction`
            connection.exec_driver_sql("BEGIN" if options.get("looking") else "BEGIN IMMEDIATE")

    return engine


def _revisions() -> list[str]:
    """Return the versions of the tables that are known, the newest first."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415  # only where a database is opened

    return [script.revision for script in ScriptDirectory.from_config(migration_config(None)).walk_revisions()]


def _at_newest_version(database: Database, revisions: list[str], migrate: bool) -> bool:
    """Whether the tables are of the newest version; `migrate` brings them there, or makes them.

    One process does so at a time.
    """
    from alembic import command  # noqa: PLC0415  # only where a database is opened
    from alembic.migration import MigrationContext  # noqa: PLC0415  # only where a database is opened

    if not migrate:
        with database.engine.connect().execution_options(looking=True) as connection:
            return MigrationContext.configure(connection).get_current_revision() == database.version
    with _rebuilding(database) as connection, connection.begin():  # on SQLite this is the write lock
        database.be_patient(connection)
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
        version = MigrationContext.configure(connection).get_current_revision()
        if version is None:
            metadata.create_all(connection)
            command.stamp(migration_config(connection), "head")
        elif version in revisions:
            command.upgrade(migration_config(connection), "head")
        else:
            raise InputError(
                f"its tables are of version {version!r}, and this Headgate knows versions {revisions[-1]} to "
                f"{revisions[0]}: "
                "use the newer Headgate that made them, or restore a backup from before"
            )
    return True


@contextmanager
def _rebuilding(database: Database) -> Iterator[Connection]:
    """Return a connection by which SQLite may write a table anew that others refer to: that is checked no more."""
    with database.engine.connect() as connection:
        if not database.is_sqlite:
            yield connection
            return
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA foreign_keys=OFF")
        try:
            yield connection
        finally:
            driver.execute("PRAGMA foreign_keys=ON")


def migration_config(connection: Connection | None) -> Any:
    """Return what Alembic is told: where our migrations are, and the transaction they are part of."""
    from alembic.config import Config  # noqa: PLC0415  # only where a database is opened

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
