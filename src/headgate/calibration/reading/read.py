"""Reading a log: a source is opened by its format, its rows screened and added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from headgate import checks
from headgate.calibration.engine import Engine, add_up, connect
from headgate.calibration.engine.distinct import EXACT
from headgate.calibration.log import Log, Reading
from headgate.calibration.reading.columns import Columns
from headgate.calibration.reading.criteo import Criteo
from headgate.calibration.reading.ednet_pseudo import EdnetPseudo
from headgate.calibration.reading.ednet_raw import EdnetRaw
from headgate.calibration.reading.screen import Clean
from headgate.errors import HeadgateError, InputError

Progress = Callable[[str], None]


class Format(Protocol):
    """A way to read a log: by its columns, or one of a log that is known."""

    def open(self, engine: Engine, source: str | Path, progress: Progress, /) -> Clean:
        """Read a source into clean rows."""
        ...


FORMATS: dict[str, Format] = {"ednet-kt3": EdnetRaw(), "ednet-pseudo": EdnetPseudo(), "criteo": Criteo()}


def read_log(
    source: str | Path,
    how: Format | str,
    *,
    engine: object = None,
    limit: float | None = None,
    exact: int = EXACT,
    progress: Progress = lambda _: None,
) -> Log:
    """Read a log and add it up.

    Parameters
    ----------
    source
        A file, a folder, a glob, or the name of a table of the engine.
    how
        `Columns` that say which ones matter, one of `FORMATS` by its name, or a format with options of its own.
    engine
        None for DuckDB in this process; a connection string such as "pyspark://", or a connection of ibis.
    limit
        A threshold above this is absurd; it takes the place of the columns' or the format's own limit.
    exact
        Up to so many different rows are kept exactly; of more, values are rounded. Evidence is always exact.
    progress
        Called with a few words whenever something new is begun.
    """
    chosen = FORMATS[checks.choice("format", how, tuple(FORMATS), InputError)] if isinstance(how, str) else how
    chosen = chosen if limit is None else _limited(chosen, limit)
    with connect(engine) as opened:
        try:
            clean = chosen.open(opened, source, progress)
            progress("adding up")
            names, evidence, rows = add_up(
                opened, clean.rows, clean.kind, whole=clean.whole, exact=exact, dropped=clean.dropped
            )
        except HeadgateError:
            raise
        except Exception as cause:
            if type(cause).__module__.partition(".")[0] not in {"duckdb", "_duckdb", "pyspark"}:
                raise
            raise InputError(f"{source} cannot be read: {cause}") from cause
    reading = Reading(str(source), clean.read, clean.used, dict(clean.dropped), clean.counted, _description(chosen))
    return Log(names, clean.kind, evidence, rows, reading, clean.whole, clean.units, clean.budgets)


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
