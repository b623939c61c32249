"""Backup and restore: any database into one SQLite file, and from it into any empty database."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, delete, func, insert, select

from headgate.errors import InputError
from headgate.service.faults import UnavailableError
from headgate.service.store import Database, open_database, schema

_ROWS = 5_000


def backup(database: Database, file: Path) -> int:
    """Copy one consistent state into a new file, beside a running service; return the number of rows."""
    if file.exists():
        raise InputError(f"{file} exists: a backup never overwrites")
    if not file.parent.is_dir():
        raise InputError(f"there is no folder {file.parent} for the backup")
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    copy = open_database(URL.create("sqlite", database=str(partial)))
    try:
        rows = database.look(lambda source: _copy_all(source, copy), slow=True)
        with copy.engine.connect() as connection:
            driver: Any = connection.connection.driver_connection  # one file, without its log
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            driver.execute("PRAGMA journal_mode=DELETE").fetchall()
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    finally:
        copy.close()
    partial.rename(file)
    return rows


def restore(file: Path, database: Database) -> int:
    """Copy a backup, of this version or before, into an empty database; return the number of rows."""
    if not file.is_file():
        raise InputError(f"there is no backup {file}")
    with database.transaction() as connection:
        connection.execute(delete(schema.heartbeat))  # of a service that has run and done nothing
        for table in schema.metadata.sorted_tables:
            if connection.execute(select(func.count()).select_from(table)).scalar_one():
                raise InputError(f"the database is not empty ({table.name} has rows): restore into a new one")
    with opened_backup(file) as source:
        return source.look(lambda connection: _copy_all(connection, database))


@contextmanager
def opened_backup(file: Path) -> Iterator[Database]:
    """Open a backup, of this version or before, without changing it: a copy is brought up to date."""
    if not file.is_file():
        raise InputError(f"there is no backup {file}")
    with tempfile.TemporaryDirectory(prefix="headgate-backup-") as folder:
        copy = Path(folder, "backup.db")
        shutil.copyfile(file, copy)
        try:
            source = open_database(URL.create("sqlite", database=str(copy)))
        except UnavailableError as cause:
            raise InputError(f"{file} is no backup of Headgate: {cause.__cause__}") from cause
        try:
            yield source
        finally:
            source.close()


def _copy_all(source: Connection, target: Database) -> int:
    """Copy every table, those that others refer to first, in one transaction."""
    total = 0
    with target.transaction() as connection:
        target.be_patient(connection)
        for table in schema.metadata.sorted_tables:
            rows = source.execution_options(yield_per=_ROWS).execute(select(table)).mappings()
            for page in rows.partitions(_ROWS):
                connection.execute(insert(table), [dict(row) for row in page])
                total += len(page)
        if not target.is_sqlite:
            _restart_numbers(connection)
    return total


def _restart_numbers(connection: Connection) -> None:
    """Let PostgreSQL go on counting after the numbers that were copied."""
    for table in (schema.allocators, schema.audit):
        last = connection.execute(select(func.max(table.c.id))).scalar()
        if last is not None:
            connection.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "id"), last)))
