"""Tables in memory as a source of rows: pandas, polars, Arrow, DuckDB, ibis; whatever speaks Arrow's C interface."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from headgate.calibration.engine import Table
from headgate.errors import InputError
from headgate.extras import extra

_KEYS = ("arm", "success", "threshold", "allocation")


def is_frame(source: object) -> bool:
    """Whether a source is a table in memory: it hands out an Arrow stream (PyCapsule interface)."""
    return not isinstance(source, str | Path) and hasattr(source, "__arrow_c_stream__")


def label_of(source: object) -> str:
    """Return what a source is called in messages and provenance.

    >>> label_of("log.csv")
    'log.csv'
    """
    kind = type(source)
    return f"{kind.__module__.partition('.')[0].lstrip('_')} {kind.__name__}" if is_frame(source) else str(source)


def frame_table(source: Any, columns: Iterable[str]) -> Table:
    """Return a table in memory as a table of ibis that has these columns, of those that it has."""
    names = list(dict.fromkeys(columns))
    if hasattr(source, "iloc"):  # pandas: other columns may hold what Arrow cannot
        source = source[[name for name in names if name in source.columns] or list(source.columns)]
    arrow = extra("pyarrow")
    try:
        table = arrow.table(source)
    except (arrow.ArrowException, TypeError, ValueError) as cause:
        raise InputError(f"{label_of(source)} cannot be read as Arrow: {cause}") from cause
    return extra("ibis").memtable(table)


def check_call(source: object, how: object, columns: Mapping[str, object]) -> None:
    """Refuse a call that cannot be meant, in words that say the right one."""
    if isinstance(how, Mapping):
        keywords = ", ".join(f"{key}={value!r}" for key, value in how.items())
        raise InputError(f"columns are keywords: read_log(source, {keywords or 'arm=..., success=..., threshold=...'})")
    if is_frame(how) or isinstance(how, Path):
        raise InputError("the source comes first: read_log(source, arm=..., success=..., threshold=...)")
    if isinstance(source, Mapping) or not (is_frame(source) or isinstance(source, str | Path)):
        hint = "; collect() makes one" if hasattr(source, "collect") else ""  # polars' lazy frames
        raise InputError(
            "source must be a path, a glob, the name of a table of the engine, or a table of pandas, polars, Arrow or "
            f"DuckDB, got {type(source).__name__}" + ("; pandas.DataFrame(...) makes one" if _rows(source) else hint)
        )
    if how is None and not columns:
        has = list(getattr(source, "columns", ())) if is_frame(source) else []
        shown = f"; it has: {', '.join(map(str, has))}" if has else ""
        raise InputError(
            f"which columns of {label_of(source)}? read_log(source, arm=..., success=..., threshold=...){shown}"
        )
    if how is not None and columns:
        raise InputError(f"columns go without a format: read_log(source, {', '.join(f'{k}=...' for k in columns)})")


def _rows(source: object) -> bool:
    return isinstance(source, Mapping | list | tuple)
