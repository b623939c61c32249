"""Very many files, read part by part: memory does not grow with their number, and a run that was stopped goes on.

Of each part its rows are kept as Parquet and its counts as JSON, in a folder that is given or in one that is gone
afterwards. A part is read again only if one of its files, or how they are read, has changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from headgate import files
from headgate.calibration.engine import Engine, Table

FILES = 2000
"""So many files are read together."""
_FORMAT = 1  # the version of a part on disk: one of another version is read again
_REPORTS = 50  # the most reports of progress


class Part(NamedTuple):
    """Rows that can be used, and how many others there were by reason (None: those that can)."""

    rows: Table
    counts: dict[str | None, int]


def in_parts(
    engine: Engine,
    paths: Sequence[Path],
    read: Callable[[list[Path]], Part],
    options: Sequence[str],
    keep: str | Path | None,
    progress: Callable[[str], None],
) -> Part:
    """Read files with `read`, at once if they are few, else `FILES` at a time; `options` is all that changes a part.

    Only DuckDB writes parts: other engines are made for tables of any size.
    """
    if not engine.duckdb or (len(paths) <= FILES and keep is None):
        return read(list(paths))
    folder = engine.folder() / "parts" if keep is None else Path(keep)
    folder.mkdir(parents=True, exist_ok=True)
    total: dict[str | None, int] = {}
    written = []
    starts = range(0, len(paths), FILES)
    for number, start in enumerate(starts):
        some = list(paths[start : start + FILES])
        place = folder / f"part-{number:05d}.parquet"
        for reason, count in _finished(engine, place, some, read, options).items():
            total[reason] = total.get(reason, 0) + count
        written.append(str(place))
        if (number + 1) % max(len(starts) // _REPORTS, 1) == 0:
            progress(f"read {min(start + FILES, len(paths)):,} of {len(paths):,} files")
    return Part(engine.backend.read_parquet(written), total)


def _finished(
    engine: Engine, place: Path, paths: list[Path], read: Callable[[list[Path]], Part], options: Sequence[str]
) -> dict[str | None, int]:
    """The counts of a part that is on disk, after having put it there if it was not."""
    record, key = place.with_suffix(".json"), _key(paths, options)
    try:
        entry = json.loads(record.read_text(encoding="utf-8"))
        if entry["key"] == key and place.is_file():
            return {reason or None: int(count) for reason, count in entry["counts"].items()}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    before = engine.kept
    part = read(paths)
    record.unlink(missing_ok=True)
    part.rows.to_parquet(place)
    files.write(record, json.dumps({"key": key, "counts": {reason or "": n for reason, n in part.counts.items()}}))
    engine.drop_since(before)
    return part.counts


def _key(paths: list[Path], options: Sequence[str]) -> str:
    """A part is the same if its files have the same names, sizes and times, and are read in the same way."""
    stats = [(path, path.stat()) for path in paths]
    lines = [f"{path.absolute()} {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats]
    return hashlib.sha256("\n".join([str(_FORMAT), *options, *lines]).encode()).hexdigest()
