"""Connections: DuckDB inside this process, or any engine that ibis knows by a connection string."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

from headgate.errors import InputError, UnsupportedError
from headgate.extras import extra

Table = Any
"""An ibis table: an expression until it is executed. ibis is an extra, so its types are not named here."""
MEMORY = "1GB"
"""What DuckDB may hold; the rest lies in a temporary folder. The process itself takes some hundred MB more."""


@final
@dataclass(slots=True, eq=False)
class Engine:
    """A connection of ibis, and the tables that were kept in it on the way."""

    backend: Any
    _kept: list[tuple[Table, str]] = field(default_factory=list)
    _folder: TemporaryDirectory[str] | None = None

    @property
    def duckdb(self) -> bool:
        """Whether it is DuckDB, here or in a file."""
        return bool(self.backend.name == "duckdb")

    def keep(self, table: Table) -> Table:
        """Run an expression once and hold what it gives in the engine, for the expressions built on it."""
        name = extra("ibis").util.gen_name("headgate")
        # Not `cache()` there: what ibis 12 says to drop one is not SQL to DuckDB 2.
        kept = self.backend.create_table(name, table, temp=True) if self.duckdb else table.cache()
        self._kept.append((kept, name))
        return kept

    def drop(self, table: Table) -> None:
        """Let go of a table that was kept."""
        place = next(i for i, (kept, _) in enumerate(self._kept) if kept is table)
        _, name = self._kept.pop(place)
        if self.duckdb:
            self.backend.con.execute(f'DROP TABLE "{name}"')
        else:
            table.release()

    def drop_since(self, before: int) -> None:
        """Let go of the tables that were kept after there had been `before` of them."""
        for kept, _ in self._kept[before:]:
            self.drop(kept)

    def drop_all(self) -> None:
        """Let go of all of them."""
        self.drop_since(0)

    @property
    def kept(self) -> int:
        """How many tables are kept."""
        return len(self._kept)

    def folder(self) -> Path:
        """Return a folder for files that are needed for as long as the engine is connected."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="headgate-")
        return Path(self._folder.name)

    def close(self) -> None:
        """Remove the folder, if there is one."""
        if self._folder is not None:
            self._folder.cleanup()


@contextmanager
def connect(engine: object = None) -> Iterator[Engine]:
    """Give an engine for as long as a log is read.

    None is DuckDB in this process, of its own and gone afterwards; a text is what `ibis.connect` takes, such as
    "pyspark://" or "duckdb://file.db"; a connection of ibis is used as it is, and left open.
    """
    ibis = extra("ibis")
    if engine is None:
        extra("duckdb")
        with TemporaryDirectory(prefix="headgate-") as folder:
            config = {"memory_limit": MEMORY, "temp_directory": folder, "preserve_insertion_order": False}
            own = ibis.duckdb.connect(**config)
            own.con.execute("SET enable_progress_bar = false")
            mine = Engine(own)
            try:
                yield mine
            finally:
                own.disconnect()
                mine.close()
        return
    connection = Engine(_by_name(ibis, engine) if isinstance(engine, str) else engine)
    try:
        yield connection
    finally:
        connection.drop_all()
        connection.close()
        if isinstance(engine, str) and connection.backend.name != "pyspark":  # its session is the process's, not ours
            connection.backend.disconnect()


def _by_name(ibis: Any, engine: str) -> Any:
    scheme = engine.partition(":")[0]
    try:
        if scheme == "pyspark":
            extra("pyspark")
        return ibis.connect(engine)
    except UnsupportedError:
        raise
    except ModuleNotFoundError as cause:
        raise UnsupportedError(
            f"engine {engine!r} needs {cause.name}: pip install 'ibis-framework[{scheme}]'"
        ) from cause
    except Exception as cause:  # every engine has errors of its own
        raise InputError(f"engine must be a connection string that ibis can open, got {engine!r}: {cause}") from cause
