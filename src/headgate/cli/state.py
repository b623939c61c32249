"""`headgate verify`, `backup`, `restore` and `audit`: looking after a service's state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from headgate.cli.serve import DATABASE, DatabaseOption, opened
from headgate.errors import InputError

if TYPE_CHECKING:
    from headgate.service.store import Database
    from headgate.service.verify import Progress

UrlArgument = Annotated[str | None, typer.Argument(metavar="[URL]", help="The same as --database, and before it.")]


def verify(url: UrlArgument = None, database: DatabaseOption = DATABASE) -> None:
    """Recompute everything from the log of decisions and outcomes, and compare exactly.

    Exit status 1, with a line for every difference, if anything is not as the log says. A running service may go on.

    [bold]Example[/bold]

    headgate verify --database sqlite:///headgate.db
    """
    read: dict[str, int] = {}
    status = Console(stderr=True, highlight=False).status("reading the log")

    def progress(name: str, decisions: int) -> None:
        read[name] = decisions
        status.update(f"{name}: {decisions:,} decisions")

    with opened(database if url is None else url, migrate=False) as store, status:
        _verified(store, progress)
    decisions, allocators = _many(sum(read.values()), "decision"), _many(len(read), "allocator")
    typer.echo(f"verified: {decisions} of {allocators}: all as the log says")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to make; it must not exist.")],
    database: DatabaseOption = DATABASE,
) -> None:
    """Copy a consistent state into one file, while the service runs.

    The file is an SQLite database whatever the service uses, so it also moves a service from one to the other.

    [bold]Example[/bold]

    headgate backup monday.db --database postgresql://headgate@db/headgate
    """
    with opened(database, migrate=False) as store:
        from headgate.service.backup import backup as copy  # noqa: PLC0415  # an extra, and not light

        rows = copy(store, file)
    typer.echo(f"{rows:,} rows in {file}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `headgate backup` made.")],
    database: DatabaseOption = DATABASE,
) -> None:
    """Fill an empty database from a backup, and verify it; if that fails, an SQLite file made for it is gone again.

    [bold]Example[/bold]

    headgate restore monday.db --database sqlite:///new.db
    """
    if not file.is_file():
        raise InputError(f"there is no backup {file}")
    with _gone_if_it_fails(database), opened(database, new=True) as store:
        from headgate.service.backup import restore as fill  # noqa: PLC0415  # an extra, and not light

        rows = fill(file, store)
        _verified(store)
    typer.echo(f"{rows:,} rows restored and verified")


def audit(
    database: DatabaseOption = DATABASE,
    limit: Annotated[int, typer.Option(min=1, help="How many, the newest first.")] = 50,
) -> None:
    """Show who created, changed, archived, imported, and made or revoked keys; one JSON object a line.

    [bold]Example[/bold]

    headgate audit --limit 20 --database sqlite:///headgate.db
    """
    with opened(database, migrate=False) as store:
        from headgate.service.store.audit import entries  # noqa: PLC0415  # an extra, and not light

        for entry in store.look(lambda connection: entries(connection, limit)):
            typer.echo(json.dumps(entry))


@contextmanager
def _gone_if_it_fails(url: str) -> Iterator[None]:
    """Remove the SQLite file that the block made, with what lies beside it, unless it ends well."""
    path = Path(url.removeprefix("sqlite:///"))
    is_new = str(path) != url and not path.exists()
    try:
        yield
    except BaseException:
        for name in ("", "-wal", "-shm", "-journal") if is_new else ():
            path.with_name(path.name + name).unlink(missing_ok=True)
        raise


def _verified(database: Database, progress: Progress | None = None) -> None:
    """Print every difference between the state and its log; if there is any, the status is 1."""
    from headgate.service.verify import verify as differences  # noqa: PLC0415  # an extra, and not light

    wrong = differences(database, progress)
    for line in wrong:
        typer.echo(line)
    if wrong:
        raise typer.Exit(1)


def _many(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"
