"""The options of `headgate calibrate` that say how a log is read, and of what it is asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headgate.errors import InputError, ParameterError

if TYPE_CHECKING:
    from headgate.calibration.calibration import Progress
    from headgate.calibration.log import Log

_BUDGETS = 200


def check_folder(out: Path) -> None:
    """Say that results cannot be written before the work, not after it."""
    for place in (out, *out.parents):
        if place.exists():
            if not place.is_dir():
                raise InputError(f"--out must be a folder, got {out}: {place} is a file")
            if not os.access(place, os.W_OK):
                raise InputError(f"--out must be a folder that can be written to, got {out}")
            return


def read(
    source: str,
    log_format: str | None,
    mapping: Path | None,
    columns: dict[str, Any],
    engine: str | None,
    max_budget: float | None,
    progress: Progress,
) -> Log:
    """Read the log by its format, its mapping or the options."""
    from headgate.calibration.reading import Columns, read_log  # noqa: PLC0415  # not light

    options = {key: value for key, value in columns.items() if value is not None}
    limit = options.get("limit")
    how: Columns | str
    if log_format is not None:
        names = sorted(set(options) - {"limit"})
        if names or mapping is not None:
            raise ParameterError(
                f"--format {log_format} knows its columns: leave out --{names[0] if names else 'mapping'}"
            )
        how = log_format
    elif mapping is not None:
        how = Columns.read(mapping, **options)
    else:
        missing = [f"--{name}" for name in ("arm", "success", "threshold") if name not in options]
        if missing:
            raise InputError(
                f"say which columns matter: {', '.join(missing)} is missing (or give --format or --mapping)"
            )
        how = Columns.of(options)
    return read_log(
        source, how, engine=engine, limit=limit if log_format is not None else None, max_budget=max_budget,
        progress=lambda what: progress(what, 0, 0),
    )  # fmt: skip


def read_trim(text: str | None) -> tuple[float, float] | None:
    """Read LOW,HIGH.

    >>> read_trim("0.025,0.975")
    (0.025, 0.975)
    """
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(f"--trim must be LOW,HIGH, such as 0.025,0.975, got {text!r}") from None
    return low, high


def read_budgets(texts: list[str] | None) -> list[float] | None:
    """Read amounts and START:STOP:STEP ranges, which include where they stop.

    >>> read_budgets(["100:200:50", "7.5"])
    [100.0, 150.0, 200.0, 7.5]
    """
    if not texts:
        return None
    budgets: list[float] = []
    for text in texts:
        try:
            numbers = [float(part) for part in text.split(":")]
        except ValueError:
            numbers = []
        if len(numbers) == 1:
            budgets += numbers
        elif len(numbers) == 3 and 0.0 < numbers[0] <= numbers[1] < float("inf") and numbers[2] > 0.0:
            steps = (numbers[1] - numbers[0]) / numbers[2]
            if steps > _BUDGETS:
                raise ParameterError(f"--budget must be a range of at most {_BUDGETS} steps, got {text!r}")
            budgets += [float(f"{numbers[0] + step * numbers[2]:.12g}") for step in range(int(steps + 1e-9) + 1)]
        else:
            raise ParameterError(f"--budget must be an amount or START:STOP:STEP, such as 100:500:50, got {text!r}")
    return budgets


def read_where(texts: list[str] | None) -> dict[str, str] | None:
    """Read COLUMN=VALUE texts."""
    if not texts:
        return None
    conditions = {}
    for text in texts:
        column, equals, value = text.partition("=")
        if not equals or not column:
            raise ParameterError(f"--where must be COLUMN=VALUE, got {text!r}")
        conditions[column] = value
    return conditions


def read_time_limit(text: str) -> float | str | None:
    """Read "none" or an amount; "auto", which is so anyway, is nothing.

    >>> read_time_limit("30"), read_time_limit("none"), read_time_limit("auto")
    (30.0, 'none', None)
    """
    if text in {"auto", "none"}:
        return None if text == "auto" else text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--time-limit must be auto, none or an amount, got {text!r}") from None


def read_features(text: str | None) -> tuple[str, ...] | None:
    """Read columns with commas between them."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ParameterError(f"--features must be columns with commas between them, got {text!r}")
    return names
