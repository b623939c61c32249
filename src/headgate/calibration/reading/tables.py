"""Files and tables as ibis tables of text: CSV, TSV, gz, Parquet, DuckDB, folders and globs of them.

Text stays text until it is screened, so that a value that cannot be read is counted, not guessed or fatal.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from headgate.calibration.engine import Engine, Table
from headgate.calibration.reading.frames import frame_table, is_frame, label_of
from headgate.errors import InputError
from headgate.extras import extra

TEXT = (".csv", ".tsv", ".tab", ".txt")
PARQUET = (".parquet", ".pq")
DUCKDB = (".duckdb", ".ddb", ".db")
FILE = "headgate_file"
"""The column that says which file a row is from, where that was asked for."""
_SEPARATORS = ",;\t|"
_SHOWN = 12


def open_table(engine: Engine, source: str | Path, name: str | None = None, columns: Iterable[str] = ()) -> Table:
    """Return a source as one table that has these columns; `name` is that of a table in a DuckDB file.

    An engine other than DuckDB reads the files itself, and a source that is no file is one of its tables. A source may
    be a table in memory.
    """
    if is_frame(source):
        table = frame_table(source, columns)
        columns_of(table, columns, label_of(source))
        return table
    table = None
    if not has_magic(str(source)) and not Path(source).exists() and "/" not in str(source):
        table = _of_engine(engine, str(source))
    if table is None:
        table = _of_files(engine, source, name)
    columns_of(table, columns, source)
    return table


def _of_files(engine: Engine, source: str | Path, name: str | None) -> Table:
    paths = files(source)
    kind = _kind(paths[0])
    others = [path for path in paths if _kind(path) != kind]
    if others:
        raise InputError(f"{source} must have files of one kind, got {paths[0].name} and {others[0].name}")
    if kind != DUCKDB and name is not None:
        raise InputError(f"a table is named only in a DuckDB file, got table {name!r} and {paths[0].name}")
    if kind == TEXT:
        return text_table(engine, paths)
    if kind == PARQUET:
        return engine.backend.read_parquet([str(path) for path in paths])
    return _union([_of_duckdb(engine, path, name) for path in paths])


def files(source: str | Path, suffixes: tuple[str, ...] = (*TEXT, *PARQUET, *DUCKDB)) -> list[Path]:
    """List the files of a source in order: itself, those in its folder, or those that match."""
    path = Path(source)
    if path.is_file():
        return [path]
    if path.is_dir():
        paths = sorted(p for p in path.iterdir() if p.is_file() and _suffix(p) in suffixes)
        if not paths:
            raise InputError(f"{path} has no file that ends in {', '.join(suffixes)}; it has: {_listed(path)}")
        return paths
    if has_magic(str(source)):
        paths = sorted(Path(p) for p in glob(str(source), recursive=True) if Path(p).is_file())  # noqa: PTH207  # any glob, absolute ones too
        if paths:
            return paths
        raise InputError(f"no file matches {source}")
    parent = path.parent
    beside = f"; {parent} has: {_listed(parent)}" if parent.is_dir() else f", and neither is {parent}"
    raise InputError(f"{source} is not there{beside}")


def text_table(engine: Engine, paths: Sequence[Path], *, named: bool = False) -> Table:
    """Return text files as one table, all columns text; with `named`, `FILE` says which file a row is from.

    Files may differ in their separators and in the order of their columns; columns that not all have are left out.
    """
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for path in paths:
        alike.setdefault(_header(path), []).append(str(path))
    tables = [_text(engine, group, mark, columns, named) for (mark, columns), group in alike.items()]
    return _union(tables)


def columns_of(table: Table, columns: Iterable[str], source: object) -> None:
    """Refuse a table without these columns, and say which ones it has."""
    for column in columns:
        if column not in table.columns:
            has = ", ".join(name for name in table.columns if name != FILE)
            raise InputError(f"{source} has no column {column!r}; it has: {has}")


def torn(engine: Engine) -> int:
    """How many lines DuckDB could not split into columns, of all text read so far; other engines pad them."""
    if not engine.duckdb:
        return 0
    tables = engine.backend.con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors'")
    if tables.fetchall() == [(0,)]:
        return 0
    lines = "SELECT count(*) FROM (SELECT DISTINCT scan_id, file_id, line FROM reject_errors)"
    return int(engine.backend.con.execute(lines).fetchall()[0][0])


def _text(engine: Engine, paths: list[str], mark: str, columns: tuple[str, ...], named: bool) -> Table:
    if engine.duckdb:
        options: dict[str, Any] = {"filename": FILE} if named else {}
        return engine.backend.read_csv(
            paths, columns=dict.fromkeys(columns, "string"), auto_detect=False, header=True, delim=mark, quote='"',
            escape='"', store_rejects=True, rejects_limit=0, **options,
        )  # fmt: skip
    options = {} if engine.backend.name != "pyspark" else {"sep": mark, "inferSchema": False, "escape": '"'}
    table = engine.backend.read_csv(paths if len(paths) > 1 else paths[0], header=True, **options)
    return _with_file(engine, table) if named else table


def _with_file(engine: Engine, table: Table) -> Table:
    if engine.backend.name != "pyspark":
        raise InputError(f"{engine.backend.name} does not tell which file a row is from: load a table with the users")
    return engine.backend.sql(f"SELECT *, input_file_name() AS {FILE} FROM {table.get_name()}")  # noqa: S608  # our own names


def _header(path: Path) -> tuple[str, tuple[str, ...]]:
    """The separator and the columns: the first line, split by what splits it most."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            line = file.readline()
    except (OSError, EOFError, UnicodeDecodeError) as cause:
        raise InputError(f"{path} cannot be read as text: {cause}") from cause
    if not line.strip():
        raise InputError(f"{path} must begin with a line that names its columns, got an empty line")
    rows = {mark: next(csv.reader([line], delimiter=mark)) for mark in _SEPARATORS}
    mark = max(rows, key=lambda m: len(rows[m]))
    columns = tuple(name.strip() for name in rows[mark])
    if len(set(columns)) < len(columns):
        raise InputError(f"{path} must have a different name for each column, got {', '.join(columns)}")
    return mark, columns


