"""`headgate export`: the log of an allocator as a Parquet file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from headgate.cli.serve import DATABASE, DatabaseOption, opened
from headgate.errors import UnsupportedError


def export(
    allocator: Annotated[str, typer.Argument(help="Whose decisions.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The Parquet file to make; it must not exist.")],
    database: DatabaseOption = DATABASE,
) -> None:
    """Write every decision and what came of it to a Parquet file, one row for each arm, while the service runs.

    Decisions of edges are in it too, as far as they were pushed. `headgate calibrate` reads such a file.

    [bold]Example[/bold]

    headgate export quiz quiz.parquet --database sqlite:///headgate.db
    """
    if find_spec("pyarrow") is None:
        raise UnsupportedError("this needs pyarrow: pip install 'headgate[export]'")
    with opened(database, migrate=False) as store:
        from headgate.service.export import export as write  # noqa: PLC0415  # an extra, and not light

        rows = write(store, allocator, file)
    typer.echo(f"{rows:,} rows in {file}")
