"""A database in use: transactions that write, looks at one consistent state, and statements of every round."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic_core import to_json
from sqlalchemy import ClauseElement, Connection, Engine, text
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from headgate.service.faults import UnavailableError

T = TypeVar("T")
BUSY_SECONDS = 10.0
"""How long a transaction waits for another that writes to the same SQLite file."""
_SURE_SECONDS = 1.0
"""So long after its last use a connection to PostgreSQL is believed to be there; then it is asked."""


class Transaction:
    """A transaction that writes, on a connection that is kept for the next one: `Database` begins and ends it.

    To SQLAlchemy the connection is in one transaction for ever: what it does at each beginning and end would be a fifth
    of the time of a single decision.
    """

    __slots__ = ("connection", "driver", "patience", "used_at")

    def __init__(self, engine: Engine) -> None:
        self.connection = engine.connect().execution_options(kept=True)
        self.connection.begin()
        self.driver: Any = self.connection.connection.driver_connection
        self.patience = -1
        """Milliseconds that SQLite waits for another who writes."""
        self.used_at = time.monotonic()

    def commit(self) -> None:
        """Make it durable."""
        self.connection.dialect.do_commit(self.driver)

    def discard(self) -> None:
        """Let go of the connection, and with it of whatever it has locked."""
        self.connection.invalidate()
        self.connection.close()


@dataclass(frozen=True, slots=True, eq=False)
class Database:
    """A database whose tables are those of `schema`."""

    engine: Engine
    """For all that writes."""
    readers: Engine
    """For those who look: on PostgreSQL with connections of their own, so that they can never take all of them."""
    is_sqlite: bool
    """Whether it is one file here, written by one transaction at a time."""
    version: str
    """Of its tables when it was opened: those that this Headgate knows."""
    _kept: list[Transaction] = field(default_factory=list)
    """Those that are over, for the next to begin."""

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

    def begin(self, *, at_once: bool = False) -> Transaction | None:
        """Begin a transaction: commit it or do not, and `end` it.

        On SQLite this waits for another who is writing. `at_once` never waits: it returns None instead, and always for
        PostgreSQL, where even connecting may take long.
        """
        if at_once and not self.is_sqlite:
            return None
        while True:
            new, transaction = not self._kept, None
            try:
                transaction = Transaction(self.engine) if new else self._kept.pop()
                if self.is_sqlite:
                    patience = 0 if at_once else round(BUSY_SECONDS * 1000)
                    if patience != transaction.patience:
                        transaction.driver.execute(f"PRAGMA busy_timeout={patience}")
                        transaction.patience = patience
                    transaction.driver.execute("BEGIN IMMEDIATE")
                elif time.monotonic() - transaction.used_at > _SURE_SECONDS:  # its first statement begins it
                    self.engine.dialect.do_ping(transaction.driver)
            except IndexError:  # another thread took the last
                continue
            except self.failures as cause:
                if transaction is not None and self.is_sqlite:
                    self._kept.append(transaction)  # another is writing: nothing is wrong with the connection
                elif transaction is not None:
                    transaction.discard()
                    if not new:  # it was closed from the other end
                        continue
                if at_once:
                    return None
                raise unavailable(cause) from cause
            return transaction

    def end(self, transaction: Transaction, *, broken: bool = False) -> None:
        """End a transaction, undone unless it was committed; `broken`: its connection may be in any state."""
        try:
            if not broken:
                transaction.driver.rollback()
                transaction.used_at = time.monotonic()
                self._kept.append(transaction)
                return
        except self.failures:
            pass
        transaction.discard()

    def look(self, read: Callable[[Connection], T], *, slow: bool = False) -> T:
        """Read from one consistent state, without waiting for a writer; `slow`, however long a statement takes."""
        options = {"looking": True} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        try:
            with self.readers.connect().execution_options(**options) as connection:
                if slow:
                    self.be_patient(connection)
                return read(connection)
        except self.failures as cause:
            raise unavailable(cause) from cause

    def be_patient(self, connection: Connection) -> None:
        """Let nothing of this transaction run into a timeout."""
        if not self.is_sqlite:
            for name in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
                connection.execute(text(f"SET LOCAL {name} = 0"))

    def close(self) -> None:
        """Close every connection."""
        while self._kept:
            self._kept.pop().connection.close()
        self.engine.dispose()
        self.readers.dispose()


class Statement:
    """A statement of every round, compiled once for each kind of database.

    `make` is given whether that is SQLite. It goes straight to the driver, with its values by name.
    """

    def __init__(self, make: Callable[[bool], ClauseElement]) -> None:
        dialects: Any = sqlite.dialect(paramstyle="named"), psycopg.dialect()  # type: ignore[no-untyped-call]  # it has no types
        self.text = {d.name: str(make(d.name == "sqlite").compile(dialect=d)) for d in dialects}

    def rows(self, connection: Connection, **values: Any) -> list[dict[str, Any]]:
        """Run a query, and return its rows by column."""
        names, rows = self.table(connection, **values)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def table(self, connection: Connection, **values: Any) -> tuple[list[str], Sequence[Any]]:
        """Run a query, and return the names of its columns, and its rows."""
        if connection.dialect.name == "sqlite":  # has no lists, but reads them from JSON
            values = {name: to_json(v).decode() if type(v) is list else v for name, v in values.items()}
        elif "pairs" in values:
            values["first"], values["second"] = map(list, zip(*values["pairs"], strict=True))
        with closing(connection.connection.cursor()) as cursor:  # one left open would hold SQLite's lock
            cursor.execute(self.text[connection.dialect.name], values)
            return [item[0] for item in cursor.description], cursor.fetchall()

    def each(self, connection: Connection, rows: Sequence[Any]) -> None:
        """Run it once for each row of values; see `write`."""
        write(connection, {self: rows}, (self,))


def write(connection: Connection, rows: Mapping[Statement, Sequence[Any]], order: Iterable[Statement]) -> None:
    """Run statements of which nothing is read, each for its rows, in this order; PostgreSQL is waited for once.

    What a row holds besides is left out.
    """
    name = connection.dialect.name
    driver: Any = connection.connection.driver_connection
    with nullcontext() if name == "sqlite" else driver.pipeline(), closing(driver.cursor()) as cursor:
        for statement in order:
            values = rows.get(statement)
            if values:
                if len(values) == 1:
                    cursor.execute(statement.text[name], values[0])
                else:
                    cursor.executemany(statement.text[name], values)


def unavailable(error: Exception) -> UnavailableError:
    """Return the error that users see."""
    return UnavailableError(f"the database cannot be used now: {reason(error)}")


def reason(error: Exception) -> str:
    """Return the driver's first line, without the statement and its values."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return (str(cause).strip() or type(cause).__name__).splitlines()[0]
