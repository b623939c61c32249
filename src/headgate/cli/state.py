"""`headgate verify`, `backup`, `restore` and `audit`: looking after a service's state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from headgate.cli.serve import DATABASE, DatabaseOption, existing, needs_service
from headgate.errors import InputError

UrlArgument = Annotated[str, typer.Argument(metavar="DATABASE", help="sqlite:///file.db or postgresql://...")]


def verify(database: UrlArgument) -> None:
    """Recompute everything from the log of decisions and outcomes, and compare exactly.

    Exit status 1, with a line for every difference, if anything is not as the log says. A running service may go on.

    [bold]Example[/bold]

    headgate verify sqlite:///headgate.db
    """
    needs_service()
    from headgate.service import verify as checking  # noqa: PLC0415  # an extra, and not light
    from headgate.service.store import open_database  # noqa: PLC0415  # an extra, and not light

    console, seen = Console(stderr=True, highlight=False), {"": 0}
    with console.status("reading the log") as status:

        def progress(name: str, decisions: int) -> None:
            seen[name] = decisions
            status.update(f"{name}: {decisions:,} decisions")

        wrong = checking.verify(open_database(existing(database), migrate=False), progress)
    for line in wrong:
        typer.echo(line)
    if wrong:
        raise typer.Exit(1)
    allocators, decisions = len(seen) - 1, sum(seen.values())
    typer.echo(f"verified: {_many(decisions, 'decision')} of {_many(allocators, 'allocator')}: all as the log says")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to make; it must not exist.")],
    database: DatabaseOption = DATABASE,
) -> None:
    """Copy a consistent state into one file, while the service runs.

    The file is an SQLite database whatever the service uses, so it also moves a service from one to the other.

    [bold]Example[/bold]

    headgate backup monday.db --database postgresql://headgate@db/headgate
    """
    needs_service()
    from headgate.service.backup import backup as copy  # noqa: PLC0415  # an extra, and not light
    from headgate.service.store import open_database  # noqa: PLC0415  # an extra, and not light

    rows = copy(open_database(existing(database), migrate=False), file)
    typer.echo(f"{rows:,} rows in {file}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `headgate backup` made.")],
    database: DatabaseOption = DATABASE,
) -> None:
    """Fill an empty database from a backup, and verify it.

    [bold]Example[/bold]

    headgate restore monday.db --database sqlite:///new.db
    """
    needs_service()
    from headgate.service.backup import restore as fill  # noqa: PLC0415  # an extra, and not light
    from headgate.service.store import open_database  # noqa: PLC0415  # an extra, and not light
    from headgate.service.verify import verify as differences  # noqa: PLC0415  # an extra, and not light

    if not file.is_file():
        raise InputError(f"there is no backup {file}")
    found = open_database(database)
    rows = fill(file, found)
    wrong = differences(found)
    for line in wrong:
        typer.echo(line)
    if wrong:
        raise typer.Exit(1)
    typer.echo(f"{rows:,} rows restored and verified")


def audit(
    database: DatabaseOption = DATABASE,
    limit: Annotated[int, typer.Option(min=1, help="How many, the newest first.")] = 50,
) -> None:
    """Show who created, changed, archived, imported, and made or revoked keys; one JSON object a line."""
    needs_service()
    from headgate.service.store import audit as log  # noqa: PLC0415  # an extra, and not light
    from headgate.service.store import open_database  # noqa: PLC0415  # an extra, and not light

    for entry in open_database(existing(database), migrate=False).look(lambda c: log.entries(c, limit)):
        typer.echo(json.dumps(entry))


def _many(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"
