"""Any log, read: `read_log` turns a source into what calibration needs of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from headgate.calibration.engine import Engine, add_up, connect
from headgate.calibration.engine.distinct import EXACT
from headgate.calibration.log import Log, Reading
from headgate.calibration.reading.criteo import Criteo
from headgate.calibration.reading.ednet_pseudo import EdnetPseudo
from headgate.calibration.reading.ednet_raw import EdnetRaw
from headgate.calibration.reading.mapping import Mapping
from headgate.calibration.reading.screening import Clean, screen
from headgate.calibration.reading.tables import columns_of, open_table
from headgate.errors import HeadgateError, InputError

Progress = Callable[[str], None]


class Format(Protocol):
    """A log that is known: it needs no mapping, and may need more than one."""

    def open(self, engine: Engine, source: str | Path, progress: Progress, /) -> Clean:
        """Read a source into clean rows."""
        ...


FORMATS: dict[str, Format] = {"ednet-kt3": EdnetRaw(), "ednet-pseudo": EdnetPseudo(), "criteo": Criteo()}


def read_log(
    source: str | Path,
    how: Mapping | Format | str,
    *,
    engine: object = None,
    limit: float | None = None,
    exact: int = EXACT,
    progress: Progress | None = None,
) -> Log:
    """Read a log and add it up.

    Parameters
    ----------
    source
        A file, a folder, a glob, or the name of a table of the engine.
    how
        A `Mapping` that says which columns matter, one of `FORMATS` by its name, or a format with options of its own.
    engine
        None for DuckDB in this process; a connection string such as "pyspark://", or a connection of ibis.
    limit
        A threshold above this is absurd; it takes the place of the mapping's or the format's own limit.
    exact
        Up to so many different rows are kept exactly; of more, values are rounded. Evidence is always exact.
    progress
        Called with a few words whenever something new is begun.
    """
    tell = progress or (lambda _: None)
    chosen = _limited(_format(how) if isinstance(how, str) else how, limit)
    with connect(engine) as opened:
        try:
            clean = _mapped(opened, source, chosen, tell) if isinstance(chosen, Mapping) else chosen.open(
                opened, source, tell
            )  # fmt: skip
            tell("adding up")
            added = add_up(opened, clean.rows, clean.kind, whole=clean.whole, exact=exact, dropped=clean.dropped)
        except HeadgateError:
            raise
        except Exception as cause:
            if type(cause).__module__.partition(".")[0] not in {"duckdb", "_duckdb", "pyspark"}:
                raise
            raise InputError(f"{source} cannot be read: {cause}") from cause
    return Log(
        names=added.names,
        kind=clean.kind,
        evidence=added.evidence,
        rows=added.rows,
        reading=Reading(str(source), clean.read, clean.used, dict(clean.dropped), clean.counted, _told(chosen)),
        whole=clean.whole,
        units=clean.units,
        budgets=clean.budgets,
    )


def _mapped(engine: Engine, source: str | Path, mapping: Mapping, tell: Progress) -> Clean:
    table = open_table(engine, source, mapping.table)
    columns_of(table, mapping.columns, source)
    tell("reading rows")
    return screen(engine, table, mapping, source)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, got {name!r}")
    return FORMATS[name]


def _told(how: Any) -> dict[str, Any]:
    """How a log was read, as plain data."""
    if isinstance(how, Mapping):
        return how.plain()
    name = next((key for key, known in FORMATS.items() if type(known) is type(how)), type(how).__name__)
    options = {entry.name: getattr(how, entry.name) for entry in fields(how)} if is_dataclass(how) else {}
    told = {key: str(v) if isinstance(v, Path) else v for key, v in options.items() if v is not None}
    return {"format": name, **told}


def _limited(how: Any, limit: float | None) -> Any:
    if limit is None:
        return how
    if "limit" not in {entry.name for entry in fields(how)}:
        raise InputError(f"{type(how).__name__} counts impressions, so there is no limit to its times, got {limit!r}")
    return replace(how, limit=limit)


__all__ = ["FORMATS", "Criteo", "EdnetPseudo", "EdnetRaw", "Format", "Mapping", "read_log"]
