"""Migrations lead to the tables the code uses, from nothing and with others starting at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from headgate.errors import InputError
from headgate.service.faults import UnavailableError
from headgate.service.store import Database, open_database, schema


def test_the_newest_version_is_the_schema(database: Database) -> None:
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []


def test_workers_that_start_together_migrate_once(url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        for database in pool.map(open_database, [url] * 4):
            database.close()


@pytest.mark.parametrize("wrong", ["headgate.db", "mysql://host/db", "sqlite://", "sqlite:///:memory:"])
def test_a_url_that_cannot_be_is_refused(wrong: str) -> None:
    with pytest.raises(InputError, match=r"sqlite:///|SQLite"):
        open_database(wrong)


def test_a_database_that_is_not_there_says_so_without_the_password() -> None:
    with pytest.raises(UnavailableError, match="cannot open") as error:
        open_database("postgresql://user:secret@127.0.0.1:1/none")
    assert "secret" not in str(error.value)
