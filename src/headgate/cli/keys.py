"""`headgate keys`: who may use the service."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer
from rich.table import Table

from headgate.cli import terminal
from headgate.cli.serve import DATABASE, DatabaseOption, opened

keys = typer.Typer(no_args_is_help=True, help="Create, list and revoke API keys of the service.")


def actor() -> str:
    """Return who runs a command, for the audit log."""
    try:
        return f"command line ({getpass.getuser()})"
    except (KeyError, OSError):  # a container without a user's name
        return "command line"


@keys.command()
def create(
    name: Annotated[str, typer.Argument(help="Who or what it is for.")],
    scope: Annotated[str, typer.Option(help="read, decide (and read), or admin (everything).")] = "decide",
    rate: Annotated[float, typer.Option(help="Requests a second, per worker; bursts may be twice that.")] = 1000.0,
    allocators: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Bind it to allocators: names, or beginnings of names with a star, between commas. Others do not "
            "exist for it: it can neither use nor see them. By default all.",
        ),
    ] = None,
    database: DatabaseOption = DATABASE,
) -> None:
    """Make a key. The secret is shown now and never again: the database keeps a digest of it.

    [bold]Examples[/bold]

    headgate keys create quiz-app --scope decide --database sqlite:///headgate.db

    headgate keys create shop --scope admin --allocators 'shop-*,newsletter'
    """
    bound = None if allocators is None else [one.strip() for one in allocators.split(",")]
    with opened(database, new=True) as store, store.transaction() as connection:
        from headgate.service.store.keys import create_key  # noqa: PLC0415  # an extra, and not light

        secret = create_key(connection, actor(), name, scope, rate, bound)
    typer.echo(secret)


@keys.command(name="list")
def list_keys(database: DatabaseOption = DATABASE) -> None:
    """List the keys, without their secrets.

    [bold]Example[/bold]

    headgate keys list --database sqlite:///headgate.db
    """
    table = Table("id", "name", "scope", "rate", "allocators", "created", "revoked", show_edge=False, pad_edge=False)
    with opened(database) as store:
        from headgate.service import clock  # noqa: PLC0415  # an extra, and not light
        from headgate.service.store.keys import all_keys  # noqa: PLC0415  # an extra, and not light

        for key in store.look(all_keys):
            revoked = clock.as_text(key.revoked_at) or ""
            bound, made = (key.allocators or "all").replace(" ", ","), clock.as_text(key.created_at)
            table.add_row(key.id, key.name, key.scope, f"{key.rate:g}/s", bound, made, revoked)
    terminal.stdout().print(table)


@keys.command()
def revoke(
    key: Annotated[str, typer.Argument(metavar="ID", help="The key's id, as `headgate keys list` shows it.")],
    database: DatabaseOption = DATABASE,
) -> None:
    """Make a key useless; running workers know within two seconds.

    [bold]Example[/bold]

    headgate keys revoke 1f0c8a4be2d7
    """
    with opened(database) as store, store.transaction() as connection:
        from headgate.service.store.keys import revoke_key  # noqa: PLC0415  # an extra, and not light

        revoke_key(connection, actor(), key)
    typer.echo(f"key {key} is revoked")
