"""`headgate calibrate`: from a log to a problem file, and what a better allocation would gain."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console

from headgate.errors import InputError, ParameterError
from headgate.extras import extra

if TYPE_CHECKING:
    from headgate.calibration.calibration import Progress
    from headgate.calibration.fitting.points import Times
    from headgate.calibration.log import Log

_BUDGETS = 200


def calibrate(
    source: Annotated[
        str, typer.Argument(metavar="LOG", help="CSV or TSV (.gz too), Parquet, DuckDB file, folder, glob or table.")
    ],
    arm: Annotated[str | None, typer.Option(metavar="COLUMN", help="The option that got something.")] = None,
    success: Annotated[str | None, typer.Option(metavar="COLUMN", help="Whether it succeeded.")] = None,
    threshold: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="How much it took: a time or a count.")
    ] = None,
    allocation: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="How much it was given, if the log says.")
    ] = None,
    units: Annotated[str | None, typer.Option(help="What amounts are counted in, such as s.")] = None,
    round_column: Annotated[
        str | None, typer.Option("--round", metavar="COLUMN", help="Rows that shared a budget, such as the user.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="Thresholds are counts: 1, 2, ...")] = False,
    where: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN=VALUE", help="Only these rows; may be repeated.")
    ] = None,
    limit: Annotated[float | None, typer.Option(help="A threshold above this is absurd: its row is not used.")] = None,
    log_format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="A log that is known and needs no columns, such as criteo."),
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option(metavar="FILE.TOML", help="Columns and more in a file; options come first.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="URL", help="Where to read, such as pyspark://; by default DuckDB, in here.")
    ] = None,
    law: Annotated[str | None, typer.Option(metavar="NAME", help="The law of all arms; else each arm's best.")] = None,
    times: Annotated[
        str, typer.Option(metavar="WHICH", help="Where failures show a time too, fit to that of: all, successes.")
    ] = "all",
    trim: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="Keep thresholds within two quantiles: 0.025,0.975.")
    ] = None,
    select: Annotated[int | None, typer.Option(metavar="N", help="Keep only the N best arms.")] = None,
    by: Annotated[str, typer.Option(metavar="WHAT", help="Best by: ks, the smallest; rows, the most.")] = "ks",
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            "-b",
            metavar="AMOUNT|START:STOP:STEP",
            help="How much a round has to split; may be repeated, or a range: 100:500:50.",
        ),
    ] = None,
    bootstrap: Annotated[int, typer.Option(help="Resamples for the intervals of gains; 0: none.")] = 200,
    level: Annotated[float, typer.Option(help="Coverage of intervals.")] = 0.9,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write problem.toml, calibration.html and figures there.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with every digit.")] = False,
) -> None:
    """Learn from a log which law each arm follows, and what a better allocation would gain.

    Every law is fitted to every arm by maximum likelihood, shape included; the smallest AIC wins unless --law says
    otherwise. With --allocation failures are censored at what they were given; without it, the law is fitted to all
    thresholds if failures show one too, else to those of successes. Gains are shown by the model and by replay: a row
    that was given x tells what would have happened at any smaller amount.

    [bold]Examples[/bold]

    headgate calibrate answers.csv --arm item --success correct --threshold seconds --units s --out DIR

    headgate calibrate runs.csv.gz --arm algorithm --success ok --threshold runtime --allocation cutoff --out DIR

    headgate calibrate ednet_pseudo_users.csv --format ednet-pseudo --law weibull --trim 0.025,0.975 -b 200 -b 400

    headgate calibrate 'kt3/*.csv' --format ednet-kt3 --law weibull --select 20 --by ks --out DIR

    headgate solve DIR/problem.toml --budget 200
    """
    from headgate import calibration  # noqa: PLC0415  # not light, and --help does without
    from headgate.cli import calibration_tables  # noqa: PLC0415  # not light

    if out is not None:
        extra("headgate.figures")  # matplotlib is looked for before the work, not after it
        check_folder(out)
    quantiles, budgets = read_trim(trim), read_budgets(budget)
    columns = {"arm": arm, "success": success, "threshold": threshold, "allocation": allocation, "units": units}
    more = {"round": round_column, "whole": True if whole else None, "where": read_where(where), "limit": limit}
    with _progress() as progress:
        log = read(source, log_format, mapping, columns | more, engine, progress)
        found = calibration.calibrate(
            log, law=law, times=cast("Times", times), trim=quantiles, select=select, by=by, budgets=budgets,
            level=level, bootstrap=bootstrap, seed=seed, progress=progress,
        )  # fmt: skip
        page = None
        if out is not None:
            progress("drawing", 0, 1)
            page = found.write(out)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
        return
    calibration_tables.show(found)
    if page is not None and out is not None:
        for what, path in (("page", page), ("problem", out / "problem.toml"), ("figures", out / "figures")):
            typer.echo(f"{what:9} {path}")


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
    progress: Progress,
) -> Log:
    """Read the log by its format, its mapping or the options."""
    from headgate.calibration.reading import Columns, read_log  # noqa: PLC0415  # not light

    given = {key: value for key, value in columns.items() if value is not None}
    limit = given.get("limit")
    how: Columns | str
    if log_format is not None:
        known = sorted(set(given) - {"limit"})
        if known or mapping is not None:
            raise ParameterError(
                f"--format {log_format} knows its columns: leave out --{known[0] if known else 'mapping'}"
            )
        how = log_format
    elif mapping is not None:
        how = Columns.read(mapping, **given)
    else:
        missing = [f"--{name}" for name in ("arm", "success", "threshold") if name not in given]
        if missing:
            raise InputError(
                f"say which columns matter: {', '.join(missing)} is missing (or give --format or --mapping)"
            )
        how = Columns.of(given)
    return read_log(
        source, how, engine=engine, limit=limit if log_format is not None else None,
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


def read_budgets(given: list[str] | None) -> list[float] | None:
    """Read amounts and START:STOP:STEP ranges, which include where they stop.

    >>> read_budgets(["100:200:50", "7.5"])
    [100.0, 150.0, 200.0, 7.5]
    """
    if not given:
        return None
    found: list[float] = []
    for text in given:
        try:
            numbers = [float(part) for part in text.split(":")]
        except ValueError:
            numbers = []
        if len(numbers) == 1:
            found += numbers
        elif len(numbers) == 3 and 0.0 < numbers[0] <= numbers[1] < float("inf") and numbers[2] > 0.0:
            steps = (numbers[1] - numbers[0]) / numbers[2]
            if steps > _BUDGETS:
                raise ParameterError(f"--budget must be a range of at most {_BUDGETS} steps, got {text!r}")
            found += [float(f"{numbers[0] + step * numbers[2]:.12g}") for step in range(int(steps + 1e-9) + 1)]
        else:
            raise ParameterError(f"--budget must be an amount or START:STOP:STEP, such as 100:500:50, got {text!r}")
    return found


def read_where(given: list[str] | None) -> dict[str, str] | None:
    """Read COLUMN=VALUE texts."""
    if not given:
        return None
    found = {}
    for text in given:
        column, equals, value = text.partition("=")
        if not equals or not column:
            raise ParameterError(f"--where must be COLUMN=VALUE, got {text!r}")
        found[column] = value
    return found


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show on a terminal what is being done; silence everywhere else."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415  # only people need it

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total or None)

        yield show
