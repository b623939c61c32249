"""`headgate reproduce`: the paper's figures, and a page that says what holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def reproduce(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Figures by name, such as theory or ednet; lemmas; or all.")
    ],
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rounds and runs: 2 minutes instead of 30.")] = False,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder with ednet_pseudo_users.csv or Criteo's log: use the real data."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for figures, data and index.html.")] = Path(
        "reproduction"
    ),
    workers: Annotated[int, typer.Option("--workers", "-j", help="Processes; -1: one per core.")] = -1,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Run again what is finished.")] = False,
) -> None:
    """Reproduce the paper's figures, and check each of its claims.

    [bold]Examples[/bold]

    headgate reproduce all --quick --out reproduction

    headgate reproduce theory ra-etc

    headgate reproduce ednet --data ~/ednet
    """
    from headgate import experiments  # noqa: PLC0415  # not light, and --help does without

    chosen = list(experiments.EXPERIMENTS if "all" in names else dict.fromkeys(names))
    console = Console(stderr=True, highlight=False, markup=False)
    try:
        page = experiments.reproduce(
            chosen, out, quick=quick, data=data, seed=seed, workers=workers, force=force, say=console.print
        )  # fmt: skip
    except KeyboardInterrupt:
        console.print(
            f"stopped; what is finished is in {out / 'index.html'}, the same command goes on from there", soft_wrap=True
        )
        raise
    typer.echo(f"page: {page}")
