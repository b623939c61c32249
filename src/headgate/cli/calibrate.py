"""`headgate calibrate`: from a log to a problem file, and what a better allocation would gain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from headgate.cli.log_options import (
    check_folder,
    read,
    read_budgets,
    read_features,
    read_time_limit,
    read_trim,
    read_where,
)
from headgate.cli.progress import progress as shown_progress
from headgate.cli.progress import what_is_left
from headgate.errors import ParameterError
from headgate.extras import extra

if TYPE_CHECKING:
    from headgate.calibration.differing.features import Slopes
    from headgate.calibration.fitting.points import Times
    from headgate.oracle import Reward

_PAPER_LAW = "weibull"  # of the paper's selection of questions


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
    time_limit: Annotated[
        str,
        typer.Option(metavar="AMOUNT", help="What every row was given, if no column says; auto: recognised; none."),
    ] = "auto",
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
        str,
        typer.Option(metavar="WHICH", help="Where failures show a time too, fit to that of: all, successes; auto."),
    ] = "auto",
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
    """Learn from a log which law each arm follows, what each should get, and what that would gain.

    Every law is fitted to every arm by maximum likelihood, shape included; the smallest AIC wins unless --law says
    otherwise. With --allocation, or a time limit, failures are censored at what they were given; without, the law is
    fitted to the times of all rows or of successes, whichever foretells rows held out better. Gains are shown by the
    model and by replay: a row that was given x tells what would have happened at any smaller amount. If the best
    allocation does not beat an even split on rows held out, the advice is to keep what you do.

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
    feature_names = read_features(features)
    if reward == "cascade" and round_column is None and mapping is None:
        raise ParameterError("--reward cascade needs --round COLUMN: which rows share a round?")
    kept: dict[str, Any] = {"features": feature_names, "keep_rounds": True if reward == "cascade" else None}
    more = {"round": round_column, "whole": True if whole else None, "where": read_where(where), "limit": limit}
    more["time_limit"] = read_time_limit(time_limit)
    if pseudo_students is None and interactions is not None:
        raise ParameterError("--interactions belongs to --pseudo-students FILE.CSV, which is missing")
    with what_is_left(out), shown_progress(always=pseudo_students is not None) as progress:
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
        if feature_names is None and log.records is not None and log.records.columns:
            feature_names = tuple(log.records.columns)  # those of the mapping
        result = calibration.calibrate(
            log, law=law, times=cast("Times", times), trim=quantiles, select=select, by=by, budgets=budgets,
            level=level, bootstrap=bootstrap, seed=seed, features=feature_names, slopes=cast("Slopes", slopes),
            reward=cast("Reward", reward), progress=progress,
        )  # fmt: skip
        page = None
        if out is not None:
            progress("drawing", 0, 1)
            page = result.write(out)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
        return
    calibration_tables.show(result)
    if page is not None and out is not None:
        names = {"problem": "problem.toml", "evidence": "evidence.json", "figures": "figures"}
        for what, path in {"page": page, **{what: out / name for what, name in names.items()}}.items():
            typer.echo(f"{what:9} {path}")
