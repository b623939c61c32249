"""`headgate bench`: regret and speed, each beside a reference measured in the same run."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from headgate.cli import terminal
from headgate.errors import InputError


def bench(
    only: Annotated[str, typer.Option(metavar="WORDS", help="Only those whose name contains this.")] = "",
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where real logs are; without them some are skipped.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Figures from all runs: hours instead of minutes.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, as each is finished.")] = False,
) -> None:
    """Measure regret and speed, each beside a reference in the same run; the status is 1 if a requirement is missed.

    A machine's speed varies, so nothing is measured in seconds alone: every time is a ratio to a peer's (Clarabel,
    lifelines, scipy) or to a slow reference, measured in turn. All of it takes about ten minutes.

    [bold]Example[/bold]

    headgate bench --only cost
    """
    from headgate.bench import BENCHMARKS, load, use_data, use_full  # noqa: PLC0415  # its peers are an extra

    if data is not None:
        use_data(data)
    use_full(full)
    load()
    names = [name for name in BENCHMARKS if only.lower() in name.lower()]
    if not names:
        raise InputError(f"no benchmark is called {only!r}; there are: {'; '.join(BENCHMARKS)}")
    table = Table("name", "ours", "reference", "ratio", "required", "met", "note")
    missed = False
    for name in names:
        with Console(stderr=True).status(name):
            result = BENCHMARKS[name]()
        missed |= not result.met
        if as_json:
            values = {field: getattr(result, field) for field in ("ours", "reference", "ratio", "required")}
            numbers = {
                field: value if isfinite(value) else None for field, value in values.items()
            }  # JSON has no others
            typer.echo(json.dumps({"name": name, **numbers, "met": result.met, "note": result.note}))
        table.add_row(name, *result.cells(), "yes" if result.met else "NO", result.note)
    if not as_json:
        terminal.stdout().print(table)
    if missed:
        raise typer.Exit(1)
