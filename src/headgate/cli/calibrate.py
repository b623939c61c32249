"""`headgate calibrate`: from a log to a problem file, and what a better allocation would gain."""

from __future__ import annotations

import json
import os
import sys
import time
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
    from headgate.calibration.differing.features import Slopes
    from headgate.calibration.fitting.points import Times
    from headgate.calibration.log import Log
    from headgate.oracle import Reward

_BUDGETS = 200
_PAPER_LAW = "weibull"  # of the paper's selection of questions
_TENTHS = 10  # a piece of work is told of so many times, where there is no terminal to draw a bar on
_PAUSE = 5.0  # seconds between lines of progress where nobody watches a bar


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
    max_budget: Annotated[
        float | None, typer.Option(help="That of evidence.json, the start of a policy; by default the largest amount.")
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
    pseudo_students: Annotated[
        Path | None,
        typer.Option(metavar="FILE.CSV", help="Raw EdNet: write the paper's table there, and go on with it."),
    ] = None,
    interactions: Annotated[
        int | None, typer.Option(metavar="N", help="So many answers of each question in that table; 5000 by default.")
    ] = None,
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
    features: Annotated[
        str | None,
        typer.Option(metavar="COLUMN,...", help="What is known of a row before: rates and activations by these."),
    ] = None,
    slopes: Annotated[
        str, typer.Option(metavar="WHOSE", help="Of features: auto, shared by all arms, or each arm's own: arm.")
    ] = "auto",
    reward: Annotated[
        str, typer.Option(metavar="WHAT", help="sum: successes; cascade: at least one a round too, needs --round.")
    ] = "sum",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write problem.toml, evidence.json, calibration.html and figures there."),
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

    headgate calibrate calls.csv --arm channel --success sold --threshold calls --whole --features age,job --out DIR

    headgate calibrate runs.csv.gz --arm solver --success ok --threshold s --allocation max --round id --reward cascade

    headgate calibrate ednet_pseudo_users.csv --format ednet-pseudo --law weibull --trim 0.025,0.975 -b 200 -b 400

    headgate calibrate 'kt3/*.csv' --format ednet-kt3 --law weibull --select 20 --by ks --out DIR

    headgate calibrate kt3 --format ednet-kt3 --select 20 --by ks --interactions 5000 --pseudo-students paper.csv

    headgate solve DIR/problem.toml --budget 200
    """
    from headgate import calibration  # noqa: PLC0415  # not light, and --help does without
    from headgate.calibration.reading import EdnetRaw  # noqa: PLC0415  # likewise
    from headgate.cli import calibration_tables  # noqa: PLC0415  # not light

    if out is not None:
        extra("headgate.calibration.report.write")  # what draws is looked for before the work, not after it
        check_folder(out)
    quantiles, budgets = read_trim(trim), read_budgets(budget)
    columns = {"arm": arm, "success": success, "threshold": threshold, "allocation": allocation, "units": units}
    known = None if features is None else tuple(name.strip() for name in features.split(","))
    if known is not None and not all(known):
        raise ParameterError(f"--features must be columns with commas between them, got {features!r}")
    if reward == "cascade" and round_column is None and mapping is None:
        raise ParameterError("--reward cascade needs --round COLUMN: which rows share a round?")
    kept: dict[str, Any] = {"features": known, "keep_rounds": True if reward == "cascade" else None}
    more = {"round": round_column, "whole": True if whole else None, "where": read_where(where), "limit": limit}
    if pseudo_students is None and interactions is not None:
        raise ParameterError("--interactions belongs to --pseudo-students FILE.CSV, which is missing")
    with _what_is_left(out), _progress(always=pseudo_students is not None) as progress:
        if pseudo_students is not None:
            if log_format != "ednet-kt3" or select is None:
                raise ParameterError("--pseudo-students needs --format ednet-kt3 and --select N")
            law, quantiles = law or _PAPER_LAW, quantiles or calibration.TRIM
            calibration.write_pseudo_students(
                source, pseudo_students, how=EdnetRaw() if limit is None else EdnetRaw(limit=limit), select=select,
                by=by, interactions=5000 if interactions is None else interactions, law=law, trim=quantiles, seed=seed,
                engine=engine, progress=progress,
            )  # fmt: skip
            source, log_format, select, engine = str(pseudo_students), "ednet-pseudo", None, None
        log = read(source, log_format, mapping, columns | more | kept, engine, max_budget, progress)
        if known is None and log.records is not None and log.records.columns:
            known = tuple(log.records.columns)  # those of the mapping
        found = calibration.calibrate(
            log, law=law, times=cast("Times", times), trim=quantiles, select=select, by=by, budgets=budgets,
            level=level, bootstrap=bootstrap, seed=seed, features=known, slopes=cast("Slopes", slopes),
            reward=cast("Reward", reward), progress=progress,
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
        names = {"problem": "problem.toml", "evidence": "evidence.json", "figures": "figures"}
        for what, path in {"page": page, **{what: out / name for what, name in names.items()}}.items():
            typer.echo(f"{what:9} {path}")


@contextmanager
def _what_is_left(out: Path | None) -> Iterator[None]:
    """Say, if the work is stopped by Ctrl-C, what there is of it."""
    try:
        yield
    except KeyboardInterrupt:
        made = sorted(path.name for path in out.iterdir()) if out is not None and out.is_dir() else []
        left = f"{out} has {', '.join(made)}, perhaps of another calibration" if made else "nothing was written"
        typer.echo(f"stopped; {left}. The log was only read: the same command begins again", err=True)
        raise


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
def _progress(*, always: bool = False) -> Iterator[Progress]:
    """Show on a terminal what is being done; elsewhere a line every few seconds, or with `always` at every tenth."""
    if not sys.stderr.isatty():
        yield _line if always else _seldom(_PAUSE)
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415  # only people need it

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total or None)

        yield show


def _seldom(pause: float) -> Progress:
    """Say in a line what is being done, if nothing was said for `pause` seconds: a short run says nothing."""
    last = time.monotonic()

    def say(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= pause:
            last = time.monotonic()
            typer.echo(f"{what}: {done:,} of {total:,}" if total else what, err=True)

    return say


def _line(what: str, done: int, total: int) -> None:
    """Say in a line what is done, at every tenth of it."""
    if total == 0:
        typer.echo(what, err=True)
    elif done == total or done * _TENTHS // total > (done - 1) * _TENTHS // total:
        typer.echo(f"{what}: {done:,} of {total:,}", err=True)
