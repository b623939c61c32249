"""`headgate retract` and `forget`: what is done to the log of a service itself."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.keys import actor
from headgate.cli.serve import DATABASE, DatabaseOption, opened
from headgate.errors import InputError

if TYPE_CHECKING:
    from headgate.service.store import Database

AllocatorsArgument = Annotated[
    str, typer.Argument(metavar="ALLOCATORS", help="A name, the beginning of names with a star, or '*' for all.")
]


def retract(
    allocators: AllocatorsArgument,
    key: Annotated[str | None, typer.Option(help="The id of the key whose reports are taken back.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only those from then on, in UTC.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Only those before then, in UTC.")] = None,
    reason: Annotated[str | None, typer.Option(help="For people to read, in the audit log too.")] = None,
    retraction: Annotated[
        str | None,
        typer.Option("--id", help="Of this retraction; by default made from the rest: the same is done once."),
    ] = None,
    database: DatabaseOption = DATABASE,
) -> None:
    """Take back what a key reported, or what was reported in a time; a running service knows at once.

    Evidence follows exactly, and `headgate verify` agrees. Nothing is removed: the log says what was taken back.
    Decisions wait for corrected reports; imports and pushes of edges are taken back for good.

    [bold]Examples[/bold]

    headgate retract 'shop-*' --key 1f0c8a4be2d7 --reason 'a till that was broken'

    headgate retract quiz --since 2026-03-01T08:00:00Z --until 2026-03-01T09:30:00Z
    """
    with opened(database) as store:
        from headgate.service.engine.retractions import retract as take_back  # noqa: PLC0415  # an extra, and not light
        from headgate.service.record_bodies import RetractionRequest  # noqa: PLC0415  # an extra, and not light

        try:
            fields = {"key": key, "since": since, "until": until, "reason": reason}
            body = RetractionRequest.model_validate(fields)
        except ValueError as wrong:
            raise InputError(f"--key, --since and --until must say what to take back: {wrong}") from wrong
        name = retraction or f"cli-{hashlib.sha256(body.model_dump_json().encode()).hexdigest()[:16]}"
        for one in _names(store, allocators):
            with store.transaction() as connection:
                answer = take_back(connection, actor(), one, name, body)
            again = " (it had been before)" if answer.repeated else ""
            typer.echo(
                f"{one}: {answer.reports} reports, {len(answer.imports)} imports and {len(answer.pushes)} pushes "
                f"taken back, {answer.trials} results of arms{again}"
            )


def forget(
    allocators: AllocatorsArgument,
    subject: Annotated[str, typer.Argument(help="As decisions were asked for with it.")],
    subtract: Annotated[
        bool, typer.Option("--subtract", help="Subtract what was learned of it too; by default that stays in the sums.")
    ] = False,
    database: DatabaseOption = DATABASE,
) -> None:
    """Remove every decision of a subject with what was reported of it, for good; a running service knows at once.

    Backups and exports that were made before still have them: they go when you remove these.

    [bold]Example[/bold]

    headgate forget 'shop-*' customer-4711
    """
    with opened(database) as store:
        from headgate.service.engine.removals import forget as remove  # noqa: PLC0415  # an extra, and not light

        for one in _names(store, allocators):
            with store.transaction() as connection:
                answer = remove(connection, actor(), one, subject, "subtract" if subtract else "keep")
            typer.echo(f"{one}: {answer.decisions} decisions are gone")


def _names(database: Database, pattern: str) -> list[str]:
    """Return the allocators of a name, or whose names begin so."""
    from headgate.service.store.keys import Asker  # noqa: PLC0415  # an extra, and not light
    from headgate.service.views import allocators  # noqa: PLC0415  # an extra, and not light

    names = [one.name for one in database.look(lambda connection: allocators(connection, Asker(None, (pattern,))))]
    if not names:
        raise InputError(f"there is no allocator {pattern!r}")
    return names
