"""Migrations lead to the tables the code uses: from nothing, from every version before, with others starting too.

`kept/` has a backup made by the code of each version of the tables; old ones can be restored, and continued from.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, MetaData, create_engine, insert, select, text

from headgate.errors import InputError
from headgate.service import upkeep
from headgate.service.backup import restore
from headgate.service.engine.queue import Ledger
from headgate.service.faults import UnavailableError
from headgate.service.store import Database, open_database, schema
from headgate.service.store.opening import migration_config
from headgate.service.verify import verify
from tests.service import asking

KEPT = sorted((Path(__file__).parent / "kept").glob("backup-*.db"))


def test_the_newest_version_is_the_schema(database: Database) -> None:
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []


def test_workers_that_start_together_migrate_once(empty_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        for database in pool.map(open_database, [empty_url] * 4):
            database.close()


@pytest.fixture(params=KEPT, ids=lambda file: file.stem)
def old(request: pytest.FixtureRequest, empty_url: str) -> str:
    """A database as an older version left it: its tables, filled from the backup that was kept."""
    engine, version = create_engine(empty_url), request.param.stem.removeprefix("backup-")
    source = create_engine(f"sqlite:///{request.param}")
    with engine.begin() as connection, source.connect() as kept:
        tables = MetaData()
        tables.reflect(kept)
        tables.remove(tables.tables["alembic_version"])
        for column in (column for table in tables.sorted_tables for column in table.columns):
            column.type = column.type.as_generic()  # not SQLite's own
        tables.create_all(connection)
        command.stamp(migration_config(connection), version)
        for table in tables.sorted_tables:
            rows = [dict(row) for row in kept.execute(select(table)).mappings()]
            if rows:
                connection.execute(insert(table), rows)
    engine.dispose()
    source.dispose()
    return empty_url


def _as_the_log_says(database: Database) -> None:
    """What the newest columns hold is what the texts say, and silence counts where it should."""

    def read(connection: Connection) -> Iterator[bool]:
        decisions, allocators = schema.decisions.c, schema.allocators.c
        for request, budget in connection.execute(select(decisions.request, decisions.budget)):
            yield json.loads(request)["budget"] == budget
        for spec, on_expiry in connection.execute(select(allocators.spec, allocators.on_expiry)):
            yield json.loads(spec)["on_expiry"] == on_expiry

    assert all(database.look(lambda connection: list(read(connection))))
    assert verify(database) == []
    silent = [key for _, _, key, _ in database.look(lambda c: upkeep.silent(c, after=(-1, -1)))]
    assert silent == ["strict-silent", "strict-plan"], "not the schedule of which nobody knows what was spent"


def test_an_older_database_is_brought_up_to_date(old: str) -> None:
    """Its tables are then those that a new database gets, and what was in them is there."""
    database = open_database(old)
    test_the_newest_version_is_the_schema(database)
    _as_the_log_says(database)
    asking.play(Ledger(database), 3, seed=9, name="strict")
    assert verify(database) == []
    database.close()


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_an_older_backup_is_restored(database: Database, file: Path, tmp_path: Path) -> None:
    copy = tmp_path / file.name
    shutil.copyfile(file, copy)
    restore(copy, database)
    _as_the_log_says(database)
    assert copy.read_bytes() == file.read_bytes(), "a backup is never changed"


def test_a_backup_of_the_version_before_the_newest_is_kept() -> None:
    """A new migration comes with a backup made by the code before it."""
    versions = sorted((Path(schema.__file__).parent / "migrations" / "versions").glob("0*.py"))
    assert [file.stem for file in KEPT] == [f"backup-{file.name[:4]}" for file in versions[:-1]]
    for file in KEPT:
        found = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
        assert found.execute("SELECT version_num FROM alembic_version").fetchall() == [(file.stem[-4:],)]
        found.close()


def test_tables_of_a_version_from_the_future_are_refused_in_words(empty_url: str) -> None:
    database = open_database(empty_url)
    with database.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    database.close()
    with pytest.raises(
        InputError, match=r"version '9999', and this Headgate knows versions 0001 to 0009: use the newer"
    ):
        open_database(empty_url)


def test_allocators_of_before_keep_their_random_numbers(old: str) -> None:
    database = open_database(old)
    assert database.look(lambda c: c.execute(select(schema.allocators.c.seed)).scalars().all()) == [0, 0]
    database.close()


@pytest.mark.parametrize("wrong", ["headgate.db", "mysql://host/db", "sqlite://", "sqlite:///:memory:"])
def test_a_url_that_cannot_be_is_refused(wrong: str) -> None:
    with pytest.raises(InputError, match=r"sqlite:///|SQLite"):
        open_database(wrong)


def test_a_database_that_is_not_there_says_so_without_the_password() -> None:
    with pytest.raises(UnavailableError, match="cannot open") as error:
        open_database("postgresql://user:secret@127.0.0.1:1/none")
    assert "secret" not in str(error.value)
