"""Reading a log: a source is opened by its format, its rows screened and added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from headgate import checks
from headgate.calibration.engine import Engine, connect
from headgate.calibration.engine.add_up import add_up
from headgate.calibration.engine.distinct import EXACT
from headgate.calibration.log import Log, Reading
from headgate.calibration.reading.columns import Columns
from headgate.calibration.reading.criteo import Criteo
from headgate.calibration.reading.ednet_pseudo import EdnetPseudo
from headgate.calibration.reading.ednet_raw import EdnetRaw
from headgate.calibration.reading.frames import check_call, label_of
from headgate.calibration.reading.screen import Clean
from headgate.calibration.records import records_of, worth_keeping
from headgate.errors import HeadgateError, InputError

Progress = Callable[[str], None]


class Format(Protocol):
    """A way to read a log: by its columns, or one of a log that is known."""

    def open(self, engine: Engine, source: str | Path, progress: Progress, /) -> Clean:
        """Read a source into clean rows."""
        ...


FORMATS: dict[str, Format] = {"ednet-kt3": EdnetRaw(), "ednet-pseudo": EdnetPseudo(), "criteo": Criteo()}


def read_log(
    source: str | Path | Any,
    how: Format | str | None = None,
    *,
    engine: object = None,
    limit: float | None = None,
    exact: int = EXACT,
    max_budget: float | None = None,
    progress: Progress = lambda _: None,
    **columns: Any,
) -> Log:
    """Read a log and add it up.

    Parameters
    ----------
    source
        A file, a folder, a glob, the name of a table of the engine, or a table in memory: of pandas, polars, Arrow,
        DuckDB or ibis, whatever hands out an Arrow stream.
    how
        Nothing, if `columns` say which ones matter; else `Columns`, one of `FORMATS` by its name, or a format with
        options of its own.
    engine
        None for DuckDB in this process; a connection string such as "pyspark://", or a connection of ibis.
    limit
        A threshold above this is absurd; it takes the place of the columns' or the format's own limit.
    exact
        Up to so many different rows are kept exactly; of more, values are rounded. Evidence is always exact.
    max_budget
        That of the evidence, which can then be the start of a policy or an allocator with this max_budget; by default
        the largest amount of the log.
    progress
        Called with a few words whenever something new is begun.
    columns
        The fields of `headgate.calibration.reading.Columns` by keyword: `arm`, `success` and `threshold` at least.

    Examples
    --------
    >>> import pyarrow
    >>> rows = {"item": ["a", "a", "b"], "ok": [1, 0, 1], "s": [2.5, None, 4.0], "given": [9.0, 6.0, 9.0]}
    >>> read_log(pyarrow.table(rows), arm="item", success="ok", threshold="s", allocation="given")
    Log(2 arms, 3 rows used, censored, 66.7% successes, up to 9)
    """
    check_call(source, how, columns)
    how = Columns.of(columns, "read_log") if how is None else how
    chosen = FORMATS[checks.choice("format", how, tuple(FORMATS), InputError)] if isinstance(how, str) else how
    chosen = chosen if limit is None else _limited(chosen, limit)
    with connect(engine) as opened:
        try:
            clean = chosen.open(opened, source, progress)
            progress("adding up")
            names, evidence, rows = add_up(
                opened,
                clean.rows,
                clean.kind,
                whole=clean.whole,
                exact=exact,
                max_budget=max_budget,
                dropped=clean.dropped,
            )
            records = None
            if clean.kept is not None and isinstance(chosen, Columns) and (chosen.by_row or worth_keeping(clean.kept)):
                records = records_of(clean.kept, names, chosen.features, rounds=chosen.round is not None)
        except HeadgateError:
            raise
        except Exception as cause:
            if type(cause).__module__.partition(".")[0] not in {"duckdb", "_duckdb", "pyspark"}:
                raise
            raise InputError(f"{label_of(source)} cannot be read: {cause}") from cause
    evidence = replace(evidence, names=names)
    reading = Reading(
        label_of(source), clean.read, clean.used, dict(clean.dropped), clean.counted, _description(chosen),
        clean.time_limit,
    )  # fmt: skip
    return Log(names, clean.kind, evidence, rows, reading, clean.whole, clean.units, clean.budgets, records)


def _description(how: Any) -> dict[str, Any]:
    """How a log was read, as plain data."""
    if isinstance(how, Columns):
        return how.plain()
    name = next((key for key, known in FORMATS.items() if type(known) is type(how)), type(how).__name__)
    options = {entry.name: getattr(how, entry.name) for entry in fields(how)} if is_dataclass(how) else {}
    return {"format": name} | {key: str(v) if isinstance(v, Path) else v for key, v in options.items() if v is not None}


def _limited(how: Any, limit: float) -> Any:
    if "limit" not in {entry.name for entry in fields(how)}:
        raise InputError(f"{type(how).__name__} counts impressions, so there is no limit to its times, got {limit!r}")
    return replace(how, limit=limit)