def _of_engine(engine: Engine, name: str) -> Table | None:
    if engine.duckdb:  # not list_tables(), which ibis 12 cannot do with DuckDB 2
        names = [row[0] for row in engine.backend.con.execute("SHOW TABLES").fetchall()]
    else:
        names = engine.backend.list_tables()
    return engine.backend.table(name) if name in names else None


def _of_duckdb(engine: Engine, path: Path, name: str | None) -> Table:
    if not engine.duckdb:
        raise InputError(f"{path.name} is a DuckDB file, which {engine.backend.name} cannot read")
    alias = extra("ibis").util.gen_name("file")
    quoted = str(path).replace("'", "''")
    try:
        engine.backend.con.execute(f"ATTACH '{quoted}' AS {alias} (READ_ONLY)")
    except Exception as cause:  # DuckDB has many errors, and not all of one kind
        raise InputError(f"{path} cannot be opened by DuckDB: {cause}") from cause
    query = "SELECT table_name FROM information_schema.tables WHERE table_catalog = ? ORDER BY 1"
    tables = [row[0] for row in engine.backend.con.execute(query, [alias]).fetchall()]
    if name is None and len(tables) != 1:
        raise InputError(f"{path} has {len(tables)} tables, so name one of them: {', '.join(tables) or 'none'}")
    chosen = tables[0] if name is None else name
    if chosen not in tables:
        raise InputError(f"{path} has no table {chosen!r}; it has: {', '.join(tables) or 'none'}")
    return engine.backend.table(chosen, database=(alias, "main"))


def _union(tables: list[Table]) -> Table:
    if len(tables) == 1:
        return tables[0]
    shared = [name for name in tables[0].columns if all(name in table.columns for table in tables)]
    return extra("ibis").union(*(table.select(*shared) for table in tables))


def _suffix(path: Path) -> str:
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def _kind(path: Path) -> tuple[str, ...]:
    suffix = _suffix(path)
    packed = path.suffix.lower() == ".gz"
    for kind in (TEXT, PARQUET, DUCKDB):
        if suffix in kind and packed and kind != TEXT:
            raise InputError(f"only text may be in .gz, Parquet is packed already: unpack {path.name}")
        if suffix in kind:
            return kind
    endings = ", ".join((*TEXT, *PARQUET, *DUCKDB))
    raise InputError(f"a file must end in one of {endings}, text also in .gz, got {path.name}")


def _listed(folder: Path) -> str:
    names = sorted(p.name + "/" * p.is_dir() for p in folder.iterdir())
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "") or "nothing"
