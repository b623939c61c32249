"""`headgate replay`: what another policy or law would have earned, from a service's log."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli import terminal
from headgate.cli.serve import DATABASE, DatabaseOption, needs_service, opened
from headgate.errors import InputError

if TYPE_CHECKING:
    from headgate.service.replay import Replayed


def replay(
    allocator: Annotated[str, typer.Argument(help="Whose log.")],
    policy: Annotated[
        str | None, typer.Option(metavar="NAME|JSON", help='Such as uniform, or {"name": "lr-ucb", "delta": 0.1}.')
    ] = None,
    law: Annotated[
        str | None, typer.Option(metavar="NAME|JSON", help='Of all arms, such as {"name": "weibull", "shape": 1.6}.')
    ] = None,
    half_life: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="What was seen counts half after so long; 0: it never fades."),
    ] = None,
    window: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="What was seen counts for so long; 0: it never fades.")
    ] = None,
    database: DatabaseOption = DATABASE,
    backup: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Instead of a database: what `headgate backup` made.")
    ] = None,
    level: Annotated[float, typer.Option(help="The intervals' coverage.")] = 0.95,
    resamples: Annotated[int, typer.Option(help="Of the bootstrap.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Estimate what another policy or law would have earned in the decisions of a service's log.

    What is not given stays as the allocator has it. The policy follows the log: it decides what was asked for and
    learns what was really given. An arm given no more than it got is known exactly; one given more than an amount that
    failed is filled in by Kaplan and Meier's curve of the arm; the bounds hold without that. docs/service.md has more.

    [bold]Examples[/bold]

    headgate replay quiz --policy uniform --database sqlite:///headgate.db

    headgate replay quiz --law '{"name": "gamma", "shape": 2.0}' --backup monday.db
    """
    needs_service()
    from headgate.service.backup import opened_backup  # noqa: PLC0415  # an extra, and not light
    from headgate.service.replay_log import replay as follow  # noqa: PLC0415  # an extra, and not light

    plain_policy = _plain("policy", policy)
    policy_spec = {"name": plain_policy} if isinstance(plain_policy, str) else plain_policy
    terms: dict[str, Any] = {"policy": policy_spec, "law": _plain("law", law), "level": level, "resamples": resamples}
    if half_life is not None or window is not None:
        terms["fades"] = _fades(half_life or None, window or None)
    with opened_backup(backup) if backup is not None else opened(database, migrate=False) as store:
        result = store.look(lambda connection: follow(connection, allocator, **terms), slow=True)
    if as_json:
        typer.echo(json.dumps(asdict(result)))
    else:
        _show(result)


def _fades(half_life: float | None, window: float | None) -> dict[str, float | None]:
    for field, seconds in (("half-life", half_life), ("window", window)):
        if seconds is not None and not 1.0 <= seconds <= 1e10:
            raise InputError(f"--{field} must be seconds, from 1 to 1e10, or 0 for none, got {seconds:g}")
    if half_life is not None and window is not None:
        raise InputError("--half-life or --window must be given, not both")
    return {"half_life": half_life, "window": window}


def _plain(field: str, text: str | None) -> Any:
    """Read a name, or an object as JSON."""
    if text is None or not text.lstrip().startswith("{"):
        return text
    try:
        return json.loads(text)
    except ValueError as cause:
        raise InputError(f"--{field} must be a name or JSON, got {text!r}: {cause}") from cause


def _show(result: Replayed) -> None:
    table = terminal.table("value per decision", "estimate", f"{result.level:.0%} interval", "bounds, whatever the law")
    low, high = result.bounds
    table.add_row("earned", f"{result.earned:.4g}", "", "")
    table.add_row("would have been", f"{result.value:.4g}", _ends(result.interval), f"{low:.4g} to {high:.4g}")
    table.add_row(
        "difference", f"{result.difference:+.4g}", _ends(result.difference_interval),
        f"{low - result.earned:+.4g} to {high - result.earned:+.4g}",
    )  # fmt: skip
    terminal.stdout().print(table)
    typer.echo(f"\n{result.decisions:,} decisions; {result.left_out:,} left out: not complete, schedules, live rounds.")
    typer.echo(
        f"{result.known:.1%} of the amounts are known from the log exactly; {result.beyond:.1%} lie beyond what it can "
        "tell of: failures in the estimate, successes in the interval's upper end; the others are filled in by Kaplan "
        "and Meier's curves. That holds if thresholds do not depend on what was given and rounds are alike all over "
        "the log; the bounds hold without."
    )


def _ends(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.4g} to {interval[1]:.4g}"
