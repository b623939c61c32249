"""Opening a database: SQLite with a durable write-ahead log, or PostgreSQL; and bringing its tables up to date."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from headgate.errors import InputError
from headgate.service.faults import UnavailableError

T = TypeVar("T")
_CONNECT_SECONDS = 3
_BUSY_SECONDS = 10.0
_MIGRATION_LOCK = 0x68656164  # any number that every process of ours takes


@dataclass(frozen=True, slots=True, eq=False)
class Database:
    """A database whose tables are those of `schema`."""

    engine: Engine
    is_sqlite: bool
    """Whether it is one file here, written by one transaction at a time."""

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What is raised by a database that cannot be used, with or without SQLAlchemy in between."""
        return DBAPIError, PoolTimeoutError, self.engine.dialect.loaded_dbapi.Error

    def is_clash(self, error: BaseException | None) -> bool:
        """Whether an error says that another has written the same key."""
        return isinstance(error, IntegrityError | self.engine.dialect.loaded_dbapi.IntegrityError)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Commit at the end, or roll back; a database that cannot be used is an `UnavailableError`."""
        try:
            with self.engine.begin() as connection:
                yield connection
        except self.failures as cause:
            raise unavailable(cause) from cause

    def begin(self) -> Connection:
        """Return a connection with a transaction begun: commit or roll back, and close it."""
        connection = None
        try:
            connection = self.engine.connect()
            connection.begin()
        except self.failures as cause:
            if connection is not None:
                connection.close()
            raise unavailable(cause) from cause
        return connection

    def begin_at_once(self) -> Connection | None:
        """Begin, on SQLite, without ever waiting; None if someone else is writing, or whatever else is wrong."""
        try:
            connection = self.engine.connect()
        except self.failures:
            return None
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA busy_timeout=0")
        try:
            connection.begin()
        except self.failures:
            connection.close()
            return None
        finally:
            driver.execute(f"PRAGMA busy_timeout={round(_BUSY_SECONDS * 1000)}")
        return connection

    def look(self, read: Callable[[Connection], T]) -> T:
        """Read from one consistent state, without waiting for a writer."""
        options = {"looking": True} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        try:
            with self.engine.connect().execution_options(**options) as connection:
                return read(connection)
        except self.failures as cause:
            raise unavailable(cause) from cause

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def open_database(url: str | URL, *, migrate: bool = True) -> Database:
    """Open `sqlite:///file.db` or `postgresql://...`, with tables of this version."""
    place = _parsed(url)
    database = Database(_engine(place), place.get_backend_name() == "sqlite")
    try:
        if migrate:
            _migrate(database)
    except database.failures as cause:
        database.close()
        raise UnavailableError(f"cannot open {place.render_as_string()}: {reason(cause)}") from cause
    return database


def without_password(url: str) -> str:
    """Return a database's URL as it may be shown."""
    return make_url(url).render_as_string(hide_password=True)


def unavailable(error: Exception) -> UnavailableError:
    """Return the error that users see."""
    return UnavailableError(f"the database cannot be used now: {reason(error)}")


def reason(error: Exception) -> str:
    """Return the driver's first line, without the statement and its values."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return (str(cause).strip() or type(cause).__name__).splitlines()[0]


def _parsed(url: str | URL) -> URL:
    try:
        place = make_url(url)
    except ArgumentError as cause:
        given = "a text with a password in it" if "@" in str(url) else repr(url)
        raise InputError(f"a database is sqlite:///file.db or postgresql://host/name, got {given}") from cause
    if place.get_backend_name() == "sqlite":
        if not place.database or place.database == ":memory:":
            raise InputError(f"SQLite must be a file, such as sqlite:///headgate.db, got {url!r}")
        return place.set(drivername="sqlite+pysqlite")
    if place.get_backend_name() == "postgresql":
        return place.set(drivername="postgresql+psycopg")
    raise InputError(f"a database is sqlite:///file.db or postgresql://host/name, got {place.render_as_string()!r}")


def _engine(place: URL) -> Engine:
    if place.get_backend_name() == "postgresql":
        return create_engine(
            place,
            pool_pre_ping=True,
            pool_size=10,
            pool_timeout=5.0,
            connect_args={"connect_timeout": _CONNECT_SECONDS},
        )
    engine = create_engine(
        place, connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False}, pool_size=10, max_overflow=-1
    )

    @event.listens_for(engine, "connect")
    def settings(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute("PRAGMA wal_autocheckpoint=0")
        cursor.execute("PRAGMA cache_size=-65536")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        """Take the write lock at once, unless this is only a look: readers never wait in a write-ahead log."""
        looking = connection.get_execution_options().get("looking")
        connection.exec_driver_sql("BEGIN" if looking else "BEGIN IMMEDIATE")

    return engine


def _migrate(database: Database) -> None:
    """Bring the tables to the newest version; one process at a time."""
    from alembic import command  # noqa: PLC0415  # only where the service starts

    with database.engine.begin() as connection:  # on SQLite this is the write lock
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})
        command.upgrade(migration_config(connection), "head")


def migration_config(connection: Connection) -> Any:
    """Return what Alembic is told: where our migrations are, and the transaction they are part of."""
    from alembic.config import Config  # noqa: PLC0415  # only where the service starts

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config
